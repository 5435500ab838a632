"""Patterns drawn by the mouse: laid along a stroke on the skin."""

from __future__ import annotations

from typing import cast

import bpy
import gpu
import numpy as np
from bpy.props import CollectionProperty, FloatProperty, IntProperty
from gpu_extras.batch import batch_for_shader

from ..deformers import SkinningError
from ..settings.objects import settings_of
from ..settings.patterns import StrokePoint
from ..tasks.patterns import hits as pattern_hits
from ..tasks.patterns.edit import check_index
from ..tasks.patterns.hits import Hit
from ..viewport.view import View, find_view
from .mouse_tools import NAVIGATION, PRESSED, THRESHOLD, MouseTool, cast_mouse

SHORTEST = 8.0
"""Pixels of a stroke that is meant."""

WIDEN = 1.1
"""How much wider a step of the wheel makes a stroke."""


class Band:
    """The stroke that is being drawn, in the 3D View: its middle and its borders, world space."""

    def __init__(self) -> None:
        self.lines: list[np.ndarray] = []
        self._handle = bpy.types.SpaceView3D.draw_handler_add(self._draw, (), "WINDOW", "POST_VIEW")

    def remove(self) -> None:
        bpy.types.SpaceView3D.draw_handler_remove(self._handle, "WINDOW")

    def _draw(self) -> None:
        shader = gpu.shader.from_builtin("POLYLINE_UNIFORM_COLOR")
        shader.bind()
        shader.uniform_float("viewportSize", gpu.state.viewport_get()[2:])
        before = gpu.state.blend_get()
        gpu.state.blend_set("ALPHA")
        for number, line in enumerate(self.lines):
            pieces = np.stack([line[:-1], line[1:]], axis=1).reshape(-1, 3).astype(np.float32)
            for color, width in (((0, 0, 0, 0.5), 4.0), ((0.35, 0.85, 1.0, 1.0), 2.0)):
                shader.uniform_float("color", color)
                shader.uniform_float("lineWidth", width / (1 if number == 0 else 2))
                batch_for_shader(shader, "LINES", {"pos": pieces}).draw(shader)
        gpu.state.blend_set(before)


class SUPPLE_OT_pattern_stroke(MouseTool, bpy.types.Operator):
    """Draw a stroke on the posed skin, which the active pattern then lies along"""

    bl_idname = "supple.pattern_stroke"
    bl_label = "Draw Pattern"

    points: CollectionProperty(type=StrokePoint, options={"SKIP_SAVE", "HIDDEN"})
    index: IntProperty(
        name="Index", description="Which pattern; the active one if not given", min=0, options={"SKIP_SAVE", "HIDDEN"}
    )
    width: FloatProperty(
        name="Width",
        description="Extent across the stroke; 0 keeps the ratio of the picture's sides",
        subtype="DISTANCE",
        min=0.0,
        precision=4,
        options={"SKIP_SAVE"},
    )

    def draw(self, _context: bpy.types.Context) -> None:
        self.layout.use_property_split = True
        self.layout.prop(self, "width")

    def run(self, _context: bpy.types.Context, obj: bpy.types.Object) -> str:
        pattern = check_index(obj, self.index_of(obj))
        pattern_hits.lay_along(obj, pattern, [tuple(one.location) for one in self.points], self.width)
        settings_of(obj).active_pattern = self.index_of(obj)
        return f"Laid {pattern.name} along a stroke"

    def begin(self, _context: bpy.types.Context) -> None:
        self._aspect = pattern_hits.measure_aspect(self._mesh, self.pattern)
        self._view: View | None = None
        self._hits: list[Hit] = []
        self._band = Band()
        self._began.callback(self._band.remove)

    def keys(self) -> str:
        return "Draw on the Skin with the Left Button   Wheel While Drawing: Width   Esc, Right Click: Cancel"

    def react(self, context: bpy.types.Context, event: bpy.types.Event, mouse: np.ndarray) -> set[str]:
        is_drawing = self._view is not None
        if event.type in ("ESC", "RIGHTMOUSE") and event.value == "PRESS":
            return {"CANCELLED"}
        if is_drawing and event.type in ("WHEELUPMOUSE", "WHEELDOWNMOUSE"):
            self._aspect *= WIDEN if event.type == "WHEELUPMOUSE" else 1.0 / WIDEN
            self._show_band(context)
        elif event.type == "LEFTMOUSE" and event.value == "RELEASE" and is_drawing:
            self._follow(context, mouse, is_last=True)
            return self._finish(context)
        elif event.type == "LEFTMOUSE" and event.value in PRESSED and not event.alt:
            return self._press(context, mouse)
        elif event.type in ("MOUSEMOVE", "INBETWEEN_MOUSEMOVE") and is_drawing:
            self._follow(context, mouse)
        elif not is_drawing and (event.type == "MOUSEMOVE" or event.type.startswith(NAVIGATION) or event.alt):
            return {"PASS_THROUGH"}
        return {"RUNNING_MODAL"}

    def _press(self, context: bpy.types.Context, mouse: np.ndarray) -> set[str]:
        view = find_view(context.screen, *mouse.astype(int))
        if view is None or view.is_flat:
            raise SkinningError("Draw in the 3D View, on the skin")
        self._view, self._at, self._gone = view, mouse, 0.0
        self._skin, self._matrix = self.read_skin(context)
        self._follow(context, mouse, is_last=True)
        return {"RUNNING_MODAL"}

    def _follow(self, context: bpy.types.Context, mouse: np.ndarray, is_last: bool = False) -> None:
        """Add a point to the stroke where the mouse is on the skin, and far enough from the last one."""
        step = float(np.linalg.norm(mouse - self._at))
        if step < THRESHOLD and not is_last:
            return
        hit = cast_mouse(cast(View, self._view), mouse, self._skin, self._matrix)
        if hit is None or (self._hits and not step):
            return
        self._gone += step
        self._at = mouse
        self._hits.append(hit)
        self._show_band(context)

    def _show_band(self, context: bpy.types.Context) -> None:
        if len(self._hits) < 2:
            return
        drawn = pattern_hits.resample(np.array([(*hit.point, *hit.normal) for hit in self._hits]))
        line, normals = drawn[:, :3], drawn[:, 3:]
        left = np.cross(normals, np.gradient(line, axis=0))
        left /= np.maximum(np.linalg.norm(left, axis=1, keepdims=True), 1e-12)
        half = 0.5 * self._aspect * pattern_hits.measure_line(line)
        matrix = np.array(self._matrix)
        offsets = (0.0, half, -half)
        self._band.lines = [(line + offset * left) @ matrix[:3, :3].T + matrix[:3, 3] for offset in offsets]
        self.redraw(context)

    def _finish(self, context: bpy.types.Context) -> set[str]:
        if len(self._hits) < 2 or self._gone < SHORTEST:
            self.report({"WARNING"}, "The stroke is too short: draw a longer one on the skin")
            return {"CANCELLED"}
        for hit in self._hits:
            self.points.add().location = hit.rest
        self.width = self._aspect * pattern_hits.measure_line(np.array([hit.rest for hit in self._hits]))
        self.index = self._settings.active_pattern
        return self.execute(context)


register, unregister = bpy.utils.register_classes_factory((SUPPLE_OT_pattern_stroke,))
