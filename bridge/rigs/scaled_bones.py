"""Bones that Blender's own modifiers do not blend as DLBNT does: sheared, mirrored, scaled to zero."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np

from ..animation.curves import list_all_curves, split_bone_path
from ..arrays import read_array
from .segments import has_segments

# Difference of scales along a bone's axes from which bones below are sheared
UNEVEN = 1e-4

# How a bone may be scaled: alike along its axes, differently, and along others than its axes
EVEN, SCALED, SHEARED = 0, 1, 2

# Stands for scales that cannot be told
UNKNOWN = np.array([[1.0, 2.0, 3.0]])

# Passes over all bones, at most, until it is known how constraints copy scales among them
MOST_PASSES = 8

# Settings of *Inherit Scale* by which a bone is sheared below one that is scaled unevenly
WITH_SHEAR = {"FULL", "FIX_SHEAR"}

# Constraints that may scale a bone along its axes
SCALING = {"ACTION", "COPY_SCALE", "LIMIT_SCALE", "MAINTAIN_VOLUME", "SPLINE_IK", "TRANSFORM"}

# Constraints that carry a bone along with their targets, and so shear it if these are scaled unevenly
CARRYING = {"ARMATURE", "CHILD_OF"}


def find_problem(armature: bpy.types.Object) -> str:
    """Why a rig cannot be deformed by stretch armatures, in words, "" if it can.

    By its channels, the keys of its actions, drivers and constraints, whichever frame is shown. Scales that drivers or
    constraints set are taken to be positive.
    """
    bones: Any = armature.data.bones
    for bone in bones:
        if bone.use_deform and bone.bbone_segments > 1 and not has_segments(bone):
            return f"bone '{bone.name}' has segments"
    scales = _read_scales(armature)
    carrying = {above.name for bone in bones if bone.use_deform for above in (bone, *bone.parent_recursive)}
    for name in sorted(carrying):
        if (values := scales.get(name)) is not None and (values <= 0.0).any():
            return f"bone '{name}' is mirrored" if (values < 0.0).any() else f"bone '{name}' is scaled to zero"
    kinds = _find_kinds(armature, scales)
    sheared = next((bone for bone in bones if bone.use_deform and kinds[bone.name] == SHEARED), None)
    if sheared is None:
        return ""
    return f"bone '{sheared.name}' may be sheared: set its Inherit Scale, and of bones above, to Aligned or Average"


def _read_scales(armature: bpy.types.Object) -> dict[str, np.ndarray]:
    """By bone, if it is scaled: factors along its axes at all keys, shape (n, 3); 1, 2, 3 if they cannot be told."""
    pose: Any = armature.pose
    values = read_array(pose.bones, "scale", 3).astype(np.float64)
    shown = {bone.name: row[None] for bone, row in zip(pose.bones, values, strict=True)}
    found = {name: [row] for name, row in shown.items() if (row != 1.0).any()}
    keyed: dict[tuple[str, int], list[bpy.types.FCurve]] = {}
    for curve in list_all_curves(armature):
        name, channel = split_bone_path(curve.data_path)
        if channel == ".scale" and name in shown:
            keyed.setdefault((name, curve.id_data.session_uid), []).append(curve)
    for (name, _), curves in keyed.items():
        found.setdefault(name, []).append(_interpolate(shown[name], curves))
    data = armature.animation_data
    driven = {split_bone_path(curve.data_path) for curve in (data.drivers if data is not None else ())}
    found |= {name: [UNKNOWN] for name, channel in driven if channel == ".scale" and name in shown}
    return {name: np.concatenate(rows) for name, rows in found.items()}


def _interpolate(shown: np.ndarray, curves: list[bpy.types.FCurve]) -> np.ndarray:
    """Scales of a bone at the keys of its curves, straight between keys, shape (n, 3)."""
    if any(len(curve.modifiers) or not len(curve.keyframe_points) for curve in curves):
        return UNKNOWN
    keys = [read_array(curve.keyframe_points, "co", 2) for curve in curves]
    frames = np.unique(np.concatenate([pairs[:, 0] for pairs in keys]))
    rows = np.repeat(shown, len(frames), axis=0)
    for curve, pairs in zip(curves, keys, strict=True):
        rows[:, curve.array_index] = np.interp(frames, pairs[:, 0], pairs[:, 1])
    return rows


def _find_kinds(armature: bpy.types.Object, scales: dict[str, np.ndarray]) -> dict[str, int]:
    """How each bone may be scaled: `EVEN`, `SCALED` or `SHEARED`."""
    pose: Any = armature.pose
    kinds = dict.fromkeys(pose.bones.keys(), EVEN)
    own = {name: int((np.ptp(rows, axis=1) > UNEVEN * np.abs(rows).max(axis=1)).any()) for name, rows in scales.items()}
    stretched = _find_stretched_by_ik(pose.bones)
    for _ in range(MOST_PASSES):
        before = dict(kinds)
        for bone in pose.bones:
            kind = max(_inherit(bone, kinds), own.get(bone.name, EVEN), SCALED * (bone.name in stretched))
            for constraint in (each for each in bone.constraints if not each.mute and each.is_valid):
                kind = _constrain(kind, constraint, armature, kinds)
            kinds[bone.name] = kind
        if kinds == before:
            break
    return kinds


def _inherit(bone: bpy.types.PoseBone, kinds: dict[str, int]) -> int:
    """The transform that a bone inherits from its parent."""
    inherits = bone.bone.inherit_scale
    if bone.parent is None or kinds[bone.parent.name] == EVEN:
        return EVEN
    if inherits in WITH_SHEAR:
        return SHEARED
    return SCALED if inherits == "ALIGNED" else EVEN


def _constrain(kind: int, constraint: Any, armature: bpy.types.Object, kinds: dict[str, int]) -> int:
    """How a bone may be scaled after a constraint."""
    if constraint.type == "STRETCH_TO":
        return SCALED if constraint.influence == 1.0 else max(kind, SCALED)
    if constraint.type in SCALING:
        return max(kind, SCALED)
    if constraint.type in CARRYING:
        targets = constraint.targets if constraint.type == "ARMATURE" else [constraint]
        return max(kind, *(SHEARED * _is_scaled(each, armature, kinds) for each in targets), EVEN)
    if constraint.type == "COPY_TRANSFORMS":
        copied = kinds.get(constraint.subtarget, EVEN) if constraint.target == armature else EVEN
        replaces = constraint.influence == 1.0 and constraint.mix_mode == "REPLACE"
        return copied if replaces else max(kind, copied)
    return kind


def _is_scaled(target: Any, armature: bpy.types.Object, kinds: dict[str, int]) -> bool:
    return target.target == armature and kinds.get(target.subtarget, EVEN) != EVEN


def _find_stretched_by_ik(bones: Any) -> set[str]:
    """Names of the bones that IK may stretch."""
    found = set()
    for bone in bones:
        counts = [constraint.chain_count for constraint in bone.constraints if constraint.type == "IK"]
        chain = [bone, *bone.parent_recursive]
        for count in counts:
            found |= {each.name for each in (chain[:count] if count else chain) if each.ik_stretch > 0.0}
    return found
