"""The poses that a character is checked in: frames of its actions, and a range of motion made of its rest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import bpy
import numpy as np

from ...bridge.animation import find_curve_paths
from ...bridge.armatures import Skeleton, read_pose
from ...deformers.measures.bends import Bend
from ...deformers.measures.joint_faults import measure_joint_angles

MOST_FRAMES = 60
"""Of all actions together: those whose poses differ most."""

BONE = re.compile(r'pose\.bones\["((?:[^"\\]|\\.)*)"\]')


@dataclass(frozen=True)
class CheckedPose:
    """A pose and where it comes from.

    Attributes
    ----------
    action : str
        Of the frame; "" for the scene's own animation, and for a bend.
    frame : int
    bends : tuple of Bend
        Where it is of the range of motion.
    rest_to_pose : float array, shape (B, 4, 4)
    bent_bones : tuple of str
        Names of the bones of `bends`.
    """

    action: str
    frame: int
    bends: tuple[Bend, ...]
    rest_to_pose: np.ndarray
    bent_bones: tuple[str, ...] = ()

    def describe(self) -> str:
        """Where it comes from, in words."""
        if self.bends:
            bend = self.bends[0]
            degrees = round(abs(np.degrees(bend.angle)))
            return (
                f"twisted {bend.side}, {degrees} degrees" if bend.is_twist else f"bent {bend.side}, {degrees} degrees"
            )
        return f"{self.action}, frame {self.frame}" if self.action else f"frame {self.frame}"


def list_actions(armature: bpy.types.Object) -> list[bpy.types.Action]:
    """The file's actions that move bones of an armature, the one that it plays first."""
    names = {bone.name for bone in armature.pose.bones}
    playing = armature.animation_data.action if armature.animation_data else None
    found = [action for action in bpy.data.actions if names & _find_bones(action)]
    return sorted(found, key=lambda action: action != playing)


def _find_bones(action: bpy.types.Action) -> set[str]:
    return {match[1] for path in find_curve_paths(action) if (match := BONE.match(path))}


def read_action_poses(armature: bpy.types.Object, skeleton: Skeleton) -> list[CheckedPose]:
    """The most different poses of each action of an armature; the user's pose, frame and meshes stay as they are."""
    actions = list_actions(armature)
    chosen: list[CheckedPose] = []
    with _alone(armature) as scene:
        for action in actions:
            armature.animation_data.action = action
            first, last = (round(end) for end in action.frame_range)
            poses = list(_read_frames(scene, armature, skeleton, action.name, range(first, last + 1)))
            chosen += choose_different(poses, skeleton, max(2, MOST_FRAMES // len(actions)))
    return chosen


def read_scene_poses(armature: bpy.types.Object, skeleton: Skeleton, frames: range) -> list[CheckedPose]:
    """The poses of an armature as it is animated, in these frames."""
    with _alone(armature) as scene:
        return list(_read_frames(scene, armature, skeleton, "", frames))


def choose_different(poses: list[CheckedPose], skeleton: Skeleton, count: int) -> list[CheckedPose]:
    """So many of the poses: one after the other that which is farthest from all before, by the angles of its joints."""
    matrices = np.array([pose.rest_to_pose for pose in poses])
    angles = measure_joint_angles(matrices, skeleton.joints.parents)
    chosen = [int(angles.sum(axis=1).argmax())]
    nearest = np.full(len(poses), np.inf)
    while len(chosen) < min(count, len(poses)):
        nearest = np.minimum(nearest, np.abs(angles - angles[chosen[-1]]).max(axis=1))
        chosen.append(int(nearest.argmax()))
    return [poses[number] for number in sorted(set(chosen))]


def _read_frames(
    scene: bpy.types.Scene, armature: bpy.types.Object, skeleton: Skeleton, action: str, frames: range
) -> Iterator[CheckedPose]:
    for frame in frames:
        scene.frame_set(frame)
        evaluated = armature.evaluated_get(scene.view_layers[0].depsgraph)
        yield CheckedPose(action, frame, (), read_pose(evaluated, skeleton).rest_to_pose)


@contextmanager
def _alone(armature: bpy.types.Object) -> Iterator[bpy.types.Scene]:
    """A scene with an armature and what moves it; its action is what it was, afterward."""
    is_animated = armature.animation_data is not None
    data = armature.animation_data or armature.animation_data_create()
    action, slot = data.action, getattr(data, "action_slot", None)
    scene = bpy.data.scenes.new("Supple Check")
    try:
        scene.collection.objects.link(armature)
        yield scene
    finally:
        bpy.data.scenes.remove(scene)
        if not is_animated:
            armature.animation_data_clear()
        elif data.action != action:
            data.action = action
            if slot is not None:
                data.action_slot = slot
