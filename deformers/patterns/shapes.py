"""Formulas of heights for skin patterns: folds, bulging muscles, and bones under the skin.

Heights are relative to the base, to any scale. Positions x, shape (1, W), and y, shape (H, 1), are relative to the
middle of the map. They and all lengths are in widths of the map.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from ..geometry.vectors import smooth_step

SWELL_HEIGHT = 0.8  # of the skin beside a crease, as a share of the crease's depth

CREASE_ROUNDING = 0.5  # of the bottom, as a share of the half width: 0 would be the cut of a knife


def _interpolate(
    positions: np.ndarray, start: float, end: float, knots: tuple[tuple[float, ...], ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Interpolate by natural cubic splines, straight beyond their ends: values and slopes, shape (C, ...).

    Parameters
    ----------
    positions : float array, shape (...)
    start, end : float
        Positions of the first and the last knot; the others are evenly spaced.
    knots : C rows of K values
        At least 3 knots.
    """
    heights = np.array(knots)
    last = heights.shape[1] - 1
    system = 4.0 * np.eye(last - 1) + np.eye(last - 1, k=1) + np.eye(last - 1, k=-1)
    bends = np.zeros_like(heights)
    bends[:, 1:-1] = np.linalg.solve(system, 6.0 * np.diff(heights, 2).T).T

    unit = (end - start) / last
    inside = np.clip((positions - start) / unit, 0.0, last)
    span = np.minimum(inside.astype(int), last - 1)
    step = inside - span
    cubic = (bends[:, span + 1] - bends[:, span]) / 6.0
    linear = heights[:, span + 1] - heights[:, span] - bends[:, span] / 2.0 - cubic
    values = heights[:, span] + step * (linear + step * (bends[:, span] / 2.0 + step * cubic))
    slopes = (linear + step * (bends[:, span] + step * 3.0 * cubic)) / unit
    return values + slopes * (positions - start - unit * inside), slopes


def _fade(positions: np.ndarray, start: float, end: float, rise: float, fall: float) -> np.ndarray:
    """Rise from 0 to 1 after the start, and fall to 0 before the end, over the given lengths."""
    return smooth_step((positions - start) / rise) * smooth_step((end - positions) / fall)


def _unite(heights: list[np.ndarray]) -> np.ndarray:
    """Take the highest of several heights, none negative, with rounded seams: the 4-norm."""
    total = np.zeros(())
    for height in heights:
        square = height * height
        total = total + square * square
    return np.sqrt(np.sqrt(total))


@dataclass(frozen=True)
class Fold:
    """A crease between two swells that fades out at both ends.

    `middle` (its y) and `depth` are evenly spaced from `start` to `end`. `width`: from the bottom of the crease to 1/e
    of its depth. `above`, `below`: reach of the swells.
    """

    start: float
    end: float
    middle: tuple[float, ...]
    depth: tuple[float, ...]
    width: float
    above: float
    below: float


def draw_folds(x: np.ndarray, y: np.ndarray, folds: tuple[Fold, ...]) -> np.ndarray:
    """Draw creases that join where they meet, and swells that add up to rolls of skin between them: shape (H, W)."""
    creases, swells = [], np.zeros(())
    for fold in folds:
        (middle, depth), (slope, _) = _interpolate(x, fold.start, fold.end, (fold.middle, fold.depth))
        length = fold.end - fold.start
        taper = _fade(x, fold.start, fold.end, 0.45 * length, 0.38 * length)
        depth = depth * taper
        away = (y - middle) / np.hypot(1.0, slope)
        across = away / (fold.width * (0.4 + 0.6 * taper))
        creases.append(
            (1.0 + SWELL_HEIGHT) * depth * np.exp(CREASE_ROUNDING - np.sqrt(across * across + CREASE_ROUNDING**2))
        )
        across = away / np.where(away > 0.0, fold.above, fold.below)
        swells = swells + SWELL_HEIGHT * depth * np.exp(-across * across)
    return swells - _unite(creases)


