"""Eleven skin patterns, drawn as height maps: folds, muscles that bulge, and bones that show through the skin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from ..errors import SkinningError
from ..geometry.vectors import smooth_step
from .heights import BASES
from .shapes import (
    ARCH,
    BELLY,
    BLADE_BORDER,
    BLADE_PLATE,
    BLADE_SPINE,
    COLLAR,
    GENTLE,
    NECK,
    RIBS,
    STEEP,
    WRIST,
    draw_bones,
    draw_folds,
    draw_muscle,
)

ReliefFormula = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Heights by (x, y), as `Preset` describes them."""

LEAST_RESOLUTION = 8

MARGIN = 1 / 16
"""Fraction of a map's width and height, on each side, that stays at the base: half a pixel of the smallest map."""

STEPS = 65535
"""Heights of a map are whole numbers of 1/STEPS from its base, which is what a 16-bit image holds."""

REFERENCE_RESOLUTION = 256
"""Columns of the map on which a pattern's highest point is found, so that maps of all sizes are scaled alike."""

DEEPEST_FOLD = 0.485
"""Depth of the deepest fold on that map. A larger map samples more of its bottom, and must not cut it off at 0."""


@dataclass(frozen=True)
class Preset:
    """A pattern and its usual settings; directions are as seen from outside of the body, which stands upright.

    Attributes
    ----------
    kind : str
        "WRINKLE" (base 0.5, above it out, below it in), "BULGE" or "BONE" (base 0, out).
    description : str
        Where on the body it goes.
    width : float
        Extent along u on the body, as a fraction of the body's height.
    aspect : float
        Extent along v over extent along u.
    strength : float
        Height from 0 to 1 at the full amount, as a fraction of `width`.
    axis : str
        Axis of the bone about which a rotation drives it: "X", "Y" (twist) or "Z".
    start, full : float
        Angles at which it begins and is complete, in radians.
    region : str
        The joint that usually drives it.
    relief : callable
        (x, y) to heights from the base, to any scale: x of shape (1, W) and y of shape (H, 1) are measured from the
        middle of the map in widths of it, so that |x| <= 1/2 and |y| <= aspect/2.
    """

    label: str
    kind: str
    description: str
    width: float
    aspect: float
    strength: float
    axis: str
    start: float
    full: float
    region: str
    relief: ReliefFormula


def draw_preset(key: str, resolution: int = 256) -> np.ndarray:
    """Draw a pattern's height map.

    Parameters
    ----------
    key : str
        A key of `PRESETS`.
    resolution : int
        Columns of the map, at least 8. The shape does not depend on it.

    Returns
    -------
    float32 array, shape (H, W)
        0..1, the bottom row first. W is the resolution and H follows from the aspect, but is never below 8. All of the
        border is exactly at the base. Values differ from the base by multiples of 1/65535.

    Raises
    ------
    SkinningError
        If there is no such pattern or the map would be too small.

    Notes
    -----
    The patterns are those of figure 3 of Suzuki and Oshita, "Pattern-based skin deformation of human model", who
    painted them by hand. Ours are formulas. No 16-bit height is exactly 0.5: a wrinkle's lie half a step between.
    """
    if key not in PRESETS:
        raise SkinningError(f"There is no skin pattern '{key}': choose one of {', '.join(PRESETS)}")
    if resolution < LEAST_RESOLUTION:
        raise SkinningError(
            f"A skin pattern of {resolution} pixels is too small: use {LEAST_RESOLUTION} pixels or more"
        )
    preset = PRESETS[key]
    highest = DEEPEST_FOLD if preset.kind == "WRINKLE" else 1.0
    steps = np.rint(_draw_relief(key, resolution) * (highest / _find_peak(key) * STEPS))
    return np.clip(BASES[preset.kind] + steps / STEPS, 0.0, 1.0).astype(np.float32)


def _draw_relief(key: str, resolution: int) -> np.ndarray:
    """A pattern's relief at the middles of a map's pixels, brought to 0 toward the border: shape (H, W)."""
    preset = PRESETS[key]
    rows = max(LEAST_RESOLUTION, round(resolution * preset.aspect))
    u, v = _find_centers(resolution)[None, :], _find_centers(rows)[:, None]
    window = [smooth_step((0.5 - MARGIN - np.abs(axis)) / MARGIN) for axis in (u, v)]
    return preset.relief(u, v * preset.aspect) * window[0] * window[1]


