"""Find the joints that a continuous piece of skin crosses. Flesh would separate plates or balls that meet there."""

from __future__ import annotations

import numpy as np

from ..geometry.solid import label_islands, vertex_areas, weld


def find_continuous(points: np.ndarray, triangles: np.ndarray, sides: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Find the joints that one island crosses, bool, shape (B,).

    Parameters
    ----------
    points, triangles : float and int arrays, shapes (V, 3) and (T, 3)
    sides : float array, shape (V, B)
        Weight of each joint and all joints below it, 0 to 1.
    radii : float array, shape (V,)
        Radius of the limb around each vertex, in the unit of the points.
    """
    # Area on each side in squares of the limb's radius: a tube has six if it is as long as wide.
    min_weight, min_area = 0.75, 4.0
    areas, islands = vertex_areas(points, triangles), label_islands(weld(points), triangles)
    mixed = areas[:, None] * sides * (1.0 - sides)
    limbs = (radii @ mixed) / np.maximum(mixed.sum(axis=0), 1e-30)
    order = np.argsort(islands, kind="stable")
    starts = np.flatnonzero(np.diff(islands[order], prepend=-1))
    areas, sides = areas[order, None], sides[order]
    least = np.minimum(
        *(np.add.reduceat(areas * held, starts) for held in (sides < 1.0 - min_weight, sides > min_weight))
    )
    return (limbs > 0.0) & (least.max(axis=0, initial=0.0) >= min_area * limbs * limbs)
