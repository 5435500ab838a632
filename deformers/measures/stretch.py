"""Stretch of a skin's edges in a pose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..geometry.vectors import measure_edges

# Stretch of a torn edge
MIN_TEAR = 3.0

# In median edges: shorter edges count as this long, so that slivers do not dominate.
MIN_EDGE = 0.25


@dataclass(frozen=True)
class EdgeStretch:
    """Posed over rest length of a mesh's edges.

    Attributes
    ----------
    rms : float
        Of stretch - 1.
    low, high : floats
        Quantiles at 0.1 % and 99.9 %.
    tears : int
        Number of torn edges.
    """

    rms: float
    low: float
    high: float
    tears: int


def mesh_edges(faces: np.ndarray) -> np.ndarray:
    """Edges, int array, shape (E, 2), each once and ascending, of faces, shape (F, corners)."""
    sides = np.sort(np.stack([faces, np.roll(faces, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
    return np.unique(sides, axis=0)


def edge_stretches(rest: np.ndarray, posed: np.ndarray, edges: np.ndarray, floor: float = 0.0) -> np.ndarray:
    """Posed over rest length of edges: float array, (E,).

    Parameters
    ----------
    rest, posed : float arrays, shape (V, 3)
        In one unit.
    edges : int array, shape (E, 2)
    floor : float
        Edges that are shorter at rest count as this long at rest, and as at least this long posed.
    """
    before, after = measure_edges(rest, edges), measure_edges(posed, edges)
    return np.where(before < floor, np.maximum(after, floor), after) / np.maximum(before, max(floor, 1e-30))


def measure_stretch(
    rest: np.ndarray, posed: np.ndarray, edges: np.ndarray, floor: float | None = None, tear: float = MIN_TEAR
) -> EdgeStretch:
    """Measure the stretch of edges.

    Parameters
    ----------
    rest, posed : float arrays, shape (V, 3)
        In one unit.
    edges : int array, shape (E, 2)
    floor : float, optional
        See `edge_stretches`; by default `MIN_EDGE` of the median edge at rest.
    tear : float
        Stretch of a torn edge.

    Returns
    -------
    EdgeStretch
        NaN, and no tears, for a mesh without edges.
    """
    if not len(edges):
        return EdgeStretch(np.nan, np.nan, np.nan, 0)
    if floor is None:
        floor = MIN_EDGE * float(np.median(measure_edges(rest, edges)))
    stretches = edge_stretches(rest, posed, edges, floor)
    # Reported instead of the least and the largest stretch, which single edges would dominate
    extreme_quantiles = (0.001, 0.999)
    low, high = np.quantile(stretches, extreme_quantiles)
    rms = float(np.sqrt(np.mean((stretches - 1.0) ** 2)))
    return EdgeStretch(rms, float(low), float(high), int((stretches > tear).sum()))
