"""Across which joints one piece of skin goes on: where plates or balls meet, flesh would only part them."""

from __future__ import annotations

import numpy as np

from ..geometry.solid import label_islands, vertex_areas, weld

HELD = 0.75
"""Weight of one side of a joint from which on skin is of that side."""

LEAST_SKIN = 4.0
"""Area of skin that an island has on each side of a joint that it goes across, in squares of the limb's radius: a tube
has six where it is as long as it is wide."""


def find_continuous(points: np.ndarray, triangles: np.ndarray, sides: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Across which joints one island goes on, bool array, shape (B,).

    Parameters
    ----------
    points : float array, shape (V, 3)
        At rest.
    triangles : int array, shape (T, 3)
    sides : float array, shape (V, B)
        Weight of each joint and all below it, 0 to 1.
    radii : float array, shape (V,)
        Of the limb around each vertex, unit of the points.
    """
    areas, islands = vertex_areas(points, triangles), label_islands(weld(points), triangles)
    mixed = areas[:, None] * sides * (1.0 - sides)
    limbs = (radii @ mixed) / np.maximum(mixed.sum(axis=0), 1e-30)
    order = np.argsort(islands, kind="stable")
    starts = np.flatnonzero(np.diff(islands[order], prepend=-1))
    areas, sides = areas[order, None], sides[order]
    least = np.minimum(*(np.add.reduceat(areas * held, starts) for held in (sides < 1.0 - HELD, sides > HELD)))
    return (limbs > 0.0) & (least.max(axis=0, initial=0.0) >= LEAST_SKIN * limbs * limbs)
