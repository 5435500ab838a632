"""Stiff parts of layers, such as buckles and plates. Each moves like a vertex of the mesh."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def find_anchors(points: np.ndarray, parts: Sequence[np.ndarray]) -> np.ndarray | None:
    """Find the vertex that each vertex moves like, int, shape (V,), or None without stiff parts.

    The vertices of a part move like the vertex nearest to its middle that is not stiff. If that is farther than the
    part is long, they move like the part's own vertex nearest to its middle. Points, (V, 3), are at rest.
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
