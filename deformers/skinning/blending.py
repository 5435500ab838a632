"""The blend of joints over vertices, which SSD, DLB and DLBNT share: dense products of blocks, and rows of vertices.

Every such method is a row of *stages*. A stage gives each joint 12 coefficients; their weighted sums over a vertex's
joints are, for a linear stage, the entries of the vertex's affine transform (eq 1), for a rigid stage the vertex's
dual quaternion (eq 8).

As the signs of the dual quaternions belong to the joints, both sums are one matrix product, weights (V, B) times
coefficients (B, 10 to 34). The vertices are sorted by their strongest joint and cut into blocks: few joints
influence a block, so a small dense product does it. The arithmetic per vertex then goes over the whole rows of several
blocks, while they are in the cache.

A binding holds its latest result. Blocks whose joints have the coefficients that they had then are not computed again.

What vertices are blended from is their rest position, or where a twist that is spread has turned it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..algebra.products import multiply_columns
from ..rig.fraction_weights import extend_weights
from ..rig.rest import Joints, Pose, Rest, normalize_weights
from ..rig.spread_twists import SpreadTurns
from .blocks import RUN_SIZE, Block, find_runs, round_up, sort_values, sort_vertices, wrap_points
from .joint_limits import LimitRows, sort_limits
from .joint_shares import LimitParams, share_joints
from .rotation_centers import CENTERS, CenterRows, RotationCenters, Turns, sort_centers
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
from .turned_rows import TurnedRows, TwistRows, bind_twists

SCRATCH_ROWS = 44 + 30 + 8 + 32 + 57 + 32
"""Rows that the longest run takes: sums of two linear stages, a rotation and what centers follow; four columns, centers
and leans that are turned; the centers; two linear stages and a rotation on four columns."""

IDENTITY_COLUMNS = np.eye(3, 4, dtype=np.float32)[WRAP][:, :, None]

EMPTY = np.empty(0, np.float32)


@dataclass
class Latest:
    """The latest result of a binding, and all that it follows from besides the binding.

    Attributes
    ----------
    kind : tuple
        Which stages, in which space, for points or for transforms.
    coefficients : float32 array, shape (B + 1, rows)
    twists : SpreadTurns or None
        What vertices are turned by at rest.
    rows : float32 array, shape (3, C, V)
        Posed points (C = 1) or the columns of the transforms (C = 4), in the order of the blocks.
    result : float32 array
        The same in the order of the vertices, read-only.
    """

    kind: tuple = ()
    coefficients: np.ndarray = field(default_factory=lambda: EMPTY)
    twists: SpreadTurns | None = None
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
        With their fractions.
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
    centers : CenterRows or None
        What vertices rotate about; None where rigid stages say so themselves.
    limits : LimitRows or None
        Bulge limit and contact at joints.
    twists : TwistRows or None
        What vertices are turned by at rest.
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
    limits: LimitRows | None = None
    twists: TwistRows | None = None
    latest: Latest = field(default_factory=Latest, repr=False, compare=False)


def bind(rest: Rest, params: Any, centers: RotationCenters | None = None) -> Binding:
    """Sort the vertices into blocks.

    Parameters
    ----------
    params : the method's Params
        Kept for `deform`.
    centers : RotationCenters, optional
        What the stages rotate about; the origin if not given.

    Raises
    ------
    SkinningError
        Where the joints are parented in a circle.
    """
    joints, vertex_count = rest.joints.extended, len(rest.points)
    joint_count = len(joints.parents)
    joints.chains  # noqa: B018  refuses circles
    weights = normalize_weights(extend_weights(rest), vertex_count, joint_count)
    blocks, block_joints, ranks = sort_vertices(weights, vertex_count, joint_count)
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
        scratch=empty_rows(SCRATCH_ROWS, min(RUN_SIZE, round_up(vertex_count))).ravel(),
        centers=None if centers is None else sort_centers(centers, ranks),
        limits=_bind_limits(rest, params, ranks),
        twists=bind_twists(rest, ranks),
    )


def _bind_limits(rest: Rest, params: Any, ranks: np.ndarray) -> LimitRows | None:
    if not isinstance(params, LimitParams) or not max(params.bulge_limit, params.contact) > 0.0:
        return None
    return sort_limits(share_joints(rest), rest.joints, params.bulge_limit, params.contact, ranks)


def with_points(binding: Binding, points: np.ndarray) -> Binding:
    """The same binding for another shape of the same vertices, `points` of shape (V, 3), object space."""
    limits = None if binding.limits is None else binding.limits.for_other_points()
    return replace(binding, points=wrap_points(points, binding.ranks), limits=limits, latest=Latest())


def skin_points(binding: Binding, pose: Pose, stages: list[Stage], turns: Turns | None = None) -> np.ndarray:
    """Posed positions of the rest points.

    Parameters
    ----------
    stages : list of Stage
        In the order in which they move the points.
    turns : Turns, optional
        Of a binding with centers: what these follow.

    Returns
    -------
    float32 array, shape (V, 3)
        Object space, read-only. The array that the latest call has returned, where nothing has moved since.
    """
    return _skin(binding, pose, stages, turns, transforms=False)


def skin_transforms(binding: Binding, pose: Pose, stages: list[Stage], turns: Turns | None = None) -> np.ndarray:
    """Where each vertex's space goes: to be applied to any incoming position of the vertex.

    Parameters
    ----------
    binding, pose, stages, turns
        As of `skin_points`.

    Returns
    -------
    float32 array, shape (V, 4, 4)
        Object space to object space, column vectors, read-only. Column-major in memory, as Blender keeps matrices: the
        transpose of the last two axes is contiguous. The array that the latest call has returned, where nothing has
        moved since.
    """
    return _skin(binding, pose, stages, turns, transforms=True)


def _skin(binding: Binding, pose: Pose, stages: list[Stage], turns: Turns | None, transforms: bool) -> np.ndarray:
    """What `skin_points` or `skin_transforms` returns: blocks whose joints have moved anew, the others as they were."""
    space, latest = pose.object_to_armature, binding.latest
    mixed_in = None if binding.linear is None else _blend_linearly(binding.joints, pose, turns)
    coefficients = _gather_coefficients(stages, turns, mixed_in)
    kind = (transforms, None if space is None else space.tobytes(), *(stage.kind for stage in stages))
    twists = None if binding.twists is None else pose.find_turns(binding.twists.spread)
    changed = _find_changed(binding, kind, coefficients, twists)
    if latest.kind == kind and not changed.any():
        return latest.result
    if latest.kind != kind:
        latest.rows = np.empty((3, 4 if transforms else 1, len(binding.ranks)), np.float32)
    latest.kind = ()  # until all of it is there
    of_blocks, turned = coefficients[binding.block_joints], _turn_at_rest(binding, pose, twists, transforms)
    for run in find_runs(binding.blocks, changed):
        posed = _skin_run(binding, run, pose, stages, turns, of_blocks, turned, transforms)
        rows = latest.rows[:, :, run[0].start : run[-1].end]
        rows[:] = posed[:, :, : rows.shape[2]]
    latest.result = (_sort_transforms if transforms else _sort_points)(latest.rows, binding.ranks)
    latest.result.flags.writeable = False
    latest.kind, latest.coefficients, latest.twists = kind, coefficients, twists
    return latest.result


def _blend_linearly(joints: Joints, pose: Pose, turns: Turns | None) -> Stage:
    """The stage that a linear group mixes in: what centers follow, where there are any."""
    if turns is None:
        return linear_stage(pose.extended_to(joints).rest_to_pose)
    return Stage(turns.coefficients[:-1, :12], "linear")


def _gather_coefficients(stages: list[Stage], turns: Turns | None, mixed_in: Stage | None) -> np.ndarray:
    """Coefficients of all stages beside each other, float32, a row for each joint and one more for rest."""
    every = stages if mixed_in is None else [*stages, mixed_in]
    rows = [np.concatenate([stage.coefficients, IDENTITY_COEFFICIENTS[stage.kind]]) for stage in every]
    if turns is not None:
        rows.insert(len(stages), turns.coefficients)
    return np.concatenate(rows, axis=1).astype(np.float32)


def _find_changed(binding: Binding, kind: tuple, coefficients: np.ndarray, twists: SpreadTurns | None) -> np.ndarray:
    """Which blocks the latest result does not hold, bool array."""
    latest = binding.latest
    if latest.kind != kind or not binding.blocks:
        return np.ones(len(binding.blocks), bool)
    moved = (coefficients != latest.coefficients).any(axis=1)
    if binding.twists is not None and twists is not None and latest.twists is not None:
        moved |= binding.twists.followed[(twists.rows != latest.twists.rows).any(axis=1)].any(axis=0)
    if binding.limits is not None:
        moved = _look_around(binding.limits.skeleton, moved)
    return np.logical_or.reduceat(moved[binding.block_joints], binding.block_starts)


def _look_around(joints: Joints, moved: np.ndarray) -> np.ndarray:
    """Joints, and the one that rests, whose vertices limits may move: these look at both bones of their joint.

    Parameters
    ----------
    joints : Joints
        Without fractions.
    moved : bool array, shape (B + F + 1,)
        With them.
    """
    count = len(joints.parents)
    parents = np.append(joints.parents, -1)
    own = np.append(moved[:count], moved[-1])
    around = own | own[parents]
    np.logical_or.at(around, parents, own)
    fractions = joints.fractions
    if fractions is None:
        return around
    ends = around[fractions.first] | around[fractions.last]
    return np.concatenate([around[:-1], moved[count:-1] | ends, around[-1:]])


def _turn_at_rest(binding: Binding, pose: Pose, twists: SpreadTurns | None, transforms: bool) -> TurnedRows | None:
    """Vertices that spread twists turn: their points, or the columns of their space, and what centers need."""
    if binding.twists is None or twists is None or not twists.twists.any():
        return None
    ranks, (into, _) = binding.twists.ranks, _object_space(pose)
    if transforms:
        columns = np.repeat(into[:3], len(ranks), axis=2)
    else:
        columns = _into_armature(pose, into, binding.points[:3, :, ranks])
    if binding.centers is not None:
        columns = np.concatenate([binding.centers.find_columns(ranks), columns], axis=1)
    is_point = np.arange(columns.shape[1]) == columns.shape[1] - 1
    is_point[CENTERS] |= binding.centers is not None
    return binding.twists.turn(twists, columns, is_point)


def _into_armature(pose: Pose, into: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Points in armature space, float32, shape (3, 1, n); from object space, and the columns to get there."""
    if pose.object_to_armature is None:
        return points
    return (into[:3, :3, 0] @ points[:, 0] + into[:3, 3])[:, None]


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


