"""Corrective keys: offsets at rest for the errors that bones leave, driven by one angle of a joint."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..algebra.small_inverses import invert_definite, invert_three
from ..rig.joint_angles import evaluate_hat
from .model import Key
from .patch import Patch

# A joint must rotate at least this far to drive a key, and keys of one axis are at least so far apart.
MIN_ANGLE = np.radians(10.0)


@dataclass(eq=False)
class KeyGroup:
    """Keys that share an axis of a joint.

    Attributes
    ----------
    axis : float array, shape (3,)
    start : float
        Angle at which the first key starts, radians.
    angles : list of float
        Angles at which the keys are 1, ascending.
    rows : int array, shape (n,)
        Vertices that the keys move.
    offsets : float array, shape (K, n, 3)
    """

    joint: int
    axis: np.ndarray
    start: float
    angles: list[float]
    rows: np.ndarray
    offsets: np.ndarray = field(default_factory=lambda: np.empty((0, 0, 3), np.float32))

    def list_hats(self) -> list[tuple[float, float, float | None]]:
        """Angles at which each key starts, is 1, and ends."""
        ends = [self.start, *self.angles, None]
        return [(ends[number], angle, ends[number + 2]) for number, angle in enumerate(self.angles)]

    def read(self, quaternions: np.ndarray) -> np.ndarray:
        """Values of the keys, shape (F, K), for rotations of all joints, quaternions (F, B, 4)."""
        angles = read_angle(quaternions[:, self.joint], self.axis)
        return np.stack([evaluate_hat(angles, hat) for hat in self.list_hats()], axis=1)


def read_angle(quaternions: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """Angles about an axis (3,), radians, -pi to pi, of quaternions with w not negative, shape (F, 4)."""
    return 2.0 * np.arctan2(quaternions[:, 1:] @ axis, quaternions[:, 0])


def evaluate_keys(keys: list[Key], quaternions: np.ndarray) -> np.ndarray:
    """Values of keys, (F, K'), for quaternions of joints relative to their parents, (F, B, 4), w not negative."""
    values = [evaluate_hat(read_angle(quaternions[:, key.joint], key.axis), key.angles) for key in keys]
    return np.stack(values, axis=1) if keys else np.empty((len(quaternions), 0))


def pull_back(patch: Patch, matrices: np.ndarray, residuals: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Find the offsets at rest that reach the targets, float32, shape (n, F, 3).

    Parameters
    ----------
    matrices : float array, shape (F, B + H, 4, 4)
    residuals : float array, shape (N, F, 3)
    rows : int array, shape (n,)
        Vertices of the patch.

    Notes
    -----
    Linear blending is x = A (v + offset) + t with the blended matrices A, so offset = A^-1 residual. Inverses of nearly
    singular matrices are damped, (A^T A + e^2)^-1 A^T.
    """
    damping = 0.1  # skin that keeps less than this of its size in a direction is left as it is
    linear = np.ascontiguousarray(matrices[:, :, :3, :3].transpose(1, 0, 2, 3)).astype(np.float32)
    pulled = np.empty((len(rows), len(matrices), 3), np.float32)
    for number, row in enumerate(rows):  # (F, 3, 3) for each vertex: all at once would take much memory
        used = np.flatnonzero(patch.values[row])
        blended = np.tensordot(patch.values[row, used].astype(np.float32), linear[patch.bones[row, used]], axes=1)
        turned = blended.transpose(0, 2, 1)
        square = turned @ blended + damping**2 * np.eye(3, dtype=np.float32)
        wanted = (turned @ residuals[row][:, :, None]) * (1.0 + damping**2)
        pulled[number] = (invert_three(square) @ wanted)[:, :, 0]
    return pulled


class KeySearch:
    """Greedy search: each key is added where errors exceed the tolerance most.

    Parameters
    ----------
    rows : int array, shape (n,)
        Vertices of the patch that keys may move.
    pulled : float32 array, shape (n, F, 3)
        Result of `pull_back`.
    quaternions : float array, shape (F, B, 4)
        Rotations of joints relative to their parents, w not negative.
    """

    def __init__(
        self, patch: Patch, rows: np.ndarray, pulled: np.ndarray, quaternions: np.ndarray, tolerance: float
    ) -> None:
        self.left, self.quaternions, self.tolerance = pulled.copy(), quaternions, tolerance
        cuts = patch.blends.cuts[rows]
        self.rows_of = {int(joint): np.flatnonzero((cuts == joint).any(axis=1)) for joint in np.unique(cuts[cuts >= 0])}
        self.turns = 2.0 * np.arctan2(np.linalg.norm(quaternions[..., 1:], axis=2), quaternions[..., 0])
        self.groups: list[KeyGroup] = []
        self.given_up: set[tuple[int, int]] = set()

    def find(self, most: int) -> list[KeyGroup]:
        """Find at most so many keys, grouped by their axes."""
        found = tries = 0
        while found < most and tries < 3 * most:
            tries += 1
            joint, frame, excess = self._find_worst()
            if joint < 0:
                break
            if self._add(joint, frame, excess):
                found += 1
            else:
                self.given_up.add((joint, frame))
        return self.groups

    def _measure(self, left: np.ndarray) -> np.ndarray:
        """Squares by which missing offsets, shape (n, F, 3), exceed the tolerance, shape (n, F)."""
        lengths = np.sqrt(np.square(left).sum(axis=2))
        return np.square(np.maximum(lengths - self.tolerance, 0.0))

    def _find_worst(self) -> tuple[int, int, float]:
        """Find the joint and frame with the largest excess, and the excess. The joint is -1 if there is none."""
        squares = self._measure(self.left)
        best = -1, -1, 0.0
        for joint, rows in self.rows_of.items():
            sums = np.where(self.turns[:, joint] > MIN_ANGLE, squares[rows].sum(axis=0), 0.0)
            sums[[frame for other, frame in self.given_up if other == joint]] = 0.0
            if sums.max() > best[2]:
                best = joint, int(sums.argmax()), float(sums.max())
        return best

    def _add(self, joint: int, frame: int, excess: float) -> bool:
        """Add a key for the excess at a joint in a frame if the key removes enough of it. Returns whether it does."""
        same_axis, min_gain = 0.8, 0.15  # cosine; share of the excess
        vector = self.quaternions[frame, joint, 1:]
        axis = vector / np.linalg.norm(vector)
        known = [group for group in self.groups if group.joint == joint and group.axis @ axis > same_axis]
        old = max(known, key=lambda group: float(group.axis @ axis)) if known else None
        axis = axis if old is None else old.axis
        angle = float(read_angle(self.quaternions[[frame], joint], axis)[0])
        if old is not None:
            if min(abs(angle - other) for other in [old.start, *old.angles]) < MIN_ANGLE:
                return False
            starts = [min(old.start, 0.5 * angle)]
        else:
            starts = [0.0, 0.5 * angle]
        rows = self.rows_of[joint]
        base = self.left[rows] + (self._contribute(old) if old is not None else np.float32(0.0))
        before, best = self._measure(self.left[rows]).sum(axis=0).sum(), None
        for start in starts:
            group = KeyGroup(joint, axis, start, sorted([*(old.angles if old else []), angle]), rows)
            values = group.read(self.quaternions)
            # The ridge leaves out small offsets that only a few frames ask for.
            inverse = invert_definite((values.T @ values + 0.02 * np.eye(values.shape[1]))[None])[0] @ values.T
            group.offsets = np.einsum("kf,nfi->kni", inverse.astype(np.float32), base, optimize=True)
            left = base - self._contribute(group)
            after = self._measure(left).sum(axis=0).sum()
            if best is None or after < best[0]:
                best = after, group, left
        if best is None or before - best[0] < min_gain * excess:
            return False
        if old is not None:
            self.groups.remove(old)
        self.groups.append(best[1])
        self.left[rows] = best[2]
        return True

    def _contribute(self, group: KeyGroup) -> np.ndarray:
        """Offsets of a group's keys at rest, shape (n, F, 3)."""
        values = group.read(self.quaternions).astype(np.float32)
        return np.einsum("fk,kni->nfi", values, group.offsets, optimize=True)


def fit_keys(
    patch: Patch, matrices: np.ndarray, quaternions: np.ndarray, members: np.ndarray, tolerance: float, most: int
) -> list[Key]:
    """Find corrective keys for the errors of a patch in the chosen frames, sorted by joint.

    Parameters
    ----------
    matrices, quaternions : float arrays, shapes (F, B + H, 4, 4) and (F, B, 4)
        Of all bones, and rotations of joints relative to their parents, w not negative.
    members : int array, shape (V,)
        Index in the patch of each vertex of the skin, or -1.
    most : int
        Largest number of keys; negative for the default.
    """
    residuals = patch.find_residuals(matrices)
    missing = np.sqrt(np.square(residuals).sum(axis=2)).max(axis=1, initial=0.0)
    rows = np.flatnonzero(missing > 0.3 * tolerance)
    if most == 0 or not (missing > tolerance).any():
        return []
    pulled = pull_back(patch, matrices, residuals, rows)
    groups = KeySearch(patch, rows, pulled, quaternions, tolerance).find(24 if most < 0 else most)
    found, is_member = [], members >= 0
    for group in sorted(groups, key=lambda group: group.joint):
        for number, hat in enumerate(group.list_hats()):
            own = np.zeros((len(patch.points), 3), np.float32)
            own[rows[group.rows]] = group.offsets[number]
            offsets = np.zeros((len(members), 3), np.float32)
            offsets[is_member] = own[members[is_member]]
            found.append(Key(group.joint, group.axis, hat, offsets))
    return found
