"""A swing that was computed, written to the file: bones, weights, keys and constraints; all, or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ...bridge.animation.channels import path_of
from ...bridge.animation.curves import Curve, add_curves, list_curves, remove_bone_curves
from ...bridge.restoring import restored_on_failure
from ...bridge.rigs.swings import (
    COLLECTION,
    SwingingChain,
    add_lag_bones,
    aim_constraint,
    copy_rotation,
    list_constraints,
    list_idle,
    list_lag_bones,
    list_skins,
    list_swinging,
    remove_constraint,
)
from ...deformers.swing.chains import Spring
from ...settings.bones import SWING_KEY
from ..motion.reading import playing
from ..names import free_name, name_within
from ..subject.swung import hash_motion, hash_source, swing_settings
from .choose import list_taken
from .copies import Copies, copy_linked, remove_copies
from .regions import Region, add_region, plan_region, rename_group
from .remove import list_carrying, take_out

ROTATION, LOCATION = "rotation_quaternion", "location"


@dataclass(frozen=True)
class Planned:
    """A chain that swings, or is going to.

    Attributes
    ----------
    lags : tuple of str
        Names of its lag bones; empty before they are made.
    amount : float
        1 is physics; 0 where it is to be found.
    angle : float
        That it is found by, radians.
    is_everywhere : bool
        Whether it swings in actions that get a swing for the first time.
    is_held : bool
        Whether lag bones deform in the place of bones that constraints or drivers move.
    fades : bool
        Whether it swings less in actions that move it themselves.
    """

    part: str
    bones: tuple[str, ...]
    lags: tuple[str, ...]
    spring: Spring
    amount: float
    angle: float
    gravity: float
    is_everywhere: bool
    is_held: bool
    fades: bool


@dataclass(frozen=True, eq=False)
class Keys:
    """Keys of a channel of a chain's lag bones.

    Attributes
    ----------
    frames : float array, shape (n,)
    values : float array, shape (n, K, 3 or 4)
    slopes : float array, shape (n, K, 3 or 4), optional
        Per frame.
    """

    channel: str
    frames: np.ndarray
    values: np.ndarray
    slopes: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class SwungAction:
    """What an action gets.

    Attributes
    ----------
    keys : dict
        Of chains that swing in it, by their bones; others keep still.
    repeats : bool
        Whether its curves go on after their last key.
    motion : bytes, optional
        What the swing was computed from (`hash_motion`); none where nothing swings.
    is_left_out : bool
        Whether it could not be computed: it is again, when the swing is updated.
    """

    action: bpy.types.Action
    keys: dict[tuple[str, ...], list[Keys]]
    repeats: bool = False
    motion: bytes | None = None
    is_left_out: bool = False


def write_swing(
    armature: bpy.types.Object,
    chains: Sequence[Planned],
    swung: Sequence[SwungAction],
    rate: float,
    region: Region | None = None,
    copies: bool = False,
) -> Copies:
    """Make the bones of chains that have none yet, in the place of what these had, and write all keys.

    Returns copies of linked actions, if these are to be made. What fails leaves the file as it was.

    Parameters
    ----------
    rate : float
        Frames per second.
    region : Region, optional
        That gets the bone of the chain that is new.
    """
    bones = {bone for chain in chains if not chain.lags for bone in chain.bones}
    gone = {lag for chain in list_swinging(armature) if bones & set(chain.bones) for lag in chain.lags}
    gone |= list_idle(armature) & list_lag_bones(armature) if bones and region is None else set()
    former = list_constraints(armature, gone)
    if region is not None:  # weights may have changed since
        region = plan_region(armature, region.mesh, region.group)
    made = _name_lags(armature, chains, gone, region)
    local = {one.action for one in swung if one.action.library is None}
    cleared = [action for action in list_carrying(armature, gone) if action.library is None] if gone else []
    copied: Copies = {}
    with ExitStack() as undo, restored_on_failure([armature.data, *local.union(cleared)]):
        undo.callback(armature.update_tag, refresh={"TIME"})
        undo.callback(remove_copies, armature, copied)
        if copies:
            copy_linked(armature, copied)
        if region is not None:
            add_region(armature, region, undo)
        if gone:
            take_out(armature, gone, cleared, undo)
        if made:
            _make_bones(armature, [chain for chain in chains if not chain.lags], made, undo)
        lags = [*(one.lags for one in made), *(chain.lags for chain in chains if chain.lags)]
        for one in swung:
            action = copied.get(one.action, one.action)
            remove_bone_curves(action, {lag for names in lags for lag in names})
            with playing(armature, action):
                if list_curves(armature):
                    add_curves(armature, _list_curves(chains, lags, one), one.repeats)
        unused = _constrain(armature, made, former, undo)
        for one in swung:
            _note(armature, copied.get(one.action, one.action), one, rate, region is not None)
        for bone, constraint in unused:
            remove_constraint(armature, bone, constraint)
        undo.pop_all()
    armature.update_tag()
    return copied


def _name_lags(
    armature: bpy.types.Object, chains: Sequence[Planned], gone: set[str], region: Region | None
) -> list[SwingingChain]:
    """The new chains, with names for their lag bones."""
    taken, made = list_taken(armature, gone), []
    for chain in chains:
        if chain.lags:
            continue
        bones = chain.bones if region is None else (region.name,)
        lags = []
        for bone in bones:
            lags.append(free_name(name_within(bone, ".swing"), taken | {*bones, *lags}))
        taken.update(lags)
        made.append(SwingingChain(bones, tuple(lags), chain.is_held))
    return made


def _make_bones(
    armature: bpy.types.Object, new: Sequence[Planned], made: Sequence[SwingingChain], undo: ExitStack
) -> None:
    """Lag bones, with settings, and with vertex groups where they deform."""
    add_lag_bones(armature, made)
    for chain, one in zip(new, made, strict=True):
        stored: Any = swing_settings(armature, one.lags[0])
        stored.part, stored.amount, stored.gravity = chain.part, chain.amount, chain.gravity
        stored.frequency, stored.damping = chain.spring.frequency, chain.spring.damping
        stored.is_everywhere, stored.fades = chain.is_everywhere, chain.fades
    for skin in list_skins(armature):
        for bone, lag in (
            (bone, lag) for one in made if one.is_held for bone, lag in zip(one.bones, one.lags, strict=True)
        ):
            if bone in skin.vertex_groups:
                rename_group(skin, bone, lag, undo)


def _list_curves(chains: Sequence[Planned], lags: Sequence[Sequence[str]], swung: SwungAction) -> list[Curve]:
    """The curves of an action; where nothing swings, of one key."""
    start, curves = np.array(swung.action.frame_range[:1]), []
    for chain, names in zip(sorted(chains, key=lambda chain: bool(chain.lags)), lags, strict=True):
        still = np.tile(np.eye(1, 4), (1, len(names), 1))
        keys = [Keys(ROTATION, start, still)] + ([Keys(LOCATION, start, 0.0 * still[..., :3])] if chain.is_held else [])
        for key in swung.keys.get(chain.bones, keys):
            curves += [
                Curve(
                    path_of(lag, key.channel),
                    index,
                    key.frames,
                    key.values[:, number, index],
                    COLLECTION,
                    None if key.slopes is None else key.slopes[:, number, index],
                )
                for number, lag in enumerate(names)
                for index in range(key.values.shape[2])
            ]
    return curves


def _constrain(
    armature: bpy.types.Object, made: Sequence[SwingingChain], former: Sequence[tuple[str, str]], undo: ExitStack
) -> list[tuple[str, str]]:
    """Have bones copy their lag bones; who does already, with its own influence, goes on. Returns what is left."""
    free = {bone: lag for one in made if not one.is_held for bone, lag in zip(one.bones, one.lags, strict=True)}
    old = {bone: constraint for bone, constraint in former if bone in free}
    for bone, lag in free.items():
        if bone in old:
            undo.callback(aim_constraint, armature, bone, old[bone], aim_constraint(armature, bone, old[bone], lag))
        else:
            undo.callback(remove_constraint, armature, bone, copy_rotation(armature, bone, lag))
    return [(bone, name) for bone, name in former if old.get(bone) != name]


def _note(armature: bpy.types.Object, action: bpy.types.Action, swung: SwungAction, rate: float, is_new: bool) -> None:
    """Note on an action what its swing was computed from; its motion is another one where a bone was added."""
    if swung.is_left_out:
        action.pop(SWING_KEY, None)
        return
    motion = hash_motion(armature, action, rate) if is_new and swung.motion else swung.motion
    action[SWING_KEY] = hash_source(armature, motion) if motion else ""
