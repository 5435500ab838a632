"""A direct solver for the squared Laplacian of a part of a solid: layer by layer, from one end to the other."""

from __future__ import annotations

import itertools

import numpy as np

from .products import multiply_rows

LEAST_BLOCK = 64
"""Cells in a block of the solver, unless two layers hold more."""


class LayeredSolver:
    """Solves (Q + diagonal) x = b for the free cells of a part, where Q is the squared Laplacian.

    Q links cells at most two links apart. Cells are sorted by their links from one end of the part into layers, and at
    least two layers are a block: blocks have entries in common with the next ones alone, and are eliminated in turn.
    A body is long and thin, so the blocks are small: 5000 cells are some 32 blocks of 150.

    Attributes
    ----------
    cells : int array, shape (F,)
        The free cells in the order of the solver's rows.
    """

    def __init__(self, neighbors: np.ndarray, free: np.ndarray) -> None:
        one_end = count_links(neighbors, np.array([0])).argmax()
        blocks = _group_layers(count_links(neighbors, np.array([one_end])), free)
        cells = np.flatnonzero(free)
        self.cells = cells[np.argsort(blocks[cells], kind="stable")]
        own = blocks[self.cells]
        self._starts = np.searchsorted(own, np.arange(own[-1] + 2))
        self._diagonals, self._links = self._assemble(neighbors)

    def _assemble(self, neighbors: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """The blocks of Q, and those to the block before: sums over all ways of two steps from a cell."""
        count, starts = len(neighbors), self._starts
        steps = np.full((count + 1, neighbors.shape[1] + 1), count)
        steps[:-1, 0], steps[:-1, 1:] = np.arange(count), neighbors
        entries = np.where(steps < count, -1.0, 0.0)  # of the Laplacian
        entries[:, 0] = -entries[:, 1:].sum(axis=1)
        places = np.full(count + 1, -1)
        places[self.cells] = np.arange(len(self.cells))
        diagonals, links = [], []
        first = 0
        for start, end in itertools.pairwise(starts):
            cells, width = self.cells[start:end], end - first
            near = steps[cells]
            columns = places[steps[near]] - first
            values = entries[cells][:, :, None] * entries[near]
            inner = (columns >= 0) & (columns < width)
            flat = (np.arange(len(cells))[:, None, None] * width + columns)[inner]
            matrix = np.bincount(flat, values[inner], minlength=len(cells) * width).reshape(len(cells), width)
            links.append(matrix[:, : start - first])
            diagonals.append(matrix[:, start - first :])
            first = start
        return diagonals, links

    def factor(self, diagonal: np.ndarray) -> None:
        """Make it ready to solve with this diagonal, shape (F,), added to Q."""
        self._inverses, self._reaches = [], []
        inverse = np.empty((0, 0))
        for start, block, link in zip(self._starts, self._diagonals, self._links, strict=False):
            reach = multiply_rows(link, inverse)
            own = block - multiply_rows(reach, link.T)
            own[np.diag_indices(len(own))] += diagonal[start : start + len(own)]
            inverse = np.linalg.inv(own)
            self._inverses.append(inverse)
            self._reaches.append(reach)

    def solve(self, right: np.ndarray) -> np.ndarray:
        """The solution for right-hand sides, shape (F, B)."""
        parts = np.split(right, self._starts[1:-1])
        for block in range(1, len(parts)):
            parts[block] = parts[block] - multiply_rows(self._reaches[block], parts[block - 1])
        for block in range(len(parts) - 1, -1, -1):
            parts[block] = multiply_rows(self._inverses[block], parts[block])
            if block + 1 < len(parts):
                parts[block] -= multiply_rows(self._reaches[block + 1].T, parts[block + 1])
        return np.concatenate(parts)


def _group_layers(layers: np.ndarray, free: np.ndarray) -> np.ndarray:
    """The block that each cell is in, shape (N,): two layers or more, with at least `LEAST_BLOCK` free cells."""
    blocks = np.zeros(layers.max() + 1, np.intp)
    block = count = first = 0
    for layer, size in enumerate(np.bincount(layers[free], minlength=len(blocks))):
        if layer - first >= 2 and count >= LEAST_BLOCK:
            block, count, first = block + 1, 0, layer
        blocks[layer] = block
        count += size
    return blocks[layers]


def count_links(neighbors: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The least number of links from any of `starts` to each cell: int array, shape (N,)."""
    links = np.full(len(neighbors) + 1, -1)
    links[-1] = 0
    step = 0
    while len(starts):
        links[starts] = step
        step += 1
        near = neighbors[starts].ravel()
        starts = np.unique(near[links[near] < 0])
    return links[:-1]
