"""Feet: which bones they are, when they are planted, and how far they must be shifted to stay where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .blending import rise

LOW = 0.1
"""A joint lower than this part of the body's height at rest belongs to a foot."""

NEAR_GROUND = 0.03
"""Height over its lowest, in parts of the body's height, up to which a foot is on the ground."""

LOWEST = 5.0
"""Percentile of a foot's heights that counts as its lowest."""

SLOW = 0.1
"""Speed on the ground, in heights of the body a second, up to which a foot is planted."""

STEP = 0.03
"""Distance, in parts of the body's height, from which on a foot takes a step to where it stands next."""

LIFT, LIFT_SHARE = 0.06, 0.3
"""How high it is lifted then: in parts of the body's height at most, and in parts of the distance."""

FILM = 24.0
"""Frames a second by which speeds are measured at most: between closer ones, captured motions tremble."""

SHORTEST = 0.08
"""Seconds for which a foot is planted at least."""


@dataclass(frozen=True)
class Foot:
    """A leg and what it stands on, as numbers of bones.

    Attributes
    ----------
    hip, knee, ankle : int
        Bones that turn the leg, bend it, and are the foot.
    contact : int
        Bone whose head stays where it is while the foot is planted.
    """

    hip: int
    knee: int
    ankle: int
    contact: int


def find_feet(heads: np.ndarray, parents: Sequence[int]) -> list[Foot]:
    """Feet of a body at rest, by its shape alone: two legs or four, whatever their names.

    A foot is all that is low below a bone that is not. Its leg goes up to where another leg branches off.

    Parameters
    ----------
    heads : float array, shape (B, 3)
        Where bones begin, world space, z up.
    parents : sequence of int
        -1 for none.
    """
    heights = heads[:, 2] - heads[:, 2].min()
    is_low = heights < LOW * max(float(heights.max()), 1e-12)
    children: list[list[int]] = [[] for _ in parents]
    for bone, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(bone)
    ankles = [bone for bone, parent in enumerate(parents) if is_low[bone] and parent >= 0 and not is_low[parent]]
    lines = {ankle: _list_line(ankle, parents) for ankle in ankles}
    feet = []
    for ankle, line in lines.items():
        shared = {bone for other, above in lines.items() if other != ankle for bone in above}
        leg = [bone for bone in line if bone not in shared and parents[bone] >= 0]
        if len(leg) >= 3:
            spans = (
                np.linalg.norm(heads[leg] - heads[ankle], axis=1),
                np.linalg.norm(heads[leg] - heads[leg[-1]], axis=1),
            )
            knee = leg[int(np.argmax(np.minimum(*spans)))]
            contact = min(children[ankle], key=lambda bone: heads[bone, 2], default=ankle)
            feet.append(Foot(leg[-1], knee, ankle, contact))
    return feet


def _list_line(bone: int, parents: Sequence[int]) -> list[int]:
    """A bone and those above it."""
    line = []
    while bone >= 0:
        line.append(bone)
        bone = parents[bone]
    return line


def find_planted(points: np.ndarray, height: float, rate: float) -> np.ndarray:
    """In which frames a foot is planted: near the ground and slow, for a while.

    Parameters
    ----------
    points : float array, shape (F, 3)
        Of the foot, world space, z up.
    height : float
        Of the body.
    rate : float
        Frames a second.

    Returns
    -------
    bool array, shape (F,)
    """
    if len(points) < 2:
        return np.zeros(len(points), bool)
    count = min(max(1, round(rate / FILM)), len(points) - 1)
    steps = np.linalg.norm(points[count:, :2] - points[:-count, :2], axis=1) * rate / count
    none = np.full(count, np.inf)
    speeds = np.minimum(np.concatenate([steps, none]), np.concatenate([none, steps]))
    is_planted = (points[:, 2] < find_ground(points, height)) & (speeds < SLOW * height)
    for start, end in list_spans(is_planted):
        if end - start < SHORTEST * rate:
            is_planted[start:end] = False
    return is_planted


def find_ground(points: np.ndarray, height: float) -> float:
    """The height up to which a foot is on the ground.

    Parameters
    ----------
    points : float array, shape (F, 3)
        Of the foot in a motion, world space, z up.
    height : float
        Of the body.
    """
    return float(np.percentile(points[:, 2], LOWEST)) + NEAR_GROUND * height


