"""A direct solver for the squared Laplacian of linked cells plus one of several diagonals.

Cells are cut into layers from one end to the other; layers form blocks, which are eliminated in turn.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from .products import multiply_rows

# Cells in a block, unless two layers have more
MIN_BLOCK = 64


@dataclass(frozen=True)
class BlockTridiagonalMatrix:
    """The squared Laplacian Q of the free cells of a part of a solid, in blocks.

    Q links cells at most two links apart. Cells are sorted by their links from one end of the part into layers, and at
    least two layers are a block, so that only adjacent blocks have common entries. A character is long and thin, so the
    blocks are small: 5000 cells are some 32 blocks of 150.

    Attributes
    ----------
    cells : int array, shape (N,)
        The free cells, in the order of the rows.
    starts : int array, shape (blocks + 1,)
        The first row of each block, and N.
    diagonals : tuple of float64 arrays, shape (n, n)
        Q in each block.
    links : tuple of float64 arrays, shape (n, m)
        Q between each block, n, and the one before, m.
    """

    cells: np.ndarray
    starts: np.ndarray
    diagonals: tuple[np.ndarray, ...]
    links: tuple[np.ndarray, ...]


@dataclass(frozen=True)
class BlockTridiagonalFactor:
    """A factorized matrix.

    Attributes
    ----------
    starts : int array, shape (blocks + 1,)
        As in `BlockTridiagonalMatrix`.
    inverses : tuple of float64 arrays, shape (n, n)
        Of each block, after elimination of those before.
    carries : tuple of float64 arrays, shape (n, m)
        A block's link times the inverse before.
    """

    starts: np.ndarray
    inverses: tuple[np.ndarray, ...]
    carries: tuple[np.ndarray, ...]

    def solve(self, right: np.ndarray) -> np.ndarray:
        """Solve for right-hand sides, float64, shape (N, K), rows as in `cells`: the same shape."""
        parts = np.split(right, self.starts[1:-1])
        for block in range(1, len(parts)):
            parts[block] = parts[block] - multiply_rows(self.carries[block], parts[block - 1])
        for block in range(len(parts) - 1, -1, -1):
            parts[block] = multiply_rows(self.inverses[block], parts[block])
            if block + 1 < len(parts):
                parts[block] -= multiply_rows(self.carries[block + 1].T, parts[block + 1])
        return np.concatenate(parts)


def assemble(neighbors: np.ndarray, free: np.ndarray, counted: np.ndarray | None = None) -> BlockTridiagonalMatrix:
    """Make the squared Laplacian of the free cells of a part: sums over all paths of two links from a cell.

    Parameters
    ----------
    neighbors : int array, shape (C, L)
        Linked cells, padded with C. All are connected.
    free : bool array, shape (C,)
        Unknown cells.
    counted : bool array, shape (C,), optional
        Cells whose Laplacian is in the sum: paths go through these. By default all.
    """
    end = count_links(neighbors, np.array([0])).argmax()
    blocks = _group_layers(count_links(neighbors, np.array([end])), free)
    order = np.flatnonzero(free)
    order = order[np.argsort(blocks[order], kind="stable")]
    own_blocks = blocks[order]
    starts = np.searchsorted(own_blocks, np.arange(own_blocks[-1] + 2))

    count = len(neighbors)
    steps = np.full((count + 1, neighbors.shape[1] + 1), count)
    steps[:-1, 0], steps[:-1, 1:] = np.arange(count), neighbors
    entries = np.where(steps < count, -1.0, 0.0)  # of the Laplacian
    entries[:, 0] = -entries[:, 1:].sum(axis=1)
    passed = np.append(np.ones(count, bool) if counted is None else counted, False)
    rows = np.full(count + 1, -1)
    rows[order] = np.arange(len(order))
    diagonals, links = [], []
    first = 0
    for start, end in itertools.pairwise(starts):
        cells, width = order[start:end], end - first
        near = steps[cells]
        columns = rows[steps[near]] - first
        values = (entries[cells] * passed[near])[:, :, None] * entries[near]
        inner = (columns >= 0) & (columns < width)
        flat = (np.arange(len(cells))[:, None, None] * width + columns)[inner]
        matrix = np.bincount(flat, values[inner], minlength=len(cells) * width).reshape(len(cells), width)
        links.append(matrix[:, : start - first])
        diagonals.append(matrix[:, start - first :])
        first = start
    return BlockTridiagonalMatrix(order, starts, tuple(diagonals), tuple(links))


def factorize(matrix: BlockTridiagonalMatrix, diagonal: np.ndarray) -> BlockTridiagonalFactor:
    """Factorize a matrix of blocks with a diagonal, float64, shape (N,), added to it: Q + diag(diagonal)."""
    inverses, carries = [], []
    inverse = np.empty((0, 0))
    for start, block, link in zip(matrix.starts, matrix.diagonals, matrix.links, strict=False):
        carry = multiply_rows(link, inverse)
        own = block - multiply_rows(carry, link.T)
        own[np.diag_indices(len(own))] += diagonal[start : start + len(own)]
        inverse = np.linalg.inv(own)
        inverses.append(inverse)
        carries.append(carry)
    return BlockTridiagonalFactor(matrix.starts, tuple(inverses), tuple(carries))


def _group_layers(layers: np.ndarray, free: np.ndarray) -> np.ndarray:
    """The block of each cell, shape (C,): at least two layers, with at least `MIN_BLOCK` free cells."""
    blocks = np.zeros(layers.max() + 1, np.intp)
    block = count = first = 0
    for layer, size in enumerate(np.bincount(layers[free], minlength=len(blocks))):
        if layer - first >= 2 and count >= MIN_BLOCK:
            block, count, first = block + 1, 0, layer
        blocks[layer] = block
        count += size
    return blocks[layers]


def count_links(neighbors: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Smallest number of links from `starts`, shape (M,), to each cell of `neighbors`, (C, L): int array, (C,)."""
    links = np.full(len(neighbors) + 1, -1)
    links[-1] = 0
    step = 0
    while len(starts):
        links[starts] = step
        step += 1
        near = neighbors[starts].ravel()
        starts = np.unique(near[links[near] < 0])
    return links[:-1]
