"""The brush in the toolbar of Weight Paint Mode that smooths weights through the body."""

from __future__ import annotations

from typing import Any, cast

import bpy
from bpy.props import CollectionProperty

from ...bridge.changes import without_changes
from ...bridge.meshes.data import mesh_of
from ...settings.properties import FloatProperty, FloatVectorProperty
from ...settings.weights import BRUSH_REPEATS, BRUSH_STRENGTH
from ...tasks.steps import StepsBeside, computed
from ...tasks.subject.character import has_armature_modifier
from ...tasks.weights.reports import count
from ...tasks.weights.strokes import SmoothStroke
from ...viewport.view import Mouse, View, find_view, read_mouse
from ...viewport.weight_brush import BrushOnSkin
from ..base import SKIP
from ..computing import CHECK_INTERVAL
from ..mouse_tools import CANCEL, ModalTool


class WeightTouch(bpy.types.PropertyGroup):
    """A touch of the brush on the skin: location in world space, and pressure."""

    location: FloatVectorProperty(name="Location", subtype="TRANSLATION")
    radius: FloatProperty(name="Radius", subtype="DISTANCE", min=0.0)
    pressure: FloatProperty(name="Pressure", default=1.0, min=0.0, max=1.0, subtype="FACTOR")


def needs_painted_mesh(context: bpy.types.Context) -> str:
    obj = context.active_object
    if obj is None or obj.type != "MESH" or not has_armature_modifier(obj):
        return "Select a mesh that has an Armature modifier"
    return "" if obj.mode == "WEIGHT_PAINT" else "Go to Weight Paint Mode first"


class SUPPLE_OT_weights_brush(ModalTool, bpy.types.Operator):
    """Smooth weights under the brush, through the volume inside the skin"""

    bl_label = "Smooth Through Body"
    requires = (needs_painted_mesh,)
    followed_by = "the skin follows the weights"

    strength: BRUSH_STRENGTH
    repeats: BRUSH_REPEATS
    touches: CollectionProperty(type=WeightTouch, options={"HIDDEN", *SKIP})

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        settings = context.scene.supple_weights
        self.strength, self.repeats = settings.brush_strength, settings.brush_repeats
        result = super().invoke(context, event)
        if "RUNNING_MODAL" in result:
            self.react(context, event, read_mouse(event))
        return result

    def run(self, context: bpy.types.Context) -> str:
        stroke = self._begin_stroke(context)
        stroke.prepare(stroke.smoothing())
        for touch in self.touches:
            stroke.touch(touch.location, touch.radius, self.strength * touch.pressure)
        stroke.write()
        return f"Smoothed {count(stroke.changed, 'vertex')}"

    def _begin_stroke(self, context: bpy.types.Context) -> SmoothStroke:
        obj = cast(bpy.types.Object, context.active_object)
        return SmoothStroke(obj, context.evaluated_depsgraph_get(), self.repeats)

    def begin(self, context: bpy.types.Context) -> None:
        obj = cast(bpy.types.Object, context.active_object)
        self._is_released = False
        self._stroke, radius = self._begin_stroke(context), context.scene.supple_weights.brush_radius
        self._brush = BrushOnSkin(obj, context.evaluated_depsgraph_get(), self._stroke, radius)
        manager = context.window_manager
        self._smoothing = StepsBeside(computed(self._stroke.smoothing), computes=True)
        self._began.callback(self._smoothing.close)
        timer = manager.event_timer_add(CHECK_INTERVAL, window=context.window)
        self._began.callback(manager.event_timer_remove, timer)
        self._began.callback(mesh_of(obj).update_tag)
        self._began.enter_context(without_changes())  # the skin follows when the stroke ends

    def keys(self) -> str:
        if not self._stroke.is_prepared:
            return "Smooth weights are being computed: draw on. Esc, Right Click: Cancel"
        return "Release: Keep   Esc, Right Click: Cancel"

    def react(self, context: bpy.types.Context, event: bpy.types.Event, mouse: Mouse) -> set[str]:
        if event.type in CANCEL and event.value == "PRESS":
            self.restore()
            return {"CANCELLED"}
        if not self._stroke.is_prepared:
            self._prepare(context)
        self._is_released |= event.type == "LEFTMOUSE" and event.value == "RELEASE"
        if self._is_released and self._stroke.is_prepared:
            self._stroke.write()
            self.tell(f"Smoothed {count(self._stroke.changed, 'vertex')}")
            return {"FINISHED"}
        if not self._is_released and event.type in ("LEFTMOUSE", "MOUSEMOVE", "INBETWEEN_MOUSEMOVE"):
            view = find_view(context.screen, *mouse.astype(int))
            if view is not None and not view.is_flat:
                self._follow(view, mouse, getattr(event, "pressure", 1.0))
                self.redraw(context)
        return {"RUNNING_MODAL"}

    def _prepare(self, context: bpy.types.Context) -> None:
        """Prepare the stroke for writing as soon as the smooth weights are computed."""
        try:
            self._smoothing.take(0.0)
        except StopIteration as end:
            self._stroke.prepare(end.value)
            self._stroke.write(is_last=False)
            self.show_message(context)
            self.redraw(context)

    def _follow(self, view: View, mouse: Mouse, pressure: float) -> None:
        for touched in self._brush.follow(view, mouse, self.strength * pressure):
            touch: Any = self.touches.add()
            touch.location, touch.radius, touch.pressure = touched.location, touched.radius, pressure

    def restore(self) -> None:
        self._stroke.restore()
