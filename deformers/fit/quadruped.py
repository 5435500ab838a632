"""Joints of an animal on four legs: legs are followed from the floor to the belly, the rest is by proportion."""

from __future__ import annotations

import numpy as np

from ..errors import SkinningError
from .solid import BodyCells, label_parts

# Height of the feet
MAX_FOOT = 0.04

# Usual height of the hock, as a share of the belly's
HOCK = 0.52

NO_FEET = "No four legs were found on the floor: an animal needs two in front and two behind, apart from each other"


def find_front_end(body: BodyCells) -> float:
    """Measure how far the head is at -y. Below 0 it is at y."""
    z = body.points[:, 2]
    high = body.points[z >= np.quantile(z, 1.0 - 0.005)]
    return float(0.5 * (body.points[:, 1].min() + body.points[:, 1].max()) - high[:, 1].mean())


def find_feet(body: BodyCells) -> tuple[float, float]:
    """Find where the gap between front and hind feet starts and ends. Raises SkinningError if there is none."""
    feet = np.sort(body.points[body.points[:, 2] < MAX_FOOT, 1])
    if len(feet) < 2:
        raise SkinningError(NO_FEET)
    gaps = np.diff(feet)
    widest = int(gaps.argmax())
    if gaps[widest] < 0.12:
        raise SkinningError(NO_FEET)
    return float(feet[widest]), float(feet[widest + 1])


def find_quadruped(body: BodyCells) -> tuple[dict[str, np.ndarray], set[str]]:
    """Find the joints of the left side and of the middle, in the space of the body, and which of them are doubtful.

    Raises SkinningError if there are not four legs.
    """
    points, step = body.points, body.step
    start, end = find_feet(body)
    if (count := _count_legs(body)) > 2:
        raise SkinningError(f"{2 * count} legs were found: a skeleton is fitted into humans and animals on four legs")
    middle = points[np.abs(points[:, 0]) < step]
    third = (end - start) / 3.0
    column = middle[(middle[:, 1] > start + third) & (middle[:, 1] < end - third), 2]
    if len(column) < 4:
        raise SkinningError(NO_FEET)
    belly, back = np.quantile(column, [0.02, 0.98])
    depth = float(back - belly)
    if belly < 0.1:
        raise SkinningError(NO_FEET)
    sides = [points[(points[:, 1] - 0.5 * (start + end)) * sign > 0.0] for sign in (-1.0, 1.0)]
    front, hind = (_follow(cells, step, belly) for cells in sides)

    def at(leg: np.ndarray, height: float) -> np.ndarray:
        return np.array([*(np.interp(height, leg[:, 2], leg[:, axis]) for axis in (0, 1)), height])

    rear = _find_rear(body, 0.5 * (start + end), end, belly)
    # Legs as shares of the belly's height, the trunk in depths over the belly. Higher up, the chest is in the section.
    side, front_y = at(front, 0.65 * belly)[0], at(front, belly)[1]
    joints = {
        "shoulder": np.array([side, front_y - 0.2 * depth, belly + 0.33 * depth]),
        "elbow": np.array([side, front_y, belly + 0.06 * depth]),
        "carpus": at(front, 0.65 * belly),
        "fetlock": at(front, 0.20 * belly),
        "hip": np.array([at(hind, 0.65 * belly)[0], rear - 0.22 * depth, belly + 0.42 * depth]),
        "knee": at(hind, 0.98 * belly),
        "hock": at(hind, 0.5 * HOCK * belly + 0.5 * _find_hock(hind, belly)),
        "lower": at(hind, 0.16 * belly),
    }
    for name, cells in (("front_toe", sides[0]), ("toe", sides[1])):
        feet = cells[cells[:, 2] < MAX_FOOT]
        joints[name] = np.array([np.abs(feet[:, 0]).mean(), feet[:, 1].min(), feet[:, 2].mean()])
    hips_y, neck_y = joints["hip"][1], joints["shoulder"][1]
    joints["hips"] = np.array([0.0, hips_y, belly + 0.57 * depth])
    joints["neck"] = np.array([0.0, neck_y, belly + 0.64 * depth])
    joints["chest"] = np.array([0.0, 0.5 * (hips_y + neck_y), belly + 0.55 * depth])
    nose = middle[middle[:, 1] < middle[:, 1].min() + 2.0 * step].mean(axis=0)
    joints["nose"] = nose * [0.0, 1.0, 1.0]
    head_y = neck_y + 0.45 * (joints["nose"][1] - neck_y)
    skull = middle[np.abs(middle[:, 1] - head_y) < 2.0 * step, 2]
    joints["head"] = np.array([0.0, head_y, 0.5 * (skull.min() + skull.max()) if len(skull) else joints["neck"][2]])
    joints["tail"] = np.array([0.0, rear, joints["hips"][2]])
    tail = points[points[:, 1] > points[:, 1].max() - 2.0 * step].mean(axis=0)
    if tail[1] - rear > 0.1:
        joints["tail_tip"] = tail * [0.0, 1.0, 1.0]
    return joints, {"shoulder"}  # by proportion alone, and artists differ


