"""A solid as linked cells, in which sheets of skin that face each other through the air stay apart.

Cells that the skin runs through and cells inside are the nodes; cells side by side are linked. Where two fingers are
closer than a cell is wide, one cell holds skin of both: it becomes two nodes, and neither is linked to the other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from .neighbors import find_nearest
from .solid import MOST_CELLS, PHASE, Surface, area_vectors, find_islands, vote_inside

SAMPLES = 2
"""Samples of the skin along a cell's side: with so many, no cell between an inside and an outside one is missed."""

AGREE = 0.8
"""Length of the mean of a cell's normals from which on its skin is one sheet."""

OPPOSED = -0.2
"""Cosine of two sheets' normals up to which they look at each other, or away from each other."""

LEAST_CLEAR = 0.25
"""Product of the lengths of two nodes' mean normals from which on it is clear where they look."""

SIDES = np.array([(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)])
"""Where the cells beside a cell are."""


@dataclass(frozen=True)
class Cells:
    """A solid as linked cells.

    Attributes
    ----------
    low : float64 array, shape (3,)
        Center of the cell (0, 0, 0).
    step : float
        Side of a cell.
    places : int array, shape (N, 3)
        Where each node's cell is. Several nodes may be in one cell.
    neighbors : int array, shape (N, K)
        Nodes that each is linked to, K at least 6; N where there is none. The first 6 are one at each of `SIDES`.
    is_skin : bool array, shape (N,)
        Whether the surface runs through the node's cell.
    vertex_nodes : int array, shape (V,)
        The node that each vertex is in; N for one that no triangle has.
    shells : int array, shape (N,)
        Equal for nodes that the same closed islands hold: where it differs, there is skin between.
    """

    low: np.ndarray
    step: float
    places: np.ndarray
    neighbors: np.ndarray
    is_skin: np.ndarray
    vertex_nodes: np.ndarray
    shells: np.ndarray

    @property
    def count(self) -> int:
        """Nodes."""
        return len(self.places)

    @property
    def centers(self) -> np.ndarray:
        """Centers of the nodes' cells, shape (N, 3)."""
        return self.low + self.step * self.places

    @property
    def keys(self) -> np.ndarray:
        """A number for each node's cell, shape (N,)."""
        return _key(self.places)

    def find_shared_shells(self) -> np.ndarray:
        """Which of `neighbors` the same islands hold, bool array, shape (N, K)."""
        return np.append(self.shells, -1)[self.neighbors] == self.shells[:, None]

    def find_nodes(self, points: np.ndarray, order: np.ndarray | None = None) -> np.ndarray:
        """The node in whose cell each point, shape (N, 3), is; `count` where there is none.

        `order` sorts `keys`, where it is known.
        """
        keys = self.keys
        order = np.argsort(keys, kind="stable") if order is None else order
        sought = _key(np.floor((points - self.low) / self.step + 0.5).astype(np.intp))
        place = np.minimum(np.searchsorted(keys, sought, sorter=order), self.count - 1)
        return np.where(keys[order[place]] == sought, order[place], self.count)

    def read(self, values: np.ndarray, points: np.ndarray, nodes: np.ndarray | None = None) -> np.ndarray:
        """Values of nodes, shape (N, C), between the centers of their cells.

        Parameters
        ----------
        values : float32 array, shape (N, C)
        points : float64 array, shape (P, 3)
        nodes : int array, shape (P,), optional
            The node that each point is in; those of the vertices if not given. Values are read along links from there:
            not across the air between two sheets.

        Returns
        -------
        float32 array, shape (P, C)
            0 for points that are in no node.
        """
        nodes = self.vertex_nodes if nodes is None else nodes
        table = np.concatenate([self.neighbors[:, : len(SIDES)], np.full((1, len(SIDES)), self.count)])
        padded = np.concatenate([values, np.zeros_like(values[:1])])
        offsets = (points - self.low) / self.step - np.append(self.places, [[0, 0, 0]], axis=0)[nodes]
        sides = np.where(offsets >= 0, 0, 1) + 2 * np.arange(3)
        shares = np.abs(np.clip(offsets, -1.0, 1.0))
        result, total = np.zeros((len(points), values.shape[1]), np.float32), np.zeros(len(points), np.float32)
        for corner in np.ndindex(2, 2, 2):
            found = _walk(table, nodes, sides, np.flatnonzero(corner))
            share = np.prod(np.where(corner, shares, 1.0 - shares), axis=1).astype(np.float32)
            share[found == self.count] = 0.0
            result += share[:, None] * padded[found]
            total += share
        return result / np.maximum(total, 1e-12)[:, None]

    def interpolate(self, values: np.ndarray, points: np.ndarray) -> np.ndarray:
        """The same for any points; those in no node take the values of the nearest one."""
        nodes = self.find_nodes(points)
        lost = np.flatnonzero(nodes == self.count)
        if lost.size:
            nodes[lost] = find_nearest(points[lost], self.centers, 1)[0][:, 0]
        return self.read(values, points, nodes)


