"""Outlines of patterns as pieces of lines, on the posed skin and in the UV map."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .chart_mesh import ChartMesh
from .charts import Chart
from .picking import PosedSkin, find_pattern_triangles
from .surface_points import find_barycentric

EDGE_TOLERANCE = 1e-5  # of the height of a triangle: lines along an edge must not miss both of its triangles

MIN_PIECE = 1e-4  # share of a line; shorter pieces are of triangles that only touch it

MARK_SIZE = 0.12  # of the arrow head, as a share of the shorter side of the height map


def list_lines(size: Sequence[float], with_mark: bool) -> np.ndarray:
    """List the lines of a pattern's outline in the square from 0 to 1 that its height map fills.

    `size`, float array, shape (2,): width and height of the pattern on the skin. Returns a float64 array, shape (N, 2,
    2): start and end of each line, (s, t): the four sides and, with the mark, an arrow head at the upper side.
    """
    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1)], float)
    border = np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)
    if not with_mark:
        return border
    width, height = size
    aspect = height / width if width > 0 and height > 0 else 1.0
    reach = MARK_SIZE * np.array([min(1.0, aspect), min(1.0, 1.0 / aspect)])
    tip = np.array([0.5, 1.0 - 0.4 * reach[1]])
    feet = tip + reach * np.array([[-1, -1], [1, -1]])
    return np.concatenate([border, np.stack([feet, np.stack([tip, tip])], axis=1)])


def cut_lines(shapes: np.ndarray, lines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cut lines in the plane of the height map into the pieces that lie on triangles.

    Parameters
    ----------
    shapes : float64 array, shape (T, 3, 2)
        (s, t) of the triangles' corners.
    lines : float64 array, shape (N, 2, 2)
        Start and end of each line.

    Returns
    -------
    triangles : int array, shape (S,)
        The triangle under each piece.
    weights : float64 array, shape (S, 2, 3)
        Barycentric coordinates of its ends.
    """
    triangles, weights = [], []
    for start, end in lines:
        at_start, at_end = (find_barycentric(shapes, point) + EDGE_TOLERANCE for point in (start, end))
        rising, falling = at_start < at_end, at_start > at_end
        with np.errstate(divide="ignore", invalid="ignore"):
            zero = at_start / (at_start - at_end)
        low = np.maximum(np.where(rising, zero, 0.0).max(axis=1), 0.0)
        high = np.minimum(np.where(falling, zero, 1.0).min(axis=1), 1.0)
        outside = ~(rising | falling) & ~(at_start >= 0)
        found = np.flatnonzero((high - low > MIN_PIECE) & ~outside.any(axis=1))
        triangles.append(found)
        ends = np.stack([low, high], axis=1)[found, :, None]
        weights.append(at_start[found, None] * (1 - ends) + at_end[found, None] * ends - EDGE_TOLERANCE)
    return np.concatenate(triangles), np.concatenate(weights)


def outline_on_skin(skin: PosedSkin, number: int, lines: np.ndarray) -> np.ndarray:
    """Lay a pattern's outline on the posed skin.

    Parameters
    ----------
    number : int
        The pattern's number.
    lines : float64 array, shape (N, 2, 2)
        From `list_lines`.

    Returns
    -------
    float64 array, shape (S, 2, 3)
        Ends of the pieces, object space.
    """
    triangles, shapes = find_pattern_triangles(skin, number)
    found, weights = cut_lines(shapes, lines)
    return np.einsum("sec,sci->sei", weights, skin.points[skin.triangles[triangles[found]]])


def outline_by_chart(mesh: ChartMesh, chart: Chart, lines: np.ndarray) -> np.ndarray:
    """Lay the outline of a pattern that lies on the surface, (N, 2, 2) of `list_lines`, in the UV map by its chart.

    Returns a float64 array, shape (S, 2, 2): UVs of the ends of the pieces, none without a UV map.
    """
    if mesh.uv_map is None:
        return np.empty((0, 2, 2))
    touched = np.zeros(len(mesh.face_starts), bool)
    touched[chart.faces] = True
    corners = mesh.triangles[touched[mesh.triangle_faces]]
    found, weights = cut_lines(chart.coordinates[np.searchsorted(chart.corners, corners)], lines)
    return np.einsum("sec,sci->sei", weights, mesh.uv_map.corners[corners[found]])


def outline_in_uv(center: np.ndarray, rotation: float, size: Sequence[float], lines: np.ndarray) -> np.ndarray:
    """Lay the outline of a pattern that lies in the UV map: UVs of the ends of its lines, float64, shape (N, 2, 2).

    Parameters
    ----------
    center : float array, shape (2,)
        UV of the pattern's center.
    rotation : float
        Counter-clockwise, radians.
    size : float array, shape (2,)
        Width and height, UV units.
    lines : float64 array, shape (N, 2, 2)
        From `list_lines`.
    """
    cos, sin = np.cos(rotation), np.sin(rotation)
    sides = np.array([[cos, sin], [-sin, cos]]) * np.asarray(size, float)[:, None]
    return np.asarray(center, float) + (lines - 0.5) @ sides
