"""Operators that take seconds: another Blender computes, with progress and Esc to cancel."""

from __future__ import annotations

import time
from typing import Any, cast

import bpy

from ..tasks.steps import EditedMeanwhileError, Steps, StepsBeside, take_all
from .base import WaitingOperator

# Seconds between two calls of `modal`
CHECK_INTERVAL = 0.02

# Minimum seconds between two changes of the status bar: each redraws Blender, which slows the computing down.
STATUS_INTERVAL = 0.5


class ComputingOperator(WaitingOperator):
    """Mix-in: takes long steps in one go from Python, and between two redraws of the window from the user interface.

    An operator has `list_steps`, or a `run` that calls `take` with steps (see `Steps`). `finish` is called with what
    they return. If a user waits, progress is shown before the first step is taken, and until Blender has evaluated all
    that depends on the change.
    """

    # Seconds in which steps are taken before the window is drawn
    step_time = 0.05
    # Whether the steps are sure to compute something: the other Blender is then started at once.
    computes = False

    # What is computed, as in "40 % of the weights"
    subject = ""
    # The report after Esc
    canceled = "Canceled: nothing was changed"
    # Whether a user waits in front of a window: set by `watch`
    is_interactive = False
    _steps: StepsBeside | None = None

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        self.watch(context)
        return self.execute(context)

    def watch(self, context: bpy.types.Context) -> None:
        """Note whether a user waits in front of a window."""
        self.is_interactive = not bpy.app.background and context.window is not None

    def run(self, context: bpy.types.Context) -> Any:
        return self.take(context, self.list_steps(context))

    def list_steps(self, context: bpy.types.Context) -> Steps:
        """The steps of the operator."""
        raise AssertionError("each operator has its own")

    def take(self, context: bpy.types.Context, steps: Steps) -> Any:
        """Take steps, a few at a time if a user waits, and `finish`: returns and raises as `run` does."""
        is_interactive, self.is_interactive = self.is_interactive, False  # Repeat Last and Redo execute this instance
        if not is_interactive:
            return self.finish(context, take_all(steps))
        self._steps = StepsBeside(steps, self.computes)
        self._status, self._status_time, self._start = "", 0.0, time.monotonic()
        self.begin_waiting(context, CHECK_INTERVAL, 100)
        self._waiting.ends.callback(self._steps.close)
        self._show_progress(context, self._steps.share)
        context.window_manager.modal_handler_add(cast(bpy.types.Operator, self))
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        if event.type == "ESC":
            self.end(context)
            return self.attempt(self.stop)
        if event.type != "TIMER":
            return {"RUNNING_MODAL"}
        result = {"CANCELLED"}
        try:
            result = self.attempt(lambda: self._advance(context, cast(StepsBeside, self._steps)))
        finally:
            if "RUNNING_MODAL" not in result:
                self.end(context)
        return result

    def _advance(self, context: bpy.types.Context, steps: StepsBeside) -> Any:
        """Take steps for a moment; after the last, `finish`. Returns and raises as `run` does."""
        try:
            steps.take(self.step_time)
        except StopIteration as end:
            result = self.finish(context, end.value)
            context.view_layer.update()  # evaluating the change may take as long as computing it
            return result
        except EditedMeanwhileError as error:
            self.tell(str(error), "WARNING")
            return self.stop()
        self._show_progress(context, steps.share)
        return {"RUNNING_MODAL"}

    def stop(self) -> Any:
        """After Esc, report that nothing was changed, unless something was: returns as `run` does."""
        self.tell(self.canceled)
        return {"CANCELLED"}

    def finish(self, _context: bpy.types.Context, result: Any) -> Any:
        """Write the result, if the last step did not: returns and raises as `run` does."""
        return result

    def _show_progress(self, context: bpy.types.Context, share: float) -> None:
        """Show the progress and the time that is left, at the mouse pointer and in the status bar."""
        done, now = round(100 * share), time.monotonic()
        status = f"{done} % of {self.subject}. Esc to cancel"
        if left := estimate_left(share, now - self._start):
            status = f"{done} % of {self.subject}, {left} s left. Esc to cancel"
        if status != self._status and now - self._status_time >= STATUS_INTERVAL:
            self._status, self._status_time = status, now
            self.show_waiting(context, done, status)

    def cancel(self, context: bpy.types.Context) -> None:
        """End because Blender ends the operator, such as when another file is opened, or its dialog is closed."""
        if self._steps is not None:
            self.end(context)

    def end(self, context: bpy.types.Context) -> None:
        self._steps = None
        self.end_waiting(context)


class SlowOperator(ComputingOperator):
    """Mix-in: `work` may take long, and cannot be divided into steps. If a user waits, progress is shown before."""

    def list_steps(self, context: bpy.types.Context) -> Steps:
        yield None
        return self.work(context)

    def work(self, context: bpy.types.Context) -> Any:
        """Do all of it: returns and raises as `run` does."""
        raise AssertionError("each operator has its own")


def estimate_left(share: float, seconds: float) -> int:
    """Seconds left if the rest takes as long as the part that is done, rounded to 5; 0 if it is too early to tell."""
    if share < 0.05 or seconds < 5.0:
        return 0
    return max(5, 5 * round(seconds * (1.0 - share) / share / 5.0))
