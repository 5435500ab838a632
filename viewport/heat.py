"""Heat on the skin of the character, and its legend: stretch, depth inside the body, or distance from another method.

Colors are made anew when the depsgraph says that a shape has changed; a legend is drawn at the left edge of the view.
"""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import blf
import gpu
import numpy as np
from bpy.app.handlers import persistent
from gpu_extras.batch import batch_for_shader

from ..bridge.meshes.shown_weights import read_shown_shape
from ..bridge.per_object import PerObject
from ..deformers import SkinningError
from ..settings.character import list_meshes
from ..settings.checks import check_settings, forget_check
from ..settings.engine_copy import list_copies
from ..tasks.side_by_side.ghosts import hold_ghosts
from ..tasks.side_by_side.heat import COPY, DIFFERENCE, color_heat, describe_heat
from ..translations import translate
from .drawing import Overlay, after_changes, at_object, drawing_state, find_view, list_visible
from .weights import draw_colored, lazy_shader

# Heat is drawn this much nearer to the eye than the skin, as a fraction of the distance: in front of weights.
HEAT_SHIFT = 8e-4

# The legend, in pixels at a scale of 1: width and height of its color bar, its left bottom corner, height of text
BAR_SIZE = (16.0, 160.0)
LEFT, BOTTOM, TEXT = 24.0, 60.0, 12.0


@dataclass
class DrawnHeat:
    """An object's heat as it was drawn last.

    Attributes
    ----------
    key : tuple
        Everything besides the shape that the colors depend on.
    is_stale : bool
        Whether the shape may have changed.
    message : str
        Why there is no batch.
    """

    key: tuple = ()
    is_stale: bool = True
    batch: gpu.types.GPUBatch | None = None
    message: str = ""


cache: PerObject[DrawnHeat] = PerObject(survives_undo=False)


def find_shown(context: bpy.types.Context) -> list[bpy.types.Object]:
    """Meshes to draw heat on: those of the character, or of its engine copies, if heat is on."""
    heat = check_settings(context).heat
    if heat == "NONE" or context.active_object is None:
        return []
    meshes = list_copies(context) if heat == COPY else list_meshes(context)
    return [obj for obj in meshes if obj.mode == "OBJECT"]


def draw() -> None:
    """Draw heat in a 3D View."""
    context = bpy.context
    shown = find_shown(context)
    cache.keep_only(shown)
    settings = check_settings(context)
    hold_ghosts({settings.other} if shown and settings.heat == DIFFERENCE else set())
    visible = list_visible(shown)
    shader = lazy_shader.get() if visible else None
    if shader is None:
        return
    with drawing_state("LESS_EQUAL", mask=True):
        for obj in visible:
            drawn = update_drawn(obj, context, shader)
            if drawn.batch is not None:
                with at_object(obj, HEAT_SHIFT):
                    draw_colored(drawn.batch, shader, by_bone=True)


def update_drawn(obj: bpy.types.Object, context: bpy.types.Context, shader: gpu.types.GPUShader) -> DrawnHeat:
    """The batch of an object, made again if its shape or the settings have changed."""
    settings, depsgraph = check_settings(context), context.view_layer.depsgraph
    drawn = cache.setdefault(obj.session_uid, DrawnHeat())
    key = (settings.heat, settings.other, settings.full)
    if not drawn.is_stale and drawn.key == key:
        return drawn
    drawn.key, drawn.is_stale, drawn.batch, drawn.message = key, False, None, ""
    shape = read_shown_shape(obj, depsgraph)
    scale = obj.matrix_world.median_scale or 1.0
    try:
        colors = color_heat(obj, shape, settings.heat, settings.other, settings.full / scale, depsgraph)
    except SkinningError as error:
        drawn.message = str(error)
        return drawn
    data = {
        "pos": shape.points,
        "normal": shape.normals,
        "value": np.zeros(len(shape.points), np.float32),
        "color": colors.astype(np.float32),
    }
    drawn.batch = batch_for_shader(shader, "TRIS", data, indices=shape.triangles)
    return drawn


def draw_legend() -> None:
    """Draw the color bar, and why meshes could not be colored, over a 3D View."""
    context = bpy.context
    if find_view(context) is None or not find_shown(context):
        return
    settings, scale = check_settings(context), context.preferences.system.ui_scale
    legend = describe_heat(settings.heat, settings.full, context.scene.unit_settings.scale_length)
    left, bottom = LEFT * scale, BOTTOM * scale
    width, height = (scale * size for size in BAR_SIZE)
    steps = np.linspace(bottom, bottom + height, len(legend.colors))
    corners = [(x, y) for y in steps.tolist() for x in (left, left + width)]
    colors = [(*color, 1.0) for color in (legend.colors**2.2).tolist() for _ in range(2)]
    triangles = [(2 * n + a, 2 * n + b, 2 * n + c) for n in range(len(steps) - 1) for a, b, c in ((0, 1, 3), (0, 3, 2))]
    shader = gpu.shader.from_builtin("SMOOTH_COLOR")
    with drawing_state():
        batch_for_shader(shader, "TRIS", {"pos": corners, "color": colors}, indices=triangles).draw(shader)
    beside = left + width + 0.5 * TEXT * scale
    _write(legend.title, left, bottom + height + 0.8 * TEXT * scale, scale)
    _write(legend.ends[1], beside, bottom + height - 0.8 * TEXT * scale, scale)
    _write(legend.ends[0], beside, bottom, scale)
    messages = dict.fromkeys(drawn.message for drawn in cache.values() if drawn.message)
    for number, message in enumerate(messages):
        _write(message, left, bottom - (1.5 + 1.4 * number) * TEXT * scale, scale)


def _write(text: str, x: float, y: float, scale: float) -> None:
    blf.size(0, TEXT * scale)
    blf.enable(0, blf.SHADOW)
    blf.shadow(0, 3, 0.0, 0.0, 0.0, 0.8)
    blf.color(0, 1.0, 1.0, 1.0, 1.0)
    blf.position(0, x, y, 0.0)
    blf.draw(0, translate(text))
    blf.disable(0, blf.SHADOW)


@persistent
def _on_change(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Make colors again on the next redraw if a shape may have changed."""
    if cache and any(update.is_updated_geometry or update.is_updated_transform for update in depsgraph.updates):
        for drawn in cache.values():
            drawn.is_stale = True


@persistent
def _on_load(*_) -> None:
    forget_check(bpy.context.window_manager)


HANDLERS = (("load_post", _on_load), *after_changes(_on_change))
overlay = Overlay(((bpy.types.SpaceView3D, draw), (bpy.types.SpaceView3D, draw_legend, "POST_PIXEL")), HANDLERS)
register, unregister = overlay.register, overlay.unregister
