"""Skin weights from one mesh to another: matched where the two lie together, filled in smoothly elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..algebra import conjugate_gradients
from ..errors import SkinningError
from ..geometry.mesh_laplacian import Laplacian, drop_degenerate, make_laplacian
from ..geometry.solid import area_vectors, find_islands, weld

FindNearest = Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""Points (N, 3), a surface's points (V, 3) and triangles (T, 3) to the nearest triangles (N,), barycentric weights
(N, 3) on them and distances (N,): `bridge.nearest.find_nearest_surface`."""

CLOSE = 1e-4
"""Share of the first error at which a smooth fill is found: weights are exact to about as much."""

LEAST = 1e-3
"""Weight that is kept in what is filled in: a smooth fill has a trace of every bone everywhere."""

MOST_STEPS = 400
"""Steps to a fill; what there is then is smooth, if not the smoothest."""

MOST_AT_ONCE = 5000
"""Free vertices that are filled in from nothing; of more, clusters are filled in first."""

FINE_STEPS = 64
"""Steps from what clusters have to what their vertices have: only what is short is left to be found."""


@dataclass(frozen=True)
class Params:
    """Where weights are taken over as they are.

    Attributes
    ----------
    reach : float
        Largest distance from the source, as a share of the diagonal of the target's bounding box.
    angle : float
        Largest angle between the normals, radians.
    """

    reach: float = 0.1
    angle: float = np.radians(45.0)


