"""The actions of a character, and whether its bones can be animated."""

from __future__ import annotations

import bpy

from ...bridge.rigs.actions import list_actions, list_players
from ...deformers import SkinningError
from .stack import check_not_linked


def list_seen_actions(armature: bpy.types.Object) -> list[bpy.types.Action]:
    """The actions of an armature and of those that move it, such as a control rig."""
    return list(dict.fromkeys(action for player in list_players(armature) for action in list_actions(player)))


def check_bones(armature: bpy.types.Object) -> None:
    """Raise SkinningError if an armature has no bones, or they cannot be animated now."""
    check_not_linked(armature)
    if armature.pose is None or not armature.pose.bones:
        raise SkinningError(f"'{armature.name}' has no bones: choose another armature")
    if armature.mode == "EDIT":
        raise SkinningError(f"'{armature.name}' is in Edit Mode: leave it first")


def check_plays(armature: bpy.types.Object) -> None:
    """Raise SkinningError, also if bones do not move as the actions of their armature say."""
    check_bones(armature)
    if armature.data.pose_position == "REST":
        raise SkinningError(f"'{armature.name}' is shown at rest: choose Pose Position in its properties")
    data = armature.animation_data
    if data is not None and data.use_tweak_mode:
        raise SkinningError(f"A strip of '{armature.name}' is being tweaked: leave Tweak Mode first")
