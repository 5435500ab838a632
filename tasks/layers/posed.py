"""What Stay Outside does to the poses of a character, by its kernels: without Blender, in another process too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import bpy
import numpy as np

from ...deformers import SkinningError
from ...deformers.layers.limb_grids import LimbGrids, NearLimbs, push_out
from ...deformers.layers.tuck import Cover, tuck
from ...settings.objects import settings_of
from .add import LOOSE_GAP, LOOSE_GIVE, find_thickness, plan_layer
from .read import read_dressed
from .remove import list_layered


@dataclass(frozen=True)
class KeptGarment:
    """A mesh that stays outside of others, or gives way; lengths in armature space.

    Attributes
    ----------
    neighbors : int array, shape (V, 4)
    limbs : tuple or None
        For loose cloth: the grids, what is near, and the gap.
    covers : tuple of (layer's name, cover, gap, give)
    """

    name: str
    neighbors: np.ndarray
    limbs: tuple[LimbGrids, NearLimbs, float] | None
    covers: tuple[tuple[str, Cover, float, float], ...]


@dataclass(frozen=True)
class KeptApart:
    """Meshes that are kept apart, the outermost first."""

    garments: tuple[KeptGarment, ...] = ()

    def move(self, posed: Mapping[str, np.ndarray], rest_to_pose: np.ndarray) -> dict[str, np.ndarray]:
        """Keep posed points apart.

        Parameters
        ----------
        posed : dict from a mesh's name to a float array, shape (V, 3)
            Armature space. Meshes that are not all there stay as they are.
        rest_to_pose : float array, shape (B, 4, 4)
        """
        moved = dict(posed)
        for garment in self.garments:
            if garment.name not in posed:
                continue
            points = posed[garment.name]
            if garment.limbs is not None:
                grids, near, gap = garment.limbs
                points = push_out(points, rest_to_pose[grids.bones], grids, near, garment.neighbors, gap)
            for layer, cover, gap, give in garment.covers:
                if layer in moved:
                    points = tuck(points, moved[layer], cover, garment.neighbors, gap, give)
            moved[garment.name] = points
        return moved


def read_kept_apart(armature: bpy.types.Object, meshes: Sequence[bpy.types.Object]) -> KeptApart:
    """What Stay Outside does to the meshes of a character as they are now; nothing where it is not used."""
    if not list_layered(meshes):
        return KeptApart()
    try:
        dressed = read_dressed(armature, meshes)
        plans = [plan_layer(dressed, index) for index in range(len(dressed.garments))]
    except SkinningError:  # the panel tells why it does not fit any more
        return KeptApart()
    kept, unit = [], dressed.unit
    for index, plan in enumerate(plans):
        settings, scale = settings_of(plan.garment.obj), plan.garment.scale
        limbs = None
        if plan.limbs is not None:
            limbs = (*plan.limbs, LOOSE_GAP * settings.layer_gap * unit + find_thickness(dressed, index, plans))
        covers = tuple(
            (
                dressed.garments[above].obj.name,
                replace(cover, heights=cover.heights * np.float32(scale)),
                settings.layer_gap * unit,
                settings.layer_give * unit * (LOOSE_GIVE if above in dressed.loose else 1.0),
            )
            for above, cover in plan.covers
        )
        kept.append(KeptGarment(plan.garment.obj.name, plan.neighbors, limbs, covers))
    return KeptApart(tuple(kept))