@dataclass(frozen=True)
class Transfer:
    """What came over.

    Attributes
    ----------
    weights : float32 array, shape (V, B)
        Rows sum to 1.
    matched : bool array, shape (V,)
        Vertices that the source is near to; the others are filled in.
    distances : float64 array, shape (V,)
        From the source.
    notes : tuple of str
        Sentences about the whole.
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
    """Give a mesh the weights of another that it lies on, as clothes on a body.

    Parameters
    ----------
    source_points : float array, shape (S, 3)
        At rest, in the space of `points`.
    source_triangles : int array, shape (R, 3)
        Counter-clockwise seen from outside; those without a weighted corner are not looked at.
    source_weights : float array, shape (S, B)
        Rows need not sum to 1.
    points : float array, shape (V, 3)
    triangles : int array, shape (T, 3)
        Counter-clockwise too; islands that are inside out are seen as such.
    find_nearest : FindNearest
    params : Params
    progress : callable, optional
        Told a share, 0 to 1.

    Raises
    ------
    SkinningError
        Where the source has no weighted face, or coordinates are not finite.

    Notes
    -----
    Abdrashitov et al. 2023, "Robust Skin Weights Transfer via Weight Inpainting": a vertex is matched where the nearest
    point of the source is within a distance, and its normal within an angle; then, for each bone, the energy
    w^T L M^-1 L w on the target is least with the matched weights held (eq. 2-4). Deviations: places, not vertices, are
    solved, so that what shares a place shares its weights; islands without a matched vertex take what is nearest;
    conjugate gradients, not a factorisation.
    """
    tell = progress or (lambda share: None)
    points, source_points = np.asarray(points, np.float64), np.asarray(source_points, np.float64)
    source_triangles = _check(source_points, source_triangles, source_weights, points)
    first, place = np.unique(weld(points), return_inverse=True)
    place = place.ravel()
    spots, corners = points[first], drop_degenerate(place[triangles])
    tell(0.0)
    owner, shares, distances = find_nearest(spots, source_points, source_triangles)
    tell(0.4)
    weights = np.zeros((len(spots), source_weights.shape[1]))
    for corner in range(3):
        weights += shares[:, corner, None] * source_weights[source_triangles[owner, corner]]
    weights /= weights.sum(axis=1, keepdims=True)
    islands = find_islands(np.concatenate([corners[:, :2], corners[:, 1:]]), len(spots))
    size = float(np.linalg.norm(np.ptp(spots, axis=0)))
    near = distances <= params.reach * size
    normals = _find_normals(source_points, source_triangles)[source_triangles[owner]]
    cosines = _compare(_find_normals(spots, corners), np.einsum("nc,nci->ni", shares, normals))
    turned = np.bincount(islands, np.where(near, cosines, 0.0)) < 0
    matched = near & (np.where(turned[islands], -cosines, cosines) >= np.cos(params.angle))
    held = matched | ~np.isin(islands, islands[matched])
    if not held.all():
        laplacian = make_laplacian(spots, corners)
        weights = inpaint_weights(laplacian, weights, held, lambda share: tell(0.4 + 0.6 * share))
    notes = _describe(matched[place], held[place], int(turned[np.unique(islands[corners])].sum()))
    tell(1.0)
    return Transfer(weights[place].astype(np.float32), matched[place], distances[place], notes)


def inpaint_weights(
    laplacian: Laplacian, weights: np.ndarray, held: np.ndarray, progress: Callable[[float], None] | None = None
) -> np.ndarray:
    """Fill in weights as smoothly as those that are held allow.

    Parameters
    ----------
    laplacian : Laplacian
    weights : float array, shape (V, B)
        Rows that are not held do not count.
    held : bool array, shape (V,)
        At least one of each island of what is to be filled.
    progress : callable, optional

    Returns
    -------
    float64 array, shape (V, B)
        Not negative; rows that are filled in sum to 1.

    Notes
    -----
    A membrane first (L w = 0), which costs little and has no weight below 0; from there to the plate (L M^-1 L w = 0),
    which runs on from what is held without a crease and is cut off at 0.
    """
    seen = _widen(laplacian, ~held)
    vertices = np.flatnonzero(seen)
    place = np.cumsum(seen) - 1
    kept = seen[laplacian.edges].all(axis=1)
    near = Laplacian(place[laplacian.edges[kept]], laplacian.strengths[kept], laplacian.areas[seen])
    free = ~held[seen]
    # Parts that are not joined share columns: each has its own bones in them.
    parts = find_islands(near.edges, len(vertices))
    rows, bones = np.nonzero(np.where(free[:, None], 0.0, weights[seen]))
    has = np.zeros((int(parts.max(initial=-1)) + 1, weights.shape[1]), bool)
    has[parts[rows], bones] = True
    column = np.cumsum(has, axis=1) - 1
    values = np.zeros((len(vertices), int(has.sum(axis=1).max(initial=0))))
    values[rows, column[parts[rows], bones]] = weights[vertices[rows], bones]
    values = _fill(near, values, free, progress or (lambda share: None))
    values = np.where(values < LEAST, 0.0, values)
    bone_of = np.zeros((len(has), values.shape[1]), np.intp)
    part, bone = np.nonzero(has)
    bone_of[part, column[part, bone]] = bone
    rows, columns = np.nonzero(np.where(free[:, None], values, 0.0))
    result = np.array(weights, np.float64)
    result[~held] = 0.0
    result[vertices[rows], bone_of[parts[rows], columns]] = values[rows, columns] / values.sum(axis=1)[rows]
    return result


def _widen(laplacian: Laplacian, free: np.ndarray) -> np.ndarray:
    """Free vertices, shape (V,), and two rings about them: all that the bending energy's gradient there sees."""
    seen = free
    for _ in range(2):
        ahead = seen.copy()
        ahead[laplacian.edges[seen[laplacian.edges[:, 1]], 0]] = True
        ahead[laplacian.edges[seen[laplacian.edges[:, 0]], 1]] = True
        seen = ahead
    return seen


def _fill(laplacian: Laplacian, values: np.ndarray, free: np.ndarray, tell: Callable[[float], None]) -> np.ndarray:
    """Values, shape (V, B), with those of free vertices filled in; of large meshes, clusters of vertices first."""
    start, steps = values, MOST_STEPS
    if int(free.sum()) > MOST_AT_ONCE:
        clusters = _find_clusters(laplacian)
        coarse = _coarsen(laplacian, clusters)
        owned = np.bincount(clusters, ~free)
        means = np.zeros((len(owned), values.shape[1]))
        for column in range(values.shape[1]):
            means[:, column] = np.bincount(clusters, np.where(free, 0.0, values[:, column])) / np.maximum(owned, 1)
        means = _fill(coarse, means, owned == 0, lambda share: tell(0.5 * share))
        start, steps = np.where(free[:, None], means[clusters], values), FINE_STEPS
    grid = _Rows(laplacian)

    def bend(values: np.ndarray) -> np.ndarray:
        return grid.apply(grid.apply(values) / laplacian.areas[:, None])

    begun = 0.5 if start is not values else 0.0
    membrane_steps = MOST_STEPS if start is values else FINE_STEPS // 4
    start = _solve(grid.apply, grid.diagonal, start, free, membrane_steps, lambda share: tell(begun))
    return _solve(bend, grid.bending_diagonal, start, free, steps, lambda share: tell(begun + (1.0 - begun) * share))


