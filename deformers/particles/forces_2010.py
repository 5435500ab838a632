"""Forces between particles and their bones, and the steps that settle them (Yamamoto & Tokoi 2010, sections 3 and 4).

The paper's constants require a character whose largest extent is `UNIT_SIZE`. Points, velocities and forces are rows
x, y, z, float64, shape (3, P): NumPy needs half the time of (P, 3) for them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..geometry.neighbors import find_pairs

# Largest extent of a character here. The paper gives no unit: with this one, its box (Table 1) contains as many
# particles as it says.
UNIT_SIZE = 2.5

# Table 2: time step; k_d of springs longer than at rest; C, against the mean velocity of the neighbors; k_b and C_b
TIME_STEP = 0.003
STIFFNESS, DAMPING = 0.3, 0.03
BONE_STIFFNESS, BONE_DAMPING = 0.03, 0.03

# Springs that are shorter than at rest are this many times stiffer. The paper says stiffer, but not how much.
COMPRESSION = 1.5

# Particles are settled if none has farther to go than this share of the smallest radius.
SETTLED_DISTANCE = 0.01

# After so many steps, particles stay as they are.
MAX_STEPS = 6000

TINY = 1e-300


@dataclass(frozen=True)
class Springs:
    """Springs between neighboring particles.

    Attributes
    ----------
    first, second : int arrays, shape (E,)
        The two particles of each spring, ordered by the first.
    lengths : float64 array, shape (E,)
        Lengths at rest.
    by_second : int array, shape (E,)
        Springs, ordered by the second particle.
    first_starts, second_starts : int arrays, shape (n,)
        Index, in either order, of the first spring of each particle with springs.
    counts : int array, shape (P,)
        Number of springs of each particle.
    """

    first: np.ndarray
    second: np.ndarray
    lengths: np.ndarray
    by_second: np.ndarray
    first_starts: np.ndarray
    second_starts: np.ndarray
    counts: np.ndarray


def find_springs(centers: np.ndarray, radii: np.ndarray) -> Springs:
    """Connect particles that are so near at rest that no other fits between them.

    Parameters
    ----------
    centers : float array, shape (P, 3)
        At rest.
    radii : float array, shape (P,)

    Notes
    -----
    Section 3.1: the gap between the two is narrower than the smallest particle. Two deviations:

    - The length of a spring is the distance at rest, not r_i + r_j (eq 1). Spheres of two sizes overlap and leave
      gaps where they meet, and springs also connect spheres that do not touch, so with r_i + r_j the rest pose would
      not be at rest.
    - Neighbors stay neighbors. The paper compares all pairs at each step, so particles change positions: the skin then
      gets bumps of the size of particles, tears where it is twisted, and depends on the frames before. With constant
      springs, the volume is kept less well.
    """
    smallest = float(radii.min(initial=np.inf))
    pairs = find_pairs(centers, radii + smallest, 1.0 - 1e-6)  # r_i + r_j + 2 r, at which one just fits
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
    """Masses of particles, shape (P,), which are their volumes (section 4)."""
    return 4.0 / 3.0 * np.pi * np.asarray(radii, np.float64) ** 3


def find_time_step(masses: np.ndarray, counts: np.ndarray) -> float:
    """Divide the paper's time step into as many equal steps as are needed for stability.

    Parameters
    ----------
    masses : float array, shape (P,)
    counts : int array, shape (P,)
        Number of springs of each particle.

    Notes
    -----
    Heun's method amplifies an undamped oscillation of frequency w by 1 + (w h)^4 / 8 in a step. Damping at the rate d
    reduces it by d h / 2. So w^4 h^3 < 4 d is needed for all modes of the springs. Stiffness is at most
    s_i = 2 (sum of the springs' k) + k_b at a particle (Gershgorin), and with the inequality of Cauchy and Schwarz
    w^4 / d <= max of s_i^2 / (C_b m_i). The damping itself needs h (2 C + C_b) / m < 2. The paper's 0.003 is stable by
    this rule for radii above about 0.07, and in fact above about 0.03. Lighter particles need less.
    """
    safety = 0.7  # share of the largest stable step
    stiffness = 2.0 * COMPRESSION * STIFFNESS * counts + BONE_STIFFNESS
    oscillation = np.cbrt(4.0 * BONE_DAMPING * masses / stiffness**2)
    decay = 2.0 * masses / (2.0 * DAMPING + BONE_DAMPING)
    largest = safety * float(np.minimum(oscillation, decay).min(initial=np.inf))
    return TIME_STEP / np.ceil(TIME_STEP / largest) if largest < TIME_STEP else TIME_STEP


def find_forces(points: np.ndarray, velocities: np.ndarray, goals: np.ndarray, springs: Springs) -> np.ndarray:
    """Forces on particles (eq 6), shape (3, P).

    Parameters
    ----------
    points, velocities : float64 arrays, shape (3, P)
    goals : float64 array, shape (3, P)
        Positions by the bones alone, x_0i.

    Notes
    -----
    Eq 1, 2, 3 and 5. Eq 3 is printed with k_b (x_i - x_0i), which pushes away. The text wants it to pull, hence -k_b.
    """
    state = np.concatenate([points, velocities])
    change = _take(state, springs.second)
    change -= _take(state, springs.first)
    between = change[:3]
    distances = np.sqrt(np.einsum("ie,ie->e", between, between))
    between *= find_pulls(distances, springs.lengths)
    sums = np.zeros_like(state)
    if len(springs.first):
        first, second = springs.first[springs.first_starts], springs.second[springs.by_second[springs.second_starts]]
        sums[:, first] = np.add.reduceat(change, springs.first_starts, axis=1)
        sums[:, second] -= np.add.reduceat(_take(change, springs.by_second), springs.second_starts, axis=1)
    forces = find_bone_forces(points, velocities, goals)
    forces += sums[:3]
    forces += sums[3:] * (DAMPING / np.maximum(springs.counts, 1))
    return forces


def _take(rows: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return `rows[:, indices]`. "clip" changes no index, but saves a copy that costs more than all the rest."""
    return np.take(rows, indices, axis=1, mode="clip")


def find_pulls(distances: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Force of springs divided by the distance of their ends (eq 1), 0 at distance 0, shape (...)."""
    stretches = distances - lengths
    stiffness = np.where(stretches < 0, COMPRESSION * STIFFNESS, STIFFNESS)
    return stiffness * stretches / np.maximum(distances, TINY)


def find_bone_forces(points: np.ndarray, velocities: np.ndarray, goals: np.ndarray) -> np.ndarray:
    """Forces of the bones, and their damping (eq 3 and 5), shape (3, P)."""
    return BONE_STIFFNESS * (goals - points) - BONE_DAMPING * velocities


def step_with_neighbors(
    points: np.ndarray,
    velocities: np.ndarray,
    goals: np.ndarray,
    masses: np.ndarray,
    springs: Springs,
    time_step: float = TIME_STEP,
) -> tuple[np.ndarray, np.ndarray]:
    """Take a step in O(P): points and velocities after it, shape (3, P). Masses have shape (P,)."""
    return step_by_heun(points, velocities, lambda x, v: find_forces(x, v, goals, springs) / masses, time_step)


def step_by_heun(
    points: np.ndarray,
    velocities: np.ndarray,
    accelerate: Callable[[np.ndarray, np.ndarray], np.ndarray],
    time_step: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Take a step of the improved Euler method (Heun, section 4): points and velocities, shape (3, P), after it."""
    first = accelerate(points, velocities)
    guess = velocities + time_step * first
    second = accelerate(points + time_step * velocities, guess)
    return points + 0.5 * time_step * (velocities + guess), velocities + 0.5 * time_step * (first + second)


def settle_particles(
    goals: np.ndarray, masses: np.ndarray, springs: Springs, tolerance: float
) -> tuple[np.ndarray, int]:
    """Let particles move from the positions by their bones until they are still.

    Parameters
    ----------
    goals : float64 array, shape (3, P)
        Initial positions, and positions that their bones pull them to.
    masses : float64 array, shape (P,)
    tolerance : float
        Largest distance from rest at which they may stop.

    Returns
    -------
    points : float64 array, shape (3, P)
        Finite if the goals are: the positions of the last check if particles fly off, which `find_time_step` prevents.
    steps : int
        Number of steps, `MAX_STEPS` if the particles did not settle.

    Notes
    -----
    In the paper, the steps continue while the user poses, so the positions depend on the frames before. Here each pose
    starts anew. A particle is still if forces without damping would be balanced by a pull of its bone over less than
    the tolerance, and if its velocity, which decays at k_b / C_b, leads less far than that.
    """
    between_checks, max_extents = 50, 10.0  # particles farther from their goals, in extents of the pose, are flying off
    time_step = find_time_step(masses, springs.counts)
    room = max_extents * np.ptp(goals, axis=1).max(initial=0.0)
    points, velocities, steps = goals, np.zeros_like(goals), 0
    with np.errstate(all="ignore"):
        while steps < MAX_STEPS and not _is_still(points, velocities, goals, springs, tolerance):
            last = points
            for _ in range(between_checks):
                points, velocities = step_with_neighbors(points, velocities, goals, masses, springs, time_step)
            if not np.abs(points - goals).max(initial=0.0) <= room:  # written so that it catches NaN
                return last, steps
            steps += between_checks
    return points, steps


def _is_still(
    points: np.ndarray, velocities: np.ndarray, goals: np.ndarray, springs: Springs, tolerance: float
) -> bool:
    ways = find_forces(points, np.zeros_like(points), goals, springs) / BONE_STIFFNESS
    coasting = velocities * (BONE_DAMPING / BONE_STIFFNESS)
    return bool(max(np.abs(ways).max(initial=0.0), np.abs(coasting).max(initial=0.0)) <= tolerance)