def _skin_run(
    binding: Binding,
    run: list[Block],
    pose: Pose,
    stages: list[Stage],
    turns: Turns | None,
    coefficients: np.ndarray,
    turned: TurnedRows | None,
    transforms: bool,
) -> np.ndarray:
    """Posed points, shape (3, 1, n), or the columns of the transforms, shape (3, 4, n), of a run of blocks.

    Parameters
    ----------
    coefficients : float32 array
        Those of `Binding.block_joints`.
    turned : TurnedRows or None
        From `_turn_at_rest`.
    """
    first, last = run[0].start, run[-1].end
    memory = Scratch(binding.scratch)
    sums = memory.take(coefficients.shape[1], last - first)
    for block in run:
        out = sums[:, block.start - first : block.end - first]
        multiply_columns(coefficients[block.entries].T, block.weights, out=out)
    into, back = _object_space(pose)
    if transforms:
        at_rest = into
    elif back is None:
        at_rest = binding.points[:, :, first:last]
    else:
        at_rest = _into_armature(pose, into, binding.points[:3, :, first:last])[WRAP]
    start = at_rest
    if turned is not None:
        start = turned.put(first, last, slice(-at_rest.shape[1], None), at_rest, memory)
    if binding.centers is None or turns is None:
        posed = run_stages(stages, sums, start, memory)
    else:
        of_run = turns.half_twists[binding.block_joints[run[0].entries.start : run[-1].entries.stop]]
        blended, sdef = sums[_count_rows(stages) :], binding.centers.sdef
        rest_centers, posed_centers = binding.centers.place(first, last, blended, of_run, turned, memory)
        posed = run_stages(stages, sums, _away_from(rest_centers, start), memory)
        posed[:, -1] += posed_centers[:3]
        if sdef is not None:
            sdef = sdef if turned is None else sdef.turned_with(turned)
            sdef.move(first, last, pose.extended_to(binding.joints).rest_to_pose, posed[:, -1])
    if binding.linear is not None:
        posed += binding.linear[first:last] * (apply_affine(sums[-12:], start, memory)[:3] - posed)
    if binding.limits is not None:
        _correct(binding, binding.limits, first, last, pose, posed, transforms)
    if binding.strength is not None:
        posed = at_rest[:3] + binding.strength[first:last] * (posed - at_rest[:3])
    if back is not None:
        posed = np.tensordot(back[:, :3], posed, axes=1)
        posed[:, -1] += back[:, 3:]
    return posed


