"""What brings corrections in: rotations of bones in, values of their shape keys out, as drivers give them.

A value is 1 at its own pose and 0 at rest and at the poses of the others, and never jumps: neither where a bone turns
past 180 degrees nor by the sign of a quaternion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError
from ..rig.joint_angles import evaluate_hat, split_swing_twist

LEAST_ANGLE = np.radians(2.0)
"""By which poses are apart from rest and from one another at least."""

CLEAR_ANGLE = np.radians(5.0)
"""The same along one angle that nobody has asked for."""

LARGEST_ANGLE = np.radians(176.0)
"""Up to which an angle is read: at 180 degrees nothing tells one side from the other."""

FADE = np.radians(150.0)
"""From which angle on values fade toward 180 degrees, where that is beyond all poses."""

ASIDE, ASIDE_OF_ONE = np.radians(15.0), 0.5
"""What may be left of rotations that one angle stands for: of several poses, and of a single one in parts of it."""

FLAT = 1e-3
"""Values so near to 0 or 1 are 0 or 1: rounding does not show at the poses."""

SLIGHT = 0.02
"""The same of radial basis functions, whose values are small over wide ranges: each key that is not 0 takes time."""

SPREAD = 6.0
"""Width of radial basis functions in distances of the nearest two poses, at most: beyond, rounding would show."""

MOST_BONES = 3
"""Whose rotations fit into a driver's expression."""

MOST_TERMS, MOST_GAIN = 3, 4.0
"""Directions that the value of one correction may be read from, for a driver's expression to hold them, and how much
each may count: beyond, poses are too alike in their directions to be told apart by them."""

LABELS = {"ANGLE": "Angle", "DIRECTIONS": "Directions", "SWING": "Swing", "RBF": "Swing and Twist"}


@dataclass(frozen=True, eq=False)
class AngleReader:
    """One angle of one bone: each correction counts between the angles next to its own, the outermost on to the end.

    Attributes
    ----------
    axis : float array, shape (3,)
        Of the bone: (x, 0, z) that it swings about, or (0, 1, 0) for its twist.
    hats : tuple of (float or None, float, float or None)
        Of `evaluate_hat`, one for each correction, radians.
    swing_fade, twist_fade : float
        Swing from which on values fade, to 0 at pi; the same of the twist, where that is read.
    """

    axis: np.ndarray
    hats: tuple[tuple[float | None, float, float | None], ...]
    swing_fade: float
    twist_fade: float

    @property
    def is_twist(self) -> bool:
        """Whether the twist is read, not the swing."""
        return self.axis[1] == 1.0

    def read(self, rotations: np.ndarray) -> np.ndarray:
        """Values of the corrections.

        Parameters
        ----------
        rotations : float array, shape (F, 1, 4)
            Unit quaternions (w, x, y, z) of the bone against its rest and its parent.

        Returns
        -------
        float64 array, shape (F, K)
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
    """Radial basis functions around poses of bones, of which rest is the first.

    Attributes
    ----------
    poses : float array, shape (K + 1, J, 4) or (K + 1, J, 3)
        Unit quaternions (w, x, y, z), or directions of the bones where their twist does not count.
    width : float
        Of the functions, radians.
    gains : float array, shape (K, K + 1)
        By which the functions add up to each correction.
    offset : float
        Taken off them.
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
        """Values of the corrections.

        Parameters
        ----------
        rotations : float array, shape (F, J, 4)
            Unit quaternions (w, x, y, z) of the bones against their rest and their parents.

        Returns
        -------
        float64 array, shape (F, K)
        """
        seen = find_directions(rotations) if self.is_swing else np.asarray(rotations, np.float64)
        functions = np.exp(_measure_squares(seen, self.poses) / (-2.0 * self.width**2))
        strengths = np.maximum(functions @ self.gains.T - self.offset, 0.0)
        return strengths / np.maximum(strengths.sum(axis=1, keepdims=True), 1.0)


