"""Where oriented particles come to rest in a pose: in turn, shapes and volumes are kept and positions are solved."""

from __future__ import annotations

import numpy as np

from ..geometry.vectors import smooth_step
from .cloud import Cloud

STRETCH = 6.0
"""lambda: how much more strongly a neighborhood keeps its volume than its shape."""

PRESSURE_GAIN = 2.0
"""eta: how much of a lack of volume becomes pressure in an iteration."""

MOST_PRESSURE = 0.6

LEAST_SOUND_VOLUME = 0.3
"""Share of its volume below which a neighborhood that is about to turn inside out takes its own shape again."""

THICKENING = 0.01
"""Share of a neighborhood's extent by which it is thickened: sheets and chains have none across."""

LEAST_EXTENT = np.float32(1e-3)
"""The same for what has shrunk to nothing; extents are about 3 in each neighborhood."""

TINY = np.float32(1e-20)


class _Neighborhoods:
    """Sums over the links of each particle, for particles at `rest`, shape (3, P), as scaled joints stretch them."""

    def __init__(self, cloud: Cloud, rest: np.ndarray) -> None:
        self._cloud = cloud
        self._counts = np.diff(np.append(cloud.starts, len(cloud.ends)))
        edges = self.steps(rest)
        self._shares = cloud.own / np.repeat(np.maximum(self.sum(cloud.own), TINY), self._counts)
        self._weighted = cloud.own * edges
        self._reverse = cloud.back * edges
        self.edges = self.sum(self._weighted)
        moments = self.sum_outer(edges)
        self._thickening = THICKENING * (moments[0, 0] + moments[1, 1] + moments[2, 2]) + LEAST_EXTENT
        for axis in range(3):
            moments[axis, axis] += self._thickening
        self._inverse = _inverse(moments)

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Sum of values of the links, shape (..., E): (..., P)."""
        return np.add.reduceat(values, self._cloud.starts, axis=-1)

    def steps(self, values: np.ndarray) -> np.ndarray:
        """How much values, shape (3, P), change along the links: (3, E)."""
        return np.take(values, self._cloud.ends, axis=1) - np.repeat(values, self._counts, axis=1)

    def sum_outer(self, steps: np.ndarray) -> np.ndarray:
        """sum_j w_ij step E_ij^T, shape (3, 3, P)."""
        return self.sum(steps[:, None] * self._weighted)

    def gradients(self, outer: np.ndarray, rotations: np.ndarray) -> np.ndarray:
        """F of `sum_outer`, completed by the rotation where a neighborhood is thin: shape (3, 3, P)."""
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
    """Find where the particles come to rest in a pose.

    Parameters
    ----------
    rest : float32 array, shape (P, 3)
        The particles at rest, as scaled joints stretch them.
    goals : float32 array, shape (P, 3)
        Where the joints take the particles.
    rotations : float32 array, shape (3, 3, P)
        How the joints rotate them.

    Returns
    -------
    offsets : float32 array, shape (3, P)
        From the goals.
    rotations : float32 array, shape (3, 3, P)
        The goals' own, with no offsets, where the pose is beyond what single precision holds.

    Notes
    -----
    Minimizes E = sum_ij w_ij |x_j - x_i - T_i (X_j - X_i)|^2 + sum_i b_i |x_i - g_i|^2 in turn: T_i from x, then x
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
    """What `settle` returns, also where it is not finite."""
    near = _Neighborhoods(cloud, np.ascontiguousarray(rest.T))
    goal_steps = near.steps(np.ascontiguousarray(goals.T))
    outer = near.sum_outer(goal_steps)
    pulled = near.sum((cloud.own + cloud.back) * goal_steps)

    offsets = np.zeros_like(pulled)
    pressure = np.zeros(len(goals), np.float32)
    for _ in range(iterations):
        gradients = near.gradients(outer + near.sum_outer(near.steps(offsets)), rotations)
        volumes = determinant(gradients)
        sound = smooth_step(volumes / LEAST_SOUND_VOLUME).astype(np.float32)
        likely = sound * gradients + (cloud.smoothing + 1.0 - sound) * near.mean(rotations)
        rotations = rotate_toward(rotations, likely)
        pressure = np.clip(pressure + PRESSURE_GAIN * (1.0 - volumes), -MOST_PRESSURE, MOST_PRESSURE)
        share = np.float32(STRETCH / (1.0 + STRETCH)) * sound
        targets = rotations + share * (keep_volume(gradients, 1.0 + pressure) - rotations)
        right = pulled - near.sum_rotated(targets)
        offsets = cloud.factor.solve(np.ascontiguousarray(right.T)).T
    gradients = near.gradients(outer + near.sum_outer(near.steps(offsets)), rotations)
    return offsets, rotate_toward(rotations, gradients + cloud.smoothing * near.mean(rotations))


def rotate_toward(rotations: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """Rotate rotations toward those in matrices, both of shape (3, 3, P) (Mueller et al. 2016, eq 7-9).

    One step rotates by the axis and angle that the columns ask for together: enough where the start is near.
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
    """The nearest matrices, shape (3, 3, P), with these determinants: two Newton steps along the cofactors."""
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
    """Inverses of matrices, shape (3, 3, P), that have one."""
    cofactors = _cofactors(matrices)
    return cofactors.transpose(1, 0, 2) / (matrices[0] * cofactors[0]).sum(axis=0)


def _multiply(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Products of matrices, shape (3, 3, P)."""
    return left[:, :1] * right[0] + left[:, 1:2] * right[1] + left[:, 2:] * right[2]


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cross products of vectors, shape (3, P)."""
    return np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
