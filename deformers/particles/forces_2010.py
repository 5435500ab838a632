"""Forces between particles and their bones, and the steps that settle them (Yamamoto & Tokoi 2010, sections 3 and 4).

Lengths are those of a character whose largest extent is `UNIT_SIZE`: the paper's constants hold for nothing else.
Points, velocities and forces are rows x, y, z, float64, shape (3, P): NumPy runs over them in half the time of (P, 3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..geometry.neighbors import find_pairs

UNIT_SIZE = 2.5
"""Largest extent of a character here. The paper gives no unit: with this one its box (Table 1) holds as many particles
as it says."""

TIME_STEP = 0.003
"""Table 2."""

STIFFNESS = 0.3
"""Table 2, k_d: of springs that are longer than at rest."""

COMPRESSION = 1.5
"""How many times stiffer springs are that are shorter than at rest. The paper says stiffer, not how much."""

DAMPING = 0.03
"""Table 2, C: against the mean velocity of the neighbors."""

BONE_STIFFNESS = 0.03
"""Table 2, k_b."""

BONE_DAMPING = 0.03
"""Table 2, C_b."""

SAFETY = 0.7
"""Part of the largest stable time step that is used."""

SETTLED_DISTANCE = 0.01
"""Particles are settled where none has farther to go than this part of the smallest radius."""

MOST_STEPS = 6000
"""Steps after which particles that are not settled stay as they are."""

STEPS_BETWEEN_CHECKS = 50

RUNAWAY = 10.0
"""Particles that are farther from where their bones carry them than this many extents of the pose are flying off."""

TINY = 1e-300


@dataclass(frozen=True)
class Springs:
    """Which particles are neighbors.

    Attributes
    ----------
    first, second : int arrays, shape (E,)
        The two particles of each spring, ordered by the first.
    lengths : float64 array, shape (E,)
        At which each has no force.
    by_second : int array, shape (E,)
        The springs, ordered by the second particle.
    first_starts, second_starts : int arrays
        Where in either order each particle begins that is the first, or the second, of any.
    counts : int array, shape (P,)
        Springs of each particle.
    """

    first: np.ndarray
    second: np.ndarray
    lengths: np.ndarray
    by_second: np.ndarray
    first_starts: np.ndarray
    second_starts: np.ndarray
    counts: np.ndarray


def find_springs(centers: np.ndarray, radii: np.ndarray) -> Springs:
    """Connect particles that are so near at rest that none fits between them.

    Parameters
    ----------
    centers : float array, shape (P, 3)
        At rest.
    radii : float array, shape (P,)

    Notes
    -----
    Section 3.1: that is, the gap between the two is narrower than the smallest particle. Two deviations:

    - The length of a spring is the distance at rest, not r_i + r_j (eq 1). Spheres of two sizes overlap and leave
      gaps where they meet, and the range reaches past those that touch, so with r_i + r_j the rest pose is not at rest.
    - Neighbors stay neighbors. The paper compares all pairs at each step, so particles change positions: the skin then
      gets bumps of the size of particles and tears where it is twisted, and which positions they take depends on the
      frames before. With springs that stay, the volume holds less well.
    """
    smallest = float(radii.min(initial=np.inf))
    pairs = find_pairs(centers, radii + smallest, 1.0 - 1e-6)  # r_i + r_j + 2 r, which is exactly where one fits
    lengths = np.linalg.norm(centers[pairs[:, 1]] - centers[pairs[:, 0]], axis=1)
    by_second = np.argsort(pairs[:, 1], kind="stable")
    return Springs(
        first=pairs[:, 0].copy(),
        second=pairs[:, 1].copy(),
        lengths=lengths,
        by_second=by_second,
        first_starts=np.flatnonzero(np.diff(pairs[:, 0], prepend=-1)),
        second_starts=np.flatnonzero(np.diff(pairs[by_second, 1], prepend=-1)),
        counts=np.bincount(pairs.ravel(), minlength=len(centers)),
    )


def find_masses(radii: np.ndarray) -> np.ndarray:
    """Masses of particles, shape (P,): their volumes (section 4)."""
    return 4.0 / 3.0 * np.pi * np.asarray(radii, np.float64) ** 3


def find_time_step(masses: np.ndarray, counts: np.ndarray) -> float:
    """The paper's time step, divided into as many equal ones as it takes to be stable.

    Parameters
    ----------
    masses : float array, shape (P,)
    counts : int array, shape (P,)
        Springs of each particle.

    Notes
    -----
    Heun's method amplifies an undamped oscillation of frequency w by 1 + (w h)^4 / 8 a step; damping at the rate
    d takes away d h / 2. So w^4 h^3 < 4 d is needed for all modes of the springs. Stiffness is at most
    s_i = 2 (sum of the springs' k) + k_b at a particle (Gershgorin), and with the inequality of Cauchy and Schwarz
    w^4 / d <= max of s_i^2 / (C_b m_i). The damping itself needs h (2 C + C_b) / m < 2. The paper's 0.003 is stable by
    this rule for radii above some 0.07, in fact above some 0.03; lighter particles need less.
    """
    stiffness = 2.0 * COMPRESSION * STIFFNESS * counts + BONE_STIFFNESS
    oscillation = np.cbrt(4.0 * BONE_DAMPING * masses / stiffness**2)
    decay = 2.0 * masses / (2.0 * DAMPING + BONE_DAMPING)
    largest = SAFETY * float(np.minimum(oscillation, decay).min(initial=np.inf))
    return TIME_STEP / np.ceil(TIME_STEP / largest) if largest < TIME_STEP else TIME_STEP


def find_forces(points: np.ndarray, velocities: np.ndarray, goals: np.ndarray, springs: Springs) -> np.ndarray:
    """Forces on particles (eq 6), shape (3, P).

    Parameters
    ----------
    points, velocities : float64 arrays, shape (3, P)
    goals : float64 array, shape (3, P)
        Where the bones alone carry the particles: x_0i.

    Notes
    -----
    Eq 1, 2, 3 and 5. Eq 3 is printed with k_b (x_i - x_0i), which pushes away: the text wants it to pull, so -k_b.
    """
    state = np.concatenate([points, velocities])
    change = _take(state, springs.second)
    change -= _take(state, springs.first)
    between = change[:3]
    distances = np.sqrt(np.einsum("ie,ie->e", between, between))
    between *= _pull(distances, springs.lengths)
    sums = np.zeros_like(state)
    if len(springs.first):
        first, second = springs.first[springs.first_starts], springs.second[springs.by_second[springs.second_starts]]
        sums[:, first] = np.add.reduceat(change, springs.first_starts, axis=1)
        sums[:, second] -= np.add.reduceat(_take(change, springs.by_second), springs.second_starts, axis=1)
    forces = _bone_forces(points, velocities, goals)
    forces += sums[:3]
    forces += sums[3:] * (DAMPING / np.maximum(springs.counts, 1))
    return forces


def _take(rows: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """`rows[:, indices]`; "clip" changes no index here, and spares NumPy a copy that costs more than all the rest."""
    return np.take(rows, indices, axis=1, mode="clip")


def find_forces_of_all_pairs(
    points: np.ndarray, velocities: np.ndarray, goals: np.ndarray, radii: np.ndarray
) -> np.ndarray:
    """The same as the paper computes it: all pairs are compared, with r_i + r_j for lengths. Memory and time O(P^2).

    Parameters
    ----------
    points, velocities, goals : float64 arrays, shape (3, P)
    radii : float64 array, shape (P,)
    """
    between = points[:, None, :] - points[:, :, None]  # from i to j at [i, j]
    distances = np.sqrt(np.einsum("aij,aij->ij", between, between))
    lengths = radii[:, None] + radii
    near = distances < (lengths + 2.0 * radii.min(initial=np.inf)) * (1.0 - 1e-6)
    np.fill_diagonal(near, val=False)
    forces = np.einsum("aij,ij->ai", between, np.where(near, _pull(distances, lengths), 0.0))
    counts = near.sum(axis=1)
    means = (velocities @ near.T) / np.maximum(counts, 1)
    forces -= DAMPING * np.where(counts > 0, velocities - means, 0.0)
    return forces + _bone_forces(points, velocities, goals)


def _pull(distances: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Force of springs over their length (eq 1): what the vector to the other end is multiplied by. 0 at distance 0."""
    stretches = distances - lengths
    stiffness = np.where(stretches < 0, COMPRESSION * STIFFNESS, STIFFNESS)
    return stiffness * stretches / np.maximum(distances, TINY)


def _bone_forces(points: np.ndarray, velocities: np.ndarray, goals: np.ndarray) -> np.ndarray:
    return BONE_STIFFNESS * (goals - points) - BONE_DAMPING * velocities


def step_with_neighbors(
    points: np.ndarray,
    velocities: np.ndarray,
    goals: np.ndarray,
    masses: np.ndarray,
    springs: Springs,
    time_step: float = TIME_STEP,
) -> tuple[np.ndarray, np.ndarray]:
    """One step with lists of neighbors: points and velocities after it, shape (3, P). Time O(P).

    Parameters
    ----------
    points, velocities, goals : float64 arrays, shape (3, P)
    masses : float64 array, shape (P,)
    """
    return _step(points, velocities, lambda x, v: find_forces(x, v, goals, springs) / masses, time_step)


def step_all_pairs(
    points: np.ndarray,
    velocities: np.ndarray,
    goals: np.ndarray,
    masses: np.ndarray,
    radii: np.ndarray,
    time_step: float = TIME_STEP,
) -> tuple[np.ndarray, np.ndarray]:
    """One step as in the paper's Table 3, comparing all pairs: points and velocities after it, shape (3, P).

    For comparison only: 238 and 711 particles are what it is for.

    Parameters
    ----------
    points, velocities, goals : float64 arrays, shape (3, P)
    masses, radii : float64 arrays, shape (P,)
    """
    return _step(points, velocities, lambda x, v: find_forces_of_all_pairs(x, v, goals, radii) / masses, time_step)


def _step(
    points: np.ndarray,
    velocities: np.ndarray,
    accelerate: Callable[[np.ndarray, np.ndarray], np.ndarray],
    time_step: float,
) -> tuple[np.ndarray, np.ndarray]:
    """The improved Euler method (Heun; section 4)."""
    first = accelerate(points, velocities)
    guess = velocities + time_step * first
    second = accelerate(points + time_step * velocities, guess)
    return points + 0.5 * time_step * (velocities + guess), velocities + 0.5 * time_step * (first + second)


def settle_particles(
    goals: np.ndarray, masses: np.ndarray, springs: Springs, tolerance: float
) -> tuple[np.ndarray, int]:
    """Let particles move from where their bones carry them until they are still.

    Parameters
    ----------
    goals : float64 array, shape (3, P)
        Where they start, and where their bones pull them.
    masses : float64 array, shape (P,)
    tolerance : float
        How far from rest they may stop.

    Returns
    -------
    points : float64 array, shape (3, P)
        Finite if the goals are: those of the last check if particles fly off, which `find_time_step` prevents.
    steps : int
        How many it took; `MOST_STEPS` where they were not settled by then.

    Notes
    -----
    In the paper the steps go on while the user poses, so where a particle is depends on what was before. Here each
    pose starts anew. A particle counts as still where forces without damping would be held by a pull of its bone over
    less than the tolerance, and where its velocity, which dies off at k_b / C_b, leads less far than that.
    """
    time_step = find_time_step(masses, springs.counts)
    room = RUNAWAY * np.ptp(goals, axis=1).max(initial=0.0)
    points, velocities, steps = goals, np.zeros_like(goals), 0
    with np.errstate(all="ignore"):
        while steps < MOST_STEPS and not _is_still(points, velocities, goals, springs, tolerance):
            last = points
            for _ in range(STEPS_BETWEEN_CHECKS):
                points, velocities = step_with_neighbors(points, velocities, goals, masses, springs, time_step)
            if not np.abs(points - goals).max(initial=0.0) <= room:  # so written, it catches NaN
                return last, steps
            steps += STEPS_BETWEEN_CHECKS
    return points, steps


def _is_still(
    points: np.ndarray, velocities: np.ndarray, goals: np.ndarray, springs: Springs, tolerance: float
) -> bool:
    ways = find_forces(points, np.zeros_like(points), goals, springs) / BONE_STIFFNESS
    coasting = velocities * (BONE_DAMPING / BONE_STIFFNESS)
    return bool(max(np.abs(ways).max(initial=0.0), np.abs(coasting).max(initial=0.0)) <= tolerance)
