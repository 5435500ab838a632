"""Swing added and updated: actions are read, lags computed, and keyed on lag bones in the actions themselves."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, cast

import bpy
import numpy as np

from ...bridge.animation.channels import path_of
from ...bridge.animation.curves import (
    Curve,
    add_curves,
    iterate_curves,
    list_curves,
    remove_bone_curves,
    split_bone_path,
)
from ...bridge.rigs.swings import COLLECTION, SwingingChain, add_lag_bones, list_swinging, remove_lag_bones
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
from ...deformers.swing.parts import PARTS, find_part
from ...deformers.swing.springs import Timing, find_slopes
from ...options import SwingOptions
from ...settings.bones import SWING_KEY
from ..motion.reading import playing
from ..steps import Steps, within
from ..subject.actions import find_rate
from ..subject.swung import forget_notices, hash_motion, hash_source, list_own_actions, swing_settings
from .choose import check_plays, choose_chains, find_held
from .copies import copy_linked, remove_copies
from .read import Reading, cut_chain, read_action
from .regions import add_region, remove_region
from .report import ANIMATED, SwingReport, SwungChain

DEFAULTS = SwingOptions()

FLESH = "BELLY"
"""What a region is whose name says nothing."""

LIVELY = 95.0
"""Percent of the frames that swing by no more than the angle that is wanted."""

MOST_AMOUNT = 30.0
"""Times physics: actions in which hardly anything moves get no more."""

LEAST_ANGLE = 1e-4
"""Radians by which something must swing at an amount of 1 to swing at all."""

ROTATION, LOCATION = "rotation_quaternion", "location"

Readings = dict[tuple[bytes, frozenset[str]], Reading]
"""Actions that were read, by digests of their motions (`hash_motion`) and by bones."""


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
class Lag:
    """How a chain lags behind an action at an amount of 1, or less where it fades: see `find_offsets`."""

    motion: ChainMotion
    offsets: np.ndarray
    sag: np.ndarray


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
    part = options.preset if options.preset != "AUTO" else find_part(group) or FLESH
    with ExitStack() as undo:
        bone = add_region(armature, mesh, group)
        undo.callback(remove_region, armature, bone)
        report = yield from add_swing(armature, scene, replace(options, preset=part), [bone], readings)
        undo.pop_all()
    return report


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
    bones = {bone for chain in chosen for bone in chain.bones}
    gravity, is_everywhere = _round(options.gravity), options.actions == "ALL"
    new = [
        Planned(
            part=each.part,
            bones=each.bones,
            lags=(),
            spring=_round_spring(each.spring),
            amount=0.0,
            angle=each.angle,
            gravity=gravity,
            is_everywhere=is_everywhere,
            is_held=each.is_held,
            fades=options.fade,
        )
        for each in chosen
    ]
    former = _list_planned(armature)
    kept = [each for each in former if not bones & set(each.bones)]
    replaced = [each for each in former if each not in kept]
    copies = {}
    with ExitStack() as undo:
        if options.copies:
            copies = copy_linked(armature)
            undo.callback(remove_copies, armature, copies)
        report = yield from _compute(armature, scene, new, kept, replaced, {} if readings is None else readings)
        undo.pop_all()
    return replace(report, held=tuple(held), copied=tuple(copy.name for copy in copies.values()))


def update_swing(armature: bpy.types.Object, scene: bpy.types.Scene) -> Steps[SwingReport]:
    """Compute the swing of all actions again, by the same settings; raises SkinningError where nothing swings."""
    check_plays(armature)
    planned = _list_planned(armature)
    if not planned:
        raise SkinningError(f"Nothing of '{armature.name}' swings: use Add Swing first")
    held = find_held(armature) & {bone for chain in planned if not chain.is_held for bone in chain.bones}
    if held:
        raise SkinningError(f"Constraints or drivers now rotate '{min(held)}': remove its swing, or what rotates it")
    return (yield from _compute(armature, scene, [], planned, [], {}))


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
    new: list[Planned],
    kept: list[Planned],
    replaced: list[Planned],
    known: Readings,
) -> Steps[SwingReport]:
    """Read all actions in which something swings, but for those that are known, then change the file, in one go."""
    rate, gravity = find_rate(scene), np.array(scene.gravity, np.float64) * scene.use_gravity
    own = list_own_actions(armature)
    actions = [action for action in own if action.library is None]
    if not actions:
        raise SkinningError(f"No action of this file moves '{armature.name}': animate it, or make its actions local")
    plan = {action: [each for each in (*new, *kept) if _swings_in(armature, each, action)] for action in actions}
    moving = [action for action, chains in plan.items() if chains]
    if not moving:
        raise SkinningError(f"'{armature.name}' plays no action: choose one, or let all actions swing")
    motions = {action: hash_motion(armature, action, rate) for action in moving}
    readings: dict[str, Reading] = {}
    lags: dict[tuple[str, tuple[str, ...]], Lag] = {}
    for number, action in enumerate(moving):
        bones = {bone for chain in plan[action] for bone in chain.bones}
        key = motions[action], frozenset(bones)
        if key not in known:
            steps = read_action(armature, action, rate, bones)
            known[key] = yield from within(steps, number / len(moving), 1.0 / len(moving))
        reading = readings[action.name] = known[key]
        for chain in plan[action]:
            motion = cut_chain(armature, chain.bones, reading)
            lags[action.name, chain.bones] = _find_lag(armature, motion, chain, reading.timing, gravity)
    new = _find_amounts(new, lags)
    chains = _make_bones(armature, new, kept, replaced)
    angles: dict[tuple[str, ...], list[np.ndarray]] = {chain.bones: [] for chain in chains}
    for action in actions:
        curves = []
        for chain in chains:
            lag = lags.get((action.name, chain.bones))
            if lag is None:
                start = np.array(action.frame_range[:1])
                for channel, values in _list_still(chain).items():
                    curves += _make_curves(chain.lags, channel, start, values, None)
                continue
            reading = readings[action.name]
            offsets = chain.amount * lag.offsets + chain.gravity * lag.sag
            if PARTS[chain.part].spares_body:
                offsets = spare_body(lag.motion, offsets)
            if chain.is_held:
                rotations, locations, angle = follow_chain(lag.motion, offsets)
                channels = {ROTATION: rotations, LOCATION: locations}
            else:
                rotations, angle = bend_chain(lag.motion, offsets)
                channels = {ROTATION: rotations}
            for channel, values in channels.items():
                curves += _make_curves(chain.lags, channel, reading.frames, values, reading.timing, 2 - chain.is_held)
            angles[chain.bones].append(angle)
        _write(armature, action, curves, {lag for chain in (*chains, *replaced) for lag in chain.lags}, readings)
    for action in actions:
        action[SWING_KEY] = hash_source(armature, motions[action]) if action in motions else ""
    armature.update_tag()
    forget_notices()
    told = chains[: len(new)] or chains
    return SwingReport(
        armature=armature.name,
        chains=tuple(_describe(chain, lags, angles[chain.bones]) for chain in told),
        actions=tuple(action.name for action in moving),
        linked=tuple(action.name for action in own if action.library is not None),
    )


def _swings_in(armature: bpy.types.Object, chain: Planned, action: bpy.types.Action) -> bool:
    """Whether a chain swings in an action, or is going to: it keeps still where it has but one key."""
    if chain.lags:
        keys = [
            len(curve.keyframe_points)
            for curve in iterate_curves(action)
            if split_bone_path(curve.data_path)[0] == chain.lags[0]
        ]
        if keys:
            return max(keys) > 1
    data = armature.animation_data
    return chain.is_everywhere or (not chain.lags and data is not None and data.action == action)


def _find_lag(
    armature: bpy.types.Object, motion: ChainMotion, chain: Planned, timing: Timing, gravity: np.ndarray
) -> Lag:
    if len(motion.joints) < 3:
        still = np.zeros_like(motion.joints[:, 1:])
        return Lag(motion, still, still)
    scale = np.linalg.norm(motion.world[0, :3, :3], axis=0).mean()
    size = scale * max(cast(Any, armature).dimensions) or 1.0
    offsets, sag = find_offsets(motion, chain.spring, timing, size, gravity)
    own = _find_lively([measure_own(motion)]) if chain.fades else 0.0
    return Lag(motion, offsets / (1.0 + (own / ANIMATED) ** 2), sag)


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


def _find_amounts(chains: Sequence[Planned], lags: dict[tuple[str, tuple[str, ...]], Lag]) -> list[Planned]:
    """Chains with the amounts that give their angles in lively frames: one for all chains of a part, as both ears."""
    found: dict[str, float] = {}
    for part in dict.fromkeys(chain.part for chain in chains):
        bones = {chain.bones for chain in chains if chain.part == part}
        wanted = next(chain.angle for chain in chains if chain.part == part)
        angles = [measure_angles(lag.motion, lag.offsets) for (_, own), lag in lags.items() if own in bones]
        lively = _find_lively(angles)
        found[part] = min(wanted / lively, MOST_AMOUNT) if lively > LEAST_ANGLE else 1.0
    return [replace(chain, amount=_round(found[chain.part])) for chain in chains]


def _make_bones(
    armature: bpy.types.Object, new: Sequence[Planned], kept: Sequence[Planned], replaced: Sequence[Planned]
) -> list[Planned]:
    """The new chains, with lag bones and settings, then those that stay; lag bones of others are removed."""
    if replaced:
        remove_lag_bones(armature, {lag for chain in replaced for lag in chain.lags})
    made: list[SwingingChain] = add_lag_bones(armature, [(chain.bones, chain.is_held) for chain in new]) if new else []
    for chain, swinging in zip(new, made, strict=True):
        stored: Any = swing_settings(armature, swinging.lags[0])
        stored.part, stored.amount, stored.gravity = chain.part, chain.amount, chain.gravity
        stored.frequency, stored.damping = chain.spring.frequency, chain.spring.damping
        stored.is_everywhere, stored.fades = chain.is_everywhere, chain.fades
    return [replace(chain, lags=one.lags) for chain, one in zip(new, made, strict=True)] + list(kept)


def _list_still(chain: Planned) -> dict[str, np.ndarray]:
    """Values of the channels of a chain's lag bones that keep still, shape (1, K, 3 or 4)."""
    rotations = np.tile(np.eye(1, 4), (1, len(chain.lags), 1))
    return {ROTATION: rotations, LOCATION: 0.0 * rotations[..., :3]} if chain.is_held else {ROTATION: rotations}


