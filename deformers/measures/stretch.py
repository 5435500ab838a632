"""How a pose stretches the edges of a skin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

TEAR = 3.0
"""Posed over rest length of an edge from which on the skin counts as torn there."""

SHORT_EDGE = 0.25
"""Share of the median edge: edges that are shorter count as so long, so that slivers do not rule."""

EXTREMES = (0.001, 0.999)
"""Quantiles that are reported as the least and the largest stretch: single edges do not rule them."""


@dataclass(frozen=True)
class EdgeStretch:
    """Posed over rest length of a mesh's edges: 1 where an edge keeps its length.

    Attributes
    ----------
    rms : float
        Of stretch - 1.
    low, high : floats
        Stretch that 0.1 % of the edges are below, and above.
    tears : int
        Edges that are stretched beyond the bound.
    """

    rms: float
    low: float
    high: float
    tears: int


def mesh_edges(faces: np.ndarray) -> np.ndarray:
    """The edges, int array, shape (E, 2), each once and ascending, of faces, shape (F, corners)."""
    sides = np.sort(np.stack([faces, np.roll(faces, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
    return np.unique(sides, axis=0)


def edge_stretches(rest: np.ndarray, posed: np.ndarray, edges: np.ndarray, floor: float = 0.0) -> np.ndarray:
    """Posed over rest length of edges.

    Parameters
    ----------
    rest, posed : float arrays, shape (V, 3)
        In one unit.
    edges : int array, shape (E, 2)
    floor : float
        Edges that are shorter at rest count as so long there, and as no shorter posed.

    Returns
    -------
    float array, shape (E,)
    """
    before, after = _lengths(rest, edges), _lengths(posed, edges)
    return np.where(before < floor, np.maximum(after, floor), after) / np.maximum(before, max(floor, 1e-30))


def measure_stretch(
    rest: np.ndarray, posed: np.ndarray, edges: np.ndarray, floor: float | None = None, tear: float = TEAR
) -> EdgeStretch:
    """Measure the stretch of edges.

    Parameters
    ----------
    rest, posed : float arrays, shape (V, 3)
        In one unit.
    edges : int array, shape (E, 2)
    floor : float, optional
        See `edge_stretches`; `SHORT_EDGE` of the median edge at rest if not given.
    tear : float
        Stretch beyond which an edge counts as torn.

    Returns
    -------
    EdgeStretch
        NaN, and no tears, for a mesh without edges.
    """
    if not len(edges):
        return EdgeStretch(np.nan, np.nan, np.nan, 0)
    if floor is None:
        floor = SHORT_EDGE * float(np.median(_lengths(rest, edges)))
    stretches = edge_stretches(rest, posed, edges, floor)
    low, high = np.quantile(stretches, EXTREMES)
    rms = float(np.sqrt(np.mean((stretches - 1.0) ** 2)))
    return EdgeStretch(rms, float(low), float(high), int((stretches > tear).sum()))


def _lengths(points: np.ndarray, edges: np.ndarray) -> np.ndarray:
    return np.linalg.norm(np.asarray(points, np.float64)[edges[:, 1]] - points[edges[:, 0]], axis=1)
