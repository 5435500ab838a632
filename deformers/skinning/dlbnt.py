"""DLBNT: dual quaternion linear blending with non-rigid transforms (Kurihara & Nishita, section 3)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..algebra.polar import decompose_polar, find_rigid
from ..method import STRETCH, Method
from ..option import Option
from ..rig.rest import Joints, Pose, Rest, once_for_a_pose
from . import blending
from .blending import Binding, skin_points, skin_transforms, with_points
from .dlb import blend_rigid, blend_stretches
from .stages import Stage

__all__ = [
    "INFO",
    "Params",
    "bind",
    "deform",
    "find_stages",
    "split_transforms",
    "vertex_transforms",
    "with_points",
]

ORDER = Option(
    name="order",
    label="Order",
    tooltip="What scaled bones apply first: stretch or rotation",
    items=(
        ("GH", "Stretch First", "Stretches the skin at rest, then rotates it with the bones: M = G H in the paper"),
        (
            "HG",
            "Rotation First",
            "Rotates the skin with the bones, then stretches the posed skin: M = H G in the paper",
        ),
    ),
    help="what DLBNT applies first: GH for stretch, HG for rotation",
)


@dataclass(frozen=True)
class Params:
    """Choices of the user.

    Attributes
    ----------
    order : str
        "GH": stretch first, then rotation (M = G H, eq 9). "HG": rotation first, then stretch (M = H G, eq 17).
    """

    order: str = "GH"

    def __post_init__(self) -> None:
        ORDER.check(self.order)


INFO = Method(
    key="DLBNT",
    number=2,
    label="DQ with Stretch",
    tooltip="Dual quaternion blending with stretch (DLBNT): keeps volume and follows scaled bones",
    params=Params,
    choices=(ORDER,),
    evaluation=STRETCH,
)


def bind(rest: Rest, params: Params) -> Binding:
    """Sort the vertices into blocks; raises SkinningError as `blending.bind` does.

    Segments do not roll, as in the paper.
    """
    return blending.bind(replace(rest, joints=rest.joints.without_rolls), params)


def deform(binding: Binding, pose: Pose) -> np.ndarray:
    """Posed positions, float32, shape (V, 3), object space (eq 10-11)."""
    return skin_points(binding, pose, find_stages(binding.joints, pose, binding.params))


def vertex_transforms(binding: Binding, pose: Pose) -> np.ndarray:
    """Transform of each vertex's space, float32, shape (V, 4, 4): layout as in `blending.skin_transforms`."""
    return skin_transforms(binding, pose, find_stages(binding.joints, pose, binding.params))


def split_transforms(joints: Joints, pose: Pose, order: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Split each joint's transform M into a rigid part G and a stretch H that agree along the skeleton.

    Parameters
    ----------
    pose : Pose
        Of these joints.
    order : str
        As in `Params`.

    Returns
    -------
    rotations, rigid_translations, stretches, stretch_translations : float64 arrays
        Shapes (B, 3, 3), (B, 3), (B, 3, 3), (B, 3). M = G H or, by the order, M = H G.

    Notes
    -----
    M = G H: the parent's H and the joint's own carry the joint's center o to the same position (eq 15). Eq 16 then
    reads t_h = t_h of the parent + (S of the parent - S) o: a sum along the chain. At the root t_h = 0.

    M = H G (eq 17; the paper gives no formulas): the same condition at x = G o, the center's position before H. It
    reads t_g = t_g of the parent + (R of the parent - R) o + d, where d is, before the parent's stretch, the offset of
    the joint's posed center from its position by the parent: zero for joints that hold together. Below a parent scaled
    by s < 1 the offset is multiplied by s instead of divided by it, and H takes the rest: it must stay finite if s goes
    to zero. At the root H leaves the posed center in place.
    """
    return _split_gh(joints, pose) if order == "GH" else _split_hg(joints, pose)


def _split_gh(joints: Joints, pose: Pose) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    chains, centers = joints.chains, np.asarray(joints.centers, np.float64)
    rotations, stretches = decompose_polar(pose.rest_to_pose[:, :3, :3], chains.parents)
    change = chains.of_parents(stretches, np.eye(3)) - stretches
    steps = np.where(chains.is_root[:, None], 0.0, _transform(change, centers))
    stretch_translations = chains.sum(steps)
    rigid_translations = pose.rest_to_pose[:, :3, 3] - _transform(rotations, stretch_translations)
    return rotations, rigid_translations, stretches, stretch_translations


def _split_hg(joints: Joints, pose: Pose) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    chains, centers = joints.chains, np.asarray(joints.centers, np.float64)
    linear, translations = pose.rest_to_pose[:, :3, :3], pose.rest_to_pose[:, :3, 3]
    back, stretches = decompose_polar(linear.transpose(0, 2, 1), chains.parents)  # of M^T, as H stands to the left
    rotations, stretches = back.transpose(0, 2, 1), stretches.transpose(0, 2, 1)
    from_parents = _transform(chains.of_parents(linear, np.eye(3)), centers) + chains.of_parents(translations, 0.0)
    offsets = _transform(linear, centers) + translations - from_parents
    change = chains.of_parents(rotations, np.eye(3)) - rotations
    unstretch = _damped_inverses(chains.of_parents(stretches, np.eye(3)))
    rigid_translations = chains.sum(_transform(change, centers) + _transform(unstretch, offsets))
    stretch_translations = translations - _transform(stretches, rigid_translations)
    return rotations, rigid_translations, stretches, stretch_translations


def _transform(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Each joint's matrix, shape (B, 3, 3), times its vector, shape (B, 3)."""
    return np.einsum("bij,bj->bi", matrices, vectors)


def _damped_inverses(matrices: np.ndarray) -> np.ndarray:
    """Inverses, shape (B, 3, 3), for scales > 1; scales s < 1 are multiplied by s instead of divided by it."""
    left, scales, right = np.linalg.svd(matrices)
    return ((left * (scales / np.maximum(1.0, scales**2))[:, None]) @ right).transpose(0, 2, 1)


@once_for_a_pose
def find_stages(joints: Joints, pose: Pose, params: Params) -> list[Stage]:
    """The stages that blend a pose: one for rigid joints, else the stretch and the rigid motion by the order.

    `pose`: of these joints.
    """
    linear, translations = pose.rest_to_pose[:, :3, :3], pose.rest_to_pose[:, :3, 3]
    if find_rigid(linear).all():
        return [blend_rigid(joints.chains, linear, translations)]
    rotations, rigid_translations, stretches, stretch_translations = split_transforms(joints, pose, params.order)
    stretch = blend_stretches(stretches, stretch_translations)
    rigid = blend_rigid(joints.chains, rotations, rigid_translations)
    return [stretch, rigid] if params.order == "GH" else [rigid, stretch]
