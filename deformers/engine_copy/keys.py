"""Corrective keys: what bones leave over, as offsets at rest that follow one angle of a joint."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..algebra.small_inverses import invert_definite, invert_three
from ..rig.joint_angles import evaluate_hat
from .model import Key
from .patch import Patch

AUTOMATIC = 24
"""Most keys where nobody says how many."""

LEAST_ANGLE = np.radians(10.0)
"""From which on a joint's turn may drive a key, and by which keys of one axis are apart at least."""

ONE_AXIS = 0.8
"""Cosine between two axes from which on they share their keys."""

STARTS = 0.0, 0.5
"""Where the first key of an axis may begin, in parts of its angle."""

RIDGE = 0.02
"""What offsets cost, in frames: those that few frames ask for a little are left out."""

WORTH = 0.15
"""Share of what is too much at a joint in a frame that a key must take away."""

DAMPING = 0.1
"""Of inverses, where skin collapses: directions in which it keeps less than this of its size are left as they are."""

RELEVANT = 0.3
"""Of the tolerance: from this error on, a vertex may be moved by keys."""

TRIALS = 3
"""Joints and frames that are tried, for each key."""


@dataclass(eq=False)
class Reader:
    """Keys that share an axis of a joint.

    Attributes
    ----------
    axis : float array, shape (3,)
    start : float
        Angle from which on the first one counts, radians.
    angles : list of float
        At which each is 1, ascending.
    rows : int array, shape (n,)
        The vertices that they move.
    offsets : float array, shape (K, n, 3)
    """

    joint: int
    axis: np.ndarray
    start: float
    angles: list[float]
    rows: np.ndarray
    offsets: np.ndarray = field(default_factory=lambda: np.empty((0, 0, 3), np.float32))

    def list_hats(self) -> list[tuple[float, float, float | None]]:
        """Where each key begins, is 1, and ends."""
        ends = [self.start, *self.angles, None]
        return [(ends[number], angle, ends[number + 2]) for number, angle in enumerate(self.angles)]

    def read(self, quaternions: np.ndarray) -> np.ndarray:
        """Values of the keys, shape (F, K), where all joints have these rotations, quaternions (F, B, 4)."""
        angles = read_angle(quaternions[:, self.joint], self.axis)
        return np.stack([evaluate_hat(angles, hat) for hat in self.list_hats()], axis=1)


