"""Skin weights copied from one mesh to another: matched near the source, filled in smoothly elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..algebra import conjugate_gradients
from ..errors import SkinningError
from ..geometry.mesh_laplacian import Laplacian, drop_degenerate, make_laplacian
from ..geometry.neighbors import FindNearest
from ..geometry.solid import area_vectors, find_islands, sum_at_vertices, weld
from .checks import check_finite

# Final residual of a fill relative to the first, which is also the accuracy of weights
FILL_TOLERANCE = 1e-4

# Smaller weights are left out of a fill: a smooth fill has a little of every bone everywhere.
MIN_WEIGHT = 1e-3

# After as many steps a fill is smooth, if not the smoothest.
MAX_STEPS = 400

# Of more free vertices, clusters are filled in first.
MAX_FREE = 5000

# From the weights of clusters to those of their vertices only short waves are missing.
REFINING_STEPS = 64


@dataclass(frozen=True)
class Params:
    """Limits of matching.

    Attributes
    ----------
    reach : float
        Largest distance from the source, in diagonals of the target's bounding box.
    angle : float
        Largest angle between the normals, radians.
    """

    reach: float = 0.1
    angle: float = np.radians(45.0)


@dataclass(frozen=True)
class Transfer:
    """Transferred weights.

    Attributes
    ----------
    weights : float32 array, shape (V, B)
        Rows sum to 1.
    matched : bool array, shape (V,)
        Vertices near the source; the others are filled in.
    distances : float64 array, shape (V,)
        From the source.
    notes : tuple of str
        Messages about the whole mesh.
    """

    weights: np.ndarray
    matched: np.ndarray
    distances: np.ndarray
    notes: tuple[str, ...]


def transfer_weights(
    source_points: np.ndarray,
    source_triangles: np.ndarray,
    source_weights: np.ndarray,
    points: np.ndarray,
    triangles: np.ndarray,
    find_nearest: FindNearest,
    params: Params = Params(),
    progress: Callable[[float], None] | None = None,
) -> Transfer:
    """Copy the weights of a mesh to a mesh on it, such as clothes on a body.

    Raises SkinningError if the source has no weighted face, or coordinates are not finite.

    Parameters
    ----------
    source_points : float array, shape (S, 3)
        At rest, in the space of `points`.
    source_triangles : int array, shape (R, 3)
        Counter-clockwise from outside; triangles without a weighted corner do not count.
    source_weights : float array, shape (S, B)
        Rows need not sum to 1.
    points : float array, shape (V, 3)
    triangles : int array, shape (T, 3)
        Also counter-clockwise; islands that are inside out are recognized.
    progress : callable, optional
        Called with the finished share, 0 to 1.

    Notes
    -----
    Abdrashitov et al. 2023, "Robust Skin Weights Transfer via Weight Inpainting": a vertex is matched if the nearest
    point of the source is within a distance, and its normal within an angle; then, for each bone, the energy w^T L M^-1
    L w on the target is minimal with the matched weights held (eq. 2-4). Deviations: positions, not vertices, are
    solved, so that vertices at one position share their weights; islands without a matched vertex take the nearest
    weights; conjugate gradients, not a factorization.
    """
    report = progress or (lambda share: None)
    points, source_points = np.asarray(points, np.float64), np.asarray(source_points, np.float64)
    source_triangles = _check(source_points, source_triangles, source_weights, points)
    first, position_of = np.unique(weld(points), return_inverse=True)
    position_of = position_of.ravel()
    positions, corners = points[first], drop_degenerate(position_of[triangles])
    report(0.0)
    owner, shares, distances = find_nearest(positions, source_points, source_triangles)
    report(0.4)
    weights = np.zeros((len(positions), source_weights.shape[1]))
    for corner in range(3):
        weights += shares[:, corner, None] * source_weights[source_triangles[owner, corner]]
    sums = weights.sum(axis=1, keepdims=True)
    weights = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
    islands = find_islands(np.concatenate([corners[:, :2], corners[:, 1:]]), len(positions))
    size = float(np.linalg.norm(np.ptp(positions, axis=0)))
    near = (distances <= params.reach * size) & (sums[:, 0] > 0)
    normals = _find_normals(source_points, source_triangles)[source_triangles[owner]]
    cosines = _compare(_find_normals(positions, corners), np.einsum("nc,nci->ni", shares, normals))
    is_inverted = np.bincount(islands, np.where(near, cosines, 0.0)) < 0
    matched = near & (np.where(is_inverted[islands], -cosines, cosines) >= np.cos(params.angle))
    held = matched | ~np.isin(islands, islands[matched])
    if not held.all():
        laplacian = make_laplacian(positions, corners)
        weights = inpaint_weights(laplacian, weights, held, lambda share: report(0.4 + 0.6 * share))
    notes = _describe(matched[position_of], held[position_of], int(is_inverted[np.unique(islands[corners])].sum()))
    report(1.0)
    return Transfer(weights[position_of].astype(np.float32), matched[position_of], distances[position_of], notes)


def inpaint_weights(
    laplacian: Laplacian, weights: np.ndarray, held: np.ndarray, progress: Callable[[float], None] | None = None
) -> np.ndarray:
    """Fill in weights as smoothly as the held weights allow.

    Parameters
    ----------
    weights : float array, shape (V, B)
        Rows that are not held do not count.
    held : bool array, shape (V,)
        At least one vertex of each island that is filled in.
    progress : callable, optional

    Returns
    -------
    float64 array, shape (V, B)
        Not negative; filled rows sum to 1.

    Notes
    -----
    First a membrane (L w = 0), which costs little and has no negative weight; from there the plate (L M^-1 L w = 0),
    which continues the held weights without a crease and is cut off at 0.
    """
    seen = _widen(laplacian, ~held)
    vertices = np.flatnonzero(seen)
    index_of = np.cumsum(seen) - 1
    kept = seen[laplacian.edges].all(axis=1)
    near = Laplacian(index_of[laplacian.edges[kept]], laplacian.strengths[kept], laplacian.areas[seen])
    free = ~held[seen]
    # Parts that are not connected share columns: each has bones of its own in them.
    parts = find_islands(near.edges, len(vertices))
    rows, bones = np.nonzero(np.where(free[:, None], 0.0, weights[seen]))
    has = np.zeros((int(parts.max(initial=-1)) + 1, weights.shape[1]), bool)
    has[parts[rows], bones] = True
    column = np.cumsum(has, axis=1) - 1
    values = np.zeros((len(vertices), int(has.sum(axis=1).max(initial=0))))
    values[rows, column[parts[rows], bones]] = weights[vertices[rows], bones]
    values = _fill(near, values, free, progress or (lambda share: None))
    values = np.where(values < MIN_WEIGHT, 0.0, values)
    bone_of = np.zeros((len(has), values.shape[1]), np.intp)
    part, bone = np.nonzero(has)
    bone_of[part, column[part, bone]] = bone
    rows, columns = np.nonzero(np.where(free[:, None], values, 0.0))
    result = np.array(weights, np.float64)
    result[~held] = 0.0
    result[vertices[rows], bone_of[parts[rows], columns]] = values[rows, columns] / values.sum(axis=1)[rows]
    return result


def _widen(laplacian: Laplacian, free: np.ndarray) -> np.ndarray:
    """Free vertices, shape (V,), and two rings around them, on which the gradient of the bending energy depends."""
    seen = free
    for _ in range(2):
        ahead = seen.copy()
        ahead[laplacian.edges[seen[laplacian.edges[:, 1]], 0]] = True
        ahead[laplacian.edges[seen[laplacian.edges[:, 0]], 1]] = True
        seen = ahead
    return seen


def _fill(laplacian: Laplacian, values: np.ndarray, free: np.ndarray, report: Callable[[float], None]) -> np.ndarray:
    """Values, shape (V, B), with free vertices filled in; on large meshes, clusters of vertices first."""
    start, steps = values, MAX_STEPS
    if int(free.sum()) > MAX_FREE:
        clusters = _find_clusters(laplacian)
        coarse = _coarsen(laplacian, clusters)
        owned = np.bincount(clusters, ~free)
        means = np.zeros((len(owned), values.shape[1]))
        for column in range(values.shape[1]):
            means[:, column] = np.bincount(clusters, np.where(free, 0.0, values[:, column])) / np.maximum(owned, 1)
        means = _fill(coarse, means, owned == 0, lambda share: report(0.5 * share))
        start, steps = np.where(free[:, None], means[clusters], values), REFINING_STEPS
    matrix = _Rows(laplacian)

    def bend(values: np.ndarray) -> np.ndarray:
        return matrix.apply(matrix.apply(values) / laplacian.areas[:, None])

    begun = 0.5 if start is not values else 0.0
    membrane_steps = MAX_STEPS if start is values else REFINING_STEPS // 4
    start = _solve(matrix.apply, matrix.diagonal, start, free, membrane_steps, lambda share: report(begun))
    return _solve(
        bend, matrix.bending_diagonal, start, free, steps, lambda share: report(begun + (1.0 - begun) * share)
    )


def _find_clusters(laplacian: Laplacian) -> np.ndarray:
    """Number vertices by clusters of a vertex with its neighbors: int array, shape (V,)."""
    count = len(laplacian.areas)
    rank = np.random.default_rng(1).permutation(count)
    both = np.concatenate([laplacian.edges, laplacian.edges[:, ::-1]])
    cluster = np.full(count, -1)
    while (cluster < 0).any():
        loose = cluster < 0
        between = both[loose[both].all(axis=1)]
        lowest = np.full(count, count)
        np.minimum.at(lowest, between[:, 0], rank[between[:, 1]])
        roots = loose & (rank < lowest)
        cluster[roots] = np.flatnonzero(roots)
        joins = between[roots[between[:, 1]]]
        cluster[joins[:, 0]] = joins[:, 1]
    return np.unique(cluster, return_inverse=True)[1].ravel()


def _coarsen(laplacian: Laplacian, clusters: np.ndarray) -> Laplacian:
    ends = np.sort(clusters[laplacian.edges], axis=1)
    apart = ends[:, 0] != ends[:, 1]
    edges, index_of = np.unique(ends[apart], axis=0, return_inverse=True)
    strengths = np.bincount(index_of.ravel(), laplacian.strengths[apart], minlength=len(edges))
    return Laplacian(edges, strengths, np.bincount(clusters, laplacian.areas))


class _Rows:
    """A Laplacian's rows, sorted to be applied to many columns."""

    def __init__(self, laplacian: Laplacian) -> None:
        self.diagonal = laplacian.diagonal
        rows, columns = np.concatenate([laplacian.edges, laplacian.edges[:, ::-1]]).T
        strengths = np.tile(laplacian.strengths, 2)
        order = np.argsort(rows, kind="stable")
        rows, columns, strengths = rows[order], columns[order], strengths[order]
        slots = np.arange(len(rows)) - np.searchsorted(rows, rows)
        # Edges by their order at their vertex: each vertex is in a group once.
        self._groups = [
            (rows[slots == slot], columns[slots == slot], strengths[slots == slot, None])
            for slot in range(int(slots.max(initial=-1)) + 1)
        ]
        areas = laplacian.areas
        squares = np.bincount(rows, strengths**2 / areas[columns], minlength=len(areas))
        self.bending_diagonal = self.diagonal**2 / areas + squares

    def apply(self, values: np.ndarray) -> np.ndarray:
        """L times values, shape (V, B)."""
        result = self.diagonal[:, None] * values
        for rows, columns, strengths in self._groups:
            result[rows] -= strengths * values[columns]
        return result


