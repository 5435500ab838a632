"""Legs bent so that feet are where they shall be: rotations of hip and knee, worked out at once."""

from __future__ import annotations

import numpy as np

from .rotations import from_vectors, to_matrices

LONGEST = 0.9995
"""Part of a leg's whole length up to which it is stretched: a straight knee would snap."""

SMALL = 1e-9

ASIDE = np.array([0.0, 0.0, 1.0])
"""Added to find some direction across a straight leg."""


def bend_legs(
    hips: np.ndarray, knees: np.ndarray, ankles: np.ndarray, targets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rotations that bring ankles to targets: that at the hip, then that at the knee.

    The knee bends in the plane in which it is bent. A target that is farther than the leg is long is approached.

    Parameters
    ----------
    hips, knees, ankles, targets : float arrays, shape (F, 3)

    Returns
    -------
    tuple of float arrays, shape (F, 3, 3)
        At the hip, of the whole leg; and at the knee, of what is below it, before the hip's.
    """
    upper, lower = (np.linalg.norm(part, axis=1) for part in (knees - hips, ankles - knees))
    before = np.linalg.norm(ankles - hips, axis=1)
    wanted = np.linalg.norm(targets - hips, axis=1)
    longest = np.maximum(LONGEST * (upper + lower), before)
    wanted = np.clip(wanted, np.abs(upper - lower) + SMALL, longest)
    axes = np.cross(knees - hips, ankles - knees)
    lengths = np.linalg.norm(axes, axis=1, keepdims=True)
    across = np.cross(ankles - hips, np.roll(ankles - hips, 1, axis=1) + ASIDE)
    axes = np.where(lengths > SMALL, axes, across)
    axes = axes / np.maximum(np.linalg.norm(axes, axis=1, keepdims=True), SMALL)
    angle = _find_bend(upper, lower, wanted) - _find_bend(upper, lower, before)
    at_knee = to_matrices(from_vectors(angle[:, None] * axes))
    moved = knees + np.matmul(at_knee, (ankles - knees)[..., None])[..., 0]
    return find_arcs(moved - hips, targets - hips), at_knee


def _find_bend(upper: np.ndarray, lower: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Angle by which a leg is bent, radians, 0 where it is straight, for distances from hip to ankle, shape (F,)."""
    cosine = (distances**2 - upper**2 - lower**2) / np.maximum(2.0 * upper * lower, SMALL)
    return np.arccos(np.clip(cosine, -1.0, 1.0))


def find_arcs(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The shortest rotations from directions to others: vectors, shape (F, 3), to matrices, shape (F, 3, 3)."""
    one, two = (part / np.maximum(np.linalg.norm(part, axis=1, keepdims=True), SMALL) for part in (first, second))
    axes = np.cross(one, two)
    sines = np.linalg.norm(axes, axis=1, keepdims=True)
    angles = np.arctan2(sines, (one * two).sum(axis=1, keepdims=True))
    return to_matrices(from_vectors(axes * np.where(sines > SMALL, angles / np.maximum(sines, SMALL), 1.0)))