@dataclass(frozen=True, eq=False)
class DirectionReader:
    """How far a bone swings toward each of several directions: corrections of two of them add up between these.

    Attributes
    ----------
    ramps : float array, shape (K, 2)
        By which x and z of the swing's quaternion rise from 0 to 1, each toward its own direction.
    gains : float array, shape (K, K)
        By which ramps, kept between 0 and 1, add up to each correction.
    fade : float
        Swing from which on values fade, to 0 at pi.
    """

    ramps: np.ndarray
    gains: np.ndarray
    fade: float

    def read(self, rotations: np.ndarray) -> np.ndarray:
        """Values of the corrections, shape (F, K), at rotations of the bone, (F, 1, 4): see `AngleReader.read`."""
        swings, _ = split_swing_twist(rotations[:, 0])
        values = np.clip(swings[:, 1:] @ self.ramps.T, 0.0, 1.0) @ self.gains.T
        values = np.clip((values - FLAT) / (1.0 - 2.0 * FLAT), 0.0, 1.0)
        return values * _fade(_whole(swings), self.fade)[:, None]


Reader = AngleReader | DirectionReader | RadialReader


def find_reader(rotations: np.ndarray, asked: Sequence[str], names: Sequence[str] = ()) -> Reader:
    """Find what brings corrections in at their poses.

    Parameters
    ----------
    rotations : float array, shape (K, J, 4)
        Quaternions (w, x, y, z) of J bones against their rest and their parents, in the poses of K corrections.
    asked : sequence of str
        Of each: "ANGLE", "DIRECTIONS", "SWING", "RBF", or "AUTO" for one angle while that tells the poses apart, else
        "RBF". "DIRECTIONS" of poses that these do not tell apart is "RBF", too.
    names : sequence of str
        Of the corrections, for messages.

    Returns
    -------
    AngleReader, DirectionReader or RadialReader

    Raises
    ------
    SkinningError
        Where a pose is at rest, two of them are the same to this reader, or there are too many bones.
    """
    rotations = np.asarray(rotations, np.float64)
    rotations = rotations / np.linalg.norm(rotations, axis=2, keepdims=True)
    names = names or [str(number + 1) for number in range(len(rotations))]
    bones = rotations.shape[1]
    if bones > MOST_BONES:
        raise SkinningError(f"A correction follows at most {MOST_BONES} bones, not {bones}: choose fewer")
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
    """The axis (3,) that rotations (K, 4) turn about most, and what is left of each without it, radians (K,)."""
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
    """Whether the angle about an axis stands for whole rotations (K, 4), of which so much (K,) is left without it."""
    swings, twists = split_swing_twist(rotations)
    angles = np.concatenate([[0.0], _measure_along(axis, swings, twists)])
    limit = ASIDE_OF_ONE * np.abs(angles).max() if len(rotations) == 1 else ASIDE
    largest = max(np.abs(angles).max(), _whole(swings).max())
    return bool(np.diff(np.sort(angles)).min() >= CLEAR_ANGLE and aside.max() <= limit and largest <= LARGEST_ANGLE)


def _read_angle(rotations: np.ndarray, axis: np.ndarray, names: Sequence[str]) -> AngleReader:
    swings, twists = split_swing_twist(rotations)
    angles = np.concatenate([[0.0], _measure_along(axis, swings, twists)])
    _check_apart(np.abs(angles[:, None] - angles), "ANGLE", names)
    largest = _whole(swings).max(), np.abs(twists).max() if axis[1] else 0.0
    if max(largest) > LARGEST_ANGLE:
        raise SkinningError(
            f"Angles can be read up to {np.degrees(LARGEST_ANGLE):.0f} degrees: rotate less, or choose "
            f"'{LABELS['RBF']}'"
        )
    order = np.argsort(angles)
    ends = [None, *angles[order].tolist(), None]
    hats = {int(number): (ends[place], ends[place + 1], ends[place + 2]) for place, number in enumerate(order)}
    fades = (max(FADE, 0.5 * (angle + np.pi)) for angle in largest)
    return AngleReader(axis, tuple(hats[number] for number in range(1, len(angles))), *fades)


