"""The skin as it is shown: what rays are cast at, and what lines are drawn on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import bpy
import numpy as np

from .charts import chart_name

REST = "rest_position"
"""Attribute in which Blender brings positions before shape keys and modifiers through the modifier stack."""


@dataclass(frozen=True)
class PosedSkin:
    """A mesh after all modifiers that are shown.

    Attributes
    ----------
    points : float64 array, shape (V, 3)
        Object space.
    triangles : int array, shape (T, 3)
        Vertices, counter-clockwise seen from outside.
    corners : int array, shape (T, 3)
        The triangles' corners, as indices of the mesh's corners.
    charts : tuple of float32 arrays, shape (C, 3)
        Layers of charts, as `bridge.charts` has them.
    rest : float64 array, shape (V, 3), or None
        Where the points are at rest, object space; None where modifiers do not tell, or nobody has asked.
    """

    points: np.ndarray
    triangles: np.ndarray
    corners: np.ndarray
    charts: tuple[np.ndarray, ...]
    rest: np.ndarray | None


@contextmanager
def telling_rest(obj: bpy.types.Object) -> Iterator[None]:
    """Have an object's modifiers tell, for a while, where points of the skin are at rest."""
    before = obj.add_rest_position_attribute
    if not before:
        obj.add_rest_position_attribute = True
    try:
        yield
    finally:
        if not before:
            obj.add_rest_position_attribute = False


def read_posed_skin(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, key: str = "") -> PosedSkin:
    """A mesh object as a depsgraph has it, with the charts of the object that has this key.

    A copy of the evaluated mesh is read: where the graphics card subdivides, the evaluated mesh itself is coarse.
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