# the deep fold at the navel, one below and one above it; small ones that branch off toward the flanks
BELLY = (
    Fold(-0.43, 0.43, (0.085, 0.033, 0.009, 0.024, 0.1), (0.8, 0.98, 1.0, 0.95, 0.8), 0.024, 0.085, 0.08),
    Fold(-0.41, 0.42, (-0.05, -0.118, -0.144, -0.132, -0.035), (0.6, 0.8, 0.9, 0.86, 0.6), 0.022, 0.085, 0.06),
    Fold(-0.32, 0.37, (0.175, 0.149, 0.157, 0.2), (0.5, 0.66, 0.61, 0.4), 0.02, 0.06, 0.07),
    Fold(-0.03, 0.43, (0.012, 0.013, 0.009, 0.03), (0.5, 0.55, 0.5, 0.35), 0.015, 0.035, 0.035),
    Fold(-0.43, 0.0, (0.0, 0.016, 0.025, 0.01), (0.3, 0.42, 0.55, 0.4), 0.014, 0.03, 0.03),
    Fold(-0.4, -0.15, (0.125, 0.115, 0.112, 0.118), (0.15, 0.22, 0.22, 0.15), 0.013, 0.03, 0.028),
    Fold(0.02, 0.4, (-0.145, -0.139, -0.127, -0.12), (0.4, 0.5, 0.4, 0.3), 0.013, 0.03, 0.03),
)

# rings that sag in the middle; the third is broken in two
NECK = (
    Fold(-0.3, 0.26, (0.2, 0.168, 0.164, 0.2), (0.4, 0.54, 0.53, 0.4), 0.015, 0.05, 0.05),
    Fold(-0.43, 0.43, (0.125, 0.073, 0.05, 0.069, 0.14), (0.7, 0.94, 1.0, 0.92, 0.7), 0.018, 0.06, 0.055),
    Fold(-0.42, 0.24, (0.02, -0.032, -0.049, -0.052), (0.6, 0.75, 0.67, 0.5), 0.015, 0.05, 0.05),
    Fold(-0.06, 0.42, (-0.05, -0.038, 0.0, 0.055), (0.4, 0.58, 0.65, 0.5), 0.014, 0.045, 0.045),
    Fold(-0.37, 0.39, (-0.085, -0.146, -0.147, -0.075), (0.6, 0.82, 0.83, 0.6), 0.017, 0.06, 0.055),
)

# the two long creases at the root of the hand, and fine ones beside them
WRIST = (
    Fold(-0.43, 0.43, (0.06, 0.085, 0.07, 0.085, 0.055), (0.7, 0.95, 0.9, 1.0, 0.7), 0.0115, 0.034, 0.032),
    Fold(-0.42, 0.4, (0.005, 0.02, 0.01, -0.015), (0.7, 0.85, 0.94, 0.6), 0.011, 0.03, 0.032),
    Fold(-0.34, 0.3, (0.13, 0.142, 0.148, 0.135), (0.4, 0.55, 0.46, 0.3), 0.0095, 0.03, 0.03),
    Fold(-0.4, 0.26, (-0.065, -0.054, -0.062, -0.05), (0.4, 0.61, 0.56, 0.3), 0.0095, 0.028, 0.028),
    Fold(-0.12, 0.4, (-0.095, -0.105, -0.099, -0.082), (0.3, 0.52, 0.54, 0.4), 0.0095, 0.026, 0.028),
    Fold(-0.32, 0.16, (-0.118, -0.132, -0.145, -0.158), (0.3, 0.44, 0.43, 0.3), 0.009, 0.026, 0.028),
    Fold(0.0, 0.4, (0.068, 0.061, 0.041, 0.02), (0.3, 0.5, 0.44, 0.3), 0.0085, 0.018, 0.018),
)


