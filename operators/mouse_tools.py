"""Tools that follow the mouse in the 3D View and the UV editor until they are confirmed or canceled."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import cast

import bpy

from ..bridge.held import Held
from ..deformers import SkinningError
from ..tasks.steps import EditedMeanwhileError
from ..translations import translate
from ..viewport.view import Mouse, read_mouse
from .base import WaitingOperator

MODES = ("OBJECT", "POSE", "PAINT_WEIGHT")

# Events whose names start so are left to the editor.
NAVIGATION = ("MIDDLEMOUSE", "WHEEL", "TRACKPAD", "MOUSEROTATE", "MOUSESMARTZOOM", "NDOF", "NUMPAD", "HOME", "TIMER")

PRESSED = ("PRESS", "DOUBLE_CLICK")

# Seconds until a slow step starts, in which the window is redrawn with a message
FOLLOWED_AFTER = 0.02

CONFIRM = ("RET", "NUMPAD_ENTER", "SPACE")

CANCEL = ("ESC", "RIGHTMOUSE")


class ModalTool(WaitingOperator):
    """Mix-in: runs until it is confirmed or canceled, and shows its keys; without a window, `run` does it at once."""

    # The message while the end of the tool takes long, such as "the skin follows"
    followed_by = ""

    _began: ExitStack
    _held: Held
    # The result to return after the slow step at the end
    _result: set[str] | None = None

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        if context.window is None:
            return self.execute(context)
        self._began = ExitStack()
        try:
            self.prepare(context)
        except SkinningError as error:
            self._began.close()
            self.tell(str(error), "ERROR")
            return {"CANCELLED"}
        window, workspace, area = context.window, context.workspace, context.area
        self._began.callback(window.cursor_modal_restore)
        self._began.callback(workspace.status_text_set, None)
        if area is not None:
            self._began.callback(area.header_text_set, None)
        window.cursor_modal_set("CROSSHAIR")
        self._area = area
        self.show_message(context)
        self._held = Held()
        context.window_manager.modal_handler_add(cast(bpy.types.Operator, self))
        return {"RUNNING_MODAL"}

    def prepare(self, context: bpy.types.Context) -> None:
        """Read the scene before the tool changes anything."""
        self.begin(context)

    def begin(self, context: bpy.types.Context) -> None:
        """Get ready to follow the mouse."""

    def react(self, context: bpy.types.Context, event: bpy.types.Event, mouse: Mouse) -> set[str]:
        """Respond to an event; `mouse` is its position in the window."""
        raise AssertionError("each tool has its own")

    def restore(self) -> None:
        """Undo changes that are not confirmed yet."""

    def keys(self) -> str:
        """The keys and their current effects."""
        raise AssertionError("each tool has its own")

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        if self._held.is_changed():
            return self._give_up(context)
        try:
            return self._handle(context, event)
        finally:
            self._held.note()

    def _give_up(self, context: bpy.types.Context) -> set[str]:
        """End the tool after an edit by others, without touching data that Blender may have freed."""
        self.tell(str(EditedMeanwhileError()), "WARNING")
        with suppress(ReferenceError):
            self._end(context)
        if self._result is not None:
            self.end_waiting(context)
        return {"CANCELLED"}

    def _handle(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        message = None
        if self._result is not None:
            return self._let_follow(context) if event.type == "TIMER" else {"RUNNING_MODAL"}
        try:
            result = self.react(context, event, read_mouse(event))
        except SkinningError as error:
            result, message = {"RUNNING_MODAL"}, str(error)
        except BaseException:  # a bug: it is raised, and neither the tool nor its work is left half done
            try:
                self.restore()
            finally:
                self._end(context)
            raise
        if result & {"FINISHED", "CANCELLED"} and self.followed_by:
            self._result = result
            self.begin_waiting(context, FOLLOWED_AFTER, 1)
            self.show_waiting(context, 0, self.followed_by)
            return {"RUNNING_MODAL"}
        if result & {"FINISHED", "CANCELLED"}:
            self._end(context)
        elif "PASS_THROUGH" not in result and event.type != "TIMER":  # to show it draws the window
            self.show_message(context, message)
        return result

    def _let_follow(self, context: bpy.types.Context) -> set[str]:
        """End the tool, and show progress until Blender has evaluated the change."""
        result, self._result = self._result, None
        assert result is not None  # as `modal` has seen
        try:
            self._end(context)
            context.view_layer.update()
        finally:
            self.end_waiting(context)
        return result

    def cancel(self, context: bpy.types.Context) -> None:
        """End because Blender ends the tool, such as when another file is opened."""
        self._end(context)
        if self._result is not None:
            self.end_waiting(context)

    def _end(self, context: bpy.types.Context) -> None:
        self._began.close()
        self.redraw(context)

    def show_message(self, context: bpy.types.Context, message: str | None = None) -> None:
        """Show the keys, or a message on a problem."""
        context.workspace.status_text_set(translate(self.keys()))
        if self._area is not None:
            self._area.header_text_set(translate(message or self.describe()))

    def describe(self) -> str:
        """The current action."""
        return self.keys()

    def redraw(self, context: bpy.types.Context) -> None:
        for window in context.window_manager.windows:
            for area in window.screen.areas:
                if area.type in ("VIEW_3D", "IMAGE_EDITOR"):
                    area.tag_redraw()


def needs_mode(context: bpy.types.Context) -> str:
    return "" if context.mode in MODES else "Go to Object, Pose or Weight Paint Mode first"
