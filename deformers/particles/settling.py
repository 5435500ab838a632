"""Settle oriented particles in a pose, alternately restoring shapes and volumes, and solving for positions."""

from __future__ import annotations

import numpy as np

from ..geometry.vectors import smooth_step
from .cloud import Cloud

TINY = np.float32(1e-20)


class _Neighborhoods:
    """Sums over the links of each particle, for particles at `rest`, shape (3, P), stretched by scaled joints."""

    def __init__(self, cloud: Cloud, rest: np.ndarray) -> None:
        self._cloud = cloud
        self._counts = np.diff(np.append(cloud.starts, len(cloud.ends)))
        edges = self.steps(rest)
        self._shares = cloud.own / np.repeat(np.maximum(self.sum(cloud.own), TINY), self._counts)
        self._weighted = cloud.own * edges
        self._reverse = cloud.back * edges
        self.edges = self.sum(self._weighted)
        moments = self.sum_outer(edges)
        # Sheets and chains do not extend across, nor does what has shrunk to nothing. Usual extents are about 3.
        self._thickening = 0.01 * (moments[0, 0] + moments[1, 1] + moments[2, 2]) + np.float32(1e-3)
        for axis in range(3):
            moments[axis, axis] += self._thickening
        self._inverse = _inverse(moments)

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Sum of values of the links, shape (..., E), at each particle, shape (..., P)."""
        return np.add.reduceat(values, self._cloud.starts, axis=-1)

    def steps(self, values: np.ndarray) -> np.ndarray:
        """Differences of values, shape (3, P), along the links, shape (3, E)."""
        return np.take(values, self._cloud.ends, axis=1) - np.repeat(values, self._counts, axis=1)

    def sum_outer(self, steps: np.ndarray) -> np.ndarray:
        """sum_j w_ij step E_ij^T, shape (3, 3, P)."""
        return self.sum(steps[:, None] * self._weighted)

    def gradients(self, outer: np.ndarray, rotations: np.ndarray) -> np.ndarray:
        """F of `sum_outer`, shape (3, 3, P), completed by the rotation if a neighborhood is thin."""
        return _multiply(outer + self._thickening * rotations, self._inverse)

    def sum_rotated(self, matrices: np.ndarray) -> np.ndarray:
        """sum_j (w_ij T_i + w_ji T_j) E_ij, shape (3, P)."""
        there = np.take(matrices, self._cloud.ends, axis=2)
        there *= self._reverse
        own = matrices * self.edges
        return self.sum(there[:, 0] + there[:, 1] + there[:, 2]) + own[:, 0] + own[:, 1] + own[:, 2]

    def mean(self, matrices: np.ndarray) -> np.ndarray:
        """Mean of the neighbors' matrices, shape (3, 3, P)."""
        there = np.take(matrices, self._cloud.ends, axis=2)
        there *= self._shares
        return self.sum(there)


