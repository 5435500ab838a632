"""Trunk, legs, neck and head: sections by height of what is no arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError
from .arms import Arms
from .solid import BodyCells

CROTCH, SLICES = 0.45, 4
"""Depth in the middle, over that of the legs, from which on they are one, and in how many slices in a row."""

HIP_ABOVE, HIP_SIDE = 0.038, 0.97
"""Hips over the crotch; of the leg's distance from the middle below it."""

SKIRT, SKIRT_CROTCH, SKIRT_SIDE = 0.30, 0.59, 0.54
"""Height of a crotch, over the shoulder's, below which it is a hem; where it is then; share of half the width."""

KNEE = 0.51
"""Share of the way from ankle to hip."""

ANKLE, ANKLES, NARROWED = 0.053, (0.03, 0.08), 1.45
"""Height of the ankle, its limits, and depth, over the shin's, down to which the leg has narrowed above the foot."""

TOES, TOE_BEFORE = 0.70, 0.07
"""Share of the way from heel to tip; distance from the ankle under a skirt."""

NECK, NECK_TOP = 0.12, 0.72
"""How far above the shoulders the neck is at most, in heights and of the way to the top."""

HEAD_ABOVE, NECK_SHARE = 0.015, 0.35
"""The head's joint above the least section; share of the way from the shoulders to it."""

HIPS_ABOVE, CHEST = 0.005, 0.72
"""The hips' joint above the legs'; share of the way to the shoulders."""

DEPTHS = {"hips": 0.42, "chest": 0.38, "neck": 0.45, "head": 0.42}
"""Shares of the depth, from the back."""

DEEPER = 1.35
"""Depth, over the chest's, from which on a section is no neck's."""

NO_LEGS = "No legs were found: a human stands on two legs, and an animal on four"
NO_HEAD = "No head was found above the shoulders: show the whole character"


@dataclass(frozen=True)
class Trunk:
    """Joints of trunk and left leg, float64 arrays, shape (3,), in the space of the body.

    Attributes
    ----------
    joints : dict of str to float64 array, shape (3,)
    has_skirt : bool
        Whether legs are hidden, and their joints by proportion alone.
    """

    joints: dict[str, np.ndarray]
    has_skirt: bool


class Slices:
    """Some cells of a body, by height."""

    def __init__(self, points: np.ndarray, step: float) -> None:
        self.points, self.step = points, step
        self.numbers = np.floor(np.maximum(points[:, 2], 0.0) / step).astype(int)
        self.count = int(self.numbers.max(initial=-1)) + 1

    def at(self, height: float, reach: float = 1.5) -> np.ndarray:
        """Cells around a height, shape (N, 3)."""
        return self.points[np.abs(self.points[:, 2] - height) < reach * self.step]

    def depth_of(self, height: float, wide: float = 0.3) -> tuple[float, float]:
        """Where the middle of a section begins at the front and ends at the back.

        Raises
        ------
        SkinningError
            Where nothing is there.
        """
        section = self.at(height)
        if not len(section):
            raise SkinningError(NO_HEAD)
        half = 0.5 * float(np.ptp(section[:, 0])) + 0.5 * self.step
        middle = section[np.abs(section[:, 0]) < max(wide * half, self.step)]
        middle = middle if len(middle) else section
        front, back = np.quantile(middle[:, 1], [0.08, 0.92])
        return float(front), float(back)


def find_trunk(body: BodyCells, arms: Arms) -> Trunk:
    """Find the joints of trunk, legs, neck and head.

    Raises
    ------
    SkinningError
        Where there are no legs, or no head.
    """
    rest = Slices(body.points[arms.paths > arms.armpit - 0.5 * arms.radius], body.step)
    shoulder = arms.shoulder[2]
    crotch = _find_crotch(rest)
    has_skirt = crotch < SKIRT * shoulder
    if has_skirt:
        crotch = SKIRT_CROTCH * shoulder
    joints = _find_leg(rest, crotch, has_skirt)
    joints |= _find_spine(rest, joints["hip"], shoulder, arms)
    return Trunk(joints, has_skirt)


def _find_crotch(rest: Slices) -> float:
    middle = np.abs(rest.points[:, 0]) <= 0.75 * rest.step
    columns = np.round(rest.points[:, 0] / rest.step).astype(int)
    columns -= columns.min()
    depths = np.zeros((rest.count, int(columns.max()) + 1))
    np.add.at(depths, (rest.numbers, columns), 1.0)
    at_middle = np.bincount(rest.numbers[middle], minlength=rest.count) / 1.5
    joined = at_middle > CROTCH * depths.max(axis=1)
    runs = np.convolve(joined, np.ones(SLICES), "valid") == SLICES
    runs[: int(0.02 / rest.step)] = False
    if not runs.any():
        raise SkinningError(NO_LEGS)
    return float(runs.argmax() * rest.step)


