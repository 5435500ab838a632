"""Elastic forces of tetrahedra: each wants its shape, and its volume."""

from __future__ import annotations

import numpy as np

# Tetrahedra that are projected together, so that all their matrices stay in the processor's cache
CHUNK = 4096

# Determinant of Newton's matrix, relative to its cubed trace, below which a tetrahedron is too flat for Newton's step.
MIN_DEFINITE = 0.002

# Share of its volume below which a tetrahedron is turned to its right side, and not inflated.
MIN_VOLUME = 0.05

TINY = np.float32(1e-9)


def multiply(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Matrix products of matrices, shapes (3, 3, T): the same shape."""
    result = left[:, 0, None] * right[0]
    for middle in (1, 2):
        result += left[:, middle, None] * right[middle]
    return result


def _cross(first: np.ndarray, second: np.ndarray, out: np.ndarray) -> None:
    """Cross products of vectors, shape (3, T), written to `out`."""
    for axis in range(3):
        after, last = (axis + 1) % 3, (axis + 2) % 3
        np.multiply(first[after], second[last], out=out[axis])
        out[axis] -= first[last] * second[after]


def rotate_toward(gradients: np.ndarray, rotations: np.ndarray) -> np.ndarray:
    """Rotate rotations toward those nearest to gradients, by one step; all float32, shape (3, 3, T).

    Notes
    -----
    Müller et al. 2016, eq 7, maximize tr(R^T F) by steps along its gradient, the torque. Deviation: the step is
    Newton's, by the matrix tr(S) I - S of S = R^T F, which is six numbers; flat and inverted tetrahedra take theirs.
    The rotation is Cayley's of half the step, so no sine is needed.
    """
    relative = multiply(rotations.swapaxes(0, 1), gradients)
    trace = relative[0, 0] + relative[1, 1] + relative[2, 2]
    a, b, c = (trace - relative[axis, axis] for axis in range(3))
    d, e, f = (-0.5 * (relative[i, j] + relative[j, i]) for i, j in ((1, 2), (0, 2), (0, 1)))
    x, y, z = (relative[j, i] - relative[i, j] for i, j in ((1, 2), (2, 0), (0, 1)))
    adjoint = (b * c - d * d, d * e - f * c, f * d - b * e, a * c - e * e, e * f - a * d, a * b - f * f)
    p, q, r, s, t, u = adjoint
    determinant = a * p + f * q + e * r
    size = np.abs(trace) + TINY
    flat = (determinant < MIN_DEFINITE * size**3) | (np.minimum(a, u) < 0.0)  # not at a hilltop, but on a saddle
    half = np.stack([p * x + q * y + r * z, q * x + s * y + t * z, r * x + t * y + u * z])
    half *= 0.5 / np.where(flat, 1.0, determinant)
    half = np.where(flat, np.stack([x, y, z]) * (0.5 / size), half)
    scale = 2.0 / (1.0 + (half * half).sum(axis=0))
    scaled = scale * half
    steps = scaled[:, None] * half
    rest = steps[0, 0] + steps[1, 1] + steps[2, 2]
    for axis in range(3):
        after, last = (axis + 1) % 3, (axis + 2) % 3
        steps[axis, axis] -= rest - 1.0
        steps[last, after] += scaled[axis]
        steps[after, last] -= scaled[axis]
    return multiply(rotations, steps)


def _find_cofactors(gradients: np.ndarray) -> np.ndarray:
    """Derivatives of the determinants of gradients, shape (3, 3, T): the same shape."""
    cofactors = np.empty_like(gradients)
    for column in range(3):
        _cross(gradients[:, (column + 1) % 3], gradients[:, (column + 2) % 3], cofactors[:, column])
    return cofactors


def find_volume_steps(gradients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Steps from gradients to others of determinant 1, about the nearest, by two of Newton's steps.

    Parameters
    ----------
    gradients : float32 array, shape (3, 3, T)

    Returns
    -------
    steps : float32 array, shape (3, 3, T)
    volumes : float32 array, shape (T,)
        The determinants before.

    Notes
    -----
    Bouaziz et al. 2014, section 5.1 (volume). A single step leaves twice as many tetrahedra inverted.
    """
    kept, volumes = gradients, np.empty(0)
    for step in range(2):
        cofactors = _find_cofactors(kept)
        now = (kept[:, 0] * cofactors[:, 0]).sum(axis=0)
        volumes = volumes if step else now
        lengths = np.maximum((cofactors * cofactors).sum(axis=(0, 1)), TINY)
        cofactors *= np.clip((1.0 - now) / lengths, -0.5, 0.5)
        cofactors += kept
        kept = cofactors
    kept -= gradients
    return kept, volumes


class Elasticity:
    """Elastic forces in a lattice whose tetrahedra are paths along its edges, with their rotations from step to step.

    Parameters
    ----------
    edges : int array, shape (E, 2)
        Nodes, along an axis, the lower first.
    tetrahedra : int array, shape (3, T)
        Edges of each along x, y and z.
    step : float
        Length of the edges at rest.
    volume : float
        Weight of volume; that of shape is 1.

    Attributes
    ----------
    volumes : float array, shape (T,)
        Posed volumes over those at rest, by the last forces.
    """

    def __init__(self, edges: np.ndarray, tetrahedra: np.ndarray, step: float, volume: float) -> None:
        self._lower, self._upper = np.ascontiguousarray(edges.T)
        self._tetrahedra, self._step, self._volume = tetrahedra, step, np.float32(volume)
        count = tetrahedra.shape[1]
        self.volumes = np.ones(count, np.float32)
        self._rotations = np.repeat(np.eye(3, dtype=np.float32)[:, :, None], count, axis=2)
        self._pulls = np.empty((3, 3, count), np.float32)

    def find_forces(self, nodes: np.ndarray) -> np.ndarray:
        """Forces on posed nodes, shape (N, 3): float64, the same shape.

        Notes
        -----
        The local step of Bouaziz et al. 2014. A column of the deformation gradient is a posed edge over `step`.
        """
        sides = ((nodes[self._upper] - nodes[self._lower]) / self._step).T.astype(np.float32)
        for start in range(0, len(self.volumes), CHUNK):
            own = slice(start, start + CHUNK)
            gradients = np.take(sides, self._tetrahedra[:, own], axis=1)
            rotations = rotate_toward(gradients, self._rotations[:, :, own])
            pulls, volumes = find_volume_steps(gradients)
            rotated = rotations - gradients
            flat = volumes < MIN_VOLUME
            pulls[:, :, flat] = rotated[:, :, flat]
            pulls *= self._volume
            pulls += rotated
            self._rotations[:, :, own], self._pulls[:, :, own], self.volumes[own] = rotations, pulls, volumes
        forces = np.empty_like(nodes)
        which = self._tetrahedra.ravel()
        for axis, pulls in enumerate(self._pulls):
            along = np.bincount(which, pulls.ravel(), len(self._lower)) * (self._step / 6.0)
            forces[:, axis] = np.bincount(self._upper, along, len(nodes)) - np.bincount(self._lower, along, len(nodes))
        return forces
