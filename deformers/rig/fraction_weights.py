"""Weights of fractional joints: what vertices follow of the joints between two bones."""

from __future__ import annotations

import numpy as np

from .fractions import Fractions
from .rest import Rest, Weights


def extend_weights(rest: Rest) -> Weights:
    """Weights of a character's joints and their fractions: its own where there are none."""
    fractions = rest.joints.fractions
    return rest.weights if fractions is None else split_weights(rest.weights, fractions)


def split_weights(weights: Weights, fractions: Fractions) -> Weights:
    """Weights of the joints and their fractions, from those of the joints.

    Parameters
    ----------
    weights : Weights
        Need not be normalized.

    Returns
    -------
    Weights
        The same sum at each vertex.

    Notes
    -----
    The weights of bones that are joined by fractions become a position on their path, at each bone its index, and what
    is between two neighbors of the path is divided between these. So a vertex follows no more joints than before, and
    two of each path. Where paths branch, the bone above goes with the bone below that has the larger weight.
    """
    count = fractions.joint_count
    weights = _merge(weights, count)
    levels = np.bincount(fractions.last, minlength=count)
    starts = np.full(count, -1)
    starts[fractions.last[::-1]] = count + np.arange(fractions.count)[::-1]  # the first of each joint
    above = _link(weights, np.where(levels > 0, fractions.joint_parents, -1), count)
    linked = np.zeros(len(above), bool)
    linked[above[above >= 0]] = True
    linked |= above >= 0
    if not linked.any():
        return weights
    roots, depths = _walk_up(above)
    totals = np.bincount(roots, weights.values, minlength=len(roots))
    means = np.bincount(roots, depths * weights.values, minlength=len(roots))
    tops = np.flatnonzero(linked & (above < 0))
    lengths = np.zeros(len(roots), np.intp)
    np.maximum.at(lengths, roots, depths)
    positions = np.clip(means[tops] / totals[tops], 0.0, lengths[tops])
    whole = np.minimum(positions.astype(np.intp), lengths[tops] - 1)

    at = np.full((len(roots), int(lengths.max()) + 1), -1)  # entries of each path by depth
    at[roots, depths] = np.arange(len(roots))
    upper, lower = (weights.joints[at[tops, whole + step]] for step in (0, 1))
    between = (positions - whole) * (levels[lower] + 1)
    near = np.minimum(between.astype(np.intp), levels[lower])
    share = between - near
    nearer = np.where(near == 0, upper, starts[lower] + near - 1)
    farther = np.where(near == levels[lower], lower, starts[lower] + near)
    vertices, sums = weights.vertices[tops], totals[tops]
    parts = [
        (weights.vertices[~linked], weights.joints[~linked], weights.values[~linked]),
        (vertices, nearer, sums * (1.0 - share)),
        (vertices, farther, sums * share),
    ]
    joined = Weights(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True))).by_vertex()
    kept = joined.values > 0.0
    return Weights(joined.vertices[kept], joined.joints[kept], joined.values[kept])


def _merge(weights: Weights, joint_count: int) -> Weights:
    """Positive weights, each pair of vertex and joint once, ordered by both."""
    positive = weights.values > 0.0
    keys = weights.vertices[positive].astype(np.int64) * joint_count + weights.joints[positive]
    keys, which = np.unique(keys, return_inverse=True)
    values = np.bincount(which.reshape(-1), weights.values[positive], minlength=len(keys))
    return Weights(*np.divmod(keys, joint_count), values)


def _link(weights: Weights, parents: np.ndarray, count: int) -> np.ndarray:
    """For each weight that of the same vertex for the joint above it on a path, -1 for none: shape (N,).

    Of several joints below one joint, that with the largest weight is on its path.
    """
    keys = weights.vertices.astype(np.int64) * count + weights.joints
    wanted = np.where(parents[weights.joints] >= 0, keys - weights.joints + parents[weights.joints], -1)
    found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    below = np.flatnonzero((wanted >= 0) & (keys[found] == wanted))
    below = below[np.argsort(weights.values[below], kind="stable")]
    heaviest = np.full(len(keys), -1)
    heaviest[found[below]] = below  # the last that is written stays
    above = np.full(len(keys), -1)
    chosen = np.flatnonzero(heaviest >= 0)
    above[heaviest[chosen]] = chosen
    return above


def _walk_up(above: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The top of each entry's path, and how many steps it is above: two int arrays, shape (N,)."""
    roots, depths = np.arange(len(above)), np.zeros(len(above), np.intp)
    while (rising := np.flatnonzero(above[roots] >= 0)).size:
        roots[rising] = above[roots[rising]]
        depths[rising] += 1
    return roots, depths
