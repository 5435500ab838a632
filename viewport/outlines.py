"""Outlines of patterns: on the posed skin in the 3D View, and in the UV map in the UV editor.

What is drawn on the skin is read from the evaluated mesh, whose faces tell where in which picture they lie: lines
follow all that deforms, subdivides or multiplies the mesh. They are made anew when the depsgraph has changed a shape,
not at each redraw, and are not drawn while an animation plays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import bpy
import gpu
import numpy as np
from bpy.app.handlers import persistent
from gpu_extras.batch import batch_for_shader
from mathutils import Matrix

from ..bridge.rays import PosedSkin
from ..deformers import SkinningError
from ..settings.objects import settings_of
from ..settings.patterns import PatternSettings
from ..tasks.patterns.hits import find_chart_triangles, find_patterned, find_weights, read_skin
from ..tasks.patterns.placing import Outline, make_chart, outline_of, read_placing

TOWARD = 4e-3
"""How much nearer to the eye lines are drawn than the skin, in shares of the distance."""

LAYERS = {
    "shadow": ((0.0, 0.0, 0.0, 0.5), 3.5),
    "active": ((0.35, 0.85, 1.0, 1.0), 1.8),
    "others": ((1.0, 1.0, 1.0, 0.4), 1.2),
}
"""Color and width in pixels of lines, in the order of drawing: the active pattern has a dark rim, and none of
Blender's own colors of what is selected."""

BESIDE = 1e-5
"""How far beside a triangle a line may run, in shares of its height, and still be cut by it: many run along edges."""

SHORTEST = 1e-4
"""Shares of a line that is drawn: shorter ones lie beside a triangle."""

ARROW = 0.12
"""Size of the mark that tells a picture's upper side, in shares of its shorter side."""


@dataclass
class Lines:
    """What was made of an object's patterns when last drawn.

    Attributes
    ----------
    key : tuple
        All that the lines depend on, besides the shape of the evaluated mesh.
    batches : dict of GPUBatch
        By the names of `LAYERS`.
    """

    key: tuple
    batches: dict[str, gpu.types.GPUBatch]


@dataclass
class Kept:
    """What is kept between redraws, by `session_uid` of the objects."""

    posed: dict[int, Lines] = field(default_factory=dict)
    flat: dict[int, Lines] = field(default_factory=dict)
    handles: list = field(default_factory=list)


kept = Kept()


def list_borders(aspect: float) -> tuple[np.ndarray, np.ndarray]:
    """Lines in the picture's square, shape (N, 2, 2) each: its border, and the mark that tells which way is up.

    `aspect` is the picture's height over its width.
    """
    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1)], float)
    border = np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)
    reach = ARROW * np.array([min(1.0, aspect), min(1.0, 1.0 / aspect)])
    tip = np.array([0.5, 1.0 - 0.4 * reach[1]])
    feet = tip + reach * np.array([[-1, -1], [1, -1]])
    return border, np.stack([feet, np.stack([tip, tip])], axis=1)


