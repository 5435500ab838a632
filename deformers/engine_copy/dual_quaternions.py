"""A copy as readers of USD show it that blend by dual quaternions: with the character's own weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..algebra.dual_quaternions import dual_quaternions_from_rigid
from ..rig.fraction_weights import extend_weights
from ..rig.fractions import pose_fractions
from ..rig.rest import Joints, Rest, Weights
from .model import Examples, Fit, Helper, Skin, limit_weights
from .posing import Differences, Tally, chunk_frames

LARGEST_SCALE = 1e-3
"""Part by which a bone's axes may be longer or shorter, to count as rigid."""


def fit_rigid(rests: Sequence[Rest], matrices: np.ndarray, hints: np.ndarray | None = None) -> Fit:
    """A character with all its own weights; fractions of joints are helpers.

    Parameters
    ----------
    rests : sequence of Rest
        Its meshes, on the same joints; fractions may be others.
    matrices : float array, shape (F, B, 4, 4)
        From rest to pose of the joints, in each example.
    hints : float array, shape (F, B), or None
        Twists that are asked of joints, radians.
    """
    joints, first, entries = rests[0].joints, 0, []
    kinds = list(dict.fromkeys(rest.joints.fractions for rest in rests if rest.joints.fractions is not None))
    starts = np.cumsum([len(joints.parents), *(fractions.count for fractions in kinds)])
    for rest in rests:
        weights = extend_weights(rest)
        shift = 0 if rest.joints.fractions is None else starts[kinds.index(rest.joints.fractions)] - starts[0]
        moved = np.where(weights.joints < starts[0], weights.joints, weights.joints + shift)
        entries.append(Weights(weights.vertices + first, moved, weights.values))
        first += len(rest.points)
    columns = [
        np.concatenate(arrays)
        for arrays in zip(*((own.vertices, own.joints, own.values) for own in entries), strict=True)
    ]
    everything = Joints(np.zeros((starts[-1], 3)), np.full(starts[-1], -1))
    skin = Skin(np.zeros((first, 3)), np.empty((0, 3), np.intp), Weights(*columns), everything)
    bones, values = limit_weights(skin, int(np.bincount(columns[0]).max(initial=1)))
    helpers = [
        Helper(int(last), int(base), center)
        for fractions in kinds
        for last, base, center in zip(fractions.last, fractions.base, fractions.centers, strict=True)
    ]
    moves = np.empty((len(matrices), starts[-1] - starts[0], 4, 4))
    for number, pose in enumerate(matrices):
        asked = None if hints is None else hints[number]
        for fractions, start in zip(kinds, starts - starts[0], strict=False):
            moves[number, start : start + fractions.count] = pose_fractions(fractions, pose, asked)
    return Fit(tuple(helpers), bones, values, moves, (), np.empty((len(matrices), 0)))


def find_scaled(matrices: np.ndarray) -> tuple[int, int] | None:
    """The frame and the joint that is scaled most, of matrices (F, B, 4, 4); None where all are rigid."""
    scales = np.abs(np.linalg.norm(matrices[:, :, :3, :3], axis=2) - 1.0).max(axis=2, initial=0.0)
    if scales.max(initial=0.0) <= LARGEST_SCALE:
        return None
    frame, joint = np.unravel_index(int(scales.argmax()), scales.shape)
    return int(frame), int(joint)


def pose_rigid(skin: Skin, matrices: np.ndarray, fit: Fit) -> np.ndarray:
    """Where a skin's vertices are in one pose, blended by dual quaternions as USD says.

    Parameters
    ----------
    skin : Skin
    matrices : float array, shape (B + H, 4, 4)
        From rest to pose of joints and helpers, rigid.
    fit : Fit
        By `fit_rigid`.

    Returns
    -------
    float64 array, shape (V, 3), armature space

    Notes
    -----
    UsdSkel flips quaternions that point away from that of the largest weight; Kavan et al. 2008, algorithm 1, leaves
    open which one.
    """
    left, _, right = np.linalg.svd(matrices[:, :3, :3])
    joints = dual_quaternions_from_rigid(left @ right, matrices[:, :3, 3])
    chosen = joints[fit.bones]  # (V, K, 8), the first has the largest weight
    signs = np.where((chosen[..., :4] * chosen[:, :1, :4]).sum(axis=2) < 0.0, -1.0, 1.0)
    blended = np.einsum("vk,vki->vi", fit.values * signs, chosen)
    lengths = np.linalg.norm(blended[:, :4], axis=1, keepdims=True)
    blended /= np.where(lengths > 0.0, lengths, 1.0)
    w, xyz, dual_w, dual = blended[:, :1], blended[:, 1:4], blended[:, 4:5], blended[:, 5:]
    points = np.asarray(skin.points, np.float64)
    turned = points + 2.0 * np.cross(xyz, np.cross(xyz, points) + w * points)
    moved = turned + 2.0 * (w * dual - dual_w * xyz + np.cross(xyz, dual))
    return np.where(lengths > 0.0, moved, points)


def measure_rigid(
    skin: Skin, examples: Examples, fit: Fit, progress: Callable[[float], None], frames: np.ndarray
) -> Differences:
    """How far that is from the targets.

    Parameters
    ----------
    skin : Skin
    examples : Examples
    fit : Fit
        By `fit_rigid`.
    progress : function
        Called with the share that is done; what it raises ends the measuring.
    frames : int array, shape (N,)
        Ascending.
    """
    tally = Tally(skin, examples.count)
    for some in chunk_frames(len(skin.points), frames):
        progress(float(np.searchsorted(frames, some[0])) / len(frames))
        matrices = np.concatenate([examples.matrices[some], fit.helper_matrices[some]], axis=1)
        posed = np.stack([pose_rigid(skin, pose, fit) for pose in matrices])
        tally.add(some, np.linalg.norm(posed - examples.read(some), axis=2))
    return tally.sum_up()
