"""Angles of joints from rest, in radians, and values driven by them."""

from __future__ import annotations

import numpy as np

# Cosine of half of 165 degrees: from there on, ramps fall to 0 at 180, beyond which a quaternion changes its sign
FADE_COSINE = float(np.cos(np.radians(82.5)))


def split_swing_twist(rotations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split rotations of bones into a twist about the bone, axis Y, and the swing after it.

    `rotations`, array, shape (..., 4): unit quaternions (w, x, y, z): the bone's rotation relative to its rest and its
    parent.

    Returns
    -------
    swings : float64 array, shape (..., 3)
        (w, x, z) of the swing's quaternion, w not negative; its y is 0. They only jump if the bone points back along
        itself.
    twists : float64 array, shape (...)
        Radians, from -pi to pi.

    Notes
    -----
    q = swing * twist, as Blender's driver variables split it in mode "Swing and Y Twist".
    """
    rotations = np.asarray(rotations, np.float64)
    w, x, y, z = np.moveaxis(np.where(rotations[..., :1] < 0.0, -rotations, rotations), -1, 0)
    half = np.arctan2(y, w)
    cos, sin = np.cos(half), np.sin(half)
    return np.stack([np.hypot(w, y), x * cos + z * sin, z * cos - x * sin], axis=-1), 2.0 * half


def measure_joint_angles(rotations: np.ndarray) -> np.ndarray:
    """Measure joints' rotations about their bones' axes: the twist about Y, and the two parts of the swing.

    `rotations`, array, shape (..., 4): as for `split_swing_twist`. Returns a float64 array, shape (..., 3): about X, Y
    and Z, radians, from -pi to pi. Each is the whole angle if the others are zero; none jumps as long as neither swing
    nor twist reaches pi. The parts of the swing are 2 asin of its vector's.
    """
    swings, twists = split_swing_twist(rotations)
    x, z = 2.0 * np.arcsin(np.clip(np.moveaxis(swings[..., 1:], -1, 0), -1.0, 1.0))
    return np.stack([x, twists, z], axis=-1)


def evaluate_hat(angles: np.ndarray, hat: tuple[float | None, float, float | None]) -> np.ndarray:
    """Values that rise from 0 at an angle to 1 at the next and fall to 0 at a third: float array, (F,).

    Parameters
    ----------
    angles : float array, shape (F,)
    hat : (float or None, float, float or None)
        The three, ascending; None for no rise, or no fall.
    """
    begin, top, end = hat
    values = np.ones_like(angles) if begin is None else (angles - begin) / max(top - begin, 1e-9)
    if end is not None:
        values = np.minimum(values, (end - angles) / max(end - top, 1e-9))
    return np.clip(values, 0.0, 1.0)


def evaluate_ramps(rotations: np.ndarray, ramps: np.ndarray) -> np.ndarray:
    """Values that rise with a rotation from 0 at rest: float64 array, shape (F, C).

    Parameters
    ----------
    rotations : float array, shape (F, 4)
        As for `split_swing_twist`.
    ramps : float array, shape (C, 4)
        A threshold t, not negative, and factors n of x, y and z for each.

    Notes
    -----
    max(0, min(n . (x, y, z) - t, w (|n| - t) / FADE_COSINE)), w not negative.
    """
    rotations, ramps = np.asarray(rotations, np.float64), np.asarray(ramps, np.float64)
    rotations = np.where(rotations[:, :1] < 0.0, -rotations, rotations)
    heights = rotations[:, 1:] @ ramps[:, 1:].T - ramps[:, 0]
    return np.maximum(np.minimum(heights, rotations[:, :1] * find_fades(ramps)), 0.0)


def find_fades(ramps: np.ndarray) -> np.ndarray:
    """Factors of w, (C,), by which `evaluate_ramps` falls to 0 at 180 degrees; `ramps` has the shape (C, 4)."""
    return (np.linalg.norm(ramps[:, 1:], axis=1) - ramps[:, 0]) / FADE_COSINE
