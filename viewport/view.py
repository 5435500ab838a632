"""Editors' regions as the mouse sees them: from the window to rays, UVs and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import bpy
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d, region_2d_to_origin_3d, region_2d_to_vector_3d
from mathutils import Vector

from ..deformers import SkinningError


@dataclass(frozen=True)
class View:
    """An editor's region that patterns can be placed in."""

    area: bpy.types.Area
    region: bpy.types.Region

    @property
    def is_flat(self) -> bool:
        """Whether it shows a UV map."""
        return self.area.type == "IMAGE_EDITOR"

    @property
    def view(self) -> bpy.types.RegionView3D:
        return cast(bpy.types.RegionView3D, self.region.data)

    def locate(self, mouse: np.ndarray) -> np.ndarray:
        """A place in the window as one in the region, pixels."""
        return mouse - (self.region.x, self.region.y)

    def to_uv(self, mouse: np.ndarray) -> np.ndarray:
        """The UV at a place in the window."""
        region = self.region
        low = np.array(region.view2d.region_to_view(0, 0))
        high = np.array(region.view2d.region_to_view(region.width, region.height))
        return low + (high - low) * self.locate(mouse) / (region.width, region.height)

    def ray(self, mouse: np.ndarray) -> tuple[Vector, Vector]:
        """Origin and direction, in the world, of the ray that is seen as a point in the window."""
        where = (self.region, self.view, self.locate(mouse).tolist())
        return region_2d_to_origin_3d(*where), region_2d_to_vector_3d(*where)

    def project(self, point: np.ndarray, matrix: Any) -> np.ndarray:
        """The place in the window at which a point in object space is seen."""
        place = location_3d_to_region_2d(self.region, self.view, matrix @ Vector(point.tolist()))
        if place is None:
            raise SkinningError("It is behind you: turn the view towards it")
        return np.array((place.x + self.region.x, place.y + self.region.y))


def find_view(screen: bpy.types.Screen, x: int, y: int) -> View | None:
    """The 3D View or UV editor at a place in the window, unless a sidebar or header of it is there."""
    for area in screen.areas:
        if area.type != "VIEW_3D" and area.ui_type != "UV":
            continue
        inside = [one for one in area.regions if one.width > 1 and one.height > 1 and _contains(one, x, y)]
        if inside and all(one.type == "WINDOW" for one in inside):
            return View(area, inside[0])
    return None


def _contains(region: bpy.types.Region, x: int, y: int) -> bool:
    return 0 <= x - region.x < region.width and 0 <= y - region.y < region.height
