"""Where patterns lie: from an object's settings to charts on its mesh, and from one way of placing to the other."""

from __future__ import annotations

import math
from dataclasses import dataclass

import bpy
import numpy as np

from ...bridge.charts import fingerprint, read_outline
from ...bridge.meshes import mesh_of
from ...deformers import SkinningError
from ...deformers.patterns.chart_mesh import ChartMesh, make_chart_mesh
from ...deformers.patterns.charts import Chart, chart_by_stroke, chart_by_surface, chart_by_uv
from ...deformers.patterns.surface_points import Place, locate_point, locate_uv, surface_frame, uv_frame
from ...settings.patterns import PatternSettings


@dataclass(frozen=True)
class Outline:
    """What is kept of a mesh between updates.

    Attributes
    ----------
    code : int
        Another one for another mesh.
    mesh : ChartMesh
    charts : dict
        Of the patterns, by all that they depend on.
    """

    code: int
    mesh: ChartMesh
    charts: dict[tuple, Chart]


_outlines: dict[int, Outline] = {}
"""By `session_uid` of the mesh."""

MOST_CHARTS = 200
"""Charts kept of a mesh: as many as a drag of the mouse may make, and then some."""


def forget_outlines() -> None:
    """Drop what is kept, as when another file is opened."""
    _outlines.clear()


def check_mesh(obj: bpy.types.Object) -> None:
    """Raise SkinningError where patterns can not be laid on an object."""
    if obj.type != "MESH":
        raise SkinningError(f"'{obj.name}' is not a mesh: select a mesh to lay patterns on")
    if obj.library is not None or mesh_of(obj).library is not None:
        raise SkinningError(
            f"'{obj.name}' or its mesh is linked from another file: make it local to lay patterns on it"
        )
    if mesh_of(obj).is_editmode:
        raise SkinningError(f"'{obj.name}' is in Edit Mode: leave it first")
    if not mesh_of(obj).polygons:
        raise SkinningError(f"'{obj.name}' has no faces: select a mesh with faces to lay patterns on")


def outline_of(obj: bpy.types.Object) -> Outline:
    """What charts are made of, read anew where the mesh has changed.

    Raises
    ------
    SkinningError
        Where patterns can not be laid on it.
    """
    check_mesh(obj)
    arrays = read_outline(mesh_of(obj))
    code, uid = fingerprint(arrays), mesh_of(obj).session_uid
    if uid not in _outlines or _outlines[uid].code != code:
        points, corners, starts, uv = arrays
        _outlines[uid] = Outline(code, make_chart_mesh(points, corners, starts, uv), {})
    return _outlines[uid]


def read_placing(pattern: PatternSettings) -> tuple:
    """All that a pattern's chart depends on besides the mesh."""
    common = (pattern.space, pattern.turn, tuple(pattern.size), pattern.flip)
    if pattern.space == "UV":
        return (*common, tuple(pattern.uv), tuple(pattern.location))
    return (*common, *(tuple(one.location) for one in pattern.stroke or [pattern]))


def find_place(mesh: ChartMesh, pattern: PatternSettings) -> Place:
    """Where the center of a pattern lies.

    Raises
    ------
    SkinningError
        Where there is no such place.
    """
    if pattern.space == "UV":
        return locate_uv(mesh, np.array(pattern.uv), near=np.array(pattern.location))
    return locate_point(mesh, np.array(pattern.location))


def make_chart(outline: Outline, pattern: PatternSettings) -> Chart:
    """The chart of a pattern, made where it is not known yet.

    Raises
    ------
    SkinningError
        Where the pattern can not be laid there.
    """
    key = read_placing(pattern)
    if key not in outline.charts:
        while len(outline.charts) >= MOST_CHARTS:
            outline.charts.pop(next(iter(outline.charts)))
        outline.charts[key] = _make_chart(outline.mesh, pattern)
    return outline.charts[key]


