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

SLOW = 0.15
"""Speed on the ground, in heights of the body a second, up to which a foot is planted."""

ON_GROUND = np.array([1.0, 1.0, 0.0])
"""Directions in which a foot is held."""

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
    steps = np.linalg.norm(np.diff(points[:, :2], axis=0), axis=1)
    speeds = np.minimum(np.append(steps, np.inf), np.insert(steps, 0, np.inf)) * rate
    is_low = points[:, 2] < np.percentile(points[:, 2], LOWEST) + NEAR_GROUND * height
    is_planted = is_low & (speeds < SLOW * height)
    for start, end in list_spans(is_planted):
        if end - start < SHORTEST * rate:
            is_planted[start:end] = False
    return is_planted


def list_spans(flags: np.ndarray) -> list[tuple[int, int]]:
    """First frames, and frames after the last, of where flags, shape (F,), are true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]


def find_shifts(points: np.ndarray, is_planted: np.ndarray, blended: tuple[int, int], fade: int) -> np.ndarray:
    """How far a foot is to be shifted on the ground so that it stays where it is while it is planted.

    A foot that is planted as the blend begins stays there to the end of the blend, and moves as the motion does beyond;
    the shift fades out as soon as the foot is lifted. One that is planted later, and after the blend, comes down where
    it is then: the shift fades in before.

    Parameters
    ----------
    points : float array, shape (F, 3)
        Of the foot, world space, z up.
    is_planted : bool array, shape (F,)
    blended : (int, int)
        First and last frame that are blended.
    fade : int
        Frames in which a shift fades out, at most.

    Returns
    -------
    float array, shape (F, 3)
    """
    shifts, before = np.zeros_like(points), 0
    for start, end in list_spans(is_planted):
        begin, last = max(start, blended[0]), min(end - 1, blended[1])
        if begin <= last:
            is_landing = start > blended[0] and end - 1 >= blended[1]
            held = points[last] if is_landing else points[begin] + shifts[begin]
            shifts[begin : last + 1] = (held - points[begin : last + 1]) * ON_GROUND
            shifts[last + 1 : end] = shifts[last]
            if is_landing:
                _fade(shifts[max(before, start - fade) : start][::-1], shifts[begin] - _last(shifts[before:start]))
            _fade(shifts[end : end + fade], shifts[last])
        before = end
    return shifts


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
