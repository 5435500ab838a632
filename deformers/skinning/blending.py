"""The blend of joints over vertices, which SSD, DLB and DLBNT share: blocks of dense products.

Every such method is a row of *stages*. A stage gives each joint 12 coefficients; their weighted sums over a vertex's
joints are, for a linear stage, the entries of the vertex's affine transform (eq 1), for a rigid stage the vertex's
dual quaternion (eq 8).

As the signs of the dual quaternions belong to the joints, both sums are one matrix product, weights (V, B) times
coefficients (B, 10 to 34). The vertices are sorted by their strongest joint and cut into blocks: few joints
influence a block, so a small dense product does it, and the arithmetic per vertex runs on whole rows while they are in
the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..algebra.products import multiply_columns
from ..errors import SkinningError
from ..rig.rest import Pose, Rest, Weights, normalize_weights
from ..rig.skeleton import Chains
from .stages import IDENTITY_COEFFICIENTS, WRAP, Scratch, Stage, apply_affine, linear_stage, run_stages

BLOCK_SIZE = 5000
"""Vertices in a block: smaller ones pay for calls, larger ones leave the cache, powers of 2 collide in it."""

BLOCK_JOINTS = 48
"""Joints that lead the vertices of a block, about: with more, most of its dense weights are zero."""

SCRATCH_ROWS = 36 + 52 + 32 + 32
"""Rows of a block that the longest run takes: sums of three stages, one rigid and two linear ones on four columns."""

IDENTITY_COLUMNS = np.eye(3, 4, dtype=np.float32)[WRAP][:, :, None]


@dataclass(frozen=True)
class Block:
    """Vertices that follow much the same joints.

    Attributes
    ----------
    joints : int array, shape (b,)
    weights : float32 array, shape (b, n)
        Dense; each column sums to 1.
    points : float32 array, shape (5, 1, n)
        Rest positions, wrapped, object space.
    linear, strength : float32 arrays, shape (n,), or None
        As in `Rest`; None where it is 0, or 1, for all vertices of the block.
    """

    joints: np.ndarray
    weights: np.ndarray
    points: np.ndarray
    linear: np.ndarray | None
    strength: np.ndarray | None


@dataclass(frozen=True)
class Binding:
    """What SSD, DLB and DLBNT keep from a character at rest.

    Attributes
    ----------
    params : the method's Params
    centers : float64 array, shape (B, 3)
    chains : Chains
    blocks : tuple of Block
    ranks : int array, shape (V,)
        Index of each vertex in the order of the blocks.
    scratch : float32 array
        Memory that every call of `skin` overwrites; a binding serves one thread at a time.
    """

    params: Any
    centers: np.ndarray
    chains: Chains
    blocks: tuple[Block, ...]
    ranks: np.ndarray
    scratch: np.ndarray

    def check(self, pose: Pose) -> None:
        """See that a pose is one of these joints.

        Raises
        ------
        SkinningError
            Where it has another number of joints.
        """
        if len(pose.rest_to_pose) != len(self.centers):
            raise SkinningError(f"{len(self.centers)} joints but a pose of {len(pose.rest_to_pose)}: bind again")


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
    weights = normalize_weights(rest.weights, vertex_count, joint_count)
    strongest = _strongest_joints(weights, vertex_count)
    order = np.argsort(strongest, kind="stable")
    ranks = np.empty(vertex_count, np.intp)
    ranks[order] = np.arange(vertex_count)

    most = min(BLOCK_SIZE, BLOCK_JOINTS * vertex_count // max(1, len(np.unique(strongest))))
    block_count = max(1, -(-vertex_count // max(1, most)))
    size = max(1, -(-vertex_count // block_count))
    rows = ranks[weights.vertices]
    by_block = np.argsort((rows // size).astype(np.min_scalar_type(block_count)), kind="stable")
    bounds = np.searchsorted(rows[by_block] // size, np.arange(block_count + 1))
    blocks = []
    for index in range(block_count):
        entries = by_block[bounds[index] : bounds[index + 1]]
        members = order[index * size : (index + 1) * size]
        blocks.append(_make_block(rest, members, weights, entries, rows[entries] - index * size, joint_count))
    return Binding(
        params=params,
        centers=np.asarray(rest.joints.centers, np.float64),
        chains=Chains(rest.joints.parents),
        blocks=tuple(blocks),
        ranks=ranks,
        scratch=np.empty(SCRATCH_ROWS * size, np.float32),
    )


def with_points(binding: Binding, points: np.ndarray) -> Binding:
    """The same binding for another shape of the same vertices, `points` of shape (V, 3), object space."""
    order = np.empty(len(points), np.intp)
    order[binding.ranks] = np.arange(len(points))
    blocks, start = [], 0
    for block in binding.blocks:
        end = start + block.weights.shape[1]
        blocks.append(replace(block, points=_wrap_points(points[order[start:end]])))
        start = end
    return replace(binding, blocks=tuple(blocks))


def _wrap_points(points: np.ndarray) -> np.ndarray:
    """Points, shape (n, 3), as a block keeps them: float32, shape (5, 1, n)."""
    return points.astype(np.float32).T[WRAP][:, None].copy()


def _strongest_joints(weights: Weights, vertex_count: int) -> np.ndarray:
    starts = np.flatnonzero(np.diff(weights.vertices, prepend=-1))
    best = np.zeros(vertex_count)
    best[weights.vertices[starts]] = np.maximum.reduceat(weights.values, starts) if len(starts) else 0.0
    strongest = np.zeros(vertex_count, np.min_scalar_type(int(weights.joints.max(initial=0))))
    leading = weights.values == best[weights.vertices]
    strongest[weights.vertices[leading]] = weights.joints[leading]
    return strongest


def _make_block(
    rest: Rest, members: np.ndarray, weights: Weights, entries: np.ndarray, columns: np.ndarray, joint_count: int
) -> Block:
    """The block of vertices `members`, whose weights are `entries`, each in its column."""
    joints = np.flatnonzero(np.bincount(weights.joints[entries], minlength=joint_count + 1))
    local = np.empty(joint_count + 1, np.intp)
    local[joints] = np.arange(len(joints))
    shape = (len(joints), len(members))
    flat = local[weights.joints[entries]] * len(members) + columns
    dense = np.bincount(flat, weights.values[entries], minlength=shape[0] * shape[1])
    return Block(
        joints=joints,
        weights=dense.astype(np.float32).reshape(shape),
        points=_wrap_points(rest.points[members]),
        linear=_part(rest.linear, members, 0.0),
        strength=_part(rest.strength, members, 1.0),
    )


def _part(values: np.ndarray | None, members: np.ndarray, neutral: float) -> np.ndarray | None:
    if values is None or (values[members] == neutral).all():
        return None
    return values[members].astype(np.float32)


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
        Object space.
    """
    rows = _skin_rows(binding, pose, stages, columns=1)
    result = np.empty((len(binding.ranks), 3), np.float32)
    for axis in range(3):
        result[:, axis] = rows[axis, 0][binding.ranks]
    return result


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
        Object space to object space, column vectors. Column-major in memory, as Blender keeps matrices: the transpose
        of the last two axes is contiguous.
    """
    rows = _skin_rows(binding, pose, stages, columns=4)
    result = np.empty((len(binding.ranks), 4, 4), np.float32)
    result[:, :, 3] = (0.0, 0.0, 0.0, 1.0)
    for column in range(4):
        for axis in range(3):
            result[:, column, axis] = rows[axis, column][binding.ranks]
    return result.transpose(0, 2, 1)


def _skin_rows(binding: Binding, pose: Pose, stages: list[Stage], columns: int) -> np.ndarray:
    """Posed points (1 column) or the 4 columns of the transforms, shape (3, columns, V), in the order of the blocks.

    Whole rows, because they are put back into the order of the vertices one by one in half the time that it takes to
    transpose the blocks and move short rows.
    """
    rows = np.empty((3, columns, len(binding.ranks)), np.float32)
    start = 0
    for posed in _skin_blocks(binding, pose, stages, transforms=columns == 4):
        end = start + posed.shape[-1]
        rows[:, :, start:end] = posed
        start = end
    return rows


def _skin_blocks(binding: Binding, pose: Pose, stages: list[Stage], transforms: bool) -> Iterator[np.ndarray]:
    """Yield each block's result, shape (3, C, n): C is 1 for points, 4 for the columns of transforms."""
    into, back = _object_space(pose)
    mixed = any(block.linear is not None for block in binding.blocks)
    if mixed:
        stages = [*stages, linear_stage(pose.rest_to_pose)]
    coefficients = np.concatenate(
        [np.concatenate([stage.coefficients, IDENTITY_COEFFICIENTS[stage.rigid]]) for stage in stages], axis=1
    ).astype(np.float32)

    for block in binding.blocks:
        count = block.weights.shape[1]
        memory = Scratch(binding.scratch)
        sums = memory.take(coefficients.shape[1], count)
        multiply_columns(np.take(coefficients, block.joints, axis=0).T, block.weights, out=sums)
        if transforms:
            start = into
        elif pose.object_to_armature is None:
            start = block.points
        else:
            start = (into[:3, :3, 0] @ block.points[:3, 0] + into[:3, 3])[WRAP][:, None]
        posed = run_stages(stages[: len(stages) - mixed], sums, start, memory)
        if block.linear is not None:
            posed += block.linear * (apply_affine(sums[-12:], start, memory)[:3] - posed)
        if block.strength is not None:
            posed = start[:3] + block.strength * (posed - start[:3])
        if back is not None:
            posed = np.tensordot(back[:, :3], posed, axes=1)
            posed[:, -1] += back[:, 3:]
        yield posed


def _object_space(pose: Pose) -> tuple[np.ndarray, np.ndarray | None]:
    """From object to armature space as wrapped columns, shape (5, 4, 1), and back, shape (3, 4); None for no change."""
    if pose.object_to_armature is None:
        return IDENTITY_COLUMNS, None
    into = pose.object_to_armature[:3].astype(np.float32)
    return into[WRAP][:, :, None], np.linalg.inv(pose.object_to_armature)[:3].astype(np.float32)
