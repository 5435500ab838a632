"""The blend of joints over vertices for all methods: dense products of blocks, and rows of vertices.

Every method is a list of *stages*. A stage gives each joint some coefficients; their weighted sums over a vertex's
joints are, for a linear stage, the entries of the vertex's affine transform (eq 1), for a rigid stage the vertex's
dual quaternion (eq 8).

The signs of the dual quaternions belong to the joints, so that both sums are one matrix product, weights (V, B) times
coefficients (B, 10 to 34). The vertices are sorted by their strongest joint and cut into blocks: few joints influence a
block, so that its dense product is small. The arithmetic per vertex then goes over whole rows of several blocks while
they are in the cache.

A binding keeps its latest result. Blocks whose joints have not changed are not computed again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..algebra.products import multiply_columns
from ..rig.bendy import divide_among_ends
from ..rig.rest import Joints, Pose, Rest, normalize_weights
from .blocks import RUN_SIZE, Block, find_runs, round_up, sort_values, sort_vertices, wrap_points
from .rotation_centers import CenterRows, RotationCenters, Turns, sort_centers
from .stages import (
    IDENTITY_COEFFICIENTS,
    WRAP,
    Scratch,
    Stage,
    apply_affine,
    empty_rows,
    linear_stage,
    run_stages,
)
from .vertex_signs import choose_signs

IDENTITY_COLUMNS = np.eye(3, 4, dtype=np.float32)[WRAP][:, :, None]

EMPTY = np.empty(0, np.float32)


@dataclass
class Latest:
    """The latest result of a binding, and its inputs besides the binding.

    Attributes
    ----------
    kind : tuple
        Stages, space, and whether points or transforms.
    coefficients : float32 array, shape (B + 1, rows)
    rows : float32 array, shape (3, C, V)
        Posed points (C = 1) or the columns of the transforms (C = 4), in the order of the blocks.
    result : float32 array
        `rows` in the order of the vertices, read-only.
    """

    kind: tuple = ()
    coefficients: np.ndarray = field(default_factory=lambda: EMPTY)
    rows: np.ndarray = field(default_factory=lambda: EMPTY)
    result: np.ndarray = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True)
class Binding:
    """A bound character; one thread at a time may use it.

    The vertices are in the order of the blocks, W including the padding of the last block.

    Attributes
    ----------
    params : the method's Params
    joints : Joints
        Extended.
    block_joints : int array
        The joints of each block, one block after the other; B stands for rest.
    block_starts : int array
        The first of each block's joints.
    ranks : int array, shape (V,)
        Index of each vertex in this order.
    points : float32 array, shape (5, 1, W)
        Rest positions, wrapped, object space.
    linear, strength : float32 arrays, shape (W,), or None
        As in `Rest`; None if it is 0, or 1, for all vertices.
    scratch : float32 array
        Memory that every call overwrites.
    centers : CenterRows or None
        None if stages do not rotate about centers.
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
    centers: CenterRows | None = None
    latest: Latest = field(default_factory=Latest, repr=False, compare=False)


def bind(rest: Rest, params: Any, centers: RotationCenters | None = None) -> Binding:
    """Sort the vertices into blocks.

    Raises SkinningError if the joints are parented in a circle.

    Parameters
    ----------
    params : the method's Params
        Stored for `deform`.
    centers : RotationCenters, optional
        Centers of the stages; by default the origin.
    """
    joints, vertex_count = rest.joints.extended, len(rest.points)
    joint_count = len(joints.parents)
    joints.chains  # noqa: B018  refuses circles
    weights = normalize_weights(divide_among_ends(rest), vertex_count, joint_count)
    blocks, block_joints, ranks = sort_vertices(weights, vertex_count, joint_count)
    # Rows for the longest run: sums of two linear stages, a rotation and the centers' coefficients; the centers; two
    # linear stages and a rotation on four columns.
    scratch_rows = 44 + 8 + 32 + 57 + 32
    return Binding(
        params=params,
        joints=joints,
        blocks=blocks,
        block_joints=block_joints,
        block_starts=np.array([block.entries.start for block in blocks], np.intp),
        ranks=ranks,
        points=wrap_points(rest.points, ranks),
        linear=sort_values(rest.linear, ranks, 0.0),
        strength=sort_values(rest.strength, ranks, 1.0),
        scratch=empty_rows(scratch_rows, min(RUN_SIZE, round_up(vertex_count))).ravel(),
        centers=None if centers is None else sort_centers(centers, ranks),
    )


