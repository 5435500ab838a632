"""Swing removed: lag bones, what copies them, and their curves; nothing else of the file has changed."""

from __future__ import annotations

from collections.abc import Collection

import bpy

from ...bridge.animation.curves import remove_bone_curves
from ...bridge.rigs.swings import list_swinging, remove_lag_bones
from ...deformers import SkinningError
from ...settings.bones import SWING_KEY
from ..subject.swung import forget_notices, list_own_actions
from .choose import check_armature
from .regions import remove_region


def remove_swing(armature: bpy.types.Object, names: Collection[str] = ()) -> list[str]:
    """Take the swing of chains back.

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
    swinging = list_swinging(armature)
    removed = [chain for chain in swinging if not names or set(names) & set(chain.bones)]
    if not removed:
        raise SkinningError(f"Nothing of '{armature.name}' swings: use Add Swing first")
    lags = {lag for chain in removed for lag in chain.lags}
    for action in list_own_actions(armature):
        if action.library is not None:
            continue
        remove_bone_curves(action, lags)
        if len(removed) == len(swinging) and SWING_KEY in action:
            del action[SWING_KEY]
    remove_lag_bones(armature, lags)
    for name in [name for chain in removed for name in chain.bones if armature.data.bones[name].supple.is_flesh]:
        remove_region(armature, name)
    armature.update_tag()
    forget_notices()
    bones = sum(len(chain.bones) for chain in removed)
    return [f"Removed the swing of {bones} bones"]
