"""Which chains swing, and how actions move them, every half frame."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import ExitStack
from typing import Any, cast

import bpy
import numpy as np

from ...bridge.animation.channels import WIDTHS, Matrices, is_cyclic, read_matrices
from ...bridge.animation.curves import iterate_curves, list_curves, list_key_ranges, split_bone_path
from ...bridge.owned import Tag, is_marked
from ...bridge.rigs.actions import AT_A_TIME, MOST_FRAMES, check_length, find_rate, is_playable, playing, set_frames
from ...bridge.rigs.chain_motions import Reading, cut_chain, cut_region
from ...bridge.rigs.swings import find_held, list_lag_bones, list_swinging, without_swing
from ...deformers import SkinningError
from ...deformers.swing.parts import Chain
from ...deformers.swing.springs import Timing
from ...options import SwingOptions
from ..installed.feature import Subject
from ..steps import Steps, within
from ..subject.actions import check_plays
from .actions import check_local_bones, hash_motion, list_own_actions
from .choose import choose_chains, choose_region
from .plan import ActionMotion, SwingSource
from .regions import Region, plan_region

# Entries of bones' axes: two frames that differ by less have the same pose
MAX_SAME_POSE = 0.01

# Relative to the fastest step: a motion that is slower at its ends rests there, so it is not a cycle
MIN_CYCLE_STEP = 0.05


# Actions that were read, by digests of their motions (`hash_motion`) and by bones
Readings = dict[tuple[str, frozenset[str]], Reading]


def read_swing(
    subject: Subject,
    scene: bpy.types.Scene,
    options: SwingOptions | None,
    names: Sequence[str] = (),
    region: tuple[bpy.types.Object, str] | None = None,
    readings: Readings | None = None,
) -> Steps[SwingSource]:
    """Read the chains that are to swing, those that swing already, and all actions that move them.

    Parameters
    ----------
    options : SwingOptions or None
        None for an update of all chains that swing already, with their own settings.
    names, region, readings
        As of `add_swing`, and the mesh and vertex group of `add_region_swing`.
    """
    armature = subject.armature
    check_plays(armature)
    check_local_bones(armature)
    swinging, held, planned = list_swinging(armature), (), None
    if options is None:
        new = []
        _check_update(armature, swinging)
    elif region is not None:
        planned = plan_region(armature, *region)
        length = float(np.linalg.norm(planned.tail - planned.head))
        new = [choose_region(armature, options, region[1], planned.name, length)]
    else:
        new, held = choose_chains(armature, options, names)
    bones = {bone for chain in new for bone in chain.bones}
    chains = [*new, *(chain for chain in swinging if not bones & set(chain.bones))]
    copies, rate = options is not None and options.copies, find_rate(scene)
    own = list_own_actions(armature)
    actions = [action for action in own if copies or action.library is None]
    if not actions:
        raise SkinningError(f"No action of this file moves '{armature.name}': animate it, or make its actions local")
    moving = {action: [chain for chain in chains if _swings_in(armature, chain, action)] for action in actions}
    moving = {action: swinging for action, swinging in moving.items() if swinging}
    if not moving:
        raise SkinningError(f"'{armature.name}' plays no action: choose one, or let all actions swing")
    motions, left_out = {}, {}
    for number, (action, swinging) in enumerate(moving.items()):
        steps = _read_motion(armature, action, rate, swinging, planned, {} if readings is None else readings)
        try:
            motions[action.name_full] = yield from within(steps, number / len(moving), 1.0 / len(moving))
        except SkinningError as error:
            left_out[action.name_full] = str(error)
    return SwingSource(
        tuple(chains), tuple(action.name_full for action in actions), motions, left_out,
        np.array(scene.gravity, np.float64) * scene.use_gravity, max(cast(Any, armature).dimensions), rate,
        tuple(action.name for action in own if action not in actions), tuple(held), planned, copies,
    )  # fmt: skip


def _check_update(armature: bpy.types.Object, chains: Sequence[Chain]) -> None:
    if not chains:
        raise SkinningError(f"Nothing of '{armature.name}' swings: use Add Swing first")
    held = find_held(armature) & {bone for chain in chains if not chain.is_held for bone in chain.bones}
    if held:
        raise SkinningError(f"Constraints or drivers now rotate '{min(held)}': remove its swing, or what rotates it")


def _swings_in(armature: bpy.types.Object, chain: Chain, action: bpy.types.Action) -> bool:
    """Whether a chain swings in an action, or is going to. With one key for each channel, it keeps still there."""
    if chain.lags:
        curves = (curve for curve in iterate_curves(action) if split_bone_path(curve.data_path)[0] == chain.lags[0])
        keys = [len(curve.keyframe_points) for curve in curves]
        if keys and is_marked(action, Tag.SWING):
            return max(keys) > 1
    data = armature.animation_data
    return chain.is_everywhere or (not chain.lags and data is not None and data.action == action)


def _read_motion(
    armature: bpy.types.Object,
    action: bpy.types.Action,
    rate: float,
    chains: Sequence[Chain],
    region: Region | None,
    readings: Readings,
) -> Steps[ActionMotion]:
    """How an action moves chains; raises SkinningError if it cannot be read."""
    planned = region.name if region is not None else ""
    bones = {region.carrier if region is not None and bone == planned else bone for one in chains for bone in one.bones}
    key = hash_motion(armature, action, rate), frozenset(bones)
    if key not in readings:
        readings[key] = yield from read_action(armature, action, rate, bones)
    reading = readings[key]
    with np.errstate(all="ignore"):
        motions = {
            chain.bones: cut_region(armature, region.carrier, region.head, region.tail, reading)
            if region is not None and chain.bones == (planned,)
            else cut_chain(armature, chain.bones, reading)
            for chain in chains
        }
    return ActionMotion(action.name, key[0], reading.frames, reading.timing, reading.repeats, motions)


def read_action(
    armature: bpy.types.Object, action: bpy.types.Action, rate: float, bones: Collection[str]
) -> Steps[Reading]:
    """Read where bones, and all that carry them, are without swing; yields the share that is done.

    Raises SkinningError if the action has too many frames, or moves one of them to no position.
    """
    with playing(armature, action):
        start, end, repeats, is_marked = _find_span(armature)
    count = max(1, round(end - start)) * 2 if end > start else 0
    check_length(action, range(count // 2))
    frames = np.linspace(start, end, count + 1)
    poses: Any = cast(Any, armature.pose).bones
    rows = [
        row
        for row, bone in enumerate(poses)
        if not {bone.name, *(below.name for below in bone.children_recursive)}.isdisjoint(bones)
    ]
    names = tuple(poses[row].name for row in rows)
    pose, world = [], []
    for first in range(0, len(frames), AT_A_TIME):
        for one in _read_frames(armature, action, frames[first : first + AT_A_TIME].tolist()):
            pose.append(one.pose[0, rows])
            world.append(one.world[0])
            _check_finite(armature, action, frames[len(pose) - 1], names, pose[-1], world[-1])
        yield min(1.0, (first + AT_A_TIME) / len(frames))
    timing = Timing((end - start) / max(count, 1) / rate, is_marked or _is_cycle(np.array(pose)))
    return Reading(frames, timing, repeats, names, np.array(pose), np.array(world))


def _check_finite(
    armature: bpy.types.Object,
    action: bpy.types.Action,
    frame: float,
    names: Sequence[str],
    pose: np.ndarray,
    world: np.ndarray,
) -> None:
    if np.isfinite(pose).all() and np.isfinite(world).all():
        return
    broken = [name for name, matrix in zip(names, pose, strict=True) if not np.isfinite(matrix).all()]
    raise SkinningError(
        f"'{(broken or [armature.name])[0]}' has no finite position in frame {frame:g} of action '{action.name}': "
        "correct what moves it there"
    )


def _find_span(armature: bpy.types.Object) -> tuple[float, float, bool, bool]:
    """First and last frame of the action that plays, whether its curves repeat, and whether it is said to."""
    action: Any = armature.animation_data.action
    lags = list_lag_bones(armature)
    curves = [curve for curve in list_curves(armature) if split_bone_path(curve.data_path)[0] not in lags]
    transforms = [curve for curve in curves if split_bone_path(curve.data_path)[1].removeprefix(".") in WIDTHS]
    if action.use_frame_range:
        first, last = action.frame_start, action.frame_end
    else:  # stray keys of what may move nothing do not count
        spans = [np.array(list_key_ranges(each) or [(1.0, 1.0)]) for each in (curves, transforms)]
        spans = [(float(ends[:, 0].min()), float(ends[:, 1].max())) for ends in spans]
        first, last = next((span for span in spans if np.ptp(span) < MOST_FRAMES and is_playable(*span)), spans[0])
    if not is_playable(first, last):
        raise SkinningError(
            f"Action '{action.name}' has keys from frame {first:g} to {last:g}, which Blender does not play: delete "
            "stray keys far away"
        )
    is_marked = is_cyclic(armature)
    return first, last, is_marked and not action.use_cyclic, is_marked


def _read_frames(armature: bpy.types.Object, action: bpy.types.Action, frames: Sequence[float]) -> list[Matrices]:
    with ExitStack() as stack:
        stack.enter_context(without_swing(armature))
        scene = stack.enter_context(playing(armature, action))
        return [read_matrices(armature.evaluated_get(depsgraph)) for depsgraph in set_frames(scene, frames)]


def _is_cycle(pose: np.ndarray) -> bool:
    """Whether a motion ends in the pose that it starts in, and does not rest there."""
    axes = pose[:, :, :3, :3]
    if len(axes) < 4 or np.abs(axes[-1] - axes[0]).max() > MAX_SAME_POSE:
        return False
    steps = np.abs(np.diff(axes, axis=0)).max(axis=(1, 2, 3))
    return bool(min(steps[0], steps[-1]) > MIN_CYCLE_STEP * steps.max())
