"""Which fractions joints get: by what users have chosen, by the armature's actions, and by its bones."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np

from ..bridge.armatures import Skeleton
from ..bridge.twists import list_actions, read_action_twists, read_posed_twists, read_rotation_modes
from ..deformers.rig.fraction_plan import LEAST_SPREAD, count_fractions, find_long_bones, plan_fractions
from ..deformers.skinning import ssd
from ..settings.choices import find_method
from ..settings.objects import ObjectSettings

_needs: dict[int, tuple[tuple[int, ...], dict[str, int]]] = {}
"""Of each armature object: its actions, and how many fractions its bones need, by `session_uid`."""

_latest: dict[int, dict[str, int]] = {}
"""The same need that was found before: the same object where nothing has changed."""

_in_actions: dict[tuple[int, int, bytes], dict[str, float]] = {}
"""The largest twists of bones in an action, by its `session_uid`, that of the armature, and how the bones rotate."""


def forget_all() -> None:
    """Drop what is known of all armatures, as when another file is opened."""
    for known in (_needs, _latest, _in_actions):
        known.clear()


def note_changes(depsgraph: bpy.types.Depsgraph) -> None:
    """Have twists read again of armatures whose actions or poses the user has changed.

    Not for another frame: it reports actions that are played, which are the same.
    """
    for update in depsgraph.updates:
        data = update.id
        if isinstance(data, bpy.types.Action):
            _needs.clear()
            _in_actions.clear()
        elif isinstance(data, bpy.types.Object) and data.type == "ARMATURE":
            _needs.pop(data.original.session_uid, None)


def read_choice(settings: ObjectSettings, method: str) -> str:
    """What an object's settings say about twist, as `with_fractions` takes it.

    Linear blending is Blender's own: its joints have fractions where a number is chosen.
    """
    if find_method(method).fills_solid or (method == ssd.INFO.key and settings.twist == "AUTO"):
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
    if choice == "OFF" and not plain.has_twists:
        return plain
    needs = [_find_needs(one) for one in (armature, *others)]
    known = plain.known.get(choice)
    if known is None or len(known[0]) != len(needs) or any(a is not b for a, b in zip(known[0], needs, strict=True)):
        levels, spread = _choose(plain, needs, choice)
        key = levels.tobytes(), spread.tobytes()
        if key not in plain.known:
            plain.known[key] = plain.with_fractions(plan_fractions(plain.joints, levels, spread))
        known = plain.known[choice] = needs, plain.known[key]
    return known[1]


def _choose(skeleton: Skeleton, needs: list[dict[str, int]], choice: str) -> tuple[np.ndarray, np.ndarray]:
    """How many fractions each joint has, and along how many bones its twist is spread: int arrays, shape (B,)."""
    if "long_bones" not in skeleton.known:
        skeleton.known["long_bones"] = find_long_bones(skeleton.joints, _find_handle_joints(skeleton))
    long_bones, parents = skeleton.known["long_bones"], skeleton.joints.parents
    is_bendy = np.zeros(len(parents), bool)
    is_bendy[skeleton.bendy_joints] = True
    is_rigid = is_bendy | _find_handle_joints(skeleton)
    levels, spread = np.zeros((2, len(parents)), np.intp)
    for name, joint, (own, spreads) in zip(skeleton.names, skeleton.first_joints, skeleton.twists, strict=True):
        level, above = own or choice, parents[joint]
        if above < 0 or is_rigid[joint] or is_bendy[above]:
            continue
        is_spread = spreads == "ON" or (spreads == "AUTO" and level != "OFF" and long_bones.is_long[joint])
        if level.isdigit():
            levels[joint] = int(level)
        elif level == "AUTO" or is_spread:
            least = LEAST_SPREAD if is_spread else 0
            levels[joint] = max(least, *(of_armature.get(name, 0) for of_armature in needs))
        spread[joint] = long_bones.counts[joint] if is_spread else 0
    return levels, spread


def _find_handle_joints(skeleton: Skeleton) -> np.ndarray:
    """Which joints are points or vertices of cages, bool array, shape (B,): they are at no bone's end."""
    joints = np.zeros(len(skeleton.joints.parents), bool)
    joints[skeleton.first_joints[skeleton.handles]] = True
    return joints


def _find_needs(armature: bpy.types.Object) -> dict[str, int]:
    """How many fractions bones need, by name, where they need any; the same object until that changes."""
    uid, actions = armature.session_uid, list(list_actions(armature))
    state = tuple(action.session_uid for action in actions)
    known = _needs.get(uid)
    if known is not None and known[0] == state:
        return known[1]
    largest = read_posed_twists(armature)
    modes = "".join(read_rotation_modes(armature)).encode()
    for action in actions:
        key = action.session_uid, uid, modes
        if key not in _in_actions:
            _in_actions[key] = read_action_twists(action, armature)
        for name, twist in _in_actions[key].items():
            largest[name] = max(largest[name], twist)
    found = {name: count for name, twist in largest.items() if (count := count_fractions(twist))}
    if _latest.get(uid) != found:
        _latest[uid] = found
    _needs[uid] = state, _latest[uid]
    return _latest[uid]
