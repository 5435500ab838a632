"""Heat: what is drawn in colors on the skin of a character as it is shown in the current frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of, read_edges, read_mixed_points
from ...bridge.meshes.nearest import find_depths
from ...bridge.meshes.shown_weights import ShownShape, read_shown_shape
from ...deformers import SkinningError
from ...deformers.geometry.vectors import measure_lengths
from ...deformers.measures.heat import color_rising, color_stretch, stretch_vertices
from ...settings.engine_copy import ORIGINAL_KEY
from ..skin.poses import Poses
from ..subject.character import check_shown_vertices, object_to_armature
from ..subject.stack import find_armature_modifier
from .ghosts import pose_ghost

STRETCH, OVERLAP, DIFFERENCE, COPY = "STRETCH", "OVERLAP", "DIFFERENCE", "COPY"


@dataclass(frozen=True)
class Legend:
    """What the colors say.

    Attributes
    ----------
    ends : tuple of str
        At the low and at the high end of the scale.
    colors : float array, shape (N, 3)
        From low to high, sRGB.
    """

    title: str
    ends: tuple[str, str]
    colors: np.ndarray


def color_heat(
    obj: bpy.types.Object, shape: ShownShape, kind: str, other: str, full: float, depsgraph: bpy.types.Depsgraph
) -> np.ndarray:
    """Colors of a mesh, sRGB, shape (V, 3).

    Parameters
    ----------
    shape : ShownShape
        As it is shown.
    kind : str
        STRETCH, OVERLAP, DIFFERENCE or COPY.
    other : str
        Key of the method that DIFFERENCE is from.
    full : float
        Length at the end of the scale, in the unit of the mesh.
    depsgraph : Depsgraph
        Of the viewport.

    Raises
    ------
    SkinningError
        Where the shown mesh has other vertices than the mesh itself.
    """
    check_shown_vertices(obj, len(shape.points))
    if kind == OVERLAP:
        return color_rising(find_depths(shape.points, shape.normals, shape.triangles), full)
    if kind == DIFFERENCE:
        return color_rising(_measure_difference(obj, shape, other, depsgraph), full)
    if kind == COPY:
        return color_rising(_measure_copy(obj, shape, depsgraph), full)
    rest = read_mixed_points(obj, depsgraph)
    return color_stretch(stretch_vertices(rest, shape.points, read_edges(mesh_of(obj))))


def _measure_difference(
    obj: bpy.types.Object, shape: ShownShape, other: str, depsgraph: bpy.types.Depsgraph
) -> np.ndarray:
    ghost = pose_ghost(obj, other, depsgraph, Poses(depsgraph))
    if ghost.points is None:
        raise SkinningError(ghost.message)
    return measure_lengths(shape.points - ghost.points)


def _measure_copy(obj: bpy.types.Object, shape: ShownShape, depsgraph: bpy.types.Depsgraph) -> np.ndarray:
    """How far an engine copy, shown at some other place perhaps, is from what it is a copy of."""
    name = obj.get(ORIGINAL_KEY)
    original = bpy.data.objects.get(name) if isinstance(name, str) else None
    if original is None:
        raise SkinningError(
            f"'{obj.name}' is not an engine copy, or its original was deleted or renamed: make a new copy"
        )
    shown = read_shown_shape(original, depsgraph)
    if len(shown.points) != len(shape.points):
        raise SkinningError(f"'{original.name}' and its engine copy have different vertices: make a new copy")
    ours, theirs = (cast(bpy.types.Object, find_armature_modifier(one).object) for one in (obj, original))
    space = np.array(object_to_armature(obj, ours), np.float64)
    other = np.array(object_to_armature(original, theirs), np.float64)
    scale = theirs.matrix_world.median_scale / (ours.matrix_world.median_scale or 1.0)
    own = shape.points @ space[:3, :3].T + space[:3, 3]
    expected = scale * (shown.points @ other[:3, :3].T + other[:3, 3])
    return measure_lengths(own - expected)


def describe_heat(kind: str, full: float, meters: float) -> Legend:
    """The legend of a kind of heat.

    Parameters
    ----------
    full : float
        Length at the high end of the scale, in the unit of the scene.
    meters : float
        In this unit.
    """
    steps = np.linspace(0.0, 1.0, 64)
    if kind == STRETCH:
        return Legend("Stretch of edges", ("half", "double"), color_stretch(2.0 * steps - 1.0))
    titles = {OVERLAP: "Depth inside the body", COPY: "Distance from the character"}
    title = titles.get(kind, "Distance")
    return Legend(title, ("0", f"{1000.0 * full * meters:.3g} mm"), color_rising(steps, 1.0))
