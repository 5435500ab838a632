"""Outlines of patterns as pieces of lines: on the posed skin and in the UV map."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .chart_mesh import ChartMesh
from .charts import Chart
from .picking import PosedSkin, find_barycentric, find_pattern_triangles

EDGE_TOLERANCE = 1e-5
"""How far beside a triangle a line may run, as a fraction of the triangle's height, and still be cut by it: many run
along edges."""

SHORTEST_PIECE = 1e-4
"""Fraction of a line below which a piece of it is left out: it lies beside a triangle."""

MARK_SIZE = 0.12
"""Size of the mark at a height map's upper side, as a fraction of its shorter side."""


def list_borders(aspect: float) -> tuple[np.ndarray, np.ndarray]:
    """List the lines of an outline in the height map's square from 0 to 1.

    Parameters
    ----------
    aspect : float
        The height map's height over its width, as it lies on the skin.

    Returns
    -------
    border : float64 array, shape (4, 2, 2)
        Start and end of each side.
    mark : float64 array, shape (2, 2, 2)
        An arrow head at the upper side.
    """
    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1)], float)
    border = np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)
    reach = MARK_SIZE * np.array([min(1.0, aspect), min(1.0, 1.0 / aspect)])
    tip = np.array([0.5, 1.0 - 0.4 * reach[1]])
    feet = tip + reach * np.array([[-1, -1], [1, -1]])
    return border, np.stack([feet, np.stack([tip, tip])], axis=1)


def list_lines(size: Sequence[float], with_mark: bool) -> np.ndarray:
    """List the lines of a pattern's outline.

    Parameters
    ----------
    size : float array, shape (2,)
        The pattern's width and height.
    with_mark : bool
        Whether the upper side is marked.

    Returns
    -------
    float64 array, shape (N, 2, 2)
        Start and end of each line, (s, t).
    """
    width, height = size
    border, mark = list_borders(height / width if width > 0 and height > 0 else 1.0)
    return np.concatenate([border, mark]) if with_mark else border


def cut_lines(shapes: np.ndarray, lines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cut lines of the height map's plane by triangles.

    Parameters
    ----------
    shapes : float64 array, shape (T, 3, 2)
        (s, t) of the triangles' corners.
    lines : float64 array, shape (N, 2, 2)
        Start and end of each line.

    Returns
    -------
    triangles : int array, shape (S,)
        On which each piece lies.
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
        found = np.flatnonzero((high - low > SHORTEST_PIECE) & ~outside.any(axis=1))
        triangles.append(found)
        ends = np.stack([low, high], axis=1)[found, :, None]
        weights.append(at_start[found, None] * (1 - ends) + at_end[found, None] * ends - EDGE_TOLERANCE)
    return np.concatenate(triangles), np.concatenate(weights)


def outline_on_skin(skin: PosedSkin, number: int, lines: np.ndarray) -> np.ndarray:
    """Lay a pattern's outline on the posed skin.

    Parameters
    ----------
    number : int
        Of the pattern.
    lines : float64 array, shape (N, 2, 2)
        Of its outline, (s, t).

    Returns
    -------
    float64 array, shape (S, 2, 3)
        Ends of the pieces, object space.
    """
    triangles, shapes = find_pattern_triangles(skin, number)
    found, weights = cut_lines(shapes, lines)
    return np.einsum("sec,sci->sei", weights, skin.points[skin.triangles[triangles[found]]])


def outline_by_chart(mesh: ChartMesh, chart: Chart, lines: np.ndarray) -> np.ndarray:
    """Lay a pattern's outline in the UV map, by the chart that lays the pattern on the surface.

    Parameters
    ----------
    lines : float64 array, shape (N, 2, 2)
        Of its outline, (s, t).

    Returns
    -------
    float64 array, shape (S, 2, 2)
        UVs of the pieces' ends; none where the mesh has no UV map.
    """
    if mesh.uv is None:
        return np.empty((0, 2, 2))
    touched = np.zeros(len(mesh.face_starts), bool)
    touched[chart.faces] = True
    corners = mesh.triangles[touched[mesh.triangle_faces]]
    found, weights = cut_lines(chart.coordinates[np.searchsorted(chart.corners, corners)], lines)
    return np.einsum("sec,sci->sei", weights, mesh.uv[corners[found]])


def outline_in_uv(center: np.ndarray, rotation: float, size: Sequence[float], lines: np.ndarray) -> np.ndarray:
    """Lay the outline of a pattern that lies in the UV map.

    Parameters
    ----------
    center : float array, shape (2,)
        UV of its middle.
    rotation : float
        Counter-clockwise, radians.
    size : float array, shape (2,)
        Width and height, UV units.
    lines : float64 array, shape (N, 2, 2)
        Of its outline, (s, t).

    Returns
    -------
    float64 array, shape (N, 2, 2)
        UVs of the lines' ends.
    """
    cos, sin = np.cos(rotation), np.sin(rotation)
    sides = np.array([[cos, sin], [-sin, cos]]) * np.asarray(size, float)[:, None]
    return np.asarray(center, float) + (lines - 0.5) @ sides
