"""What an armature's bones can do, by their channels, constraints and actions, whichever frame is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bpy
import numpy as np

from ...deformers.algebra.dual_quaternions import multiply_quaternions, quaternions_from_rotations
from ...deformers.rig.reach import Reach
from ..arrays import read_array
from .armatures import Skeleton
from .twists import (
    SCALE,
    SIZES,
    TURNS,
    Keys,
    Moved,
    Path,
    Rotations,
    interpolate_keys,
    list_driven,
    measure_twists,
    rotations_of_channel,
)

WITHOUT_SCALE = {
    "CLAMP_TO", "COPY_LOCATION", "COPY_ROTATION", "DAMPED_TRACK", "FLOOR", "IK", "LIMIT_DISTANCE", "LIMIT_LOCATION",
    "LIMIT_ROTATION", "LIMIT_SCALE", "LOCKED_TRACK", "PIVOT", "SHRINKWRAP", "TRACK_TO",
}  # fmt: skip
"""Constraints that scale no bone that is not scaled already."""

WITHOUT_ROTATION = {"COPY_LOCATION", "FLOOR", "LIMIT_DISTANCE", "LIMIT_LOCATION", "LIMIT_SCALE"}
"""Constraints that rotate none."""

SCALED = 5e-5
"""Difference of a scale from 1 from which on a bone is scaled: imported actions hold 4e-5 of noise, by which Blender
stretches skin, too."""

MOST_SAMPLES = 256
"""Poses that are looked at of an action, at most."""


def read_reach(
    armature: bpy.types.Object, skeleton: Skeleton, rotations: Rotations, moved: Moved, keys: Sequence[Keys]
) -> Reach:
    """What the bones of an armature can do.

    Parameters
    ----------
    skeleton : Skeleton
        Of the armature.
    rotations : Rotations
        What its channels hold, without what keys and drivers move.
    moved : Moved
        What these move.
    keys : sequence of Keys
        Of its actions.
    """
    bones, driven, count = _Bones(armature, skeleton, rotations), list_driven(armature), len(skeleton.joints.parents)
    problem = _find_problem(armature, bones, rotations, moved, driven, keys)
    if problem:
        return Reach(problem, np.zeros((0, count, 4)), np.ones(count, bool), np.full(count, np.inf))
    samples = [bones.pose({}), *(bones.pose(of_action) for of_action in keys if of_action)]
    twists = measure_twists(rotations, moved, keys)
    return Reach(
        problem,
        rotations=np.concatenate(samples)[:, bones.of_joints],
        is_free=bones.find_free(driven),
        twists=np.array([twists[bones.names[bone]] for bone in bones.of_joints.tolist()]),
    )


class _Bones:
    """All bones of an armature, parents first, and which of them move joints."""

    def __init__(self, armature: bpy.types.Object, skeleton: Skeleton, rotations: Rotations) -> None:
        bones: Any = armature.data.bones
        self.names, self._rotations = rotations.names, rotations
        index = {name: number for number, name in enumerate(self.names)}
        self._modes = {bone.name: bone.rotation_mode for bone in armature.pose.bones}
        self.parents = np.array(
            [index[bone.parent.name] if (bone := bones[name]).parent else -1 for name in self.names]
        )
        turns = read_array(bones, "matrix_local", 16).reshape(-1, 4, 4).transpose(0, 2, 1)[:, :3, :3]
        order = [bones.find(name) for name in self.names]
        self._rest = quaternions_from_rotations(turns[order].astype(np.float64))
        self._inherits = np.array([bones[name].use_inherit_rotation for name in self.names])
        self.of_joints, self._joint_parents = skeleton.pose_indices, skeleton.joints.parents
        self.moves_joints = np.zeros(len(self.names), bool)
        for bone in self.of_joints.tolist():
            while bone >= 0 and not self.moves_joints[bone]:
                self.moves_joints[bone] = True
                bone = int(self.parents[bone])
        self.order = sorted(range(len(self.names)), key=self._count_above)

    def _count_above(self, bone: int) -> int:
        count = 0
        while (bone := int(self.parents[bone])) >= 0:
            count += 1
        return count

    def find_free(self, driven: Sequence[Path]) -> np.ndarray:
        """Joints of which it is not known how far they rotate against their parents, bool array, shape (B,)."""
        free = {name for name, kind in self._rotations.constraints if kind not in WITHOUT_ROTATION}
        free |= {name for name, channel, _ in driven if channel != TURNS}
        is_free = np.array([name in free for name in self.names]) | ~self._inherits
        found = np.zeros(len(self.of_joints), bool)
        for joint, bone in enumerate(self.of_joints.tolist()):
            parent = self._joint_parents[joint]
            end = self.of_joints[parent] if parent >= 0 else -1
            while bone not in (-1, end) and not found[joint]:
                found[joint] = is_free[bone]
                bone = int(self.parents[bone])
        return found

    def pose(self, keys: Keys) -> np.ndarray:
        """Rotations of all bones in samples of an action, rest to pose, armature space: quaternions (S, bones, 4)."""
        frames = _choose_frames(keys)
        posed = np.zeros((len(frames), len(self.names), 4))
        for bone in self.order:
            name, channel = self.names[bone], str(self._rotations.modes[bone])
            values = self._rotations.values[channel][bone]
            values = interpolate_keys(values, keys.get((name, channel), {}), frames)
            local = rotations_of_channel(channel, self._modes[name], values)
            rest = np.broadcast_to(self._rest[bone], local.shape)
            local = multiply_quaternions(multiply_quaternions(rest, local), rest * (1.0, -1.0, -1.0, -1.0))
            parent = int(self.parents[bone])
            posed[:, bone] = local if parent < 0 else multiply_quaternions(posed[:, parent], local)
        return posed


def _choose_frames(keys: Keys) -> np.ndarray:
    """Frames of keys that rotate, not more than `MOST_SAMPLES`; one where there are none."""
    pairs = [pairs[:, 0] for (_, channel), axes in keys.items() if channel in SIZES for pairs in axes.values()]
    frames = np.unique(np.concatenate([np.zeros(0), *pairs]))
    if not len(frames):
        return np.zeros(1)
    return frames[np.unique(np.linspace(0, len(frames) - 1, min(len(frames), MOST_SAMPLES)).astype(np.intp))]


def _find_problem(
    armature: bpy.types.Object,
    bones: _Bones,
    rotations: Rotations,
    moved: Moved,
    driven: Sequence[Path],
    keys: Sequence[Keys],
) -> str:
    """Why bones may do more than rotate and move; "" where they do not."""
    moving = {name for name, moves in zip(bones.names, bones.moves_joints, strict=True) if moves}
    for name, kind in rotations.constraints:
        if name in moving and kind not in WITHOUT_SCALE:
            return f"a constraint may scale bone '{name}'"
    pose: Any = armature.pose
    in_chains = [name for name, kind in rotations.constraints if kind == "IK"]
    for name in in_chains:
        if name in moving and pose.bones[name].ik_stretch > 0.0:
            return f"IK may stretch bone '{name}'"
    scaled = {name for name, channel, _ in driven if channel == SCALE}
    scaled |= {
        name for of_action in keys for (name, channel), axes in of_action.items()
        if channel == SCALE and any((np.abs(pairs[:, 1] - 1.0) > SCALED).any() for pairs in axes.values())
    }  # fmt: skip
    away = (np.abs(rotations.values[SCALE] - 1.0) > SCALED) & ~moved.axes[SCALE]
    scaled |= {bones.names[bone] for bone in np.flatnonzero(away.any(axis=1)).tolist()}
    if found := sorted(scaled & moving):
        return f"bone '{found[0]}' is scaled"
    data = armature.animation_data
    for track in data.nla_tracks if data is not None else ():
        if not track.mute and any(strip.blend_type != "REPLACE" for strip in track.strips):
            return f"track '{track.name}' adds to others"
    return ""