def trace_lines(shapes: np.ndarray, lines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cut lines of the picture's plane by triangles.

    Parameters
    ----------
    shapes : float64 array, shape (T, 3, 2)
        (s, t) of the triangles' corners.
    lines : float64 array, shape (N, 2, 2)
        Start and end of each line.

    Returns
    -------
    triangles : int array, shape (S,)
        On which each piece lies.
    weights : float64 array, shape (S, 2, 3)
        Barycentric coordinates of its ends.
    """
    which, weights = [], []
    for start, end in lines:
        at_start, at_end = (find_weights(shapes, one) + BESIDE for one in (start, end))
        rising, falling = at_start < at_end, at_start > at_end
        with np.errstate(divide="ignore", invalid="ignore"):
            zero = at_start / (at_start - at_end)
        low = np.maximum(np.where(rising, zero, 0.0).max(axis=1), 0.0)
        high = np.minimum(np.where(falling, zero, 1.0).min(axis=1), 1.0)
        outside = ~(rising | falling) & ~(at_start >= 0)
        found = np.flatnonzero((high - low > SHORTEST) & ~outside.any(axis=1))
        which.append(found)
        ends = np.stack([low, high], axis=1)[found, :, None]
        weights.append(at_start[found, None] * (1 - ends) + at_end[found, None] * ends - BESIDE)
    return np.concatenate(which), np.concatenate(weights)


def outline_posed(skin: PosedSkin, pattern: PatternSettings, with_mark: bool) -> np.ndarray:
    """Lines of a pattern's outline on the skin as it is shown: object space, shape (S, 2, 3)."""
    triangles, shapes = find_chart_triangles(skin, pattern.number)
    found, weights = trace_lines(shapes, _choose_lines(pattern, with_mark))
    return np.einsum("sec,sci->sei", weights, skin.points[skin.triangles[triangles[found]]])


def outline_in_uv(outline: Outline, pattern: PatternSettings, with_mark: bool) -> np.ndarray:
    """Lines of a pattern's outline in the UV map, shape (S, 2, 2); none where the mesh has no UV map.

    Raises
    ------
    SkinningError
        Where the pattern can not be laid there.
    """
    mesh = outline.mesh
    if mesh.uv is None:
        return np.empty((0, 2, 2))
    lines = _choose_lines(pattern, with_mark)
    if pattern.space == "UV":
        cos, sin = math.cos(pattern.turn), math.sin(pattern.turn)
        sides = np.array([[cos, sin], [-sin, cos]]) * np.array(pattern.size)[:, None]
        return np.array(pattern.uv) + (lines - 0.5) @ sides
    chart = make_chart(outline, pattern)
    touched = np.zeros(len(mesh.face_starts), bool)
    touched[chart.faces] = True
    corners = mesh.triangles[touched[mesh.triangle_faces]]
    found, weights = trace_lines(chart.coordinates[np.searchsorted(chart.corners, corners)], lines)
    return np.einsum("sec,sci->sei", weights, mesh.uv[corners[found]])


def _choose_lines(pattern: PatternSettings, with_mark: bool) -> np.ndarray:
    width, height = pattern.size
    border, mark = list_borders(height / width if width > 0 and height > 0 else 1.0)
    return np.concatenate([border, mark]) if with_mark else border


def describe(obj: bpy.types.Object) -> tuple:
    """All that an object's outlines depend on, besides its shape."""
    settings = settings_of(obj)
    patterns = tuple((one.show, one.number, read_placing(one)) for one in settings.patterns)
    return settings.pattern_key, settings.pattern_state, settings.active_pattern, patterns


def draw_posed() -> None:
    """Draw outlines in a 3D View."""
    context = bpy.context
    space, layer = context.space_data, context.view_layer
    shown = find_patterned(context.active_object, layer)
    uids = {obj.session_uid for obj in shown}
    for uid in [uid for uid in kept.posed if uid not in uids]:
        del kept.posed[uid]
    if not shown or not isinstance(space, bpy.types.SpaceView3D) or not space.overlay.show_overlays:
        return
    if layer.depsgraph is None or context.screen.is_animation_playing:
        return
    for obj in shown:
        if not obj.data.is_editmode and obj.visible_get(view_layer=layer, viewport=space):
            with gpu.matrix.push_pop():
                come_nearer(context.region_data)
                gpu.matrix.multiply_matrix(obj.evaluated_get(layer.depsgraph).matrix_world)
                _draw_lines(update_posed(obj, layer.depsgraph), "LESS_EQUAL")


def come_nearer(view: bpy.types.RegionView3D, toward: float = TOWARD) -> None:
    """Have what is drawn next lie before the skin: nearer to the eye, and at the same place of the picture.

    `toward` is how much nearer, in shares of the distance.
    """
    if view.is_perspective:
        nearer = Matrix.Scale(1.0 - toward, 4)
    else:
        nearer = Matrix.Translation((0.0, 0.0, toward * view.view_distance))
    gpu.matrix.load_matrix(nearer @ gpu.matrix.get_model_view_matrix())


def draw_flat() -> None:
    """Draw outlines in a UV editor."""
    context = bpy.context
    space = context.space_data
    shown = find_patterned(context.active_object, context.view_layer)[:1]
    uids = {obj.session_uid for obj in shown}
    for uid in [uid for uid in kept.flat if uid not in uids]:
        del kept.flat[uid]
    if not isinstance(space, bpy.types.SpaceImageEditor) or space.mode != "UV" or not space.overlay.show_overlays:
        return
    for obj in shown:
        if not obj.data.is_editmode:
            _draw_lines(update_flat(obj), "NONE")


def _draw_lines(lines: Lines, depth: str) -> None:
    shader = gpu.shader.from_builtin("POLYLINE_UNIFORM_COLOR")
    before = gpu.state.depth_test_get(), gpu.state.depth_mask_get(), gpu.state.blend_get()
    gpu.state.depth_test_set(depth)
    gpu.state.depth_mask_set(False)  # or rims would hide lines
    gpu.state.blend_set("ALPHA")
    scale = bpy.context.preferences.system.ui_scale
    try:
        shader.bind()
        shader.uniform_float("viewportSize", gpu.state.viewport_get()[2:])
        for name, (color, width) in LAYERS.items():
            if name in lines.batches:
                shader.uniform_float("color", color)
                shader.uniform_float("lineWidth", width * scale)
                lines.batches[name].draw(shader)
    finally:
        gpu.state.depth_test_set(before[0])
        gpu.state.depth_mask_set(before[1])
        gpu.state.blend_set(before[2])


def update_posed(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Lines:
    """Lines on an object's skin, made anew where that is needed."""
    key, known = describe(obj), kept.posed.get(obj.session_uid)
    if known is None or known.key != key:
        skin = read_skin(obj, depsgraph)
        known = kept.posed[obj.session_uid] = Lines(key, _make_batches(obj, lambda *one: outline_posed(skin, *one)))
    return known


def update_flat(obj: bpy.types.Object) -> Lines:
    """Lines in an object's UV map, made anew where that is needed."""
    key, known = describe(obj), kept.flat.get(obj.session_uid)
    if known is None or known.key != key:
        known = kept.flat[obj.session_uid] = Lines(key, _make_flat_batches(obj))
    return known


def _make_flat_batches(obj: bpy.types.Object) -> dict[str, gpu.types.GPUBatch]:
    try:
        outline = outline_of(obj)
    except SkinningError:
        return {}  # the panel has the message
    return _make_batches(obj, lambda *one: outline_in_uv(outline, *one))


def collect_lines(obj: bpy.types.Object, find: Callable[[PatternSettings, bool], np.ndarray]) -> dict[str, np.ndarray]:
    """Lines by the names of `LAYERS`, float32, shape (S, 2, 2 or 3), without empty ones.

    `find` gives those of a pattern, with the mark if asked for it.
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
            continue  # it lies nowhere, and the panel says why
        for name in ("shadow", "active") if is_active else ("others",):
            found[name].append(lines.astype(np.float32))
    return {name: np.concatenate(lines) for name, lines in found.items() if any(map(len, lines))}


def _make_batches(
    obj: bpy.types.Object, find: Callable[[PatternSettings, bool], np.ndarray]
) -> dict[str, gpu.types.GPUBatch]:
    shader = gpu.shader.from_builtin("POLYLINE_UNIFORM_COLOR")
    batches = {}
    for name, lines in collect_lines(obj, find).items():
        points = np.zeros((2 * len(lines), 3), np.float32)
        points[:, : lines.shape[2]] = lines.reshape(-1, lines.shape[2])
        batches[name] = batch_for_shader(shader, "LINES", {"pos": points})
    return batches


@persistent
def _on_change(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Forget lines on skins that may have changed."""
    if kept.posed and any(one.is_updated_geometry for one in depsgraph.updates):
        kept.posed.clear()


@persistent
def _forget(*_) -> None:
    kept.posed.clear()
    kept.flat.clear()


HANDLERS = (
    ("frame_change_post", _on_change),
    ("depsgraph_update_post", _on_change),
    ("load_post", _forget),
    ("undo_post", _forget),
    ("redo_post", _forget),
)


def register() -> None:
    for name, handler in HANDLERS:
        getattr(bpy.app.handlers, name).append(handler)
    for space, draw in ((bpy.types.SpaceView3D, draw_posed), (bpy.types.SpaceImageEditor, draw_flat)):
        kept.handles.append((space, space.draw_handler_add(draw, (), "WINDOW", "POST_VIEW")))


def unregister() -> None:
    while kept.handles:
        space, handle = kept.handles.pop()
        space.draw_handler_remove(handle, "WINDOW")
    for name, handler in reversed(HANDLERS):
        getattr(bpy.app.handlers, name).remove(handler)
    _forget()