def list_spans(flags: np.ndarray) -> list[tuple[int, int]]:
    """First frames, and frames after the last, of where flags, shape (F,), are true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]


@dataclass(frozen=True, eq=False)
class Held:
    """A foot that is held while it is planted.

    Attributes
    ----------
    shifts : float array, shape (F, 3)
        How far it is to be moved from where the motion has it.
    is_planted : bool array, shape (F,)
        The same as before, but for where it takes a step.
    """

    shifts: np.ndarray
    is_planted: np.ndarray


def hold_foot(
    points: np.ndarray, is_planted: np.ndarray, blended: tuple[int, int], height: float, is_late: bool = False
) -> Held:
    """How far a foot is to be moved so that it stays where it is while it is planted.

    A foot that is planted as the blend begins stays there to the end of the blend, and moves as the motion does beyond;
    the shift fades out as soon as the foot is lifted. One that is planted later, and after the blend, comes down where
    it is then: the shift fades in before. One that stands before the blend and after it, but elsewhere, takes a step.

    Parameters
    ----------
    points : float array, shape (F, 3)
        Of the foot, world space, z up.
    is_planted : bool array, shape (F,)
    blended : (int, int)
        First and last frame that are blended.
    height : float
        Of the body.
    is_late : bool
        Whether it steps in the second half of the blend, rather than in the first: not all feet step at once.
    """
    shifts, flags, before = np.zeros_like(points), is_planted.copy(), 0
    fade = blended[1] - blended[0] + 2
    for start, end in list_spans(is_planted):
        begin, last = max(start, blended[0]), min(end - 1, blended[1])
        if begin <= last:
            inside, is_landing = slice(begin, last + 1), start > blended[0] and end - 1 >= blended[1]
            stays = start <= blended[0] and end - 1 >= blended[1]
            if stays and np.linalg.norm((points[last] - points[begin])[:2]) > STEP * height:
                path = _step(points[inside], height, is_late, flags[inside])
            else:
                path = np.repeat(points[[last if is_landing else begin]] + shifts[begin], last + 1 - begin, axis=0)
                if stays:
                    path[:, 2] += (points[last] - points[begin])[2] * rise(np.linspace(0.0, 1.0, len(path)))
            shifts[inside] = path - points[inside]
            shifts[last + 1 : end] = shifts[last]
            if is_landing:
                _fade(shifts[max(before, start - fade) : start][::-1], shifts[begin] - _last(shifts[before:start]))
            _fade(shifts[end : end + fade], shifts[last])
        before = end
    return Held(shifts, flags)


def _step(points: np.ndarray, height: float, is_late: bool, flags: np.ndarray) -> np.ndarray:
    """Where a foot is that steps from the first of its positions to the last, shape (F, 3); it is not planted then."""
    half = len(points) // 2
    first, last = (half, len(points) - 1) if is_late else (0, half)
    shares = rise((np.arange(len(points)) - first) / max(last - first, 1))
    path = points[0] + shares[:, None] * (points[-1] - points[0])
    distance = float(np.linalg.norm((points[-1] - points[0])[:2]))
    path[:, 2] += 4.0 * shares * (1.0 - shares) * min(LIFT_SHARE * distance, LIFT * height)
    flags[first + 1 : last] = False
    return path


def _last(shifts: np.ndarray) -> np.ndarray:
    """The last of shifts, shape (F, 3), or none."""
    return shifts[-1].copy() if len(shifts) else np.zeros(3)


def _fade(shifts: np.ndarray, shift: np.ndarray) -> None:
    """Add a shift, shape (3,), to others, shape (F, 3), ever less of it."""
    steps = np.arange(1.0, len(shifts) + 1.0) / (len(shifts) + 1.0)
    shifts += (1.0 - rise(steps))[:, None] * shift


def measure_slide(points: np.ndarray, is_planted: np.ndarray, blended: tuple[int, int]) -> float:
    """How far a planted foot gets, at most, from where it was planted in the blended frames; 0 where it is not.

    Parameters
    ----------
    points : float array, shape (F, 3)
    is_planted : bool array, shape (F,)
    blended : (int, int)
        First and last frame that are blended.
    """
    inside = np.zeros_like(is_planted)
    inside[blended[0] : blended[1] + 1] = True
    slides = [
        float(np.linalg.norm(points[start:end, :2] - points[start, :2], axis=1).max())
        for start, end in list_spans(is_planted & inside)
    ]
    return max(slides, default=0.0)