def _make_chart(mesh: ChartMesh, pattern: PatternSettings) -> Chart:
    size = tuple(pattern.size)
    if pattern.space == "SURFACE" and len(pattern.stroke) > 1:
        return chart_by_stroke(mesh, np.array([one.location for one in pattern.stroke]), size, pattern.flip)
    make = chart_by_uv if pattern.space == "UV" else chart_by_surface
    return make(mesh, find_place(mesh, pattern), pattern.turn, size, pattern.flip)


def find_frame(mesh: ChartMesh, place: Place, space: str) -> np.ndarray:
    """Directions of u and v at a place: object units for a unit of the space, shape (2, 3)."""
    return uv_frame(mesh, place) if space == "UV" else surface_frame(place)


def find_sides(mesh: ChartMesh, place: Place, pattern: PatternSettings) -> np.ndarray:
    """The picture's lower and left side in object space, shape (2, 3): from left to right, from bottom to top."""
    frame = find_frame(mesh, place, pattern.space)
    cos, sin = math.cos(pattern.turn), math.sin(pattern.turn)
    sides = np.array([[cos, sin], [-sin, cos]]) @ frame * np.array(pattern.size)[:, None]
    if pattern.flip:
        sides[0] *= -1.0
    return sides


def place_by_sides(mesh: ChartMesh, place: Place, sides: np.ndarray, pattern: PatternSettings) -> None:
    """Lay a pattern at a place, in its space, so that its sides are those that `find_sides` gives.

    Turned sides stay at right angles in the space: where that is not possible, the picture's lower side counts.
    """
    frame = find_frame(mesh, place, pattern.space)
    along, up = (np.linalg.lstsq(frame.T, side, rcond=None)[0] for side in sides)
    pattern.flip = bool(along[0] * up[1] - along[1] * up[0] < 0.0)
    if pattern.flip:
        along = -along
    pattern.stroke.clear()
    pattern.turn = math.atan2(along[1], along[0])
    pattern.size = float(np.hypot(*along)), float(np.hypot(*up))
    pattern.location = place.point
    if place.uv is not None:
        pattern.uv = place.uv
    pattern.placed_in = pattern.space


def follow_space(outline: Outline, pattern: PatternSettings) -> None:
    """Where the user has chosen another space, place the pattern there as it was placed in the other."""
    if pattern.placed_in == pattern.space:
        return
    wanted, pattern.space = pattern.space, pattern.placed_in
    place = find_place(outline.mesh, pattern)
    if wanted == "UV" and place.uv is None:
        raise SkinningError("The mesh has no UV map: unwrap it first, or leave the pattern on the surface")
    sides = find_sides(outline.mesh, place, pattern)
    pattern.space = wanted
    place_by_sides(outline.mesh, place, sides, pattern)


def mirror_place(mesh: ChartMesh, source: PatternSettings, target: PatternSettings) -> None:
    """Place a pattern, which has all else of `source` already, on the other side of the object's YZ plane.

    Raises
    ------
    SkinningError
        Where the source lies in the middle, or nothing is there on the other side.
    """
    place = find_place(mesh, source)
    sides = find_sides(mesh, place, source)
    reach = 0.5 * float(np.linalg.norm(sides, axis=1).max())
    if abs(place.point[0]) < 0.1 * reach:
        raise SkinningError(f"Pattern '{source.name}' lies in the middle of the body: there is no other side to it")
    mirror = np.array([-1.0, 1.0, 1.0])
    other = locate_point(mesh, place.point * mirror)
    away = float(np.linalg.norm(other.point - place.point * mirror))
    if away > reach:
        raise SkinningError(
            f"There is no skin on the other side of pattern '{source.name}': the mesh is not symmetrical in X, place "
            "the other one by hand"
        )
    strokes = [np.array(one.location) * mirror for one in source.stroke]
    place_by_sides(mesh, other, sides * mirror, target)
    for point in strokes:
        target.stroke.add().location = point
    if strokes:
        target.flip = not source.flip
