"""Readers compute values of shape keys from rotations of bones, as their drivers do.

The value of a correction is 1 at its own pose, 0 at rest and at the poses of the others. It never jumps, neither at
180 degrees nor with the sign of a quaternion. Ramps alone have no poses: their values add up, whatever the others are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError
from ..rig.joint_angles import evaluate_hat, evaluate_ramps, split_swing_twist

# Poses must be at least this far from rest and from one another.
MIN_ANGLE = np.radians(2.0)

# At 180 degrees, nothing tells one side from the other.
MAX_ANGLE = np.radians(176.0)

# From this angle on, values fade toward 180 degrees, unless a pose is beyond it.
FADE_START = np.radians(150.0)

# Values this near to 0 or 1 become 0 or 1, so that rounding does not show at the poses.
FLAT = 1e-3

# The same for radial basis functions. They are small over wide ranges, and a key that is not 0 takes time.
RADIAL_FLAT = 0.02

# Of ramps, so that they begin without a kink
RAMP_POWER = 1.25

# More rotations do not fit into the expression of a driver.
MAX_BONES = 3

LABELS = {"ANGLE": "Angle", "DIRECTIONS": "Directions", "SWING": "Swing", "RBF": "Swing and Twist"}


@dataclass(frozen=True, eq=False)
class AngleReader:
    """Reads one angle of a bone. Each value falls to 0 at the neighboring angles, and the outermost ones stay 1 beyond.

    Attributes
    ----------
    axis : float array, shape (3,)
        (x, 0, z) for a swing about this axis of the bone, or (0, 1, 0) for its twist.
    hats : tuple of (float or None, float, float or None)
        For `evaluate_hat`, one for each correction, in radians.
    swing_fade, twist_fade : float
        Angles above which values fade, to 0 at pi. `twist_fade` is only for a reader of the twist.
    """

    axis: np.ndarray
    hats: tuple[tuple[float | None, float, float | None], ...]
    swing_fade: float
    twist_fade: float

    @property
    def is_twist(self) -> bool:
        """Whether the twist is read, rather than the swing."""
        return self.axis[1] == 1.0

    def read(self, rotations: np.ndarray) -> np.ndarray:
        """Values of the corrections, float64, shape (F, K).

        `rotations` are unit quaternions (w, x, y, z), shape (F, 1, 4), of the bone relative to its rest and its parent.
        """
        swings, twists = split_swing_twist(rotations[:, 0])
        shares = _fade(_whole(swings), self.swing_fade)
        if self.is_twist:
            shares = shares * _fade(np.abs(twists), self.twist_fade)
        angles = _measure_along(self.axis, swings, twists)
        values = np.stack([evaluate_hat(angles, hat) for hat in self.hats], axis=1)
        return np.clip((values - FLAT) / (1.0 - 2.0 * FLAT), 0.0, 1.0) * shares[:, None]


@dataclass(frozen=True, eq=False)
class RadialReader:
    """Radial basis functions around poses of bones. The first pose is rest.

    Attributes
    ----------
    poses : float array, shape (K + 1, J, 4) or (K + 1, J, 3)
        Unit quaternions (w, x, y, z), or directions of the bones if their twist does not count.
    width : float
        Width of the functions, in radians.
    gains : float array, shape (K, K + 1)
        Factors of the functions for each correction.
    offset : float
        Subtracted from the sum.
    """

    poses: np.ndarray
    width: float
    gains: np.ndarray
    offset: float

    @property
    def is_swing(self) -> bool:
        """Whether twist does not count."""
        return self.poses.shape[2] == 3

    def read(self, rotations: np.ndarray) -> np.ndarray:
        """Values of the corrections, (F, K), at rotations of the bones, (F, J, 4): see `AngleReader.read`."""
        seen = find_directions(rotations) if self.is_swing else np.asarray(rotations, np.float64)
        functions = np.exp(_measure_squares(seen, self.poses) / (-2.0 * self.width**2))
        strengths = np.maximum(functions @ self.gains.T - self.offset, 0.0)
        return strengths / np.maximum(strengths.sum(axis=1, keepdims=True), 1.0)


@dataclass(frozen=True, eq=False)
class DirectionReader:
    """Reads how far a bone swings toward each of several directions. Corrections of two directions add up between them.

    Attributes
    ----------
    ramps : float array, shape (K, 2)
        Factors of x and z of the swing's quaternion: their sum rises from 0 to 1 toward each direction.
    gains : float array, shape (K, K)
        Factors of the ramps, clipped to 0 and 1, for each correction.
    fade : float
        Swing above which values fade, to 0 at pi.
    """

    ramps: np.ndarray
    gains: np.ndarray
    fade: float

    def read(self, rotations: np.ndarray) -> np.ndarray:
        """Values of the corrections, (F, K), at rotations of the bone, (F, 1, 4): see `AngleReader.read`."""
        swings, _ = split_swing_twist(rotations[:, 0])
        values = np.clip(swings[:, 1:] @ self.ramps.T, 0.0, 1.0) @ self.gains.T
        values = np.clip((values - FLAT) / (1.0 - 2.0 * FLAT), 0.0, 1.0)
        return values * _fade(_whole(swings), self.fade)[:, None]


@dataclass(frozen=True, eq=False)
class RampReader:
    """Reads how far bones turn beyond thresholds. Each value is a product over the bones, and none depends on others.

    Attributes
    ----------
    ramps : float array, shape (K, J, 4)
        Of each correction and bone, for `evaluate_ramps`.
    """

    ramps: np.ndarray

    def read(self, rotations: np.ndarray) -> np.ndarray:
        """Values of the corrections, (F, K), at rotations of the bones, (F, J, 4): see `AngleReader.read`."""
        rises = [evaluate_ramps(rotations[:, bone], self.ramps[:, bone]) for bone in range(self.ramps.shape[1])]
        return np.clip(np.prod(rises, axis=0), 0.0, 1.0) ** RAMP_POWER


Reader = AngleReader | DirectionReader | RadialReader | RampReader


def find_reader(rotations: np.ndarray, asked: Sequence[str], names: Sequence[str] = ()) -> Reader:
    """Find a reader for corrections.

    Parameters
    ----------
    rotations : float array, shape (K, J, 4)
        Quaternions (w, x, y, z) of J bones relative to their rest and their parents, in the poses of K corrections.
    asked : sequence of str
        Wish for each correction: "ANGLE", "DIRECTIONS", "SWING", "RBF" or "AUTO". "AUTO" is one angle if that tells
        the poses apart, otherwise "RBF". "DIRECTIONS" also becomes "RBF" if directions do not tell the poses apart.
    names : sequence of str
        Names of the corrections, for messages.

    Raises
    ------
    SkinningError
        If a pose is at rest, two poses are the same to the reader, or there are too many bones.
    """
    rotations = np.asarray(rotations, np.float64)
    rotations = rotations / np.linalg.norm(rotations, axis=2, keepdims=True)
    names = names or [str(number + 1) for number in range(len(rotations))]
    bones = rotations.shape[1]
    if bones > MAX_BONES:
        raise SkinningError(f"A correction follows at most {MAX_BONES} bones, not {bones}: choose fewer")
    kind = next((kind for kind in ("RBF", "SWING", "DIRECTIONS", "ANGLE") if kind in asked), "AUTO")
    if kind == "ANGLE" and bones > 1:
        raise SkinningError(f"An angle belongs to one bone, not to {bones}: choose one bone, or '{LABELS['RBF']}'")
    if bones == 1 and kind in ("AUTO", "ANGLE"):
        axis, aside = _find_axis(rotations[:, 0])
        if kind == "ANGLE" or _is_enough(rotations[:, 0], axis, aside):
            return _read_angle(rotations[:, 0], axis, names)
    if bones == 1 and kind == "DIRECTIONS":
        reader = _read_directions(rotations[:, 0])
        if reader is not None:
            return reader
    return _read_radially(rotations, "SWING" if kind == "SWING" else "RBF", names)


def _find_axis(rotations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the main axis (3,) of rotations (K, 4), and the angle of each that is not about it, radians (K,)."""
    swings, twists = split_swing_twist(rotations)
    if np.abs(twists).sum() > _whole(swings).sum():
        return np.array([0.0, 1.0, 0.0]), _whole(swings)
    directions = swings[:, 1:]
    x, z = np.linalg.eigh(directions.T @ directions)[1][:, -1]
    if (directions @ (x, z)).sum() < 0.0:
        x, z = -x, -z
    axis = np.array([x, 0.0, z])
    halves = 0.5 * _measure_along(axis, swings, twists)
    along = np.cos(halves) * rotations[:, 0] + np.sin(halves) * (rotations[:, 1:] @ axis)
    return axis, 2.0 * np.arccos(np.clip(np.abs(along), 0.0, 1.0))


