"""Swing removed: lag bones, what copies them, and their curves; nothing else of the file has changed."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import ExitStack

import bpy

from ...bridge.animation.curves import remove_bone_curves
from ...bridge.restoring import restored_on_failure
from ...bridge.rigs.swings import (
    COLLECTION,
    aim_constraint,
    list_constraints,
    list_idle,
    list_lag_bones,
    list_swinging,
    remove_constraint,
    remove_made_bones,
)
from ...deformers import SkinningError
from ...settings.bones import SWING_KEY
from ..subject.actions import moves_any
from ..subject.swung import forget_notices, list_own_actions
from .choose import check_armature
from .regions import give_back


def remove_swing(armature: bpy.types.Object, names: Collection[str] = ()) -> list[str]:
    """Take the swing of chains back, and what is left of those that were edited by hand so that nothing swings.

    Parameters
    ----------
    names : collection of str
        Of bones of these chains; all chains if none is given.

    Returns
    -------
    list of str
        Sentences on what was done.

    Raises
    ------
    SkinningError
        Where nothing swings.
    """
    check_armature(armature)
    swinging, idle = list_swinging(armature), list_idle(armature)
    removed = [chain for chain in swinging if not names or set(names) & set(chain.bones)]
    if not removed and not idle:
        raise SkinningError(f"Nothing of '{armature.name}' swings: use Add Swing first")
    bones = {name for chain in removed for name in chain.bones}
    made = idle.union(*(chain.lags for chain in removed))
    made |= {name for name in bones if armature.data.bones[name].supple.is_flesh}
    actions = list_carrying(armature, made)
    local = [action for action in actions if action.library is None]
    constraints = list_constraints(armature, list_lag_bones(armature) & made)
    with ExitStack() as undo, restored_on_failure([armature.data, *local]):
        undo.callback(armature.update_tag, refresh={"TIME"})
        left = take_out(armature, made, local, undo)
        if not list_lag_bones(armature):
            for action in local:
                if SWING_KEY in action and not _list_used(armature, action):
                    del action[SWING_KEY]
        for bone, constraint in constraints:
            if bone not in made:
                remove_constraint(armature, bone, constraint)
        undo.pop_all()
    armature.update_tag()
    forget_notices()
    lines = [f"Removed the swing of {len(bones)} bones"] if bones else ["Removed what was left of a swing"]
    left += [action.name for action in actions if action.library is not None and moves_any(action, made)]
    return [*lines, f"Left as they are, because they are linked from other files: {', '.join(left)}"] if left else lines


def list_carrying(armature: bpy.types.Object, lags: Collection[str]) -> list[bpy.types.Action]:
    """The actions of an armature with a swing: of those with curves of its lag bones, a note of one, also others."""
    own = list_own_actions(armature)
    return [each for each in bpy.data.actions if (each in own) + (SWING_KEY in each) + moves_any(each, lags) > 1]


def take_out(
    armature: bpy.types.Object, made: Collection[str], actions: Collection[bpy.types.Action], undo: ExitStack
) -> list[str]:
    """Remove bones that were made for swings, with their curves, and give back their weights.

    Returns the names of meshes that can not be changed. `undo` takes back what is done to meshes; bones and actions are
    the caller's to restore.
    """
    lags = list_lag_bones(armature) & set(made)
    for action in actions:
        remove_bone_curves(action, lags - _list_used(armature, action), COLLECTION)
    for bone, constraint in list_constraints(armature, lags):  # Blender complains of bones that are gone
        undo.callback(aim_constraint, armature, bone, constraint, aim_constraint(armature, bone, constraint, ""))
    left = give_back(armature, made, undo)
    remove_made_bones(armature, made)
    return left


def _list_used(armature: bpy.types.Object, action: bpy.types.Action) -> set[str]:
    """Names of the lag bones of other armatures that an action is of, too, as of a copy of the character."""
    others = [obj for obj in bpy.data.objects if obj.type == "ARMATURE" and obj.data != armature.data and obj.pose]
    swinging = [other for other in others if list_lag_bones(other)]
    return {lag for other in swinging if action in list_own_actions(other) for lag in list_lag_bones(other)}