def _solve(
    apply: Callable[[np.ndarray], np.ndarray],
    diagonal: np.ndarray,
    start: np.ndarray,
    free: np.ndarray,
    max_steps: int,
    report: Callable[[float], None],
) -> np.ndarray:
    """Values, shape (V, B), with no residual in free rows, by conjugate gradients on all columns at once."""
    scale = np.where(free, 1.0 / np.maximum(diagonal, 1e-300), 0.0)[:, None]
    first = np.empty(0)

    def is_done(step: int, _change: np.ndarray, product: np.ndarray) -> bool:
        nonlocal first
        first = product if not step else first
        if (product <= FILL_TOLERANCE**2 * first).all():
            return True
        report(step / max_steps)
        return False

    return conjugate_gradients.solve(
        lambda values: np.where(free[:, None], apply(values), 0.0),
        np.zeros_like(start),
        start,
        lambda residual: scale * residual,
        is_done,
        max_steps,
    )


def _check(
    source_points: np.ndarray, source_triangles: np.ndarray, source_weights: np.ndarray, points: np.ndarray
) -> np.ndarray:
    """The triangles of the source with a weight."""
    check_finite(source_points, "source")
    check_finite(points, "target")
    weighted = source_triangles[(source_weights.sum(axis=1) > 0)[source_triangles].any(axis=1)]
    if not len(weighted):
        raise SkinningError("The source has no face with weights: select a mesh with vertex groups of the bones")
    return weighted


def _find_normals(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Normals, shape (V, 3), of any length, equal at one position; 0 without triangles."""
    welded = weld(points)
    return sum_at_vertices(area_vectors(points, triangles), welded[triangles], len(points))[welded]


def _compare(normals: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Cosines of the angles between normals, shapes (V, 3): shape (V,), 0 without a normal."""
    lengths = np.linalg.norm(normals, axis=1) * np.linalg.norm(others, axis=1)
    return np.einsum("vi,vi->v", normals, others) / np.maximum(lengths, 1e-300)


def _describe(matched: np.ndarray, held: np.ndarray, inverted: int) -> tuple[str, ...]:
    notes = []
    filled, far = int((~held).sum()), int((held & ~matched).sum())
    if filled:
        notes.append(
            f"{filled} of {len(matched)} vertices are not near the source: they got smooth weights from their neighbors"
        )
    if far:
        notes.append(f"{far} vertices are on parts far from the source: they got the nearest weights")
    if inverted == 1:
        notes.append("1 part is inside out: recalculate its normals if it looks dark")
    elif inverted:
        notes.append(f"{inverted} parts are inside out: recalculate their normals if they look dark")
    return tuple(notes)
