"""Heat: colors on the skin of a character, as shown in the current frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import bpy
import numpy as np

from ...bridge.held import find_again
from ...bridge.meshes.data import mesh_of, read_edges, read_mixed_points, read_points, read_triangles
from ...bridge.meshes.nearest import NearestSurfaces, find_depths, find_nearest_surface
from ...bridge.meshes.shown_weights import ShownShape, read_shown_shape
from ...bridge.owned import Tag, read_mark
from ...bridge.per_object import PerObject
from ...deformers import SkinningError
from ...deformers.geometry.vectors import measure_lengths
from ...deformers.layers.order import REFERENCE_HEIGHT, Shell, find_layers
from ...deformers.measures.heat import color_rising, color_stretch, stretch_vertices
from ...deformers.measures.layers import LayerMeter
from ...settings.character import find_holder
from ..skin.poses import Poses
from ..subject.character import check_shown_vertices, list_deformed, object_to_armature
from ..subject.stack import armature_modifiers, find_deforming_modifier
from .ghosts import pose_ghost

STRETCH, OVERLAP, DIFFERENCE, COPY = "STRETCH", "OVERLAP", "DIFFERENCE", "COPY"


@dataclass(frozen=True)
class Legend:
    """The scale of the colors.

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

    Raises SkinningError if the shown mesh has other vertices than the mesh itself.

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
    """
    check_shown_vertices(obj, len(shape.points))
    if kind == OVERLAP:
        return color_rising(_measure_overlap(obj, shape, depsgraph), full)
    if kind == DIFFERENCE:
        return color_rising(_measure_difference(obj, shape, other, depsgraph), full)
    if kind == COPY:
        return color_rising(_measure_copy(obj, shape, depsgraph), full)
    rest = read_mixed_points(obj, depsgraph)
    return color_stretch(stretch_vertices(rest, shape.points, read_edges(mesh_of(obj))))


@dataclass(frozen=True)
class BodiesBeneath:
    """The bodies beneath a layer at rest.

    Attributes
    ----------
    code : tuple
        Identifies the meshes at rest.
    meters : dict from int to LayerMeter
        By `session_uid` of the meshes.
    """

    code: tuple
    meters: dict[int, LayerMeter]


_beneath: PerObject[BodiesBeneath] = PerObject()


def _measure_overlap(obj: bpy.types.Object, shape: ShownShape, depsgraph: bpy.types.Depsgraph) -> np.ndarray:
    """How deep a layer is in the meshes that it lies over, in its own unit; another mesh, how deep in itself."""
    modifier = find_deforming_modifier(obj)
    armature = modifier.object if modifier is not None else None
    meters = _find_beneath(obj, armature) if armature is not None else {}
    if armature is None or not meters:
        return find_depths(shape.points, shape.normals, shape.triangles)
    own, depths = _place(obj, armature, shape.points), np.zeros(len(shape.points))
    for uid, meter in meters.items():
        below = cast(bpy.types.Object, find_again(uid))
        shown = read_shown_shape(below, depsgraph).points
        check_shown_vertices(below, len(shown))
        depths = np.maximum(depths, meter.measure_depths(own, _place(below, armature, shown)))
    return depths / (object_to_armature(obj, armature).median_scale or 1.0)


def _find_beneath(obj: bpy.types.Object, armature: bpy.types.Object) -> dict[int, LayerMeter]:
    """The meshes that a mesh lies over, found again where any of them has changed at rest."""
    meshes = list_deformed(bpy.context.view_layer, armature)
    points = [_place(one, armature, read_points(mesh_of(one))) for one in meshes]
    code = tuple(
        (one.session_uid, hash(own.tobytes()), len(mesh_of(one).polygons))
        for one, own in zip(meshes, points, strict=True)
    )
    known = _beneath.find(obj)
    if known is None or known.code != code:
        known = _beneath.keep(obj, BodiesBeneath(code, _find_meters(meshes, points, meshes.index(obj))))
    return known.meters


def _find_meters(meshes: list[bpy.types.Object], points: list[np.ndarray], layer: int) -> dict[int, LayerMeter]:
    shells = [Shell.outward(own, read_triangles(mesh_of(one))) for one, own in zip(meshes, points, strict=True)]
    height = float(np.ptp(np.concatenate(points), axis=0).max())
    if not (np.isfinite(height) and height > 0.0):
        return {}
    find, unit = NearestSurfaces(), height / REFERENCE_HEIGHT
    found = [below for above, below in find_layers(shells, height, find) if above == layer]
    return {
        meshes[below].session_uid: LayerMeter(
            shells[layer], shells[below], unit, find_nearest_surface, find_at_rest=find
        )
        for below in found
    }


def _place(obj: bpy.types.Object, armature: bpy.types.Object, points: np.ndarray) -> np.ndarray:
    """Points of an object, shape (V, 3), in armature space, float64."""
    matrix = np.array(object_to_armature(obj, armature), np.float64)
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def _measure_difference(
    obj: bpy.types.Object, shape: ShownShape, other: str, depsgraph: bpy.types.Depsgraph
) -> np.ndarray:
    ghost = pose_ghost(obj, other, depsgraph, Poses(depsgraph))
    if ghost.points is None:
        raise SkinningError(ghost.message)
    return measure_lengths(shape.points - ghost.points)


def _measure_copy(obj: bpy.types.Object, shape: ShownShape, depsgraph: bpy.types.Depsgraph) -> np.ndarray:
    """Distances of an engine copy, wherever it stands, from its original."""
    name = read_mark(obj, Tag.COPY_OF)
    original = bpy.data.objects.get(name) if isinstance(name, str) else None
    if original is None:
        raise SkinningError(
            f"'{obj.name}' is not an engine copy, or its original was deleted or renamed: make a new copy"
        )
    shown = read_shown_shape(original, depsgraph)
    if len(shown.points) != len(shape.points):
        raise SkinningError(f"'{original.name}' and its engine copy have different vertices: make a new copy")
    ours, theirs = (_find_armature(one) for one in (obj, original))
    scale = theirs.matrix_world.median_scale / (ours.matrix_world.median_scale or 1.0)
    return measure_lengths(_place(obj, ours, shape.points) - scale * _place(original, theirs, shown.points))


def _find_armature(obj: bpy.types.Object) -> bpy.types.Object:
    """The armature that deforms a mesh, or on a bone of which it hangs."""
    is_hung = not armature_modifiers(obj)
    return cast(bpy.types.Object, find_holder(obj) if is_hung else find_deforming_modifier(obj).object)


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
