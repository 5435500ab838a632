"""Which joints of a character are corrected by a method, and at which rotations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import bpy
import numpy as np

from ...bridge.animation.correction_drivers import find_reading_bone
from ...bridge.rigs.actions import AT_A_TIME, list_actions, list_frames, visit_frames
from ...bridge.rigs.armatures import Skeleton, read_pose
from ...bridge.rigs.rest_bones import read_rest_bones
from ...deformers import SkinningError
from ...deformers.anatomy.body import Body, RestBones, body_of_rig
from ...deformers.anatomy.presets import Rig
from ...deformers.corrections.rotation_choice import (
    ChosenRotations,
    choose_by_actions,
    choose_by_axes,
    measure_angles,
    read_joint_rotations,
)
from ...deformers.geometry.vectors import normalize
from ..steps import Steps
from ..subject.rig_presets import find_rig_of

# Parts of a body whose joints are corrected if none are named: elbows, knees, hips and shoulders
PARTS = ("forearm", "shin", "thigh", "upper_arm")

# The parts that hinges are joined to
FOLLOWED = {"forearm": "upper_arm", "shin": "thigh"}

# Of all actions together
MOST_READ = 600

# Of a joint that is bent at rest: it bends on to that side
LEAST_BEND = np.sin(np.radians(5.0))

# Distance of two bones' heads, in lengths of a bone, up to which they are at the same joint
SAME_HEAD = 1e-3


@dataclass(eq=False)
class BentJoint:
    """A joint that is to be corrected.

    Attributes
    ----------
    bone : str
        The deforming bone.
    parent : str
        The bone that it is joined to.
    reading : str
        Whose rotation tells how far the joint is bent.
    axes : float array, shape (3, 3)
        Of that bone at rest: columns, armature space.
    rotations : float array, shape (F, 4)
        In the frames of actions, about these axes.
    chosen : ChosenRotations
        At which it is corrected.
    """

    bone: str
    joint: int
    parent: str
    reading: str
    axes: np.ndarray
    rotations: np.ndarray = field(default_factory=lambda: np.empty((0, 4)))
    chosen: ChosenRotations = field(default_factory=lambda: ChosenRotations(np.empty((0, 4)), True))


def find_joints(armature: bpy.types.Object, skeleton: Skeleton, names: Sequence[str]) -> list[BentJoint]:
    """The joints of named bones, or those that a rig preset knows if none are named.

    Raises
    ------
    SkinningError
        If a bone has no joint, or no preset knows the rig.
    """
    bones = read_rest_bones(armature)
    if not names:
        rig = find_rig_of(armature, bones)
        names = _list_known(rig, skeleton) if rig is not None else []
        if not names:
            raise SkinningError(
                f"No rig preset matches the bone names of '{armature.name}': name the joints, such as elbows and knees"
            )
    found = [find_joint(armature, skeleton, bones, name) for name in names]
    return list({one.bone: one for one in found}.values())


def _list_known(rig: Rig, skeleton: Skeleton) -> list[str]:
    """The first deforming bone of each part that is corrected if none are named."""
    found = []
    for part in PARTS:
        for (own, _), chain in rig.bones.items():
            deforming = [bone for bone in chain if bone in skeleton.names]
            if own == part and deforming:
                found.append(deforming[0])
    return found


def find_joint(armature: bpy.types.Object, skeleton: Skeleton, bones: RestBones, name: str) -> BentJoint:
    if name not in bones.names:
        raise SkinningError(f"'{armature.name}' has no bone '{name}': name one of its deforming bones")
    given, name = name, _find_deforming(bones, name)
    if not name:
        raise SkinningError(f"Bone '{given}' of '{armature.name}' does not deform the skin: name a bone that does")
    joint = int(skeleton.first_joints[skeleton.names.index(name)])
    above = int(skeleton.joints.parents[joint])
    if above < 0:
        raise SkinningError(
            f"Bone '{name}' of '{armature.name}' has no joint with another bone: name a bone that bends against another"
        )
    parent = skeleton.name_joint(above)
    reading = _find_reading_at_rest(bones, name, parent)
    return BentJoint(name, joint, parent, reading, bones.axes[bones.index(reading)])


def _find_deforming(bones: RestBones, name: str) -> str:
    """The bone itself if it deforms the skin; otherwise the deforming bone with the same head and the nearest tail. ""
    if there is none."""
    index = bones.index(name)
    if bones.deforming[index]:
        return name
    heads, tails = (np.linalg.norm(ends - ends[index], axis=1) for ends in (bones.heads, bones.tails))
    length = float(np.linalg.norm(bones.tails[index] - bones.heads[index]))
    alike = np.flatnonzero(bones.deforming & (heads <= SAME_HEAD * length))
    return bones.names[alike[tails[alike].argmin()]] if alike.size else ""


def _find_reading_at_rest(bones: RestBones, name: str, parent: str) -> str:
    """The uppermost of a bone and those control bones above it that begin at the same point."""
    start = bones.index(name)
    length, best = float(np.linalg.norm(bones.tails[start] - bones.heads[start])), name
    while (above := bones.parents[bones.index(best)]) and above != parent:
        if np.linalg.norm(bones.heads[bones.index(above)] - bones.heads[start]) > SAME_HEAD * length:
            break
        best = above
    return best


def read_frames(
    armature: bpy.types.Object, skeleton: Skeleton, joints: Sequence[BentJoint], share: float
) -> Steps[np.ndarray]:
    """Read the poses of all actions, and fill in the joints' `rotations` and the bones to be read.

    Parameters
    ----------
    skeleton : Skeleton
    share : float
        Of all that is to be done.

    Yields
    ------
    float
        The share that is done.

    Returns
    -------
    float array, shape (F, B, 4, 4)
        From rest to pose.
    """
    actions = list_actions(armature)
    total = sum(len(list_frames(action)) for action in actions)
    step = 1 + (total - 1) // MOST_READ if total else 1
    matrices, reading = [], []
    for action in actions:
        frames = list_frames(action)[::step]
        for start in range(0, len(frames), AT_A_TIME):
            for depsgraph in visit_frames(armature, action, frames[start : start + AT_A_TIME]):
                evaluated = armature.evaluated_get(depsgraph)
                matrices.append(read_pose(evaluated, skeleton).rest_to_pose)
                reading.append([find_reading_bone(evaluated, one.bone, one.parent) for one in joints])
            yield share * min(1.0, step * len(matrices) / total)
    poses = np.array(matrices).reshape(-1, len(skeleton.joints.parents), 4, 4)
    bones = read_rest_bones(armature)
    for number, one in enumerate(joints):
        if not len(poses):
            break
        one.rotations = read_joint_rotations(poses, skeleton.joints.parents, one.joint, one.axes)
        if measure_angles(one.rotations).max() > 0.0:
            one.reading = reading[int(measure_angles(one.rotations).argmax())][number]
        one.axes = bones.axes[bones.index(one.reading)]
        one.rotations = read_joint_rotations(poses, skeleton.joints.parents, one.joint, one.axes)
    return poses


def choose_rotations(
    armature: bpy.types.Object, skeleton: Skeleton, joints: Sequence[BentJoint], angles: Sequence[float]
) -> None:
    """Choose at which rotations joints are corrected: by actions, else by anatomy, else about the bone's X axis.

    Parameters
    ----------
    joints : sequence of BentJoint
        After `read_frames`.
    angles : sequence of float
        Radians, ascending.
    """
    bones = read_rest_bones(armature)
    rig = find_rig_of(armature, bones)
    body = find_body(rig, bones)
    for one in joints:
        chosen = choose_by_actions(one.rotations, angles)
        if chosen is None:
            axes, limits = find_axes(one, skeleton, rig, body)
            chosen = choose_by_axes(axes @ one.axes, limits, angles)
        one.chosen = chosen


def find_body(rig: Rig | None, bones: RestBones) -> Body | None:
    if rig is None:
        return None
    try:
        return body_of_rig(rig, bones)
    except SkinningError:  # nobody can tell where its front is
        return None


def find_axes(
    one: BentJoint, skeleton: Skeleton, rig: Rig | None, body: Body | None
) -> tuple[np.ndarray, tuple[float, ...]]:
    """Axes, armature space, shape (D, 3), that a joint bends about, and how far about each, radians."""
    part = None if rig is None else next((part for part, chain in rig.bones.items() if one.bone in chain[:1]), None)
    if part is not None and body is not None:
        name, side = part[0], body.named[part[1]]
        limb = body.limbs[name, side]
        if name in FOLLOWED and (FOLLOWED[name], side) in body.limbs:
            bend = body.limbs[FOLLOWED[name], side].bend
            return normalize(np.cross(limb.along, bend))[None], (np.pi,)
        if name in PARTS:
            found = list(_list_directions(body, side, limb.along, name == "upper_arm"))
            return np.array([axis for axis, _ in found]), tuple(np.radians(limit) for _, limit in found)
    joints = skeleton.joints
    rest = np.cross(joints.axes[joints.parents[one.joint]], joints.axes[one.joint])
    across = one.axes[:, 0]
    is_back = np.linalg.norm(rest) > LEAST_BEND and rest @ across < 0.0
    return (-across if is_back else across)[None], (np.pi,)


def _list_directions(body: Body, side: str, along: np.ndarray, is_arm: bool) -> Iterator[tuple[np.ndarray, float]]:
    """Axes about which an arm or a leg goes forward, back, up or out, and down or in, with limits in degrees."""
    up = body.up if is_arm else body.outward(side)
    for direction, limit in ((body.front, 180.0), (-body.front, 45.0), (up, 90.0), (-up, 90.0 if is_arm else 45.0)):
        axis = np.cross(along, direction)
        if np.linalg.norm(axis) > 0.3:
            yield normalize(axis), limit
