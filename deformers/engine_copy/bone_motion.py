"""Split poses into location, rotation and scale relative to a parent, which is all that engines support."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algebra.dual_quaternions import quaternions_from_rotations
from ..algebra.rotations import make_continuous


@dataclass(frozen=True, eq=False)
class BoneMotion:
    """Motion of bones.

    Attributes
    ----------
    parents : int array, shape (N,)
        Index of each bone's parent, or -1. A bone that is sheared relative to its wanted parent has another one.
    locations : float64 array, shape (F, N, 3)
        In the bone's rest space on its parent.
    rotations : float64 array, shape (F, N, 4)
        Quaternions (w, x, y, z) without a change of sign from frame to frame.
    scales : float64 array, shape (F, N, 3)
    """

    parents: np.ndarray
    locations: np.ndarray
    rotations: np.ndarray
    scales: np.ndarray


def find_bone_motion(rests: np.ndarray, parents: np.ndarray, poses: np.ndarray) -> BoneMotion:
    """Split poses into the motion of each bone relative to its parent. Bones make up for shear, left out above them.

    Matrices at rest, (N, 4, 4), and in each frame, (F, N, 4, 4), are in armature space. `parents`, (N,), are the wanted
    ones, or -1.
    """
    max_shear, min_volume = 1e-4, 1e-12  # cosine between axes; determinant of a parent in any pose

    def find_base(bone: int, parent: int) -> np.ndarray:
        return rests[bone] if parent < 0 else reached[:, parent] @ (np.linalg.inv(rests[parent]) @ rests[bone])

    frame_count, bone_count = poses.shape[:2]
    chosen = np.full(bone_count, -1)
    parts = [np.zeros((frame_count, bone_count, width)) for width in (3, 4, 3)]
    reached = np.empty((frame_count, bone_count, 4, 4))
    for bone in sorted(range(bone_count), key=lambda bone: len(_list_ancestors(bone, parents))):
        best, least = np.empty(0), np.inf
        for parent in (*_list_ancestors(bone, parents), -1):
            base = find_base(bone, parent)
            if np.abs(np.linalg.det(base[..., :3, :3])).min() < min_volume:
                continue
            local = np.linalg.inv(base) @ poses[:, bone]
            shear = _measure_shear(local[:, :3, :3])
            if shear < 0.5 * least:
                chosen[bone], best, least = parent, local, shear
            if least <= max_shear:
                break
        location, rotation, scale = best[:, :3, 3], *_split(best[:, :3, :3])
        quaternions = make_continuous(quaternions_from_rotations(rotation)[:, None])[:, 0]
        for part, values in zip(parts, (location, quaternions, scale), strict=True):
            part[:, bone] = values
        local = np.zeros((frame_count, 4, 4))
        local[:, :3, :3], local[:, :3, 3], local[:, 3, 3] = rotation * scale[:, None], location, 1.0
        reached[:, bone] = find_base(bone, chosen[bone]) @ local
    return BoneMotion(chosen, *parts)


def without_scale(matrices: np.ndarray) -> np.ndarray:
    """Remove scale and shear from matrices, shape (n, 4, 4)."""
    result = matrices.copy()
    result[:, :3, :3], _ = _split(matrices[:, :3, :3])
    return result


def _list_ancestors(bone: int, parents: np.ndarray) -> list[int]:
    """List the bones above a bone, from its parent up."""
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
    """Split into rotations, shape (F, 3, 3), and scales, shape (F, 3). Mirrored matrices have three negative scales."""
    signs = np.where(np.linalg.det(linear) < 0.0, -1.0, 1.0)
    left, _, right = np.linalg.svd(linear * signs[:, None, None])
    left[:, :, 2] *= np.where(np.linalg.det(left @ right) < 0.0, -1.0, 1.0)[:, None]  # zero scales leave the sign open
    rotations = left @ right
    return rotations, np.einsum("fji,fji->fi", rotations, linear)