def _read_directions(rotations: np.ndarray) -> DirectionReader | None:
    """A reader of rotations (K, 4) by their directions; None where these do not tell them apart, or from rest."""
    swings, _ = split_swing_twist(rotations)
    sizes = np.linalg.norm(swings[:, 1:], axis=1, keepdims=True)
    if sizes.min() < np.sin(0.5 * LEAST_ANGLE) or _whole(swings).max() > LARGEST_ANGLE:
        return None
    ramps = swings[:, 1:] / np.square(sizes)
    seen = np.clip(swings[:, 1:] @ ramps.T, 0.0, 1.0)
    if np.linalg.matrix_rank(seen, FLAT) < len(seen):
        return None
    gains = np.linalg.inv(seen).T
    gains[np.abs(gains) < FLAT] = 0.0
    if (gains != 0.0).sum(axis=1).max() > MOST_TERMS or np.abs(gains).max() > MOST_GAIN:
        return None
    return DirectionReader(ramps, gains, max(FADE, 0.5 * (float(_whole(swings).max()) + np.pi)))


def _read_radially(rotations: np.ndarray, kind: str, names: Sequence[str]) -> RadialReader:
    rest = np.broadcast_to([1.0, 0.0, 0.0, 0.0], (1, *rotations.shape[1:]))
    poses = np.concatenate([rest, rotations])
    if kind == "SWING":
        poses = find_directions(poses)
    squares = np.maximum(_measure_squares(poses, poses), 0.0)
    distances = np.sqrt(squares)
    _check_apart(distances, kind, names)
    nearest = (distances + np.diag(np.full(len(poses), np.inf))).min(axis=1)
    width = min(nearest.mean(), SPREAD * nearest.min())
    gains = np.linalg.inv(np.exp(squares / (-2.0 * width**2)))[1:]
    return RadialReader(poses, float(width), gains / (1.0 - 2.0 * SLIGHT), SLIGHT / (1.0 - 2.0 * SLIGHT))


def _check_apart(distances: np.ndarray, kind: str, names: Sequence[str]) -> None:
    """Raise SkinningError where poses are too near to one another, by their distances (K + 1, K + 1), rest first."""
    near = distances + np.diag(np.full(len(distances), np.inf)) < LEAST_ANGLE
    if not near.any():
        return
    degrees, label = f"{np.degrees(LEAST_ANGLE):.0f}", LABELS[kind]
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
    """Where rotations bring a bone's own direction, axis Y.

    Parameters
    ----------
    rotations : float array, shape (..., 4)
        Unit quaternions (w, x, y, z).

    Returns
    -------
    float64 array, shape (..., 3)
    """
    w, x, y, z = np.moveaxis(np.asarray(rotations, np.float64), -1, 0)
    return np.stack([2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)], axis=-1)


def _measure_squares(seen: np.ndarray, poses: np.ndarray) -> np.ndarray:
    """Squared distances (F, K) of quaternions or directions (F, J, n) to poses (K, J, n), added over the bones.

    For small ones, the squared angle between the two. Smooth, and the same for a quaternion and its negative.
    """
    products = np.einsum("fji,kji->fkj", seen, poses)
    return 2.0 * (1.0 - products).sum(axis=2) if poses.shape[2] == 3 else 4.0 * (1.0 - products**2).sum(axis=2)


def _measure_along(axis: np.ndarray, swings: np.ndarray, twists: np.ndarray) -> np.ndarray:
    """Angles (F,) about an axis of `AngleReader`, of what `split_swing_twist` gives."""
    return twists if axis[1] else 2.0 * np.arcsin(np.clip(swings[:, 1:] @ axis[[0, 2]], -1.0, 1.0))


def _whole(swings: np.ndarray) -> np.ndarray:
    """Whole angles (F,) of swings (F, 3), radians."""
    return 2.0 * np.arctan2(np.hypot(swings[:, 1], swings[:, 2]), swings[:, 0])


def _fade(angles: np.ndarray, start: float) -> np.ndarray:
    return np.clip((np.pi - angles) / (np.pi - start), 0.0, 1.0)
