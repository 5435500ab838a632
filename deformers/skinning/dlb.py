"""DLB: dual quaternion linear blending (Kavan et al. 2007; Kurihara & Nishita, eq 3-8)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algebra.dual_quaternions import dual_quaternions_from_rigid
from ..algebra.polar import decompose_polar, find_rigid
from ..method import Method
from ..rig.rest import Joints, Pose, once_for_a_pose
from ..rig.skeleton import Chains
from .blending import Binding, bind, skin_points, skin_transforms, with_points
from .joint_shares import BULGE_LIMIT, CONTACT, LimitParams
from .stages import Stage, linear_stage, rigid_stage

__all__ = [
    "INFO",
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
class Params(LimitParams):
    """What can be chosen: bulge limit and contact."""


INFO = Method(
    key="DLB",
    number=1,
    label="Dual Quaternion",
    tooltip="Dual quaternion blending (DLB): keeps volume like Preserve Volume, without its tears",
    params=Params,
    choices=(BULGE_LIMIT, CONTACT),
    has_nodes=True,
)


def deform(binding: Binding, pose: Pose) -> np.ndarray:
    """Posed positions, float32, shape (V, 3), object space (eq 8).

    Notes
    -----
    The paper's DLB knows rigid transforms only. Here each scaled joint stretches about its own center first, and these
    stretches, which do not agree at the joints, are blended linearly. Blender's Preserve Volume, which finds
    translations per vertex, differs where bones are scaled.
    """
    return skin_points(binding, pose, find_stages(binding.joints, pose, binding.params))


def vertex_transforms(binding: Binding, pose: Pose) -> np.ndarray:
    """Where each vertex's space goes, float32, shape (V, 4, 4): layout as in `blending.skin_transforms`."""
    return skin_transforms(binding, pose, find_stages(binding.joints, pose, binding.params))


def align_signs(dual_quaternions: np.ndarray, chains: Chains) -> np.ndarray:
    """Give each joint's dual quaternion, shape (B, 8), the sign that agrees with its parent's (section 3.4).

    Whether a joint disagrees with its parent is known for all joints at once; a joint's sign is then the parity of the
    disagreements from the root down to it.
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
        They give the signs.
    rotations : float64 array, shape (B, 3, 3)
    translations : float64 array, shape (B, 3)
    """
    return rigid_stage(align_signs(dual_quaternions_from_rigid(rotations, translations), chains))


def blend_stretches(stretches: np.ndarray, translations: np.ndarray) -> Stage:
    """The stage that blends stretches, shapes (B, 3, 3) and (B, 3), linearly."""
    return linear_stage(np.concatenate([stretches, translations[:, :, None]], axis=2))


@once_for_a_pose
def find_stages(joints: Joints, pose: Pose, _params: Params) -> list[Stage]:
    """The stages that blend a pose: of rigid joints one, else the stretch about each joint's center goes first."""
    linear, translations = pose.rest_to_pose[:, :3, :3], pose.rest_to_pose[:, :3, 3]
    if find_rigid(linear).all():
        return [blend_rigid(joints.chains, linear, translations)]
    centers = np.asarray(joints.centers, np.float64)
    rotations, stretches = decompose_polar(linear, joints.parents)
    stretch_translations = centers - np.einsum("bij,bj->bi", stretches, centers)
    rigid_translations = translations + np.einsum("bij,bj->bi", linear - rotations, centers)
    return [
        blend_stretches(stretches, stretch_translations),
        blend_rigid(joints.chains, rotations, rigid_translations),
    ]
