"""The keys of a swing, computed from the motions of its chains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...deformers import SkinningError
from ...deformers.swing.chains import (
    ChainMotion,
    bend_chain,
    find_offsets,
    follow_chain,
    measure_angles,
    measure_own,
    spare_body,
)
from ...deformers.swing.parts import SWING_PARTS, Chain
from ...deformers.swing.springs import Timing, find_slopes

ROTATION, LOCATION = "rotation_quaternion", "location"

# Radians in lively frames. An action that moves a chain by this much counts as animated, and halves a swing that fades
MIN_ANIMATED = np.radians(10.0)

# The amount of chains that hardly anything moves
MAX_AMOUNT = 30.0

# Radians at an amount of 1; chains that swing by less do not swing
MIN_ANGLE = 1e-4

Bones = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ActionMotion:
    """An action as it moves the chains that swing in it.

    Attributes
    ----------
    name : str
    digest : str
        Of the motion; see `hash_motion`.
    frames : float64 array, shape (F,)
        Half a frame apart, or nearly so. The first and the last are the action's own; F is odd, 1 without motion.
    repeats : bool
        Whether the curves repeat after their last key.
    chains : dict of tuple of str to ChainMotion
        By the bones of each chain.
    """

    name: str
    digest: str
    frames: np.ndarray
    timing: Timing
    repeats: bool
    chains: dict[Bones, ChainMotion]


@dataclass(frozen=True, eq=False)
class SwingSource:
    """Chains and how actions move them; actions are known by their full names.

    Attributes
    ----------
    actions : tuple of str
        All that are written: actions in which nothing swings get one key for each channel.
    motions : dict of str to ActionMotion
        The actions that could be read and in which something swings.
    left_out : dict of str to str
        Actions that could not be read, with the reason.
    gravity : float64 array, shape (3,)
        World space, meters per second squared.
    size : float
        Largest extent of the armature, object space.
    rate : float
        Frames per second.
    linked, held : tuple of str
        For the report: names of linked actions, and of bones that are left out because something else moves them.
    region : object
        The region of flesh that gets a bone, if any; only `write` looks into it.
    copies : bool
        Whether linked actions are copied.
    """

    chains: tuple[Chain, ...]
    actions: tuple[str, ...]
    motions: dict[str, ActionMotion]
    left_out: dict[str, str]
    gravity: np.ndarray
    size: float
    rate: float
    linked: tuple[str, ...]
    held: tuple[str, ...]
    region: Any = None
    copies: bool = False


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
    """The swing of an action.

    Attributes
    ----------
    keys : dict of tuple of str to list of Keys
        By the bones of chains that swing in the action. Others keep still.
    angles : dict of tuple of str to float64 array, shape (F,)
        Of the bone of each chain that rotates most, radians.
    repeats : bool
        Whether the curves repeat after their last key.
    motion : str
        Digest of the motion that the swing was computed from; "" if nothing swings.
    """

    keys: dict[Bones, list[Keys]] = field(default_factory=dict)
    angles: dict[Bones, np.ndarray] = field(default_factory=dict)
    repeats: bool = False
    motion: str = ""


@dataclass(frozen=True, eq=False)
class SwingPlan:
    """All that is to be written.

    Attributes
    ----------
    chains : tuple of Chain
        With the amounts that were found.
    reported : tuple of Chain
        The new chains, or all for an update, with the angles that they swing by.
    actions : dict of str to SwungAction
    left_out : dict of str to str
        Actions whose swing could not be computed, with the reason. The next update tries again.
    """

    source: SwingSource
    chains: tuple[Chain, ...]
    reported: tuple[Chain, ...]
    actions: dict[str, SwungAction]
    left_out: dict[str, str]


@dataclass(frozen=True, eq=False)
class _Lag:
    """How a chain lags behind an action at an amount of 1; see `find_offsets`."""

    motion: ChainMotion
    offsets: np.ndarray
    sag: np.ndarray


def plan_swing(source: SwingSource) -> SwingPlan:
    """Compute the swing of all actions. Raises SkinningError if none of them can be computed."""
    left_out, swung = dict(source.left_out), {}
    lags: dict[str, dict[Bones, _Lag]] = {}
    with np.errstate(all="ignore"):  # numbers that are not finite are found below
        for key, action in source.motions.items():
            try:
                lags[key] = {
                    chain.bones: _find_lag(source, action, chain)
                    for chain in source.chains if chain.bones in action.chains
                }  # fmt: skip
            except SkinningError as error:
                left_out[key] = str(error)
        chains = _find_amounts(source.chains, lags.values())
        for key, found in lags.items():
            try:
                swung[key] = _swing(source.motions[key], [chain for chain in chains if chain.bones in found], found)
            except SkinningError as error:
                left_out[key] = str(error)
    if not swung:
        raise SkinningError(next(iter(left_out.values())))
    new = [chain for chain in chains if not chain.lags]
    reported = [_measure(chain, [(lags[key], each.angles) for key, each in swung.items()]) for chain in new or chains]
    actions = {key: swung.get(key, SwungAction()) for key in source.actions}
    return SwingPlan(source, tuple(chains), tuple(reported), actions, left_out)


def _find_lag(source: SwingSource, action: ActionMotion, chain: Chain) -> _Lag:
    motion = action.chains[chain.bones]
    if len(motion.joints) < 3:
        still = np.zeros_like(motion.joints[:, 1:])
        return _Lag(motion, still, still)
    scale = np.linalg.norm(motion.world[0, :3, :3], axis=0).mean()
    size = scale * source.size or 1.0
    offsets, sag = find_offsets(motion, chain.spring, action.timing, size, source.gravity)
    own = _find_lively([measure_own(motion)]) if chain.fades else 0.0
    offsets /= 1.0 + (own / MIN_ANIMATED) ** 2
    _check_finite(action, chain, [offsets, sag, measure_angles(motion, offsets)])
    return _Lag(motion, offsets, sag)


def _swing(action: ActionMotion, chains: Sequence[Chain], lags: dict[Bones, _Lag]) -> SwungAction:
    keys, turned = {}, {}
    for chain in chains:
        motion, lag = action.chains[chain.bones], lags[chain.bones]
        offsets = chain.amount * lag.offsets + chain.gravity * lag.sag
        if SWING_PARTS[chain.part].spares_body:
            offsets = spare_body(motion, offsets)
        if chain.is_held:
            rotations, locations, angles = follow_chain(motion, offsets)
            channels = {ROTATION: rotations, LOCATION: locations}
        else:
            rotations, angles = bend_chain(motion, offsets)
            channels = {ROTATION: rotations}
        made = [_make_keys(channel, action, values, 2 - chain.is_held) for channel, values in channels.items()]
        numbers = [each for key in made for each in (key.values, key.slopes) if each is not None]
        _check_finite(action, chain, [angles, *numbers])
        keys[chain.bones], turned[chain.bones] = made, angles
    return SwungAction(keys, turned, action.repeats, action.digest)


def _check_finite(action: ActionMotion, chain: Chain, numbers: Sequence[np.ndarray]) -> None:
    """Raise SkinningError if numbers are not finite in the single precision that Blender stores."""
    if not all(np.isfinite(each.astype(np.float32)).all() for each in numbers):
        raise SkinningError(
            f"The swing of '{chain.bones[0]}' in action '{action.name}' would not be finite: correct what moves it "
            "there"
        )


def _make_keys(channel: str, action: ActionMotion, values: np.ndarray, step: int) -> Keys:
    """Keys at every `step`-th sample, with slopes if there is motion."""
    frames, slopes = action.frames, None
    if len(frames) > 2:
        slopes = find_slopes(values, action.timing)[::step] / (frames[1] - frames[0])
    return Keys(channel, frames[::step], values[::step], slopes)


def _find_lively(angles: Sequence[np.ndarray], percent: float = 95.0) -> float:
    """The angle that this share of the frames of actions does not exceed: the angle in lively frames.

    Long and short actions have the same weight, so that an idle of minutes does not decide how far a run swings.
    """
    moving = [each for each in angles if each.max(initial=0.0) > MIN_ANGLE]
    if not moving:
        return 0.0
    values = np.concatenate(moving)
    shares = np.concatenate([np.full(len(each), 1.0 / (len(each) * len(moving))) for each in moving])
    order = np.argsort(values)
    return float(np.interp(0.01 * percent, np.cumsum(shares[order]), values[order]))


def _find_amounts(chains: Sequence[Chain], lags: Any) -> list[Chain]:
    """The chains; new ones with the amount that gives their angle in lively frames, the same for all of a part."""
    found: dict[str, float] = {}
    for chain in chains:
        if chain.lags or chain.part in found:
            continue
        bones = {one.bones for one in chains if one.part == chain.part and not one.lags}
        moved = [lag for each in lags for own, lag in each.items() if own in bones]
        lively = _find_lively([measure_angles(lag.motion, lag.offsets) for lag in moved])
        found[chain.part] = min(chain.angle / lively, MAX_AMOUNT) if lively > MIN_ANGLE else 1.0
    return [one if one.lags else replace(one, amount=round_as_stored(found[one.part])) for one in chains]


def round_as_stored(number: float) -> float:
    """A number in the single precision of properties, so that an update computes the same again."""
    return float(np.float32(number))


def _measure(chain: Chain, swung: Sequence[tuple[dict[Bones, _Lag], dict[Bones, np.ndarray]]]) -> Chain:
    """A chain with the angles that it swings by, and that actions move it by."""
    own = _find_lively([measure_own(lags[chain.bones].motion) for lags, _ in swung if chain.bones in lags])
    lively = _find_lively([angles[chain.bones] for _, angles in swung if chain.bones in angles])
    return replace(chain, angle=lively if lively > MIN_ANGLE else 0.0, own=own)
