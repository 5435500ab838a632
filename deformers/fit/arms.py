"""Arms: found by how far off the way from head to feet they reach, whatever their pose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError
from .solid import BodyCells, measure_paths

FLOOR = 0.02
"""Height up to which cells are on the floor."""

LEAST_SIDE = 0.11
"""How far from the middle hands are."""

BIN = 1.5
"""Length of a section of an arm, in cells."""

UPPER_ARM = (0.55, 0.85)
"""Shares of the way from the tip to the trunk between which an arm's radius is measured."""

GROWN, JOINED = 1.3, 1.9
"""Radii, over the arm's, at which it begins to run into the trunk, and is part of it."""

SHOULDER_LINE = (0.60, 0.97)
"""Shares of the way to the armpit through which the upper arm's line is drawn."""

FALL, STEEPEST, DEEPER, SLIM = 1.12, 70.0, 1.2, 0.026
"""How far behind the armpit a shoulder is: arms that fall meet the trunk that many radii further out, times the tangent
of the angle, up to so many degrees; arms with more than this radius have it deeper."""

HANGING = 62.0
"""Degrees that an arm falls by, from which on the shoulder is doubtful: the arm lies near the body."""

FALLEN, THICK = 35.0, 0.045
"""Degrees that a thick arm falls by, and its radius, from which on it is doubtful: it meets the trunk far out."""

WRISTS, WRIST, NARROW = (0.18, 0.42), 0.255, 60.0
"""Shares of the way from tip to shoulder where wrists are looked for, and where they are; how much that counts."""

ELBOW = 0.495
"""Share of the way from wrist to shoulder."""

LENGTHS, LARGEST_RADIUS = (0.26, 0.60), 0.07
"""Of arms, from the tip to the shoulder, and in the middle of the upper arm."""

NO_ARMS = (
    "No arms were found: a human in a rest pose needs two arms that are free of the body, "
    "and an animal needs four legs on the floor"
)


@dataclass(frozen=True)
class Arms:
    """Both arms as one: sections by their distance from the tips of the hands, in the space of the body.

    Attributes
    ----------
    tip : float64 array, shape (3,)
        Of the left hand.
    paths : float64 array, shape (N,)
        From the nearer tip to each cell.
    armpit : float
        Of them, where the arm runs into the trunk.
    radius : float
        Of the upper arm.
    shoulder, elbow, wrist : float64 arrays, shape (3,)
        Of the left side.
    fall : float
        Degrees that the upper arm points down, or up.
    """

    tip: np.ndarray
    paths: np.ndarray
    armpit: float
    radius: float
    shoulder: np.ndarray
    elbow: np.ndarray
    wrist: np.ndarray
    fall: float


def find_arms(body: BodyCells) -> Arms:
    """Find the joints of both arms.

    Raises
    ------
    SkinningError
        Where there are none, or they lie in the body.
    """
    points, step = body.points, body.step
    tip = _find_tip(body)
    mirrored = tip * [-1.0, 1.0, 1.0]
    tips = [int(((points - end) ** 2).sum(axis=1).argmin()) for end in (tip, mirrored)]
    paths = measure_paths(body, np.array(tips))
    way = _off_path(body)[tips].mean()
    length = BIN * step
    bins = np.floor(np.where(np.isfinite(paths), paths, 9.0) / length).astype(int)
    count = int(np.ceil(min(1.6 * way, 0.8) / length))
    folded = np.abs(points) * [1.0, 0.0, 0.0] + points * [0.0, 1.0, 1.0]
    kept = bins < count
    sizes = np.bincount(bins[kept], minlength=count)
    if (sizes[: int(way / length)] == 0).any():
        raise SkinningError(NO_ARMS)
    at = (np.arange(count) + 0.5) * length
    centers = np.stack([np.bincount(bins[kept], folded[kept, axis], count) for axis in range(3)], axis=1)
    centers /= np.maximum(sizes, 1)[:, None]
    radii = np.sqrt(0.5 * sizes * step**3 / length / np.pi)
    upper = (at > UPPER_ARM[0] * way) & (at < UPPER_ARM[1] * way)
    if not upper.any():
        raise SkinningError(NO_ARMS)
    radius = float(np.median(radii[upper]))
    armpit = _find_armpit(at, radii, radius, way)
    line = (at > SHOULDER_LINE[0] * armpit) & (at < SHOULDER_LINE[1] * armpit)
    if line.sum() < 2:
        raise SkinningError(NO_ARMS)
    slope, start = np.polyfit(at[line], centers[line], 1)
    fall = float(np.degrees(np.arctan2(abs(slope[2]), np.hypot(slope[0], slope[1]))))
    reach = armpit + FALL * radius * np.tan(np.radians(min(fall, STEEPEST))) + DEEPER * max(radius - SLIM, 0.0)
    if not LENGTHS[0] <= reach <= LENGTHS[1] or radius > LARGEST_RADIUS:
        raise SkinningError(NO_ARMS)
    shoulder = start + slope * reach

    near = np.flatnonzero((at > WRISTS[0] * reach) & (at < WRISTS[1] * reach))
    squares = radii[near] ** 2
    costs = squares / squares.min() + NARROW * (at[near] / reach - WRIST) ** 2
    at_wrist = float(at[near[int(costs.argmin())]])

    def center(distance: float) -> np.ndarray:
        return np.array([np.interp(distance, at, centers[:, axis]) for axis in range(3)])

    return Arms(
        tip=tip,
        paths=paths,
        armpit=armpit,
        radius=radius,
        shoulder=shoulder,
        elbow=center(at_wrist + ELBOW * (reach - at_wrist)),
        wrist=center(at_wrist),
        fall=fall,
    )


def _off_path(body: BodyCells) -> np.ndarray:
    """How far off the way from head to feet each cell is, shape (N,)."""
    points, step = body.points, body.step
    top = measure_paths(body, np.flatnonzero(points[:, 2] > points[:, 2].max() - 1.5 * step))
    floor = points[:, 2] < FLOOR
    bottom = measure_paths(body, np.flatnonzero(floor))
    least = float(top[floor].min(initial=np.inf))
    if not np.isfinite(least):
        raise SkinningError(NO_ARMS)
    return 0.5 * (top + bottom - least)


def _find_tip(body: BodyCells) -> np.ndarray:
    points = body.points
    off = _off_path(body)
    off[(np.abs(points[:, 0]) < LEAST_SIDE) | ~np.isfinite(off)] = -1.0
    best = int(off.argmax())
    if off[best] <= 0.1:
        raise SkinningError(NO_ARMS)
    return points[best] * [np.sign(points[best, 0]), 1.0, 1.0]


def _find_armpit(at: np.ndarray, radii: np.ndarray, radius: float, way: float) -> float:
    """Where the line through the growing radius meets the arm's."""
    joined = np.flatnonzero((at > 0.7 * way) & (radii > JOINED * radius))
    if not len(joined):
        raise SkinningError(NO_ARMS)
    end = int(joined[0])
    before = np.flatnonzero(radii[:end] < GROWN * radius)
    start = int(before[-1]) if len(before) else 0

    def cross(index: int, level: float) -> float:
        low, high = radii[index], radii[index + 1]
        return float(at[index] + (at[index + 1] - at[index]) * np.clip((level - low) / max(high - low, 1e-9), 0.0, 1.0))

    first, last = cross(start, GROWN * radius), cross(end - 1, JOINED * radius)
    return first - (last - first) * (GROWN - 1.0) / (JOINED - GROWN)
