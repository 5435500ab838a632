"""Fit a skeleton into meshes without one: find joints, let the user drag them, make an armature."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, cast

import bpy
from bpy.props import BoolProperty, CollectionProperty

from ...deformers.fit.joints import Fit
from ...options import FitOptions
from ...settings.events import redraw
from ...settings.patterns import StrokePoint
from ...settings.properties import read_options, with_options
from ...tasks.fit.fit import describe, find_joints, make_skeleton
from ...tasks.subject.character import has_armature_modifier
from ...translations import translate
from ...viewport.fit_markers import FitMarkers, shown_markers
from ...viewport.view import find_view, read_mouse
from ..base import SKIP
from ..computing import ComputingOperator
from ..mouse_tools import NAVIGATION, PRESSED
from ..selection import chosen_armature, meshes_to_weight

SELECT_BARE = "Select the meshes of one character that has no armature"
KEYS = "Drag Markers: Move Joints of Both Sides   Enter: Make the Armature   Esc, Right Click: Cancel"


def needs_bare_meshes(context: bpy.types.Context) -> str:
    if context.mode != "OBJECT":
        return "Go to Object Mode first"
    meshes = meshes_to_weight(context)
    is_bare = bool(meshes) and chosen_armature(context) is None and not any(map(has_armature_modifier, meshes))
    return "" if is_bare else SELECT_BARE


@with_options(FitOptions)
class SUPPLE_OT_fit_skeleton(ComputingOperator, bpy.types.Operator):
    """Fit a skeleton into the selected meshes of one character: drag the markers of its joints, and press Enter"""

    bl_label = "Fit Skeleton"
    requires = (needs_bare_meshes,)
    subject = "the joints"
    computes = True
    canceled = "Fit Skeleton canceled: nothing was changed"

    make: BoolProperty(
        name="Make Supple", description="Also add weights, and bind the meshes so that they bend well", default=False
    )
    moved: CollectionProperty(type=StrokePoint, options={"HIDDEN", *SKIP})

    # Markers that the user drags, after the joints were found
    _markers: FitMarkers | None = None

    def draw(self, _context: bpy.types.Context) -> None:
        self.layout.use_property_split = True
        self.layout.prop(self, "rig")
        self.layout.prop(self, "make")

    def run(self, context: bpy.types.Context) -> Any:
        self._is_watched, self._names = self.is_interactive, [obj.name for obj in meshes_to_weight(context)]
        return self.take(context, find_joints(self.list_meshes(), read_options(FitOptions, self)))

    def list_meshes(self) -> list[bpy.types.Object]:
        """The meshes that were selected at the start."""
        return [bpy.data.objects[name] for name in self._names]

    def finish(self, context: bpy.types.Context, fit: Fit) -> Any:
        """Make the armature, or let a user who waits drag the joints first."""
        if not self._is_watched:
            for joint in self.moved:
                fit = fit.moved(joint.name, joint.location)
            return self.make_armature(context, fit)
        self.end(context)
        self._markers, self._view, self._dragged = FitMarkers(fit), None, ""
        self._began = ExitStack()
        self._began.enter_context(shown_markers(self._markers))
        areas = [] if context.area is None else [context.area.header_text_set]
        for show_text in (context.workspace.status_text_set, *areas):
            self._began.callback(show_text, None)
            show_text(translate(KEYS))
        redraw(context.window_manager, context)
        return {"RUNNING_MODAL"}

    def make_armature(self, context: bpy.types.Context, fit: Fit) -> Any:
        """Make and report the armature; continue with Make Supple if it is chosen."""
        meshes = self.list_meshes()
        armature = make_skeleton(meshes, fit, read_options(FitOptions, self))
        first, *doubts = describe(armature, fit)
        self.tell(first)
        for doubt in doubts:
            self.tell(doubt, "WARNING")
        if self.make:
            bpy.ops.supple.make("INVOKE_DEFAULT" if self._is_watched else "EXEC_DEFAULT")
        return {"FINISHED"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        if self._markers is None:
            return ComputingOperator.modal(self, context, event)
        result = {"CANCELLED"}
        try:
            result = self.attempt(lambda: self.react(context, event, cast(FitMarkers, self._markers)))
        finally:
            if result & {"FINISHED", "CANCELLED"}:
                self.close(context)
        return result

    def react(self, context: bpy.types.Context, event: bpy.types.Event, markers: FitMarkers) -> Any:
        """Respond to an event: grab, drag and drop a marker, or make the armature."""
        is_pressed = event.value in PRESSED
        if event.type in ("RET", "NUMPAD_ENTER") and is_pressed:
            return self.make_armature(context, markers.fit)
        if event.type in ("ESC", "RIGHTMOUSE") and is_pressed:
            return self.stop()
        mouse = read_mouse(event)
        view = find_view(context.screen, *mouse.astype(int))
        if event.type == "LEFTMOUSE" and event.value == "RELEASE" and self._dragged:
            joint = self.moved.add()
            joint.name, joint.location = self._dragged, markers.fit.locate(self._dragged)
            self._dragged = ""
        elif event.type == "MOUSEMOVE" and self._dragged and self._view is not None:
            markers.fit = markers.fit.moved(self._dragged, self._view.carry(mouse, markers.fit.locate(self._dragged)))
        elif view is None or view.is_flat or event.type.startswith(NAVIGATION):
            return {"PASS_THROUGH"}
        elif event.type == "MOUSEMOVE":
            markers.active = markers.find(view, mouse)
        elif event.type == "LEFTMOUSE" and is_pressed:
            self._dragged, self._view = markers.find(view, mouse), view
            markers.active = self._dragged
        redraw(context.window_manager, context)
        return {"RUNNING_MODAL"}

    def close(self, context: bpy.types.Context) -> None:
        """Remove markers and texts."""
        self._began.close()
        self._markers = None
        redraw(context.window_manager, context)

    def cancel(self, context: bpy.types.Context) -> None:
        """End because Blender ends the operator, such as when another file is opened."""
        if self._markers is None:
            ComputingOperator.cancel(self, context)
        else:
            self.close(context)
