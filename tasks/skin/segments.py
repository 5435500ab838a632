"""Twists along limbs: the bones of an armature whose segments roll, planned for all of its bound meshes together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import bpy
import numpy as np

from ...bridge.rigs.armatures import Skeleton
from ...bridge.rigs.joints import has_segments, list_rolled_since, remake_joints
from ...bridge.rigs.segments import Roll, find_candidates, install_rolls, read_rolls, remove_rolls
from ...bridge.rigs.twists import list_actions, measure_largest_twists
from ...deformers import Rest, SkinningError
from ...deformers.rig.limbs import Limb, plan_limbs
from ...deformers.skinning import centers, dlb
from ...deformers.skinning.limb_choice import choose_limbs
from ...nodes.groups import ensure_layer_joints
from ...settings.objects import ObjectSettings, settings_of
from ..subject.stack import find_bound_objects, find_deforming_modifier
from .poses import find_skeleton

# Methods by which limbs take up twists
ROLLED = {dlb.INFO.key, centers.INFO.key}


def wants_rolls(settings: ObjectSettings, method: str) -> bool:
    """Whether a mesh, bound by a method, is to have limbs that take up twists."""
    return settings.twist != "OFF" and method in ROLLED


def list_wanting(armature: bpy.types.Object) -> list[bpy.types.Object]:
    """Bound meshes of an armature for which limbs take up twists."""
    found = []
    for obj in find_bound_objects():
        settings = settings_of(obj)
        if wants_rolls(settings, settings.method) and _follows(obj, armature):
            found.append(obj)
    return found


def _follows(obj: bpy.types.Object, armature: bpy.types.Object) -> bool:
    try:
        return find_deforming_modifier(obj).object == armature
    except SkinningError:
        return False


def plan_rolls(armature: bpy.types.Object, rests: Sequence[Rest]) -> tuple[Roll, ...]:
    """Choose the bones of an armature that roll: those whose roll stretches these meshes less.

    The user's choice for a bone, to spread its twist or not, goes before the measure.
    """
    skeleton = find_skeleton(armature).unrolled
    joints, names, orientations = skeleton.joints, skeleton.names, skeleton.joints.orientations
    assert orientations is not None
    candidates, twists = find_candidates(armature), measure_largest_twists(armature, list_actions(armature))
    first = dict(zip(names, skeleton.first_joints.tolist(), strict=True))
    spreads = {first[name]: chosen for name, chosen in zip(names, skeleton.spreads, strict=True)}
    may_roll, largest = np.zeros(len(joints.parents), bool), np.zeros(len(joints.parents))
    for name, joint in first.items():
        may_roll[joint] = name in candidates
        largest[joint] = np.pi if spreads[joint] == "ON" else twists.get(name, 0.0)
    limbs = plan_limbs(joints, may_roll, largest)
    limbs = tuple(limb for limb in limbs if spreads.get(limb.source) != "OFF" and _turns(armature, skeleton, limb))
    forced = {limb.pair for limb in limbs if spreads.get(limb.source) == "ON"}
    kept = choose_limbs([limb for limb in limbs if limb.pair not in forced], rests)
    return tuple(
        Roll(skeleton.name_joint(bone), source, tuple(axis.tolist()), *shares.tolist(), segments=limb.segments)
        for limb in limbs
        if limb.pair in forced or limb in kept
        for source, axis in [(skeleton.name_joint(limb.source), orientations[limb.source].T @ limb.axis)]
        for bone, shares in zip(limb.bones, limb.shares, strict=True)
    )


def _turns(armature: bpy.types.Object, skeleton: Skeleton, limb: Limb) -> bool:
    """Whether the twist of a limb is told by a bone's rotation, in local space: against the bone above it."""
    bone = cast(Any, armature.data).bones[skeleton.name_joint(limb.source)]
    above = skeleton.name_joint(int(skeleton.joints.parents[limb.source]))
    return bone.parent is not None and bone.parent.name == above and bone.use_inherit_rotation


def write_rolls(armature: bpy.types.Object, rolls: tuple[Roll, ...] | None = None) -> str:
    """Make these bones of an armature roll, and no others; returns why they cannot, "" if they do.

    Without rolls, drivers of those that roll are brought up to bones that were renamed, or rotate in another mode.
    """
    present = read_rolls(armature)
    rolls = present if rolls is None else rolls
    if not rolls and not present:
        return ""
    try:
        if rolls:
            install_rolls(armature, rolls)
        else:
            remove_rolls(armature)
        skeleton = find_skeleton(armature)
        is_bendy = has_segments(armature, skeleton)
        for obj in list_rolled_since(armature, skeleton):
            remake_joints(obj, armature, skeleton, ensure_layer_joints(is_bendy))
    except SkinningError as error:
        return str(error)
    return ""


def release_rolls(armatures: Iterable[bpy.types.Object | None]) -> None:
    """Give armatures the bones back that no bound mesh needs to roll any more."""
    for armature in dict.fromkeys(armatures):
        if armature is not None and read_rolls(armature) and not list_wanting(armature):
            write_rolls(armature, ())
