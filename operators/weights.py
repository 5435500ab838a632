"""Automatic weights, with progress and Esc to cancel."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import fields
from typing import Any, cast

import bpy
from bpy.props import BoolProperty

from ..bridge.carriers import is_hidden_object
from ..deformers import SkinningError
from ..settings.weights import CHOICES, WeightOptions
from ..tasks.character import has_armature_modifier
from ..tasks.weights import automatic as weights

CHECK_INTERVAL = 0.1
"""Seconds after which is checked whether the computing is done."""

SELECT = "Select a mesh that has an Armature modifier, or a mesh together with its armature"


def chosen_armature(context: bpy.types.Context) -> bpy.types.Object | None:
    """The armature that is active or selected, where it is the only one."""
    chosen = {obj for obj in (context.active_object, *context.selected_objects) if obj and obj.type == "ARMATURE"}
    return chosen.pop() if len(chosen) == 1 else None


def chosen_meshes(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The selected meshes, and the active one while it is edited or painted.

    Where nothing is selected, the active mesh; where no mesh is, all visible ones that the active armature deforms.
    """
    active = context.active_object
    meshes = [obj for obj in context.selected_objects if obj.type == "MESH" and not is_hidden_object(obj)]
    if active is None or active in meshes:
        return meshes
    if active.type == "MESH" and (active.mode != "OBJECT" or (not context.selected_objects and active.visible_get())):
        return [*meshes, active]
    if active.type == "ARMATURE" and not meshes:
        return [obj for obj in context.view_layer.objects if has_armature_modifier(obj, active) and obj.visible_get()]
    return meshes


class CanceledError(Exception):
    """The user has pressed Esc."""


class Computation:
    """A function that runs in a thread of its own, and that reports its progress and can be stopped.

    Parameters
    ----------
    function : callable
        Takes a function to call with the share that is done, 0 to 1. Touches nothing of Blender's.
    """

    def __init__(self, function: Callable[[Callable[[float], None]], Any]) -> None:
        self.done = 0.0
        self.is_canceled = False
        self._result: Any = None
        self._error: BaseException | None = None
        self._function = function
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._result = self._function(self._report)
        except BaseException as error:  # noqa: BLE001 - it is raised again where the result is asked for
            self._error = error

    def _report(self, done: float) -> None:
        self.done = max(self.done, done)
        if self.is_canceled:
            raise CanceledError

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def cancel(self) -> None:
        """Have it stop, as soon as it next reports progress."""
        self.is_canceled = True

    def wait(self) -> Any:
        """The result, once it is there; raises what the function raised, and CanceledError where it was to stop."""
        self._thread.join()
        if self.is_canceled:
            raise CanceledError
        if self._error is not None:
            raise self._error
        return self._result


class WeightsOperator:
    """Mix-in: automatic weights in one go from Python, and in a thread of their own from the user interface."""

    is_interactive = False
    """Whether a user waits in front of a window: set by `invoke`."""

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        self.is_interactive = not bpy.app.background and context.window is not None
        return self.execute(context)

    def weight(
        self,
        context: bpy.types.Context,
        meshes: list[bpy.types.Object],
        options: weights.Options,
        armature: bpy.types.Object | None,
    ) -> set[str]:
        """Weight meshes, and `finish`."""
        is_interactive, self.is_interactive = self.is_interactive, False  # Repeat Last and Redo execute this instance
        try:
            self._jobs = weights.prepare(meshes, options, armature)
            if is_interactive:
                return self.run_modal(context)
            return self.finish(context, weights.compute_all(self._jobs))
        except SkinningError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}

    def finish(self, _context: bpy.types.Context, results: list[weights.Result]) -> set[str]:
        """Write what was computed, and report it."""
        for report in weights.apply(self._jobs, results):
            self.report({"INFO"}, " ".join(report.summarize()))
        return {"FINISHED"}

    def run_modal(self, context: bpy.types.Context) -> set[str]:
        """Compute in a thread, with a progress bar."""
        manager = context.window_manager
        self._computation = Computation(lambda progress: weights.compute_all(self._jobs, progress))
        self._status = ""
        self._timer = manager.event_timer_add(CHECK_INTERVAL, window=context.window)
        manager.progress_begin(0, 100)
        manager.modal_handler_add(cast(bpy.types.Operator, self))
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        if event.type == "ESC":
            self._computation.cancel()
        if event.type != "TIMER":
            return {"RUNNING_MODAL"}
        if self._computation.is_running:
            self.show_progress(context)
            return {"RUNNING_MODAL"}
        self.end(context)
        try:
            return self.finish(context, self._computation.wait())
        except CanceledError:
            self.report({"INFO"}, "Automatic weights canceled: nothing was changed")
        except SkinningError as error:
            self.report({"ERROR"}, str(error))
        return {"CANCELLED"}

    def show_progress(self, context: bpy.types.Context) -> None:
        """Show the progress, under the mouse and in the status bar."""
        done = round(100 * self._computation.done)
        status = "canceling" if self._computation.is_canceled else f"{done} % of the weights. Esc to cancel"
        if status != self._status:  # each redraw takes from the computing
            self._status = status
            context.window_manager.progress_update(done)
            context.workspace.status_text_set(f"Supple: {status}")

    def cancel(self, context: bpy.types.Context) -> None:
        """Blender ends the operator, as when another file is opened."""
        self._computation.cancel()
        self.end(context)

    def end(self, context: bpy.types.Context) -> None:
        context.window_manager.event_timer_remove(self._timer)
        context.window_manager.progress_end()
        context.workspace.status_text_set(None)


class SUPPLE_OT_weights_auto(WeightOptions, WeightsOperator, bpy.types.Operator):
    """Weight the selected meshes to the bones of their armature, all together as one solid"""

    bl_idname = "supple.weights_auto"
    bl_label = "Automatic Weights"
    bl_options = {"REGISTER", "UNDO"}

    mirror: BoolProperty(
        name="Mirror",
        description="Give both sides of the armature the same weights. Follows the mesh's X Mirror if not set",
        options={"SKIP_SAVE"},
    )

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not chosen_meshes(context):
            cls.poll_message_set(SELECT)
            return False
        return True

    def execute(self, context: bpy.types.Context) -> set[str]:
        meshes = chosen_meshes(context)
        if not self.properties.is_property_set("mirror"):
            self.mirror = any(obj.use_mesh_mirror_x for obj in meshes)
        names = [option.name for option in fields(weights.Options) if option.name != "choices"]
        choices = {name: getattr(self, name) for name in CHOICES}
        options = weights.Options(choices=choices, **{name: getattr(self, name) for name in names})
        return self.weight(context, meshes, options, chosen_armature(context))


register, unregister = bpy.utils.register_classes_factory((SUPPLE_OT_weights_auto,))
