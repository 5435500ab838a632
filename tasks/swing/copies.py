"""Copies of linked actions, which swing and play in their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import bpy

from ...bridge.animation.curves import list_strips
from ...settings.bones import COPIED_KEY
from ..subject.swung import list_own_actions, list_players

Copies = dict[bpy.types.Action, bpy.types.Action]
"""Of linked actions."""


def copy_linked(armature: bpy.types.Object, copies: Copies) -> None:
    """Copy the linked actions of an armature, which plays the copies from then on."""
    for action in list_own_actions(armature):
        if action.library is not None:
            copies[action] = copy = action.copy()
            copy.use_fake_user, copy[COPIED_KEY] = True, action.name_full
    _play(armature, copies)


def remove_copies(armature: bpy.types.Object, copies: Copies) -> None:
    """Have an armature play linked actions again."""
    _play(armature, {copy: action for action, copy in copies.items()})
    for copy in copies.values():
        bpy.data.actions.remove(copy)


def _play(armature: bpy.types.Object, others: Mapping[bpy.types.Action, bpy.types.Action]) -> None:
    """Play other actions, in strips as well."""
    for obj in list_players(armature):
        if obj.library is not None:
            continue
        data: Any = obj.animation_data
        strips: list[Any] = [strip for track in data.nla_tracks for strip in list_strips(track.strips)]
        for player in (data, *strips):
            if player.action in others:
                _exchange(player, others[player.action])


def _exchange(player: Any, action: bpy.types.Action) -> None:
    slot = getattr(player, "action_slot", None)
    player.action = action
    if slot is not None:  # 4.4 and later
        player.action_slot = next(one for one in action.slots if one.identifier == slot.identifier)
