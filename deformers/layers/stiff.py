"""Stiff parts of layers, such as buckles and plates: each moves as the mesh does at one of its vertices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def find_anchors(points: np.ndarray, parts: Sequence[np.ndarray]) -> np.ndarray | None:
    """The vertex that each vertex is moved like: for a stiff part it is the one nearest to its middle that is of none.

    Where none is as near as the part is long, it is the part's own nearest vertex.

    Parameters
    ----------
    points : float array, shape (V, 3)
        At rest.
    parts : sequence of int arrays
        Vertices of each part.

    Returns
    -------
    int array, shape (V,), or None
        None where there are no parts.
    """
    if not parts:
        return None
    anchors = np.arange(len(points))
    others = np.setdiff1d(anchors, np.concatenate(parts))
    for part in parts:
        middle, size = points[part].mean(axis=0), np.linalg.norm(np.ptp(points[part], axis=0))
        away = np.linalg.norm(points[others] - middle, axis=1)
        if not len(others) or away.min() > size:
            nearest = part[np.linalg.norm(points[part] - middle, axis=1).argmin()]
        else:
            nearest = others[away.argmin()]
        anchors[part] = nearest
    return anchors
