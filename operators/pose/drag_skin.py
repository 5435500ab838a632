"""Drag the skin with the mouse or by a script: the tool in the toolbar of Pose Mode, and its pins."""

from __future__ import annotations

from typing import cast

import bpy
from bpy.props import CollectionProperty, EnumProperty, StringProperty

from ...bridge.meshes.skin_points import SkinPoint
from ...deformers import SkinningError
from ...options import DragOptions, rows_of
from ...settings.objects import settings_of
from ...settings.patterns import StrokePoint
from ...settings.properties import FloatVectorProperty, copy_options, read_options, with_options
from ...tasks.pose.drag import SkinDrag
from ...tasks.pose.pins import Pin, clear_pins, toggle_pin
from ...tasks.pose.skins import find_nearest, find_skins, find_under_ray
from ...viewport.pins import dragged_point
from ...viewport.view import Mouse, find_view, read_mouse
from ..base import SKIP, SuppleOperator
from ..mouse_tools import CANCEL, FOLLOWED_AFTER, ModalTool

SELECT = "Select the armature of a mesh, and go to Pose Mode first"

# A click within this distance from a pin removes it, in pixels.
PIN_RADIUS = 10.0

# Steps toward a script's target, as a mouse comes nearer with each movement
TARGET_STEPS = 20


def find_posed(context: bpy.types.Context) -> bpy.types.Object | None:
    """The active armature if it is in Pose Mode."""
    active = context.active_object
    return active if active is not None and active.type == "ARMATURE" and active.mode == "POSE" else None


def needs_posed(context: bpy.types.Context) -> str:
    return "" if find_posed(context) is not None else SELECT


def needs_pins(context: bpy.types.Context) -> str:
    is_there = settings_of(cast(bpy.types.Object, find_posed(context))).pins
    return "" if is_there else "There are no pins: click on the skin with the Drag Skin tool"


