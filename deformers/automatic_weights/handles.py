"""Points and cages as handles next to bones: cells with given weights.

Cells around a point follow the point alone. Cells at edges and faces of a cage have weights that are linear from vertex
to vertex (Jacobson 2011, section 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..geometry.neighbors import find_nearest
from ..geometry.solid import Surface
from ..geometry.solid_cells import Cells
from ..geometry.solid_skin import sample_triangles

# From a point to the centers of the cells that are interpolated there, at most, in cells
CORNERS = np.array(list(np.ndindex(2, 2, 2))) - 0.5


@dataclass(frozen=True)
class Cage:
    """A mesh whose vertices have weights as bones do.

    Attributes
    ----------
    bones : int array, shape (C,)
        The bone of each vertex, or -1.
    points : float64 array, shape (C, 3)
        At rest, in the space of the skin.
    edges : int array, shape (E, 2)
    triangles : int array, shape (T, 3)
        If closed, they carry their whole inside.
    """

    bones: np.ndarray
    points: np.ndarray
    edges: np.ndarray
    triangles: np.ndarray


@dataclass(frozen=True)
class Handles:
    """Bones that are points, and bones that are vertices of cages.

    `points`, int array, shape (P,): bones; their heads are the points.
    """

    points: np.ndarray
    cages: tuple[Cage, ...] = ()

    def mark(self, count: int) -> np.ndarray:
        """Whether each of `count` bones is a handle: bool array, shape (B,)."""
        own = [cage.bones[cage.bones >= 0] for cage in self.cages]
        return np.isin(np.arange(count), np.concatenate([self.points, *own]))

    def choose(self, kept: np.ndarray) -> Handles:
        """Handles among the bones of a mask, shape (B,), which are renumbered."""
        index = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
        points = index[self.points]
        cages = (Cage(index[cage.bones], cage.points, cage.edges, cage.triangles) for cage in self.cages)
        return Handles(points[points >= 0], tuple(cage for cage in cages if (cage.bones >= 0).any()))


@dataclass(frozen=True)
class Held:
    """Nodes with given weights.

    Attributes
    ----------
    nodes : int array, shape (H,)
    weights : float64 array, shape (H, B)
        Rows sum to 1.
    """

    nodes: np.ndarray
    weights: np.ndarray

    @property
    def seeds(self) -> tuple[np.ndarray, np.ndarray]:
        """Nodes and their bones of largest weight, int arrays, shape (S,)."""
        return self.nodes, self.weights.argmax(axis=1)

    @staticmethod
    def gather(nodes: np.ndarray, weights: np.ndarray) -> Held:
        """Average weights that are given for one node, normalize them, and leave out zeros.

        Parameters
        ----------
        nodes : int array, shape (N,)
        weights : float array, shape (N, B)
        """
        which, first = np.unique(nodes, return_inverse=True)
        sums = np.zeros((len(which), weights.shape[1]))
        np.add.at(sums, first.ravel(), weights)
        kept = sums.sum(axis=1) > 0.0
        return Held(which[kept], sums[kept] / sums[kept].sum(axis=1, keepdims=True))

    def under(self, other: Held) -> Held:
        """These nodes and those of `other`, whose weights win."""
        own = ~np.isin(self.nodes, other.nodes)
        return Held(np.concatenate([self.nodes[own], other.nodes]), np.concatenate([self.weights[own], other.weights]))


def settle_points(cells: Cells, handles: Handles, heads: np.ndarray, surface: Surface) -> np.ndarray:
    """Move points outside of the solid to the nearest position on its skin.

    Parameters
    ----------
    cells : Cells
        Of the whole solid.
    heads : float64 array, shape (B, 3)
        In the space of the cells.

    Returns
    -------
    float64 array, shape (B, 3)
        Heads of all bones.
    """
    lost = handles.points[cells.find_nodes(heads[handles.points]) == cells.count]
    samples = np.empty((0, 3))
    if lost.size:
        triangles = np.concatenate([surface.triangles, surface.cloth])
        samples, _ = sample_triangles(surface.points, triangles, cells.step)
        samples = samples[cells.find_nodes(samples) < cells.count]
    if not len(samples):
        return heads
    heads = heads.copy()
    heads[lost] = samples[find_nearest(heads[lost], samples, 1)[0][:, 0]]
    return heads


def hold_points(cells: Cells, handles: Handles, heads: np.ndarray) -> Held:
    """Find the nodes that points hold: all that are interpolated at the point.

    `heads`, float64 array, shape (B, 3): in the space of the cells.
    """
    nodes, rows = [np.empty(0, np.intp)], [np.empty((0, len(heads)))]
    for bone in handles.points:
        found = _find_around(cells, heads[bone])
        row = np.zeros((len(found), len(heads)))
        row[:, bone] = 1.0
        nodes.append(found)
        rows.append(row)
    return Held.gather(np.concatenate(nodes), np.concatenate(rows))


def _find_around(cells: Cells, position: np.ndarray) -> np.ndarray:
    """Nodes of the cells around a position; of other sheets of the same skin only those linked to the first node."""
    first = int(cells.find_nodes(position[None])[0])
    if first == cells.count:
        return np.empty(0, np.intp)
    near = position + cells.step * CORNERS
    indices = np.floor((near - cells.low) / cells.step + 0.5).astype(np.intp)
    inside = (cells.indices >= indices.min(axis=0)) & (cells.indices <= indices.max(axis=0))
    found = np.flatnonzero(inside.all(axis=1))
    reached = {first}
    for _ in range(3):
        reached |= set(found[np.isin(found, cells.neighbors[list(reached)])].tolist())
    is_other = cells.parts[found] != cells.parts[first]  # clothes over the skin
    return found[is_other | np.isin(found, list(reached))]


def hold_lines(cells: Cells, cages: Sequence[Cage], bone_count: int) -> Held:
    """Find the nodes that edges and faces of cages run through."""
    nodes, rows = [np.empty(0, np.intp)], [np.empty((0, bone_count))]
    cage_samples_per_cell = 3  # Along a cell's side
    for cage in cages:
        positions, shares = sample_cage(cage, cells.step / cage_samples_per_cell)
        found = cells.find_nodes(positions)
        kept = found < cells.count
        nodes.append(found[kept])
        rows.append(spread_to_bones(cage, shares[kept], bone_count))
    return Held.gather(np.concatenate(nodes), np.concatenate(rows))


def sample_cage(cage: Cage, spacing: float) -> tuple[np.ndarray, np.ndarray]:
    """Points on edges and faces of a cage, shape (S, 3), and the shares of its vertices in each, shape (S, C)."""
    identity = np.eye(len(cage.points))
    edges = np.concatenate([cage.edges, cage.edges[:, 1:]], axis=1)  # as triangles without width
    loose = np.arange(len(cage.points))[~np.isin(np.arange(len(cage.points)), edges)]
    corners = np.concatenate([cage.triangles, edges, np.repeat(loose[:, None], 3, axis=1)])
    both = np.concatenate([cage.points, identity], axis=1)
    return _interpolate(both, corners, spacing)


def _interpolate(both: np.ndarray, corners: np.ndarray, spacing: float) -> tuple[np.ndarray, np.ndarray]:
    """Positions and shares, the columns of `both`, at samples of triangles, shape (T, 3)."""
    sides = np.linalg.norm(both[corners, :3] - both[np.roll(corners, 1, axis=1), :3], axis=2).max(axis=1)
    counts = np.maximum(np.ceil(sides / spacing), 1).astype(int)
    found = []
    for count in np.unique(counts):
        first, second = (index.ravel() for index in np.indices((count + 1, count + 1)))
        inside = first + second <= count
        shares = np.stack([count - first - second, first, second], axis=1)[inside] / count
        found.append(np.einsum("sc,tci->tsi", shares, both[corners[counts == count]]).reshape(-1, both.shape[1]))
    values = np.concatenate(found)
    return values[:, :3], values[:, 3:]


def spread_to_bones(cage: Cage, shares: np.ndarray, bone_count: int) -> np.ndarray:
    """Shares of a cage's vertices as weights of bones, float64, shape (S, B). `shares`, float64 array, shape (S, C)."""
    weights = np.zeros((len(shares), bone_count + 1))
    np.add.at(weights.T, cage.bones, shares.T)
    return weights[:, :-1]
