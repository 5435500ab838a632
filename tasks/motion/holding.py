"""Keep planted feet in place: bend the legs, or shift the targets of their inverse kinematics."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np

from ...bridge.animation.channels import Matrices
from ...deformers.algebra.rotations import from_matrices, make_continuous
from ...deformers.motion.blending import Clip
from ...deformers.motion.feet import Foot
from ...deformers.motion.legs import bend_legs
from .layout import Layout
from .reading import PosedArmature

# Parts of the body's height by which a foot may be off
LEAST_SHIFT = 1e-5


def hold_feet(
    body: PosedArmature, layout: Layout, clip: Clip, matrices: Matrices, shifts: Sequence[np.ndarray]
) -> tuple[Clip, list[str]]:
    """Shift feet.

    Parameters
    ----------
    matrices : Matrices
        Of the clip.
    shifts : sequence of float arrays, shape (F, 3)
        Of each foot of the body, world space.

    Returns
    -------
    tuple
        The clip, and the bones of feet that cannot be held because something besides channels moves their legs.
    """
    locations, rotations, free = clip.locations.copy(), clip.rotations.copy(), []
    for foot, shift in zip(body.feet, shifts, strict=True):
        if np.abs(shift).max(initial=0.0) < LEAST_SHIFT * body.height:
            continue
        inner = np.einsum("fij,fj->fi", np.linalg.inv(matrices.world[:, :3, :3]), shift)
        constraints = _list_constraints(body, foot)
        if not constraints:
            _bend_leg(body, layout, foot, matrices, inner, rotations)
            continue
        control = _find_control(body, layout, foot, constraints)
        if control is None:
            free.append(body.rest.names[foot.ankle])
            continue
        bone = body.rest.names.index(control)
        space = matrices.pose[:, bone, :3, :3] @ np.linalg.pinv(matrices.basis[:, bone, :3, :3])
        locations[:, layout.nodes.index(control)] += np.einsum("fij,fj->fi", np.linalg.pinv(space), inner)
    held = Clip(locations, make_continuous(rotations), clip.scales, clip.values, clip.jumps)
    return held, free


def _list_line(body: PosedArmature, foot: Foot) -> list[int]:
    """The bones of a leg, from the foot up."""
    line = [foot.ankle]
    while line[-1] != foot.hip:
        line.append(body.rest.parents[line[-1]])
    return line


def _list_constraints(body: PosedArmature, foot: Foot) -> list[bpy.types.Constraint]:
    """Constraints that move a leg beside its channels."""
    bones = body.armature.pose.bones
    return [
        constraint
        for bone in _list_line(body, foot)
        for constraint in bones[body.rest.names[bone]].constraints
        if not constraint.mute and constraint.influence > 0.0
    ]


def _find_control(
    body: PosedArmature, layout: Layout, foot: Foot, constraints: Sequence[bpy.types.Constraint]
) -> str | None:
    """The bone whose location inverse kinematics of a leg follow: the nearest that actions move, if any.

    Bones that carry the leg itself do not count.
    """
    hip = body.armature.pose.bones[body.rest.names[foot.hip]]
    carrying = {bone.name for bone in (hip, *hip.parent_recursive)}
    for constraint in constraints:
        if constraint.type == "IK" and constraint.target == body.armature and constraint.subtarget:
            bone = body.armature.pose.bones.get(constraint.subtarget)
            while bone is not None and bone.name not in carrying:
                if (bone.name, "location") in layout.written:
                    return bone.name
                bone = bone.parent
    return None


def _bend_leg(
    body: PosedArmature, layout: Layout, foot: Foot, matrices: Matrices, shift: np.ndarray, rotations: np.ndarray
) -> None:
    """Turn the bones of a leg so that its foot is shifted, without being turned itself.

    Parameters
    ----------
    shift : float array, shape (F, 3)
        Armature space.
    rotations : float array, shape (F, N, 4)
        Of all nodes of the layout: those of the leg are changed.
    """
    hip, knee, ankle = (matrices.pose[:, bone] for bone in (foot.hip, foot.knee, foot.ankle))
    end = ankle[:, :3, 3]
    at_hip, at_knee = bend_legs(hip[:, :3, 3], knee[:, :3, 3], end, end + shift)
    for bone, before, after in (
        (foot.hip, np.eye(3), at_hip), (foot.knee, at_hip, at_hip @ at_knee), (foot.ankle, at_hip @ at_knee, np.eye(3)),
    ):  # fmt: skip
        _turn(layout, body.rest.names[bone], matrices.pose[:, bone], matrices.basis[:, bone], before, after, rotations)


def _turn(
    layout: Layout,
    name: str,
    pose: np.ndarray,
    basis: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    rotations: np.ndarray,
) -> None:
    """Rotate a bone whose parent space is rotated too, armature space.

    Parameters
    ----------
    pose, basis : float arrays, shape (F, 4, 4)
        Of the bone.
    before, after : float arrays, shape (F, 3, 3) or (3, 3)
        Rotations of the parent space, and of the bone.
    rotations : float array, shape (F, N, 4)
        Changed.
    """
    space = pose[:, :3, :3] @ np.linalg.pinv(basis[:, :3, :3])
    local = np.linalg.pinv(before @ space) @ after @ pose[:, :3, :3]
    left, _, right = np.linalg.svd(local / np.maximum(np.linalg.norm(local, axis=1, keepdims=True), 1e-12))
    rotations[:, layout.nodes.index(name)] = from_matrices(left @ right)
