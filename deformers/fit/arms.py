"""Find arms in any pose: they reach farthest from the paths between head and feet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError
from ..geometry.vectors import sum_by
from .solid import BodyCells, measure_paths

NO_ARMS = (
    "No arms were found: a human in a rest pose needs two arms that are free of the body, "
    "and an animal needs four legs on the floor"
)


@dataclass(frozen=True)
class Arms:
    """Both arms as one, in the space of the body.

    Attributes
    ----------
    tip, shoulder, elbow, wrist : float64 arrays, shape (3,)
        Joints of the left arm.
    paths : float64 array, shape (N,)
        Length of the path from the nearer tip to each cell.
    armpit : float
        Length of the path to where the arm joins the trunk.
    radius : float
        Radius of the upper arm.
    fall : float
        Degrees that the upper arm points down or up.
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
    """Find the joints of both arms. Raises SkinningError if there are none, or they touch the body."""
    points, step = body.points, body.step
    tip = _find_tip(body)
    mirrored = tip * [-1.0, 1.0, 1.0]
    tips = [int(((points - end) ** 2).sum(axis=1).argmin()) for end in (tip, mirrored)]
    paths = measure_paths(body, np.array(tips))
    way = _off_path(body)[tips].mean()  # about the length of an arm
    length = 1.5 * step  # of a section
    bins = np.floor(np.where(np.isfinite(paths), paths, 9.0) / length).astype(int)
    count = int(np.ceil(min(1.6 * way, 0.8) / length))
    folded = np.abs(points) * [1.0, 0.0, 0.0] + points * [0.0, 1.0, 1.0]
    kept = bins < count
    sizes = np.bincount(bins[kept], minlength=count)
    if (sizes[: int(way / length)] == 0).any():
        raise SkinningError(NO_ARMS)
    at = (np.arange(count) + 0.5) * length
    centers = sum_by(bins[kept], folded[kept], count) / np.maximum(sizes, 1)[:, None]
    radii = np.sqrt(0.5 * sizes * step**3 / length / np.pi)
    upper = (at > 0.55 * way) & (at < 0.85 * way)
    if not upper.any():
        raise SkinningError(NO_ARMS)
    radius = float(np.median(radii[upper]))
    armpit = _find_armpit(at, radii, radius, way)
    line = (at > 0.60 * armpit) & (at < 0.97 * armpit)
    if line.sum() < 2:
        raise SkinningError(NO_ARMS)
    slope, start = np.polyfit(at[line], centers[line], 1)
    fall = float(np.degrees(np.arctan2(abs(slope[2]), np.hypot(slope[0], slope[1]))))
    # Behind the armpit: arms that point down join the trunk farther out, and thick arms have a deeper shoulder.
    reach = armpit + 1.12 * radius * np.tan(np.radians(min(fall, 70.0))) + 1.2 * max(radius - 0.026, 0.0)
    if not 0.26 <= reach <= 0.60 or radius > 0.07:
        raise SkinningError(NO_ARMS)
    shoulder = start + slope * reach

    near = np.flatnonzero((at > 0.18 * reach) & (at < 0.42 * reach))
    squares = radii[near] ** 2
    # The wrist is narrow, and near its usual share of the arm.
    costs = squares / squares.min() + 60.0 * (at[near] / reach - 0.255) ** 2
    at_wrist = float(at[near[int(costs.argmin())]])

    def center(distance: float) -> np.ndarray:
        return np.array([np.interp(distance, at, centers[:, axis]) for axis in range(3)])

    return Arms(
        tip=tip,
        paths=paths,
        armpit=armpit,
        radius=radius,
        shoulder=shoulder,
        elbow=center(at_wrist + 0.495 * (reach - at_wrist)),
        wrist=center(at_wrist),
        fall=fall,
    )


def _off_path(body: BodyCells) -> np.ndarray:
    """Measure how far each cell is from the shortest path between head and feet, shape (N,)."""
    points, step = body.points, body.step
    top = measure_paths(body, np.flatnonzero(points[:, 2] > points[:, 2].max() - 1.5 * step))
    floor = points[:, 2] < 0.02
    bottom = measure_paths(body, np.flatnonzero(floor))
    least = float(top[floor].min(initial=np.inf))
    if not np.isfinite(least):
        raise SkinningError(NO_ARMS)
    return 0.5 * (top + bottom - least)


def _find_tip(body: BodyCells) -> np.ndarray:
    points = body.points
    off = _off_path(body)
    off[(np.abs(points[:, 0]) < 0.11) | ~np.isfinite(off)] = -1.0
    best = int(off.argmax())
    if off[best] <= 0.1:
        raise SkinningError(NO_ARMS)
    return points[best] * [np.sign(points[best, 0]), 1.0, 1.0]


def _find_armpit(at: np.ndarray, radii: np.ndarray, radius: float, way: float) -> float:
    """Extend the growth of the radius into the trunk back to the radius of the arm."""
    grown, fused = 1.3, 1.9  # relative to the radius of the arm
    joined = np.flatnonzero((at > 0.7 * way) & (radii > fused * radius))
    if not len(joined):
        raise SkinningError(NO_ARMS)
    end = int(joined[0])
    before = np.flatnonzero(radii[:end] < grown * radius)
    start = int(before[-1]) if len(before) else 0

    def cross(index: int, level: float) -> float:
        low, high = radii[index], radii[index + 1]
        return float(at[index] + (at[index + 1] - at[index]) * np.clip((level - low) / max(high - low, 1e-9), 0.0, 1.0))

    first, last = cross(start, grown * radius), cross(end - 1, fused * radius)
    return first - (last - first) * (grown - 1.0) / (fused - grown)
