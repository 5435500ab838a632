"""What an armature's bones can do, by their channels, constraints and actions, whichever frame is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import bpy
import numpy as np

from ...deformers.algebra.dual_quaternions import quaternions_from_rotations
from ...deformers.motion.rotations import conjugate, multiply
from ...deformers.rig.reach import Reach
from ...deformers.rig.skeleton import Chains
from ..arrays import read_array
from .armatures import Skeleton
from .twists import (
    CONSTRAINTS,
    ROTATIONS,
    SCALE,
    SIZES,
    TURNS,
    Keys,
    Moved,
    Rotations,
    interpolate_keys,
    read_modes,
    rotations_of_channel,
)

WITHOUT_SCALE = {
    "CLAMP_TO", "COPY_LOCATION", "COPY_ROTATION", "DAMPED_TRACK", "FLOOR", "IK", "LIMIT_DISTANCE", "LIMIT_LOCATION",
    "LIMIT_ROTATION", "LOCKED_TRACK", "PIVOT", "SHRINKWRAP", "TRACK_TO",
}  # fmt: skip
"""Constraints that scale no bone that is not scaled already, if the armature is not scaled unevenly."""

WITHOUT_ROTATION = {"COPY_LOCATION", "FLOOR", "LIMIT_DISTANCE", "LIMIT_LOCATION", "LIMIT_SCALE"}
"""Constraints that rotate none."""

SCALED = 5e-5
"""Difference of a scale from 1 from which on a bone is scaled: imported actions hold 4e-5 of noise, by which Blender
stretches skin, too."""

MOST_SAMPLES = 256
"""Poses that are looked at of all actions, about, at most, besides those where a channel is at an end of its range."""


def read_reach(
    armature: bpy.types.Object,
    skeleton: Skeleton,
    rotations: Rotations,
    moved: Moved,
    keys: Sequence[Keys],
    twists: Mapping[str, float],
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
    twists : mapping of str to float
        From `measure_twists`.
    """
    bones, count = _Bones.of(armature, skeleton), len(skeleton.joints.parents)
    problem = _find_problem(armature, bones, rotations, moved, keys)
    if problem:
        unknown = np.ones(count, bool)
        return Reach(problem, np.zeros((0, count, 4)), unknown, np.full(count, np.inf), bones.moves_joints)
    most = MOST_SAMPLES // max(1, len(keys)) + 1
    modes = read_modes(cast(Any, armature.pose).bones)
    samples = [bones.pose(rotations, modes, {}, 1)]
    samples += [bones.pose(rotations, modes, of_action, most) for of_action in keys if of_action]
    return Reach(
        "",
        rotations=np.concatenate(samples)[:, bones.of_joints],
        is_free=bones.find_free(rotations, moved),
        twists=np.array([twists[bones.names[bone]] for bone in bones.of_joints.tolist()]),
        bones=bones.moves_joints,
    )


class _Bones:
    """All bones of an armature at rest, parents first, and which of them move joints."""

    def __init__(self, armature: bpy.types.Object, skeleton: Skeleton) -> None:
        bones: Any = armature.data.bones
        self.names = skeleton.pose_names
        self._index = {name: number for number, name in enumerate(self.names)}
        self.parents = np.array(
            [self._index[bone.parent.name] if (bone := bones[name]).parent else -1 for name in self.names]
        )
        depths = Chains(self.parents).sum(np.ones(len(self.names), np.intp)) - 1
        levels = [np.flatnonzero(depths == depth) for depth in range(1, int(depths.max(initial=0)) + 1)]
        self._levels = [(own, self.parents[own]) for own in levels]
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

    @classmethod
    def of(cls, armature: bpy.types.Object, skeleton: Skeleton) -> _Bones:
        """Those of a skeleton, which are read once."""
        if _Bones not in skeleton.known:
            skeleton.known[_Bones] = cls(armature, skeleton)
        return skeleton.known[_Bones]

    def find_free(self, rotations: Rotations, moved: Moved) -> np.ndarray:
        """Joints of which it is not known how far they rotate against their parents, bool array, shape (B,)."""
        free = {name for name, kind in rotations.constraints if kind not in WITHOUT_ROTATION}
        free |= {name for name, channel in moved.loose if channel not in (TURNS, SCALE, CONSTRAINTS)}
        is_free = np.array([name in free for name in self.names]) | ~self._inherits
        found = np.zeros(len(self.of_joints), bool)
        if not is_free.any():
            return found
        for joint, bone in enumerate(self.of_joints.tolist()):
            parent = self._joint_parents[joint]
            end = self.of_joints[parent] if parent >= 0 else -1
            while bone not in (-1, end) and not found[joint]:
                found[joint] = is_free[bone]
                bone = int(self.parents[bone])
        return found

    def pose(self, rotations: Rotations, modes: np.ndarray, keys: Keys, most: int) -> np.ndarray:
        """Rotations of all bones in samples of an action, rest to pose, armature space: quaternions (S, bones, 4)."""
        frames = _choose_frames(keys, most)
        count = len(frames)
        values = {channel: np.repeat(rows[:, :, None], count, axis=2) for channel, rows in rotations.values.items()}
        for (name, channel), axes in keys.items():
            bone = self._index.get(name, -1)
            if bone >= 0 and self.moves_joints[bone] and channel == rotations.modes[bone]:
                values[channel][bone] = interpolate_keys(rotations.values[channel][bone], axes, frames)
        local = np.zeros((len(self.names), count, 4))
        for mode in np.unique(modes).tolist():
            own, channel = np.flatnonzero(modes == mode), ROTATIONS[mode]
            rows = values[channel][own].transpose(1, 0, 2).reshape(SIZES[channel], -1)
            local[own] = rotations_of_channel(channel, mode, rows.astype(np.float64)).reshape(len(own), count, 4)
        rest = self._rest[:, None]
        posed = multiply(multiply(rest, local), conjugate(rest))
        for own, above in self._levels:
            posed[own] = multiply(posed[above], posed[own])
        return posed.transpose(1, 0, 2)


