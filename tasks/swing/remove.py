"""Swing removed: lag bones, what copies them, and their curves. Nothing else of the file changes."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import ExitStack

import bpy

from ...bridge.animation.curves import remove_bone_curves
from ...bridge.owned import Tag, unmark
from ...bridge.restoring import undone_on_failure
from ...bridge.rigs.actions import moves_any
from ...bridge.rigs.swing_weights import give_back
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
from ..subject.actions import check_bones
from .actions import check_local_bones, list_carrying, list_used


def remove_swing(armature: bpy.types.Object, names: Collection[str] = ()) -> list[str]:
    """Remove the swing of chains, and what is left of chains that were edited by hand so that nothing swings.

    Raises SkinningError if nothing swings.

    Parameters
    ----------
    names : collection of str
        Bones of the chains. Without any, all chains.
    """
    check_bones(armature)
    check_local_bones(armature)
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
    with undone_on_failure([armature.data, *local]) as undo:
        undo.callback(armature.update_tag, refresh={"TIME"})
        left = take_out(armature, made, local, undo)
        if not list_lag_bones(armature):
            for action in local:
                if not list_used(armature, action):
                    unmark(action, Tag.SWING)
        for bone, constraint in constraints:
            if bone not in made:
                remove_constraint(armature, bone, constraint)
    armature.update_tag()
    lines = [f"Removed the swing of {len(bones)} bones"] if bones else ["Removed what was left of a swing"]
    left += [action.name for action in actions if action.library is not None and moves_any(action, made)]
    return [*lines, f"Left as they are, because they are linked from other files: {', '.join(left)}"] if left else lines


def take_out(
    armature: bpy.types.Object, made: Collection[str], actions: Collection[bpy.types.Action], undo: ExitStack
) -> list[str]:
    """Remove bones that were made for swings, with their curves, and give back their weights.

    Returns the names of meshes that cannot be changed. `undo` restores meshes; the caller restores bones and actions.
    """
    lags = list_lag_bones(armature) & set(made)
    for action in actions:
        remove_bone_curves(action, lags - list_used(armature, action), COLLECTION)
    for bone, constraint in list_constraints(armature, lags):  # Blender complains of bones that are gone
        undo.callback(aim_constraint, armature, bone, constraint, aim_constraint(armature, bone, constraint, ""))
    left = give_back(armature, made, undo)
    remove_made_bones(armature, made)
    return left
