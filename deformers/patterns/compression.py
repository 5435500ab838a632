"""Compression and stretch of the skin under a pattern, along a direction of its height map.

The compression of a face is 1 - |D|, with D = sum of c_k x_k over its corners: the derivative of the posed positions x
along a unit direction of the face at rest. The coefficients c_k are computed once, at rest. They sum up to zero, and
|D| = 1 at rest, so rigid motion gives 0. Compression is a share: 0.2 if 1 cm has become 8 mm, -0.2 if it is 12 mm.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError, find_unusable
from .chart_mesh import ChartMesh, find_next_corners
from .charts import Chart
from .heights import Response

# of patterns: the angle of a joint, compression or stretch of the skin, angle and compression, depth of a limb in it
DRIVERS = ("ANGLE", "COMPRESSION", "STRETCH", "BOTH", "DEPTH")

SPREADS = ("VERTEX", "PATTERN")  # whether each vertex has an amount of its own, or the pattern has one amount

MIN_FLATNESS = 1e-6  # determinant over the sum of squares; flatter faces and charts have no directions

EXACT_BITS = 23  # of single precision: rounded to so many, coefficients sum up to exactly 0, and moving changes nothing

MIN_AREA = 1e-12  # lower bound for divisors, as a share of the pattern's area

MAX_STEPS = 64  # of smoothing; on finer meshes it then reaches less far

COMMON_FACES = 0.9  # share of the faces that are smoothed in full, so that few small faces do not cost steps for all


@dataclass(frozen=True)
class CompressionResponse(Response):
    """The amount of a pattern at each compression, as a share: a `Response` whose negative direction is stretch."""

    full: float = 0.3

    def _find_problem(self) -> str:
        if find_unusable(np.array((self.start, self.full, self.gain))).any():
            return "The compression and the gain of a pattern must be numbers, and not too large: set them again"
        if self.law == "RANGE" and self.full <= self.start:
            return (
                f"The pattern is fully visible at {100.0 * self.full:.1f} % compression, but starts at "
                f"{100.0 * self.start:.1f} %: set the full compression above the start"
            )
        return ""


@dataclass(frozen=True, eq=False)
class Gauge:
    """Measures the compression of the skin under a pattern.

    Attributes
    ----------
    faces : int array, shape (N,)
        Faces of the chart that have an area, ascending.
    corners : int array, shape (M,)
        Their corners, face by face.
    corner_faces : int array, shape (M,)
        Index of each corner's face in `faces`.
    coefficients : float32 array, shape (M,)
        c_k, 1 / object units, times the number of corners of the face, because nodes average over the corners.
    areas : float64 array, shape (N,)
        Area of each face at rest, as a share of their sum.
    shares : float64 array, shape (N,)
        The same for faces whose middle the pattern covers, 0 for others.
    variances : float64 array, shape (N,)
        Squared radius of the smoothing, in squared edge lengths of the face.
    """

    faces: np.ndarray
    corners: np.ndarray
    corner_faces: np.ndarray
    coefficients: np.ndarray
    areas: np.ndarray
    shares: np.ndarray
    variances: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """Numbers of corners of the faces, shape (N,)."""
        return np.bincount(self.corner_faces, minlength=len(self.faces))


def make_gauge(
    mesh: ChartMesh, chart: Chart, size: Sequence[float] | np.ndarray, angle: float, smoothing: float
) -> Gauge:
    """Make the gauge of the compression under a pattern.

    Raises SkinningError if no face has an area, or angle or smoothing cannot be used.

    Parameters
    ----------
    size : float array, shape (2,)
        Width and height of the height map, in units of its space.
    angle : float
        Direction of the compression, radians, counter-clockwise from the horizontal of the height map.
    smoothing : float
        Radius over which compression is averaged, as a share of the smaller side of the height map: the standard
        deviation of the average along any direction.
    """
    if find_unusable(np.array((angle, smoothing))).any() or smoothing < 0.0:
        raise SkinningError("The direction and smoothing of a pattern's compression must be numbers: set them again")
    size = np.asarray(size, np.float64)
    local = np.searchsorted(chart.faces, mesh.corner_faces[chart.corners])
    corner_positions = mesh.points[mesh.corner_vertices]
    offsets = _center(corner_positions[chart.corners], local)
    flat, areas = _flatten_faces(offsets, local)
    inverse, is_flat = _invert(_sum_products(flat, flat, local))
    # change of the chart's coordinates along the face; its inverse leads from a direction in the chart to the face
    charted = _sum_products(_center(chart.coordinates * size, local), flat, local) @ inverse
    uncharted, is_charted = _invert(charted)
    usable = is_flat & is_charted
    if not usable.any():
        raise SkinningError(
            "The faces under the pattern have no area, so their compression cannot be measured: move the pattern"
        )
    direction = uncharted @ np.array([np.cos(angle), np.sin(angle)])
    coefficients = np.einsum("ki,ki->k", flat, np.einsum("nij,nj->ni", inverse, direction)[local])
    lengths = np.linalg.norm(_sum_groups(coefficients[:, None] * offsets, local), axis=1)
    usable &= np.isfinite(lengths) & (lengths > 0.0)
    kept = usable[local]
    scale = np.bincount(local) / np.where(usable, lengths, 1.0)
    units = np.linalg.norm(uncharted[usable], axis=1)  # object units for a unit along each side of the height map
    radius = smoothing * float((np.median(units, axis=0) * size).min())
    inside = np.abs(_sum_groups(chart.coordinates, local) / np.bincount(local)[:, None] - 0.5).max(axis=1) <= 0.5
    covered = np.where(inside & usable, areas, 0.0)
    covered = covered if covered.any() else np.where(usable, areas, 0.0)
    edges = corner_positions[mesh.next_corners[chart.corners]] - corner_positions[chart.corners]
    squares = np.bincount(local, np.square(edges).sum(axis=1)) / np.bincount(local)
    corner_faces = (np.cumsum(usable) - 1)[local[kept]]
    return Gauge(
        faces=chart.faces[usable],
        corners=chart.corners[kept],
        corner_faces=corner_faces,
        coefficients=_round_to_zero_sums((coefficients * scale[local])[kept], corner_faces),
        areas=areas[usable] / areas[usable].sum(),
        shares=covered[usable] / covered.sum(),
        variances=radius**2 / squares[usable],
    )


def _sum_groups(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Sum rows, shape (M, K), over groups: shape (N, K)."""
    return np.stack([np.bincount(groups, column) for column in values.T], axis=1)