def _is_enough(rotations: np.ndarray, axis: np.ndarray, aside: np.ndarray) -> bool:
    """Whether the angle about an axis is enough to tell rotations (K, 4) apart, with `aside` (K,) not about it."""
    min_apart, max_aside = np.radians(5.0), np.radians(15.0)
    swings, twists = split_swing_twist(rotations)
    angles = np.concatenate([[0.0], _measure_along(axis, swings, twists)])
    limit = 0.5 * np.abs(angles).max() if len(rotations) == 1 else max_aside
    largest = max(np.abs(angles).max(), _whole(swings).max())
    return bool(np.diff(np.sort(angles)).min() >= min_apart and aside.max() <= limit and largest <= MAX_ANGLE)


def _read_angle(rotations: np.ndarray, axis: np.ndarray, names: Sequence[str]) -> AngleReader:
    swings, twists = split_swing_twist(rotations)
    angles = np.concatenate([[0.0], _measure_along(axis, swings, twists)])
    _check_apart(np.abs(angles[:, None] - angles), "ANGLE", names)
    largest = _whole(swings).max(), np.abs(twists).max() if axis[1] else 0.0
    if max(largest) > MAX_ANGLE:
        raise SkinningError(
            f"Angles can be read up to {np.degrees(MAX_ANGLE):.0f} degrees: rotate less, or choose '{LABELS['RBF']}'"
        )
    order = np.argsort(angles)
    ends = [None, *angles[order].tolist(), None]
    hats = {int(number): (ends[place], ends[place + 1], ends[place + 2]) for place, number in enumerate(order)}
    fades = (max(FADE_START, 0.5 * (angle + np.pi)) for angle in largest)
    return AngleReader(axis, tuple(hats[number] for number in range(1, len(angles))), *fades)


