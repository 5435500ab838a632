"""The joints of an animal on four legs: legs followed from the floor to the belly, the rest by proportion."""

from __future__ import annotations

import numpy as np

from ..errors import SkinningError
from .solid import BodyCells, label_parts

FEET = 0.04
"""Height up to which cells are feet."""

LEGS, LEAST_LEG = 0.1, 0.15
"""Height up to which legs are apart from each other; cells that each has, over the largest."""

LEAST_GAP = 0.12
"""Between front and hind feet along the body, in heights."""

TOP = 0.005
"""Share of the cells that are the highest: the head's end."""

FRONT_LEG = {"shoulder": 0.33, "elbow": 0.06}
"""Heights of joints over the belly, in depths of the trunk."""

SHOULDER_FRONT, HIP, HIP_FRONT = 0.2, 0.42, 0.22
"""How far the shoulder is before the leg, the hip over the belly and before the rear, in depths."""

REAR = 0.5
"""Section of the trunk, over that between the legs, down to which it goes on behind the hind legs."""

CARPUS, FETLOCK, KNEE, HOCK, LOWER = 0.65, 0.20, 0.98, 0.52, 0.16
"""Heights of the joints of legs, over the belly's."""

SPINE = {"hips": 0.57, "chest": 0.55, "neck": 0.64}
"""Heights over the belly, in depths."""

HEAD = 0.45
"""Share of the way from neck to nose."""

NO_FEET = "No four legs were found on the floor: an animal needs two in front and two behind, apart from each other"


def find_front_end(body: BodyCells) -> float:
    """How much the head is at -y: below 0, it is at y."""
    z = body.points[:, 2]
    high = body.points[z >= np.quantile(z, 1.0 - TOP)]
    return float(0.5 * (body.points[:, 1].min() + body.points[:, 1].max()) - high[:, 1].mean())


def find_feet(body: BodyCells) -> tuple[float, float]:
    """Where the feet begin and end to have a gap along the body.

    Raises
    ------
    SkinningError
        Where there are no front and hind feet.
    """
    feet = np.sort(body.points[body.points[:, 2] < FEET, 1])
    if len(feet) < 2:
        raise SkinningError(NO_FEET)
    gaps = np.diff(feet)
    widest = int(gaps.argmax())
    if gaps[widest] < LEAST_GAP:
        raise SkinningError(NO_FEET)
    return float(feet[widest]), float(feet[widest + 1])


def find_quadruped(body: BodyCells) -> tuple[dict[str, np.ndarray], set[str]]:
    """Find the joints of the left side and of the middle, in the space of the body, and which of them are doubtful.

    Raises
    ------
    SkinningError
        Where there are no four legs.
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

    joints = {}
    side = at(front, CARPUS * belly)[0]  # higher up, the chest is in the section
    for name, height in FRONT_LEG.items():
        joints[name] = np.array([side, at(front, belly)[1], belly + height * depth])
    joints["shoulder"][1] -= SHOULDER_FRONT * depth
    joints["carpus"], joints["fetlock"] = at(front, CARPUS * belly), at(front, FETLOCK * belly)
    rear = _find_rear(body, 0.5 * (start + end), end, belly)
    joints["hip"] = np.array([at(hind, CARPUS * belly)[0], rear - HIP_FRONT * depth, belly + HIP * depth])
    joints["knee"] = at(hind, KNEE * belly)
    joints["hock"] = at(hind, 0.5 * HOCK * belly + 0.5 * _find_hock(hind, belly))
    joints["lower"] = at(hind, LOWER * belly)
    for name, cells in (("front_toe", sides[0]), ("toe", sides[1])):
        feet = cells[cells[:, 2] < FEET]
        joints[name] = np.array([np.abs(feet[:, 0]).mean(), feet[:, 1].min(), feet[:, 2].mean()])
    ends = {"hips": joints["hip"][1], "neck": joints["shoulder"][1]}
    ends["chest"] = 0.5 * (ends["hips"] + ends["neck"])
    joints |= {name: np.array([0.0, y, belly + SPINE[name] * depth]) for name, y in ends.items()}
    nose = middle[middle[:, 1] < middle[:, 1].min() + 2.0 * step].mean(axis=0)
    joints["nose"] = nose * [0.0, 1.0, 1.0]
    head_y = joints["neck"][1] + HEAD * (joints["nose"][1] - joints["neck"][1])
    skull = middle[np.abs(middle[:, 1] - head_y) < 2.0 * step, 2]
    joints["head"] = np.array([0.0, head_y, 0.5 * (skull.min() + skull.max()) if len(skull) else joints["neck"][2]])
    joints["tail"] = np.array([0.0, rear, joints["hips"][2]])
    tail = points[points[:, 1] > points[:, 1].max() - 2.0 * step].mean(axis=0)
    if tail[1] - rear > 0.1:
        joints["tail_tip"] = tail * [0.0, 1.0, 1.0]
    return joints, {"shoulder"}  # it is by proportion alone, and artists differ


def _count_legs(body: BodyCells) -> int:
    """Legs on the left side; a tail is in the middle."""
    low = np.flatnonzero((body.points[:, 2] < LEGS) & (body.points[:, 0] > 0.0))
    number = np.full(body.count + 1, len(low))
    number[low] = np.arange(len(low))
    labels = label_parts(number[body.neighbors[low]])
    sizes = np.bincount(labels)
    beside = np.array([body.points[low[labels == part], 0].min() for part in range(len(sizes))]) > 1.5 * body.step
    return int((beside & (sizes > LEAST_LEG * sizes.max())).sum())


def _follow(cells: np.ndarray, step: float, belly: float) -> np.ndarray:
    """A leg by height, to a little over the belly: its centers and where it begins and ends along the body, (S, 5)."""
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
    """Where the trunk ends behind the hind legs: a tail is thinner."""
    high = body.points[body.points[:, 2] > belly, 1]
    sizes = np.bincount(np.floor((high - high.min()) / body.step).astype(int)).astype(float)
    sizes = np.convolve(sizes, np.ones(3) / 3.0, "same")
    at = high.min() + (np.arange(len(sizes)) + 0.5) * body.step
    trunk = float(np.median(sizes[(at > middle - 0.1) & (at < middle + 0.1)]))
    thin = np.flatnonzero((at > end) & (sizes < REAR * trunk))
    return float(at[thin[0]]) if len(thin) else float(at[-1])


def _find_hock(hind: np.ndarray, belly: float) -> float:
    """The height at which the leg's rear outline leaves its hindmost."""
    lower = hind[(hind[:, 2] < 0.8 * belly) & (hind[:, 2] > 0.2 * belly)]
    if not len(lower):
        return HOCK * belly
    behind = lower[lower[:, 4] >= lower[:, 4].max() - 0.01]
    return float(behind[-1, 2])
