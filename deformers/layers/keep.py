"""All layers of a character kept apart in a pose, the outermost first: what node modifiers do, on arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .limb_grids import LimbGrids, NearLimbs, push_out
from .tuck import Cover, tuck


@dataclass(frozen=True)
class LimbPlan:
    """What loose cloth is pushed out of.

    Attributes
    ----------
    gap : float
        In armature space.
    """

    grids: LimbGrids
    near: NearLimbs
    gap: float


@dataclass(frozen=True)
class CoverPlan:
    """What a mesh gives way beneath.

    Attributes
    ----------
    above : str
        Name of the layer.
    cover : Cover
        Heights in armature space, as `gap` and `give`.
    """

    above: str
    cover: Cover
    gap: float
    give: float


@dataclass(frozen=True)
class LayerPlan:
    """What keeps one mesh outside, or beneath, of others.

    Attributes
    ----------
    neighbors : int array, shape (V, 4)
        From `find_neighbors`.
    limbs : LimbPlan or None
        For loose cloth.
    covers : tuple of CoverPlan
        The outermost layer first.
    anchors : int array, shape (V,), or None
        Of stiff parts, from `find_anchors`.
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
        By name, in armature space. Layers that are not among them are left out.
    matrices : float array, shape (B, 4, 4)
        Of all joints, from rest to pose.

    Returns
    -------
    dict of float arrays, shape (V, 3)
        All that were posed.
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