def _read_directions(rotations: np.ndarray) -> DirectionReader | None:
    """A reader of directions, or None if they do not tell rotations (K, 4) from one another and from rest."""
    max_terms, max_gain = 3, 4.0  # to fit into a driver's expression; beyond, poses are too alike in their directions
    swings, _ = split_swing_twist(rotations)
    sizes = np.linalg.norm(swings[:, 1:], axis=1, keepdims=True)
    if sizes.min() < np.sin(0.5 * MIN_ANGLE) or _whole(swings).max() > MAX_ANGLE:
        return None
    ramps = swings[:, 1:] / np.square(sizes)
    seen = np.clip(swings[:, 1:] @ ramps.T, 0.0, 1.0)
    if np.linalg.matrix_rank(seen, FLAT) < len(seen):
        return None
    gains = np.linalg.inv(seen).T
    gains[np.abs(gains) < FLAT] = 0.0
    if (gains != 0.0).sum(axis=1).max() > max_terms or np.abs(gains).max() > max_gain:
        return None
    return DirectionReader(ramps, gains, max(FADE_START, 0.5 * (float(_whole(swings).max()) + np.pi)))


def _read_radially(rotations: np.ndarray, kind: str, names: Sequence[str]) -> RadialReader:
    rest = np.broadcast_to([1.0, 0.0, 0.0, 0.0], (1, *rotations.shape[1:]))
    poses = np.concatenate([rest, rotations])
    if kind == "SWING":
        poses = find_directions(poses)
    squares = np.maximum(_measure_squares(poses, poses), 0.0)
    distances = np.sqrt(squares)
    _check_apart(distances, kind, names)
    nearest = (distances + np.diag(np.full(len(poses), np.inf))).min(axis=1)
    width = min(nearest.mean(), 6.0 * nearest.min())  # wider functions would make rounding visible
    gains = np.linalg.inv(np.exp(squares / (-2.0 * width**2)))[1:]
    return RadialReader(poses, float(width), gains / (1.0 - 2.0 * RADIAL_FLAT), RADIAL_FLAT / (1.0 - 2.0 * RADIAL_FLAT))


def _check_apart(distances: np.ndarray, kind: str, names: Sequence[str]) -> None:
    """Raise a SkinningError if poses are too near to one another, by their distances (K + 1, K + 1), rest first."""
    near = distances + np.diag(np.full(len(distances), np.inf)) < MIN_ANGLE
    if not near.any():
        return
    degrees, label = f"{np.degrees(MIN_ANGLE):.0f}", LABELS[kind]
    first, second = np.argwhere(near)[0].tolist()
    if first == 0:
        raise SkinningError(
            f"With '{label}', the pose of {names[second - 1]} is less than {degrees} degrees from rest: rotate the "
            "bone farther, or choose another driver"
        )
    raise SkinningError(
        f"With '{label}', the poses of {names[first - 1]} and {names[second - 1]} are less than {degrees} degrees "
        "apart: edit the existing correction, or rotate the bone farther"
    )


def find_directions(rotations: np.ndarray) -> np.ndarray:
    """Rotate a bone's direction, its Y axis, by unit quaternions (w, x, y, z), shape (..., 4): float64, (..., 3)."""
    w, x, y, z = np.moveaxis(np.asarray(rotations, np.float64), -1, 0)
    return np.stack([2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)], axis=-1)


def _measure_squares(seen: np.ndarray, poses: np.ndarray) -> np.ndarray:
    """Squared distances (F, K) of quaternions or directions (F, J, n) to poses (K, J, n), added over the bones.

    Smooth, equal to the squared angle if that is small, and equal for a quaternion and its negative.
    """
    products = np.einsum("fji,kji->fkj", seen, poses)
    return 2.0 * (1.0 - products).sum(axis=2) if poses.shape[2] == 3 else 4.0 * (1.0 - products**2).sum(axis=2)


def _measure_along(axis: np.ndarray, swings: np.ndarray, twists: np.ndarray) -> np.ndarray:
    """Angles (F,) about an axis of `AngleReader`, from the results of `split_swing_twist`."""
    return twists if axis[1] else 2.0 * np.arcsin(np.clip(swings[:, 1:] @ axis[[0, 2]], -1.0, 1.0))


def _whole(swings: np.ndarray) -> np.ndarray:
    """Whole angles (F,) of swings (F, 3), radians."""
    return 2.0 * np.arctan2(np.hypot(swings[:, 1], swings[:, 2]), swings[:, 0])


def _fade(angles: np.ndarray, start: float) -> np.ndarray:
    return np.clip((np.pi - angles) / (np.pi - start), 0.0, 1.0)
