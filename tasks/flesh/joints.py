"""Which joints of a character have flesh, and how far they are bent to see what it does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import bpy
import numpy as np

from ...bridge.rigs.armatures import Skeleton
from ...bridge.rigs.rest_bones import read_rest_bones
from ...deformers.anatomy.body import Body
from ...deformers.anatomy.presets import CENTRAL, Rig
from ...deformers.corrections.rotation_choice import MIN_BEND, find_axis, measure_angles
from ...deformers.flesh.limbs import Bend
from ...deformers.geometry.vectors import normalize
from ...deformers.rig.limbs import MAX_MIRROR_GAP, count_in_line, find_heirs, find_paired, measure_size
from ...deformers.rig.rest import Joints
from ...deformers.skinning.limb_roots import find_limb_hinges, find_limb_roots, find_limbs
from ..corrections.from_joints import BentJoint, find_axes, find_body, find_joint, read_frames
from ..steps import Steps
from ..subject.rig_presets import find_rig_of

# Degrees by which joints are bent: where limbs bend, where they begin, between these and the trunk, and of spine,
# neck and tail
HINGE, BALL, COLLAR, TRUNK = 135.0, 90.0, 25.0, 45.0

# Parts at the end of a limb, and the degrees that these are bent by at most, where a preset tells them
ENDS, MOST_END = ("hand", "foot", "toes"), 45.0

# The same of a joint of the trunk that is one of many, at least
LEAST_TRUNK = 15.0


def find_bends(armature: bpy.types.Object, skeleton: Skeleton, fleshy: np.ndarray) -> Steps[list[Bend]]:
    """The joints of the body that have flesh, with the ways in which they bend and the frames of all actions.

    Parameters
    ----------
    fleshy : int array
        Joints with skin that goes across, the fleshiest first.
    """
    bones, found = read_rest_bones(armature), {}
    rig = find_rig_of(armature, bones)
    of_body = _list_body(rig, skeleton)
    for joint in fleshy.tolist():
        if joint in of_body:
            one = find_joint(armature, skeleton, bones, skeleton.name_joint(joint))
            found.setdefault(one.reading, one)
    joints = list(found.values())
    yield from read_frames(armature, skeleton, joints, 0.1)
    is_moved = any(measure_angles(one.rotations).max(initial=0.0) > np.radians(TRUNK) for one in joints)
    body = find_body(rig, bones)
    return [_bend(skeleton, one, rig, body, is_moved) for one in joints]


def _list_body(rig: Rig | None, skeleton: Skeleton) -> set[int]:
    """Joints of trunk and limbs, without those within a limb that only twist, ears, jaws and the like."""
    joints, parents = skeleton.joints, skeleton.joints.parents
    firsts = {joint for joint in map(int, skeleton.first_joints) if parents[joint] >= 0}
    if rig is not None:
        names = {skeleton.name_joint(joint): joint for joint in firsts}
        chains = [
            [names[bone] for bone in chain if bone in names][: None if part in CENTRAL else 1]
            for (part, _), chain in rig.bones.items()
        ]
        return {joint for chain in chains for joint in chain}
    inner, lines = set(), count_in_line(joints)
    for joint in np.flatnonzero(lines > 1).tolist():
        above = joint
        for _ in range(int(lines[joint]) - 1):
            above = int(parents[above])
            inner.add(above)
    heirs, is_leaf = find_heirs(parents), ~np.isin(np.arange(len(parents)), parents)
    return {joint for joint in firsts - inner if not is_leaf[joint] or heirs[parents[joint]] == joint}


def _bend(skeleton: Skeleton, one: BentJoint, rig: Rig | None, body: Body | None, is_moved: bool) -> Bend:
    """The ways in which a joint is bent. `is_moved`: whether actions tell how far joints are bent."""
    joints, joint = skeleton.joints, one.joint
    is_limb = bool(find_limbs(joints)[joint])
    if is_limb and find_limb_hinges(joints)[joint]:
        if len(one.rotations) and measure_angles(one.rotations).max() > MIN_BEND:
            axis, along = find_axis(one.rotations)[0], one.axes.T @ joints.axes[joint]
            axis = normalize(axis - (axis @ along) * along)  # hands that turn are no part of it
        else:
            axis = one.axes.T @ find_axes(one, skeleton, rig, body)[0][0]
        is_end = rig is not None and _find_part(rig, one.bone) in ENDS
        limits = np.radians([MOST_END if is_end else HINGE])
        return Bend(joint, one.reading, one.axes, axis[None], limits, one.rotations)
    axes, limits = find_axes(one, skeleton, rig, body) if is_limb else (np.empty((0, 3)), ())
    if len(axes) < 2:
        axes = np.array(list(_list_directions(joints, joint, skeleton.frame)))
        limits = (np.pi,) * len(axes)
    largest = np.radians(find_largest_bend(rig, skeleton, one, is_moved) if is_limb else _share_bend(rig, one.bone))
    return Bend(joint, one.reading, one.axes, axes @ one.axes, np.minimum(limits, largest), one.rotations)


def find_largest_bend(rig: Rig | None, skeleton: Skeleton, one: BentJoint, is_moved: bool) -> float:
    """Degrees by which a limb's joint that is not a hinge is bent.

    Without a preset, actions tell collars from other joints: they bend an animal's shoulder blades little. `is_moved`:
    whether there are any that bend joints much.
    """
    if rig is not None:
        part = _find_part(rig, one.bone)
        if part in ENDS:
            return MOST_END
        is_collar = part == "collar_bone"
    else:
        joints, roots = skeleton.joints, find_limb_roots(skeleton.joints)
        is_collar = bool(roots[one.joint] and (roots & (joints.parents == one.joint)).any())
        seen = float(np.degrees(measure_angles(one.rotations).max(initial=0.0)))
        is_collar |= is_moved and seen < COLLAR
    return COLLAR if is_collar else BALL


def _find_part(rig: Rig, bone: str) -> str:
    """Which part of the body a bone is of; "" for none."""
    return next((part for (part, _), chain in rig.bones.items() if bone in chain), "")


def _share_bend(rig: Rig | None, bone: str) -> float:
    """Degrees by which a bone of the trunk is bent; several in a row share them."""
    counts = [] if rig is None else [len(chain) for chain in rig.bones.values() if bone in chain]
    return max(TRUNK / max(counts, default=1), LEAST_TRUNK)


def _list_directions(joints: Joints, joint: int, frame: np.ndarray) -> Iterator[np.ndarray]:
    """Axes, armature space, about which a bone goes along two axes of a frame, and back; mirrored on its sides."""
    upright = replace(joints, centers=np.asarray(joints.centers, np.float64) @ frame)
    _, lateral, middle = find_paired(upright)
    along, aside = joints.axes[joint], MAX_MIRROR_GAP * measure_size(joints)
    for axis in np.argsort(np.abs(along @ frame).round(4), kind="stable")[:2]:
        side = -1.0 if axis == lateral and upright.centers[joint][axis] < middle - aside else 1.0
        for sign in (side, -side):
            yield normalize(np.cross(along, sign * frame[:, axis]))
