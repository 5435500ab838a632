"""The blend of joints over vertices, which SSD, DLB and DLBNT share: dense products of blocks, and rows of vertices.

Every such method is a row of *stages*. A stage gives each joint 12 coefficients; their weighted sums over a vertex's
joints are, for a linear stage, the entries of the vertex's affine transform (eq 1), for a rigid stage the vertex's
dual quaternion (eq 8).

As the signs of the dual quaternions belong to the joints, both sums are one matrix product, weights (V, B) times
coefficients (B, 10 to 34). The vertices are sorted by their strongest joint and cut into blocks: few joints
influence a block, so a small dense product does it. The arithmetic per vertex then goes over the whole rows of several
blocks, while they are in the cache.

A binding holds its latest result. Blocks whose joints have the coefficients that they had then are not computed again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..algebra.products import multiply_columns
from ..rig.rest import Joints, Pose, Rest, Weights, normalize_weights
from .stages import (
    IDENTITY_COEFFICIENTS,
    LANES,
    WRAP,
    Scratch,
    Stage,
    apply_affine,
    empty_rows,
    linear_stage,
    run_stages,
)

BLOCK_SIZE = 512
"""Vertices in a block, at least: smaller ones pay for calls."""

BLOCKS = 64
"""Blocks of a large mesh: fewer follow more joints each, so that more of their dense weights are zero, and a bone that
moves takes more vertices along."""

RUN_SIZE = 8192
"""Vertices whose rows are computed together: fewer pay for calls, more leave the cache."""

SCRATCH_ROWS = 36 + 57 + 32 + 32
"""Rows that the longest run takes: sums of three stages, one rigid and two linear ones on four columns."""

IDENTITY_COLUMNS = np.eye(3, 4, dtype=np.float32)[WRAP][:, :, None]

EMPTY = np.empty(0, np.float32)


@dataclass(frozen=True)
class Block:
    """Vertices that follow much the same joints.

    Attributes
    ----------
    start, end : int
        The vertices, in the order of the blocks. The last block ends with vertices that are none, without weights, so
        that each has a multiple of `LANES`.
    entries : slice
        Its joints within `Binding.block_joints`.
    weights : float32 array, shape (b, n)
        Dense; each column sums to 1.
    """

    start: int
    end: int
    entries: slice
    weights: np.ndarray


@dataclass
class Latest:
    """The latest result of a binding, and all that it follows from besides the binding.

    Attributes
    ----------
    kind : tuple
        Which stages, in which space, for points or for transforms.
    coefficients : float32 array, shape (B + 1, rows)
    rows : float32 array, shape (3, C, V)
        Posed points (C = 1) or the columns of the transforms (C = 4), in the order of the blocks.
    result : float32 array
        The same in the order of the vertices, read-only.
    """

    kind: tuple = ()
    coefficients: np.ndarray = field(default_factory=lambda: EMPTY)
    rows: np.ndarray = field(default_factory=lambda: EMPTY)
    result: np.ndarray = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True)
class Binding:
    """What SSD, DLB and DLBNT keep from a character at rest; one thread at a time may use it.

    The vertices are in the order of the blocks, W of them with those that fill up the last block.

    Attributes
    ----------
    params : the method's Params
    joints : Joints
    blocks : tuple of Block
    block_joints : int array
        The joints of each block, one block after the other; B stands for rest.
    block_starts : int array
        Where each block's joints begin.
    ranks : int array, shape (V,)
        Index of each vertex in this order.
    points : float32 array, shape (5, 1, W)
        Rest positions, wrapped, object space.
    linear, strength : float32 arrays, shape (W,), or None
        As in `Rest`; None where it is 0, or 1, for all vertices.
    scratch : float32 array
        Memory that every call overwrites.
    latest : Latest
    """

    params: Any
    joints: Joints
    blocks: tuple[Block, ...]
    block_joints: np.ndarray
    block_starts: np.ndarray
    ranks: np.ndarray
    points: np.ndarray
    linear: np.ndarray | None
    strength: np.ndarray | None
    scratch: np.ndarray
    latest: Latest = field(default_factory=Latest, repr=False, compare=False)


def bind(rest: Rest, params: Any) -> Binding:
    """Sort the vertices into blocks.

    Parameters
    ----------
    rest : Rest
    params : the method's Params
        Kept for `deform`.

    Raises
    ------
    SkinningError
        Where the joints are parented in a circle.
    """
    vertex_count, joint_count = len(rest.points), len(rest.joints.parents)
    rest.joints.chains  # noqa: B018  refuses circles
    weights = normalize_weights(rest.weights, vertex_count, joint_count)
    strongest = _strongest_joints(weights, vertex_count)
    order = np.argsort(strongest, kind="stable")
    ranks = np.empty(vertex_count, np.intp)
    ranks[order] = np.arange(vertex_count)
    size = min(max(BLOCK_SIZE, _round_up(vertex_count // BLOCKS)), RUN_SIZE)
    blocks, block_joints = _make_blocks(weights, ranks, size, joint_count)
    return Binding(
        params=params,
        joints=rest.joints,
        blocks=blocks,
        block_joints=block_joints,
        block_starts=np.array([block.entries.start for block in blocks], np.intp),
        ranks=ranks,
        points=_wrap_points(rest.points, ranks),
        linear=_sort_values(rest.linear, ranks, 0.0),
        strength=_sort_values(rest.strength, ranks, 1.0),
        scratch=empty_rows(SCRATCH_ROWS, min(RUN_SIZE, _round_up(vertex_count))).ravel(),
    )


def _round_up(count: int) -> int:
    return -(-count // LANES) * LANES


def with_points(binding: Binding, points: np.ndarray) -> Binding:
    """The same binding for another shape of the same vertices, `points` of shape (V, 3), object space."""
    return replace(binding, points=_wrap_points(points, binding.ranks), latest=Latest())


def _wrap_points(points: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Points, shape (V, 3), as a binding keeps them."""
    rows = empty_rows(5, _round_up(len(points)))
    rows[:, len(points) :] = 0.0
    rows[:, ranks] = points.T[WRAP]
    return rows[:, None]


