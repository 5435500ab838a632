"""Joints of a human in one solid. Trunk, legs, neck and head come from sections by height of all but the arms."""

from __future__ import annotations

import numpy as np

from ..errors import SkinningError
from .arms import Arms, find_arms
from .solid import BodyCells

NO_LEGS = "No legs were found: a human stands on two legs, and an animal on four"
NO_HEAD = "No head was found above the shoulders: show the whole character"


class Slices:
    """Cells of a body, shape (N, 3), by height."""

    def __init__(self, points: np.ndarray, step: float) -> None:
        self.points, self.step = points, step
        self.numbers = np.floor(np.maximum(points[:, 2], 0.0) / step).astype(int)
        self.count = int(self.numbers.max(initial=-1)) + 1

    def at(self, height: float, reach: float = 1.5) -> np.ndarray:
        """Cells within `reach` cells of a height, shape (N, 3)."""
        return self.points[np.abs(self.points[:, 2] - height) < reach * self.step]

    def leg_at(self, height: float) -> np.ndarray:
        """Find the center of the left leg at a height, shape (3,). Raises SkinningError if the body is empty there."""
        section = self.at(height)
        if not len(section):
            raise SkinningError(NO_LEGS)
        return np.array([np.abs(section[:, 0]).mean(), section[:, 1].mean(), height])

    def depth_at(self, height: float, wide: float = 0.3) -> tuple[float, float]:
        """Find the y of front and back in the middle of a section. Raises SkinningError if the section is empty."""
        section = self.at(height)
        if not len(section):
            raise SkinningError(NO_HEAD)
        half = 0.5 * float(np.ptp(section[:, 0])) + 0.5 * self.step
        middle = section[np.abs(section[:, 0]) < max(wide * half, self.step)]
        middle = middle if len(middle) else section
        front, back = np.quantile(middle[:, 1], [0.08, 0.92])
        return float(front), float(back)


def find_human(body: BodyCells) -> tuple[dict[str, np.ndarray], set[str]]:
    """Find the joints of the left side and of the middle, in the space of the body, and which of them are doubtful.

    Raises SkinningError if arms, legs or a head are missing.
    """
    arms = find_arms(body)
    rest = Slices(body.points[arms.paths > arms.armpit - 0.5 * arms.radius], body.step)
    shoulder = arms.shoulder[2]
    crotch = _find_crotch(rest)
    has_skirt = crotch < 0.30 * shoulder  # so low, it is a hem
    joints = _guess_leg(rest, 0.59 * shoulder) if has_skirt else _find_leg(rest, crotch)
    doubtful = {"hip", "knee"} if has_skirt else set()
    joints |= _find_spine(rest, joints["hip"], arms)
    joints |= {"shoulder": arms.shoulder, "elbow": arms.elbow, "wrist": arms.wrist, "hand_tip": arms.tip}
    if arms.fall > 62.0:  # the arm lies near the body
        doubtful.add("shoulder")
    if arms.fall > 35.0 and arms.radius > 0.045:  # a thick arm meets the trunk far out
        doubtful |= {"shoulder", "elbow", "wrist"}
    return joints, doubtful


def _find_crotch(rest: Slices) -> float:
    """Height at which the legs are one: the middle is deep, relative to the legs, in several slices in a row."""
    min_depth, run = 0.45, 4
    middle = np.abs(rest.points[:, 0]) <= 0.75 * rest.step
    columns = np.round(rest.points[:, 0] / rest.step).astype(int)
    columns -= columns.min()
    depths = np.zeros((rest.count, int(columns.max()) + 1))
    np.add.at(depths, (rest.numbers, columns), 1.0)
    at_middle = np.bincount(rest.numbers[middle], minlength=rest.count) / 1.5
    joined = at_middle > min_depth * depths.max(axis=1)
    runs = np.convolve(joined, np.ones(run), "valid") == run
    runs[: int(0.02 / rest.step)] = False
    if not runs.any():
        raise SkinningError(NO_LEGS)
    return float(runs.argmax() * rest.step)


