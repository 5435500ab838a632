"""Pins on the posed skin, and the point that is dragged, while the tool that drags is chosen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import bpy
import numpy as np
from bpy.app.handlers import persistent

from ..bridge.meshes.skin_points import SkinPoint, locate_point
from ..bridge.per_object import PerObject
from ..tasks.pose.pins import list_pins
from .drawing import CORNERS, Overlay, draw_discs, find_view, place_disc

TOOL = "supple.drag_skin"

RADIUS = 6.0
"""Of a pin, pixels."""

SQUARE, WIDER = 4, 1.3
"""Corners of a pin that holds the rotation, too; how much wider it is drawn, to look as large."""

RIM = 1.8
"""Width of the dark rim around it, pixels."""

PIN_COLOR, DRAGGED_COLOR, RIM_COLOR = (0.25, 0.8, 1.0), (1.0, 0.85, 0.1), (0.02, 0.02, 0.02)

_located: PerObject[tuple[tuple, list[np.ndarray | None]]] = PerObject(survives_undo=False)
"""What was drawn of each armature, by `session_uid`, until something moves: its pins, and where they are."""

_dragged: list[SkinPoint] = []
"""The point that is dragged, if any is."""


@contextmanager
def dragged_point(point: SkinPoint) -> Iterator[None]:
    """Show a point as dragged for a while."""
    _dragged.append(point)
    try:
        yield
    finally:
        _dragged.remove(point)


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
        place_disc(context, point, size * scale * (WIDER if corners == SQUARE else 1.0), color, corners)
        for point, fill, corners in find_drawn(armature, layer)
        for size, color in ((RADIUS + RIM, RIM_COLOR), (RADIUS, fill))
    ]
    if not discs:
        return
    draw_discs(discs)


def find_drawn(armature: bpy.types.Object, layer: bpy.types.ViewLayer) -> list[tuple[np.ndarray, tuple, int]]:
    """Where pins and the dragged point are, world space, their colors, and the corners of what they are drawn as.

    They are found again only where something has moved.
    """
    pins = list_pins(armature, layer)
    points = [*(pin.point for pin in pins), *_dragged]
    key = tuple((point.obj.session_uid, point.vertices, point.count) for point in points)
    known = _located.find(armature)
    if known is None or known[0] != key:
        known = _located.keep(armature, (key, [locate_point(point, layer.depsgraph) for point in points]))
    looks = [(PIN_COLOR, SQUARE if pin.holds_rotation else CORNERS) for pin in pins]
    looks += [(DRAGGED_COLOR, CORNERS)] * len(_dragged)
    return [(point, *look) for point, look in zip(known[1], looks, strict=True) if point is not None]


@persistent
def _on_change(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Forget where pins are on skins that may have moved."""
    if _located and depsgraph.updates:
        _located.clear()


HANDLERS = (
    ("frame_change_post", _on_change),
    ("depsgraph_update_post", _on_change),
)
overlay = Overlay(((bpy.types.SpaceView3D, draw_pins),), HANDLERS)
register, unregister = overlay.register, overlay.unregister
