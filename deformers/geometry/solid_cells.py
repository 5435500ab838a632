"""A solid as linked cells, in which sheets of skin that face each other through the air stay apart.

Nodes are cells that the skin runs through and cells inside; adjacent cells are linked. If two fingers are closer than a
cell is wide, one cell contains skin of both: it becomes two nodes, which are not linked to each other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations

import numpy as np

from .neighbors import find_nearest
from .solid import GRID_OFFSET, MAX_CELLS, Surface, find_islands, vote_inside
from .solid_skin import Box, SkinNodes
from .vectors import list_ranges

READ_CHUNK = 4096

# Offsets to the adjacent cells.
SIDES = np.array([(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)])


@dataclass(frozen=True)
class Cells:
    """A solid as linked cells.

    Attributes
    ----------
    low : float64 array, shape (3,)
        Center of the cell (0, 0, 0).
    step : float
        Side of a cell.
    indices : int array, shape (N, 3)
        Of each node's cell, along the axes. Several nodes may be in one cell.
    neighbors : int array, shape (N, K)
        Linked nodes, K at least 6, padded with N. The first 6 are one at each of `SIDES`.
    is_skin : bool array, shape (N,)
        Whether the surface runs through the node's cell.
    vertex_nodes : int array, shape (V,)
        The node of each vertex; N without triangles.
    shells : int array, shape (N,)
        Equal for nodes in the same closed islands: between different numbers there is skin.
    """

    low: np.ndarray
    step: float
    indices: np.ndarray
    neighbors: np.ndarray
    is_skin: np.ndarray
    vertex_nodes: np.ndarray
    shells: np.ndarray

    @property
    def count(self) -> int:
        """Number of nodes."""
        return len(self.indices)

    @property
    def centers(self) -> np.ndarray:
        """Centers of the nodes' cells, shape (N, 3)."""
        return self.low + self.step * self.indices

    @property
    def keys(self) -> np.ndarray:
        """A number for each node's cell, shape (N,)."""
        return _number_cells(self.indices)

    @cached_property
    def parts(self) -> np.ndarray:
        """A number for each part that no skin of a closed island divides, int array, shape (N,).

        Shells also differ at the end of an open island, such as tights at the waist. No skin goes through the flesh
        there, so deep inside all links count.
        """
        shells, is_skin = np.append(self.shells, -1), np.append(self.is_skin, True)
        deep = ~(is_skin[self.neighbors] | self.is_skin[:, None])
        is_open = (self.neighbors < self.count) & (deep | (shells[self.neighbors] == self.shells[:, None]))
        is_open[:, 1 : len(SIDES) : 2] = False  # each link is at both of its ends: once is enough
        nodes, columns = np.nonzero(is_open)
        return find_islands(np.stack([nodes, self.neighbors[nodes, columns]], axis=1), self.count)

    @property
    def open_links(self) -> np.ndarray:
        """Whether each of `neighbors` is in the same part, bool array, shape (N, K)."""
        return np.append(self.parts, -1)[self.neighbors] == self.parts[:, None]

    def find_nodes(self, points: np.ndarray, order: np.ndarray | None = None) -> np.ndarray:
        """The node of the cell of each point, shape (N, 3); `count` for none.

        `order` sorts `keys`, if it is known.
        """
        keys = self.keys
        order = np.argsort(keys, kind="stable") if order is None else order
        sought = _number_cells(np.floor((points - self.low) / self.step + 0.5).astype(np.intp))
        found = order[np.minimum(np.searchsorted(keys, sought, sorter=order), self.count - 1)]
        return np.where(keys[found] == sought, found, self.count)

    def read(self, values: np.ndarray, points: np.ndarray, nodes: np.ndarray | None = None) -> np.ndarray:
        """Interpolate values of nodes, shape (N, C), between the centers of their cells.

        Parameters
        ----------
        values : float32 array, shape (N, C)
        points : float64 array, shape (P, 3)
        nodes : int array, shape (P,), optional
            The node of each point; by default those of the vertices. Values are read along links from there, not across
            the air between two sheets.

        Returns
        -------
        float32 array, shape (P, C)
            0 for points without a node.
        """
        nodes = self.vertex_nodes if nodes is None else nodes
        table = np.concatenate([self.neighbors[:, : len(SIDES)], np.full((1, len(SIDES)), self.count)])
        offsets = (points - self.low) / self.step - np.append(self.indices, [[0, 0, 0]], axis=0)[nodes]
        sides = np.where(offsets >= 0, 0, 1) + 2 * np.arange(3)
        near = np.abs(np.clip(offsets, -1.0, 1.0)).astype(np.float32)
        found, shares = np.empty((8, len(points)), np.intp), np.empty((8, len(points)), np.float32)
        for number, corner in enumerate(np.ndindex(2, 2, 2)):
            found[number] = _walk(table, nodes, sides, np.flatnonzero(corner))
            shares[number] = np.prod(np.where(corner, near, 1.0 - near), axis=1)
        shares[found == self.count] = 0.0
        shares /= np.maximum(shares.sum(axis=0), 1e-12)
        found[found == self.count] = 0
        result = np.zeros((len(points), values.shape[1]), np.float32)
        order = np.argsort(nodes, kind="stable")
        for start in range(0, len(points), READ_CHUNK):
            rows = order[start : start + READ_CHUNK]
            which, local_nodes = np.unique(found[:, rows], return_inverse=True)
            used = np.flatnonzero((values[which] != 0).any(axis=0))  # few bones influence points that lie together
            local = values[np.ix_(which, used)]
            local_nodes = local_nodes.reshape(8, -1)
            total = shares[0, rows, None] * local[local_nodes[0]]
            for number in range(1, 8):
                total += shares[number, rows, None] * local[local_nodes[number]]
            result[np.ix_(rows, used)] = total
        return result

    def interpolate(self, values: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Interpolate values of nodes, float32, shape (N, C), at any points, shape (P, 3): (P, C).

        Points without a node take the values of the nearest node.
        """
        nodes = self.find_nodes(points)
        lost = np.flatnonzero(nodes == self.count)
        if lost.size:
            nodes[lost] = find_nearest(points[lost], self.centers, 1)[0][:, 0]
        return self.read(values, points, nodes)


def _number_cells(indices: np.ndarray) -> np.ndarray:
    """A number for each cell, shape (N,), by its indices, shape (N, 3)."""
    return ((indices[:, 0] + 2**20) << 42) | ((indices[:, 1] + 2**20) << 21) | (indices[:, 2] + 2**20)


def _walk(table: np.ndarray, nodes: np.ndarray, sides: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """The node at the end of a step along each of some axes from each node, in any order that links allow."""
    end = len(table) - 1
    reached = np.full(len(nodes), end)
    for order in permutations(axes.tolist()):
        at = nodes
        for axis in order:
            at = table[at, sides[:, axis]]
        reached = np.where(reached == end, at, reached)
    return reached


def find_enclosed(wall: np.ndarray) -> np.ndarray:
    """Cells that a flood from the grid's rim does not reach, without the walls: bool array, shape (X, Y, Z)."""
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


def link_cells(surface: Surface, step: float) -> Cells:
    """Cut a mesh into linked cells.

    Parameters
    ----------
    surface : Surface
        Of islands that are not filled, only the cells that they run through are solid.
    step : float
        Side of a cell; larger if the mesh would need more than `MAX_CELLS`.

    Notes
    -----
    Cells are symmetric about the plane x = 0, as characters are.
    """
    used = surface.points[np.unique(np.concatenate([surface.triangles, surface.cloth]))]
    low, high = used.min(axis=0), used.max(axis=0)
    while np.prod((high - low) / step + 5.0) > MAX_CELLS:
        step *= 1.1
    low = low - (1.5 + GRID_OFFSET) * step
    low[0] = step * (np.floor(low[0] / step) - 0.5)
    return link_box(surface, Box(low, step, np.ceil((high - low) / step).astype(int) + 3))


def join_cells(cells: Cells, factor: int) -> Cells:
    """Join `factor` cells along each side into a coarser one, with all their sheets."""
    keys, node = np.unique(_number_cells(cells.indices // factor), return_inverse=True)
    node = np.append(node.reshape(-1), len(keys))
    first = np.unique(node[:-1], return_index=True)[1]
    links = [
        np.stack([node[:-1], node[cells.neighbors[:, side]], np.full(cells.count, side)], axis=1)
        for side in range(len(SIDES))
    ]
    pairs = np.unique(np.concatenate(links), axis=0)
    is_skin = np.zeros(len(keys), bool)
    is_skin[node[:-1][cells.is_skin]] = True
    return Cells(
        low=cells.low + 0.5 * (factor - 1) * cells.step,
        step=cells.step * factor,
        indices=cells.indices[first] // factor,
        neighbors=_tabulate(pairs[(pairs[:, 0] != pairs[:, 1]) & (pairs[:, 1] < len(keys))], len(keys)),
        is_skin=is_skin,
        vertex_nodes=node[cells.vertex_nodes],
        shells=cells.shells[first],
    )


def refine_cells(surface: Surface, cells: Cells, chosen: np.ndarray, factor: int) -> Cells:
    """Cut some of the cells of a solid into finer cells.

    Parameters
    ----------
    chosen : bool array, shape (N,)
        Nodes to refine.
    factor : int
        Finer cells along each side.
    """
    indices = cells.indices[chosen]
    first = indices.min(axis=0) - 1
    shape = indices.max(axis=0) - first + 2
    kept, inside = np.zeros(shape, bool), np.zeros(shape, bool)
    kept[tuple((indices - first).T)] = True
    inside[tuple((cells.indices[chosen & ~cells.is_skin] - first).T)] = True
    kept, inside = (
        np.repeat(np.repeat(np.repeat(mask, factor, axis=0), factor, axis=1), factor, axis=2) for mask in (kept, inside)
    )
    step = cells.step / factor
    low = cells.low + cells.step * (first - 0.5) + 0.5 * step
    return link_box(surface, Box(low, step, shape * factor, kept, inside))


def link_box(surface: Surface, box: Box) -> Cells:
    """Cut the part of a mesh in a box into linked cells."""
    triangles = np.concatenate([surface.triangles, surface.cloth])
    is_closed = np.arange(len(triangles)) < len(surface.triangles)
    near = box.find_overlaps(surface.points, triangles) == 3
    skin = SkinNodes(surface, triangles[near], is_closed[near], box)
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
        indices=np.stack(np.unravel_index(keys, box.shape), axis=1),
        neighbors=_tabulate(links, len(keys)),
        is_skin=np.arange(len(keys)) < len(skin.keys),
        vertex_nodes=np.where(skin.vertex_nodes < 0, len(keys), skin.vertex_nodes),
        shells=np.concatenate([skin_shells, shells[inside]]),
    )


def _find_shells(surface: Surface, skin: SkinNodes, box: Box) -> tuple[np.ndarray, np.ndarray]:
    """A number for the closed islands around each cell, shape (X, Y, Z), 0 for none, and around each node of the skin.

    Skin belongs to its island, even if the center of its cell is outside.
    """
    shells, skin_shells = np.zeros(box.shape, np.int64), np.zeros(len(skin.keys), np.int64)
    indices = np.stack(np.unravel_index(skin.keys, tuple(box.shape)), axis=1)
    # A sum of codes names a set of islands: two sets have the same sum with a chance of about 2^-40.
    codes = np.random.default_rng(0).integers(1, 2**40, len(surface.solid))
    owners = surface.islands[surface.triangles[:, 0]]
    order = np.argsort(owners, kind="stable")
    starts = np.searchsorted(owners[order], np.arange(len(surface.solid) + 1))
    for island in np.flatnonzero(surface.solid):
        triangles = surface.triangles[order[starts[island] : starts[island + 1]]]
        triangles = triangles[box.find_overlaps(surface.points, triangles) >= 2]  # others meet no ray along an axis
        if not len(triangles):
            continue
        corners = (surface.points[triangles].reshape(-1, 3) - box.low) / box.step
        first = np.maximum(np.floor(corners.min(axis=0)).astype(int) - 1, 0)
        last = np.minimum(np.ceil(corners.max(axis=0)).astype(int) + 2, box.shape)
        if (first >= last).any():
            continue
        inside = vote_inside(replace(surface, triangles=triangles), box.low + box.step * first, box.step, last - first)
        part = tuple(slice(start, end) for start, end in zip(first, last, strict=True))
        shells[part] += np.where(inside, codes[island], 0)
        near = np.flatnonzero(((indices >= first) & (indices < last)).all(axis=1))
        skin_shells[near[inside[tuple((indices[near] - first).T)]]] += codes[island]
        outer = skin.nodes_of(island)
        outer_indices = indices[outer] - first
        skin_shells[outer[~inside[tuple(outer_indices.T)]]] += codes[island]
    return shells, skin_shells


def _find_links(skin: SkinNodes, keys: np.ndarray, box: Box) -> np.ndarray:
    """Pairs of linked nodes, and at which of `SIDES` the second is: int array, shape (E, 3)."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    strides = np.array([box.shape[1] * box.shape[2], box.shape[2], 1])
    skin_count = len(skin.keys)
    _, cell, counts = np.unique(keys, return_inverse=True, return_counts=True)
    is_split = counts[cell.reshape(-1)] > 1
    links = []
    for axis, stride in enumerate(strides):  # cells on the rim of a box are empty: none has a neighbor beyond it
        starts = np.searchsorted(ordered, ordered + stride)
        spans = np.searchsorted(ordered, ordered + stride, side="right") - starts
        which, found = list_ranges(starts, spans)
        first, second = order[which], order[found]
        kept = np.ones(len(first), bool)
        both = np.flatnonzero((first < skin_count) & (second < skin_count))
        apart = both[skin.is_apart(first[both], second[both])]
        kept[apart[~skin.share_edges(first[apart], second[apart])]] = False
        for node, other in ((first, second), (second, first)):
            mixed = np.flatnonzero(is_split[node] & (other >= skin_count))
            centers = box.low + box.step * np.stack(np.unravel_index(keys[other[mixed]], box.shape), axis=1)
            outer = np.einsum("ni,ni->n", centers - skin.points[node[mixed]], skin.normals[node[mixed]]) > 0
            kept[mixed[outer]] = False
        ends = np.stack([first, second, np.full(len(first), 2 * axis)], axis=1)[kept]
        links += [ends, ends[:, [1, 0, 2]] + (0, 0, 1)]
    return np.concatenate(links)


def _tabulate(links: np.ndarray, count: int) -> np.ndarray:
    """Links as a table, int array, shape (N, K): one at each side, and others in more columns."""
    links = links[np.lexsort((links[:, 1], links[:, 2], links[:, 0]))]
    slot = links[:, 0] * len(SIDES) + links[:, 2]
    is_first = np.append(True, slot[1:] != slot[:-1])[: len(links)]
    more = links[~is_first]
    rank = np.arange(len(more)) - np.searchsorted(more[:, 0], more[:, 0])
    table = np.full((count, len(SIDES) + int(rank.max(initial=-1)) + 1), count)
    table[links[is_first, 0], links[is_first, 2]] = links[is_first, 1]
    table[more[:, 0], len(SIDES) + rank] = more[:, 1]
    return table