def with_points(binding: Binding, points: np.ndarray) -> Binding:
    """Replace the rest positions by `points`, shape (V, 3), object space."""
    return replace(binding, points=wrap_points(points, binding.ranks), latest=Latest())


def skin_points(binding: Binding, pose: Pose, stages: list[Stage], turns: Turns | None = None) -> np.ndarray:
    """Posed positions of the rest points.

    Parameters
    ----------
    stages : list of Stage
        In the order in which they move the points.
    turns : Turns, optional
        For a binding with centers, which follow these.

    Returns
    -------
    float32 array, shape (V, 3)
        Object space, read-only. The array of the latest call if nothing has moved since.
    """
    return _skin(binding, pose, stages, turns, transforms=False)


def skin_transforms(binding: Binding, pose: Pose, stages: list[Stage], turns: Turns | None = None) -> np.ndarray:
    """Transform of each vertex's space, which applies to any position of the vertex.

    `binding`, `pose`, `stages` and `turns`: as for `skin_points`.

    Returns
    -------
    float32 array, shape (V, 4, 4)
        Object space to object space, column vectors, read-only. Column-major in memory, as Blender stores matrices: the
        transpose of the last two axes is contiguous. The array of the latest call if nothing has moved since.
    """
    return _skin(binding, pose, stages, turns, transforms=True)


def _skin(binding: Binding, pose: Pose, stages: list[Stage], turns: Turns | None, transforms: bool) -> np.ndarray:
    """The result of `skin_points` or `skin_transforms`: only blocks whose joints have moved are computed."""
    space, latest = pose.object_to_armature, binding.latest
    mixed_in = None if binding.linear is None else _blend_linearly(binding.joints, pose, turns)
    coefficients = _gather_coefficients(stages, turns, mixed_in)
    kind = (transforms, None if space is None else space.tobytes(), *(stage.kind for stage in stages))
    changed = _find_changed(binding, kind, coefficients)
    if latest.kind == kind and not changed.any():
        return latest.result
    if latest.kind != kind:
        latest.rows = np.empty((3, 4 if transforms else 1, len(binding.ranks)), np.float32)
    latest.kind = ()  # until all of it is there
    of_blocks = coefficients[binding.block_joints]
    for run in find_runs(binding.blocks, changed):
        posed = _skin_run(binding, run, pose, stages, turns, of_blocks, transforms)
        rows = latest.rows[:, :, run[0].start : run[-1].end]
        rows[:] = posed[:, :, : rows.shape[2]]
    latest.result = (_sort_transforms if transforms else _sort_points)(latest.rows, binding.ranks)
    latest.result.flags.writeable = False
    latest.kind, latest.coefficients = kind, coefficients
    return latest.result


def _blend_linearly(joints: Joints, pose: Pose, turns: Turns | None) -> Stage:
    """The stage for `Rest.linear`; centers have it already."""
    if turns is None:
        return linear_stage(pose.extended_to(joints).rest_to_pose)
    return Stage(turns.coefficients[:-1, :12], "linear")