def _key(places: np.ndarray) -> np.ndarray:
    """A number for each cell, shape (N,), by its place, shape (N, 3)."""
    return ((places[:, 0] + 2**20) << 42) | ((places[:, 1] + 2**20) << 21) | (places[:, 2] + 2**20)


def _walk(table: np.ndarray, nodes: np.ndarray, sides: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """The node that a step along each of some axes leads to from each node, in any order that links allow."""
    end = len(table) - 1
    reached = np.full(len(nodes), end)
    for order in permutations(axes.tolist()):
        at = nodes
        for axis in order:
            at = table[at, sides[:, axis]]
        reached = np.where(reached == end, at, reached)
    return reached


@dataclass(frozen=True)
class Samples:
    """Places on triangles, so near to each other that none of the cells they cross is missed.

    Attributes
    ----------
    points : float64 array, shape (S, 3)
    triangles : int array, shape (S,)
    """

    points: np.ndarray
    triangles: np.ndarray


def sample_triangles(points: np.ndarray, triangles: np.ndarray, spacing: float) -> Samples:
    """Cover triangles, shape (T, 3), by places at most `spacing` apart, their corners among them."""
    corners = points[triangles]
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1, initial=0.0)
    counts = np.maximum(np.ceil(longest / spacing), 1).astype(int)
    places, owners = [np.empty((0, 3))], [np.empty(0, np.intp)]
    for count in np.unique(counts):
        own = np.flatnonzero(counts == count)
        first, second = (index.ravel() for index in np.indices((count + 1, count + 1)))
        inside = first + second <= count
        shares = np.stack([count - first - second, first, second], axis=1)[inside] / count
        places.append(np.einsum("sc,tci->tsi", shares, corners[own]).reshape(-1, 3))
        owners.append(np.repeat(own, len(shares)))
    return Samples(np.concatenate(places), np.concatenate(owners))


def find_enclosed(wall: np.ndarray) -> np.ndarray:
    """Cells that a flood from the grid's rim does not reach, walls themselves apart: bool array, shape (X, Y, Z)."""
    free = ~wall
    outside = np.zeros_like(free)
    for axis in range(3):
        np.moveaxis(outside, axis, 0)[[0, -1]] = np.moveaxis(free, axis, 0)[[0, -1]]
    count = -1
    while count != (count := int(outside.sum())):
        for axis in range(3):
            runs = np.moveaxis(free, axis, -1)
            starts = runs & ~np.concatenate([np.zeros_like(runs[..., :1]), runs[..., :-1]], axis=-1)
            number = np.cumsum(starts.reshape(-1))
            wet = np.zeros(int(number[-1]) + 1, bool)
            reached = np.moveaxis(outside, axis, -1)
            wet[number[reached.reshape(-1)]] = True
            np.moveaxis(outside, axis, -1)[...] = runs & wet[number].reshape(runs.shape)
    return free & ~outside


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

    def find_keys(self, points: np.ndarray) -> np.ndarray:
        """Flat indices of the cells that points, shape (N, 3), are in; -1 outside of the box."""
        places = np.floor((points - self.low) / self.step + 0.5).astype(np.intp)
        within = np.all((places >= 0) & (places < self.shape), axis=1)
        keys = np.ravel_multi_index(tuple(np.where(within[:, None], places, 0).T), tuple(self.shape))
        if self.kept is not None:
            within &= self.kept.reshape(-1)[keys]
        return np.where(within, keys, -1)


