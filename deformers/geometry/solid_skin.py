"""Nodes of a solid's skin: one for each sheet of skin in each cell of a box."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .solid import Surface, area_vectors, find_islands
from .vectors import list_ranges, sum_by


@dataclass(frozen=True)
class Box:
    """A part of a lattice of cells.

    Attributes
    ----------
    low : float64 array, shape (3,)
        Center of its first cell.
    step : float
        Side of a cell.
    shape : int array, shape (3,)
        Cells along each axis.
    kept : bool array, shape (X, Y, Z), or None
        Cells that count; None: all.
    inside : bool array, shape (X, Y, Z), or None
        Cells known to be inside; None: those that no flood from the box's rim reaches.
    """

    low: np.ndarray
    step: float
    shape: np.ndarray
    kept: np.ndarray | None = None
    inside: np.ndarray | None = None

    def find_overlaps(self, points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
        """Number of axes along which each triangle, shape (T, 3), overlaps the box: int array, shape (T,)."""
        result = np.zeros(len(triangles), np.int8)
        for axis in range(3):
            low = self.low[axis] - 0.5 * self.step
            side = (points[:, axis] >= low).astype(np.int8) + (points[:, axis] > low + self.step * self.shape[axis])
            first, second, third = side[triangles].T
            result += (first != second) | (second != third) | (first == 1)
        return result

    def find_keys(self, points: np.ndarray) -> np.ndarray:
        """Flat indices of the cells of points, shape (N, 3); -1 outside of the box."""
        keys, within = np.zeros(len(points), np.intp), np.ones(len(points), bool)
        for axis, count in enumerate(self.shape.tolist()):
            index = np.floor((points[:, axis] - self.low[axis]) / self.step + 0.5).astype(np.intp)
            within &= (index >= 0) & (index < count)
            keys = keys * count + index
        keys[~within] = 0
        if self.kept is not None:
            within &= self.kept.reshape(-1)[keys]
        return np.where(within, keys, -1)


def sample_triangles(points: np.ndarray, triangles: np.ndarray, spacing: float) -> tuple[np.ndarray, np.ndarray]:
    """Cover triangles with points, including their corners.

    Parameters
    ----------
    points : float64 array, shape (V, 3)
    triangles : int array, shape (T, 3)
    spacing : float
        Largest distance between adjacent points, in the unit of the points.

    Returns
    -------
    points : float64 array, shape (S, 3)
    triangles : int array, shape (S,)
    """
    corners = points[triangles]
    squares = np.zeros(len(triangles))
    for start, end in ((0, 1), (1, 2), (2, 0)):
        sides = corners[:, start] - corners[:, end]
        squares = np.maximum(squares, np.einsum("ti,ti->t", sides, sides))
    counts = np.maximum(np.ceil(np.sqrt(squares) / spacing), 1).astype(int)
    found, owners = [np.empty((0, 3))], [np.empty(0, np.intp)]
    for count in np.unique(counts):
        own = np.flatnonzero(counts == count)
        first, second = (index.ravel() for index in np.indices((count + 1, count + 1)))
        inside = first + second <= count
        shares = np.stack([count - first - second, first, second], axis=1)[inside] / count
        found.append(np.einsum("sc,tci->tsi", shares, corners[own]).reshape(-1, 3))
        owners.append(np.repeat(own, len(shares)))
    return np.concatenate(found), np.concatenate(owners)


class SkinNodes:
    """Nodes of cells that the skin runs through, ordered by their cells.

    Attributes
    ----------
    keys : int array, shape (N,)
        Flat indices of the cells, repeated for each sheet of skin in a cell.
    points, normals : float64 arrays, shape (N, 3)
        Means of the skin in each.
    islands : int array, shape (N,)
        Rank by size of the largest closed island with skin in each, 0 for the largest of all; beyond the last, cloth.
    vertex_nodes : int array, shape (V,)
        The node of each vertex, -1 without triangles.
    """

    def __init__(self, surface: Surface, triangles: np.ndarray, is_closed: np.ndarray, box: Box) -> None:
        # Samples along a cell's side: enough to find all cells between an inside and an outside cell.
        samples_per_cell = 2
        positions, owners = sample_triangles(surface.points, triangles, box.step / samples_per_cell)
        count = max(1, len(triangles))
        cells = box.find_keys(positions)
        positions, owners = positions[cells >= 0], owners[cells >= 0]
        pairs, pair_of = np.unique(cells[cells >= 0] * count + owners, return_inverse=True)
        pair_of = pair_of.reshape(-1)
        self._pair_triangles = pairs % count
        self._edges = _number_edges(surface.welded[triangles])
        self._islands = surface.islands[triangles[:, 0]]
        self._node_islands: np.ndarray | None = None
        self._is_closed = is_closed
        normals = area_vectors(surface.points, triangles)
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
        normals[~is_closed] = 0.0  # cloth has no inner side
        self._counts = np.bincount(pair_of).astype(float)
        sizes = np.bincount(self._islands[self._pair_triangles], self._counts, minlength=len(surface.solid))
        self._ranks = np.argsort(np.argsort(-sizes, kind="stable"), kind="stable")
        self._sums = sum_by(pair_of, positions, len(pairs))
        self._normals = self._counts[:, None] * normals[self._pair_triangles]
        keys, pair_node = np.unique(pairs // count, return_inverse=True)
        self._gather(keys, pair_node.reshape(-1))
        self._split()

        owner = np.full(len(surface.points), -1)
        owner[surface.welded[triangles].reshape(-1)] = np.repeat(np.arange(len(triangles)), 3)
        owner = owner[surface.welded]
        cells = box.find_keys(surface.points[surface.welded])
        known = (owner >= 0) & (cells >= 0)
        self.vertex_nodes = np.full(len(owner), -1)
        self.vertex_nodes[known] = self._pair_node[np.searchsorted(pairs, (cells * count + owner)[known])]

    def _gather(self, keys: np.ndarray, pair_node: np.ndarray) -> None:
        """Assign each pair of a cell and a triangle to a node, and find the nodes' means."""
        self.keys, self._pair_node = keys, pair_node
        ranks = self._ranks[self._islands[self._pair_triangles]]
        self.islands = np.full(len(keys), len(self._ranks))
        closed = self._is_closed[self._pair_triangles]
        np.minimum.at(self.islands, pair_node[closed], ranks[closed])
        total = np.bincount(pair_node, self._counts)[:, None]
        self.points, self.normals = (
            sum_by(pair_node, values, len(keys)) / total for values in (self._sums, self._normals)
        )

    def _split(self) -> None:
        """Make a node of each sheet in cells with different normals; sheets without air between them stay one."""
        min_agreement = 0.8  # Length of the mean of a cell's unit normals for its skin to be one sheet
        mixed = np.flatnonzero(np.linalg.norm(self.normals, axis=1)[self._pair_node] < min_agreement)
        edges = self._edges[self._pair_triangles[mixed]]
        keys, edge = np.unique(
            self._pair_node[mixed, None] * (int(self._edges.max(initial=0)) + 1) + edges, return_inverse=True
        )
        links = np.stack([np.repeat(np.arange(len(mixed)), 3), len(mixed) + edge.reshape(-1)], axis=1)
        sheets = np.zeros(len(self._pair_node), np.intp)
        sheets[mixed] = find_islands(links, len(mixed) + len(keys))[: len(mixed)]
        count = int(sheets.max(initial=0)) + 1
        nodes, pair_node = np.unique(self._pair_node * count + sheets, return_inverse=True)
        self._gather(self.keys[nodes // count], pair_node.reshape(-1))

        first, second = _pair_up(self.keys)
        whole = ~self.is_apart(first, second)
        joined = find_islands(np.stack([first[whole], second[whole]], axis=1), len(self.keys))
        self._gather(self.keys[np.unique(joined, return_index=True)[1]], joined[self._pair_node])
        edges = self._pair_node[:, None] * (int(self._edges.max(initial=0)) + 1) + self._edges[self._pair_triangles]
        main = self._ranks[self._islands[self._pair_triangles]] == self.islands[self._pair_node]
        self._node_edges = np.sort(edges[main | ~self._is_closed[self._pair_triangles]].ravel())

    def nodes_of(self, island: int) -> np.ndarray:
        """Nodes with skin of an island, int array."""
        if self._node_islands is None:
            self._node_islands = np.unique(self._islands[self._pair_triangles] * len(self.keys) + self._pair_node)
        start, end = np.searchsorted(self._node_islands, [island * len(self.keys), (island + 1) * len(self.keys)])
        return self._node_islands[start:end] - island * len(self.keys)

    def is_apart(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Whether there is air between pairs of nodes, shape (E,) each, unless they are of one sheet: bool array.

        Between skin of one island there is air, or flesh if the normals point away from each other. Between skin of two
        islands there is air if the normals point toward each other.
        """
        normals, others = self.normals[first], self.normals[second]
        toward = np.einsum("ni,ni->n", self.points[second] - self.points[first], normals - others)
        lengths = np.linalg.norm(normals, axis=1) * np.linalg.norm(others, axis=1)
        max_opposed_cosine = -0.2  # Cosine of the normals of two sheets that face each other, or away from each other
        min_clarity = 0.25  # Product of the lengths of two nodes' mean normals, for their directions to count
        opposed = (np.einsum("ni,ni->n", normals, others) < max_opposed_cosine * lengths) & (lengths > min_clarity)
        of_one = (self.islands[first] == self.islands[second]) & (self.islands[first] < len(self._ranks))
        return np.where(of_one, ~(opposed & (toward < 0)), opposed & (toward > 0))

    def share_edges(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Whether pairs of nodes, shape (E,) each, are parts of one sheet of their islands: bool array."""
        count = int(self._edges.max(initial=0)) + 1
        known = self._node_edges
        starts = np.searchsorted(known, first * count)
        spans = np.searchsorted(known, (first + 1) * count) - starts
        which, found = list_ranges(starts, spans)
        sought = second[which] * count + known[found] % count
        found = known[np.minimum(np.searchsorted(known, sought), len(known) - 1)] == sought
        return np.bincount(which, found, len(first)) > 0


def _number_edges(corners: np.ndarray) -> np.ndarray:
    """A number for each edge of triangles, shape (T, 3), of welded vertices: the same shape."""
    sides = np.sort(np.stack([corners, np.roll(corners, -1, axis=1)], axis=2), axis=2)
    keys = sides[..., 0] * (int(corners.max(initial=0)) + 1) + sides[..., 1]
    return np.unique(keys, return_inverse=True)[1].reshape(keys.shape)


def _pair_up(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of equal keys among sorted keys, first and second of each."""
    first, second = [], []
    for offset in range(1, len(keys)):
        equal = np.flatnonzero(keys[offset:] == keys[:-offset])
        if not equal.size:
            break
        first.append(equal)
        second.append(equal + offset)
    none = np.empty(0, np.intp)
    return np.concatenate([none, *first]), np.concatenate([none, *second])
