"""Swing added and updated: actions are read, and all that swings is computed, before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import bpy
import numpy as np

from ...bridge.animation.curves import iterate_curves, split_bone_path
from ...bridge.rigs.swings import list_swinging
from ...deformers import SkinningError
from ...deformers.swing.chains import (
    ChainMotion,
    Spring,
    bend_chain,
    find_offsets,
    follow_chain,
    measure_angles,
    measure_own,
    spare_body,
)
from ...deformers.swing.parts import PARTS
from ...deformers.swing.springs import find_slopes
from ...options import SwingOptions
from ...settings.bones import SWING_KEY
from ..steps import Steps, within
from ..subject.actions import find_rate
from ..subject.swung import forget_notices, hash_motion, list_own_actions, swing_settings
from .choose import ChosenChain, check_plays, choose_chains, choose_region, find_held
from .read import Reading, cut_chain, cut_region, read_action
from .regions import Region, plan_region
from .report import ANIMATED, SwingReport, SwungChain
from .write import LOCATION, ROTATION, Keys, Planned, SwungAction, write_swing

DEFAULTS = SwingOptions()

LIVELY = 95.0
"""Percent of the frames that swing by no more than the angle that is wanted."""

MOST_AMOUNT = 30.0
"""Times physics: actions in which hardly anything moves get no more."""

LEAST_ANGLE = 1e-4
"""Radians by which something must swing at an amount of 1 to swing at all."""

Readings = dict[tuple[bytes, frozenset[str]], Reading]
"""Actions that were read, by digests of their motions (`hash_motion`) and by bones."""


@dataclass(frozen=True, eq=False)
class Lag:
    """How a chain lags behind an action at an amount of 1, or less where it fades: see `find_offsets`."""

    reading: Reading
    motion: ChainMotion
    offsets: np.ndarray
    sag: np.ndarray


@dataclass(frozen=True, eq=False)
class Swing:
    """Keys of a chain in an action, and the angle of the bone that turns most in each of its samples, radians."""

    keys: list[Keys]
    angles: np.ndarray


def add_region_swing(
    armature: bpy.types.Object,
    scene: bpy.types.Scene,
    options: SwingOptions,
    mesh: bpy.types.Object,
    group: str,
    readings: Readings | None = None,
) -> Steps[SwingReport]:
    """Have a region of flesh swing: a vertex group, which gets a bone.

    Parameters
    ----------
    readings : dict, optional
        As of `add_swing`.

    Raises
    ------
    SkinningError
        Where it can not; nothing is changed then.
    """
    check_plays(armature)
    region = plan_region(armature, mesh, group)
    chosen = choose_region(armature, options, group, region.name, float(np.linalg.norm(region.tail - region.head)))
    return (yield from _add(armature, scene, options, [chosen], [], readings, region))


def add_swing(
    armature: bpy.types.Object,
    scene: bpy.types.Scene,
    options: SwingOptions = DEFAULTS,
    names: Sequence[str] = (),
    readings: Readings | None = None,
) -> Steps[SwingReport]:
    """Have chains of bones swing.

    Parameters
    ----------
    scene : Scene
        Its frame rate and gravity count.
    names : sequence of str
        Of their bones; all that are a part by their names if none is given.
    readings : dict, optional
        What was read before, for other settings: it is not read again, and what is read is added.

    Raises
    ------
    SkinningError
        Where nothing can swing; nothing is changed then.
    """
    check_plays(armature)
    chosen, held = choose_chains(armature, options, names)
    return (yield from _add(armature, scene, options, chosen, held, readings))


def _add(
    armature: bpy.types.Object,
    scene: bpy.types.Scene,
    options: SwingOptions,
    chosen: Sequence[ChosenChain],
    held: Sequence[str],
    readings: Readings | None,
    region: Region | None = None,
) -> Steps[SwingReport]:
    bones = {bone for chain in chosen for bone in chain.bones}
    new = [
        Planned(
            part=each.part,
            bones=each.bones,
            lags=(),
            spring=_round_spring(each.spring),
            amount=0.0,
            angle=each.angle,
            gravity=_round(options.gravity),
            is_everywhere=options.actions == "ALL",
            is_held=each.is_held,
            fades=options.fade,
        )
        for each in chosen
    ]
    kept = [each for each in _list_planned(armature) if not bones & set(each.bones)]
    readings = {} if readings is None else readings
    report = yield from _compute(armature, scene, [*new, *kept], readings, region, options.copies)
    return replace(report, held=tuple(held))


def update_swing(armature: bpy.types.Object, scene: bpy.types.Scene) -> Steps[SwingReport]:
    """Compute the swing of all actions again, by the same settings; raises SkinningError where nothing swings."""
    check_plays(armature)
    planned = _list_planned(armature)
    if not planned:
        raise SkinningError(f"Nothing of '{armature.name}' swings: use Add Swing first")
    held = find_held(armature) & {bone for chain in planned if not chain.is_held for bone in chain.bones}
    if held:
        raise SkinningError(f"Constraints or drivers now rotate '{min(held)}': remove its swing, or what rotates it")
    return (yield from _compute(armature, scene, planned, {}))


def _round(number: float) -> float:
    """A number as properties keep it, in single precision: an update then computes the same."""
    return float(np.float32(number))


def _round_spring(spring: Spring) -> Spring:
    return Spring(_round(spring.frequency), _round(spring.damping))


def _list_planned(armature: bpy.types.Object) -> list[Planned]:
    """The chains that swing already."""
    planned = []
    for chain in list_swinging(armature):
        stored: Any = swing_settings(armature, chain.lags[0])
        planned.append(
            Planned(
                part=stored.part,
                bones=chain.bones,
                lags=chain.lags,
                spring=Spring(stored.frequency, stored.damping),
                amount=stored.amount,
                angle=0.0,
                gravity=stored.gravity,
                is_everywhere=stored.is_everywhere,
                is_held=chain.is_held,
                fades=stored.fades,
            )
        )
    return planned


def _compute(
    armature: bpy.types.Object,
    scene: bpy.types.Scene,
    chains: Sequence[Planned],
    known: Readings,
    region: Region | None = None,
    copies: bool = False,
) -> Steps[SwingReport]:
    """Read all actions in which something swings, but for those that are known, compute all, then change the file.

    Actions that can not be read, or in which what swings would be nowhere, are left out.
    """
    rate = find_rate(scene)
    own = list_own_actions(armature)
    actions = [action for action in own if copies or action.library is None]
    if not actions:
        raise SkinningError(f"No action of this file moves '{armature.name}': animate it, or make its actions local")
    plan = {action: [each for each in chains if _swings_in(armature, each, action)] for action in actions}
    moving = {action: swinging for action, swinging in plan.items() if swinging}
    if not moving:
        raise SkinningError(f"'{armature.name}' plays no action: choose one, or let all actions swing")
    motions = {action: hash_motion(armature, action, rate) for action in moving}
    left_out: dict[bpy.types.Action, str] = {}
    lags: dict[bpy.types.Action, dict[tuple[str, ...], Lag]] = {}
    for number, (action, swinging) in enumerate(moving.items()):
        steps = _read_lags(armature, scene, action, swinging, motions[action], known, region)
        try:
            lags[action] = yield from within(steps, number / len(moving), 1.0 / len(moving))
        except SkinningError as error:
            left_out[action] = str(error)
    chains = _find_amounts(chains, lags)
    swung: dict[bpy.types.Action, dict[tuple[str, ...], Swing]] = {}
    for action, found in lags.items():
        try:
            swung[action] = {one.bones: _swing(action, one, found[one.bones]) for one in chains if one.bones in found}
        except SkinningError as error:
            left_out[action] = str(error)
    if not swung:
        raise SkinningError(next(iter(left_out.values())))
    written = [
        SwungAction(
            action=action,
            keys={bones: one.keys for bones, one in swung.get(action, {}).items()},
            repeats=any(lag.reading.repeats for lag in lags.get(action, {}).values()),
            motion=motions[action] if action in swung else None,
            is_left_out=action in left_out,
        )
        for action in actions
    ]
    told = [_describe(one, lags, swung) for one in [one for one in chains if not one.lags] or chains]
    copied = write_swing(armature, chains, written, rate, region, copies)
    forget_notices()
    return SwingReport(
        armature=armature.name,
        chains=tuple(told),
        actions=tuple(copied.get(action, action).name for action in swung),
        linked=tuple(action.name for action in own if action not in actions),
        copied=tuple(copy.name for copy in copied.values()),
        left_out=tuple((copied.get(action, action).name, why) for action, why in left_out.items()),
    )


def _read_lags(
    armature: bpy.types.Object,
    scene: bpy.types.Scene,
    action: bpy.types.Action,
    chains: Sequence[Planned],
    motion: bytes,
    known: Readings,
    region: Region | None,
) -> Steps[dict[tuple[str, ...], Lag]]:
    """How chains lag behind an action, by their bones; raises SkinningError where it can not be read."""
    planned = region.name if region is not None else ""
    bones = {region.carrier if region is not None and bone == planned else bone for one in chains for bone in one.bones}
    key = motion, frozenset(bones)
    if key not in known:
        known[key] = yield from read_action(armature, action, find_rate(scene), bones)
    gravity, found = np.array(scene.gravity, np.float64) * scene.use_gravity, {}
    with np.errstate(all="ignore"):
        for chain in chains:
            if region is not None and chain.bones == (planned,):
                moved = cut_region(armature, region.carrier, region.head, region.tail, known[key])
            else:
                moved = cut_chain(armature, chain.bones, known[key])
            found[chain.bones] = _find_lag(armature, action, moved, chain, known[key], gravity)
    return found


def _swing(action: bpy.types.Action, chain: Planned, lag: Lag) -> Swing:
    """What a chain does in an action; raises SkinningError where that is not finite."""
    with np.errstate(all="ignore"):
        offsets = chain.amount * lag.offsets + chain.gravity * lag.sag
        if PARTS[chain.part].spares_body:
            offsets = spare_body(lag.motion, offsets)
        if chain.is_held:
            rotations, locations, angles = follow_chain(lag.motion, offsets)
            channels = {ROTATION: rotations, LOCATION: locations}
        else:
            rotations, angles = bend_chain(lag.motion, offsets)
            channels = {ROTATION: rotations}
        keys = [_make_keys(channel, lag.reading, values, 2 - chain.is_held) for channel, values in channels.items()]
        numbers = [angles, *(each for key in keys for each in (key.values, key.slopes) if each is not None)]
        _check_finite(action, chain, numbers)
    return Swing(keys, angles)


def _check_finite(action: bpy.types.Action, chain: Planned, numbers: Sequence[np.ndarray]) -> None:
    """Raise SkinningError where numbers are not, or not as Blender keeps them."""
    if not all(np.isfinite(each.astype(np.float32)).all() for each in numbers):
        raise SkinningError(
            f"The swing of '{chain.bones[0]}' in action '{action.name}' would not be finite: correct what moves it "
            "there"
        )


def _swings_in(armature: bpy.types.Object, chain: Planned, action: bpy.types.Action) -> bool:
    """Whether a chain swings in an action, or is going to: it keeps still where it has but one key."""
    if chain.lags:
        keys = [
            len(curve.keyframe_points)
            for curve in iterate_curves(action)
            if split_bone_path(curve.data_path)[0] == chain.lags[0]
        ]
        if keys and SWING_KEY in action:
            return max(keys) > 1
    data = armature.animation_data
    return chain.is_everywhere or (not chain.lags and data is not None and data.action == action)


def _find_lag(
    armature: bpy.types.Object,
    action: bpy.types.Action,
    motion: ChainMotion,
    chain: Planned,
    reading: Reading,
    gravity: np.ndarray,
) -> Lag:
    if len(motion.joints) < 3:
        still = np.zeros_like(motion.joints[:, 1:])
        return Lag(reading, motion, still, still)
    scale = np.linalg.norm(motion.world[0, :3, :3], axis=0).mean()
    size = scale * max(cast(Any, armature).dimensions) or 1.0
    offsets, sag = find_offsets(motion, chain.spring, reading.timing, size, gravity)
    own = _find_lively([measure_own(motion)]) if chain.fades else 0.0
    offsets /= 1.0 + (own / ANIMATED) ** 2
    _check_finite(action, chain, [offsets, sag, measure_angles(motion, offsets)])
    return Lag(reading, motion, offsets, sag)


def _find_lively(angles: Sequence[np.ndarray]) -> float:
    """The angle that `LIVELY` percent of the frames of actions do not exceed.

    Long actions and short ones count the same, so that an idle of minutes does not decide how far a run swings.
    """
    moving = [each for each in angles if each.max(initial=0.0) > LEAST_ANGLE]
    if not moving:
        return 0.0
    values = np.concatenate(moving)
    shares = np.concatenate([np.full(len(each), 1.0 / (len(each) * len(moving))) for each in moving])
    order = np.argsort(values)
    return float(np.interp(0.01 * LIVELY, np.cumsum(shares[order]), values[order]))


def _find_amounts(chains: Sequence[Planned], lags: dict[bpy.types.Action, dict[tuple[str, ...], Lag]]) -> list[Planned]:
    """New ones with the amounts that give their angles in lively frames: one for all of a part, as both ears."""
    found: dict[str, float] = {}
    for chain in chains:
        if chain.lags or chain.part in found:
            continue
        bones = {one.bones for one in chains if one.part == chain.part and not one.lags}
        moved = [lag for each in lags.values() for own, lag in each.items() if own in bones]
        lively = _find_lively([measure_angles(lag.motion, lag.offsets) for lag in moved])
        found[chain.part] = min(chain.angle / lively, MOST_AMOUNT) if lively > LEAST_ANGLE else 1.0
    return [one if one.lags else replace(one, amount=_round(found[one.part])) for one in chains]


def _make_keys(channel: str, reading: Reading, values: np.ndarray, step: int) -> Keys:
    """Keys of every `step`-th sample, with the slopes of the motion, if it is one."""
    frames, slopes = reading.frames, None
    if len(frames) > 2:
        slopes = find_slopes(values, reading.timing)[::step] / (frames[1] - frames[0])
    return Keys(channel, frames[::step], values[::step], slopes)


def _describe(
    chain: Planned,
    lags: dict[bpy.types.Action, dict[tuple[str, ...], Lag]],
    swung: dict[bpy.types.Action, dict[tuple[str, ...], Swing]],
) -> SwungChain:
    own = [measure_own(lags[action][chain.bones].motion) for action, each in swung.items() if chain.bones in each]
    lively = _find_lively([each[chain.bones].angles for each in swung.values() if chain.bones in each])
    return SwungChain(
        chain.part, chain.bones, chain.spring.frequency, chain.spring.damping, chain.amount,
        lively if lively > LEAST_ANGLE else 0.0, _find_lively(own), chain.is_held, chain.fades,
    )  # fmt: skip
