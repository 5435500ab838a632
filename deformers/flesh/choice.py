"""Choose among several skins of a joint by the measures of `measures.folds` and `outer`."""

from __future__ import annotations

import numpy as np

# What a thickness counts beside a crease: 2 to 8 choose nearly alike; and what a flat outer side counts
THICKNESS_WEIGHT, OUTER_WEIGHT = 4.0, 1.0

# A skin that moves no point as far from the base, in heights of the character, is the base: 2 mm of 1.8 m.
MIN_CHANGE = 2.0 / 1800.0


def measure_change(base: np.ndarray, skin: np.ndarray, near: np.ndarray) -> float:
    """The largest distance of a skin from the base, both (V, 3), among the points `near`, bool (V,) or indices."""
    return float(np.linalg.norm(np.asarray(skin)[near] - np.asarray(base)[near], axis=1).max(initial=0.0))


def find_costs(measures: np.ndarray) -> np.ndarray:
    """The costs, (...), of skins by their crease, thickness and flat outer side, (..., 3)."""
    measures = np.asarray(measures, np.float64)
    return np.log2(1.0 + measures[..., 0]) + THICKNESS_WEIGHT * measures[..., 1] + OUTER_WEIGHT * measures[..., 2]


def choose_skin(measures: np.ndarray, changes: np.ndarray, height: float) -> int:
    """Choose one skin for all poses of a joint in one direction, and for both sides of the body.

    Parameters
    ----------
    measures : float array, shape (C, P, 3)
        Crease and thickness of each candidate in each pose, from `FoldMeter.measure`, and its flat outer side, from
        `OuterMeter.measure`; the first candidate is the base. Poses of the other side are further poses.
    changes : float array, shape (C, P)
        Distances from the base, from `measure_change`.
    height : float
        Of the character, in the unit of the distances.

    Returns
    -------
    int
        The candidate; 0, the base, also if the best candidate changes next to nothing.

    Notes
    -----
    The least mean cost over the poses. A worst pose would compare different poses of the candidates, and a crease jumps
    as folds pass the threshold: one of them would decide. In the mean, deep bends count most anyway, as they cost most.
    """
    costs = find_costs(measures).mean(axis=1)
    best = int(np.argmin(costs))
    return best if np.max(changes[best], initial=0.0) >= MIN_CHANGE * height else 0