def _find_leg(rest: Slices, crotch: float, has_skirt: bool) -> dict[str, np.ndarray]:
    hip_height = crotch + HIP_ABOVE
    if has_skirt:
        section = rest.at(hip_height)
        if not len(section):
            raise SkinningError(NO_LEGS)
        side = SKIRT_SIDE * 0.5 * float(np.ptp(section[:, 0]))
    else:
        legs = rest.at(crotch - 2.0 * rest.step)
        if not len(legs):
            raise SkinningError(NO_LEGS)
        side = HIP_SIDE * float(np.abs(legs[:, 0]).mean())
    front, back = rest.depth_of(hip_height, 2.0)
    hip = np.array([side, 0.5 * (front + back), hip_height])
    ankle = _find_ankle(rest)
    knee_height = ankle[2] + KNEE * (hip_height - ankle[2])
    knee = ankle + KNEE * (hip - ankle)
    if not has_skirt:
        section = rest.at(knee_height)
        if len(section):
            knee = np.array([np.abs(section[:, 0]).mean(), section[:, 1].mean(), knee_height])
    if has_skirt:
        toe = ankle * [1.0, 1.0, 0.4] - [0.0, TOE_BEFORE, 0.0]
        return {"hip": hip, "knee": knee, "ankle": ankle, "toe": toe, "toe_tip": toe - [0.0, 0.5 * TOE_BEFORE, 0.0]}
    feet = rest.points[rest.points[:, 2] < ankle[2]]
    if not len(feet):
        raise SkinningError(NO_LEGS)
    front, heel = float(feet[:, 1].min()), float(feet[:, 1].max())
    toe_y = heel + TOES * (front - heel)
    near = feet[np.abs(feet[:, 1] - toe_y) < 2.0 * rest.step]
    near = near if len(near) else feet
    toe = np.array([np.abs(near[:, 0]).mean(), toe_y, min(float(near[:, 2].mean()), 0.5 * ankle[2])])
    tip = np.array([toe[0], front, toe[2]])
    return {"hip": hip, "knee": knee, "ankle": ankle, "toe": toe, "toe_tip": tip}


def _find_ankle(rest: Slices) -> np.ndarray:
    """Half where ankles are, half where the leg first narrows to the shin's depth above the foot."""
    heights = np.arange(0.5, 0.3 / rest.step) * rest.step
    depths = np.array([_depth(rest, height) for height in heights])
    shin = np.quantile(depths[heights > 0.05], 0.1)
    narrow = np.flatnonzero((depths < NARROWED * shin) & (heights > 0.01))
    found = heights[narrow[0]] if len(narrow) else ANKLE
    height = float(0.5 * ANKLE + 0.5 * np.clip(found, *ANKLES))
    section = rest.at(height)
    if not len(section):
        raise SkinningError(NO_LEGS)
    return np.array([np.abs(section[:, 0]).mean(), section[:, 1].mean(), height])


def _depth(rest: Slices, height: float) -> float:
    section = rest.at(height, 0.75)
    return float(np.ptp(section[:, 1])) if len(section) else 0.0


def _find_spine(rest: Slices, hip: np.ndarray, shoulder: float, arms: Arms) -> dict[str, np.ndarray]:
    top = float(rest.points[:, 2].max())
    high = shoulder + min(NECK, NECK_TOP * (top - shoulder))
    sizes = np.bincount(rest.numbers, minlength=rest.count).astype(float)
    heights = (np.arange(rest.count) + 0.5) * rest.step
    necks = np.flatnonzero((heights > shoulder) & (heights <= high))
    head = rest.points[rest.points[:, 2] > 0.5 * (shoulder + top)]
    if not len(necks) or np.abs(head[:, 0]).min(initial=1.0) > 2.0 * rest.step:
        raise SkinningError(NO_HEAD)
    head_height = float(heights[necks[int(sizes[necks].argmin())]]) + HEAD_ABOVE
    at = {
        "hips": hip[2] + HIPS_ABOVE,
        "chest": hip[2] + CHEST * (shoulder - hip[2]),
        "neck": shoulder + NECK_SHARE * (head_height - shoulder),
        "head": head_height,
    }
    chest_front, chest_back = rest.depth_of(at["chest"])
    joints = {}
    for name, height in at.items():
        front, back = rest.depth_of(height)
        y = back + DEPTHS[name] * (front - back)
        if name in ("neck", "head") and back - front > DEEPER * (chest_back - chest_front):
            y = 0.5 * (arms.shoulder[1] + joints["chest"][1])
        joints[name] = np.array([0.0, y, height])
    joints["head_tip"] = np.array([0.0, joints["head"][1], top])
    return joints
