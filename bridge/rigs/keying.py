"""Keys that Blender's auto keying would insert for bones that a tool has moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bpy

from ..animation.curves import iterate_curve_paths
from .twists import ROTATIONS


def key_bones(
    context: bpy.types.Context, armature: bpy.types.Object, rotated: Sequence[str], moved: Sequence[str]
) -> None:
    """Key rotations and locations of bones at the current frame, if auto keying is on.

    Blender's options of auto keying are followed: only the active keying set, only keyed channels, only changes, only
    replacing keys, cyclic curves.

    Parameters
    ----------
    rotated, moved : sequences of str
        Names of bones.
    """
    tools = context.scene.tool_settings
    if not tools.use_keyframe_insert_auto:
        return
    channels = [(name, ROTATIONS[armature.pose.bones[name].rotation_mode]) for name in rotated]
    channels += [(name, "location") for name in moved]
    options = _find_options(context)
    keyed = _list_keyed(armature)
    key_set = context.scene.keying_sets_all.active if tools.use_keyframe_insert_keyingset else None
    for name, channel in channels:
        bone: Any = armature.pose.bones[name]
        path = f"{bone.path_from_id()}.{channel}"
        if "INSERTKEY_AVAILABLE" in options and path not in keyed:
            continue
        if key_set is None or _holds(key_set, armature, path):
            bone.keyframe_insert(channel, group=name, options=options, keytype=tools.keyframe_type)


def _list_keyed(armature: bpy.types.Object) -> set[str]:
    """Data paths that have keys in the armature's action."""
    data = armature.animation_data
    return set() if data is None or data.action is None else set(iterate_curve_paths(data.action))


def _holds(key_set: bpy.types.KeyingSet, armature: bpy.types.Object, path: str) -> bool:
    """Whether a keying set is for a channel: those that Blender brings along list none, and are known by name."""
    if key_set.is_path_absolute:
        return any(one.id == armature and one.data_path == path for one in key_set.paths)
    name = key_set.bl_idname
    return "WholeCharacter" in name or name == "Available" or ("Loc" if path.endswith("location") else "Rot") in name


def _find_options(context: bpy.types.Context) -> set[str]:
    tools, edit = context.scene.tool_settings, context.preferences.edit
    # The names of the preferences are those of 4.1 and later.
    chosen = {
        "INSERTKEY_VISUAL": edit.use_visual_keying,
        "INSERTKEY_NEEDED": edit.use_auto_keyframe_insert_needed,
        "INSERTKEY_AVAILABLE": edit.use_keyframe_insert_available,
        "INSERTKEY_REPLACE": tools.auto_keying_mode == "REPLACE_KEYS",
        "INSERTKEY_CYCLE_AWARE": tools.use_keyframe_cycle_aware,
    }
    return {name for name, is_on in chosen.items() if is_on}
