"""The actions of an armature that swings: whose they are, what a swing is computed from, copies of linked ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, cast

import bpy

from ...bridge.animation.curves import hash_curves, list_strips, read_plain
from ...bridge.owned import Tag, digest, is_marked, mark, read_mark
from ...bridge.rigs.actions import find_rate, list_actions, moves_any
from ...bridge.rigs.copies import read_rests
from ...bridge.rigs.swings import find_lag, list_lag_bones, list_swinging
from ...deformers import SkinningError
from ..installed.feature import Subject
from ..installed.reads import Note

# Copies by the linked actions that they stand for
Copies = dict[bpy.types.Action, bpy.types.Action]


def check_local_bones(armature: bpy.types.Object) -> None:
    """Raise SkinningError if bones are linked, so that none can be added."""
    if armature.data.library is not None:
        raise SkinningError(
            f"The bones of '{armature.name}' are linked from another file: add the swing there, or make them local"
        )


def list_own_actions(armature: bpy.types.Object) -> list[bpy.types.Action]:
    """The actions that move bones of an armature.

    Actions that only other armatures play are left out, and linked actions that have a copy here.
    """
    own, others = set[bpy.types.Action](), set[bpy.types.Action]()
    for obj in bpy.data.objects:
        if obj.animation_data is not None:
            (own if _has_bones_of(obj, armature) else others).update(
                player.action for player in _list_players(obj) if player.action is not None
            )
    found = [action for action in list_actions(armature) if action in own or action not in others]
    copied = {read_mark(action, Tag.COPIED_FROM) for action in found}
    return [action for action in found if action.library is None or action.name_full not in copied]


def _has_bones_of(obj: bpy.types.Object, armature: bpy.types.Object) -> bool:
    return obj == armature or obj.data == armature.data


def _list_players(obj: bpy.types.Object) -> list[Any]:
    """What plays an action of an animated object: its animation data, and its strips."""
    data: Any = obj.animation_data
    return [data, *(strip for track in data.nla_tracks for strip in list_strips(track.strips))]


def list_carrying(armature: bpy.types.Object, lags: Collection[str]) -> list[bpy.types.Action]:
    """The actions with a swing of an armature: two are true of own, marked as swung, has curves of these lag bones."""
    own = list_own_actions(armature)
    return [
        each for each in bpy.data.actions
        if (each in own) + is_marked(each, Tag.SWING) + moves_any(each, lags) > 1
    ]  # fmt: skip


def list_used(armature: bpy.types.Object, action: bpy.types.Action) -> set[str]:
    """Names of the lag bones of other armatures that an action also moves, such as those of a copied character."""
    others = [obj for obj in bpy.data.objects if obj.type == "ARMATURE" and obj.data != armature.data and obj.pose]
    swinging = [other for other in others if list_lag_bones(other)]
    return {lag for other in swinging if action in list_own_actions(other) for lag in list_lag_bones(other)}


def hash_motion(armature: bpy.types.Object, action: bpy.types.Action, rate: float) -> str:
    """A digest of the motion of an action without swing: curves, rest pose, constraints, frame rate."""
    lags, bones = list_lag_bones(armature), cast(Any, armature.pose).bones
    own = [bone for bone in bones if bone.name not in lags]
    span = (action.frame_start, action.frame_end) if action.use_frame_range else ()
    described = []
    for bone in own:
        lag = find_lag(bone)
        plain = [read_plain(one) for one in bone.constraints if not lag or getattr(one, "subtarget", "") != lag]
        parent = bone.parent.name if bone.parent is not None else ""
        described.append((bone.name, parent, bone.bone.length, bone.bone.use_inherit_rotation, plain))
    rests = read_rests(armature, [bone.name for bone in own])
    return digest(hash_curves(action, lags), (round(rate, 6), span, action.use_cyclic), rests, *described)


def hash_source(armature: bpy.types.Object, motion: str) -> str:
    """A digest of all that the swing of an action is computed from: its motion (`hash_motion`) and the settings."""
    chains = list_swinging(armature)
    springs = [(one.spring.frequency, one.spring.damping, one.amount, one.gravity, one.fades) for one in chains]
    return digest(bytes.fromhex(motion), *zip([one.bones for one in chains], springs, strict=True))


def read_played(subject: Subject) -> tuple[int, float, bool]:
    """What the notice depends on: the action that is played, by `session_uid`, the frame rate, Edit Mode."""
    action, armature = _find_played(subject.armature), subject.armature
    return action.session_uid if action is not None else 0, find_rate(bpy.context.scene), armature.mode == "EDIT"


def _find_played(armature: bpy.types.Object) -> bpy.types.Action | None:
    return armature.animation_data.action if armature.animation_data is not None else None


def find_notice(subject: Subject, note: Note) -> str:
    """Whether the action that is played has a swing that fits it: a sentence if it has none that does."""
    armature, action = subject.armature, _find_played(subject.armature)
    note(armature.data)
    if action is None or armature.mode == "EDIT" or not list_lag_bones(armature):
        return ""
    note(action)
    stored = read_mark(action, Tag.SWING)
    if stored is None:
        return f"'{action.name}' has no swing yet: use Update Swing"
    if stored and stored != hash_source(armature, hash_motion(armature, action, find_rate(bpy.context.scene))):
        return f"'{action.name}' has changed since its swing was computed: use Update Swing"
    return ""


def copy_linked(armature: bpy.types.Object, copies: Copies) -> None:
    """Copy the linked actions of an armature, and have it play the copies."""
    for action in list_own_actions(armature):
        if action.library is not None:
            copies[action] = copy = action.copy()
            copy.use_fake_user = True
            mark(copy, Tag.COPIED_FROM, action.name_full)
    _exchange(armature, copies)


def remove_copies(armature: bpy.types.Object, copies: Copies) -> None:
    """Have an armature play linked actions again, and remove their copies."""
    _exchange(armature, {copy: action for action, copy in copies.items()})
    for copy in copies.values():
        bpy.data.actions.remove(copy)


def _exchange(armature: bpy.types.Object, others: Mapping[bpy.types.Action, bpy.types.Action]) -> None:
    """Have an armature and others of the same bones play other actions, in strips as well."""
    for obj in bpy.data.objects:
        if obj.library is not None or obj.animation_data is None or not _has_bones_of(obj, armature):
            continue
        for player in _list_players(obj):
            if player.action in others:
                slot = getattr(player, "action_slot", None)
                player.action = others[player.action]
                if slot is not None:  # 4.4 and later
                    slots = player.action.slots
                    player.action_slot = next(one for one in slots if one.identifier == slot.identifier)
