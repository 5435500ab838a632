"""How patterns lie on a mesh: from an object's settings to charts, from the surface to the UV map, and mirrored."""

from __future__ import annotations

import math
from dataclasses import dataclass

import bpy
import numpy as np

from ...bridge.meshes.charts import fingerprint, read_chart_arrays
from ...bridge.meshes.data import mesh_of
from ...bridge.per_object import PerObject
from ...deformers import SkinningError
from ...deformers.patterns.chart_mesh import ChartMesh, make_chart_mesh
from ...deformers.patterns.charts import Chart, chart_by_stroke, chart_by_surface, chart_by_uv
from ...deformers.patterns.surface_points import SurfacePoint, locate_point, locate_uv, surface_frame, uv_frame
from ...settings.patterns import SPACES, PatternSettings


@dataclass(frozen=True)
class MeshCharts:
    """A mesh as charts need it, and the charts made of it.

    Attributes
    ----------
    code : int
        Differs where the mesh has changed.
    cache : dict
        Charts of patterns, by all that they depend on.
    """

    code: int
    mesh: ChartMesh
    cache: dict[tuple, Chart]


_cache: PerObject[MeshCharts] = PerObject()
"""Of each mesh."""

MOST_CHARTS = 200
"""Charts cached of a mesh: more than a drag of the mouse makes."""


def check_mesh(obj: bpy.types.Object) -> None:
    """Raise SkinningError where patterns can not be laid on an object."""
    if obj.type != "MESH":
        raise SkinningError(f"'{obj.name}' is not a mesh: select a mesh for the patterns")
    if obj.library is not None or mesh_of(obj).library is not None:
        raise SkinningError(f"'{obj.name}' or its mesh is linked from another file: make it local to add patterns")
    if mesh_of(obj).is_editmode:
        raise SkinningError(f"'{obj.name}' is in Edit Mode: leave it first")
    if not mesh_of(obj).polygons:
        raise SkinningError(f"'{obj.name}' has no faces: select a mesh with faces to lay patterns on")


def charts_of(obj: bpy.types.Object) -> MeshCharts:
    """An object's mesh and its charts, read anew where the mesh has changed.

    Raises
    ------
    SkinningError
        Where patterns can not be laid on it.
    """
    check_mesh(obj)
    arrays = read_chart_arrays(mesh_of(obj))
    code, known = fingerprint(arrays), _cache.find(mesh_of(obj))
    if known is None or known.code != code:
        points, corners, starts, uv = arrays
        known = MeshCharts(code, make_chart_mesh(points, corners, starts, uv), {})
        _cache.keep(mesh_of(obj), known)
    return known


def describe_layout(pattern: PatternSettings) -> tuple:
    """All that a pattern's chart depends on besides the mesh."""
    common = (pattern.space, pattern.turn, tuple(pattern.size), pattern.flip)
    if pattern.space == "UV":
        return (*common, tuple(pattern.uv), tuple(pattern.location))
    return (*common, *(tuple(point.location) for point in pattern.stroke or [pattern]))


def find_center(mesh: ChartMesh, pattern: PatternSettings) -> SurfacePoint:
    """The surface point at the center of a pattern.

    Raises
    ------
    SkinningError
        Where the mesh has no such point.
    """
    if pattern.space == "UV":
        return locate_uv(mesh, np.array(pattern.uv), near=np.array(pattern.location))
    return locate_point(mesh, np.array(pattern.location))


def make_chart(charts: MeshCharts, pattern: PatternSettings) -> Chart:
    """The chart of a pattern, made where it is not cached.

    Raises
    ------
    SkinningError
        Where the pattern can not be laid on the mesh.
    """
    key = describe_layout(pattern)
    if key not in charts.cache:
        while len(charts.cache) >= MOST_CHARTS:
            charts.cache.pop(next(iter(charts.cache)))
        charts.cache[key] = _make_chart(charts.mesh, pattern)
    return charts.cache[key]


