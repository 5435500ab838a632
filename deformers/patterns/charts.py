"""Charts of the skin: the position of a height map on a mesh, by the UV map or on the surface itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import SkinningError, find_unusable
from ..geometry.neighbors import find_nearest
from ..geometry.unfolding import MAX_STRETCH, project, unfold
from ..geometry.vectors import carry, measure_lengths, normalize
from .chart_mesh import ChartMesh
from .strokes import trace_stroke
from .surface_points import SurfacePoint, surface_frame

UNFOLDED_REACH = 1.05  # half diagonals of the height map: a bit more, as the unfolded surface is not exact

STROKE_SMOOTHING = 0.5  # share of the width across a stroke: narrower kinks would fold the chart


@dataclass(frozen=True)
class Chart:
    """The position of a height map on the skin. The height map fills the square from 0 to 1.

    Attributes
    ----------
    faces : int array, shape (N,)
        Faces that it touches, ascending.
    corners : int array, shape (M,)
        All corners of these faces, face by face.
    coordinates : float64 array, shape (M, 2)
        (s, t) of each corner, outside of 0 to 1 on faces that are partly covered.
    is_cut : bool
        Whether a UV seam, or a line along which the unfolded surface meets itself, runs through the height map.
    """

    faces: np.ndarray
    corners: np.ndarray
    coordinates: np.ndarray
    is_cut: bool

    def spread_coordinates(self, mesh: ChartMesh) -> np.ndarray:
        """(s, t) at all corners of the mesh, shape (C, 2), zero outside of the chart."""
        spread = np.zeros((len(mesh.corner_vertices), 2))
        spread[self.corners] = self.coordinates
        return spread


def chart_by_uv(
    mesh: ChartMesh, center: SurfacePoint, rotation: float, size: Sequence[float], flip: bool = False
) -> Chart:
    """Lay a height map in the UV map, on the island of its center.

    Raises SkinningError if the mesh has no UV map, or no face lies under the height map.

    Parameters
    ----------
    rotation : float
        Radians, counter-clockwise in the UV map.
    size : float array, shape (2,)
        Width and height, UV units.
    flip : bool
        Whether the height map is mirrored left to right.

    Notes
    -----
    As in the paper on skin patterns, whatever lies beyond the rim of the island is cut off.
    """
    width, height = _check_size(size, rotation)
    uv_map, middle = mesh.need_uv_map(), np.asarray(center.uv, np.float64)
    right = np.array([np.cos(rotation), np.sin(rotation)])
    up = np.array([-right[1], right[0]])
    axes = np.stack([right / width * (-1.0 if flip else 1.0), up / height], axis=1)
    reach = 0.5 * (np.abs(right) * width + np.abs(up) * height)
    near = uv_map.meet_box(middle - reach, middle + reach)
    near &= uv_map.islands[mesh.triangle_faces] == center.island

    def to_chart(corners: np.ndarray) -> np.ndarray:
        return (uv_map.corners[corners] - middle) @ axes + 0.5

    chart = _make_chart(mesh, np.flatnonzero(near), to_chart)
    seams = chart.corners[uv_map.seams[chart.corners]]
    sides = np.stack([to_chart(seams), to_chart(mesh.next_corners[seams])], axis=1)
    return replace(chart, is_cut=bool(_meet_square(sides[:, [0, 1, 1]]).any()))


def chart_by_surface(
    mesh: ChartMesh, center: SurfacePoint, rotation: float, size: Sequence[float], flip: bool = False
) -> Chart:
    """Lay a height map on the surface itself, unfolded about the center of the height map.

    Parameters
    ----------
    rotation : float
        Radians, counter-clockwise seen from outside; 0 is upright, as in `surface_frame`.
    size : float array, shape (2,)
        Width and height on the surface, object units.
    flip : bool
        Whether the height map is mirrored left to right.
    """
    extent = _check_size(size, rotation)
    right, up = surface_frame(center)
    corners = mesh.corner_points[mesh.corners_of(np.array([center.face]))]
    shape = mesh.points[corners] - center.position
    normal = normalize(np.cross(shape, np.roll(shape, -1, axis=0)).sum(axis=0))
    tangent = carry(np.cos(rotation) * right + np.sin(rotation) * up, center.normal, normal)
    seeds = np.unique(corners)
    reach = UNFOLDED_REACH * 0.5 * float(np.hypot(extent[0], extent[1]))
    near = np.flatnonzero(measure_lengths(mesh.centers - center.position) <= reach + mesh.radii)
    coordinates = project(mesh.points[seeds] - center.position, normal, tangent)
    return _chart_unfolded(mesh, near, seeds, coordinates, reach, 0.0, extent, flip)


def chart_by_stroke(mesh: ChartMesh, points: np.ndarray, size: Sequence[float], flip: bool = False) -> Chart:
    """Lay a height map along a stroke on the surface. It bends with the stroke.

    Raises SkinningError if the stroke cannot be followed, or no face lies under the height map.

    Parameters
    ----------
    points : float array, shape (K, 3)
        At least 2, on the surface or near it, object space.
    size : float array, shape (2,)
        Extent along the stroke, about its middle, and across it, object units. Seen from outside, t of the height map
        grows to the left of the stroke.
    flip : bool
        Whether the height map is mirrored end to end.
    """
    extent = _check_size(size)
    points = np.asarray(points, np.float64)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < 2:
        raise SkinningError(f"A stroke of shape {points.shape} cannot be followed: draw it with at least 2 points")
    if not np.isfinite(points).all():
        raise SkinningError("The stroke contains values that are not numbers: draw it again")
    stroke = trace_stroke(mesh, points, STROKE_SMOOTHING * extent[1])
    beyond = max(0.5 * (extent[0] - stroke.length), 0.0)
    reach = UNFOLDED_REACH * float(np.hypot(beyond, 0.5 * extent[1]))
    around = np.maximum(stroke.points.min(axis=0) - mesh.centers, mesh.centers - stroke.points.max(axis=0))
    near = np.flatnonzero(around.max(axis=1) <= reach + mesh.radii)
    near = near[find_nearest(mesh.centers[near], stroke.points, 1)[1][:, 0] <= reach + mesh.radii[near]]
    seeds = np.unique(mesh.corner_points[mesh.corners_of(np.unique(mesh.triangle_faces[stroke.triangles]))])
    coordinates = stroke.flatten(mesh.points[seeds])
    return _chart_unfolded(mesh, near, seeds, coordinates, reach, 0.5 * stroke.length, extent, flip)


def _check_size(size: Sequence[float] | np.ndarray, rotation: float = 0.0) -> np.ndarray:
    if find_unusable(np.array(rotation)):
        raise SkinningError(f"The pattern's rotation is {rotation}: enter an angle")
    size = np.asarray(size, np.float64)
    if size.shape != (2,) or find_unusable(size).any() or (size <= 0).any():
        raise SkinningError(f"The pattern's size is {size.tolist()}: enter a width and a height above 0")
    return size


def _make_chart(
    mesh: ChartMesh, triangles: np.ndarray, to_chart: Callable[[np.ndarray], np.ndarray], max_coordinate: float = 1e5
) -> Chart:
    """Make the chart of the faces of triangles, shape (N,), that meet the height map.

    Parameters
    ----------
    to_chart : callable
        Returns (s, t) of corners.
    max_coordinate : float
        Patterns that fit into a face side by side; single precision cannot store the coordinates of smaller patterns.
    """
    meet = _meet_square(to_chart(mesh.triangles[triangles]))
    faces = np.unique(mesh.triangle_faces[triangles[meet]])
    if not len(faces):
        raise SkinningError("The pattern covers no face: move it onto the mesh, or make it larger")
    corners = mesh.corners_of(faces)
    coordinates = to_chart(corners)
    if not np.abs(coordinates).max() < max_coordinate:
        raise SkinningError("The pattern is too small for the faces under it: make it larger")
    return Chart(faces, corners, coordinates, False)


def _meet_square(shapes: np.ndarray, tolerance: float = 1e-9) -> np.ndarray:
    """Find which triangles, shape (N, 3, 2), overlap the square from 0 to 1 by more than a tolerance.

    Notes
    -----
    Two convex shapes are apart if they are apart along the normal of a side of one of them.
    """
    low, high = shapes.min(axis=1), shapes.max(axis=1)
    meet = ((high > tolerance) & (low < 1.0 - tolerance)).all(axis=1)
    for corner in range(3):
        edge = shapes[:, (corner + 1) % 3] - shapes[:, corner]
        normal = np.stack([-edge[:, 1], edge[:, 0]], axis=1)
        heights = np.einsum("nci,ni->nc", shapes - shapes[:, corner, None], normal)
        middle = np.einsum("ni,ni->n", 0.5 - shapes[:, corner], normal)
        reach = 0.5 * np.abs(normal).sum(axis=1) - tolerance * np.abs(normal).max(axis=1)
        meet &= (heights.max(axis=1) >= middle - reach) & (heights.min(axis=1) <= middle + reach)
    return meet


def _chart_unfolded(
    mesh: ChartMesh,
    near: np.ndarray,
    seeds: np.ndarray,
    coordinates: np.ndarray,
    reach: float,
    half_length: float,
    size: np.ndarray,
    flip: bool,
) -> Chart:
    """Make the chart over the faces of triangles `near`, int array, unfolded from the seeds, which are among them."""
    touched = np.zeros(len(mesh.face_starts), bool)
    touched[mesh.triangle_faces[near]] = True
    used = np.zeros(len(mesh.points), bool)
    used[mesh.corner_points[mesh.corners_of(np.flatnonzero(touched))]] = True
    flat = unfold(mesh.connection, np.flatnonzero(used), seeds, coordinates, reach, half_length)
    triangles = np.flatnonzero(touched[mesh.triangle_faces])
    shapes, flats = mesh.points[mesh.triangle_points[triangles]], flat[mesh.triangle_points[triangles]]
    lengths = np.sqrt(np.square(shapes - np.roll(shapes, 1, axis=1)).sum(axis=2))
    # triangles that join both ends of a surface which meets itself, such as around a limb
    torn = (np.abs(flats - np.roll(flats, 1, axis=1)) > MAX_STRETCH * lengths).any(axis=1)
    scale = np.array([-1.0 if flip else 1.0, 1.0]) / size

    def to_chart(corners: np.ndarray) -> np.ndarray:
        positions = flat[mesh.corner_points[corners]]
        return np.stack([np.real(positions), np.imag(positions)], axis=-1) * scale + 0.5

    inside = (np.abs(to_chart(mesh.triangles[triangles[torn]]) - 0.5) < 0.5).all(axis=2).any()
    touched[mesh.triangle_faces[triangles[torn]]] = False
    whole = triangles[touched[mesh.triangle_faces[triangles]]]
    return replace(_make_chart(mesh, whole, to_chart), is_cut=bool(inside))


def assign_layers(members: Sequence[np.ndarray]) -> list[int]:
    """Assign each set of indices, int array, shape (N,), to the first layer that shares no index with it."""
    layers: list[set[int]] = []
    result = []
    for own in (set(indices.tolist()) for indices in members):
        layer = next((number for number, taken in enumerate(layers) if taken.isdisjoint(own)), len(layers))
        layers += [set()] * (layer == len(layers))
        layers[layer] = layers[layer] | own
        result.append(layer)
    return result
