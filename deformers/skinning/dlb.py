"""DLB: dual quaternion linear blending (Kavan et al. 2007; Kurihara & Nishita, eq 3-8), Preserve Volume in Blender."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..algebra.dual_quaternions import dual_quaternions_from_rigid, quaternions_from_rotations, translate_quaternions
from ..algebra.polar import decompose_polar, find_rigid
from ..method import BLENDER, Method
from ..rig.rest import Joints, Pose, Rest, once_for_a_pose
from ..rig.skeleton import Chains
from . import blending
from .blending import Binding, skin_points, skin_transforms, with_points
from .limb_roots import LIMB_ROOTS, with_linear_roots
from .stages import Stage, linear_stage, pivot_stage, rigid_stage

__all__ = [
    "INFO",
    "PRESERVE_VOLUME",
    "Params",
    "align_signs",
    "bind",
    "blend_rigid",
    "blend_stretches",
    "deform",
    "vertex_transforms",
    "with_points",
]


@dataclass(frozen=True)
class Params:
    """Choices of the user.

    Attributes
    ----------
    limb_roots : float
        How linearly the roots of limbs are blended, 0 to 1; 0 is Blender's Preserve Volume.
    """

    limb_roots: float = 1.0

    def __post_init__(self) -> None:
        LIMB_ROOTS.check(self.limb_roots)


# As Blender's Armature modifier with Preserve Volume
PRESERVE_VOLUME = Params(limb_roots=0.0)

INFO = Method(
    key="DLB",
    number=1,
    label="Dual Quaternion",
    tooltip="Dual quaternion blending (DLB), as Preserve Volume: limbs keep their thickness in bends and twists",
    params=Params,
    choices=(LIMB_ROOTS,),
    evaluation=BLENDER,
)


def bind(rest: Rest, params: Params) -> Binding:
    """Sort the vertices into blocks, and find the roots of limbs; raises SkinningError as `blending.bind` does."""
    return blending.bind(with_linear_roots(rest, params.limb_roots), params)


def deform(binding: Binding, pose: Pose) -> np.ndarray:
    """Posed positions, float32, shape (V, 3), object space (eq 8).

    Notes
    -----
    The paper's DLB has rigid transforms only. As Blender's Preserve Volume, this splits a joint's M into a rotation R
    and a scale S. The vertex v is first moved by S v - v, and the dual quaternion of R after this translation is
    blended: q + eps/2 (M v - R v) q. As (R v) q = q v, the blend takes v to (sum w (M v) q) q* / |q|^2, with q* the
    conjugate of q = sum w q: the sum is affine in v.
    """
    return skin_points(binding, pose, find_stages(binding.joints, pose, binding.params))


def vertex_transforms(binding: Binding, pose: Pose) -> np.ndarray:
    """Transform of each vertex's space, float32, shape (V, 4, 4): layout as in `blending.skin_transforms`."""
    return skin_transforms(binding, pose, find_stages(binding.joints, pose, binding.params))


def align_signs(dual_quaternions: np.ndarray, chains: Chains) -> np.ndarray:
    """Give each joint's dual quaternion, shape (B, 8), the sign that agrees with its parent's (section 3.4).

    A joint's sign is the parity of the disagreements between joint and parent from the root down to it.
    """
    real = dual_quaternions[:, :4]
    disagrees = np.einsum("bi,bi->b", real, chains.of_parents(real, np.eye(1, 4))) < 0
    odd = chains.sum(disagrees.astype(np.intp)) % 2 == 1
    return np.where(odd[:, None], -dual_quaternions, dual_quaternions)


def blend_rigid(chains: Chains, rotations: np.ndarray, translations: np.ndarray) -> Stage:
    """The stage that blends rigid transforms as dual quaternions.

    Parameters
    ----------
    chains : Chains
        For the signs.
    rotations : float64 array, shape (B, 3, 3)
    translations : float64 array, shape (B, 3)
    """
    return rigid_stage(align_signs(dual_quaternions_from_rigid(rotations, translations), chains))


def blend_stretches(stretches: np.ndarray, translations: np.ndarray) -> Stage:
    """The stage that blends stretches, shapes (B, 3, 3) and (B, 3), linearly."""
    return linear_stage(np.concatenate([stretches, translations[:, :, None]], axis=2))


@once_for_a_pose
def find_stages(joints: Joints, pose: Pose, _params: Params) -> list[Stage]:
    """The stage that blends a pose, which is cheaper for rigid joints."""
    linear, translations = pose.rest_to_pose[:, :3, :3], pose.rest_to_pose[:, :3, 3]
    is_rigid = find_rigid(linear)
    if is_rigid.all():
        return [replace(blend_rigid(joints.chains, linear, translations), has_vertex_signs=True)]
    rotations = np.where(is_rigid[:, None, None], linear, find_rotations(linear, joints))
    quaternions = align_signs(quaternions_from_rotations(rotations), joints.chains)
    columns = pose.rest_to_pose[:, :3].transpose(0, 2, 1)  # images of the axes, and of the origin
    images = 2.0 * translate_quaternions(columns.reshape(-1, 3), np.repeat(quaternions, 4, axis=0))
    return [replace(pivot_stage(quaternions, images.reshape(-1, 4, 4)), has_vertex_signs=True)]


def find_rotations(linear: np.ndarray, joints: Joints) -> np.ndarray:
    """The rotation that Blender takes from each joint's matrix, shape (B, 3, 3).

    It keeps the direction of the bone's y, and rotates x to be orthogonal to it. If joints do not know their bones'
    axes, or these are undefined, it is the rotation of the polar decomposition: equal for bones that are scaled along
    their own axes.

    Parameters
    ----------
    linear : float64 array, shape (B, 3, 3)
        From rest to pose.
    """
    if joints.orientations is None:
        return decompose_polar(linear, joints.parents)[0]
    x, y, _ = (linear @ joints.orientations).transpose(2, 0, 1)
    across = np.cross(x, y)
    sizes = [np.linalg.norm(rows, axis=1) for rows in (x, y, across)]
    min_sine = 1e-5  # Sine of the angle between a bone's posed x and y for them to define its rotation
    is_clear = (sizes[2] > min_sine * sizes[0] * sizes[1]) & (np.minimum(*sizes[:2]) > min_sine)
    y, z = (rows / np.where(is_clear, size, 1.0)[:, None] for rows, size in zip((y, across), sizes[1:], strict=True))
    rotations = np.stack([np.cross(y, z), y, z], axis=2) @ joints.orientations.transpose(0, 2, 1)
    if is_clear.all():
        return rotations
    return np.where(is_clear[:, None, None], rotations, decompose_polar(linear, joints.parents)[0])
