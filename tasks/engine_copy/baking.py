"""Motion of a copy: actions of bones, of the armature object and of shape keys, and drivers of corrective keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import bpy
import numpy as np

from ...bridge.animation.curves import Curve, add_track, new_action, play_action
from ...bridge.animation.drivers import drive_key, drive_key_by_angle
from ...bridge.meshes.data import mesh_of
from ...bridge.names import free_name, name_within
from ...bridge.owned import Tag, mark
from ...bridge.rigs.copies import list_bone_curves, read_rests
from ...deformers.engine_copy.bone_motion import BoneMotion, find_bone_motion, without_scale
from ...deformers.engine_copy.model import CopyFit, Key
from .examples import Motion
from .played import UNMOVED, Played

# Difference of a key's values within which a driver stands for what was fitted
SAME_VALUE = 1e-3


@dataclass
class Parts:
    """The parts of a copy that exist so far.

    Attributes
    ----------
    originals : list of Object
        The copied meshes.
    correctives : list of str
        Names of the corrective keys.
    """

    originals: list[bpy.types.Object]
    armature: Any = None
    meshes: list[bpy.types.Object] = field(default_factory=list)
    correctives: list[str] = field(default_factory=list)
    actions: list[bpy.types.Action] = field(default_factory=list)


def name_correctives(bones: Sequence[str], fit: CopyFit, originals: Iterable[bpy.types.Object]) -> list[str]:
    """Names of the corrective keys, by the bones that drive them; each differs from all keys of the originals."""
    blocks = [mesh_of(obj).shape_keys for obj in originals]
    taken = {Tag.COPY_OF, *(key.name for keys in blocks if keys is not None for key in keys.key_blocks)}
    counts: dict[int, int] = {}
    names: list[str] = []
    for key in fit.keys:
        counts[key.joint] = counts.get(key.joint, 0) + 1
        base = name_within(bones[key.joint], f"_corrective_{counts[key.joint]}")
        names.append(free_name(base, {*taken, *names}))
    return names


def bake(
    parts: Parts,
    motion: Motion,
    fit: CopyFit,
    names: Sequence[str],
    bones: BoneMotion,
    played: Sequence[Played],
    label: str,
) -> None:
    """Give the armature object the actions of a copy, each in a muted track of its name; it plays the first.

    Shape keys are animated by custom properties of the object, so that one action holds the whole motion.

    Parameters
    ----------
    parts : Parts
        With the armature and all meshes.
    names : sequence of str
        Of the bones.
    bones : BoneMotion
        Of all poses of the motion.
    played : sequence of Played
        Other motion in each clip, or nothing.
    label : str
        Label of the target.
    """
    armature = parts.armature
    keyed = _drive_correctives(parts, fit, names, bones)
    driven = _drive_face_keys(parts, played)
    moves = any(other.worlds is not None for other in played)
    for number, clip in enumerate(motion.clips):
        frames, rows = np.array(clip.frames), np.arange(clip.first, clip.first + len(clip.frames))
        curves = list_bone_curves(names, bones, frames, rows)
        curves += [_property_curve(name, frames, fit.key_values[rows, index]) for name, index in keyed.items()]
        for name, (mesh, key) in driven.items():
            curves.append(_property_curve(name, frames, played[number].keys[mesh][:, key]))
        if moves:
            curves += _list_object_curves(armature, frames, played[number].worlds)
        action = new_action(f"{clip.action} for {label}", curves)
        mark(action, Tag.COPY_OF, clip.action)
        parts.actions.append(action)
        add_track(armature, clip.action, action, clip.frames.start)
    if parts.actions:
        play_action(armature, parts.actions[0])


def _property_curve(name: str, frames: np.ndarray, values: np.ndarray) -> Curve:
    return Curve(f'["{bpy.utils.escape_identifier(name)}"]', 0, frames, values, "Shape Keys")


def _drive_correctives(parts: Parts, fit: CopyFit, names: Sequence[str], bones: BoneMotion) -> dict[str, int]:
    """Have bones drive the corrective keys, so that they follow any pose; those that none can are returned.

    They follow custom properties of their names, which the actions have to animate.
    """
    keyed, armature = {}, parts.armature
    rests = read_rests(armature, [names[key.joint] for key in fit.keys])
    for index, (name, key, rest) in enumerate(zip(parts.correctives, fit.keys, rests, strict=True)):
        axis = rest[:3, :3].T @ key.axis
        values = find_hat(key, find_angles(bones.rotations[:, key.joint], axis))
        is_found = np.abs(values - fit.key_values[:, index]).max(initial=0.0) <= SAME_VALUE
        if not is_found:
            keyed[name] = index
            armature[name] = 0.0
        for mesh in parts.meshes:
            blocks = mesh_of(mesh).shape_keys
            if blocks is None or name not in blocks.key_blocks:
                continue
            if is_found:
                drive_key_by_angle(blocks.key_blocks[name], armature, names[key.joint], axis, key.angles)
            else:
                drive_key(blocks.key_blocks[name], armature, name)
    return keyed


def find_angles(rotations: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """How far quaternions, shape (F, 4), turn about an axis, radians: shape (F,)."""
    signs = np.where(rotations[:, 0] < 0.0, -1.0, 1.0)
    return 2.0 * np.arctan2(signs * (rotations[:, 1:] @ axis), np.abs(rotations[:, 0]))


def find_hat(key: Key, angles: np.ndarray) -> np.ndarray:
    """Values of a corrective key at angles of its joint, shape (F,)."""
    start, peak, end = key.angles
    values = (angles - start) / (peak - start)
    falling = 1.0 if end is None else (end - angles) / (end - peak)
    return np.maximum(0.0, np.minimum(values, falling))


def _drive_face_keys(parts: Parts, played: Sequence[Played]) -> dict[str, tuple[int, int]]:
    """Have a custom property drive each shape key that is animated: its mesh and key by the property's name."""
    driven, armature = {}, parts.armature
    for mesh, (obj, original) in enumerate(zip(parts.meshes, parts.originals, strict=True)):
        values = np.concatenate([other.keys[mesh] for other in played]) if played else np.empty((0, 0))
        for index in range(1, values.shape[1]):
            key = mesh_of(obj).shape_keys.key_blocks[index]
            if np.ptp(values[:, index]) < UNMOVED:
                key.value = float(values[0, index])
                continue
            taken = {*armature.keys(), *parts.correctives, Tag.COPY_OF}
            name = free_name(name_within(original.name, f": {key.name}"), taken)
            armature[name] = 0.0
            drive_key(key, armature, name)
            driven[name] = mesh, index
    return driven


def _list_object_curves(armature: bpy.types.Object, frames: np.ndarray, worlds: np.ndarray | None) -> list[Curve]:
    """Curves of the armature object's transform; it is at rest in clips that do not move it."""
    still = np.array(armature.matrix_world)[None].repeat(len(frames), axis=0)
    poses = without_scale(still if worlds is None else worlds)
    motion = find_bone_motion(np.eye(4)[None], np.array([-1]), poses[:, None])
    armature.rotation_mode = "QUATERNION"
    channels = ("location", motion.locations[:, 0]), ("rotation_quaternion", motion.rotations[:, 0])
    return [
        Curve(channel, index, frames, values[:, index], "Object Transforms")
        for channel, values in channels
        for index in range(values.shape[1])
    ]
