"""Measure how smooth a seam is, relative to the motions that it joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# Percentile of a motion's own speeds and accelerations that a seam is compared with
PERCENTILE = 95.0


@dataclass(frozen=True)
class Smoothness:
    """Speeds and accelerations at a seam, relative to the 95th percentile in the motions themselves.

    Attributes
    ----------
    speed, acceleration : float
        Largest ratios of a point.
    inside : float
        Share of points and frames of the seam with both ratios at most 1.
    jump : float
        Largest ratio of the change of acceleration from frame to frame, which shows jolts.
    """

    speed: float
    acceleration: float
    inside: float
    jump: float


def find_longer(difference: float, own: Sequence[np.ndarray]) -> float:
    """Find how many frames on each side of a seam make the blend no faster than the joined motions, (F, N, 3).

    `difference` is that of the frames at the seam, the root mean square of the points.
    """
    steepest = 1.5 * difference  # the largest speed of a smooth step is 1.5, and its acceleration four times as large

    def measure(motion: np.ndarray, order: int) -> float:
        means = np.sqrt((_find_lengths(motion, order) ** 2).mean(axis=1))
        return float(np.percentile(means, PERCENTILE))

    speed, acceleration = (
        max((measure(motion, order) for motion in own if len(motion) > order), default=0.0) for order in (1, 2)
    )
    least = 1e-12 + 1e-6 * difference
    return max(steepest / max(speed, least), np.sqrt(steepest / max(acceleration, least)))


def measure_seam(points: np.ndarray, blended: tuple[int, int], own: Sequence[np.ndarray]) -> Smoothness:
    """Compare the frames around a seam of the result, points (F, N, 3), with the whole joined motions, (F, N, 3) each.

    `blended` are the first and last blended frame.
    """
    frames = points[max(0, blended[0] - 2) : blended[1] + 3]
    ratios = []
    for order in (1, 2, 3):
        lengths = [_find_lengths(motion, order) for motion in own if len(motion) > order]
        if not lengths or len(frames) <= order:
            ratios.append(np.zeros((1, points.shape[1])))
            continue
        known = np.max([np.percentile(each, PERCENTILE, axis=0) for each in lengths], axis=0)
        # Points that hardly move are compared with the others.
        known = np.maximum(known, 0.1 * np.percentile(np.concatenate(lengths), PERCENTILE))
        ratios.append(_find_lengths(frames, order) / np.maximum(known, 1e-12))
    speed, acceleration, jump = ratios
    inside = np.mean(np.concatenate([speed, acceleration]) <= 1.0)
    return Smoothness(float(speed.max()), float(acceleration.max()), float(inside), float(jump.max()))


def _find_lengths(points: np.ndarray, order: int) -> np.ndarray:
    """Lengths of the finite differences of an order, shape (F - order, N)."""
    return np.linalg.norm(np.diff(points, order, axis=0), axis=2)