def _sort_values(values: np.ndarray | None, ranks: np.ndarray, neutral: float) -> np.ndarray | None:
    if values is None or (values == neutral).all():
        return None
    row = empty_rows(1, _round_up(len(values)))[0]
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
    """Blocks of `size` vertices in the order of their ranks, and the joints of one after the other."""
    rows = ranks[weights.vertices]
    count = -(-len(ranks) // size)
    by_block = np.argsort((rows // size).astype(np.min_scalar_type(count)), kind="stable")
    bounds = np.searchsorted(rows[by_block] // size, np.arange(count + 1))
    blocks, block_joints, known = [], [np.empty(0, np.intp)], 0
    for index in range(count):
        entries = by_block[bounds[index] : bounds[index + 1]]
        start, end = index * size, min((index + 1) * size, _round_up(len(ranks)))
        joints = np.flatnonzero(np.bincount(weights.joints[entries], minlength=joint_count + 1))
        local = np.empty(joint_count + 1, np.intp)
        local[joints] = np.arange(len(joints))
        flat = local[weights.joints[entries]] * (end - start) + rows[entries] - start
        dense = np.bincount(flat, weights.values[entries], minlength=len(joints) * (end - start))
        dense = dense.astype(np.float32).reshape(len(joints), end - start)
        blocks.append(Block(start, end, slice(known, known + len(joints)), dense))
        block_joints.append(joints)
        known += len(joints)
    return tuple(blocks), np.concatenate(block_joints)


def skin_points(binding: Binding, pose: Pose, stages: list[Stage]) -> np.ndarray:
    """Posed positions of the rest points.

    Parameters
    ----------
    binding : Binding
    pose : Pose
    stages : list of Stage
        In the order in which they move the points.

    Returns
    -------
    float32 array, shape (V, 3)
        Object space, read-only. The array that the latest call has returned, where nothing has moved since.
    """
    return _skin(binding, pose, stages, transforms=False)


def skin_transforms(binding: Binding, pose: Pose, stages: list[Stage]) -> np.ndarray:
    """Where each vertex's space goes: to be applied to any incoming position of the vertex.

    Parameters
    ----------
    binding : Binding
    pose : Pose
    stages : list of Stage
        In the order in which they move the points.

    Returns
    -------
    float32 array, shape (V, 4, 4)
        Object space to object space, column vectors, read-only. Column-major in memory, as Blender keeps matrices: the
        transpose of the last two axes is contiguous. The array that the latest call has returned, where nothing has
        moved since.
    """
    return _skin(binding, pose, stages, transforms=True)


def _skin(binding: Binding, pose: Pose, stages: list[Stage], transforms: bool) -> np.ndarray:
    """What `skin_points` or `skin_transforms` returns: blocks whose joints have moved anew, the others as they were."""
    space, latest = pose.object_to_armature, binding.latest
    coefficients = _gather_coefficients(stages, None if binding.linear is None else linear_stage(pose.rest_to_pose))
    kind = (transforms, None if space is None else space.tobytes(), *(stage.rigid for stage in stages))
    changed = _find_changed(binding, kind, coefficients)
    if latest.kind == kind and not changed.any():
        return latest.result
    if latest.kind != kind:
        latest.rows = np.empty((3, 4 if transforms else 1, len(binding.ranks)), np.float32)
    latest.kind = ()  # until all of it is there
    of_blocks = coefficients[binding.block_joints]
    for run in _find_runs(binding.blocks, changed):
        posed = _skin_run(binding, run, pose, stages, of_blocks, transforms)
        rows = latest.rows[:, :, run[0].start : run[-1].end]
        rows[:] = posed[:, :, : rows.shape[2]]
    latest.result = (_sort_transforms if transforms else _sort_points)(latest.rows, binding.ranks)
    latest.result.flags.writeable = False
    latest.kind, latest.coefficients = kind, coefficients
    return latest.result


def _gather_coefficients(stages: list[Stage], mixed_in: Stage | None) -> np.ndarray:
    """Coefficients of all stages beside each other, float32, a row for each joint and one more for rest."""
    every = stages if mixed_in is None else [*stages, mixed_in]
    rest = np.concatenate([IDENTITY_COEFFICIENTS[stage.rigid] for stage in every], axis=1)
    joints = np.concatenate([stage.coefficients for stage in every], axis=1)
    return np.concatenate([joints, rest]).astype(np.float32)


def _find_changed(binding: Binding, kind: tuple, coefficients: np.ndarray) -> np.ndarray:
    """Which blocks the latest result does not hold, bool array."""
    latest = binding.latest
    if latest.kind != kind or not binding.blocks:
        return np.ones(len(binding.blocks), bool)
    moved = (coefficients != latest.coefficients).any(axis=1)
    return np.logical_or.reduceat(moved[binding.block_joints], binding.block_starts)


def _sort_points(rows: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Points in the order of the vertices, shape (V, 3).

    Row by row, in half the time that it takes to transpose them and move short rows.
    """
    result = np.empty((len(ranks), 3), np.float32)
    for axis in range(3):
        result[:, axis] = rows[axis, 0][ranks]
    return result


def _sort_transforms(rows: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Transforms in the order of the vertices, shape (V, 4, 4), column-major in memory."""
    result = np.empty((len(ranks), 4, 4), np.float32)
    result[:, :, 3] = (0.0, 0.0, 0.0, 1.0)
    for column in range(4):
        for axis in range(3):
            result[:, column, axis] = rows[axis, column][ranks]
    return result.transpose(0, 2, 1)


def _find_runs(blocks: tuple[Block, ...], changed: np.ndarray) -> Iterator[list[Block]]:
    """Yield changed blocks that follow each other, as many as one run of rows takes."""
    run: list[Block] = []
    for block, is_changed in zip(blocks, changed.tolist(), strict=True):
        if run and not (is_changed and block.end - run[0].start <= RUN_SIZE):
            yield run
            run = []
        if is_changed:
            run.append(block)
    if run:
        yield run


def _skin_run(
    binding: Binding, run: list[Block], pose: Pose, stages: list[Stage], coefficients: np.ndarray, transforms: bool
) -> np.ndarray:
    """Posed points, shape (3, 1, n), or the columns of the transforms, shape (3, 4, n), of a run of blocks.

    Parameters
    ----------
    coefficients : float32 array
        Those of `Binding.block_joints`.
    """
    first, last = run[0].start, run[-1].end
    memory = Scratch(binding.scratch)
    sums = memory.take(coefficients.shape[1], last - first)
    for block in run:
        out = sums[:, block.start - first : block.end - first]
        multiply_columns(coefficients[block.entries].T, block.weights, out=out)
    into, back = _object_space(pose)
    if transforms:
        start = into
    elif back is None:
        start = binding.points[:, :, first:last]
    else:
        start = (into[:3, :3, 0] @ binding.points[:3, 0, first:last] + into[:3, 3])[WRAP][:, None]
    posed = run_stages(stages, sums, start, memory)
    if binding.linear is not None:
        posed += binding.linear[first:last] * (apply_affine(sums[-12:], start, memory)[:3] - posed)
    if binding.strength is not None:
        posed = start[:3] + binding.strength[first:last] * (posed - start[:3])
    if back is not None:
        posed = np.tensordot(back[:, :3], posed, axes=1)
        posed[:, -1] += back[:, 3:]
    return posed


def _object_space(pose: Pose) -> tuple[np.ndarray, np.ndarray | None]:
    """From object to armature space as wrapped columns, shape (5, 4, 1), and back, shape (3, 4); None for no change."""
    if pose.object_to_armature is None:
        return IDENTITY_COLUMNS, None
    into = pose.object_to_armature[:3].astype(np.float32)
    return into[WRAP][:, :, None], np.linalg.inv(pose.object_to_armature)[:3].astype(np.float32)
