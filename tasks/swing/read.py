"""How actions move chains of bones, every half frame."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Vector

from ...bridge.animation.channels import WIDTHS, Matrices, is_cyclic, read_matrices
from ...bridge.animation.curves import list_curves, list_key_ranges, split_bone_path
from ...bridge.rigs.copies import read_rests
from ...bridge.rigs.swings import list_lag_bones, without_swing
from ...deformers import SkinningError
from ...deformers.swing.chains import TINY, ChainMotion, orthonormalize
from ...deformers.swing.springs import Timing
from ..motion.reading import playing
from ..steps import Steps
from ..subject.actions import AT_A_TIME, MOST_FRAMES, check_length, is_playable, set_frames

ALIKE = 0.01
"""Difference of the axes of bones up to which two frames have one pose."""

RESTING = 0.05
"""Part of the fastest step up to which a motion is taken to rest at its ends: it is no cycle then."""

NEXT_BONE = 0.01
"""Parts of a bone's length that the next bone's head is away from its own at least, to be what the bone carries."""


@dataclass(frozen=True, eq=False)
class Reading:
    """An action, as it moves an armature.

    Attributes
    ----------
    frames : float64 array, shape (F,)
        Half a frame apart, or nearly so; the first and the last are the action's own, and F is odd. Of an action
        without motion there is one.
    repeats : bool
        Whether its curves go on after their last key.
    bones : tuple of str
        Names of the bones of the matrices.
    pose : float64 array, shape (F, B, 4, 4)
        Armature space.
    world : float64 array, shape (F, 4, 4)
        From armature space.
    chains : dict
        Motions of the chains that were cut from it before, by their bones.
    """

    frames: np.ndarray
    timing: Timing
    repeats: bool
    bones: tuple[str, ...]
    pose: np.ndarray
    world: np.ndarray
    chains: dict[tuple[str, ...], ChainMotion] = field(default_factory=dict)


def read_action(armature: bpy.types.Object, action: bpy.types.Action, rate: float, bones: set[str]) -> Steps[Reading]:
    """Read where bones, and all that carry them, are without swing; yields the share that is done.

    Raises SkinningError where the action has too many frames, or moves one of them to no position.
    """
    with playing(armature, action):
        start, end, repeats, is_marked = _find_span(armature)
    count = max(1, round(end - start)) * 2 if end > start else 0
    check_length(action, range(count // 2))
    frames = np.linspace(start, end, count + 1)
    poses: Any = cast(Any, armature.pose).bones
    rows = [
        row for row, bone in enumerate(poses) if {bone.name, *(below.name for below in bone.children_recursive)} & bones
    ]
    names = tuple(poses[row].name for row in rows)
    pose, world = [], []
    for first in range(0, len(frames), AT_A_TIME):
        for one in _read_frames(armature, action, frames[first : first + AT_A_TIME].tolist()):
            pose.append(one.pose[0, rows])
            world.append(one.world[0])
            _check_finite(armature, action, frames[len(pose) - 1], names, pose[-1], world[-1])
        yield min(1.0, (first + AT_A_TIME) / len(frames))
    timing = Timing((end - start) / max(count, 1) / rate, is_marked or _is_cycle(np.array(pose)))
    return Reading(frames, timing, repeats, names, np.array(pose), np.array(world))


def _check_finite(
    armature: bpy.types.Object,
    action: bpy.types.Action,
    frame: float,
    names: Sequence[str],
    pose: np.ndarray,
    world: np.ndarray,
) -> None:
    if np.isfinite(pose).all() and np.isfinite(world).all():
        return
    broken = [name for name, matrix in zip(names, pose, strict=True) if not np.isfinite(matrix).all()]
    raise SkinningError(
        f"'{(broken or [armature.name])[0]}' has no finite position in frame {frame:g} of action '{action.name}': "
        "correct what moves it there"
    )


def _find_span(armature: bpy.types.Object) -> tuple[float, float, bool, bool]:
    """First and last frame of the action that plays, whether its curves repeat, and whether it is said to."""
    action: Any = armature.animation_data.action
    lags = list_lag_bones(armature)
    curves = [curve for curve in list_curves(armature) if split_bone_path(curve.data_path)[0] not in lags]
    transforms = [curve for curve in curves if split_bone_path(curve.data_path)[1].removeprefix(".") in WIDTHS]
    if action.use_frame_range:
        first, last = action.frame_start, action.frame_end
    else:  # stray keys of what may move nothing do not count
        spans = [np.array(list_key_ranges(each) or [(1.0, 1.0)]) for each in (curves, transforms)]
        spans = [(float(ends[:, 0].min()), float(ends[:, 1].max())) for ends in spans]
        first, last = next((span for span in spans if np.ptp(span) < MOST_FRAMES and is_playable(*span)), spans[0])
    if not is_playable(first, last):
        raise SkinningError(
            f"Action '{action.name}' has keys from frame {first:g} to {last:g}, which Blender does not play: delete "
            "stray keys far away"
        )
    is_marked = is_cyclic(armature)
    return first, last, is_marked and not action.use_cyclic, is_marked


def _read_frames(armature: bpy.types.Object, action: bpy.types.Action, frames: Sequence[float]) -> list[Matrices]:
    with ExitStack() as stack:
        stack.enter_context(without_swing(armature))
        scene = stack.enter_context(playing(armature, action))
        return [read_matrices(armature.evaluated_get(depsgraph)) for depsgraph in set_frames(scene, frames)]


def _is_cycle(pose: np.ndarray) -> bool:
    """Whether a motion ends in the pose that it starts in, and does not rest there."""
    axes = pose[:, :, :3, :3]
    if len(axes) < 4 or np.abs(axes[-1] - axes[0]).max() > ALIKE:
        return False
    steps = np.abs(np.diff(axes, axis=0)).max(axis=(1, 2, 3))
    return bool(min(steps[0], steps[-1]) > RESTING * steps.max())


def cut_chain(armature: bpy.types.Object, names: tuple[str, ...], reading: Reading) -> ChainMotion:
    """How one chain of bones moves."""
    if names not in reading.chains:
        reading.chains[names] = _cut(armature, names, reading)
    return reading.chains[names]


def _cut(armature: bpy.types.Object, names: Sequence[str], reading: Reading) -> ChainMotion:
    bones = [cast(Any, armature.data).bones[name] for name in names]
    pose = reading.pose[:, [reading.bones.index(name) for name in names]]
    lengths = np.array([bone.length for bone in bones])
    heads, tails = pose[..., :3, 3], pose[..., :3, 3] + pose[..., :3, 1] * lengths[:, None]
    ends = tails.copy()
    for number, (bone, after) in enumerate(pairwise(bones)):
        if (after.head_local - bone.head_local).length > NEXT_BONE * bone.length:
            ends[:, number] = heads[:, number + 1]
    rests = [(bone.head_local, bone.tail_local) for bone in bones]
    return _carry(bones[0].parent, reading, np.concatenate([heads[:, :1], ends], axis=1), pose[..., :3, :3], rests)


def cut_region(
    armature: bpy.types.Object, carrier: str, head: np.ndarray, tail: np.ndarray, reading: Reading
) -> ChainMotion:
    """How a bone moves that is to be, a child of a carrier that was read.

    Parameters
    ----------
    head, tail : float64 arrays, shape (3,)
        Armature space.
    """
    bone = cast(Any, armature.data).bones[carrier]
    along: Any = Vector((tail - head).tolist())
    axes = np.array(bpy.types.Bone.MatrixFromAxisRoll(along.normalized(), 0.0), np.float64)
    moved = reading.pose[:, reading.bones.index(carrier)] @ np.linalg.inv(read_rests(armature, [carrier])[0])
    joints = np.stack([head, tail]) @ moved[:, :3, :3].swapaxes(1, 2) + moved[:, None, :3, 3]
    return _carry(
        bone, reading, joints, (moved[:, :3, :3] @ axes)[:, None], [(Vector(head.tolist()), Vector(tail.tolist()))]
    )


def _carry(
    parent: Any, reading: Reading, joints: np.ndarray, axes: np.ndarray, rests: Sequence[tuple[Vector, Vector]]
) -> ChainMotion:
    """The motion of a chain, with that of its carrier, if it has one; `rests` are its heads and tails at rest."""
    carrier, rest, inward = np.tile(np.eye(3), (len(joints), 1, 1)), np.eye(3), np.zeros((len(rests), 3))
    if parent is not None:
        carrier = orthonormalize(reading.pose[:, reading.bones.index(parent.name), :3, :3])
        rest = np.array(parent.matrix_local, np.float64)[:3, :3]
        inward = _find_inward(parent, rests) @ rest
    return ChainMotion(joints, axes, carrier, rest, reading.world, inward)


def _find_inward(parent: Any, rests: Sequence[tuple[Vector, Vector]]) -> np.ndarray:
    """Directions from tails of bones at rest to the nearest point of their carrier's line, square to the bones: (K, 3).

    Armature space.
    """
    start, along = np.array(parent.head_local), np.array(parent.tail_local - parent.head_local)
    found = []
    for head, end in rests:
        tail, direction = np.array(end), np.array((end - head).normalized())
        share = np.clip((tail - start) @ along / max(along @ along, TINY), 0.0, 1.0)
        toward = start + share * along - tail
        toward -= direction * (toward @ direction)
        found.append(toward / max(np.linalg.norm(toward), TINY))
    return np.array(found)
