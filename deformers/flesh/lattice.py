"""The lattice of an elastic solid: cells near joints, each cut into tetrahedra that carry skin and clothes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, permutations, product

import numpy as np

from ..geometry.neighbors import find_nearest
from ..geometry.solid import vote_inside
from ..geometry.solid_skin import sample_triangles
from ..geometry.vectors import smooth_ramp
from .body import Body

# Share of a cell from its side up to which skin lies between two
EDGE = 1e-4

# Orders of the axes along a cell's 6 paths from corner to corner
ORDERS = np.array(list(permutations(range(3))))

# Limbs that lie side by side are not tied to each other: a tetrahedron is cut if two of its corners have less than this
# in common of their weights (a node halfway between two limbs has half), and are farther than this from one of the
# joints between their bones, in the joint's radii.
MIN_COMMON, MIN_BRANCH = 0.51, 2.0

# Cells from the lattice up to which it carries points fully, and beyond which it does not
CARRIED_RAMP = 2.0, 4.0

# Cells from the nearest cell whose center is inside, beyond which skin is a thin sheet, such as a wing
MAX_THIN = 2

# Tetrahedra that are compared for a point outside of all
CANDIDATES = 24


@dataclass(frozen=True)
class Lattice:
    """Cells near some joints, each cut into 6 tetrahedra along paths of 3 edges (Kuhn's), if limbs are not tied so.

    Nodes lie on x = 0, and paths begin at the corner that is even along each axis: the lattice is its own mirror image.

    Attributes
    ----------
    step : float
        Side of a cell: cell (i, j, k) begins at step * (i, j, k).
    low, shape : int arrays, shape (3,)
        First cell of the box, and number of its cells.
    cells : int array, shape (C,)
        Flat indices of the cells in the box, ascending.
    numbers : int array, shape (C, 6)
        Tetrahedra of each cell, by `ORDERS`; -1 for one that was cut.
    nodes : float64 array, shape (N, 3)
        At rest.
    weights : float64 array, shape (N, B)
        Of the skin nearby.
    thin : bool array, shape (N,)
        Whether each node is in a thin sheet.
    edges : int array, shape (E, 2)
        Nodes along an axis, the lower first.
    corners : int array, shape (T, 4)
    tetrahedra : int array, shape (3, T)
        Edges of each along x, y and z.
    """

    step: float
    low: np.ndarray
    shape: np.ndarray
    cells: np.ndarray
    numbers: np.ndarray
    nodes: np.ndarray
    weights: np.ndarray
    thin: np.ndarray
    edges: np.ndarray
    corners: np.ndarray
    tetrahedra: np.ndarray


@dataclass(frozen=True)
class Carried:
    """Points in tetrahedra.

    Attributes
    ----------
    corners : int array, shape (P, 4)
        Nodes.
    shares : float64 array, shape (P, 4)
        Barycentric coordinates, negative outside; all 0 if the lattice is far.
    trust : float64 array, shape (P,)
        1 in the lattice, and 0 far from it.
    """

    corners: np.ndarray
    shares: np.ndarray
    trust: np.ndarray

    def place(self, values: np.ndarray) -> np.ndarray:
        """Interpolate values of nodes, shape (N, ...): shape (P, ...)."""
        return np.einsum("pc,pc...->p...", self.shares, values[self.corners])


def fill_lattice(body: Body, centers: np.ndarray, reaches: np.ndarray, step: float) -> Lattice:
    """Fill a body within reaches, shape (J,), of centers, shape (J, 3), with cells: those inside and those with skin.

    Parameters
    ----------
    step : float
        Side of a cell.
    """
    points = body.points[body.skin]
    low = np.floor(np.maximum(points.min(axis=0), (centers - reaches[:, None]).min(axis=0)) / step).astype(int) - 3
    high = np.ceil(np.minimum(points.max(axis=0), (centers + reaches[:, None]).max(axis=0)) / step).astype(int) + 3
    shape = high - low
    held = vote_inside(body.surface, (low + 0.5) * step, step, shape)
    backed = _grow(held, MAX_THIN)
    samples = sample_triangles(body.points, body.triangles, 0.5 * step)[0] / step
    for sides in product((-EDGE, EDGE), repeat=3):  # skin between cells is in both
        skin = np.floor(samples + sides).astype(int) - low
        held[tuple(skin[((skin >= 0) & (skin < shape)).all(axis=1)].T)] = True
    cells = np.argwhere(held)
    away = np.linalg.norm(((cells + low + 0.5) * step)[:, None] - centers, axis=2)
    cells = cells[(away < reaches + step).any(axis=1)]

    odd = (cells + low) % 2
    paths = np.tile((cells + odd)[:, None, None], (1, 6, 4, 1))
    for position, axes in enumerate(ORDERS.T):
        paths[:, np.arange(6), position + 1 :, axes] += (1 - 2 * odd)[:, axes].T[:, :, None]
    keys = np.ravel_multi_index(tuple(np.moveaxis(paths, -1, 0)), tuple(shape + 1)).reshape(-1, 4)
    orders = np.tile(ORDERS, (len(cells), 1))
    edge_keys = np.empty_like(orders)
    np.put_along_axis(edge_keys, orders, 3 * np.minimum(keys[:, 1:], keys[:, :-1]) + orders, axis=1)
    node_keys, corners = np.unique(keys, return_inverse=True)
    corners = corners.reshape(-1, 4)
    nodes = (np.stack(np.unravel_index(node_keys, tuple(shape + 1)), axis=1) + low) * step
    weights = _read_weights(body, nodes, step)
    whole = ~_find_ties(body, nodes, weights, corners)
    kept, inner = np.unique(corners[whole], return_inverse=True)
    edge_keys, tetrahedra = np.unique(edge_keys[whole], return_inverse=True)
    strides = np.array([(shape[1] + 1) * (shape[2] + 1), shape[2] + 1, 1])[edge_keys % 3]
    thin = np.ones(len(node_keys), bool)
    thin[corners.reshape(-1, 24)[backed[tuple(cells.T)]]] = False
    return Lattice(
        step=step,
        low=low,
        shape=shape,
        cells=np.asarray(np.ravel_multi_index(tuple(cells.T), tuple(shape))),
        numbers=np.where(whole, np.cumsum(whole) - 1, -1).reshape(-1, 6),
        nodes=nodes[kept],
        weights=weights[kept],
        thin=thin[kept],
        edges=np.searchsorted(node_keys[kept], edge_keys[:, None] // 3 + strides[:, None] * (0, 1)),
        corners=inner.reshape(-1, 4),
        tetrahedra=np.ascontiguousarray(tetrahedra.reshape(-1, 3).T),
    )


def _grow(mask: np.ndarray, count: int) -> np.ndarray:
    """A mask, shape (X, Y, Z), with `count` more cells on each side."""
    grown = mask.copy()
    for axis in range(3):
        rows = np.moveaxis(grown, axis, 0)
        for _ in range(count):
            before = rows.copy()
            rows[1:] |= before[:-1]
            rows[:-1] |= before[1:]
    return grown


def _read_weights(body: Body, nodes: np.ndarray, step: float) -> np.ndarray:
    """Weights of the skin near nodes, shape (N, 3): float64 array, shape (N, B)."""
    nearest, distances = find_nearest(nodes, body.points[body.skin], 6)
    shares = 1.0 / (distances + 0.5 * step) ** 2
    shares /= shares.sum(axis=1, keepdims=True)
    skin, weights = body.weights[body.skin], np.zeros((len(nodes), body.weights.shape[1]))
    for share, point in zip(shares.T, nearest.T, strict=True):
        weights += share[:, None] * skin[point]
    return weights


def _find_ties(body: Body, nodes: np.ndarray, weights: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Whether each tetrahedron, shape (T, 4), ties limbs that lie side by side: bool array, shape (T,)."""
    bones, result = weights.argmax(axis=1), np.zeros(len(corners), bool)
    below, (radii, _) = body.joints.chains.below, body.radii
    for ends in combinations(range(4), 2):
        pairs, middles = np.sort(bones[corners[:, ends]], axis=1), nodes[corners[:, ends]].mean(axis=1)
        unlike = np.flatnonzero(body.hops[pairs[:, 0], pairs[:, 1]] > 1)
        first, second = corners[unlike][:, ends].T
        unlike = unlike[np.minimum(weights[first], weights[second]).sum(axis=1) < MIN_COMMON]
        for one, other in np.unique(pairs[unlike], axis=0):
            joints = np.flatnonzero(below[one] ^ below[other])
            own = unlike[(pairs[unlike] == (one, other)).all(axis=1)]
            away = np.linalg.norm(middles[own, None] - body.joints.centers[joints], axis=2)
            result[own] |= (away > MIN_BRANCH * radii[joints]).any(axis=1)
    return result


def embed(body: Body, lattice: Lattice, points: np.ndarray, bones: np.ndarray) -> Carried:
    """Find the tetrahedra that carry points of skin or clothes.

    Parameters
    ----------
    points : float array, shape (P, 3)
    bones : int array, shape (P,)
        The bone with the largest weight of each; a point outside goes to no other limb.
    """
    cells = np.floor(points / lattice.step).astype(int)
    within = np.where(cells % 2, cells + 1 - points / lattice.step, points / lattice.step - cells)
    order = np.argsort(-within, axis=1, kind="stable")  # the path that goes along the longest side first
    shares = -np.diff(np.take_along_axis(within, order, axis=1), prepend=1.0, append=0.0, axis=1)
    local = cells - lattice.low
    valid: np.ndarray = np.asarray(((local >= 0) & (local < lattice.shape)).all(axis=1))
    keys = np.asarray(np.ravel_multi_index(tuple(np.where(valid[:, None], local, 0).T), tuple(lattice.shape)))
    rows = np.minimum(np.searchsorted(lattice.cells, keys), len(lattice.cells) - 1)
    found = lattice.numbers[rows, np.searchsorted(ORDERS @ (9, 3, 1), order @ (9, 3, 1))]
    found[~valid | np.not_equal(lattice.cells[rows], keys)] = -1
    shares[found < 0] = 0.0
    trust = np.where(found < 0, 0.0, 1.0)

    room = CARRIED_RAMP[1] * lattice.step
    boxed = (points > lattice.nodes.min(axis=0) - room) & (points < lattice.nodes.max(axis=0) + room)
    lost = np.flatnonzero((found < 0) & boxed.all(axis=1))
    rounded = np.round(points[lost] / lattice.step, 4) * lattice.step  # so that the other side breaks ties alike
    near, distances = find_nearest(rounded, lattice.nodes[lattice.corners].mean(axis=1), CANDIDATES)
    near = np.sort(near, axis=1)
    shapes = lattice.nodes[lattice.corners[near]]
    frames = (shapes[:, :, 1:] - shapes[:, :, :1]).swapaxes(2, 3)
    inner = np.linalg.solve(frames, (rounded[:, None] - shapes[:, :, 0])[..., None])[..., 0]
    inner = np.concatenate([1.0 - inner.sum(axis=2, keepdims=True), inner], axis=2)
    owners = lattice.weights.argmax(axis=1)[lattice.corners[near, 0]]
    other_limb = 3.0  # Cells beyond which even another limb's tetrahedron is better
    outside = np.maximum(-inner, 0.0).sum(axis=2) + other_limb * (body.hops[owners, bones[lost, None]] > 1)
    best = np.round(outside, 6).argmin(axis=1)[:, None]
    found[lost] = np.take_along_axis(near, best, axis=1)[:, 0]
    shares[lost] = np.take_along_axis(inner, best[:, :, None], axis=1)[:, 0]
    trust[lost] = 1.0 - smooth_ramp(distances[:, 0] / lattice.step, *CARRIED_RAMP)
    return Carried(lattice.corners[found], shares, trust)
