"""Motion of helpers: first between the two bones of their joint, then as fits their vertices."""

from __future__ import annotations

import numpy as np

from ..algebra.dual_quaternions import quaternions_from_rotations
from ..algebra.polar import decompose_polar, determinants
from ..rig.rest import Joints
from .regions import invert_affine


def split_turns(local: np.ndarray) -> np.ndarray:
    """Rotations of joints relative to their parents, quaternions (F, B, 4), w not negative, of `relate_to_parents`."""
    linear = local[..., :3, :3].reshape(-1, 3, 3)
    rotations, _ = decompose_polar(linear, np.full(len(linear), -1))
    quaternions = quaternions_from_rotations(rotations).reshape(*local.shape[:2], 4)
    return np.where(quaternions[..., :1] < 0.0, -quaternions, quaternions)


def measure_angles(quaternions: np.ndarray) -> np.ndarray:
    """Angles of quaternions, shape (..., 4), in radians, 0 to pi."""
    return 2.0 * np.arctan2(np.linalg.norm(quaternions[..., 1:], axis=-1), np.abs(quaternions[..., 0]))


def _rotate_share(quaternions: np.ndarray, share: float) -> np.ndarray:
    """Rotate by a share of rotations about their own axes: matrices (F, 3, 3) for quaternions (F, 4)."""
    lengths = np.linalg.norm(quaternions[:, 1:], axis=1)
    half = share * np.arctan2(lengths, quaternions[:, 0])
    axes = quaternions[:, 1:] / np.where(lengths > 0.0, lengths, 1.0)[:, None]
    return turn_about(axes, 2.0 * half)


def turn_about(axes: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Rotation matrices, shape (F, 3, 3), of unit axes, shape (F, 3), and angles in radians, shape (F,)."""
    cross = np.zeros((len(axes), 3, 3))
    cross[:, [2, 0, 1], [1, 2, 0]] = axes
    cross[:, [1, 2, 0], [2, 0, 1]] = -axes
    sine, cosine = np.sin(angles)[:, None, None], np.cos(angles)[:, None, None]
    return np.eye(3) + sine * cross + (1.0 - cosine) * (cross @ cross)


def share_turns(local: np.ndarray, quaternions: np.ndarray, joints: Joints, joint: int, share: float) -> np.ndarray:
    """Motion of a helper relative to its base, matrices (F, 4, 4), that is a share of its joint's motion.

    `quaternions` is the result of `split_turns` for `local`.
    """
    center = np.asarray(joints.centers[joint], np.float64)
    moved = local[:, joint, :3, :3] @ center + local[:, joint, :3, 3] - center
    matrices = np.tile(np.eye(4), (len(local), 1, 1))
    matrices[:, :3, :3] = _rotate_share(quaternions[:, joint], share)
    matrices[:, :3, 3] = center - matrices[:, :3, :3] @ center + share * moved
    return matrices


def blend_rigidly(matrices: np.ndarray, weights: np.ndarray, base: int, center: np.ndarray) -> np.ndarray:
    """Motion of a helper relative to its base, matrices (F, 4, 4), that is a blend of joints made rigid.

    Joints have matrices (F, B, 4, 4) from rest to pose, and weights (B,) that sum to 1. The point `center`, (3,), moves
    exactly as the blend does.
    """
    used = np.flatnonzero(weights)
    blended = invert_affine(matrices[:, base]) @ np.einsum("b,fbij->fij", weights[used], matrices[:, used])
    rigid = np.tile(np.eye(4), (len(matrices), 1, 1))
    rigid[:, :3, :3], _ = decompose_polar(blended[:, :3, :3], np.full(len(matrices), -1))
    moved = blended[:, :3, :3] @ center + blended[:, :3, 3]
    rigid[:, :3, 3] = moved - rigid[:, :3, :3] @ center
    return rigid


def move_helpers(
    bases: list[int],
    pairs: list[tuple[np.ndarray, np.ndarray]],
    moments: np.ndarray,
    matrices: np.ndarray,
    held: np.ndarray,
    size: float,
    start: np.ndarray | None = None,
) -> np.ndarray:
    """Fit rigid motions of helpers to their vertices, one helper after the other.

    Parameters
    ----------
    bases : list of int
        Parent joint of each helper.
    pairs, moments : list, float64 array (F, H, 3, 4)
        Results of `Patch.find_pairs` and `Patch.find_moments`.
    matrices : float64 array, shape (F, B, 4, 4)
        Of the joints, from rest to pose.
    held : float64 array, shape (F, H, 4, 4)
        Motion relative to the base that each helper is softly held at.
    size : float
        Size of the character.
    start : float64 array, shape (F, H, 4, 4), or None
        Nearly known motion from rest to pose. By default, helpers start where they are held.

    Returns
    -------
    float64 array, shape (F, H, 4, 4)
        From rest to pose, in armature space.
    """
    sweeps = 12 if start is None else 1
    count = matrices.shape[1]
    posed = np.concatenate([matrices, matrices[:, bases] @ held if start is None else start], axis=1)
    inverses = invert_affine(matrices[:, bases])
    for _ in range(sweeps):
        largest = 0.0
        for number, (present, sums) in enumerate(pairs):
            own = sums[0]
            if own[3, 3] <= 0.0:
                continue
            others = posed[:, present[1:], :3].transpose(0, 2, 1, 3).reshape(len(posed), 3, -1)
            wanted = moments[:, number] - others @ sums[1:].reshape(-1, 4)
            wanted = inverses[:, number, :3, :3] @ wanted + inverses[:, number, :3, 3:] * own[3]
            moved = matrices[:, bases[number]] @ fit_rigid(own, wanted, held[:, number], size)
            center = own[3, :3] / own[3, 3]
            change = (moved - posed[:, count + number])[:, :3]
            largest = max(largest, float(np.abs(change[..., :3] @ center + change[..., 3]).max()))
            posed[:, count + number] = moved
        if largest < 1e-5 * size:
            break
    return posed[:, count:]


def fit_rigid(own: np.ndarray, wanted: np.ndarray, held: np.ndarray, size: float) -> np.ndarray:
    """Fit rigid transforms, shape (F, 4, 4), to vertices, softly held at other transforms.

    Parameters
    ----------
    own : float array, shape (4, 4)
        Weighted sum over vertices of (rest, 1) (rest, 1).
    wanted : float array, shape (F, 3, 4)
        Weighted sum of target times (rest, 1).
    held : float array, shape (F, 4, 4)
    size : float
        Size of the character.

    Notes
    -----
    Kabsch: the rotation about the mean of the vertices comes from the singular vectors of the moment.
    """
    hold, min_radius = 0.02, 0.005 * size  # weight of the held ball beside the vertices, and its radius
    mass = own[3, 3]
    center = own[3, :3] / mass
    radius = max(np.trace(own[:3, :3]) / mass - center @ center, min_radius**2)
    ball = hold * mass * np.diag([radius] * 3 + [0.0])
    ball += hold * mass * np.outer(np.append(center, 1.0), np.append(center, 1.0))
    total = wanted + held[:, :3] @ ball
    whole = mass * (1.0 + hold)
    middle = total[:, :, 3] / whole
    covariance = total[:, :, :3] - total[:, :, 3:] * center
    left, _, right = np.linalg.svd(covariance)
    signs = np.sign(determinants(left) * determinants(right))
    left[:, :, 2] *= np.where(signs == 0.0, 1.0, signs)[:, None]
    matrices = np.tile(np.eye(4), (len(wanted), 1, 1))
    matrices[:, :3, :3] = left @ right
    matrices[:, :3, 3] = middle - matrices[:, :3, :3] @ center
    return matrices
