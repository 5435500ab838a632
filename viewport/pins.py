"""Pins on the posed skin, and the point that is dragged, while the tool that drags is chosen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import bpy
import gpu
import numpy as np
from bpy.app.handlers import persistent
from gpu_extras.batch import batch_for_shader

from ..bridge.meshes.skin_points import SkinPoint, locate_point
from ..bridge.per_object import PerObject
from ..tasks.pose.pins import list_pins
from .drawing import CORNERS, Overlay, build_disc, drawing_state, find_view

TOOL = "supple.drag_skin"

RADIUS = 6.0
"""Of a pin, pixels."""

SQUARE, WIDER = 4, 1.3
"""Corners of a pin that holds the rotation, too; how much wider it is drawn, to look as large."""

RIM = 1.8
"""Width of the dark rim around it, pixels."""

PIN_COLOR, DRAGGED_COLOR, RIM_COLOR = (0.25, 0.8, 1.0), (1.0, 0.85, 0.1), (0.02, 0.02, 0.02)

HIDDEN_OPACITY = 0.3
"""Of what lies behind the skin."""

TOWARD_EYE = 0.015
"""How much nearer to the eye discs are drawn than their points, as a fraction of the distance: round skin would bury
them else."""

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
        _place_disc(context, point, size * scale * (WIDER if corners == SQUARE else 1.0), color, corners)
        for point, fill, corners in find_drawn(armature, layer)
        for size, color in ((RADIUS + RIM, RIM_COLOR), (RADIUS, fill))
    ]
    if not discs:
        return
    points = np.concatenate([points for points, _ in discs]).astype(np.float32)
    colors = np.concatenate([colors for _, colors in discs]).astype(np.float32)
    shader = gpu.shader.from_builtin("SMOOTH_COLOR")
    for depth, opacity in (("GREATER", HIDDEN_OPACITY), ("LESS_EQUAL", 1.0)):
        with drawing_state(depth, mask=False):
            tints = colors * np.array((1.0, 1.0, 1.0, opacity), np.float32)
            batch_for_shader(shader, "TRIS", {"pos": points, "color": tints}).draw(shader)


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


def _place_disc(
    context: bpy.types.Context, point: np.ndarray, pixels: float, color: tuple[float, ...], corners: int
) -> tuple[np.ndarray, np.ndarray]:
    """A disc that faces the eye, as triangles: points (N, 3), world space, and colors (N, 4)."""
    view: Any = context.region_data
    to_view = np.array(view.view_matrix)
    depth = float((np.array(view.perspective_matrix) @ np.append(point, 1.0))[3])
    pixel = 2.0 * abs(depth) / (context.region.width * view.window_matrix[0][0])
    eye = np.linalg.inv(to_view)[:3, 3]
    nearer = point + TOWARD_EYE * ((eye - point) if view.is_perspective else view.view_distance * to_view[2, :3])
    size = pixel * ((1.0 - TOWARD_EYE) if view.is_perspective else 1.0)
    flat, tints = build_disc(np.zeros(2), pixels, (*color, 1.0), corners)
    return nearer + size * flat @ to_view[:2, :3], tints


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