@dataclass(frozen=True)
class Muscle:
    """The belly of a muscle.

    `peak`: x of its highest point. `left`, `right`: its reach along x from there. `across`, `middle`: its reach along y
    and the y of its middle, evenly spaced from -0.45 to 0.45. `fullness`: 0 is a gentle swelling, 1 a round one.
    `groove`: depth of the valley between its two heads.
    """

    peak: float
    left: float
    right: float
    across: tuple[float, ...]
    middle: tuple[float, ...]
    fullness: float
    groove: float


def draw_muscle(x: np.ndarray, y: np.ndarray, muscle: Muscle) -> np.ndarray:
    """Draw a muscle that falls off all around its peak, with a groove between its two heads: shape (H, W)."""
    (reach, middle), _ = _interpolate(x, -0.45, 0.45, (muscle.across, muscle.middle))
    away = (y - middle) / reach
    along = (x - muscle.peak) / np.where(x > muscle.peak, muscle.right, muscle.left)
    rest = np.maximum(1.0 - along * along - away * away, 0.0)
    height = rest * rest * np.sqrt(rest)
    height = height * (1.0 + muscle.fullness * (1.0 - height))
    split = muscle.groove * _fade(x, -0.45, muscle.peak + 0.15, 0.25, 0.35) * np.exp(-np.square((away + 0.08) / 0.22))
    return height * (1.0 - split)


STEEP = Muscle(0.08, 0.52, 0.34, (0.175, 0.22, 0.25, 0.25, 0.19), (0.022, 0.012, 0.002, -0.003, -0.01), 0.8, 0.07)
GENTLE = Muscle(0.01, 0.46, 0.42, (0.215, 0.245, 0.262, 0.262, 0.23), (-0.006, 0.006, 0.006, 0.0, -0.012), 0.25, 0.0)


@dataclass(frozen=True)
class Bar:
    """A bone that lifts the skin over it.

    The last four are evenly spaced over `span`: the y of its middle, its height, and the reach of the lifted skin above
    and below it. It rises from the skin and falls back to it over the two lengths of `fades`.
    """

    span: tuple[float, float]
    fades: tuple[float, float]
    middle: tuple[float, ...]
    height: tuple[float, ...]
    above: tuple[float, ...]
    below: tuple[float, ...]


def _draw_bar(x: np.ndarray, y: np.ndarray, bar: Bar) -> np.ndarray:
    """Draw a bone along x, or along y with x and y exchanged."""
    knots = (bar.middle, bar.height, bar.above, bar.below)
    (middle, height, above, below), (slope, *_) = _interpolate(x, *bar.span, knots)
    away = (y - middle) / np.hypot(1.0, slope)
    away = away / np.where(away > 0.0, above, below)
    rest = np.maximum(1.0 - away * away, 0.0)
    return np.maximum(height, 0.0) * _fade(x, *bar.span, *bar.fades) * rest * rest


def draw_bones(x: np.ndarray, y: np.ndarray, lying: tuple[Bar, ...], upright: tuple[Bar, ...] = ()) -> np.ndarray:
    """Draw bones of the left side of the body, lying along x and upright along y: shape (H, W)."""
    return _unite([_draw_bar(x, y, bar) for bar in lying] + [_draw_bar(y, x, bar) for bar in upright])


# from the breastbone, where it is thick, forward, then back and up to the shoulder
COLLAR = Bar(
    span=(-0.44, 0.44),
    fades=(0.2, 0.34),
    middle=(-0.082, -0.058, -0.058, -0.06, -0.038, 0.0, 0.038, 0.06, 0.066),
    height=(0.95, 1.0, 0.86, 0.85, 0.88, 0.82, 0.74, 0.76, 0.76),
    above=(0.065, 0.08, 0.065, 0.053, 0.05, 0.052, 0.058, 0.07, 0.075),
    below=(0.075, 0.09, 0.09, 0.095, 0.1, 0.098, 0.09, 0.085, 0.08),
)

