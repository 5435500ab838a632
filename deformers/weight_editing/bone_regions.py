"""Mistakes in weights relative to the skeleton: regions of bones that are not adjacent as the bones are."""

from __future__ import annotations

import numpy as np

from ..rig.rest import Weights, normalize_weights

# Steps along the skeleton between bones with adjacent regions: some bones move no skin of their own.
MAX_STEPS = 2


def find_misplaced(owners: np.ndarray, edges: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """Bones whose region is adjacent to others, but to none of a nearby bone, such as after groups were swapped.

    Parameters
    ----------
    owners : int array, shape (V,)
        The bone with most weight in each vertex, -1 for none.
    edges : int array, shape (E, 2)
    parents : int array, shape (B,)

    Returns
    -------
    bool array, shape (B,)
    """
    count = len(parents)
    pairs = owners[edges]
    pairs = pairs[(pairs >= 0).all(axis=1) & (pairs[:, 0] != pairs[:, 1])]
    borders = np.zeros((count, count), bool)
    borders[pairs[:, 0], pairs[:, 1]] = borders[pairs[:, 1], pairs[:, 0]] = True
    near = borders & _find_near(parents, np.isin(np.arange(count), owners))
    return np.any(borders, axis=1) & ~np.any(near, axis=1)


def _find_near(parents: np.ndarray, has_skin: np.ndarray) -> np.ndarray:
    """Pairs of bones, bool array of shape (B, B), at most `MAX_STEPS` steps apart; bones without skin make no step."""
    count = len(parents)
    steps = np.where(has_skin, 1, 0)
    distances = np.full((count, count), count)
    for bone in range(count):
        distances[bone, bone] = 0
        reached = [bone]
        for other in reached:
            joined = [int(parents[other])] if parents[other] >= 0 else []
            for near in (*joined, *np.flatnonzero(parents == other).tolist()):
                distance = distances[bone, other] + steps[near]
                if distance <= MAX_STEPS and distance < distances[bone, near]:
                    distances[bone, near] = distance
                    reached.append(near)
    return distances <= MAX_STEPS


def find_unblended(weights: Weights, owners: np.ndarray, edges: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """Joints whose skin changes from the parent's weights to their own without blending: bool array, shape (B,).

    Parameters
    ----------
    owners : int array, shape (V,)
        The bone with most weight in each vertex, -1 for none.
    edges : int array, shape (E, 2)
    parents : int array, shape (B,)
    """
    count, parents = len(parents), np.asarray(parents)
    pairs = owners[edges]
    crosses = (pairs >= 0).all(axis=1) & (pairs[:, 0] != pairs[:, 1])
    edges, pairs = edges[crosses], pairs[crosses]
    below = np.where(parents[pairs[:, 0]] == pairs[:, 1], pairs[:, 0], -1)
    below = np.where(parents[pairs[:, 1]] == pairs[:, 0], pairs[:, 1], below)
    edges, below = edges[below >= 0], below[below >= 0]
    weights = normalize_weights(weights, len(owners), count)
    used, ends = np.unique(edges, return_inverse=True)
    place = np.full(len(owners), -1)
    place[used] = np.arange(len(used))
    rows = place[weights.vertices]
    dense = np.zeros((len(used), count + 1), np.float32)
    np.add.at(dense, (rows[rows >= 0], weights.joints[rows >= 0]), weights.values[rows >= 0])
    ends = ends.reshape(-1, 2)
    shared = np.minimum(dense[ends[:, 0]], dense[ends[:, 1]]).sum(axis=1)
    total = np.bincount(below, minlength=count)
    min_shared = 0.1  # Common share of weight of the ends of a blended edge
    hard = np.bincount(below[shared < min_shared], minlength=count)
    min_edges = 6  # Between the two regions of a joint
    min_unblended = 0.75  # Of the edges between two regions
    return (total >= min_edges) & (hard >= min_unblended * total)
