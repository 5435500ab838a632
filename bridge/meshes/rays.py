"""The posed skin as arrays, for casting rays and drawing outlines.

The skin is read anew while it moves under the mouse. To test all 100,000 triangles of a mesh at once, as
`deformers.patterns.picking.cast_ray` does, takes two thirds of the time of reading them, and to build a `mathutils`
BVHTree of them five times as long as that. `Object.ray_cast` caches a tree, but of the evaluated mesh, which is coarse
if the graphics card subdivides.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import bpy
import numpy as np

from ...deformers.patterns.picking import PosedSkin
from .charts import chart_name

# Attribute in which Blender keeps positions before shape keys and modifiers, through the modifier stack
REST = "rest_position"


@contextmanager
def with_rest_positions(obj: bpy.types.Object) -> Iterator[None]:
    """Have an object's modifiers keep, for a while, the positions of the skin at rest."""
    before = obj.add_rest_position_attribute
    if not before:
        obj.add_rest_position_attribute = True
    try:
        yield
    finally:
        if not before:
            obj.add_rest_position_attribute = False


def read_posed_skin(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, key: str = "") -> PosedSkin:
    """Read a mesh object after its modifiers.

    A copy of the evaluated mesh is read: the evaluated mesh itself is coarse if the graphics card subdivides.

    Parameters
    ----------
    key : str
        Key of the object whose patterns are read with it; "" for none.

    Returns
    -------
    PosedSkin
        In object space.
    """
    evaluated = obj.evaluated_get(depsgraph)
    mesh = evaluated.to_mesh()
    try:
        mesh.calc_loop_triangles()
        triangles, corners = (np.empty((len(mesh.loop_triangles), 3), np.int32) for _ in range(2))
        mesh.loop_triangles.foreach_get("vertices", triangles.ravel())
        mesh.loop_triangles.foreach_get("loops", corners.ravel())
        points = np.empty((len(mesh.vertices), 3), np.float32)
        mesh.vertices.foreach_get("co", points.ravel())
        charts: list[np.ndarray] = []
        while key and (values := _read_vectors(mesh, chart_name(key, len(charts)), "CORNER")) is not None:
            charts.append(values)
        rest = _read_vectors(mesh, REST, "POINT")
    finally:
        evaluated.to_mesh_clear()
    rest = None if rest is None else rest.astype(np.float64)
    return PosedSkin(points.astype(np.float64), triangles, corners, tuple(charts), rest)


def _read_vectors(mesh: bpy.types.Mesh, name: str, domain: str) -> np.ndarray | None:
    attribute = mesh.attributes.get(name)
    if attribute is None or (attribute.domain, attribute.data_type) != (domain, "FLOAT_VECTOR"):
        return None
    values = np.empty((len(attribute.data), 3), np.float32)
    attribute.data.foreach_get("vector", values.ravel())
    return values
