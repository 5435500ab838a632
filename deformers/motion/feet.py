"""Find feet and the frames in which they are planted, and hold planted feet in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..geometry.vectors import smooth_step

# A foot takes a step to a position that is at least this far away, in heights of the body.
MIN_STEP = 0.03


@dataclass(frozen=True)
class Foot:
    """Indices of the bones of a leg.

    Attributes
    ----------
    hip, knee, ankle : int
        Bones that rotate the leg, bend it, and are the foot.
    contact : int
        The head of this bone stays in place while the foot is planted.
    """

    hip: int
    knee: int
    ankle: int
    contact: int


def find_feet(heads: np.ndarray, parents: Sequence[int]) -> list[Foot]:
    """Find the feet of a body at rest by its shape alone, for two legs or four.

    A foot starts at a low bone whose parent is not low. Its leg goes up to where another leg branches off. Heads of
    bones, (B, 3), are in world space, z up. `parents` are indices or -1.
    """
    heights = heads[:, 2] - heads[:, 2].min()
    is_low = heights < 0.1 * max(float(heights.max()), 1e-12)
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
            spans = [np.linalg.norm(heads[leg] - heads[end], axis=1) for end in (ankle, leg[-1])]
            knee = leg[int(np.argmax(np.minimum(*spans)))]  # far from both ends
            contact = min(children[ankle], key=lambda bone: heads[bone, 2], default=ankle)
            feet.append(Foot(leg[-1], knee, ankle, contact))
    return feet


def _list_line(bone: int, parents: Sequence[int]) -> list[int]:
    """List a bone and the bones above it."""
    line = []
    while bone >= 0:
        line.append(bone)
        bone = parents[bone]
    return line


def find_planted(points: np.ndarray, height: float, rate: float) -> np.ndarray:
    """Find the frames in which a foot is planted, bool, shape (F,): near the ground and slow, for a while.

    Positions of the foot, (F, 3), are in world space, z up. `rate` is in frames per second.
    """
    max_speed, min_seconds = 0.1 * height, 0.08
    if len(points) < 2:
        return np.zeros(len(points), bool)
    # Captured motions tremble between frames closer than those of a film.
    count = min(max(1, round(rate / 24.0)), len(points) - 1)
    steps = np.linalg.norm(points[count:, :2] - points[:-count, :2], axis=1) * rate / count
    none = np.full(count, np.inf)
    speeds = np.minimum(np.concatenate([steps, none]), np.concatenate([none, steps]))
    is_planted = (points[:, 2] < find_ground(points, height)) & (speeds < max_speed)
    for start, end in list_spans(is_planted):
        if end - start < min_seconds * rate:
            is_planted[start:end] = False
    return is_planted


def find_ground(points: np.ndarray, height: float) -> float:
    """Height below which a foot is on the ground, by its positions, (F, 3), in a motion and the height of the body."""
    return float(np.percentile(points[:, 2], 5.0)) + 0.03 * height


def list_spans(flags: np.ndarray) -> list[tuple[int, int]]:
    """List the spans, first frame and frame after the last, in which flags, shape (F,), are true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]


@dataclass(frozen=True, eq=False)
class HeldFoot:
    """A foot that is held in place while it is planted.

    Attributes
    ----------
    shifts : float array, shape (F, 3)
        Offsets from the motion.
    is_planted : bool array, shape (F,)
        Whether it is planted. It is not while it takes a step.
    """

    shifts: np.ndarray
    is_planted: np.ndarray


def hold_foot(
    points: np.ndarray, is_planted: np.ndarray, blended: tuple[int, int], height: float, is_late: bool = False
) -> HeldFoot:
    """Find the offsets that hold a foot in place while it is planted.

    A foot that is planted when the blend starts stays to the end of the blend, and the offset fades out once it is
    lifted. A foot that is planted later, and beyond the blend, comes down at its later position: the offset fades in
    before. A foot that stands at different positions before and after the blend takes a step.

    Parameters
    ----------
    points : float array, shape (F, 3)
        Positions of the foot in world space, z up.
    is_planted : bool array, shape (F,)
    blended : (int, int)
        First and last blended frame.
    height : float
        Height of the body.
    is_late : bool
        Whether it steps in the second half of the blend. So feet step one after the other.
    """
    shifts, flags, before = np.zeros_like(points), is_planted.copy(), 0
    fade = blended[1] - blended[0] + 2
    for start, end in list_spans(is_planted):
        begin, last = max(start, blended[0]), min(end - 1, blended[1])
        if begin <= last:
            inside, is_landing = slice(begin, last + 1), start > blended[0] and end - 1 >= blended[1]
            stays = start <= blended[0] and end - 1 >= blended[1]
            if stays and np.linalg.norm((points[last] - points[begin])[:2]) > MIN_STEP * height:
                path = _step(points[inside], height, is_late, flags[inside])
            else:
                path = np.repeat(points[[last if is_landing else begin]] + shifts[begin], last + 1 - begin, axis=0)
                if stays:
                    path[:, 2] += (points[last] - points[begin])[2] * smooth_step(np.linspace(0.0, 1.0, len(path)))
            shifts[inside] = path - points[inside]
            shifts[last + 1 : end] = shifts[last]
            if is_landing:
                _fade(shifts[max(before, start - fade) : start][::-1], shifts[begin] - _last(shifts[before:start]))
            _fade(shifts[end : end + fade], shifts[last])
        before = end
    return HeldFoot(shifts, flags)


def _step(points: np.ndarray, height: float, is_late: bool, flags: np.ndarray) -> np.ndarray:
    """Let a foot step from the first of its positions to the last, (F, 3). Its flags are cleared while it steps."""
    half = len(points) // 2
    first, last = (half, len(points) - 1) if is_late else (0, half)
    shares = smooth_step((np.arange(len(points)) - first) / max(last - first, 1))
    path = points[0] + shares[:, None] * (points[-1] - points[0])
    distance = float(np.linalg.norm((points[-1] - points[0])[:2]))
    path[:, 2] += 4.0 * shares * (1.0 - shares) * min(0.3 * distance, 0.06 * height)
    flags[first + 1 : last] = False
    return path


def _last(shifts: np.ndarray) -> np.ndarray:
    """Last of the offsets, shape (F, 3), or 0."""
    return shifts[-1].copy() if len(shifts) else np.zeros(3)


def _fade(shifts: np.ndarray, shift: np.ndarray) -> None:
    """Add an offset, shape (3,), to others, shape (F, 3), and let it fade to 0."""
    steps = np.arange(1.0, len(shifts) + 1.0) / (len(shifts) + 1.0)
    shifts += (1.0 - smooth_step(steps))[:, None] * shift


def measure_slide(points: np.ndarray, is_planted: np.ndarray, blended: tuple[int, int]) -> float:
    """Largest distance on the ground that a planted foot, points (F, 3) and flags (F,), slides in blended frames."""
    inside = np.zeros_like(is_planted)
    inside[blended[0] : blended[1] + 1] = True
    slides = [
        float(np.linalg.norm(points[start:end, :2] - points[start, :2], axis=1).max())
        for start, end in list_spans(is_planted & inside)
    ]
    return max(slides, default=0.0)
