"""The eleven skin patterns of the paper, drawn as height maps: folds, bulging muscles, and bones under the skin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from ..errors import SkinningError
from ..geometry.vectors import smooth_step
from .heights import BASES
from .shapes import RELIEFS

ReliefFormula = Callable[[np.ndarray, np.ndarray], np.ndarray]
# heights from the base, to any scale, at x, shape (1, W), and y, shape (H, 1), in widths of the map from its middle

MIN_RESOLUTION = 8

MARGIN = 1 / 16  # share of each side of a map that stays at the base: half a pixel of the smallest map

STEPS = 65535  # heights are whole numbers of 1/STEPS from the base, as 16-bit images store them

REFERENCE_RESOLUTION = 256  # the highest point of a pattern is found at this one, so that all maps have the same scale

DEEPEST_FOLD = 0.485  # below 0.5, because larger maps sample deeper points that must not be clipped


@dataclass(frozen=True)
class PatternDefaults:
    """Usual settings of a pattern. Directions are as seen from outside of a body that stands upright.

    Attributes
    ----------
    kind : str
        "WRINKLE" (base 0.5, out above it and in below it), "BULGE" or "BONE" (base 0, out).
    description : str
        Location on the body.
    width : float
        Extent along u on the body, as a share of the body's height.
    aspect : float
        Height over width.
    strength : float
        Height of white above black, as a share of `width`.
    axis : str
        Axis of the bone whose rotation drives the pattern: "X", "Y" (twist) or "Z".
    start, full : float
        Angles at which the pattern starts to appear and is fully visible, radians.
    """

    label: str
    kind: str
    description: str
    width: float = 0.1
    aspect: float = 1.0
    strength: float = 0.05
    axis: str = "X"
    start: float = 0.0
    full: float = np.pi / 2


@dataclass(frozen=True, kw_only=True)
class Preset(PatternDefaults):
    """A pattern that is drawn by a formula; `region` names the joint that usually drives it."""

    region: str
    relief: ReliefFormula


def draw_preset(key: str, resolution: int = 256) -> np.ndarray:
    """Draw a pattern's height map.

    Raises SkinningError if there is no such pattern, or the map would be too small.

    Parameters
    ----------
    key : str
        A key of `PRESETS`.
    resolution : int
        Columns of the map, at least 8.

    Returns
    -------
    float32 array, shape (H, W)
        0 to 1, bottom row first. W is the resolution, and H follows from the aspect but is at least 8. The border is
        exactly at the base. Values differ from the base by multiples of 1/65535.

    Notes
    -----
    The patterns are those of figure 3 of Suzuki and Oshita, "Pattern-based skin deformation of human model", who
    painted them by hand. Ours are formulas. No 16-bit height is exactly 0.5: heights of wrinkles are half a step off.
    """
    if key not in PRESETS:
        raise SkinningError(f"There is no skin pattern '{key}': choose one of {', '.join(PRESETS)}")
    if resolution < MIN_RESOLUTION:
        raise SkinningError(f"A skin pattern of {resolution} pixels is too small: use {MIN_RESOLUTION} pixels or more")
    preset = PRESETS[key]
    highest = DEEPEST_FOLD if preset.kind == "WRINKLE" else 1.0
    steps = np.rint(_draw_relief(key, resolution) * (highest / _find_peak(key) * STEPS))
    return np.clip(BASES[preset.kind] + steps / STEPS, 0.0, 1.0).astype(np.float32)


def _draw_relief(key: str, resolution: int) -> np.ndarray:
    """Draw a pattern at the middles of pixels, faded to 0 at the border: shape (H, W)."""
    preset = PRESETS[key]
    rows = max(MIN_RESOLUTION, round(resolution * preset.aspect))
    u, v = _find_centers(resolution)[None, :], _find_centers(rows)[:, None]
    window = [smooth_step((0.5 - MARGIN - np.abs(axis)) / MARGIN) for axis in (u, v)]
    return preset.relief(u, v * preset.aspect) * window[0] * window[1]


def _find_centers(count: int) -> np.ndarray:
    """Find the middles of pixels between -1/2 and 1/2, exactly symmetric: shape (count,)."""
    return (2.0 * np.arange(count) + 1.0 - count) / (2.0 * count)


@cache
def _find_peak(key: str) -> float:
    return float(np.abs(_draw_relief(key, REFERENCE_RESOLUTION)).max())


def _make_presets() -> dict[str, Preset]:
    """Make the presets of `ITEMS` and `NUMBERS`. A row with {side} in its texts gives a left and a right preset."""
    presets = {}
    for key, label, *texts in ITEMS:
        (kind, *numbers), relief = NUMBERS[key], RELIEFS[key]
        if "{side}" not in texts[1]:
            presets[key] = Preset(label, kind, texts[0], *numbers, region=texts[1], relief=relief)
            continue
        for side, drawn in (("left", relief), ("right", partial(_mirror, relief))):
            text, region = (each.format(side=side) for each in texts)
            preset = Preset(f"{label} {side.title()}", kind, text, *numbers, region=region, relief=drawn)
            presets[f"{key}_{side[0].upper()}"] = preset
    return presets


def _mirror(relief: ReliefFormula, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return relief(-x, y)


# key, label, description, region
ITEMS = (
    (
        "FOLDS_BELLY",
        "Belly Folds",
        "Deep creases and rolls of skin across a belly or waist that bends or twists",
        "lower spine (bone of the belly)",
    ),
    ("FOLDS_NECK", "Neck Folds", "Large folds around the front or the back of a bent neck", "neck (neck or head bone)"),
    (
        "FOLDS_WRIST",
        "Wrist Folds",
        "Fine creases across the inside of a wrist, or smaller ones across a finger joint",
        "wrist (hand bone)",
    ),
    (
        "BULGE_STEEP",
        "Steep Bulge",
        "The round belly of an upper arm or calf muscle; the pointed end is the tendon",
        "elbow (forearm bone) or ankle (foot bone)",
    ),
    ("BULGE_GENTLE", "Gentle Bulge", "The broad bulge of a thigh above a bent knee", "knee (shin bone)"),
    (
        "COLLAR_BONE",
        "Collar Bone",
        "The {side} collar bone, from the breastbone to the shoulder",
        "{side} shoulder (collar bone or upper arm bone)",
    ),
    (
        "RIBS",
        "Ribs",
        "The {side} lower ribs and the edge of the rib cage, from the chest to the flank",
        "chest (upper spine bone), or {side} shoulder (upper arm bone)",
    ),
    ("SHOULDER_BLADE", "Shoulder Blade", "The {side} shoulder blade, on the back", "{side} shoulder (upper arm bone)"),
)

# kind, width, aspect, strength, axis, start, full
NUMBERS: dict[str, tuple[Any, ...]] = {
    "FOLDS_BELLY": ("WRINKLE", 0.18, 0.62, 0.075, "X", 0.15, 1.0),
    "FOLDS_NECK": ("WRINKLE", 0.085, 0.6, 0.055, "X", 0.1, 0.7),
    "FOLDS_WRIST": ("WRINKLE", 0.036, 0.5, 0.035, "X", 0.2, 1.2),
    "BULGE_STEEP": ("BULGE", 0.095, 0.6, 0.1, "X", 0.3, 2.2),
    "BULGE_GENTLE": ("BULGE", 0.18, 0.62, 0.05, "X", 0.3, 1.9),
    "COLLAR_BONE": ("BONE", 0.105, 0.46, 0.045, "X", 0.1, 0.7),
    "RIBS": ("BONE", 0.13, 1.1, 0.025, "X", 0.2, 0.9),
    "SHOULDER_BLADE": ("BONE", 0.085, 1.35, 0.075, "X", 0.2, 0.8),
}

PRESETS = _make_presets()