def link_cells(surface: Surface, step: float) -> Cells:
    """Cut a mesh into linked cells.

    Parameters
    ----------
    surface : Surface
        Of islands that are not filled, the cells that they run through are all that is solid.
    step : float
        Side of a cell; larger where the mesh would need more than `MOST_CELLS`.

    Notes
    -----
    Cells are symmetric about the plane x = 0, as characters are.
    """
    used = surface.points[np.unique(np.concatenate([surface.triangles, surface.cloth]))]
    low, high = used.min(axis=0), used.max(axis=0)
    while np.prod((high - low) / step + 5.0) > MOST_CELLS:
        step *= 1.1
    low = low - (1.5 + PHASE) * step
    low[0] = step * (np.floor(low[0] / step) - 0.5)
    return link_box(surface, Box(low, step, np.ceil((high - low) / step).astype(int) + 3))


def refine_cells(surface: Surface, cells: Cells, chosen: np.ndarray, factor: int) -> Cells:
    """Cut some of the nodes' cells, bool array of shape (N,), into `factor` cells along each side."""
    places = cells.places[chosen]
    first = places.min(axis=0) - 1
    shape = places.max(axis=0) - first + 2
    kept, inside = np.zeros(shape, bool), np.zeros(shape, bool)
    kept[tuple((places - first).T)] = True
    inside[tuple((cells.places[chosen & ~cells.is_skin] - first).T)] = True
    kept, inside = (
        np.repeat(np.repeat(np.repeat(mask, factor, axis=0), factor, axis=1), factor, axis=2) for mask in (kept, inside)
    )
    step = cells.step / factor
    low = cells.low + cells.step * (first - 0.5) + 0.5 * step
    return link_box(surface, Box(low, step, shape * factor, kept, inside))


def link_box(surface: Surface, box: Box) -> Cells:
    """Cut what of a mesh lies in a box into linked cells."""
    triangles = np.concatenate([surface.triangles, surface.cloth])
    is_closed = np.arange(len(triangles)) < len(surface.triangles)
    corners = surface.points[triangles]
    reach = box.low + box.step * (box.shape - 0.5)
    near = ((corners.max(axis=1) >= box.low - 0.5 * box.step) & (corners.min(axis=1) <= reach)).all(axis=1)
    skin = _Skin(surface, triangles[near], is_closed[near], box)
    wall = np.zeros(box.shape, bool)
    wall.reshape(-1)[skin.keys] = True
    shells, skin_shells = _find_shells(surface, skin, box)
    inside = (shells != 0) | (find_enclosed(wall) if box.inside is None else box.inside)
    inside &= ~wall if box.kept is None else ~wall & box.kept
    keys = np.concatenate([skin.keys, np.flatnonzero(inside)])
    links = _find_links(skin, keys, box)
    return Cells(
        low=box.low,
        step=box.step,
        places=np.stack(np.unravel_index(keys, box.shape), axis=1),
        neighbors=_tabulate(links, len(keys)),
        is_skin=np.arange(len(keys)) < len(skin.keys),
        vertex_nodes=np.where(skin.vertex_nodes < 0, len(keys), skin.vertex_nodes),
        shells=np.concatenate([skin_shells, shells[inside]]),
    )