def _make_chart(mesh: ChartMesh, pattern: PatternSettings) -> Chart:
    size = tuple(pattern.size)
    if pattern.space == "SURFACE" and len(pattern.stroke) > 1:
        return chart_by_stroke(mesh, np.array([point.location for point in pattern.stroke]), size, pattern.flip)
    make = chart_by_uv if pattern.space == "UV" else chart_by_surface
    return make(mesh, find_center(mesh, pattern), pattern.turn, size, pattern.flip)


def find_frame(mesh: ChartMesh, point: SurfacePoint, space: str) -> np.ndarray:
    """What a unit of u and v is at a surface point, in a space, "UV" or "SURFACE": object units, shape (2, 3)."""
    return uv_frame(mesh, point) if space == "UV" else surface_frame(point)


def find_sides(mesh: ChartMesh, center: SurfacePoint, pattern: PatternSettings) -> np.ndarray:
    """A pattern's lower and left side, left to right and bottom to top: object space, shape (2, 3)."""
    frame = find_frame(mesh, center, pattern.space)
    cos, sin = math.cos(pattern.turn), math.sin(pattern.turn)
    sides = np.array([[cos, sin], [-sin, cos]]) @ frame * np.array(pattern.size)[:, None]
    if pattern.flip:
        sides[0] *= -1.0
    return sides


def lay_by_sides(mesh: ChartMesh, center: SurfacePoint, sides: np.ndarray, pattern: PatternSettings) -> None:
    """Lay a pattern about a surface point, in its space, so that its sides are those that `find_sides` gives.

    The sides stay at right angles in the space: where that does not fit both, the lower side counts.
    """
    frame = find_frame(mesh, center, pattern.space)
    along, up = (np.linalg.lstsq(frame.T, side, rcond=None)[0] for side in sides)
    pattern.flip = bool(along[0] * up[1] - along[1] * up[0] < 0.0)
    if pattern.flip:
        along = -along
    pattern.stroke.clear()
    pattern.turn = math.atan2(along[1], along[0])
    pattern.size = float(np.hypot(*along)), float(np.hypot(*up))
    pattern.location = center.position
    if center.uv is not None:
        pattern.uv = center.uv
    pattern.placed_in = pattern.space


def follow_space(mesh: ChartMesh, pattern: PatternSettings) -> None:
    """Where the user has chosen another space, lay the pattern there as it lay in the other."""
    if pattern.space not in SPACES:
        raise SkinningError("The pattern's placement is unknown to this version: choose one in Place On")
    if pattern.placed_in not in SPACES:  # nobody knows where it lay
        pattern.placed_in = pattern.space
    if pattern.placed_in == pattern.space:
        return
    wanted, pattern.space = pattern.space, pattern.placed_in
    center = find_center(mesh, pattern)
    if wanted == "UV" and center.uv is None:
        raise SkinningError("The mesh has no UV map: unwrap it first, or leave the pattern on the surface")
    sides = find_sides(mesh, center, pattern)
    pattern.space = wanted
    lay_by_sides(mesh, center, sides, pattern)


def mirror_layout(mesh: ChartMesh, source: PatternSettings, target: PatternSettings) -> None:
    """Lay a pattern, which has all else of `source` already, on the other side of the object's YZ plane.

    Raises
    ------
    SkinningError
        Where the source lies in the middle, or there is no skin on the other side.
    """
    center = find_center(mesh, source)
    sides = find_sides(mesh, center, source)
    reach = 0.5 * float(np.linalg.norm(sides, axis=1).max())
    if abs(center.position[0]) < 0.1 * reach:
        raise SkinningError(
            f"Pattern '{source.name}' is in the middle of the body: move it to one side to mirror it to the other"
        )
    mirror = np.array([-1.0, 1.0, 1.0])
    other = locate_point(mesh, center.position * mirror)
    if float(np.linalg.norm(other.position - center.position * mirror)) > reach:
        raise SkinningError(
            f"There is no skin on the other side of pattern '{source.name}', because the mesh is not symmetrical in "
            "X: add the other pattern by hand"
        )
    stroke = [np.array(point.location) * mirror for point in source.stroke]
    lay_by_sides(mesh, other, sides * mirror, target)
    for location in stroke:
        target.stroke.add().location = location
    if stroke:
        target.flip = not source.flip