def _find_centers(count: int) -> np.ndarray:
    """Middles of pixels between -1/2 and 1/2, exactly symmetric: shape (count,)."""
    return (2.0 * np.arange(count) + 1.0 - count) / (2.0 * count)


@cache
def _find_peak(key: str) -> float:
    return float(np.abs(_draw_relief(key, REFERENCE_RESOLUTION)).max())


def _make_sides(key: str, left: Preset) -> dict[str, Preset]:
    """The left side's preset, whose texts have {side} where the right's differ, and its mirror image."""
    sides = {}
    for word, relief in (("left", left.relief), ("right", partial(_mirror, left.relief))):
        texts = {name: getattr(left, name).format(side=word) for name in ("description", "region")}
        sides[f"{key}_{word[0].upper()}"] = replace(left, label=f"{left.label} {word.title()}", relief=relief, **texts)
    return sides


def _mirror(relief: ReliefFormula, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return relief(-x, y)


PRESETS = {
    "FOLDS_BELLY": Preset(
        "Belly Folds",
        "WRINKLE",
        "Deep creases and rolls of skin across a belly or waist that bends or twists",
        *(0.18, 0.62, 0.075, "X", 0.15, 1.0),
        "lower spine (bone of the belly)",
        partial(draw_folds, folds=BELLY),
    ),
    "FOLDS_NECK": Preset(
        "Neck Folds",
        "WRINKLE",
        "Large folds around the front or the back of a bent neck",
        *(0.085, 0.6, 0.055, "X", 0.1, 0.7),
        "neck (neck or head bone)",
        partial(draw_folds, folds=NECK),
    ),
    "FOLDS_WRIST": Preset(
        "Wrist Folds",
        "WRINKLE",
        "Fine creases across the inside of a wrist, or smaller ones across a finger joint",
        *(0.036, 0.5, 0.035, "X", 0.2, 1.2),
        "wrist (hand bone)",
        partial(draw_folds, folds=WRIST),
    ),
    "BULGE_STEEP": Preset(
        "Steep Bulge",
        "BULGE",
        "The round belly of an upper arm or calf muscle; the pointed end is the tendon",
        *(0.095, 0.6, 0.1, "X", 0.3, 2.2),
        "elbow (forearm bone) or ankle (foot bone)",
        partial(draw_muscle, muscle=STEEP),
    ),
    "BULGE_GENTLE": Preset(
        "Gentle Bulge",
        "BULGE",
        "The broad bulge of a thigh above a bent knee",
        *(0.18, 0.62, 0.05, "X", 0.3, 1.9),
        "knee (shin bone)",
        partial(draw_muscle, muscle=GENTLE),
    ),
    **_make_sides(
        "COLLAR_BONE",
        Preset(
            "Collar Bone",
            "BONE",
            "The {side} collar bone, from the breastbone to the shoulder",
            *(0.105, 0.46, 0.045, "X", 0.1, 0.7),
            "{side} shoulder (collar bone or upper arm bone)",
            partial(draw_bones, lying=(COLLAR,)),
        ),
    ),
    **_make_sides(
        "RIBS",
        Preset(
            "Ribs",
            "BONE",
            "The {side} lower ribs and the edge of the rib cage, from the chest to the flank",
            *(0.13, 1.1, 0.025, "X", 0.2, 0.9),
            "chest (upper spine bone), or {side} shoulder (upper arm bone)",
            partial(draw_bones, lying=(ARCH, *RIBS)),
        ),
    ),
    **_make_sides(
        "SHOULDER_BLADE",
        Preset(
            "Shoulder Blade",
            "BONE",
            "The {side} shoulder blade, on the back",
            *(0.085, 1.35, 0.075, "X", 0.2, 0.8),
            "{side} shoulder (upper arm bone)",
            partial(draw_bones, lying=(BLADE_SPINE,), upright=(BLADE_BORDER, BLADE_PLATE)),
        ),
    ),
}
"""The paper's eleven patterns."""
