"""Functions of rotations that drive the keys of a limb, and the offsets of these keys, fitted to samples.

A value is a ramp of one bone's rotation, as `RampReader` reads it. The functions are chosen by inner products of the
samples alone, so that the number of vertices does not matter.

Tried on 50 poses of each of six limbs, and left out: products of two ramps, refinement of thresholds and directions by
Gauss-Newton steps, and exchanges of functions. They fit the samples better, and other poses worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..corrections.mirroring import mirror_rotation
from ..corrections.readers import RampReader
from ..corrections.rotation_choice import choose_farthest

# Most keys of a limb
KEYS = 8

# A key that moves no vertex as far, in heights of the character, is left out: 4 mm of 1.8 m.
MIN_MOVE = 4.0 / 1800.0

# What a key that is active in all frames must take off the squared distances, as a share of them
PRICE = 5e-4

# Added to the squares of the values, as a share of their sum: keys that are nearly alike do not oppose each other.
RIDGE = 0.03

# A bone must turn at least this far in a sample to drive a key: sine of half the angle.
MIN_SINE = np.sin(np.radians(2.5))

# Candidates: directions of a bone, at least so far apart, and thresholds in shares of its largest value
DIRECTIONS, APART, THRESHOLDS = 16, np.radians(20.0), (0.0, 0.15, 0.3, 0.45, 0.6, 0.75)

# Share of a candidate's squares that must be new beside the functions before it, about
MIN_NEW = 1e-3

# Vertices of a block
BLOCK = 4096


@dataclass(frozen=True, eq=False)
class Ramps:
    """Functions of the rotations of a limb's bones.

    Attributes
    ----------
    bones : int array, shape (N,)
        That each function reads.
    ramps : float array, shape (N, 4)
        For `evaluate_ramps`.
    """

    bones: np.ndarray
    ramps: np.ndarray

    def __len__(self) -> int:
        return len(self.bones)

    def __getitem__(self, chosen: Sequence[int] | np.ndarray | slice) -> Ramps:
        return Ramps(self.bones[chosen], self.ramps[chosen])

    def read(self, rotations: np.ndarray) -> np.ndarray:
        """Values, 0 to 1, shape (F, N), at rotations (w, x, y, z) of the bones, shape (F, B, 4)."""
        found = np.empty((len(rotations), len(self)))
        for bone in np.unique(self.bones):
            own = self.bones == bone
            found[:, own] = RampReader(self.ramps[own, None]).read(rotations[:, [bone]])
        return found

    def mirror(self, axes: np.ndarray, mirrored_axes: np.ndarray) -> Ramps:
        """The functions of the other side's bones, whatever the rolls.

        Parameters
        ----------
        axes, mirrored_axes : float arrays, shape (B, 3, 3)
            Columns are the rest axes of the bones, and of those on the other side, in armature space.
        """
        turned = [
            mirror_rotation(ramp, axes[bone], mirrored_axes[bone])
            for bone, ramp in zip(self.bones, self.ramps, strict=True)
        ]
        return replace(self, ramps=np.reshape(turned, self.ramps.shape))


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
    One after the other, by what each gains beside those before it, less what it costs.
    """
    rotations, played = np.asarray(rotations, np.float64), np.asarray(played, np.float64)
    candidates = _list_candidates(rotations)
    roots = np.sqrt(np.asarray(weights, np.float64))[:, None]
    values, vectors = np.linalg.eigh(roots * products * roots.T)
    left = vectors * np.sqrt(np.maximum(values, 0.0))  # the samples, as coordinates of a few orthogonal shapes
    costs = PRICE * np.square(left).sum() * (candidates.read(played if len(played) else rotations) > 0.0).mean(axis=0)
    columns, found = roots * candidates.read(rotations), list[int]()
    columns /= np.maximum(np.linalg.norm(columns, axis=0), 1e-30)
    while len(found) < min(count, len(candidates)):
        gains = np.square(columns.T @ left).sum(axis=1) / (np.square(columns).sum(axis=0) + MIN_NEW) - costs
        best = int(gains.argmax())
        if gains[best] <= 0.0:
            break
        found.append(best)
        own = columns[:, best] / np.linalg.norm(columns[:, best])
        left = left - np.outer(own, own @ left)
        columns -= np.outer(own, own @ columns)
    return candidates[np.sort(found).astype(np.intp)]


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
    return float((ramps.read(np.asarray(played)) > 0.0).sum(axis=1).mean()) if len(played) else 0.0


def _solve_ridge(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """What keys, of values (K, M), take of each sample: (M, K)."""
    weighted = values.T * weights
    normal = weighted @ values
    return np.linalg.solve(normal + RIDGE * np.diag(np.diag(normal)), weighted)


def _list_candidates(rotations: np.ndarray) -> Ramps:
    """Ramps of each bone in directions of samples, (K, B, 4)."""
    found = [_list_ramps(rotations[:, bone]) for bone in range(rotations.shape[1])]
    return Ramps(np.repeat(np.arange(len(found)), list(map(len, found))), np.concatenate(found))


def _list_ramps(rotations: np.ndarray) -> np.ndarray:
    """Ramps, (C, 4), of a bone's rotations (K, 4): from each threshold to 1 at the farthest sample."""
    vectors = np.where(rotations[:, :1] < 0.0, -rotations, rotations)[:, 1:]
    lengths = np.linalg.norm(vectors, axis=1)
    moved = vectors[lengths > MIN_SINE] / lengths[lengths > MIN_SINE, None]
    if not len(moved):
        return np.empty((0, 4))
    lines = choose_farthest(np.pad(moved, ((0, 0), (1, 0))), DIRECTIONS, APART)[:, 1:]
    ways = np.concatenate([lines, -lines])
    largest = (vectors @ ways.T).max(axis=0)
    ways, largest = ways[largest > MIN_SINE], largest[largest > MIN_SINE, None]
    return np.concatenate([np.hstack([share * largest, ways]) / ((1.0 - share) * largest) for share in THRESHOLDS])