def read_angle(quaternions: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """The angle by which rotations turn about an axis, radians, -pi to pi.

    Parameters
    ----------
    quaternions : float array, shape (F, 4)
        With w not negative.
    axis : float array, shape (3,)
    """
    return 2.0 * np.arctan2(quaternions[:, 1:] @ axis, quaternions[:, 0])


def evaluate_keys(keys: list[Key], quaternions: np.ndarray) -> np.ndarray:
    """Values of keys, shape (F, K').

    Parameters
    ----------
    quaternions : float array, shape (F, B, 4)
        Of joints against those above them, w not negative.
    """
    values = [evaluate_hat(read_angle(quaternions[:, key.joint], key.axis), key.angles) for key in keys]
    return np.stack(values, axis=1) if keys else np.empty((len(quaternions), 0))


def pull_back(patch: Patch, matrices: np.ndarray, residuals: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """What would have to be added at rest to reach the targets.

    Parameters
    ----------
    matrices : float array, shape (F, B + H, 4, 4)
    residuals : float array, shape (N, F, 3)
    rows : int array, shape (n,)
        Of the patch's vertices.

    Returns
    -------
    float32 array, shape (n, F, 3)

    Notes
    -----
    Linear blending is x = A (v + offset) + t with A the blended matrices: offset = A^-1 residual, and near singular
    ones damped, (A^T A + e^2)^-1 A^T.
    """
    linear = np.ascontiguousarray(matrices[:, :, :3, :3].transpose(1, 0, 2, 3)).astype(np.float32)
    pulled = np.empty((len(rows), len(matrices), 3), np.float32)
    for number, row in enumerate(rows):  # (F, 3, 3) a vertex: all at once would take much memory
        used = np.flatnonzero(patch.values[row])
        blended = np.tensordot(patch.values[row, used].astype(np.float32), linear[patch.bones[row, used]], axes=1)
        turned = blended.transpose(0, 2, 1)
        square = turned @ blended + DAMPING**2 * np.eye(3, dtype=np.float32)
        wanted = (turned @ residuals[row][:, :, None]) * (1.0 + DAMPING**2)
        pulled[number] = (invert_three(square) @ wanted)[:, :, 0]
    return pulled


class KeySearch:
    """Keys one after the other, each where most is too much.

    Parameters
    ----------
    rows : int array, shape (n,)
        Of its vertices, those that keys may move.
    pulled : float32 array, shape (n, F, 3)
        Of `pull_back`.
    quaternions : float array, shape (F, B, 4)
        Of joints against those above them, w not negative.
    """

    def __init__(
        self, patch: Patch, rows: np.ndarray, pulled: np.ndarray, quaternions: np.ndarray, tolerance: float
    ) -> None:
        self.left, self.quaternions, self.tolerance = pulled.copy(), quaternions, tolerance
        cuts = patch.blends.cuts[rows]
        self.rows_of = {int(joint): np.flatnonzero((cuts == joint).any(axis=1)) for joint in np.unique(cuts[cuts >= 0])}
        self.turns = 2.0 * np.arctan2(np.linalg.norm(quaternions[..., 1:], axis=2), quaternions[..., 0])
        self.readers: list[Reader] = []
        self.given_up: set[tuple[int, int]] = set()

    def find(self, most: int) -> list[Reader]:
        """Keys, at most so many, by their axes."""
        found = tries = 0
        while found < most and tries < TRIALS * most:
            tries += 1
            joint, frame, excess = self._find_worst()
            if joint < 0:
                break
            if self._add(joint, frame, excess):
                found += 1
            else:
                self.given_up.add((joint, frame))
        return self.readers

    def _measure(self, left: np.ndarray) -> np.ndarray:
        """How much is too much, shape (F,), of offsets that are missing, shape (n, F, 3)."""
        lengths = np.sqrt(np.square(left).sum(axis=2))
        return np.square(np.maximum(lengths - self.tolerance, 0.0)).sum(axis=0)

    def _find_worst(self) -> tuple[int, int, float]:
        """Joint and frame where most is too much, and how much; -1 where nothing is."""
        lengths = np.sqrt(np.square(self.left).sum(axis=2))
        squares = np.square(np.maximum(lengths - self.tolerance, 0.0))
        best = -1, -1, 0.0
        for joint, rows in self.rows_of.items():
            sums = np.where(self.turns[:, joint] > LEAST_ANGLE, squares[rows].sum(axis=0), 0.0)
            sums[[frame for other, frame in self.given_up if other == joint]] = 0.0
            if sums.max() > best[2]:
                best = joint, int(sums.argmax()), float(sums.max())
        return best

    def _add(self, joint: int, frame: int, excess: float) -> bool:
        """Add a key for what is too much at a joint in a frame; whether it is worth it."""
        vector = self.quaternions[frame, joint, 1:]
        axis = vector / np.linalg.norm(vector)
        known = [reader for reader in self.readers if reader.joint == joint and reader.axis @ axis > ONE_AXIS]
        old = max(known, key=lambda reader: float(reader.axis @ axis)) if known else None
        axis = axis if old is None else old.axis
        angle = float(read_angle(self.quaternions[[frame], joint], axis)[0])
        if old is not None:
            if min(abs(angle - other) for other in [old.start, *old.angles]) < LEAST_ANGLE:
                return False
            starts = [min(old.start, 0.5 * angle)]
        else:
            starts = [share * angle for share in STARTS]
        rows = self.rows_of[joint]
        base = self.left[rows] + (self._contribute(old) if old is not None else np.float32(0.0))
        before, best = self._measure(self.left[rows]).sum(), None
        for start in starts:
            reader = Reader(joint, axis, start, sorted([*(old.angles if old else []), angle]), rows)
            values = reader.read(self.quaternions)
            inverse = invert_definite((values.T @ values + RIDGE * np.eye(values.shape[1]))[None])[0] @ values.T
            reader.offsets = np.einsum("kf,nfi->kni", inverse.astype(np.float32), base, optimize=True)
            left = base - self._contribute(reader)
            after = self._measure(left).sum()
            if best is None or after < best[0]:
                best = after, reader, left
        if best is None or before - best[0] < WORTH * excess:
            return False
        if old is not None:
            self.readers.remove(old)
        self.readers.append(best[1])
        self.left[rows] = best[2]
        return True

    def _contribute(self, reader: Reader) -> np.ndarray:
        """What keys add at rest, shape (n, F, 3)."""
        values = reader.read(self.quaternions).astype(np.float32)
        return np.einsum("fk,kni->nfi", values, reader.offsets, optimize=True)


def fit_keys(
    patch: Patch,
    matrices: np.ndarray,
    quaternions: np.ndarray,
    members: np.ndarray,
    tolerance: float,
    most: int,
) -> list[Key]:
    """Find corrective keys for what a patch misses in the chosen frames.

    Parameters
    ----------
    matrices : float array, shape (F, B + H, 4, 4)
    quaternions : float array, shape (F, B, 4)
        Of joints against those above them, w not negative.
    members : int array, shape (V,)
        The patch's vertex that stands for each of the skin's; -1 for none.
    most : int
        Keys; negative for as many as it takes.

    Returns
    -------
    list of Key
        By joint.
    """
    residuals = patch.find_residuals(matrices)
    missing = np.sqrt(np.square(residuals).sum(axis=2)).max(axis=1, initial=0.0)
    rows = np.flatnonzero(missing > RELEVANT * tolerance)
    if most == 0 or not (missing > tolerance).any():
        return []
    pulled = pull_back(patch, matrices, residuals, rows)
    readers = KeySearch(patch, rows, pulled, quaternions, tolerance).find(AUTOMATIC if most < 0 else most)
    found, is_member = [], members >= 0
    for reader in sorted(readers, key=lambda reader: reader.joint):
        for number, hat in enumerate(reader.list_hats()):
            own = np.zeros((len(patch.points), 3), np.float32)
            own[rows[reader.rows]] = reader.offsets[number]
            offsets = np.zeros((len(members), 3), np.float32)
            offsets[is_member] = own[members[is_member]]
            found.append(Key(reader.joint, reader.axis, hat, offsets))
    return found