def _find_leg(rest: Slices, crotch: float) -> dict[str, np.ndarray]:
    side = 0.97 * rest.leg_at(crotch - 2.0 * rest.step)[0]
    hip, ankle = _find_hip(rest, crotch, side), _find_ankle(rest)
    knee_height = ankle[2] + 0.51 * (hip[2] - ankle[2])
    section = rest.at(knee_height)
    knee = rest.leg_at(knee_height) if len(section) else ankle + 0.51 * (hip - ankle)
    feet = rest.points[rest.points[:, 2] < ankle[2]]
    if not len(feet):
        raise SkinningError(NO_LEGS)
    front, heel = float(feet[:, 1].min()), float(feet[:, 1].max())
    toe_y = heel + 0.70 * (front - heel)
    near = feet[np.abs(feet[:, 1] - toe_y) < 2.0 * rest.step]
    near = near if len(near) else feet
    toe = np.array([np.abs(near[:, 0]).mean(), toe_y, min(float(near[:, 2].mean()), 0.5 * ankle[2])])
    tip = np.array([toe[0], front, toe[2]])
    return {"hip": hip, "knee": knee, "ankle": ankle, "toe": toe, "toe_tip": tip}


def _guess_leg(rest: Slices, crotch: float) -> dict[str, np.ndarray]:
    """The joints of a leg under a skirt, by proportion."""
    section = rest.at(crotch + 0.038)
    if not len(section):
        raise SkinningError(NO_LEGS)
    hip = _find_hip(rest, crotch, 0.54 * 0.5 * float(np.ptp(section[:, 0])))
    ankle = _find_ankle(rest)
    toe = ankle * [1.0, 1.0, 0.4] - [0.0, 0.07, 0.0]
    tip = toe - [0.0, 0.5 * 0.07, 0.0]
    return {"hip": hip, "knee": ankle + 0.51 * (hip - ankle), "ankle": ankle, "toe": toe, "toe_tip": tip}


def _find_hip(rest: Slices, crotch: float, side: float) -> np.ndarray:
    height = crotch + 0.038
    front, back = rest.depth_at(height, 2.0)
    return np.array([side, 0.5 * (front + back), height])


def _find_ankle(rest: Slices) -> np.ndarray:
    """Half the usual height of ankles, half the height at which the leg first narrows to the shin above the foot."""
    usual, limits, narrowed = 0.053, (0.03, 0.08), 1.45  # heights; depth relative to the shin
    heights = np.arange(0.5, 0.3 / rest.step) * rest.step
    sections = [rest.at(height, 0.75)[:, 1] for height in heights]
    depths = np.array([float(np.ptp(section)) if len(section) else 0.0 for section in sections])
    shin = np.quantile(depths[heights > 0.05], 0.1)
    narrow = np.flatnonzero((depths < narrowed * shin) & (heights > 0.01))
    found = heights[narrow[0]] if len(narrow) else usual
    return rest.leg_at(float(0.5 * usual + 0.5 * np.clip(found, *limits)))


def _find_spine(rest: Slices, hip: np.ndarray, arms: Arms) -> dict[str, np.ndarray]:
    shoulder, top = arms.shoulder[2], float(rest.points[:, 2].max())
    high = shoulder + min(0.12, 0.72 * (top - shoulder))  # the neck is below this
    sizes = np.bincount(rest.numbers, minlength=rest.count).astype(float)
    heights = (np.arange(rest.count) + 0.5) * rest.step
    necks = np.flatnonzero((heights > shoulder) & (heights <= high))
    head = rest.points[rest.points[:, 2] > 0.5 * (shoulder + top)]
    if not len(necks) or np.abs(head[:, 0]).min(initial=1.0) > 2.0 * rest.step:
        raise SkinningError(NO_HEAD)
    head_height = float(heights[necks[int(sizes[necks].argmin())]]) + 0.015
    rows = {  # height, and share of the depth from the back
        "hips": (hip[2] + 0.005, 0.42),
        "chest": (hip[2] + 0.72 * (shoulder - hip[2]), 0.38),
        "neck": (shoulder + 0.35 * (head_height - shoulder), 0.45),
        "head": (head_height, 0.42),
    }
    chest_front, chest_back = rest.depth_at(rows["chest"][0])
    joints = {}
    for name, (height, share) in rows.items():
        front, back = rest.depth_at(height)
        y = back + share * (front - back)
        if name in ("neck", "head") and back - front > 1.35 * (chest_back - chest_front):
            y = 0.5 * (arms.shoulder[1] + joints["chest"][1])  # long hair or a hood hides the neck
        joints[name] = np.array([0.0, y, height])
    joints["head_tip"] = np.array([0.0, joints["head"][1], top])
    return joints
