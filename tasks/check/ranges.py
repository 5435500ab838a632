"""Which bends the joints of a character have: those of hinges and of limbs, by its rig, its actions and its shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import bpy
import numpy as np

from ...bridge.rigs.armatures import Skeleton
from ...bridge.rigs.rest_bones import read_rest_bones
from ...deformers.anatomy.body import Body
from ...deformers.anatomy.presets import Rig
from ...deformers.corrections.rotation_choice import MIN_BEND, find_axis, is_hinge, measure_angles, read_joint_rotations
from ...deformers.geometry.vectors import normalize
from ...deformers.measures.bends import DIRECTIONS, Bend, list_bends
from ...deformers.rig.hinges import find_shoulders
from ...deformers.rig.joint_angles import split_swing_twist
from ...deformers.rig.rest import Joints
from ...deformers.skinning.limb_roots import find_limb_hinges, find_limb_roots, find_limbs
from ..corrections.from_joints import FOLLOWED, PARTS, BentJoint, find_axes, find_body
from ..flesh.joints import MOST_END, TRUNK, find_largest_bend
from ..subject.rig_presets import find_rig_of
from .poses import CheckedPose

FORWARD, BACK = DIRECTIONS[:2]

# Parts of a rig: toes bend up and down, and not aside; whether digits are hinges, their shape tells
FOOT, TOES, DIGITS = "foot", "toes", ("thumb", "little_finger")

# A joint with at least this many children is a wrist and not a hinge
FINGERS = 3

# Minimal cosine between a bend's axis and a limited one for the limit to hold
ALIKE = 0.5


def find_own_bends(
    armature: bpy.types.Object, skeleton: Skeleton, poses: Sequence[CheckedPose], angle: float
) -> dict[int, list[Bend]]:
    """The bends of the joints of limbs; others, such as those of spine, neck and tail, bend to all sides.

    Hinges, such as elbows, knees and fingers, bend about their own axis alone, to their own side; toes up and down.
    Bones that go on within a limb twist. Wrists, ankles, shoulders and hips bend to all sides, as far as they can.

    Parameters
    ----------
    skeleton : Skeleton
    poses : sequence of CheckedPose
        Of actions.
    angle : float
        Radians, to each side, at most.
    """
    bones = read_rest_bones(armature)
    rig = find_rig_of(armature, bones)
    body = find_body(rig, bones)
    joints, limbs = skeleton.joints, find_limbs(skeleton.joints)
    matrices = np.array([pose.rest_to_pose for pose in poses]).reshape(-1, len(joints.parents), 4, 4)
    found = []
    for joint in map(int, skeleton.first_joints):
        if limbs[joint] and (above := int(joints.parents[joint])) >= 0:
            name = skeleton.name_joint(joint)
            axes = bones.axes[bones.index(name)]
            rotations = read_joint_rotations(matrices, joints.parents, joint, axes)
            found.append(BentJoint(name, joint, skeleton.name_joint(above), name, axes, rotations))
    is_moved = any(measure_angles(one.rotations).max(initial=0.0) > np.radians(TRUNK) for one in found)
    return {one.joint: _list_bends(one, skeleton, rig, body, is_moved, angle) for one in found}


def _list_bends(
    one: BentJoint, skeleton: Skeleton, rig: Rig | None, body: Body | None, is_moved: bool, angle: float
) -> list[Bend]:
    joints, joint = skeleton.joints, one.joint
    part, index = _find_part(rig, joint, skeleton)
    every = list_bends(joint, joints, angle)
    if part in PARTS and index > 0:
        return [bend for bend in every if bend.is_twist]
    if part == TOES and body is not None:
        along = joints.axes[joint]
        axis, most = normalize(body.left - (body.left @ along) * along), min(angle, np.radians(MOST_END))
        return [Bend(joint, FORWARD, axis, most), Bend(joint, BACK, axis, -most)]
    seen, is_hinge = _read_hinge(one)
    is_bent_aside = seen is not None and not is_hinge
    if part in FOLLOWED or (not is_bent_aside and _looks_like_hinge(joint, joints, part, is_hinge)):
        axis = find_axes(one, skeleton, rig, body)[0][0] if seen is None or is_bent_aside else seen
        return [Bend(joint, FORWARD, axis, min(angle, np.radians(MOST_END)) if part == TOES else angle)]
    if rig is None:
        return every
    most = min(angle, float(np.radians(find_largest_bend(rig, skeleton, one, is_moved))))
    axes, limits = find_axes(one, skeleton, rig, body) if part in PARTS else (np.empty((0, 3)), ())
    return [bend if bend.is_twist else _limit(bend, most, axes, limits) for bend in every]


def _find_part(rig: Rig | None, joint: int, skeleton: Skeleton) -> tuple[str, int]:
    """The part of the body that a joint is of, and where its bone stands among the deforming ones; "" for none.

    All that is below a foot are toes, whichever of them a preset tells of.
    """
    of_bones = {
        bone: (part, number)
        for (part, _), chain in (rig.bones.items() if rig is not None else ())
        for number, bone in enumerate(name for name in chain if name in skeleton.names)
    }
    if (found := of_bones.get(skeleton.name_joint(joint))) is not None:
        return found
    above = np.flatnonzero(skeleton.joints.chains.below[joint])
    return (TOES, 0) if any(of_bones.get(skeleton.name_joint(one), ("",))[0] == FOOT for one in above) else ("", 0)


def _read_hinge(one: BentJoint) -> tuple[np.ndarray | None, bool]:
    """The main axis of a joint's bends in actions, without twists, shape (3,), armature space, and whether it is the
    only one. None if actions do not bend the joint.
    """
    swings = np.insert(split_swing_twist(one.rotations)[0], 2, 0.0, axis=-1)
    moved = measure_angles(swings) >= MIN_BEND
    if not moved.any():
        return None, False
    axis, aside = find_axis(swings)
    return one.axes @ axis, is_hinge(aside[moved])


def _looks_like_hinge(joint: int, joints: Joints, part: str, is_seen: bool) -> bool:
    """Whether a joint of a part that no preset tells of, "", or of fingers or toes, is a hinge: by its shape, or within
    a limb, as animals' knees that are bent at rest, by actions that bend it as one."""
    is_wrist = np.count_nonzero(joints.parents == joint) >= FINGERS
    is_within = is_seen and not (find_limb_roots(joints) | find_shoulders(joints))[joint]
    return part in ("", TOES, *DIGITS) and not is_wrist and bool(find_limb_hinges(joints)[joint] or is_within)


def _limit(bend: Bend, most: float, axes: np.ndarray, limits: Sequence[float]) -> Bend:
    """A bend as far as the joint goes: by an angle, and by the limit of the axis that the bend is about, if any is."""
    along = axes @ bend.axis * np.sign(bend.angle)
    if len(along) and along.max() > ALIKE:
        most = min(most, limits[int(along.argmax())])
    return replace(bend, angle=float(np.sign(bend.angle)) * most)
