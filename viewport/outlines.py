"""Outlines of patterns: on the posed skin in the 3D View, and in the UV map in the UV editor.

Lines on the skin are read from the evaluated mesh, whose corners have coordinates in the height maps: they follow all
modifiers that deform, subdivide or duplicate the mesh. They are made again when the depsgraph has changed a shape, not
at each redraw, and are not drawn while an animation plays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import bpy
import gpu
import numpy as np
from bpy.app.handlers import persistent

from ..bridge.per_object import PerObject
from ..deformers import SkinningError
from ..deformers.patterns.outlines import list_lines, outline_by_chart, outline_in_uv, outline_on_skin
from ..settings.objects import settings_of
from ..settings.patterns import PatternSettings
from ..tasks.patterns.placing import find_patterned, read_skin
from ..tasks.patterns.read import MeshCharts, charts_of, describe_layout, make_chart
from .drawing import (
    LINE_SHIFT,
    Overlay,
    after_changes,
    at_object,
    bind_line_shader,
    draw_lines,
    drawing_state,
    list_visible,
    make_line_batch,
)

# Color and width in pixels of lines, in the order of drawing. The active pattern has a dark rim, and no color that
# Blender uses for selections.
LAYERS = {
    "shadow": ((0.0, 0.0, 0.0, 0.5), 3.5),
    "active": ((0.35, 0.85, 1.0, 1.0), 1.8),
    "others": ((1.0, 1.0, 1.0, 0.4), 1.2),
}


@dataclass
class DrawnOutlines:
    """An object's patterns as they were drawn last.

    Attributes
    ----------
    key : tuple
        Everything besides the shape of the evaluated mesh that the lines depend on.
    batches : dict of GPUBatch
        By the names of `LAYERS`.
    """

    key: tuple
    batches: dict[str, gpu.types.GPUBatch]


posed_cache: PerObject[DrawnOutlines] = PerObject(survives_undo=False)
uv_cache: PerObject[DrawnOutlines] = PerObject(survives_undo=False)


def outline_pattern_in_uv(charts: MeshCharts, pattern: PatternSettings, with_mark: bool) -> np.ndarray:
    """Segments of a pattern's outline in the UV map, shape (S, 2, 2); none if the mesh has no UV map.

    Raises SkinningError if the pattern cannot be placed on the mesh.
    """
    lines = list_lines(pattern.size, with_mark)
    if charts.mesh.uv_map is None:
        return np.empty((0, 2, 2))
    if pattern.space == "UV":
        return outline_in_uv(np.array(pattern.uv), pattern.turn, pattern.size, lines)
    return outline_by_chart(charts.mesh, make_chart(charts, pattern), lines)


def describe(obj: bpy.types.Object) -> tuple:
    """Everything besides the shape that an object's outlines depend on."""
    settings = settings_of(obj)
    patterns = tuple((pattern.show, pattern.number, describe_layout(pattern)) for pattern in settings.patterns)
    return settings.pattern_key, settings.pattern_state, settings.active_pattern, patterns


def draw_posed() -> None:
    """Draw outlines in a 3D View."""
    context = bpy.context
    layer = context.view_layer
    shown = find_patterned(context.active_object, layer)
    posed_cache.keep_only(shown)
    for obj in list_visible(shown) if shown and not context.screen.is_animation_playing else ():
        if not obj.data.is_editmode:
            with at_object(obj, LINE_SHIFT):
                _draw_layers(update_posed(obj, layer.depsgraph), "LESS_EQUAL")


def draw_in_uv_editor() -> None:
    """Draw outlines in a UV editor."""
    context = bpy.context
    space = context.space_data
    shown = find_patterned(context.active_object, context.view_layer)[:1]
    uv_cache.keep_only(shown)
    if not isinstance(space, bpy.types.SpaceImageEditor) or space.mode != "UV" or not space.overlay.show_overlays:
        return
    for obj in shown:
        if not obj.data.is_editmode:
            _draw_layers(update_in_uv(obj), "NONE")


def _draw_layers(drawn: DrawnOutlines, depth: str) -> None:
    scale = bpy.context.preferences.system.ui_scale
    with drawing_state(depth, mask=False):  # with depth written, rims would hide lines
        shader = bind_line_shader()
        for name, (color, width) in LAYERS.items():
            if name in drawn.batches:
                draw_lines(shader, drawn.batches[name], color, width * scale)


def update_posed(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> DrawnOutlines:
    """Outlines on an object's skin, made again if they have changed."""
    key, known = describe(obj), posed_cache.find(obj)
    if known is None or known.key != key:
        skin = read_skin(obj, depsgraph)

        def find(pattern: PatternSettings, with_mark: bool) -> np.ndarray:
            return outline_on_skin(skin, pattern.number, list_lines(pattern.size, with_mark))

        known = posed_cache.keep(obj, DrawnOutlines(key, _make_batches(obj, find)))
    return known


def update_in_uv(obj: bpy.types.Object) -> DrawnOutlines:
    """Outlines in an object's UV map, made again if they have changed."""
    key, known = describe(obj), uv_cache.find(obj)
    if known is None or known.key != key:
        known = uv_cache.keep(obj, DrawnOutlines(key, _make_uv_batches(obj)))
    return known


def _make_uv_batches(obj: bpy.types.Object) -> dict[str, gpu.types.GPUBatch]:
    try:
        charts = charts_of(obj)
    except SkinningError:
        return {}  # the panel has the message
    return _make_batches(obj, lambda pattern, with_mark: outline_pattern_in_uv(charts, pattern, with_mark))


def collect_lines(obj: bpy.types.Object, find: Callable[[PatternSettings, bool], np.ndarray]) -> dict[str, np.ndarray]:
    """Lines by the names of `LAYERS`, float32, shape (S, 2, 2 or 3), without empty layers.

    `find` takes a pattern and whether to add its mark, and returns the pattern's lines.
    """
    settings = settings_of(obj)
    found: dict[str, list[np.ndarray]] = {name: [] for name in LAYERS}
    for index, pattern in enumerate(settings.patterns):
        is_active = index == settings.active_pattern
        if not pattern.show:
            continue
        try:
            lines = find(pattern, is_active)
        except SkinningError:
            continue  # the panel has the message
        for name in ("shadow", "active") if is_active else ("others",):
            found[name].append(lines.astype(np.float32))
    return {name: np.concatenate(lines) for name, lines in found.items() if any(map(len, lines))}


def _make_batches(
    obj: bpy.types.Object, find: Callable[[PatternSettings, bool], np.ndarray]
) -> dict[str, gpu.types.GPUBatch]:
    return {name: make_line_batch(lines) for name, lines in collect_lines(obj, find).items()}


@persistent
def _on_change(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Forget lines on skins that may have changed."""
    if posed_cache and any(update.is_updated_geometry for update in depsgraph.updates):
        posed_cache.clear()


HANDLERS = after_changes(_on_change)
overlay = Overlay(((bpy.types.SpaceView3D, draw_posed), (bpy.types.SpaceImageEditor, draw_in_uv_editor)), HANDLERS)
register, unregister = overlay.register, overlay.unregister
