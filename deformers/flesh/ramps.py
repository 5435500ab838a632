"""Functions of rotations that drive the keys of a limb, and the offsets of these keys, fitted to samples.

A value is a ramp of one bone's rotation or the product of two bones' ramps, as `RampReader` reads it. The functions
are chosen by inner products of the samples alone, so that the number of vertices does not matter.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..corrections.mirroring import mirror_rotation
from ..corrections.readers import RAMP_POWER, RampReader
from ..corrections.rotation_choice import choose_farthest
from ..rig.joint_angles import evaluate_ramps

# Most keys of a limb
KEYS, BEST_KEYS = 8, 12

# A key that moves no vertex as far, in heights of the character, is left out: 4 mm of 1.8 m.
MIN_MOVE = 4.0 / 1800.0

# What a key that is active in all frames must take off the squared distances, as a share of them
PRICE = 5e-4

# Added to the squares of the values, as a share of their sum: keys that are nearly alike do not oppose each other.
RIDGE = 3e-4

# A bone must turn at least this far in a sample to drive a key: sine of half the angle.
MIN_SINE = np.sin(np.radians(2.5))

# Candidates: directions of a bone, and thresholds in shares of its largest value; fewer for products
DIRECTIONS, THRESHOLDS = 16, (0.0, 0.15, 0.3, 0.45, 0.6, 0.75)
PRODUCT_DIRECTIONS, PRODUCT_THRESHOLDS = 6, (0.0, 0.3, 0.6)

# Steps of the refinement, while functions are chosen and at the end
STEPS, LAST_STEPS = 4, 30

# Functions that are chosen beyond those that are left in the end; exchanges of one function, and tries of each
SPARE, EXCHANGES, TRIES = 3, 6, 4

# Cosine between the values of candidates from which on only the better one is tried
ALIKE = 0.95

# Vertices of a block
BLOCK = 4096


@dataclass(frozen=True, eq=False)
class Ramps:
    """Functions of the rotations of a limb's bones.

    Attributes
    ----------
    bones : int array, shape (N, 2)
        That each function reads, ascending; -1 instead of the second for a function of one bone.
    ramps : float array, shape (N, 2, 4)
        For `evaluate_ramps`; the second is not used in a function of one bone.
    """

    bones: np.ndarray
    ramps: np.ndarray

    def __len__(self) -> int:
        return len(self.bones)

    def __getitem__(self, chosen: Sequence[int] | np.ndarray | slice) -> Ramps:
        return Ramps(self.bones[chosen], self.ramps[chosen])

    def read(self, rotations: np.ndarray) -> np.ndarray:
        """Values, 0 to 1, shape (F, N), at rotations (w, x, y, z) of the bones, shape (F, B, 4)."""
        return np.clip(self.multiply(rotations), 0.0, 1.0) ** RAMP_POWER

    def multiply(self, rotations: np.ndarray) -> np.ndarray:
        """Products of the ramps, shape (F, N), at rotations of the bones, shape (F, B, 4)."""
        found = np.ones((len(rotations), len(self)))
        for place, bone in itertools.product(range(2), range(rotations.shape[1])):
            own = self.bones[:, place] == bone
            found[:, own] *= evaluate_ramps(rotations[:, bone], self.ramps[own, place])
        return found

    def group(self) -> list[tuple[tuple[int, ...], np.ndarray, RampReader]]:
        """The functions of the same bones: these bones, which functions, int array of shape (K,), and their reader."""
        found = []
        for pair in dict.fromkeys(map(tuple, self.bones.tolist())):
            bones, own = tuple(bone for bone in pair if bone >= 0), np.flatnonzero((self.bones == pair).all(axis=1))
            found.append((bones, own, RampReader(self.ramps[own, : len(bones)])))
        return found

    def mirror(self, axes: np.ndarray, mirrored_axes: np.ndarray) -> Ramps:
        """The functions of the other side's bones, whatever the rolls.

        Parameters
        ----------
        axes, mirrored_axes : float arrays, shape (B, 3, 3)
            Columns are the rest axes of the bones, and of those on the other side, in armature space.
        """
        turned = self.ramps.copy()
        for row, place in np.argwhere(self.bones >= 0):
            bone = self.bones[row, place]
            turned[row, place] = mirror_rotation(self.ramps[row, place], axes[bone], mirrored_axes[bone])
        return replace(self, ramps=turned)


def measure_products(offsets: np.ndarray) -> np.ndarray:
    """Inner products of samples, (K, K), of offsets (K, V, 3). Those of several meshes add up."""
    count = len(offsets)
    total = np.zeros((count, count))
    for start in range(0, offsets.shape[1], BLOCK):
        rows = np.asarray(offsets[:, start : start + BLOCK], np.float32).reshape(count, -1)
        total += rows @ rows.T
    return total


def choose_ramps(
    rotations: np.ndarray, products: np.ndarray, weights: np.ndarray, played: np.ndarray, count: int = KEYS
) -> Ramps:
    """Choose functions whose keys come nearest to samples, with few of them active at a time.

    Parameters
    ----------
    rotations : float array, shape (K, B, 4)
        Of the bones against their parents in the samples: unit quaternions (w, x, y, z), as drivers read them.
    products : float array, shape (K, K)
        From `measure_products`.
    weights : float array, shape (K,)
        Of the samples, not negative.
    played : float array, shape (F, B, 4)
        Rotations in frames that are played, in which active keys are counted. Without frames, the samples count.
    count : int
        Most functions.

    Returns
    -------
    Ramps
        0 at rest, and 1 at most, which each is in a sample.

    Notes
    -----
    Forward by gain, some more than `count`; then each that costs least is left out, and single functions are exchanged.
    In between, all are refined by variable projection: Gauss-Newton steps with Kaufman's approximation, the offsets
    being optimal for each step.
    """
    rotations, played = np.asarray(rotations, np.float64), np.asarray(played, np.float64)
    fit = _Fit(rotations, products, weights, played if len(played) else rotations)
    candidates = _list_candidates(rotations)
    if not fit.total or not len(candidates):
        return candidates[:0]
    found, seen = candidates[:0], fit.prepare(candidates)
    while len(found) < count + SPARE and len(best := fit.list_best(found, *seen, 1)):
        found = fit.refine(_join(found, candidates[best]), STEPS)
    found = fit.refine(fit.drop(found, count), STEPS)
    for _ in range(EXCHANGES):
        more = [fit.refine(_join(found, candidates[[one]]), STEPS) for one in fit.list_best(found, *seen, TRIES)]
        others = [fit.refine(fit.drop(one, count), STEPS) for one in more]
        best = min([found, *others], key=fit.find_cost)
        if best is found:
            break
        found = best
    return fit.normalize(fit.refine(found, LAST_STEPS))


def fit_offsets(
    ramps: Ramps,
    rotations: np.ndarray,
    offsets: np.ndarray,
    weights: np.ndarray,
    min_move: float,
    reached: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Fit the offsets of a mesh's keys to samples, all together, by least squares with a ridge.

    Parameters
    ----------
    rotations, weights : float arrays, shapes (K, B, 4), (K,)
        As for `choose_ramps`.
    offsets : float array, shape (K, V, 3)
        Wanted in the samples.
    min_move : float
        Keys that move no vertex as far are left out, and the others fitted again; in units of the offsets.
    reached : bool array, shape (V,), optional
        Vertices that keys may move.

    Returns
    -------
    kept : int array, shape (M,)
        Functions that have keys.
    shapes : float32 array, shape (M, V, 3)
        Offsets of the keys at value 1.
    """
    rows = np.flatnonzero(offsets.any(axis=(0, 2)) if reached is None else reached)
    kept, values = np.arange(len(ramps)), ramps.read(rotations)
    kept = kept[values.any(axis=0)]
    while True:
        gains = _solve_ridge(values[:, kept], np.asarray(weights, np.float64)).astype(np.float32)
        shapes = np.zeros((len(kept), offsets.shape[1], 3), np.float32)
        for start in range(0, len(rows), BLOCK):
            some = rows[start : start + BLOCK]
            shapes[:, some] = np.tensordot(gains, np.asarray(offsets[:, some], np.float32), axes=1)
        largest = np.sqrt(np.square(shapes).sum(axis=2).max(axis=1, initial=0.0))
        if not len(kept) or largest.min() >= min_move:
            return kept, shapes
        kept = np.delete(kept, largest.argmin())