def _gather_coefficients(stages: list[Stage], turns: Turns | None, mixed_in: Stage | None) -> np.ndarray:
    """Coefficients of all stages next to each other, float32, a row for each joint and one more for rest."""
    every = stages if mixed_in is None else [*stages, mixed_in]
    rows = [np.concatenate([stage.coefficients, IDENTITY_COEFFICIENTS[stage.kind]]) for stage in every]
    if turns is not None:
        rows.insert(len(stages), turns.coefficients)
    return np.concatenate(rows, axis=1).astype(np.float32)


def _find_changed(binding: Binding, kind: tuple, coefficients: np.ndarray) -> np.ndarray:
    """Whether each block differs from the latest result, bool array."""
    latest = binding.latest
    if latest.kind != kind or not binding.blocks:
        return np.ones(len(binding.blocks), bool)
    moved = (coefficients != latest.coefficients).any(axis=1)
    return np.logical_or.reduceat(moved[binding.block_joints], binding.block_starts)


def _sort_points(rows: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Points in the order of the vertices, shape (V, 3)."""
    result = np.empty((len(ranks), 3), np.float32)
    for axis in range(3):  # twice as fast as a transpose of all
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


def _skin_run(
    binding: Binding,
    run: list[Block],
    pose: Pose,
    stages: list[Stage],
    turns: Turns | None,
    coefficients: np.ndarray,
    transforms: bool,
) -> np.ndarray:
    """Posed points, shape (3, 1, n), or the columns of the transforms, shape (3, 4, n), of a run of blocks.

    `coefficients`, float32 array: rows for `Binding.block_joints`.
    """
    first, last = run[0].start, run[-1].end
    memory = Scratch(binding.scratch)
    sums = memory.take(coefficients.shape[1], last - first)
    for block in run:
        out = sums[:, block.start - first : block.end - first]
        multiply_columns(coefficients[block.entries].T, block.weights, out=out)
        if stages[0].has_vertex_signs:
            count = stages[0].coefficients.shape[1]
            choose_signs(block, coefficients[block.entries, :count], out[:count])
    into, back = _object_space(pose)
    if transforms:
        start = into
    elif back is None:
        start = binding.points[:, :, first:last]
    else:
        start = (into[:3, :3, 0] @ binding.points[:3, 0, first:last] + into[:3, 3])[WRAP][:, None]
    if binding.centers is None or turns is None:
        posed = run_stages(stages, sums, start, memory)
    else:
        of_run = turns.half_twists[binding.block_joints[run[0].entries.start : run[-1].entries.stop]]
        rest_centers, posed_centers = binding.centers.place(first, last, sums[_count_rows(stages) :], of_run, memory)
        posed = run_stages(stages, sums, _away_from(rest_centers, start), memory)
        posed[:, -1] += posed_centers[:3]
    if binding.linear is not None:
        posed += binding.linear[first:last] * (apply_affine(sums[-12:], start, memory)[:3] - posed)
    if binding.strength is not None:
        posed = start[:3] + binding.strength[first:last] * (posed - start[:3])
    if back is not None:
        posed = np.tensordot(back[:, :3], posed, axes=1)
        posed[:, -1] += back[:, 3:]
    return posed


def _count_rows(stages: list[Stage]) -> int:
    return sum(stage.coefficients.shape[1] for stage in stages)


def _away_from(centers: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Wrapped columns, shape (5, C, n or 1), the last of which is a point, relative to centers, shape (5, n)."""
    if columns.shape[1] == 1:
        return columns - centers[:, None]
    result = np.repeat(columns, centers.shape[1], axis=2) if columns.shape[2] == 1 else columns.copy()
    result[:, -1] -= centers
    return result


def _object_space(pose: Pose) -> tuple[np.ndarray, np.ndarray | None]:
    """From object to armature space as wrapped columns, (5, 4, 1), and back, (3, 4); None for the identity."""
    if pose.object_to_armature is None:
        return IDENTITY_COLUMNS, None
    into = pose.object_to_armature[:3].astype(np.float32)
    return into[WRAP][:, :, None], np.linalg.inv(pose.object_to_armature)[:3].astype(np.float32)
