"""The skin of a solid, cut by a box of cells: a node for each sheet of it in each cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .solid import Surface, area_vectors, find_islands

SAMPLES = 2
"""Samples of the skin along a cell's side: with so many, no cell between an inside and an outside one is missed."""

LEAST_AGREEMENT = 0.8
"""Length of the mean of a cell's unit normals from which on its skin is one sheet."""

OPPOSED = -0.2
"""Cosine of two sheets' normals up to which they look at each other, or away from each other."""

LEAST_CLEAR = 0.25
"""Product of the lengths of two nodes' mean normals from which on it is clear where they look."""


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
        Which of its cells count; None: all.
    inside : bool array, shape (X, Y, Z), or None
        Cells that are known to be inside; None: those that no flood from the box's rim reaches.
    """

    low: np.ndarray
    step: float
    shape: np.ndarray
    kept: np.ndarray | None = None
    inside: np.ndarray | None = None

    def find_overlaps(self, points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
        """Along how many axes each triangle, shape (T, 3), overlaps the box: int array, shape (T,)."""
        result = np.zeros(len(triangles), np.int8)
        for axis in range(3):
            low = self.low[axis] - 0.5 * self.step
            side = (points[:, axis] >= low).astype(np.int8) + (points[:, axis] > low + self.step * self.shape[axis])
            first, second, third = side[triangles].T
            result += (first != second) | (second != third) | (first == 1)
        return result

    def find_keys(self, points: np.ndarray) -> np.ndarray:
        """Flat indices of the cells that points, shape (N, 3), are in; -1 outside of the box."""
        keys, within = np.zeros(len(points), np.intp), np.ones(len(points), bool)
        for axis, count in enumerate(self.shape.tolist()):
            index = np.floor((points[:, axis] - self.low[axis]) / self.step + 0.5).astype(np.intp)
            within &= (index >= 0) & (index < count)
            keys = keys * count + index
        keys[~within] = 0
        if self.kept is not None:
            within &= self.kept.reshape(-1)[keys]
        return np.where(within, keys, -1)


@dataclass(frozen=True)
class Samples:
    """Points on triangles, so near to each other that none of the cells they cross is missed.

    Attributes
    ----------
    points : float64 array, shape (S, 3)
    triangles : int array, shape (S,)
    """

    points: np.ndarray
    triangles: np.ndarray


def sample_triangles(points: np.ndarray, triangles: np.ndarray, spacing: float) -> Samples:
    """Cover triangles by points, their corners among them.

    Parameters
    ----------
    points : float64 array, shape (V, 3)
    triangles : int array, shape (T, 3)
    spacing : float
        Largest distance between points that are next to each other, in the unit of the points.
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
    return Samples(np.concatenate(found), np.concatenate(owners))


class SkinNodes:
    """The nodes that the skin runs through, ordered by their cells.

    Attributes
    ----------
    keys : int array, shape (N,)
        Flat indices of the cells; one comes again for each sheet of skin in it.
    points, normals : float64 arrays, shape (N, 3)
        Means of the skin in each.
    islands : int array, shape (N,)
        The largest closed island that has skin in each, 0 for the largest of all, and so on; beyond the last, cloth.
    vertex_nodes : int array, shape (V,)
        The node of each vertex, -1 for one that no triangle has.
    """

    def __init__(self, surface: Surface, triangles: np.ndarray, is_closed: np.ndarray, box: Box) -> None:
        samples = sample_triangles(surface.points, triangles, box.step / SAMPLES)
        count = max(1, len(triangles))
        cells = box.find_keys(samples.points)
        positions, owners = samples.points[cells >= 0], samples.triangles[cells >= 0]
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
        self._sums = np.stack([np.bincount(pair_of, positions[:, axis]) for axis in range(3)], axis=1)
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
        """Let each pair of a cell and a triangle be in a node, and find the nodes' means."""
        self.keys, self._pair_node = keys, pair_node
        ranks = self._ranks[self._islands[self._pair_triangles]]
        self.islands = np.full(len(keys), len(self._ranks))
        closed = self._is_closed[self._pair_triangles]
        np.minimum.at(self.islands, pair_node[closed], ranks[closed])
        total = np.bincount(pair_node, self._counts)[:, None]
        self.points, self.normals = (
            np.stack([np.bincount(pair_node, values[:, axis]) for axis in range(3)], axis=1) / total
            for values in (self._sums, self._normals)
        )

    def _split(self) -> None:
        """Make a node of each sheet where a cell's normals do not agree; sheets with no air between them stay one."""
        mixed = np.flatnonzero(np.linalg.norm(self.normals, axis=1)[self._pair_node] < LEAST_AGREEMENT)
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
        """Nodes that skin of an island runs through, int array."""
        if self._node_islands is None:
            self._node_islands = np.unique(self._islands[self._pair_triangles] * len(self.keys) + self._pair_node)
        start, end = np.searchsorted(self._node_islands, [island * len(self.keys), (island + 1) * len(self.keys)])
        return self._node_islands[start:end] - island * len(self.keys)

    def is_apart(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Which pairs of nodes, shape (E,) each, have air between if they are not of one sheet: bool array.

        Skin of one island has, unless it looks away from each other: then there is flesh between. Skin of two islands
        has if it looks at each other.
        """
        normals, others = self.normals[first], self.normals[second]
        toward = np.einsum("ni,ni->n", self.points[second] - self.points[first], normals - others)
        lengths = np.linalg.norm(normals, axis=1) * np.linalg.norm(others, axis=1)
        opposed = (np.einsum("ni,ni->n", normals, others) < OPPOSED * lengths) & (lengths > LEAST_CLEAR)
        of_one = (self.islands[first] == self.islands[second]) & (self.islands[first] < len(self._ranks))
        return np.where(of_one, ~(opposed & (toward < 0)), opposed & (toward > 0))

    def share_edges(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Which pairs of nodes, shape (E,) each, are parts of one sheet of their islands: bool array."""
        count = int(self._edges.max(initial=0)) + 1
        known = self._node_edges
        starts = np.searchsorted(known, first * count)
        spans = np.searchsorted(known, (first + 1) * count) - starts
        which = np.repeat(np.arange(len(first)), spans)
        rank = np.arange(len(which)) - np.repeat(np.cumsum(spans) - spans, spans)
        sought = second[which] * count + known[starts[which] + rank] % count
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