def measure_left(values: np.ndarray, shapes: np.ndarray, offsets: np.ndarray, weights: np.ndarray) -> float:
    """The share of the wanted distance that keys leave, rms; 0 if nothing is wanted.

    Parameters
    ----------
    values : float array, shape (K, M)
        Of the keys in the samples.
    shapes, offsets : float arrays, shapes (M, V, 3), (K, V, 3)
        Of the keys, and wanted in the samples.
    weights : float array, shape (K,)
        Of the samples.
    """
    left = wanted = 0.0
    for value, own, weight in zip(values.astype(np.float32), offsets, weights, strict=True):
        missed = own - np.tensordot(value, shapes, axes=1)
        left += weight * float(np.square(missed, dtype=np.float64).sum())
        wanted += weight * float(np.square(own, dtype=np.float64).sum())
    return float(np.sqrt(left / wanted)) if wanted else 0.0


def count_active(ramps: Ramps, played: np.ndarray) -> float:
    """How many keys are not 0 in a frame, on average over frames, (F, B, 4)."""
    return float((ramps.multiply(np.asarray(played)) > 0.0).sum(axis=1).mean()) if len(played) else 0.0


def _solve_ridge(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """What keys, of values (K, M), take of each sample: (M, K)."""
    weighted = values.T * weights
    normal = weighted @ values
    return np.linalg.solve(normal + RIDGE * np.diag(np.diag(normal)), weighted)


def _join(first: Ramps, second: Ramps) -> Ramps:
    return Ramps(np.concatenate([first.bones, second.bones]), np.concatenate([first.ramps, second.ramps]))


class _Fit:
    """Samples, as far as functions are chosen by them: their coordinates are those of a few orthogonal shapes."""

    def __init__(self, rotations: np.ndarray, products: np.ndarray, weights: np.ndarray, played: np.ndarray) -> None:
        self._rotations, self._played = rotations, played
        self._roots = np.sqrt(np.asarray(weights, np.float64))[:, None]
        values, vectors = np.linalg.eigh(self._roots * products * self._roots.T)
        used = values > 1e-9 * max(values.max(initial=0.0), 1e-300)
        self._wanted = vectors[:, used] * np.sqrt(values[used])
        self.total = float(np.square(self._wanted).sum())
        self._price = PRICE * self.total

    def prepare(self, ramps: Ramps) -> tuple[np.ndarray, np.ndarray]:
        """Columns of unit length, (K, N), and the shares of the frames in which each is active, (N,)."""
        columns = self._roots * ramps.multiply(self._rotations) ** RAMP_POWER
        active = (ramps.multiply(self._played) > 0.0).mean(axis=0)
        return columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-30), active

    def _solve(self, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates of the keys, (N, r), and what they leave, (K, r)."""
        shapes = np.linalg.solve(columns.T @ columns + RIDGE * np.eye(columns.shape[1]), columns.T @ self._wanted)
        return shapes, self._wanted - columns @ shapes

    def find_cost(self, ramps: Ramps) -> float:
        """What functions leave, squared, and what their keys cost."""
        columns, active = self.prepare(ramps)
        shapes, left = self._solve(columns)
        return float(np.square(left).sum() + RIDGE * np.square(shapes).sum() + self._price * active.sum())

    def list_best(self, ramps: Ramps, columns: np.ndarray, active: np.ndarray, count: int) -> np.ndarray:
        """Candidates that gain most beside chosen functions, and more than they cost; each unlike the others."""
        known = np.linalg.qr(self.prepare(ramps)[0])[0]
        rest = columns - known @ (known.T @ columns)
        left = self._wanted - known @ (known.T @ self._wanted)
        gains = np.square(rest.T @ left).sum(axis=1) / (np.square(rest).sum(axis=0) + 1e-3) - self._price * active
        found: list[int] = []
        while len(found) < count and gains.max(initial=0.0) > 0.0:
            found.append(int(gains.argmax()))
            gains[columns.T @ columns[:, found[-1]] > ALIKE] = 0.0
        return np.array(found, np.intp)

    def drop(self, ramps: Ramps, count: int) -> Ramps:
        """Leave out functions, until so many are left and each is worth what it costs."""
        while len(ramps):
            others = [ramps[np.arange(len(ramps)) != number] for number in range(len(ramps))]
            costs = [self.find_cost(other) for other in others]
            best = int(np.argmin(costs))
            if len(ramps) <= count and costs[best] >= self.find_cost(ramps):
                break
            ramps = others[best]
        return ramps

    def normalize(self, ramps: Ramps) -> Ramps:
        """Scale functions to 1 in the sample in which they are largest."""
        scaled = ramps.ramps.copy()
        for place in (1, 0):  # the first makes up for a product
            alone = np.where(np.arange(2) == place, ramps.bones, -1) if place else ramps.bones
            largest = Ramps(alone, scaled).multiply(self._rotations).max(axis=0, initial=0.0)
            scaled[:, place] /= np.maximum(largest, 1e-30)[:, None]
        return replace(ramps, ramps=scaled)

    def refine(self, ramps: Ramps, steps: int) -> Ramps:
        """Turn directions and move thresholds as long as functions cost less."""
        damping, ramps = 1e-3, self.normalize(ramps)
        cost = self.find_cost(ramps)
        for _ in range(steps if len(ramps) else 0):
            owners, slots, gradient, normal = self._differentiate(ramps)
            for _ in range(6):
                step = np.linalg.solve(normal + damping * np.diag(np.diag(normal) + 1e-12 * self.total), gradient)
                moved = ramps.ramps.reshape(len(ramps), 8).copy()
                moved[owners, slots] += step
                moved[:, [0, 4]] = np.maximum(moved[:, [0, 4]], 0.0)
                other = replace(ramps, ramps=moved.reshape(-1, 2, 4))
                if other.multiply(self._rotations).any(axis=0).all() and (new := self.find_cost(other)) < cost:
                    break
                damping *= 8.0
            else:
                return ramps
            gained, cost, damping = cost - new, new, damping / 8.0
            ramps = self.normalize(other)
            if gained < 1e-9 * self.total:
                break
        return ramps

    def _differentiate(self, ramps: Ramps) -> tuple[np.ndarray, ...]:
        """Parameters, by their functions and places, (P,), with the gradient, (P,), and the normal matrix, (P, P)."""
        tiny = 1e-6
        columns = self._roots * ramps.multiply(self._rotations) ** RAMP_POWER
        basis = np.linalg.qr(columns)[0]
        shapes = np.linalg.lstsq(columns, self._wanted, rcond=1e-6)[0]
        left = self._wanted - columns @ shapes
        owners, places, parts = (each.ravel() for each in np.indices(ramps.ramps.shape))
        used = ramps.bones[owners, places] >= 0
        owners, places, parts = owners[used], places[used], parts[used]
        varied = ramps[owners].ramps
        varied[np.arange(len(owners)), places, parts] += tiny
        moved = Ramps(ramps.bones[owners], varied).multiply(self._rotations) ** RAMP_POWER
        slopes = (self._roots * moved - columns[:, owners]) / tiny
        slopes -= basis @ (basis.T @ slopes)
        own = shapes[owners]
        gradient = np.einsum("kp,kr,pr->p", slopes, left, own)
        return owners, 4 * places + parts, gradient, (slopes.T @ slopes) * (own @ own.T)


def _list_candidates(rotations: np.ndarray) -> Ramps:
    """Ramps of each bone and products of two bones', in directions of samples, (K, B, 4)."""
    single, few = [], []
    for bone in range(rotations.shape[1]):
        single.append(_list_ramps(rotations[:, bone], DIRECTIONS, THRESHOLDS))
        few.append(_list_ramps(rotations[:, bone], PRODUCT_DIRECTIONS, PRODUCT_THRESHOLDS))
    bones = [np.tile([bone, -1], (len(own), 1)) for bone, own in enumerate(single)]
    ramps = [np.stack([own, np.zeros_like(own)], axis=1) for own in single]
    for first, second in itertools.combinations(range(rotations.shape[1]), 2):
        one = np.repeat(few[first], len(few[second]), axis=0)
        two = np.tile(few[second], (len(few[first]), 1))
        bones.append(np.tile([first, second], (len(one), 1)))
        ramps.append(np.stack([one, two], axis=1))
    found = Ramps(np.concatenate(bones), np.concatenate(ramps))
    return found[np.flatnonzero(found.multiply(rotations).any(axis=0))]


def _list_ramps(rotations: np.ndarray, directions: int, thresholds: Sequence[float]) -> np.ndarray:
    """Ramps, (C, 4), of a bone's rotations (K, 4): from each threshold to 1 at the farthest sample."""
    vectors = np.where(rotations[:, :1] < 0.0, -rotations, rotations)[:, 1:]
    lengths = np.linalg.norm(vectors, axis=1)
    moved = vectors[lengths > MIN_SINE] / lengths[lengths > MIN_SINE, None]
    if not len(moved):
        return np.empty((0, 4))
    lines = choose_farthest(np.pad(moved, ((0, 0), (1, 0))), directions, np.radians(20.0))[:, 1:]
    ways = np.concatenate([lines, -lines])
    largest = (vectors @ ways.T).max(axis=0)
    ways, largest = ways[largest > MIN_SINE], largest[largest > MIN_SINE, None]
    return np.concatenate([np.hstack([share * largest, ways]) / ((1.0 - share) * largest) for share in thresholds])
