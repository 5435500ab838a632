"""Weights of B-Bones: a bone's share of a vertex, divided among the ends of its segments."""

from __future__ import annotations

import numpy as np


def straight_segment_indices(along: np.ndarray, segments: int) -> tuple[np.ndarray, np.ndarray]:
    """Which segment of a straight B-Bone each point belongs to.

    Parameters
    ----------
    along : float array, shape (N,)
        Position along the bone at rest: 0 at the head, 1 at the tail; may lie beyond.

    Returns
    -------
    indices : int array, shape (N,)
    blends : float array, shape (N,)
        Share of the far end of the segment, 0 to 1; the near end has the rest.
    """
    position = along * segments
    indices = np.clip(np.floor(position), 0, segments - 1).astype(np.intp)
    return indices, np.clip(position - indices, 0.0, 1.0)