# the rim of the rib cage, from below the breastbone down to the flank
ARCH = Bar(
    span=(-0.44, 0.26),
    fades=(0.3, 0.25),
    middle=(0.175, 0.145, 0.045, -0.105, -0.27, -0.415, -0.49),
    height=(0.62, 0.7, 0.78, 0.82, 0.82, 0.75, 0.6),
    above=(0.12, 0.14, 0.15, 0.14, 0.13, 0.12, 0.1),
    below=(0.08, 0.08, 0.075, 0.07, 0.07, 0.065, 0.06),
)

# the fifth to the tenth: from the flank down and forward, then up again into the arch
RIBS = tuple(
    Bar(
        span=(start, end),
        fades=(fade, 0.3),
        middle=middle,
        height=(0.4 * height, 0.78 * height, height, 0.98 * height, 0.8 * height),
        above=(0.05, 0.06, 0.065, 0.062, 0.052),
        below=(0.05, 0.061, 0.072, 0.068, 0.058),
    )
    for start, end, fade, height, middle in (
        (-0.41, 0.31, 0.34, 0.66, (0.39, 0.34, 0.348, 0.41, 0.46)),
        (-0.37, 0.43, 0.3, 0.84, (0.235, 0.19, 0.225, 0.322, 0.41)),
        (-0.29, 0.44, 0.25, 0.96, (0.105, 0.052, 0.08, 0.186, 0.29)),
        (-0.21, 0.43, 0.24, 1.0, (-0.055, -0.09, -0.056, 0.044, 0.16)),
        (-0.11, 0.44, 0.22, 0.92, (-0.2, -0.232, -0.196, -0.1, 0.01)),
        (0.0, 0.42, 0.2, 0.78, (-0.335, -0.35, -0.318, -0.238, -0.15)),
    )
)

# the ridge that runs from the tip of the shoulder to the blade's inner border
BLADE_SPINE = Bar(
    span=(-0.44, 0.36),
    fades=(0.42, 0.4),
    middle=(0.315, 0.345, 0.318, 0.255, 0.2),
    height=(0.7, 0.78, 0.76, 0.74, 0.7),
    above=(0.14, 0.13, 0.12, 0.13, 0.15),
    below=(0.17, 0.2, 0.21, 0.22, 0.22),
)

# the inner border of the blade, upward from the lower tip; `above` is toward the backbone
BLADE_BORDER = Bar(
    span=(-0.585, 0.56),
    fades=(0.3, 0.36),
    middle=(0.135, 0.19, 0.236, 0.262, 0.262, 0.235, 0.16),
    height=(0.95, 0.92, 0.76, 0.68, 0.68, 0.62, 0.5),
    above=(0.06, 0.12, 0.125, 0.115, 0.115, 0.12, 0.12),
    below=(0.06, 0.16, 0.19, 0.18, 0.17, 0.17, 0.16),
)

# the body of the blade under the muscles, which falls off toward the armpit
BLADE_PLATE = Bar(
    span=(-0.585, 0.5),
    fades=(0.5, 0.45),
    middle=(0.13, 0.165, 0.195, 0.2, 0.18, 0.12),
    height=(0.85, 0.85, 0.78, 0.74, 0.7, 0.55),
    above=(0.06, 0.145, 0.165, 0.17, 0.18, 0.2),
    below=(0.06, 0.24, 0.39, 0.5, 0.57, 0.52),
)

RELIEFS = {
    "FOLDS_BELLY": partial(draw_folds, folds=BELLY),
    "FOLDS_NECK": partial(draw_folds, folds=NECK),
    "FOLDS_WRIST": partial(draw_folds, folds=WRIST),
    "BULGE_STEEP": partial(draw_muscle, muscle=STEEP),
    "BULGE_GENTLE": partial(draw_muscle, muscle=GENTLE),
    "COLLAR_BONE": partial(draw_bones, lying=(COLLAR,)),
    "RIBS": partial(draw_bones, lying=(ARCH, *RIBS)),
    "SHOULDER_BLADE": partial(draw_bones, lying=(BLADE_SPINE,), upright=(BLADE_BORDER, BLADE_PLATE)),
}
