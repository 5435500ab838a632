"""Editors' regions under the mouse: from pixels of the window to rays and UVs, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import bpy
import numpy as np
from bpy_extras.view3d_utils import (
    location_3d_to_region_2d,
    region_2d_to_location_3d,
    region_2d_to_origin_3d,
    region_2d_to_vector_3d,
)
from mathutils import Vector

from ..deformers import SkinningError

# Position in the window, pixels: float64 array, shape (2,)
Mouse = np.ndarray


def read_mouse(event: bpy.types.Event) -> Mouse:
    """The position of the mouse at an event."""
    return np.array([event.mouse_x, event.mouse_y], float)


@dataclass(frozen=True)
class View:
    """The main region of a 3D View or a UV editor."""

    area: bpy.types.Area
    region: bpy.types.Region

    @property
    def is_flat(self) -> bool:
        """Whether it shows a UV map."""
        return self.area.type == "IMAGE_EDITOR"

    @property
    def view(self) -> bpy.types.RegionView3D:
        return cast(bpy.types.RegionView3D, self.region.data)

    def locate(self, mouse: Mouse) -> np.ndarray:
        """A position in the window as a position in the region: pixels, shape (2,)."""
        return mouse - (self.region.x, self.region.y)

    def to_uv(self, mouse: Mouse) -> np.ndarray:
        """The UV at a position in the window, shape (2,)."""
        region = self.region
        low = np.array(region.view2d.region_to_view(0, 0))
        high = np.array(region.view2d.region_to_view(region.width, region.height))
        return low + (high - low) * self.locate(mouse) / (region.width, region.height)

    def ray(self, mouse: Mouse) -> tuple[Vector, Vector]:
        """Origin and direction, world space, of the ray through a position in the window."""
        pixel = (self.region, self.view, self.locate(mouse).tolist())
        return region_2d_to_origin_3d(*pixel), region_2d_to_vector_3d(*pixel)

    def carry(self, mouse: Mouse, point: np.ndarray) -> np.ndarray:
        """Move a point, shape (3,), world space, to the mouse; it keeps its distance from the view."""
        x, y = self.locate(mouse).tolist()
        return np.array(region_2d_to_location_3d(self.region, self.view, (x, y), Vector(point.tolist())))

    def measure(self, mouse: Mouse, point: np.ndarray, pixels: float) -> float:
        """The length in world space, at the distance of a point (3,) under the mouse, of a number of pixels."""
        x, y = self.locate(mouse).tolist()
        here = Vector(point.tolist())
        beside = cast(Vector, region_2d_to_location_3d(self.region, self.view, (x + pixels, y), here))
        return (beside - here).length

    def project(self, point: np.ndarray, matrix: Any) -> np.ndarray:
        """The position in the window, shape (2,), of a point.

        Raises SkinningError if the point is behind the eye.

        Parameters
        ----------
        point : float array, shape (3,)
            Object space.
        matrix : Matrix
            From object to world space.
        """
        pixel = location_3d_to_region_2d(self.region, self.view, matrix @ Vector(point.tolist()))
        if pixel is None:
            raise SkinningError("The pattern is behind the view: rotate the view toward it")
        return np.array((pixel.x + self.region.x, pixel.y + self.region.y))


def find_view(screen: bpy.types.Screen, x: int, y: int) -> View | None:
    """The 3D View or UV editor at a position in the window, pixels; None over its sidebars and headers."""
    for area in screen.areas:
        if area.type != "VIEW_3D" and area.ui_type != "UV":
            continue
        inside = [region for region in area.regions if min(region.width, region.height) > 1 and _contains(region, x, y)]
        if inside and all(region.type == "WINDOW" for region in inside):
            return View(area, inside[0])
    return None


def _contains(region: bpy.types.Region, x: int, y: int) -> bool:
    return 0 <= x - region.x < region.width and 0 <= y - region.y < region.height
