"""Blocks of vertices that follow few joints each, and runs of blocks whose rows are computed together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..rig.rest import Weights
from .stages import LANES, WRAP, empty_rows

# Smaller blocks would pay for calls.
MIN_BLOCK_SIZE = 512

# Vertices whose rows are computed together: fewer would pay for calls, more would leave the cache.
RUN_SIZE = 8192

NO_SLOT = 255


@dataclass(frozen=True)
class Block:
    """Vertices that follow similar joints.

    Attributes
    ----------
    start, end : int
        The vertices, in the order of the blocks. The last block is padded to a multiple of `LANES`, without weights.
    entries : slice
        Its joints within those of all blocks.
    weights : float32 array, shape (b, n)
        Dense; each column sums to 1.
    slots : uint8 array, shape (b, n)
        Index of a joint among those of a vertex, `NO_SLOT` without weight.
    """

    start: int
    end: int
    entries: slice
    weights: np.ndarray
    slots: np.ndarray


def sort_vertices(
    weights: Weights, vertex_count: int, joint_count: int
) -> tuple[tuple[Block, ...], np.ndarray, np.ndarray]:
    """Sort vertices by their strongest joint and cut them into blocks.

    Parameters
    ----------
    weights : Weights
        Normalized.
    vertex_count, joint_count : int
        The joint beyond the last stays at rest.

    Returns
    -------
    blocks : tuple of Block
    block_joints : int array
        The joints of each block, one block after the other.
    ranks : int array, shape (V,)
        Index of each vertex in the order of the blocks.
    """
    order = np.argsort(_strongest_joints(weights, vertex_count), kind="stable")
    ranks = np.empty(vertex_count, np.intp)
    ranks[order] = np.arange(vertex_count)
    # Of a large mesh. Fewer blocks would follow more joints each: more zeros in their dense weights, and more
    # vertices that move with one bone.
    block_count = 64
    size = min(max(MIN_BLOCK_SIZE, round_up(vertex_count // block_count)), RUN_SIZE)
    return *_make_blocks(weights, ranks, size, joint_count), ranks


def round_up(count: int) -> int:
    """The next multiple of `LANES`."""
    return -(-count // LANES) * LANES


def wrap_points(points: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Points, shape (V, 3), in the layout of a binding."""
    rows = empty_rows(5, round_up(len(points)))
    rows[:, len(points) :] = 0.0
    rows[:, ranks] = points.T[WRAP]
    return rows[:, None]


def sort_values(values: np.ndarray | None, ranks: np.ndarray, neutral: float) -> np.ndarray | None:
    """Sort values of vertices into the order of the blocks.

    Parameters
    ----------
    values : float array, shape (V,), or None
    ranks : int array, shape (V,)
    neutral : float
        Value of the padding.

    Returns
    -------
    float32 array, shape (W,), or None
        None if all are neutral.
    """
    if values is None or (values == neutral).all():
        return None
    row = empty_rows(1, round_up(len(values)))[0]
    row[len(values) :] = neutral
    row[ranks] = values
    return row


def _strongest_joints(weights: Weights, vertex_count: int) -> np.ndarray:
    starts = np.flatnonzero(np.diff(weights.vertices, prepend=-1))
    best = np.zeros(vertex_count)
    best[weights.vertices[starts]] = np.maximum.reduceat(weights.values, starts) if len(starts) else 0.0
    strongest = np.zeros(vertex_count, np.min_scalar_type(int(weights.joints.max(initial=0))))
    leading = weights.values == best[weights.vertices]
    strongest[weights.vertices[leading]] = weights.joints[leading]
    return strongest


def _make_blocks(
    weights: Weights, ranks: np.ndarray, size: int, joint_count: int
) -> tuple[tuple[Block, ...], np.ndarray]:
    """Blocks of `size` vertices in the order of their ranks, and their joints, one block after the other."""
    rows, slots = ranks[weights.vertices], _find_slots(weights.vertices)
    count = -(-len(ranks) // size)
    by_block = np.argsort((rows // size).astype(np.min_scalar_type(count)), kind="stable")
    bounds = np.searchsorted(rows[by_block] // size, np.arange(count + 1))
    blocks, block_joints, known = [], [np.empty(0, np.intp)], 0
    for index in range(count):
        entries = by_block[bounds[index] : bounds[index + 1]]
        start, end = index * size, min((index + 1) * size, round_up(len(ranks)))
        joints = np.flatnonzero(np.bincount(weights.joints[entries], minlength=joint_count + 1))
        local = np.empty(joint_count + 1, np.intp)
        local[joints] = np.arange(len(joints))
        flat = local[weights.joints[entries]] * (end - start) + rows[entries] - start
        dense = np.bincount(flat, weights.values[entries], minlength=len(joints) * (end - start))
        dense = dense.astype(np.float32).reshape(len(joints), end - start)
        places = np.full(dense.size, NO_SLOT, np.uint8)
        places[flat] = slots[entries]
        blocks.append(Block(start, end, slice(known, known + len(joints)), dense, places.reshape(dense.shape)))
        block_joints.append(joints)
        known += len(joints)
    return tuple(blocks), np.concatenate(block_joints)


def _find_slots(vertices: np.ndarray) -> np.ndarray:
    """Index of each entry among those of its vertex, at most `NO_SLOT` - 1, shape (N,)."""
    order = np.argsort(vertices, kind="stable")
    ordered = vertices[order]
    slots = np.empty(len(vertices), np.intp)
    slots[order] = np.arange(len(vertices)) - np.searchsorted(ordered, ordered)
    return np.minimum(slots, NO_SLOT - 1)


def find_runs(blocks: tuple[Block, ...], changed: np.ndarray) -> Iterator[list[Block]]:
    """Yield runs of consecutive changed blocks, by a bool for each (blocks,), of up to `RUN_SIZE` vertices."""
    run: list[Block] = []
    for block, is_changed in zip(blocks, changed.tolist(), strict=True):
        if run and not (is_changed and block.end - run[0].start <= RUN_SIZE):
            yield run
            run = []
        if is_changed:
            run.append(block)
    if run:
        yield run
