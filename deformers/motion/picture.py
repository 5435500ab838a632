"""A table of frames as a picture: bright where frames are alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

SMALLEST, LARGEST = 480, 4096
"""Pixels of the longer side, about: small tables are enlarged, large ones are drawn in steps."""

DARKEST = 60.0
"""Percentile of the differences from which on all is drawn dark."""

RAMP = np.array([[1.0, 0.96, 0.78], [0.98, 0.66, 0.36], [0.71, 0.21, 0.47], [0.27, 0.07, 0.42], [0.02, 0.02, 0.07]])
"""Colors from no difference to the largest, equally apart, sRGB."""

RING = np.array([0.1, 0.95, 0.55])
BEST_RING = np.array([0.2, 0.75, 1.0])
RING_RADIUS, RING_WIDTH = 6.0, 1.5
"""Pixels of what marks a transition."""


def draw_table(table: np.ndarray, marks: Sequence[tuple[int, int]] = ()) -> np.ndarray:
    """Draw a table, with rings about some entries, the first of which is the best.

    Parameters
    ----------
    table : float array, shape (FA, FB)
        Differences.
    marks : sequence of (int, int)
        Row and column of each.

    Returns
    -------
    float32 array, shape (H, W, 3)
        sRGB, the first row at the bottom: the frames of the first motion go up, those of the second to the right.
    """
    longest = max(table.shape)
    step, size = -(-longest // LARGEST), max(1, SMALLEST // longest)
    shown = np.repeat(np.repeat(table[::step, ::step], size, axis=0), size, axis=1)
    shares = np.clip(shown / max(float(np.percentile(table, DARKEST)), 1e-12), 0.0, 1.0) * (len(RAMP) - 1)
    low = np.minimum(shares.astype(np.intp), len(RAMP) - 2)
    colors = RAMP[low] + (shares - low)[..., None] * (RAMP[low + 1] - RAMP[low])
    for number, mark in reversed(list(enumerate(marks))):
        center = (np.array(mark) // step + 0.5) * size
        _draw_ring(colors, center, RING if number else BEST_RING)
    return colors.astype(np.float32)


def _draw_ring(colors: np.ndarray, center: np.ndarray, color: np.ndarray) -> None:
    """Draw a ring about a position in pixels, shape (2,), in colors, shape (H, W, 3)."""
    reach = int(RING_RADIUS + RING_WIDTH) + 2
    rows, columns = (
        np.arange(max(0, int(middle) - reach), min(size, int(middle) + reach + 1))
        for middle, size in zip(center, colors.shape, strict=False)
    )
    distances = np.hypot(rows[:, None] + 0.5 - center[0], columns + 0.5 - center[1])
    cover = np.clip(RING_WIDTH + 0.5 - np.abs(distances - RING_RADIUS), 0.0, 1.0)[..., None]
    part = colors[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    part += cover * (color - part)
