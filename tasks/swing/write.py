"""A swing that was computed, written to the file: bones, weights, keys and constraints; all, or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

import bpy
import numpy as np

from ...bridge.animation.channels import path_of
from ...bridge.animation.curves import Curve, add_curves, list_curves, remove_bone_curves
from ...bridge.names import free_name, name_within
from ...bridge.owned import Tag, mark, unmark
from ...bridge.restoring import undone_on_failure
from ...bridge.rigs.actions import playing
from ...bridge.rigs.swing_weights import rename_group
from ...bridge.rigs.swings import (
    COLLECTION,
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
from ...deformers.swing.parts import Chain
from ..installed.feature import Subject
from .actions import Copies, copy_linked, hash_motion, hash_source, list_carrying, list_own_actions, remove_copies
from .choose import list_taken
from .plan import LOCATION, ROTATION, Keys, SwingPlan, SwungAction
from .regions import add_region, plan_region
from .remove import take_out
from .report import SwingReport


def write_swing(subject: Subject, plan: SwingPlan) -> SwingReport:
    """Make the bones of new chains, in place of those that their bones had, and write all keys.

    If anything fails, the file is as it was.
    """
    armature, source, region = subject.armature, plan.source, plan.source.region
    new = [chain for chain in plan.chains if not chain.lags]
    bones = {bone for chain in new for bone in chain.bones}
    gone = {lag for chain in list_swinging(armature) if bones & set(chain.bones) for lag in chain.lags}
    gone |= list_idle(armature) & list_lag_bones(armature) if bones and region is None else set()
    former = list_constraints(armature, gone)
    if region is not None:  # weights may have changed since
        region = plan_region(armature, region.mesh, region.group)
    made = _name_lags(armature, new, gone)
    own = {action.name_full: action for action in list_own_actions(armature)}
    swung = {own[name]: planned for name, planned in plan.actions.items()}
    local = {action for action in swung if action.library is None}
    cleared = [action for action in list_carrying(armature, gone) if action.library is None] if gone else []
    copied: Copies = {}
    with undone_on_failure([armature.data, *local.union(cleared)]) as undo:
        undo.callback(armature.update_tag, refresh={"TIME"})
        undo.callback(remove_copies, armature, copied)
        if source.copies:
            copy_linked(armature, copied)
        if region is not None:
            add_region(armature, region, undo)
        if gone:
            take_out(armature, gone, cleared, undo)
        if made:
            _make_bones(armature, made, undo)
        chains = [*made, *(chain for chain in plan.chains if chain.lags)]
        lags = {lag for chain in chains for lag in chain.lags}
        for action, planned in swung.items():
            player = copied.get(action, action)
            remove_bone_curves(player, lags)
            with playing(armature, player):
                if list_curves(armature):
                    add_curves(armature, _list_curves(chains, float(action.frame_range[0]), planned), planned.repeats)
        unused = _constrain(armature, made, former, undo)
        for action, planned in swung.items():
            player, motion = copied.get(action, action), planned.motion
            if action.name_full in plan.left_out:
                unmark(player, Tag.SWING)  # the next update tries again
                continue
            if motion and region is not None:  # the bone that was added is a part of the motion
                motion = hash_motion(armature, player, source.rate)
            mark(player, Tag.SWING, hash_source(armature, motion) if motion else "")
        for bone, constraint in unused:
            remove_constraint(armature, bone, constraint)
    armature.update_tag()
    names = {action.name_full: copied.get(action, action).name for action in swung}
    return SwingReport(
        armature.name, plan.reported, tuple(names[name] for name, one in plan.actions.items() if one.motion),
        source.linked, source.held, tuple(copy.name for copy in copied.values()),
        tuple((names[name], why) for name, why in plan.left_out.items()),
    )  # fmt: skip


def _name_lags(armature: bpy.types.Object, new: Sequence[Chain], gone: set[str]) -> list[Chain]:
    """New chains with free names for their lag bones."""
    taken, made = list_taken(armature, gone), []
    for chain in new:
        lags: list[str] = []
        for bone in chain.bones:
            lags.append(free_name(name_within(bone, ".swing"), taken | {*chain.bones, *lags}))
        taken.update(lags)
        made.append(replace(chain, lags=tuple(lags)))
    return made


def _make_bones(armature: bpy.types.Object, made: Sequence[Chain], undo: ExitStack) -> None:
    """Lag bones, with the vertex groups of held bones, in whose place they deform."""
    add_lag_bones(armature, made)
    held = [pair for chain in made if chain.is_held for pair in zip(chain.bones, chain.lags, strict=True)]
    for skin in list_skins(armature):
        for bone, lag in held:
            if bone in skin.vertex_groups:
                rename_group(skin, bone, lag, undo)


def _list_curves(chains: Sequence[Chain], start: float, swung: SwungAction) -> list[Curve]:
    """The curves of an action; chains that do not swing in it get one key, at its start."""
    curves, frames = [], np.array([start])
    for chain in chains:
        still = np.tile(np.eye(1, 4), (1, len(chain.lags), 1))
        keys = [Keys(ROTATION, frames, still)]
        if chain.is_held:
            keys.append(Keys(LOCATION, frames, 0.0 * still[..., :3]))
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
                for number, lag in enumerate(chain.lags)
                for index in range(key.values.shape[2])
            ]
    return curves


def _constrain(
    armature: bpy.types.Object, made: Sequence[Chain], former: Sequence[tuple[str, str]], undo: ExitStack
) -> list[tuple[str, str]]:
    """Make bones copy their lag bones. A constraint that was there stays, with its influence. Returns unused ones."""
    free = {bone: lag for one in made if not one.is_held for bone, lag in zip(one.bones, one.lags, strict=True)}
    old = {bone: constraint for bone, constraint in former if bone in free}
    for bone, lag in free.items():
        if bone in old:
            undo.callback(aim_constraint, armature, bone, old[bone], aim_constraint(armature, bone, old[bone], lag))
        else:
            undo.callback(remove_constraint, armature, bone, copy_rotation(armature, bone, lag))
    return [(bone, name) for bone, name in former if old.get(bone) != name]
