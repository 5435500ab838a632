"""What takes seconds: computed in a thread of its own, with progress and Esc to cancel."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, cast

import bpy

from ..deformers import SkinningError
from ..translations import translate

CHECK_INTERVAL = 0.1
"""Seconds after which is checked whether the computing is done."""

STATUS_INTERVAL = 0.5
"""Least seconds between two changes of the status bar: each has Blender draw it, which takes from the computing."""


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


class ComputingOperator:
    """Mix-in: computes in one go from Python, and in a thread from the user interface.

    `compute` is called with a function that touches nothing of Blender's; `finish` is called with what it has returned.
    """

    subject = ""
    """What is computed, as in "40 % of ..."."""
    canceled = ""
    """What is reported after Esc."""
    is_interactive = False
    """Whether a user waits in front of a window: set by `invoke`."""

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        self.is_interactive = not bpy.app.background and context.window is not None
        return self.execute(context)

    def compute(self, context: bpy.types.Context, function: Callable[[Callable[[float], None]], Any]) -> set[str]:
        """Compute, in a thread where a user waits, and `finish`; `function` takes a function that is told the share."""
        is_interactive, self.is_interactive = self.is_interactive, False  # Repeat Last and Redo execute this instance
        if not is_interactive:
            return self.finish(context, function(lambda share: None))
        manager = context.window_manager
        self._computation = Computation(function)
        self._status, self._status_time = "", 0.0
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
            self.report({"INFO"}, translate(self.canceled))
        except SkinningError as error:
            self.report({"ERROR"}, translate(str(error)))
        return {"CANCELLED"}

    def show_progress(self, context: bpy.types.Context) -> None:
        """Show the progress, under the mouse and in the status bar."""
        done = round(100 * self._computation.done)
        status = "canceling" if self._computation.is_canceled else f"{done} % of {self.subject}. Esc to cancel"
        now = time.monotonic()
        if status != self._status and (self._computation.is_canceled or now - self._status_time >= STATUS_INTERVAL):
            self._status, self._status_time = status, now
            context.window_manager.progress_update(done)
            context.workspace.status_text_set(translate(f"Supple: {status}"))

    def cancel(self, context: bpy.types.Context) -> None:
        """Blender ends the operator, as when another file is opened."""
        self._computation.cancel()
        self.end(context)

    def end(self, context: bpy.types.Context) -> None:
        context.window_manager.event_timer_remove(self._timer)
        context.window_manager.progress_end()
        context.workspace.status_text_set(None)