def _find_clusters(laplacian: Laplacian) -> np.ndarray:
    """Number vertices so that each cluster is one and its neighbors: int array, shape (V,)."""
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
    edges, places = np.unique(ends[apart], axis=0, return_inverse=True)
    strengths = np.bincount(places.ravel(), laplacian.strengths[apart], minlength=len(edges))
    return Laplacian(edges, strengths, np.bincount(clusters, laplacian.areas))


class _Rows:
    """A Laplacian's rows, ready to be applied to many columns."""

    def __init__(self, laplacian: Laplacian) -> None:
        self.diagonal = laplacian.diagonal
        rows, columns = np.concatenate([laplacian.edges, laplacian.edges[:, ::-1]]).T
        strengths = np.tile(laplacian.strengths, 2)
        order = np.argsort(rows, kind="stable")
        rows, columns, strengths = rows[order], columns[order], strengths[order]
        slots = np.arange(len(rows)) - np.searchsorted(rows, rows)
        # Edges by their number at their vertex: each vertex once in a group
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
    most_steps: int,
    tell: Callable[[float], None],
) -> np.ndarray:
    """Values, shape (V, B), with no residual in free rows, by conjugate gradients on all columns at once."""
    scale = np.where(free, 1.0 / np.maximum(diagonal, 1e-300), 0.0)[:, None]
    first = np.empty(0)

    def is_done(step: int, _change: np.ndarray, product: np.ndarray) -> bool:
        nonlocal first
        first = product if not step else first
        if (product <= CLOSE**2 * first).all():
            return True
        tell(step / most_steps)
        return False

    return conjugate_gradients.solve(
        lambda values: np.where(free[:, None], apply(values), 0.0),
        np.zeros_like(start),
        start,
        lambda residual: scale * residual,
        is_done,
        most_steps,
    )


def _check(
    source_points: np.ndarray, source_triangles: np.ndarray, source_weights: np.ndarray, points: np.ndarray
) -> np.ndarray:
    """The triangles of the source that have a weight."""
    for name, values in (("source", source_points), ("target", points)):
        if wrong := int((~np.isfinite(values)).any(axis=1).sum()):
            raise SkinningError(f"{wrong} vertices of the {name} have no finite place: repair or delete them")
    weighted = source_triangles[(source_weights.sum(axis=1) > 0)[source_triangles].any(axis=1)]
    if not len(weighted):
        raise SkinningError("The source has no face with weights: choose a mesh with vertex groups of the bones")
    return weighted


def _find_normals(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Normals at points, shape (V, 3), of any length; 0 where there is no triangle. Those at one place are the same."""
    place = weld(points)
    corners, faces = place[triangles].ravel(), area_vectors(points, triangles)
    sums = [np.bincount(corners, np.repeat(faces[:, axis], 3), len(points)) for axis in range(3)]
    return np.stack(sums, axis=1)[place]


def _compare(normals: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Cosines between normals, shapes (V, 3); 0 where there is none."""
    lengths = np.linalg.norm(normals, axis=1) * np.linalg.norm(others, axis=1)
    return np.einsum("vi,vi->v", normals, others) / np.maximum(lengths, 1e-300)


def _describe(matched: np.ndarray, held: np.ndarray, turned: int) -> tuple[str, ...]:
    notes = []
    filled, far = int((~held).sum()), int((held & ~matched).sum())
    if filled:
        notes.append(f"{filled} of {len(matched)} vertices are not on the source: filled in smoothly from those around")
    if far:
        notes.append(
            f"{far} vertices are on parts that lie nowhere on the source: they have the weights of what is nearest"
        )
    if turned == 1:
        notes.append("1 part is inside out: recalculate its normals if it looks dark")
    elif turned:
        notes.append(f"{turned} parts are inside out: recalculate their normals if they look dark")
    return tuple(notes)
