"""Group vertices with similar weights: parts of a skin that may share one rotation."""

from __future__ import annotations

import numpy as np

from ..algebra.products import multiply_rows
from ..rig.rest import Weights

# The centers of clusters are found from so many vertices.
SAMPLE = 4_000


def find_clusters(weights: Weights, areas: np.ndarray, bone_count: int, clusters: int) -> np.ndarray:
    """Group vertices by their weights.

    Parameters
    ----------
    weights : Weights
        Normalized weights.
    areas : float array, shape (V,)
        Weights of the vertices in the clustering.
    clusters : int
        Largest number of clusters.

    Returns
    -------
    int array, shape (V,)
        Labels from 0, without gaps.

    Notes
    -----
    Jacobson et al. 2012, section 3.3: k-means in the space of weights. Deviation: vertices count by their areas, so
    that a face or a hand of many vertices does not take all clusters. The first centers are farthest from one another,
    weighted by area (k-means++ without chance).
    """
    chosen = np.arange(0, len(areas), -(-len(areas) // SAMPLE))  # the order of vertices passes through all parts
    rows = _densify(weights, chosen, bone_count)
    centers = _seed(rows, areas[chosen], clusters)
    for _ in range(12):
        nearest = _find_nearest(rows, centers)
        totals = np.bincount(nearest, areas[chosen], minlength=len(centers))
        sums = np.zeros_like(centers)
        np.add.at(sums, nearest, rows * areas[chosen, None])
        filled = totals > 0.0
        moved = sums[filled] / totals[filled, None]
        if len(moved) == len(centers) and np.abs(moved - centers).max() < 1e-4:
            break
        centers = moved
    labels = np.empty(len(areas), int)
    for start in range(0, len(areas), SAMPLE):
        piece = np.arange(start, min(start + SAMPLE, len(areas)))
        labels[piece] = _find_nearest(_densify(weights, piece, bone_count), centers)
    return np.unique(labels, return_inverse=True)[1]


def _densify(weights: Weights, vertices: np.ndarray, bone_count: int) -> np.ndarray:
    place = np.full(weights.vertices.max() + 1, -1)
    place[vertices] = np.arange(len(vertices))
    rows = place[weights.vertices]
    dense = np.zeros((len(vertices), bone_count))
    np.add.at(dense, (rows[rows >= 0], weights.joints[rows >= 0]), weights.values[rows >= 0])
    return dense


def _seed(rows: np.ndarray, areas: np.ndarray, clusters: int) -> np.ndarray:
    """Choose rows that are far from one another, with much area near them."""
    distances = np.full(len(rows), np.inf)
    centers = [rows[areas.argmax()]]
    while len(centers) < clusters:
        distances = np.minimum(distances, ((rows - centers[-1]) ** 2).sum(axis=1))
        if distances.max() < 1e-8:
            break
        centers.append(rows[(distances * areas).argmax()])
    return np.array(centers)


def _find_nearest(rows: np.ndarray, centers: np.ndarray) -> np.ndarray:
    return ((centers**2).sum(axis=1) - 2.0 * multiply_rows(rows, centers.T)).argmin(axis=1)
