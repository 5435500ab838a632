"""Particles 2010 as in the paper: each step compares all pairs of particles. For comparison only."""

from __future__ import annotations

import numpy as np

from deformers.particles.forces_2010 import DAMPING, TIME_STEP, find_bone_forces, find_pulls, step_by_heun


def find_forces_of_all_pairs(
    points: np.ndarray, velocities: np.ndarray, goals: np.ndarray, radii: np.ndarray
) -> np.ndarray:
    """Forces on particles, (3, P), as in the paper, with r_i + r_j as lengths of springs. Memory and time O(P^2)."""
    between = points[:, None, :] - points[:, :, None]  # from i to j at [i, j]
    distances = np.sqrt(np.einsum("aij,aij->ij", between, between))
    lengths = radii[:, None] + radii
    near = distances < (lengths + 2.0 * radii.min(initial=np.inf)) * (1.0 - 1e-6)
    np.fill_diagonal(near, val=False)
    forces = np.einsum("aij,ij->ai", between, np.where(near, find_pulls(distances, lengths), 0.0))
    counts = near.sum(axis=1)
    means = (velocities @ near.T) / np.maximum(counts, 1)
    forces -= DAMPING * np.where(counts > 0, velocities - means, 0.0)
    return forces + find_bone_forces(points, velocities, goals)


def step_all_pairs(
    points: np.ndarray,
    velocities: np.ndarray,
    goals: np.ndarray,
    masses: np.ndarray,
    radii: np.ndarray,
    time_step: float = TIME_STEP,
) -> tuple[np.ndarray, np.ndarray]:
    """Take a step as in the paper's Table 3: points and velocities after it, shape (3, P)."""
    return step_by_heun(
        points, velocities, lambda x, v: find_forces_of_all_pairs(x, v, goals, radii) / masses, time_step
    )