def _center(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Subtract the means of groups from their rows, shape (M, K)."""
    return values - (_sum_groups(values, groups) / np.bincount(groups)[:, None])[groups]


def _sum_products(first: np.ndarray, second: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Sum outer products of rows, shape (M, 2) each, over groups: shape (N, 2, 2)."""
    products = (first[:, :, None] * second[:, None, :]).reshape(-1, 4)
    return _sum_groups(products, groups).reshape(-1, 2, 2)


def _flatten_faces(offsets: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Project offsets of corners, shape (M, 3), to the planes of faces: shape (M, 2), and the faces' areas, (N,)."""
    normals = _sum_groups(np.cross(offsets, offsets[find_next_corners(groups)]), groups)
    areas = np.linalg.norm(normals, axis=1)
    normals /= np.where(areas > 0.0, areas, 1.0)[:, None]
    least = np.eye(3)[np.abs(normals).argmin(axis=1)]
    across = np.cross(normals, least)
    across /= np.maximum(np.linalg.norm(across, axis=1), 0.5)[:, None]  # the norm is 0.8 or more, or 0 with no normal
    up = np.cross(normals, across)
    flat = np.stack([np.einsum("ki,ki->k", offsets, axis[groups]) for axis in (across, up)], axis=1)
    return flat, 0.5 * areas


def _invert(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Invert matrices, shape (N, 2, 2): their inverses, zero if there is none, and whether there is one, shape (N,)."""
    determinants = np.linalg.det(matrices)
    usable = np.isfinite(determinants)
    usable &= np.abs(determinants) > MIN_FLATNESS * np.square(np.where(usable[:, None, None], matrices, 0.0)).sum(
        (1, 2)
    )
    inverses = np.zeros_like(matrices)
    inverses[usable] = np.linalg.inv(matrices[usable])
    return inverses, usable


def _round_to_zero_sums(coefficients: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Round coefficients to single precision so that their sums over groups, zero but for rounding, are exactly 0."""
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    largest = np.maximum.reduceat(np.abs(coefficients), starts)
    steps = 2.0 ** (np.ceil(np.log2(largest)) - EXACT_BITS)
    rounded = np.round(coefficients / steps[groups]) * steps[groups]
    rounded[starts] -= np.bincount(groups, rounded)
    return rounded.astype(np.float32)


@dataclass(frozen=True, eq=False)
class GaugeLayer:
    """Gauges that share no vertex, so that one pass reads and smooths them together.

    Attributes
    ----------
    faces, corners, corner_faces, coefficients
        As in `Gauge`, of all gauges.
    numbers : int array, shape (N,)
        Number of each face's pattern, positive if each vertex has its own amount, negative if the pattern has one.
    shares : float32 array, shape (M,)
        Weight of the face of each corner: with amounts of vertices, at the vertex, with mean 1; with one amount, in
        the pattern, with sum 1.
    vertices : int array, shape (U,)
        Vertices of the faces, ascending.
    corner_vertices : int array, shape (M,)
        Index of each corner's vertex in `vertices`.
    weights : float32 array, shape (U,)
        Weight of each neighbor of a vertex in a step of smoothing; the vertex itself has 1.
    steps : int
        Steps of smoothing.
    """

    faces: np.ndarray
    corners: np.ndarray
    corner_faces: np.ndarray
    coefficients: np.ndarray
    numbers: np.ndarray
    shares: np.ndarray
    vertices: np.ndarray
    corner_vertices: np.ndarray
    weights: np.ndarray
    steps: int

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """The arrays that a mesh stores."""
        return self.faces, self.corners, self.coefficients, self.numbers, self.shares, self.vertices, self.weights


def make_layer(mesh: ChartMesh, gauges: Sequence[Gauge], numbers: Sequence[int], spreads: Sequence[str]) -> GaugeLayer:
    """Join gauges that share no vertex.

    Parameters
    ----------
    numbers : sequence of int
        Numbers of the patterns.
    spreads : sequence of str
        One of `SPREADS` for each pattern.

    Notes
    -----
    A step of smoothing with weight w and k neighbors at distance h adds k w h^2 / 2 / (1 + k w) to the variance along
    any direction: k is 4 on quads and 6 on triangles. The widest smoothing sets the number of steps, at w = 1; narrower
    smoothing, and larger faces, have a smaller w.
    """
    starts = np.cumsum([0, *(len(gauge.faces) for gauge in gauges)])
    sizes = np.concatenate([gauge.sizes for gauge in gauges])
    corners = np.concatenate([gauge.corners for gauge in gauges])
    corner_faces = np.repeat(np.arange(len(sizes)), sizes)
    vertices, corner_vertices = np.unique(mesh.corner_vertices[corners], return_inverse=True)
    counts = np.bincount(corner_vertices)
    is_local = np.repeat([spread == "VERTEX" for spread in spreads], np.diff(starts))
    variances = np.where(is_local, np.concatenate([gauge.variances for gauge in gauges]), 0.0)
    weights, steps = _find_weights(variances, sizes, starts)
    areas = np.concatenate([gauge.areas for gauge in gauges])[corner_faces]
    local = areas * (counts / np.maximum(np.bincount(corner_vertices, areas), MIN_AREA))[corner_vertices]
    whole = (np.concatenate([gauge.shares for gauge in gauges]) / sizes)[corner_faces]
    return GaugeLayer(
        faces=np.concatenate([gauge.faces for gauge in gauges]),
        corners=corners,
        corner_faces=corner_faces,
        coefficients=np.concatenate([gauge.coefficients for gauge in gauges]),
        numbers=np.repeat(np.array(numbers, np.intp), np.diff(starts)) * np.where(is_local, 1, -1),
        shares=np.where(is_local[corner_faces], local, whole).astype(np.float32),
        vertices=vertices,
        corner_vertices=corner_vertices,
        weights=(np.bincount(corner_vertices, weights[corner_faces]) / counts).astype(np.float32),
        steps=steps,
    )


def _find_weights(variances: np.ndarray, sizes: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, int]:
    """Find weights of smoothing for faces, shape (N,), and its steps; `starts`: first faces of gauges, and the end."""
    valences = np.where(sizes == 3, 6.0, 4.0)  # neighbors of a vertex in a regular mesh of such faces
    needed = 2.0 * variances * (1.0 + 1.0 / valences)
    common = [np.quantile(needed[start:end], COMMON_FACES) for start, end in itertools.pairwise(starts)]
    steps = min(int(np.ceil(max(common) - 1e-9)), MAX_STEPS)
    reach = np.minimum(variances, 0.5 * steps * valences / (valences + 1.0))  # w = 1 reaches no farther
    return np.minimum(2.0 * reach / np.maximum(valences * (steps - 2.0 * reach), 1e-9), 1.0), steps


def measure_compression(layer: GaugeLayer, points: np.ndarray) -> np.ndarray:
    """Measure the compression of the skin at its vertices, negative for stretch.

    `points`, float array, shape (V, 3): posed, object space. Returns a float64 array, shape (V,): smoothed over each
    pattern, or its mean if the pattern has one amount; 0 outside of the patterns.
    """
    count = len(layer.vertices)
    posed = points[layer.vertices][layer.corner_vertices].astype(np.float64)
    along = layer.coefficients[:, None] * _center(posed, layer.corner_faces)
    sizes = np.bincount(layer.corner_faces)
    squeezed = 1.0 - np.linalg.norm(_sum_groups(along, layer.corner_faces) / sizes[:, None], axis=1)
    counted = squeezed[layer.corner_faces] * layer.shares
    values = np.bincount(layer.corner_vertices, counted) / np.bincount(layer.corner_vertices)
    edges = _find_edges(layer.corner_vertices, layer.corner_faces)
    neighbor_counts = np.bincount(edges.ravel(), minlength=count)
    for _ in range(layer.steps):
        sums = np.bincount(edges[:, 0], values[edges[:, 1]], count)
        sums += np.bincount(edges[:, 1], values[edges[:, 0]], count)
        values = (values + layer.weights * sums) / (1.0 + layer.weights * neighbor_counts)
    corner_numbers = layer.numbers[layer.corner_faces]
    means, is_whole = np.bincount(np.abs(corner_numbers), counted), corner_numbers < 0
    values[layer.corner_vertices[is_whole]] = means[-corner_numbers[is_whole]]
    found = np.zeros(len(points))
    found[layer.vertices] = values
    return found


def _find_edges(corner_points: np.ndarray, corner_faces: np.ndarray) -> np.ndarray:
    """List the edges of faces, each once: int array, shape (E, 2)."""
    sides = np.sort(np.stack([corner_points, corner_points[find_next_corners(corner_faces)]], axis=1), axis=1)
    return np.unique(sides, axis=0)
