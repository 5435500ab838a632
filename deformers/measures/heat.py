"""Colors for values on a skin: stretch to both sides of 1, and values that rise from 0."""

from __future__ import annotations

import numpy as np

from ..geometry.vectors import measure_lengths

SKIN = (0.72, 0.72, 0.72)


def stretch_vertices(rest: np.ndarray, posed: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Mean binary logarithm of the stretch of the edges around each vertex, shape (V,).

    Parameters
    ----------
    rest, posed : float arrays, shape (V, 3)
        In one unit.
    edges : int array, shape (E, 2)
    """
    before, after = (measure_lengths(points[edges[:, 1]] - points[edges[:, 0]]) for points in (rest, posed))
    kept = before > 1e-9 * max(float(before.max(initial=0.0)), 1e-30)
    edges = edges[kept]
    logs = np.log2(np.maximum(after[kept], 1e-3 * before[kept]) / before[kept])
    sums, counts = np.zeros(len(rest)), np.zeros(len(rest))
    for column in (0, 1):
        sums += np.bincount(edges[:, column], logs, len(rest))
        counts += np.bincount(edges[:, column], minlength=len(rest))
    return sums / np.maximum(counts, 1.0)


def color_stretch(values: np.ndarray) -> np.ndarray:
    """Colors of `stretch_vertices`: blue for compressed, red for stretched skin.

    `values`, float array, shape (V,). Returns a float array, shape (V, 3): sRGB.
    """
    full_stretch = 1.0  # Binary logarithm at the ends of the scale of stretch: half, and double the length
    scale = np.asarray(values) / full_stretch
    # sRGB, halfway to the end of the scale and at it
    pressed, drawn = ((0.30, 0.55, 0.95), (0.05, 0.12, 0.75)), ((1.0, 0.72, 0.25), (0.85, 0.05, 0.05))
    stops = np.array([pressed[1], pressed[0], SKIN, drawn[0], drawn[1]])
    return _mix(scale, np.linspace(-1.0, 1.0, len(stops)), stops)


def color_rising(values: np.ndarray, full: float) -> np.ndarray:
    """Colors, sRGB, shape (V, 3), of values from 0, shape (V,); `full` is the end of the scale."""
    # sRGB at a third, two thirds and the end of the scale
    rising = ((0.98, 0.92, 0.45), (0.95, 0.50, 0.10), (0.75, 0.02, 0.10))
    stops = np.array([SKIN, *rising])
    return _mix(np.asarray(values) / max(full, 1e-30), np.linspace(0.0, 1.0, len(stops)), stops)


def _mix(values: np.ndarray, positions: np.ndarray, stops: np.ndarray) -> np.ndarray:
    return np.stack([np.interp(values, positions, channel) for channel in stops.T], axis=1)
