"""Charts as pixels of an image that fills the UV map."""

from __future__ import annotations

import numpy as np

from ..errors import SkinningError
from ..geometry.vectors import nearest_weights
from .chart_mesh import ChartMesh
from .charts import Chart

MOST_PIXELS = 1_000_000
"""Pixels that are tested at a time."""


def rasterize_corners(
    mesh: ChartMesh, chart: Chart, width: int, height: int, margin: float = 2.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the pixels that a chart covers in an image that fills the UV map, and where they are on the mesh.

    Parameters
    ----------
    width, height : int
        Pixels of the image, which fills UVs from 0 to 1.
    margin : float
        Pixels up to this far outside of a face get what the face has at its edge, for filters that look across a seam.
        Pixels inside of a face are never overwritten by its neighbors.

    Returns
    -------
    pixels : int array, shape (P,)
        row * width + column, ascending; row 0 is the lowest.
    corners : int array, shape (P, 3)
        Corners of the mesh that each lies between.
    weights : float64 array, shape (P, 3)
        Barycentric coordinates of its center there.

    Raises
    ------
    SkinningError
        Where the mesh has no UV map, or the image no pixels.
    """
    if mesh.uv is None or mesh.rims is None:
        raise SkinningError("The mesh has no UV map: unwrap it, or remove the height map")
    if width < 1 or height < 1 or not margin >= 0:
        raise SkinningError(
            f"A height map of {width} x {height} pixels with a margin of {margin} cannot be drawn: choose "
            "numbers above 0"
        )
    values = _spread(mesh, chart)
    touched = np.zeros(len(mesh.face_starts), bool)
    touched[chart.faces] = True
    corners = mesh.triangles[touched[mesh.triangle_faces]]
    extent = np.array([width, height])
    positions = mesh.uv * extent - 0.5
    parts = _draw_triangles(corners, positions, values, extent, 0.0)
    rims = chart.corners[mesh.rims[chart.corners]]
    after = mesh.following(rims)
    areas = _cross(positions[chart.corners], positions[mesh.following(chart.corners)])
    areas = np.bincount(mesh.corner_faces[chart.corners], areas, len(mesh.face_starts))[mesh.corner_faces[rims]]
    sides = np.stack([rims, after, after], axis=1)
    parts += _draw_triangles(sides, positions, values, extent, margin, np.sign(areas))
    pixels, distances, corners, weights = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    order = np.lexsort((distances, pixels))
    order = order[np.flatnonzero(np.diff(pixels[order], prepend=-1))]
    coordinates = np.einsum("pc,pci->pi", weights[order], values[corners[order]])
    order = order[((coordinates >= 0) & (coordinates <= 1)).all(axis=1)]
    return pixels[order], corners[order], weights[order]


def _spread(mesh: ChartMesh, chart: Chart) -> np.ndarray:
    """A chart's coordinates at all corners of the mesh, shape (C, 2); zero where it does not reach."""
    values = np.zeros((len(mesh.corner_vertices), 2))
    values[chart.corners] = chart.coordinates
    return values


def _draw_triangles(
    corners: np.ndarray,
    positions: np.ndarray,
    values: np.ndarray,
    extent: np.ndarray,
    margin: float,
    signs: np.ndarray | None = None,
) -> list[tuple[np.ndarray, ...]]:
    """Pixels within a margin of triangles, corners of shape (T, 3), that are at positions and have (s, t), (C, 2) each.

    Lists of the pixels' indices, squared distances, corners and barycentric coordinates. With `signs`, shape (T,), only
    those to the right of the triangles' first side where it is 1, to the left where -1.
    """
    shapes = positions[corners]
    low, high = _find_boxes(shapes, values[corners])
    low = np.maximum(np.ceil(low - margin - 1e-9), 0).astype(np.intp)
    high = np.minimum(np.floor(high + margin + 1e-9), extent - 1).astype(np.intp)
    spans = np.maximum(high - low + 1, 0)
    counts = spans.prod(axis=1)
    parts = []
    for part in np.split(np.arange(len(counts)), np.flatnonzero(np.diff(np.cumsum(counts) // MOST_PIXELS)) + 1):
        triangles = np.repeat(part, counts[part])
        rank = np.arange(len(triangles)) - np.repeat(np.cumsum(counts[part]) - counts[part], counts[part])
        points = low[triangles] + np.stack([rank % spans[triangles, 0], rank // spans[triangles, 0]], axis=1)
        weights = nearest_weights(shapes[triangles], points)
        distances = np.square(np.einsum("nc,nci->ni", weights, shapes[triangles]) - points).sum(axis=1)
        near = distances <= margin * margin + 1e-12
        if signs is not None:
            start, side = shapes[:, 0], shapes[:, 1] - shapes[:, 0]
            near &= signs[triangles] * _cross(side[triangles], points - start[triangles]) < 0
        near = np.flatnonzero(near)
        pixels = points[near, 1] * extent[0] + points[near, 0]
        parts.append((pixels, distances[near], corners[triangles[near]], weights[near]))
    return parts


def _find_boxes(shapes: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Boxes about the parts of triangles, shape (T, 3, 2), where (s, t) is from 0 to 1: low and high, shape (T, 2)."""
    low, high = shapes.min(axis=1), shapes.max(axis=1)
    edges, steps = shapes[:, 1:] - shapes[:, :1], values[:, 1:] - values[:, :1]
    whole = np.abs(np.linalg.det(steps)) > 1e-9 * np.square(steps).sum(axis=(1, 2))
    square = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    ends = shapes[whole, :1] + (square - values[whole, :1]) @ np.linalg.solve(steps[whole], edges[whole])
    low[whole] = np.maximum(low[whole], ends.min(axis=1))
    high[whole] = np.minimum(high[whole], ends.max(axis=1))
    return low, high


def _cross(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]
