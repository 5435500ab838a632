"""Pins on the posed skin, and the point that is dragged, while the tool that drags is chosen."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import bpy
import numpy as np
from bpy.app.handlers import persistent

from ..bridge.meshes.skin_points import SkinPoint, locate_point
from ..bridge.per_object import PerObject
from ..tasks.pose.pins import list_pins
from .drawing import DISC_CORNERS, Overlay, after_changes, draw_discs, find_view, listed, place_disc

TOOL = "supple.drag_skin"

# Pixels
RADIUS, RIM_WIDTH = 6.0, 1.8

# A pin that also holds the rotation has 4 corners, and is drawn larger by this factor to look as large as a round one.
SQUARE_CORNERS, SQUARE_FACTOR = 4, 1.3

PIN_COLOR, DRAGGED_COLOR, RIM_COLOR = (0.25, 0.8, 1.0), (1.0, 0.85, 0.1), (0.02, 0.02, 0.02)

# The pins of each armature, and their positions, until something moves
_located: PerObject[tuple[tuple, list[np.ndarray | None]]] = PerObject(survives_undo=False)

_dragged: list[SkinPoint] = []


def dragged_point(point: SkinPoint) -> AbstractContextManager[None]:
    """Show a point as dragged for a while."""
    return listed(_dragged, point)


def is_tool_active(context: bpy.types.Context) -> bool:
    """Whether the tool that drags the skin is chosen in Pose Mode."""
    if context.mode != "POSE" or context.workspace is None:
        return False
    tools: Any = context.workspace.tools
    tool = tools.from_space_view3d_mode("POSE", create=False)
    return tool is not None and tool.idname == TOOL


def draw_pins() -> None:
    """Draw pins, and the dragged point, in a 3D View."""
    context = bpy.context
    armature, layer, space = context.active_object, context.view_layer, find_view(context)
    if space is None or armature is None or layer.depsgraph is None or not is_tool_active(context):
        return
    scale = context.preferences.system.ui_scale
    discs = [
        place_disc(context, point, size * scale * (SQUARE_FACTOR if corners == SQUARE_CORNERS else 1.0), color, corners)
        for point, fill, corners in find_drawn(armature, layer)
        for size, color in ((RADIUS + RIM_WIDTH, RIM_COLOR), (RADIUS, fill))
    ]
    if discs:
        draw_discs(discs)


def find_drawn(armature: bpy.types.Object, layer: bpy.types.ViewLayer) -> list[tuple[np.ndarray, tuple, int]]:
    """Positions of pins and of the dragged point, world space, their colors and corners.

    Positions are read again only after something has moved.
    """
    pins = list_pins(armature, layer)
    points = [*(pin.point for pin in pins), *_dragged]
    key = tuple((point.obj.session_uid, point.vertices, point.count) for point in points)
    known = _located.find(armature)
    if known is None or known[0] != key:
        known = _located.keep(armature, (key, [locate_point(point, layer.depsgraph) for point in points]))
    looks = [(PIN_COLOR, SQUARE_CORNERS if pin.holds_rotation else DISC_CORNERS) for pin in pins]
    looks += [(DRAGGED_COLOR, DISC_CORNERS)] * len(_dragged)
    return [(point, *look) for point, look in zip(known[1], looks, strict=True) if point is not None]


@persistent
def _on_change(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Forget positions of pins on skins that may have moved."""
    if _located and depsgraph.updates:
        _located.clear()


HANDLERS = after_changes(_on_change)
overlay = Overlay(((bpy.types.SpaceView3D, draw_pins),), HANDLERS)
register, unregister = overlay.register, overlay.unregister
