"""Poses as bones have them: location, rotation and scale against a parent, which is all that engines know."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algebra.dual_quaternions import quaternions_from_rotations

SHEAR = 1e-4
"""Cosine between axes of a bone, by which they may be off a right angle."""

LEAST_VOLUME = 1e-12
"""Determinant of a parent in any pose, under which nothing follows it."""


@dataclass(frozen=True, eq=False)
class BoneMotion:
    """How bones move.

    Attributes
    ----------
    parents : int array, shape (N,)
        -1 for none. Not that asked for where a bone against it is sheared, as under one with uneven scale.
    locations : float64 array, shape (F, N, 3)
        In the bone's own space at rest, on its parent.
    rotations : float64 array, shape (F, N, 4)
        Quaternions (w, x, y, z) that go on from frame to frame without a change of sign.
    scales : float64 array, shape (F, N, 3)
    """

    parents: np.ndarray
    locations: np.ndarray
    rotations: np.ndarray
    scales: np.ndarray


def find_bone_motion(rests: np.ndarray, parents: np.ndarray, poses: np.ndarray) -> BoneMotion:
    """Split poses into what each bone does against its parent.

    What can be no location, rotation and scale, a shear, is left out, and bones below make up for it.

    Parameters
    ----------
    rests : float array, shape (N, 4, 4)
        Of the bones, armature space.
    parents : int array, shape (N,)
        The bone that each shall hang on, -1 for none; no circles.
    poses : float array, shape (F, N, 4, 4)
        The same in each frame.
    """
    frame_count, bone_count = poses.shape[:2]
    chosen = np.full(bone_count, -1)
    parts = [np.zeros((frame_count, bone_count, width)) for width in (3, 4, 3)]
    reached = np.empty((frame_count, bone_count, 4, 4))
    for bone in _order_down(parents):
        best, least = np.empty(0), np.inf
        for parent in (*_list_ancestors(bone, parents), -1):
            base = rests[bone] if parent < 0 else reached[:, parent] @ (np.linalg.inv(rests[parent]) @ rests[bone])
            if np.abs(np.linalg.det(base[..., :3, :3])).min() < LEAST_VOLUME:
                continue
            local = np.linalg.inv(base) @ poses[:, bone]
            shear = _measure_shear(local[:, :3, :3])
            if shear < 0.5 * least:
                chosen[bone], best, least = parent, local, shear
            if least <= SHEAR:
                break
        location, rotation, scale = best[:, :3, 3], *_split(best[:, :3, :3])
        quaternions = _make_continuous(quaternions_from_rotations(rotation))
        for part, values in zip(parts, (location, quaternions, scale), strict=True):
            part[:, bone] = values
        parent = chosen[bone]
        base = rests[bone] if parent < 0 else reached[:, parent] @ (np.linalg.inv(rests[parent]) @ rests[bone])
        local = np.zeros((frame_count, 4, 4))
        local[:, :3, :3], local[:, :3, 3], local[:, 3, 3] = rotation * scale[:, None], location, 1.0
        reached[:, bone] = base @ local
    return BoneMotion(chosen, *parts)


def without_scale(matrices: np.ndarray) -> np.ndarray:
    """Rotations and translations of matrices, shape (n, 4, 4)."""
    result = matrices.copy()
    result[:, :3, :3], _ = _split(matrices[:, :3, :3])
    return result


def _order_down(parents: np.ndarray) -> list[int]:
    """All bones, each after its parent."""
    return sorted(range(len(parents)), key=lambda bone: len(_list_ancestors(bone, parents)))


def _list_ancestors(bone: int, parents: np.ndarray) -> list[int]:
    """The parent of a bone, that one's parent, and so on."""
    found = []
    while (bone := int(parents[bone])) >= 0:
        found.append(bone)
    return found


def _measure_shear(linear: np.ndarray) -> float:
    """Largest cosine between the axes of matrices, shape (F, 3, 3)."""
    lengths = np.linalg.norm(linear, axis=1)
    axes = linear / np.maximum(lengths, 1e-12)[:, None]
    between = axes.transpose(0, 2, 1) @ axes
    return float(np.abs(between[:, (0, 0, 1), (1, 2, 2)]).max(initial=0.0))


def _split(linear: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotations, shape (F, 3, 3), and scales along their axes, shape (F, 3); mirrored ones have all three negative."""
    signs = np.where(np.linalg.det(linear) < 0.0, -1.0, 1.0)
    left, _, right = np.linalg.svd(linear * signs[:, None, None])
    left[:, :, 2] *= np.where(np.linalg.det(left @ right) < 0.0, -1.0, 1.0)[:, None]  # zero scales leave it open
    rotations = left @ right
    return rotations, np.einsum("fji,fji->fi", rotations, linear)


def _make_continuous(quaternions: np.ndarray) -> np.ndarray:
    """Quaternions, shape (F, 4), of the sign that is nearer to the one before."""
    turns = (quaternions[1:] * quaternions[:-1]).sum(axis=1) < 0.0
    signs = np.cumprod(np.concatenate([[1.0], np.where(turns, -1.0, 1.0)]))
    return quaternions * signs[:, None]