def _find_shells(surface: Surface, skin: _Skin, box: Box) -> tuple[np.ndarray, np.ndarray]:
    """A number for the closed islands that hold each cell, shape (X, Y, Z), 0 for none, and each node of the skin.

    Skin belongs to its island, whichever side of it the cell's center is on.
    """
    shells, skin_shells = np.zeros(box.shape, np.int64), np.zeros(len(skin.keys), np.int64)
    places = np.stack(np.unravel_index(skin.keys, tuple(box.shape)), axis=1)
    codes = np.random.default_rng(0).integers(1, 2**40, len(surface.solid))
    owners = surface.islands[surface.triangles[:, 0]]
    order = np.argsort(owners, kind="stable")
    starts = np.searchsorted(owners[order], np.arange(len(surface.solid) + 1))
    for island in np.flatnonzero(surface.solid):
        triangles = surface.triangles[order[starts[island] : starts[island + 1]]]
        corners = (surface.points[triangles].reshape(-1, 3) - box.low) / box.step
        first = np.maximum(np.floor(corners.min(axis=0)).astype(int) - 1, 0)
        last = np.minimum(np.ceil(corners.max(axis=0)).astype(int) + 2, box.shape)
        if (first >= last).any():
            continue
        one = replace(surface, triangles=triangles)
        inside = vote_inside(one, box.low + box.step * first, box.step, last - first)
        part = tuple(slice(start, end) for start, end in zip(first, last, strict=True))
        shells[part] += np.where(inside, codes[island], 0)
        near = np.flatnonzero(((places >= first) & (places < last)).all(axis=1))
        skin_shells[near[inside[tuple((places[near] - first).T)]]] += codes[island]
        outer = skin.nodes_of(island)
        outer_places = places[outer] - first
        skin_shells[outer[~inside[tuple(outer_places.T)]]] += codes[island]
    return shells, skin_shells


