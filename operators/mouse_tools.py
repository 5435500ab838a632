"""Tools that follow the mouse over the 3D View and the UV editor: where it is, and what runs until it is confirmed."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, cast

import bpy
import numpy as np

from ..bridge.rays import PosedSkin, telling_rest
from ..deformers import SkinningError
from ..settings.objects import settings_of
from ..settings.patterns import PatternSettings
from ..tasks.patterns import hits as pattern_hits
from ..tasks.patterns.edit import check_index
from ..tasks.patterns.hits import Hit
from ..tasks.patterns.placing import outline_of
from ..viewport.view import View
from .patterns import PatternOperator, find_skin

MODES = ("OBJECT", "POSE", "PAINT_WEIGHT")

NAVIGATION = ("MIDDLEMOUSE", "WHEEL", "TRACKPAD", "MOUSEROTATE", "MOUSESMARTZOOM", "NDOF", "NUMPAD", "HOME", "TIMER")
"""Starts of the names of events that are left to the editor."""

PRESSED = ("PRESS", "DOUBLE_CLICK")

THRESHOLD = 3.0
"""Pixels that the mouse goes before it drags a pattern that a click has chosen; also between points of a stroke."""


def cast_mouse(view: View, mouse: np.ndarray, skin: PosedSkin, matrix: Any) -> Hit | None:
    """Where the skin of an object, which stands in the world by a matrix, is seen at a place in the window."""
    to_object = np.array(matrix.inverted_safe())
    return pattern_hits.cast_ray(skin, *pattern_hits.to_object_space(to_object, *view.ray(mouse)))


class ModalTool:
    """Mix-in: runs until it is confirmed or canceled, with a text that tells the keys."""

    _began: ExitStack

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        if context.window is None:
            return self.execute(context)
        self._began = ExitStack()
        try:
            self.prepare(context)
        except SkinningError as error:
            self._began.close()
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        window, workspace, area = context.window, context.workspace, context.area
        self._began.callback(window.cursor_modal_restore)
        self._began.callback(workspace.status_text_set, None)
        if area is not None:
            self._began.callback(area.header_text_set, None)
        window.cursor_modal_set("CROSSHAIR")
        self._area = area
        self.tell(context)
        context.window_manager.modal_handler_add(cast(bpy.types.Operator, self))
        return {"RUNNING_MODAL"}

    def execute(self, context: bpy.types.Context) -> set[str]:
        """Do without a window what the operator's properties say."""
        raise AssertionError("each tool has its own")

    def prepare(self, context: bpy.types.Context) -> None:
        """Look at what there is, before anything is changed."""
        self.begin(context)

    def begin(self, context: bpy.types.Context) -> None:
        """Get ready to follow the mouse."""

    def react(self, context: bpy.types.Context, event: bpy.types.Event, mouse: np.ndarray) -> set[str]:
        """Follow an event; `mouse` is its place in the window."""
        raise AssertionError("each tool has its own")

    def restore(self) -> None:
        """Take back what is not yet confirmed."""

    def keys(self) -> str:
        """What keys do now."""
        raise AssertionError("each tool has its own")

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        message = None
        try:
            result = self.react(context, event, np.array([event.mouse_x, event.mouse_y], float))
        except SkinningError as error:
            result, message = {"RUNNING_MODAL"}, str(error)
        except BaseException:  # a bug: its traceback is seen, and neither the tool nor its work is left half done
            try:
                self.restore()
            finally:
                self._end(context)
            raise
        if result & {"FINISHED", "CANCELLED"}:
            self._end(context)
        elif "PASS_THROUGH" not in result:
            self.tell(context, message)
        return result

    def cancel(self, context: bpy.types.Context) -> None:
        """Blender ends the tool, as when another file is opened."""
        self._end(context)

    def _end(self, context: bpy.types.Context) -> None:
        self._began.close()
        self.redraw(context)

    def tell(self, context: bpy.types.Context, message: str | None = None) -> None:
        """Show what keys do now, and what is wrong."""
        context.workspace.status_text_set(self.keys())
        if self._area is not None:
            self._area.header_text_set(message or self.describe())

    def describe(self) -> str:
        """What is being done."""
        return self.keys()

    def redraw(self, context: bpy.types.Context) -> None:
        for window in context.window_manager.windows:
            for area in window.screen.areas:
                if area.type in ("VIEW_3D", "IMAGE_EDITOR"):
                    area.tag_redraw()


class MouseTool(PatternOperator, ModalTool):
    """Mix-in: a tool for the patterns of a mesh."""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not super().poll(context):
            return False
        if context.mode not in MODES:
            cls.poll_message_set("Go to Object, Pose or Weight Paint Mode first")
            return False
        return True

    def prepare(self, context: bpy.types.Context) -> None:
        self._obj = cast(bpy.types.Object, find_skin(context))
        self._settings = settings_of(self._obj)
        check_index(self._obj, self._settings.active_pattern)
        self._mesh = outline_of(self._obj).mesh
        self.begin(context)
        self._began.enter_context(telling_rest(self._obj))

    def read_skin(self, context: bpy.types.Context) -> tuple[PosedSkin, Any]:
        """The skin as it is shown now, and where it stands in the world."""
        depsgraph = context.evaluated_depsgraph_get()
        return pattern_hits.read_skin(self._obj, depsgraph), self._obj.evaluated_get(depsgraph).matrix_world

    @property
    def pattern(self) -> PatternSettings:
        """The one that is being placed."""
        return self._settings.patterns[self._settings.active_pattern]
