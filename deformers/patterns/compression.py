"""How much the skin is pushed together or stretched where a pattern lies, along a direction of its height map.

A face's compression is 1 - |D|, where D = sum of c_k x_k over its corners: the derivative of the posed positions x
along a unit direction of the face at rest. The coefficients c_k are worked out once, at rest. They sum up to zero, and
at rest |D| = 1, so that rigid motion gives 0. Compression is a share: 0.2 where 1 cm has become 8 mm, -0.2 where 12.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError, find_unusable
from .chart_mesh import ChartMesh
from .charts import Chart
from .heights import Response, respond

DRIVERS = ("ANGLE", "COMPRESSION", "STRETCH", "BOTH", "DEPTH")
"""What brings a pattern out: the angle of a joint, the skin's compression or its stretch, the first two together, or
how deep a limb presses into the skin."""

SPREADS = ("VERTEX", "PATTERN")
"""Whether each vertex has an amount of its own, or the pattern has one."""

LEAST_SHAPE = 1e-6
"""Faces and charts that are flatter than this, as a share of their size squared, have no directions."""

EXACT_STEPS = 23
"""Coefficients are whole multiples of a power of 2, so small that the largest is at most 2^23 of them: then they sum up
to exactly zero in single precision, and moving the body changes nothing."""

LEAST_AREA = 1e-12
"""Areas, as shares of the pattern's, that are divided by are at least this."""

MOST_STEPS = 64
"""Smoothing goes on for so many steps at most: on fine meshes it reaches less far then."""

COMMON_FACES = 0.9
"""Share of the faces that get all of the smoothing: a few small ones do not make it longer for all."""


@dataclass(frozen=True)
class CompressionResponse(Response):
    """How much of a pattern its compression brings out: `Response`, of shares instead of angles."""

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
    """What measures the compression of the skin under a pattern.

    Attributes
    ----------
    faces : int array, shape (N,)
        Those of the chart that have an area, ascending.
    corners : int array, shape (M,)
        Their corners, face by face.
    corner_faces : int array, shape (M,)
        Index of each corner's face in `faces`.
    coefficients : float32 array, shape (M,)
        Factors of the posed positions, 1 / object units: times the number of the face's corners, since nodes take
        means over these.
    areas : float64 array, shape (N,)
        Of each face at rest, as a share of their sum.
    shares : float64 array, shape (N,)
        The same of those whose middle the pattern covers, and 0 for the others.
    variances : float64 array, shape (N,)
        How far compression is smoothed: squared radius, in squared lengths of the face's edges.
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
        """Number of corners of each face, shape (N,)."""
        return np.bincount(self.corner_faces, minlength=len(self.faces))


def make_gauge(
    mesh: ChartMesh, chart: Chart, size: Sequence[float] | np.ndarray, angle: float, smoothing: float
) -> Gauge:
    """Work out what measures compression under a pattern.

    Parameters
    ----------
    mesh : ChartMesh
        At rest.
    chart : Chart
        Where the pattern lies.
    size : float array, shape (2,)
        Width and height of the height map, in units of its space.
    angle : float
        Direction along which compression is measured, radians, counter-clockwise from the height map's horizontal.
    smoothing : float
        Radius over which it is averaged, as a share of the smaller side of the height map: the standard deviation of
        the average along any direction.

    Returns
    -------
    Gauge

    Raises
    ------
    SkinningError
        Where no face has an area, or numbers can not be used.
    """
    if find_unusable(np.array((angle, smoothing))).any() or smoothing < 0.0:
        raise SkinningError("The direction and smoothing of a pattern's compression must be numbers: set them again")
    size = np.asarray(size, np.float64)
    local = np.repeat(np.arange(len(chart.faces)), _count_corners(mesh, chart))
    offsets = _center(mesh.points[mesh.corner_vertices[chart.corners]], local)
    flat, areas = _flatten_faces(offsets, local)
    inverse, is_flat = _invert(_sum_products(flat, flat, local))
    # how the chart's coordinates change along the face, then the direction in the face that is the wanted one in it
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
    following = mesh.following(chart.corners)
    edges = mesh.points[mesh.corner_vertices[following]] - mesh.points[mesh.corner_vertices[chart.corners]]
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


def _count_corners(mesh: ChartMesh, chart: Chart) -> np.ndarray:
    return np.bincount(np.searchsorted(chart.faces, mesh.corner_faces[chart.corners]), minlength=len(chart.faces))


def _sum_groups(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Sums of rows, shape (M, K), over groups: shape (N, K)."""
    return np.stack([np.bincount(groups, column) for column in values.T], axis=1)