@with_options(DragOptions)
class SUPPLE_OT_drag_skin(ModalTool, bpy.types.Operator):
    """Drag a point of the skin: the bones follow with the least deformation of the skin. Click to pin or unpin the
    point"""

    bl_label = "Drag Skin"
    requires = (needs_posed,)

    action: EnumProperty(
        name="Action",
        description="Action on the point",
        items=(
            ("DRAG", "Drag", "Move the point to the target"),
            ("PIN", "Pin", "Pin the point, or remove its pin"),
        ),
        options=SKIP,
    )
    mesh: StringProperty(name="Mesh", description="Mesh with the point; the nearest skin of all if empty", options=SKIP)
    point: FloatVectorProperty(
        name="Point",
        description="Point in world space: the nearest point of the posed skin is used",
        subtype="TRANSLATION",
        options=SKIP,
    )
    target: FloatVectorProperty(
        name="Target", description="Target location of the point, in world space", subtype="TRANSLATION", options=SKIP
    )
    path: CollectionProperty(type=StrokePoint, options={"HIDDEN", *SKIP})

    def draw(self, _context: bpy.types.Context) -> None:
        self.layout.use_property_split = True
        for option in rows_of(DragOptions):
            if (option.name == "hold_rotation") == (self.action == "PIN"):
                self.layout.prop(self, option.name)

    def run(self, context: bpy.types.Context) -> set[str]:
        armature, self._drag = cast(bpy.types.Object, find_posed(context)), None
        try:
            skins = find_skins(armature, context.view_layer, name=self.mesh)
            point, _ = find_nearest(skins, context.evaluated_depsgraph_get(), self.point)
            if self.action == "PIN":
                return self._pin(context, armature, point, 0.0)
            self._drag = SkinDrag(armature, context.view_layer, point, read_options(DragOptions, self))
            for target in [stop.location for stop in self.path] or [self.target] * TARGET_STEPS:
                self._drag.move(target)
        except SkinningError:
            self.restore()
            raise
        return self._finish(context, self._drag)

    def _pin(self, context: bpy.types.Context, armature: bpy.types.Object, point: SkinPoint, reach: float) -> set[str]:
        is_pinned = toggle_pin(armature, Pin(point, self.hold_rotation), context.evaluated_depsgraph_get(), reach)
        self.tell("Pinned a point of the skin" if is_pinned else "Removed a pin")
        return {"FINISHED"}

    def _finish(self, context: bpy.types.Context, drag: SkinDrag) -> set[str]:
        changed = drag.finish(context)
        return {"FINISHED"} if changed else {"CANCELLED"}

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        if event.type != "LEFTMOUSE" or event.value != "PRESS":
            return self.execute(context)
        copy_options(DragOptions, context.scene.supple_drag, self)
        mouse = read_mouse(event)
        view = find_view(context.screen, *mouse.astype(int))
        if view is None or view.is_flat:
            return {"PASS_THROUGH"}
        armature = cast(bpy.types.Object, find_posed(context))
        try:
            skins = find_skins(armature, context.view_layer, view.area.spaces.active)
        except SkinningError as error:
            self.tell(str(error), "WARNING")
            return {"PASS_THROUGH"}
        found = find_under_ray(skins, context.evaluated_depsgraph_get(), *view.ray(mouse))
        if found is None:
            return {"PASS_THROUGH"}
        self._armature, self._view, self._pressed = armature, view, mouse
        self._grabbed, self._start = found
        self._drag: SkinDrag | None = None
        self._is_starting = False
        return super().invoke(context, event)

    def keys(self) -> str:
        return "Move the Mouse: Pose   Release: Done, Without a Move: Pin or Unpin Here   Esc, Right Click: Undo"

    def react(self, context: bpy.types.Context, event: bpy.types.Event, mouse: Mouse) -> set[str]:
        if event.type in CANCEL and event.value == "PRESS":
            self._stop_starting(context)
            self.restore()
            return {"CANCELLED"}
        try:
            if self._is_starting and (event.type == "TIMER" or event.value == "RELEASE"):
                self._start_drag(context)
            if event.type == "LEFTMOUSE" and event.value == "RELEASE":
                return self._release(context)
            if event.type == "MOUSEMOVE" and not self._is_starting:
                self._follow(context, mouse)
        except SkinningError as error:
            self.restore()
            self.tell(str(error), "ERROR")
            return {"CANCELLED"}
        return {"RUNNING_MODAL"}

    def _follow(self, context: bpy.types.Context, mouse: Mouse) -> None:
        if self._drag is None:
            if max(abs(mouse - self._pressed)) >= context.preferences.inputs.drag_threshold_mouse:
                self._is_starting = True
                self.begin_waiting(context, FOLLOWED_AFTER, 1)
                self.show_waiting(context, 0, "the skin is read")
            return
        self.target = self._view.carry(mouse, self._start)
        self.path.add().location = self.target
        self._drag.move(self.target)
        self.redraw(context)

    def _start_drag(self, context: bpy.types.Context) -> None:
        """Read the character, which takes long the first time; the window shows a message."""
        self._is_starting = False
        try:
            self._drag = SkinDrag(self._armature, context.view_layer, self._grabbed, read_options(DragOptions, self))
        finally:
            self.end_waiting(context)
        self.mesh, self.point = self._grabbed.obj.name, self._drag.start
        self._began.enter_context(dragged_point(self._grabbed))

    def _release(self, context: bpy.types.Context) -> set[str]:
        if self._drag is not None:
            return self._finish(context, self._drag)
        self.action, self.mesh, self.point = "PIN", self._grabbed.obj.name, self._start
        reach = self._view.measure(self._pressed, self._start, PIN_RADIUS * context.preferences.system.ui_scale)
        return self._pin(context, self._armature, self._grabbed, reach)

    def restore(self) -> None:
        if self._drag is not None:
            self._drag.restore()

    def _stop_starting(self, context: bpy.types.Context) -> None:
        if self._is_starting:
            self._is_starting = False
            self.end_waiting(context)

    def cancel(self, context: bpy.types.Context) -> None:
        self._stop_starting(context)
        self.restore()
        super().cancel(context)


class SUPPLE_OT_clear_pins(SuppleOperator, bpy.types.Operator):
    """Remove all pins from the skin of the active armature"""

    bl_label = "Clear Pins"
    requires = (needs_posed, needs_pins)

    def run(self, context: bpy.types.Context) -> str:
        return f"Removed {clear_pins(cast(bpy.types.Object, find_posed(context)))} pins"