def _count_legs(body: BodyCells) -> int:
    """Number of legs on the left side. A tail is in the middle."""
    low = np.flatnonzero((body.points[:, 2] < 0.1) & (body.points[:, 0] > 0.0))
    number = np.full(body.count + 1, len(low))
    number[low] = np.arange(len(low))
    labels = label_parts(number[body.neighbors[low]])
    sizes = np.bincount(labels)
    beside = np.array([body.points[low[labels == part], 0].min() for part in range(len(sizes))]) > 1.5 * body.step
    return int((beside & (sizes > 0.15 * sizes.max())).sum())


def _follow(cells: np.ndarray, step: float, belly: float) -> np.ndarray:
    """Follow a leg up to the belly: (S, 5), the center and the first and last y of each section."""
    rows = []
    numbers = np.floor(cells[:, 2] / step).astype(int)
    low, high = -np.inf, np.inf
    for number in range(int(belly / step) + 2):  # slices
        part = cells[(numbers == number) & (cells[:, 1] >= low) & (cells[:, 1] <= high)]
        if len(part):
            low, high = part[:, 1].min() - 1.5 * step, part[:, 1].max() + 1.5 * step
            if (number + 0.5) * step > belly:
                break
            x, y = np.abs(part[:, 0]), part[:, 1]
            rows.append([x.mean(), y.mean(), (number + 0.5) * step, y.min(), y.max()])
    if len(rows) < 4:
        raise SkinningError(NO_FEET)
    return np.array(rows)


def _find_rear(body: BodyCells, middle: float, end: float, belly: float) -> float:
    """Find where the trunk ends behind the hind legs. A tail is thinner."""
    high = body.points[body.points[:, 2] > belly, 1]
    sizes = np.bincount(np.floor((high - high.min()) / body.step).astype(int)).astype(float)
    sizes = np.convolve(sizes, np.ones(3) / 3.0, "same")
    at = high.min() + (np.arange(len(sizes)) + 0.5) * body.step
    trunk = float(np.median(sizes[(at > middle - 0.1) & (at < middle + 0.1)]))
    thin = np.flatnonzero((at > end) & (sizes < 0.5 * trunk))
    return float(at[thin[0]]) if len(thin) else float(at[-1])


def _find_hock(hind: np.ndarray, belly: float) -> float:
    """Height above which the rear outline of a hind leg leads forward."""
    lower = hind[(hind[:, 2] < 0.8 * belly) & (hind[:, 2] > 0.2 * belly)]
    if not len(lower):
        return HOCK * belly
    behind = lower[lower[:, 4] >= lower[:, 4].max() - 0.01]
    return float(behind[-1, 2])
