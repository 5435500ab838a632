"""Which fractions joints get: by what users have chosen, by the armature's actions, and by its bones."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np

from ..bridge.armatures import Skeleton
from ..bridge.twists import list_actions, read_largest_twists
from ..deformers import METHODS
from ..deformers.rig.fraction_plan import LEAST_SPREAD, count_fractions, find_long_bones, plan_fractions
from ..deformers.skinning import ssd
from ..settings.objects import ObjectSettings

_twists: dict[int, tuple[tuple[int, ...], dict[str, float]]] = {}
"""Of each armature object: its actions, by `session_uid` as itself, and the largest twists of its bones."""


def forget_all() -> None:
    """Drop what is known of all armatures, as when another file is opened."""
    _twists.clear()


def note_changes(depsgraph: bpy.types.Depsgraph, is_frame: bool) -> None:
    """Have twists read again of armatures whose actions or poses the user has changed.

    Parameters
    ----------
    depsgraph : Depsgraph
    is_frame : bool
        Whether another frame has posed them: that changes no action.
    """
    for update in depsgraph.updates:
        data = update.id
        if isinstance(data, bpy.types.Action):
            _twists.clear()
        elif not is_frame and isinstance(data, bpy.types.Object) and data.type == "ARMATURE":
            _twists.pop(data.original.session_uid, None)


def read_choice(settings: ObjectSettings, method: str) -> str:
    """What an object's settings say about twist, as `with_fractions` takes it.

    Linear blending is Blender's own: its joints have fractions where a number is chosen.
    """
    if METHODS[method].fills_solid or (method == ssd.INFO.key and settings.twist == "AUTO"):
        return "OFF"
    return settings.twist


def with_fractions(
    skeleton: Skeleton, armature: bpy.types.Object, choice: str, others: Sequence[bpy.types.Object] = ()
) -> Skeleton:
    """A skeleton whose joints have the fractions that a choice gives them.

    Parameters
    ----------
    skeleton : Skeleton
    armature : Object
        Original.
    choice : str
        From `read_choice`.
    others : sequence of Object
        Armatures of the same bones, whose twists count as well.

    Returns
    -------
    Skeleton
        The same object as before, where the fractions are the same.
    """
    plain = skeleton.plain or skeleton
    if choice == "OFF" and not any(own or spread == "ON" for own, spread in plain.twists):
        return plain
    levels, spread = _choose(plain, [armature, *others], choice)
    key = levels.tobytes(), spread.tobytes()
    if key not in plain.known:
        plain.known[key] = plain.with_fractions(plan_fractions(plain.joints, levels, spread))
    return plain.known[key]


def _choose(skeleton: Skeleton, armatures: list[bpy.types.Object], choice: str) -> tuple[np.ndarray, np.ndarray]:
    """How many fractions each joint has, and along how many bones its twist is spread: int arrays, shape (B,)."""
    if "long_bones" not in skeleton.known:
        skeleton.known["long_bones"] = find_long_bones(skeleton.joints)
    long_bones, parents = skeleton.known["long_bones"], skeleton.joints.parents
    is_bendy = np.zeros(len(parents), bool)
    is_bendy[skeleton.bendy_joints] = True
    levels, spread = np.zeros((2, len(parents)), np.intp)
    twists = [_find_twists(armature) for armature in armatures]
    for name, joint, (own, spreads) in zip(skeleton.names, skeleton.first_joints, skeleton.twists, strict=True):
        level, above = own or choice, parents[joint]
        if above < 0 or is_bendy[joint] or is_bendy[above]:
            continue
        is_spread = spreads == "ON" or (spreads == "AUTO" and level != "OFF" and long_bones.is_long[joint])
        if level.isdigit():
            levels[joint] = int(level)
        elif level == "AUTO" or is_spread:
            largest = max(of_armature.get(name, 0.0) for of_armature in twists)
            levels[joint] = max(count_fractions(largest), LEAST_SPREAD if is_spread else 0)
        spread[joint] = long_bones.counts[joint] if is_spread else 0
    return levels, spread


def _find_twists(armature: bpy.types.Object) -> dict[str, float]:
    actions = tuple(action.session_uid for action in list_actions(armature))
    known = _twists.get(armature.session_uid)
    if known is None or known[0] != actions:
        known = _twists[armature.session_uid] = actions, read_largest_twists(armature)
    return known[1]
