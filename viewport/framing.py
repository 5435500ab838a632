"""A 3D View turned and moved to show something in the part of it that no sidebar or header covers."""

from __future__ import annotations

from typing import cast

import bpy
import numpy as np
from mathutils import Vector

# Share of the free part of a view that a sphere fills
FILLED = 0.7

# Regions that may cover the view
OVER = {"UI", "TOOLS", "HEADER", "TOOL_HEADER", "ASSET_SHELF", "ASSET_SHELF_HEADER"}


def read_eye(space: bpy.types.SpaceView3D) -> np.ndarray:
    """Direction to the eye, world space, shape (3,)."""
    return np.array(cast(bpy.types.RegionView3D, space.region_3d).view_rotation @ Vector((0.0, 0.0, 1.0)))


def find_free_part(area: bpy.types.Area) -> tuple[float, float, float, float]:
    """The part of a 3D View that nothing covers, pixels of its region: left, bottom, right, top."""
    view = next(region for region in area.regions if region.type == "WINDOW")
    left, bottom, right, top = 0.0, 0.0, float(view.width), float(view.height)
    for region in area.regions:
        if region.type not in OVER or min(region.width, region.height) <= 1:
            continue
        low, high = region.x - view.x, region.x + region.width - view.x
        below, above = region.y - view.y, region.y + region.height - view.y
        if region.alignment == "RIGHT" and low < right:
            right = max(low, left)
        elif region.alignment == "LEFT" and high > left:
            left = min(high, right)
        elif region.alignment == "TOP" and below < top:
            top = max(below, bottom)
        elif region.alignment == "BOTTOM" and above > bottom:
            bottom = min(above, top)
    return left, bottom, right, top


def frame_sphere(
    area: bpy.types.Area, space: bpy.types.SpaceView3D, center: np.ndarray, radius: float, eye: np.ndarray
) -> None:
    """Show a sphere, world space, in the middle of the free part, from a direction to the eye, shape (3,)."""
    view = cast(bpy.types.RegionView3D, space.region_3d)
    region = next(region for region in area.regions if region.type == "WINDOW")
    left, bottom, right, top = find_free_part(area)
    if view.view_perspective == "CAMERA":
        view.view_perspective = "PERSP"
    if not view.lock_rotation:
        view.view_rotation = Vector(eye.tolist()).to_track_quat("Z", "Y")
    view.update()
    depth = view.view_distance if view.is_perspective else 1.0
    pixels = view.window_matrix[0][0] * region.width / 2.0 / depth
    wanted = FILLED * max(min(right - left, top - bottom), 1.0) / (2.0 * radius)
    view.view_distance *= pixels / wanted
    beside = Vector(((left + right - region.width) / 2.0, (bottom + top - region.height) / 2.0, 0.0)) / wanted
    view.view_location = Vector(center.tolist()) - view.view_rotation @ beside
    view.update()