def _choose_frames(keys: Keys, most: int) -> np.ndarray:
    """Frames of keys that rotate: those where a channel is at an end of its range, and so many at most of the others.

    One frame if nothing rotates.
    """
    curves = [pairs for (_, channel), axes in keys.items() if channel in SIZES for pairs in axes.values() if len(pairs)]
    frames = np.unique(np.concatenate([np.zeros(0), *(pairs[:, 0] for pairs in curves)]))
    if not len(frames):
        return np.zeros(1)
    ends = [pairs[[pairs[:, 1].argmin(), pairs[:, 1].argmax()], 0] for pairs in curves]
    even = frames[np.linspace(0, len(frames) - 1, min(len(frames), most)).astype(np.intp)]
    return np.unique(np.concatenate([even, *ends]))


def _find_problem(
    armature: bpy.types.Object,
    bones: _Bones,
    rotations: Rotations,
    moved: Moved,
    keys: Sequence[Keys],
) -> str:
    """Why bones may do more than rotate and move; "" where they do not."""
    moving = {name for name, moves in zip(bones.names, bones.moves_joints, strict=True) if moves}
    is_uneven = _is_uneven(armature)
    for name, kind in rotations.constraints:
        if name in moving and (is_uneven or kind not in WITHOUT_SCALE):
            return f"a constraint may scale bone '{name}'"
    pose: Any = armature.pose
    in_chains = [name for name, kind in rotations.constraints if kind == "IK"]
    for name in in_chains:
        if name in moving and pose.bones[name].ik_stretch > 0.0:
            return f"IK may stretch bone '{name}'"
    scaled = {name for name, channel in moved.loose if channel == SCALE}
    scaled |= {
        name for of_action in keys for (name, channel), axes in of_action.items()
        if channel == SCALE and any((np.abs(pairs[:, 1] - 1.0) > SCALED).any() for pairs in axes.values())
    }  # fmt: skip
    away = (np.abs(rotations.values[SCALE] - 1.0) > SCALED) & ~moved.axes[SCALE]
    scaled |= {bones.names[bone] for bone in np.flatnonzero(away.any(axis=1)).tolist()}
    if found := sorted(scaled & moving):
        return f"bone '{found[0]}' may be scaled"
    data = armature.animation_data
    tracks = [] if data is None else [track for track in data.nla_tracks if not track.mute]
    for track in tracks:
        if any(strip.blend_type != "REPLACE" for strip in track.strips):
            return f"track '{track.name}' adds to others"
    if tracks and data.action is not None and data.action_blend_type != "REPLACE":
        return f"track '{data.action.name}' adds to others"
    return ""


def _is_uneven(armature: bpy.types.Object) -> bool:
    """Whether an armature object is scaled by other factors along other axes, which constraints pass on to bones."""
    linear = np.array(armature.matrix_world.to_3x3())
    square = linear.T @ linear
    return bool(np.abs(square - np.eye(3) * square[0, 0]).max() > SCALED * square[0, 0])