def settle(
    cloud: Cloud, rest: np.ndarray, goals: np.ndarray, rotations: np.ndarray, iterations: int
) -> tuple[np.ndarray, np.ndarray]:
    """Find the positions and rotations of the particles in a pose.

    Parameters
    ----------
    rest : float32 array, shape (P, 3)
        Particles at rest, stretched by scaled joints.
    goals : float32 array, shape (P, 3)
        Positions by the joints alone.
    rotations : float32 array, shape (3, 3, P)
        Rotations by the joints alone.

    Returns
    -------
    offsets : float32 array, shape (3, P)
        Offsets from the goals.
    rotations : float32 array, shape (3, 3, P)
        Those by the joints, with offsets of 0, if the pose exceeds single precision.

    Notes
    -----
    Minimizes E = sum_ij w_ij |x_j - x_i - T_i (X_j - X_i)|^2 + sum_i b_i |x_i - g_i|^2 alternately: T_i from x, then x
    from T, which is linear with a constant matrix. The unknown is x - g, which is 0 in every rigid pose.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        offsets, turned = _iterate(cloud, rest, goals, rotations, iterations)
    if np.isfinite(offsets).all() and np.isfinite(turned).all():
        return offsets, turned
    return np.zeros_like(offsets), rotations


def _iterate(
    cloud: Cloud, rest: np.ndarray, goals: np.ndarray, rotations: np.ndarray, iterations: int
) -> tuple[np.ndarray, np.ndarray]:
    """Settle without a check that the results are finite."""
    stretch = 6.0  # lambda: how much more strongly a neighborhood keeps its volume than its shape
    gain, most = 2.0, 0.6  # eta: missing volume that becomes pressure in an iteration; largest pressure
    min_volume = 0.3  # share below which a neighborhood, about to turn inside out, takes its own shape again
    near = _Neighborhoods(cloud, np.ascontiguousarray(rest.T))
    goal_steps = near.steps(np.ascontiguousarray(goals.T))
    outer = near.sum_outer(goal_steps)
    pulled = near.sum((cloud.own + cloud.back) * goal_steps)

    offsets = np.zeros_like(pulled)
    pressure = np.zeros(len(goals), np.float32)
    for _ in range(iterations):
        gradients = near.gradients(outer + near.sum_outer(near.steps(offsets)), rotations)
        volumes = determinant(gradients)
        sound = smooth_step(volumes / min_volume).astype(np.float32)
        likely = sound * gradients + (cloud.smoothing + 1.0 - sound) * near.mean(rotations)
        rotations = rotate_toward(rotations, likely)
        pressure = np.clip(pressure + gain * (1.0 - volumes), -most, most)
        share = np.float32(stretch / (1.0 + stretch)) * sound
        targets = rotations + share * (keep_volume(gradients, 1.0 + pressure) - rotations)
        right = pulled - near.sum_rotated(targets)
        offsets = cloud.factor.solve(np.ascontiguousarray(right.T)).T
    gradients = near.gradients(outer + near.sum_outer(near.steps(offsets)), rotations)
    return offsets, rotate_toward(rotations, gradients + cloud.smoothing * near.mean(rotations))


def rotate_toward(rotations: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """Rotate rotations toward those in matrices, shape (3, 3, P) each (Mueller et al. 2016, eq 7-9).

    One step rotates by the axis and angle that fit the columns together, which is enough for a near start.
    """
    turn = sum(_cross(rotations[:, axis], matrices[:, axis]) for axis in range(3))
    products = rotations * matrices
    turn /= np.abs(products.sum(axis=(0, 1))) + TINY
    angle = np.sqrt((turn * turn).sum(axis=0)) + TINY
    axes = turn / angle
    sine, cosine = np.sin(angle), np.cos(angle)
    return np.stack([_rotate(rotations[:, axis], axes, sine, cosine) for axis in range(3)], axis=1)


def _rotate(vectors: np.ndarray, axes: np.ndarray, sine: np.ndarray, cosine: np.ndarray) -> np.ndarray:
    along = (axes * vectors).sum(axis=0)
    return cosine * vectors + sine * _cross(axes, vectors) + (1.0 - cosine) * along * axes


def keep_volume(matrices: np.ndarray, volumes: np.ndarray) -> np.ndarray:
    """Nearest matrices, shape (3, 3, P), with given determinants, by two Newton steps along the cofactors."""
    for _ in range(2):
        cofactors = _cofactors(matrices)
        squares = (cofactors * cofactors).sum(axis=(0, 1)) + TINY
        lack = volumes - (matrices[0] * cofactors[0]).sum(axis=0)
        matrices = matrices + np.clip(lack / squares, -1.0, 1.0) * cofactors
    return matrices


def determinant(matrices: np.ndarray) -> np.ndarray:
    """Determinants of matrices, shape (3, 3, P)."""
    return (matrices[0] * _cross(matrices[1], matrices[2])).sum(axis=0)


def _cofactors(matrices: np.ndarray) -> np.ndarray:
    a, b, c = matrices
    return np.stack([_cross(b, c), _cross(c, a), _cross(a, b)])


def _inverse(matrices: np.ndarray) -> np.ndarray:
    """Inverses of regular matrices, shape (3, 3, P)."""
    cofactors = _cofactors(matrices)
    return cofactors.transpose(1, 0, 2) / (matrices[0] * cofactors[0]).sum(axis=0)


def _multiply(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Products of matrices, shape (3, 3, P)."""
    return left[:, :1] * right[0] + left[:, 1:2] * right[1] + left[:, 2:] * right[2]


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cross products of vectors, shape (3, P)."""
    return np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
