"""Keep all layers of a character apart in a pose, as the node modifiers do, on arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .limb_grids import LimbGrids, NearLimbs, push_out
from .tuck import Cover, tuck


@dataclass(frozen=True)
class LimbPlan:
    """Limbs that loose cloth is pushed out of, with the gap in armature space."""

    grids: LimbGrids
    near: NearLimbs
    gap: float


@dataclass(frozen=True)
class CoverPlan:
    """A layer above a mesh, by its name. Heights of the cover, `gap` and `give` are in armature space."""

    above: str
    cover: Cover
    gap: float
    give: float


@dataclass(frozen=True)
class LayerPlan:
    """Limbs and layers that keep a mesh outside of, or beneath, others.

    Attributes
    ----------
    neighbors : int array, shape (V, 4)
        From `find_neighbors`.
    limbs : LimbPlan or None
        For loose cloth.
    covers : tuple of CoverPlan
        The outermost layer first.
    anchors : int array, shape (V,), or None
        From `find_anchors`, if there are stiff parts.
    """

    neighbors: np.ndarray
    limbs: LimbPlan | None
    covers: tuple[CoverPlan, ...]
    anchors: np.ndarray | None = None


def keep_apart(
    plans: Mapping[str, LayerPlan], posed: Mapping[str, np.ndarray], matrices: np.ndarray
) -> dict[str, np.ndarray]:
    """Keep the meshes of a pose apart.

    Parameters
    ----------
    plans : mapping
        By the meshes' names, the outermost first.
    posed : mapping of float arrays, shape (V, 3)
        By name, in armature space. Other layers are left out. The result is like it.
    matrices : float array, shape (B, 4, 4)
        From rest to pose, of all joints.
    """
    found = dict(posed)
    for name, plan in plans.items():
        if name not in found:
            continue
        points = found[name]
        if plan.limbs is not None:
            grids, near, gap = plan.limbs.grids, plan.limbs.near, plan.limbs.gap
            points = push_out(points, matrices, grids, near, plan.neighbors, gap, plan.anchors)
        for one in plan.covers:
            if one.above in found:
                points = tuck(points, found[one.above], one.cover, plan.neighbors, one.gap, one.give, plan.anchors)
        found[name] = points
    return found