def _correct(
    binding: Binding, limits: LimitRows, first: int, last: int, pose: Pose, posed: np.ndarray, transforms: bool
) -> None:
    """Put a run under bulge limit and contact; transforms are moved as a whole by what this does to the rest shape."""
    into, _ = _object_space(pose)

    def rest(ranks: np.ndarray) -> np.ndarray:
        return into[:3, :3, 0] @ binding.points[:3, 0, ranks] + into[:3, 3]

    if not transforms:
        limits.correct(first, last, rest, posed[:, 0], pose)
        return
    points = np.einsum("icn,cn->in", posed[:, :3], binding.points[:3, 0, first:last]) + posed[:, 3]
    corrected = points.copy()
    limits.correct(first, last, rest, corrected, pose)
    posed[:, 3] += corrected - points


def _count_rows(stages: list[Stage]) -> int:
    return sum(stage.coefficients.shape[1] for stage in stages)


def _away_from(centers: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Wrapped columns, shape (5, C, n or 1), the last a point: that point from centers, shape (5, n)."""
    if columns.shape[1] == 1:
        return columns - centers[:, None]
    result = np.repeat(columns, centers.shape[1], axis=2) if columns.shape[2] == 1 else columns.copy()
    result[:, -1] -= centers
    return result


def _object_space(pose: Pose) -> tuple[np.ndarray, np.ndarray | None]:
    """From object to armature space as wrapped columns, shape (5, 4, 1), and back, shape (3, 4); None for no change."""
    if pose.object_to_armature is None:
        return IDENTITY_COLUMNS, None
    into = pose.object_to_armature[:3].astype(np.float32)
    return into[WRAP][:, :, None], np.linalg.inv(pose.object_to_armature)[:3].astype(np.float32)
