"""How smooth a seam is, beside the motions that it joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

OWN = 95.0
"""Percentile of a motion's speeds and accelerations that a seam is measured by."""

LEAST = 0.1
"""Part of what all points have, by which a point is measured at least: what is nearly still can not jump less."""


SMOOTH = 1.5
"""Largest speed of a blend from 0 to 1 in unit time; its largest acceleration is four times as large."""


@dataclass(frozen=True)
class Smoothness:
    """Speeds and accelerations at a seam as ratios to those that the motions themselves have.

    Attributes
    ----------
    speed, acceleration : float
        Of the point that is worst: the largest at the seam to the 95th percentile of its own.
    inside : float
        Share of points and frames of the seam in which neither is above 1.
    jump : float
        Largest change of the acceleration from frame to frame, as the same ratio: a jolt shows here.
    """

    speed: float
    acceleration: float
    inside: float
    jump: float


def find_longer(difference: float, own: Sequence[np.ndarray]) -> float:
    """Frames to each side of a seam that a blend needs, so that it is no faster than the motions are.

    Parameters
    ----------
    difference : float
        Between the frames at the seam, root mean square of the points.
    own : sequence of float arrays, shape (F, N, 3)
        The motions that are joined.
    """
    speed, acceleration = (
        max(
            (float(np.percentile(_find_means(motion, order), OWN)) for motion in own if len(motion) > order),
            default=0.0,
        )
        for order in (1, 2)
    )
    least = 1e-12 + 1e-6 * difference
    return max(SMOOTH * difference / max(speed, least), np.sqrt(SMOOTH * difference / max(acceleration, least)))


def _find_means(points: np.ndarray, order: int) -> np.ndarray:
    """Root mean square of the lengths of `_find_lengths`, shape (F - order,)."""
    return np.sqrt((_find_lengths(points, order) ** 2).mean(axis=1))


def measure_seam(points: np.ndarray, blended: tuple[int, int], own: Sequence[np.ndarray]) -> Smoothness:
    """Compare frames of a seam with whole motions.

    Parameters
    ----------
    points : float array, shape (F, N, 3)
        The joined motion.
    blended : (int, int)
        First and last frame that are blended.
    own : sequence of float arrays, shape (F, N, 3)
        The motions that are joined.
    """
    frames = points[max(0, blended[0] - 2) : blended[1] + 3]
    ratios = []
    for order in (1, 2, 3):
        lengths = [_find_lengths(motion, order) for motion in own if len(motion) > order]
        if not lengths or len(frames) <= order:
            ratios.append(np.zeros((1, points.shape[1])))
            continue
        known = np.max([np.percentile(each, OWN, axis=0) for each in lengths], axis=0)
        known = np.maximum(known, LEAST * np.percentile(np.concatenate(lengths), OWN))
        ratios.append(_find_lengths(frames, order) / np.maximum(known, 1e-12))
    speed, acceleration, jump = ratios
    inside = np.mean(np.concatenate([speed, acceleration]) <= 1.0)
    return Smoothness(float(speed.max()), float(acceleration.max()), float(inside), float(jump.max()))


def _find_lengths(points: np.ndarray, order: int) -> np.ndarray:
    """Lengths of the differences of an order between frames, shape (F - order, N)."""
    return np.linalg.norm(np.diff(points, order, axis=0), axis=2)