def _find_links(skin: _Skin, keys: np.ndarray, box: Box) -> np.ndarray:
    """Pairs of nodes that are linked, and at which of `SIDES` the second is: int array, shape (E, 3)."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    strides = np.array([box.shape[1] * box.shape[2], box.shape[2], 1])
    skin_count = len(skin.keys)
    counts = np.bincount(np.searchsorted(skin.keys, skin.keys), minlength=skin_count)
    is_split = np.zeros(len(keys), bool)
    is_split[:skin_count] = counts[np.searchsorted(skin.keys, skin.keys)] > 1
    links = []
    for axis, stride in enumerate(strides):  # cells on the rim of a box are empty: none has a neighbor beyond it
        starts = np.searchsorted(ordered, ordered + stride)
        spans = np.searchsorted(ordered, ordered + stride, side="right") - starts
        which = np.repeat(np.arange(len(keys)), spans)
        rank = np.arange(len(which)) - np.repeat(np.cumsum(spans) - spans, spans)
        first, second = order[which], order[starts[which] + rank]
        kept = np.ones(len(first), bool)
        both = np.flatnonzero((first < skin_count) & (second < skin_count))
        apart = both[skin.is_apart(first[both], second[both])]
        kept[apart[~skin.share_edges(first[apart], second[apart])]] = False
        for one, other in ((first, second), (second, first)):
            mixed = np.flatnonzero(is_split[one] & (other >= skin_count))
            places = box.low + box.step * np.stack(np.unravel_index(keys[other[mixed]], box.shape), axis=1)
            outer = np.einsum("ni,ni->n", places - skin.points[one[mixed]], skin.normals[one[mixed]]) > 0
            kept[mixed[outer]] = False
        ends = np.stack([first, second, np.full(len(first), 2 * axis)], axis=1)[kept]
        links += [ends, ends[:, [1, 0, 2]] + (0, 0, 1)]
    return np.concatenate(links)


def _tabulate(links: np.ndarray, count: int) -> np.ndarray:
    """Links as a table, int array, shape (N, K): one at each side, and in more columns what else is there."""
    links = links[np.lexsort((links[:, 1], links[:, 2], links[:, 0]))]
    slot = links[:, 0] * len(SIDES) + links[:, 2]
    is_first = np.append(True, slot[1:] != slot[:-1])[: len(links)]
    more = links[~is_first]
    rank = np.arange(len(more)) - np.searchsorted(more[:, 0], more[:, 0])
    table = np.full((count, len(SIDES) + int(rank.max(initial=-1)) + 1), count)
    table[links[is_first, 0], links[is_first, 2]] = links[is_first, 1]
    table[more[:, 0], len(SIDES) + rank] = more[:, 1]
    return table


class _Skin:
    """The nodes that the skin runs through, ordered by their cells.

    Attributes
    ----------
    keys : int array, shape (N,)
        Flat indices of the cells; one comes again for each sheet of skin in it.
    points, normals : float64 arrays, shape (N, 3)
        Means of the skin in each.
    vertex_nodes : int array, shape (V,)
        The node of each vertex, -1 for one that no triangle has.
    """

    def __init__(self, surface: Surface, triangles: np.ndarray, is_closed: np.ndarray, box: Box) -> None:
        samples = sample_triangles(surface.points, triangles, box.step / SAMPLES)
        count = max(1, len(triangles))
        cells = box.find_keys(samples.points)
        places, owners = samples.points[cells >= 0], samples.triangles[cells >= 0]
        pairs, pair_of = np.unique(cells[cells >= 0] * count + owners, return_inverse=True)
        pair_of = pair_of.reshape(-1)
        self._pair_triangles = pairs % count
        self._edges = _number_edges(surface.welded[triangles])
        self._islands = surface.islands[triangles[:, 0]]
        self._node_islands: np.ndarray | None = None
        self._closed_islands = np.where(surface.solid[self._islands], self._islands, -1)
        normals = area_vectors(surface.points, triangles)
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
        normals[~is_closed] = 0.0  # cloth has no inner side
        self._counts = np.bincount(pair_of).astype(float)
        self._sums = np.stack([np.bincount(pair_of, places[:, axis]) for axis in range(3)], axis=1)
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
        self.islands = np.full(len(keys), -1)
        self.islands[pair_node] = self._closed_islands[self._pair_triangles]
        total = np.bincount(pair_node, self._counts)[:, None]
        self.points, self.normals = (
            np.stack([np.bincount(pair_node, values[:, axis]) for axis in range(3)], axis=1) / total
            for values in (self._sums, self._normals)
        )

    def _split(self) -> None:
        """Make a node of each sheet where a cell's normals do not agree; sheets with no air between them stay one."""
        mixed = np.flatnonzero(np.linalg.norm(self.normals, axis=1)[self._pair_node] < AGREE)
        edges = self._edges[self._pair_triangles[mixed]]
        keys, place = np.unique(
            self._pair_node[mixed, None] * (int(self._edges.max(initial=0)) + 1) + edges, return_inverse=True
        )
        links = np.stack([np.repeat(np.arange(len(mixed)), 3), len(mixed) + place.reshape(-1)], axis=1)
        sheets = np.zeros(len(self._pair_node), np.intp)
        sheets[mixed] = find_islands(links, len(mixed) + len(keys))[: len(mixed)]
        count = int(sheets.max(initial=0)) + 1
        nodes, pair_node = np.unique(self._pair_node * count + sheets, return_inverse=True)
        self._gather(self.keys[nodes // count], pair_node.reshape(-1))

        first, second = _pair_up(self.keys)
        whole = ~self.is_apart(first, second)
        joined = find_islands(np.stack([first[whole], second[whole]], axis=1), len(self.keys))
        self._gather(self.keys[np.unique(joined, return_index=True)[1]], joined[self._pair_node])
        edge_count = int(self._edges.max(initial=0)) + 1
        self._node_edges = np.sort((self._pair_node[:, None] * edge_count + self._edges[self._pair_triangles]).ravel())

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
        of_one = (self.islands[first] == self.islands[second]) & (self.islands[first] >= 0)
        return np.where(of_one, ~(opposed & (toward < 0)), opposed & (toward > 0))

    def share_edges(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Which pairs of nodes, shape (E,) each, are parts of one sheet: bool array."""
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
    """All pairs of equal ones among sorted keys."""
    _, starts, counts = np.unique(keys, return_index=True, return_counts=True)
    pairs = [
        (start + first, start + second)
        for start, count in zip(starts[counts > 1].tolist(), counts[counts > 1].tolist(), strict=True)
        for first in range(count)
        for second in range(first + 1, count)
    ]  # few cells hold more than one sheet
    found = np.array(pairs, np.intp).reshape(-1, 2)
    return found[:, 0], found[:, 1]