def _make_curves(
    lags: Sequence[str], channel: str, frames: np.ndarray, values: np.ndarray, timing: Timing | None, step: int = 1
) -> list[Curve]:
    """Curves of a channel of lag bones, whose values are at times of which every `step`-th has a key.

    Parameters
    ----------
    values : float array, shape (F, K, 3 or 4)
    timing : Timing, optional
        Of a motion; it gives the slopes.
    """
    slopes = None
    if timing is not None and len(frames) > 2:
        slopes = find_slopes(values, timing)[::step] / (frames[1] - frames[0])
    return [
        Curve(
            path_of(lag, channel),
            index,
            frames[::step],
            values[::step, number, index],
            COLLECTION,
            None if slopes is None else slopes[:, number, index],
        )
        for number, lag in enumerate(lags)
        for index in range(values.shape[2])
    ]


def _write(
    armature: bpy.types.Object,
    action: bpy.types.Action,
    curves: Sequence[Curve],
    former: set[str],
    readings: dict[str, Reading],
) -> None:
    remove_bone_curves(action, former)
    with playing(armature, action):
        if list_curves(armature):
            reading = readings.get(action.name)
            add_curves(armature, curves, reading is not None and reading.repeats)


def _describe(chain: Planned, lags: dict[tuple[str, tuple[str, ...]], Lag], angles: Sequence[np.ndarray]) -> SwungChain:
    own = [measure_own(lag.motion) for (_, bones), lag in lags.items() if bones == chain.bones]
    lively = _find_lively(angles)
    return SwungChain(
        chain.part, chain.bones, chain.spring.frequency, chain.spring.damping, chain.amount,
        lively if lively > LEAST_ANGLE else 0.0, _find_lively(own), chain.is_held, chain.fades,
    )  # fmt: skip
