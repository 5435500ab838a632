"""Charts as pixels of an image that fills the UV map."""

from __future__ import annotations

import numpy as np

from ..errors import SkinningError
from ..geometry.vectors import nearest_weights
from .chart_mesh import ChartMesh
from .charts import Chart

MAX_TESTED = 1_000_000  # pixels at a time, to bound memory


def rasterize_corners(
    mesh: ChartMesh, chart: Chart, width: int, height: int, margin: float = 2.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the pixels that a chart covers in an image that fills the UV map, and their positions on the mesh.

    Raises SkinningError if the mesh has no UV map, or the image has no pixels.

    Parameters
    ----------
    width, height : int
        Size of the image in pixels. It fills UVs from 0 to 1.
    margin : float
        Pixels up to this far outside of a face repeat its edge, for filters that read across a seam. A pixel inside of
        a face always belongs to that face.

    Returns
    -------
    pixels : int array, shape (P,)
        row * width + column, ascending; row 0 is the lowest.
    corners : int array, shape (P, 3)
        The corners of the mesh around each pixel.
    weights : float64 array, shape (P, 3)
        Barycentric coordinates of its center.
    """
    uv_map = mesh.need_uv_map()
    if width < 1 or height < 1 or not margin >= 0:
        raise SkinningError(
            f"A height map of {width} x {height} pixels with a margin of {margin} cannot be drawn: choose "
            "numbers above 0"
        )
    values = chart.spread_coordinates(mesh)
    touched = np.zeros(len(mesh.face_starts), bool)
    touched[chart.faces] = True
    corners = mesh.triangles[touched[mesh.triangle_faces]]
    extent = np.array([width, height])
    positions = uv_map.corners * extent - 0.5
    parts = _draw_triangles(corners, positions, values, extent, 0.0)
    rims = chart.corners[uv_map.rims[chart.corners]]
    after = mesh.next_corners[rims]
    areas = _cross(positions[chart.corners], positions[mesh.next_corners[chart.corners]])
    areas = np.bincount(mesh.corner_faces[chart.corners], areas, len(mesh.face_starts))[mesh.corner_faces[rims]]
    sides = np.stack([rims, after, after], axis=1)  # edges, as triangles without an area
    parts += _draw_triangles(sides, positions, values, extent, margin, np.sign(areas))
    pixels, distances, corners, weights = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    # several triangles may claim a pixel: the nearest gets it
    order = np.lexsort((distances, pixels))
    order = order[np.flatnonzero(np.diff(pixels[order], prepend=-1))]
    coordinates = np.einsum("pc,pci->pi", weights[order], values[corners[order]])
    order = order[((coordinates >= 0) & (coordinates <= 1)).all(axis=1)]
    return pixels[order], corners[order], weights[order]


def _draw_triangles(
    corners: np.ndarray,
    positions: np.ndarray,
    values: np.ndarray,
    extent: np.ndarray,
    margin: float,
    signs: np.ndarray | None = None,
) -> list[tuple[np.ndarray, ...]]:
    """List pixels within a margin of triangles: their indices, squared distances, corners, barycentric coordinates.

    Parameters
    ----------
    corners : int array, shape (T, 3)
    positions, values : float arrays, shape (C, 2)
        Position in the image, in pixels, and (s, t) of each corner of the mesh.
    signs : float array, shape (T,), optional
        1 for pixels to the right of the first side of a triangle only, -1 for pixels to its left only.
    """
    shapes = positions[corners]
    low, high = _find_boxes(shapes, values[corners])
    low = np.maximum(np.ceil(low - margin - 1e-9), 0).astype(np.intp)
    high = np.minimum(np.floor(high + margin + 1e-9), extent - 1).astype(np.intp)
    spans = np.maximum(high - low + 1, 0)
    counts = spans.prod(axis=1)
    parts = []
    for part in np.split(np.arange(len(counts)), np.flatnonzero(np.diff(np.cumsum(counts) // MAX_TESTED)) + 1):
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
    """Find boxes about the parts of triangles, shape (T, 3, 2), with (s, t) in 0 to 1: low and high, shape (T, 2)."""
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
