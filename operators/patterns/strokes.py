"""Patterns drawn by the mouse: laid along a stroke on the skin."""

from __future__ import annotations

import bpy
from bpy.props import CollectionProperty

from ...deformers import SkinningError
from ...settings.objects import settings_of
from ...settings.patterns import StrokePoint
from ...settings.properties import FloatProperty
from ...tasks.patterns.edit import check_index
from ...tasks.patterns.placing import lay_along
from ...viewport.pattern_view import DrawnStroke
from ...viewport.view import Mouse, find_view
from ..mouse_tools import CANCEL, NAVIGATION, PRESSED
from .library import SKIP
from .tools import PatternTool

WIDEN_FACTOR = 1.1  # of a step of the wheel


class SUPPLE_OT_pattern_stroke(PatternTool, bpy.types.Operator):
    """Draw a stroke on the posed skin, and place the active pattern along it"""

    bl_label = "Draw Pattern"

    points: CollectionProperty(type=StrokePoint, options={*SKIP, "HIDDEN"})
    width: FloatProperty(
        name="Width",
        description="Height across the stroke; 0 keeps the pattern's aspect ratio",
        subtype="DISTANCE",
        min=0.0,
        precision=4,
        options=SKIP,
    )

    def draw(self, _context: bpy.types.Context) -> None:
        self.layout.use_property_split = True
        self.layout.prop(self, "width")

    def change(self, _context: bpy.types.Context, obj: bpy.types.Object) -> str:
        pattern = check_index(obj, self.index_of(obj))
        lay_along(obj, pattern, [tuple(point.location) for point in self.points], self.width)
        settings_of(obj).active_pattern = self.index_of(obj)
        return f"Placed {pattern.name} along a stroke"

    def begin(self, _context: bpy.types.Context) -> None:
        self._stroke = DrawnStroke(self._scene)
        self._began.callback(self._stroke.remove)

    def keys(self) -> str:
        return "Draw on the Skin with the Left Button   Wheel While Drawing: Width   Esc, Right Click: Cancel"

    def react(self, context: bpy.types.Context, event: bpy.types.Event, mouse: Mouse) -> set[str]:
        is_drawing = self._stroke.is_begun
        if event.type in CANCEL and event.value == "PRESS":
            return {"CANCELLED"}
        if is_drawing and event.type in ("WHEELUPMOUSE", "WHEELDOWNMOUSE"):
            self._stroke.widen(WIDEN_FACTOR if event.type == "WHEELUPMOUSE" else 1.0 / WIDEN_FACTOR)
            self.redraw(context)
        elif event.type == "LEFTMOUSE" and event.value == "RELEASE" and is_drawing:
            self._stroke.follow(mouse, is_last=True)
            return self._finish(context)
        elif event.type == "LEFTMOUSE" and event.value in PRESSED and not event.alt:
            view = find_view(context.screen, *mouse.astype(int))
            if view is None or view.is_flat:
                raise SkinningError("Draw in the 3D View, on the skin")
            self._stroke.begin(context, view, mouse)
        elif event.type in ("MOUSEMOVE", "INBETWEEN_MOUSEMOVE") and is_drawing:
            if self._stroke.follow(mouse):
                self.redraw(context)
        elif not is_drawing and (event.type == "MOUSEMOVE" or event.type.startswith(NAVIGATION) or event.alt):
            return {"PASS_THROUGH"}
        return {"RUNNING_MODAL"}

    def _finish(self, context: bpy.types.Context) -> set[str]:
        if self._stroke.is_too_short:
            self.tell("The stroke is too short: draw a longer stroke on the skin", "WARNING")
            return {"CANCELLED"}
        for point in self._stroke.points:
            self.points.add().location = point
        self.width = self._stroke.width
        self.index = self._settings.active_pattern
        return self.execute(context)
