"""Bend legs so that feet reach targets, by rotations of hip and knee in closed form."""

from __future__ import annotations

import numpy as np

from ..algebra.rotations import matrices_from_vectors

SMALL = 1e-9


def bend_legs(
    hips: np.ndarray, knees: np.ndarray, ankles: np.ndarray, targets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Find the rotations at hip and knee that bring ankles to targets, positions (F, 3): matrices (F, 3, 3) each.

    The knee, which is rotated first, stays in the plane of the leg. A leg that is too short approaches the target.
    """
    upper, lower = (np.linalg.norm(part, axis=1) for part in (knees - hips, ankles - knees))
    before = np.linalg.norm(ankles - hips, axis=1)
    wanted = np.linalg.norm(targets - hips, axis=1)
    longest = np.maximum(0.9995 * (upper + lower), before)  # a straight knee would snap
    wanted = np.clip(wanted, np.abs(upper - lower) + SMALL, longest)
    axes = np.cross(knees - hips, ankles - knees)
    lengths = np.linalg.norm(axes, axis=1, keepdims=True)
    up = np.array([0.0, 0.0, 1.0])
    across = np.cross(ankles - hips, np.roll(ankles - hips, 1, axis=1) + up)  # any axis, for a straight leg
    axes = np.where(lengths > SMALL, axes, across)
    axes = axes / np.maximum(np.linalg.norm(axes, axis=1, keepdims=True), SMALL)
    angle = _find_bend(upper, lower, wanted) - _find_bend(upper, lower, before)
    at_knee = matrices_from_vectors(angle[:, None] * axes)
    moved = knees + np.matmul(at_knee, (ankles - knees)[..., None])[..., 0]
    return find_arcs(moved - hips, targets - hips), at_knee


def _find_bend(upper: np.ndarray, lower: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Angle at the knee for distances from hip to ankle, shape (F,), in radians, 0 for a straight leg."""
    cosine = (distances**2 - upper**2 - lower**2) / np.maximum(2.0 * upper * lower, SMALL)
    return np.arccos(np.clip(cosine, -1.0, 1.0))


def find_arcs(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Smallest rotations between the directions of vectors, shape (F, 3): matrices, shape (F, 3, 3)."""
    one, two = (part / np.maximum(np.linalg.norm(part, axis=1, keepdims=True), SMALL) for part in (first, second))
    axes = np.cross(one, two)
    sines = np.linalg.norm(axes, axis=1, keepdims=True)
    angles = np.arctan2(sines, (one * two).sum(axis=1, keepdims=True))
    return matrices_from_vectors(axes * np.where(sines > SMALL, angles / np.maximum(sines, SMALL), 1.0))
