"""Swing as the panel sees it: which actions have one, and whether they have changed since it was computed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, cast

import bpy

from ...bridge.animation.curves import hash_curves, list_strips, read_plain
from ...bridge.changes import Update
from ...bridge.per_object import PerObject
from ...bridge.rigs.copies import read_rests
from ...bridge.rigs.swings import find_lag, list_lag_bones, list_swinging
from ...settings.bones import COPIED_KEY, SWING_KEY, SwingSettings
from .actions import find_rate, list_actions

_notices: PerObject[tuple[tuple, str]] = PerObject(survives_undo=False)
"""What the panel says of each armature, and of which action and frame rate that is."""


def swing_settings(armature: bpy.types.Object, lag: str) -> SwingSettings:
    """How a chain swings, by the lag bone of its first bone."""
    return cast(Any, armature.data).bones[lag].supple.swing


def list_own_actions(armature: bpy.types.Object) -> list[bpy.types.Action]:
    """The actions that move bones of an armature.

    Left out are those that other armatures play and this one does not, and linked ones that copies stand for.
    """
    players, own, others = list_players(armature), set[bpy.types.Action](), set[bpy.types.Action]()
    for obj in bpy.data.objects:
        if obj.animation_data is not None:
            (own if obj in players else others).update(_list_played(obj.animation_data))
    found = [action for action in list_actions(armature) if action in own or action not in others]
    copied = {action.get(COPIED_KEY) for action in found}
    return [action for action in found if action.library is None or action.name_full not in copied]


def list_players(armature: bpy.types.Object) -> list[bpy.types.Object]:
    """An armature and others of the same bones, where they are animated."""
    players = [obj for obj in bpy.data.objects if obj == armature or obj.data == armature.data]
    return [obj for obj in players if obj.animation_data is not None]


def _list_played(data: bpy.types.AnimData) -> list[bpy.types.Action]:
    strips = [strip.action for track in data.nla_tracks for strip in list_strips(track.strips)]
    return [action for action in (data.action, *strips) if action is not None]


def hash_source(armature: bpy.types.Object, motion: bytes) -> str:
    """A digest of all that the swing of an action is computed from: its motion, from `hash_motion`, and settings."""
    digest = hashlib.blake2b(motion, digest_size=16)
    for chain in list_swinging(armature):
        swing = swing_settings(armature, chain.lags[0])
        numbers = swing.frequency, swing.damping, swing.amount, swing.gravity, swing.fades
        digest.update(repr((chain.bones, numbers)).encode())
    return digest.hexdigest()


def hash_motion(armature: bpy.types.Object, action: bpy.types.Action, rate: float) -> bytes:
    """A digest of what the motion of an action is read from: curves, rest, constraints, frame rate."""
    lags, bones = list_lag_bones(armature), cast(Any, armature.pose).bones
    own = [bone for bone in bones if bone.name not in lags]
    digest = hashlib.blake2b(hash_curves(action, lags), digest_size=16)
    span = (action.frame_start, action.frame_end) if action.use_frame_range else ()
    digest.update(repr((round(rate, 6), span, action.use_cyclic)).encode())
    digest.update(read_rests(armature, [bone.name for bone in own]).tobytes())
    for bone in own:
        lag = find_lag(bone)
        plain = [read_plain(one) for one in bone.constraints if not lag or getattr(one, "subtarget", "") != lag]
        parent = bone.parent.name if bone.parent is not None else ""
        digest.update(repr((bone.name, parent, bone.bone.length, bone.bone.use_inherit_rotation, plain)).encode())
    return digest.digest()


def note_changes(updates: Iterable[Update]) -> None:
    """Look again at actions where one has changed, or bones."""
    if _notices and any(isinstance(data, bpy.types.Action | bpy.types.Armature) for data, _ in updates):
        forget_notices()


def forget_notices() -> None:
    """Look again whether actions have changed, when panels are drawn next."""
    _notices.clear()


def find_notice(armature: bpy.types.Object, scene: bpy.types.Scene) -> str:
    """What the panel says of the swing in the active action; "" where it is up to date, or nothing swings."""
    action = armature.animation_data.action if armature.animation_data is not None else None
    if action is None or armature.mode == "EDIT" or not list_lag_bones(armature):
        return ""
    state = action.session_uid, find_rate(scene)
    known = _notices.find(armature)
    if known is None or known[0] != state:
        known = _notices.keep(armature, (state, _describe(armature, action, find_rate(scene))))
    return known[1]


def _describe(armature: bpy.types.Object, action: bpy.types.Action, rate: float) -> str:
    stored = action.get(SWING_KEY)
    if stored is None:
        return f"'{action.name}' has no swing yet: use Update Swing"
    if stored and stored != hash_source(armature, hash_motion(armature, action, rate)):
        return f"'{action.name}' has changed since its swing was computed: use Update Swing"
    return ""