def _center(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Rows, shape (M, K), less the means of their groups."""
    return values - (_sum_groups(values, groups) / np.bincount(groups)[:, None])[groups]


def _sum_products(first: np.ndarray, second: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Sums of outer products of rows, shape (M, 2) each, over groups: shape (N, 2, 2)."""
    products = (first[:, :, None] * second[:, None, :]).reshape(-1, 4)
    return _sum_groups(products, groups).reshape(-1, 2, 2)


def _flatten_faces(offsets: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Corners in the planes of their faces, shape (M, 2), from offsets, shape (M, 3), and the faces' areas, (N,)."""
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    following = np.arange(1, len(groups) + 1)
    following[np.append(starts[1:], len(groups)) - 1] = starts
    normals = _sum_groups(np.cross(offsets, offsets[following]), groups)
    areas = np.linalg.norm(normals, axis=1)
    normals /= np.where(areas > 0.0, areas, 1.0)[:, None]
    least = np.eye(3)[np.abs(normals).argmin(axis=1)]
    across = np.cross(normals, least)
    across /= np.maximum(np.linalg.norm(across, axis=1), 0.5)[:, None]  # 0.8 at least, or 0 where there is no normal
    up = np.cross(normals, across)
    flat = np.stack([np.einsum("ki,ki->k", offsets, axis[groups]) for axis in (across, up)], axis=1)
    return flat, 0.5 * areas


def _invert(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inverses of matrices, shape (N, 2, 2), and which of them have one; the others are left zero."""
    determinants = np.linalg.det(matrices)
    usable = np.isfinite(determinants)
    usable &= np.abs(determinants) > LEAST_SHAPE * np.square(np.where(usable[:, None, None], matrices, 0.0)).sum((1, 2))
    inverses = np.zeros_like(matrices)
    inverses[usable] = np.linalg.inv(matrices[usable])
    return inverses, usable


def _round_to_zero_sums(coefficients: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Coefficients in single precision whose sums over groups, which are zero but for rounding, are exactly zero."""
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    largest = np.maximum.reduceat(np.abs(coefficients), starts)
    steps = 2.0 ** (np.ceil(np.log2(largest)) - EXACT_STEPS)
    rounded = np.round(coefficients / steps[groups]) * steps[groups]
    rounded[starts] -= np.bincount(groups, rounded)
    return rounded.astype(np.float32)


@dataclass(frozen=True, eq=False)
class GaugeLayer:
    """Gauges that share no vertex, so that they are read and smoothed together.

    Attributes
    ----------
    faces, corners, corner_faces, coefficients
        As of `Gauge`, of all its gauges.
    numbers : int array, shape (N,)
        Of each face's pattern: below 0 where the pattern has one amount, above 0 where each vertex has its own.
    shares : float32 array, shape (M,)
        What a corner's face counts for. Where each vertex has its own amount, at the corner's vertex: their mean is 1.
        Where the pattern has one: in all of it, so that their sum is 1.
    vertices : int array, shape (U,)
        Of the faces, ascending.
    corner_vertices : int array, shape (M,)
        Index of each corner's vertex in `vertices`.
    weights : float32 array, shape (U,)
        Weight of each neighbor in a step of smoothing, where the vertex itself has 1.
    steps : int
        Of smoothing.
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
        """All that is stored on a mesh."""
        return self.faces, self.corners, self.coefficients, self.numbers, self.shares, self.vertices, self.weights


def assign_gauge_layers(mesh: ChartMesh, gauges: Sequence[Gauge]) -> list[int]:
    """Give each gauge the first layer on which no earlier gauge has any of its vertices: the layers' indices."""
    layers: list[np.ndarray] = []
    result = []
    for gauge in gauges:
        vertices = mesh.corner_vertices[gauge.corners]
        index = next((number for number, taken in enumerate(layers) if not taken[vertices].any()), len(layers))
        if index == len(layers):
            layers.append(np.zeros(len(mesh.points), bool))
        layers[index][vertices] = True
        result.append(index)
    return result


def make_layer(mesh: ChartMesh, gauges: Sequence[Gauge], numbers: Sequence[int], spreads: Sequence[str]) -> GaugeLayer:
    """Join gauges that share no vertex.

    Parameters
    ----------
    numbers : sequence of int
        Of their patterns.
    spreads : sequence of str
        Of each, one of `SPREADS`.

    Notes
    -----
    A step of smoothing with weight w and k neighbors at distance h adds k w h^2 / 2 / (1 + k w) to the variance along
    any direction: k is 4 on quads and 6 on triangles. The steps are as many as the widest smoothing needs at w = 1; for
    the others, and where faces are larger, w is smaller.
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
    local = areas * (counts / np.maximum(np.bincount(corner_vertices, areas), LEAST_AREA))[corner_vertices]
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
    """Weights of smoothing for faces, shape (N,), and its steps; `starts`: each gauge's first face, and their end."""
    valences = np.where(sizes == 3, 6.0, 4.0)
    needed = 2.0 * variances * (1.0 + 1.0 / valences)
    common = [np.quantile(needed[start:end], COMMON_FACES) for start, end in itertools.pairwise(starts)]
    steps = min(int(np.ceil(max(common) - 1e-9)), MOST_STEPS)
    reach = np.minimum(variances, 0.5 * steps * valences / (valences + 1.0))  # what w = 1 gives
    return np.minimum(2.0 * reach / np.maximum(valences * (steps - 2.0 * reach), 1e-9), 1.0), steps


def measure_compression(layer: GaugeLayer, points: np.ndarray) -> np.ndarray:
    """Measure how much the skin is pushed together: at each vertex as a share, negative where it is stretched.

    Parameters
    ----------
    points : float array, shape (V, 3)
        Posed, object space.

    Returns
    -------
    float64 array, shape (V,)
        0 where no pattern of the layer lies. Smoothed over each pattern, or the mean over it where it has one amount.
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
    """Edges of faces, each once: int array, shape (E, 2)."""
    starts = np.flatnonzero(np.diff(corner_faces, prepend=-1))
    following = np.arange(1, len(corner_points) + 1)
    following[np.append(starts[1:], len(corner_points)) - 1] = starts
    sides = np.sort(np.stack([corner_points, corner_points[following]], axis=1), axis=1)
    return np.unique(sides, axis=0)


def respond_to_compression(driver: str, response: Response, compression: np.ndarray | float) -> np.ndarray:
    """Find how much of a pattern compression brings out.

    Parameters
    ----------
    driver : str
        One of `DRIVERS`: stretch counts where that drives the pattern.
    compression : float array, shape (...)
        As a share, negative where the skin is stretched.

    Returns
    -------
    float64 array, shape (...)
        Amounts, as of `respond`.
    """
    return respond(response, -np.asarray(compression) if driver == "STRETCH" else compression)
