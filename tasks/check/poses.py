"""The poses that a character is checked in: frames of its actions, and a range of motion made of its rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import bpy
import numpy as np

from ...bridge.changes import without_changes
from ...bridge.rigs.actions import AT_A_TIME, check_length, find_times, list_actions, list_frames, read_poses
from ...bridge.rigs.armatures import Skeleton
from ...deformers.measures.bends import Bend
from ...deformers.measures.joint_faults import measure_rotations
from ..steps import Steps

# Limit for all actions together
MOST_FRAMES = 60


@dataclass(frozen=True)
class CheckedPose:
    """A pose and its origin. Poses are compared by origin, because another Blender sends back copies.

    Attributes
    ----------
    action : str
        Its action; "" for the scene's own animation, and for a bend.
    bends : tuple of Bend
        Bends of a pose of the range of motion.
    rest_to_pose : float array, shape (B, 4, 4)
    bent_bones : tuple of str
        Names of the bones of `bends`.
    hints : float array, shape (B,), or None
        As of a `Pose`.
    """

    action: str
    frame: int
    bends: tuple[Bend, ...]
    rest_to_pose: np.ndarray = field(compare=False)
    bent_bones: tuple[str, ...] = ()
    hints: np.ndarray | None = field(default=None, compare=False)

    def find_bend(self, bone: str) -> Bend:
        """How a bone is bent in a pose of the range of motion; if it is not, how the first is."""
        return dict(zip(self.bent_bones, self.bends, strict=True)).get(bone, self.bends[0])

    def describe(self, bone: str) -> str:
        """Its origin in words; for a bend, that of a bone."""
        if self.bends:
            bend = self.find_bend(bone)
            degrees = round(abs(np.degrees(bend.angle)))
            return (
                f"twisted {bend.side}, {degrees} degrees" if bend.is_twist else f"bent {bend.side}, {degrees} degrees"
            )
        return f"{self.action}, frame {self.frame}" if self.action else f"frame {self.frame}"


def read_action_poses(armature: bpy.types.Object, skeleton: Skeleton) -> Steps[list[CheckedPose]]:
    """The most different poses of each action of an armature; the user's pose, frame and meshes stay as they are.

    Of all frames only the angles are kept, as the poses of a long action take gigabytes: those chosen are read again.
    Raises SkinningError if an action has more frames than are read.

    Yields
    ------
    float
        The share that is done.
    """
    actions = list_actions(armature)
    for action in actions:
        check_length(action, list_frames(action))
    chosen: list[CheckedPose] = []
    for done, action in enumerate(actions):
        frames, angles = list_frames(action), []
        for start in range(0, len(frames), AT_A_TIME):
            with without_changes():
                poses = read_poses(armature, skeleton, action, frames[start : start + AT_A_TIME])
                angles += [measure_rotations(pose.rest_to_pose, skeleton.joints.parents) for pose in poses]
            yield (done + len(angles) / len(frames)) / len(actions)
        numbers = choose_different(np.array(angles), max(2, MOST_FRAMES // len(actions)))
        chosen += label_poses(armature, skeleton, action, [frames[number] for number in numbers])
    return chosen


def label_poses(
    armature: bpy.types.Object, skeleton: Skeleton, action: bpy.types.Action | None, frames: Sequence[int]
) -> list[CheckedPose]:
    """The poses of an armature in frames of an action, or, without one, of the scene; see `read_poses`."""
    times = find_times(bpy.context.scene, frames).tolist() if action is None else frames
    name = "" if action is None else action.name
    with without_changes():
        return [
            CheckedPose(name, frame, (), pose.rest_to_pose, hints=pose.hints)
            for frame, pose in zip(frames, read_poses(armature, skeleton, action, times), strict=True)
        ]


def choose_different(angles: np.ndarray, count: int) -> list[int]:
    """Pick `count` poses by farthest-point sampling of their angles, shape (F, B): ascending indices."""
    chosen = [int(angles.sum(axis=1).argmax())]
    nearest = np.full(len(angles), np.inf)
    while len(chosen) < min(count, len(angles)):
        nearest = np.minimum(nearest, np.abs(angles - angles[chosen[-1]]).max(axis=1))
        chosen.append(int(nearest.argmax()))
    return sorted(set(chosen))
