"""What takes seconds: computed by another Blender, with progress and Esc to cancel."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, cast

import bpy

from ..tasks.steps import EditedMeanwhileError, Steps, StepsBeside, only, take_all
from .base import WaitingOperator

CHECK_INTERVAL = 0.02
"""Seconds after which steps go on."""

STATUS_INTERVAL = 0.5
"""Least seconds between two changes of the status bar: each has Blender draw it, which takes from the computing."""


class ComputingOperator(WaitingOperator):
    """Mix-in: takes long steps in one go from Python, and from the user interface between two drawings of the window.

    `run` calls `compute` with a function that touches nothing of Blender's, or `take` with steps (see `Steps`);
    `finish` is called with what they have returned, and says what was done. Where a user waits, the first step is taken
    once progress is shown, and it is shown until all that follows what was done has followed.
    """

    step_time = 0.05
    """Seconds for which steps are taken before the window is drawn."""
    computes = False
    """Whether its steps are sure to have something computed: the other Blender is started right away then."""

    subject = ""
    """What is computed, as in "40 % of ..."."""
    canceled = ""
    """What is reported after Esc."""
    is_interactive = False
    """Whether a user waits in front of a window: set by `watch`."""
    _steps: StepsBeside | None = None
    """What is being done, until it ends."""

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        self.watch(context)
        return self.execute(context)

    def watch(self, context: bpy.types.Context) -> None:
        """Note whether a user waits in front of a window."""
        self.is_interactive = not bpy.app.background and context.window is not None

    def compute(self, context: bpy.types.Context, function: Callable[[Callable[[float], None]], Any]) -> Any:
        """Compute, by another Blender where a user waits, and `finish`: see `Child.order`."""
        return self.take(context, only(function))

    def take(self, context: bpy.types.Context, steps: Steps) -> Any:
        """Take steps, a few at a time where a user waits, and `finish`: returns and raises as `run` does."""
        is_interactive, self.is_interactive = self.is_interactive, False  # Repeat Last and Redo execute this instance
        if not is_interactive:
            return self.finish(context, take_all(steps))
        self._steps = StepsBeside(steps, self.computes)
        self._status, self._status_time, self._start = "", 0.0, time.monotonic()
        self.begin_waiting(context, CHECK_INTERVAL, 100)
        self._waiting.ends.callback(self._steps.close)
        self.show_progress(context)
        context.window_manager.modal_handler_add(cast(bpy.types.Operator, self))
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        if event.type == "ESC":
            self.end(context)
            return self.attempt(self.stop)
        return self._go_on(context) if event.type == "TIMER" else {"RUNNING_MODAL"}

    def _go_on(self, context: bpy.types.Context) -> set[str]:
        result = {"CANCELLED"}
        try:
            result = self.attempt(lambda: self._advance(context))
        finally:
            if "RUNNING_MODAL" not in result:
                self.end(context)
        return result

    def _advance(self, context: bpy.types.Context) -> Any:
        """Take steps for a moment; after the last, `finish`. Returns and raises as `run` does."""
        assert self._steps is not None  # until `end`
        try:
            self._steps.take(self.step_time)
        except StopIteration as end:
            result = self.finish(context, end.value)
            context.view_layer.update()  # what follows a change may take as long as the change
            return result
        except EditedMeanwhileError as error:
            self.tell(str(error), "WARNING")
            return self.stop()
        self.show_progress(context)
        return {"RUNNING_MODAL"}

    def stop(self) -> Any:
        """After Esc, say that nothing was changed, unless something was: returns as `run` does."""
        self.tell(self.canceled)
        return {"CANCELLED"}

    def finish(self, context: bpy.types.Context, result: Any) -> Any:
        """Write what was computed: returns and raises as `run` does."""
        raise AssertionError("each operator has its own")

    def show_progress(self, context: bpy.types.Context) -> None:
        """Show the progress, and how long it takes yet, under the mouse and in the status bar."""
        share = self._steps.share if self._steps is not None else 0.0
        done, now = round(100 * share), time.monotonic()
        status = f"{done} % of {self.subject}. Esc to cancel"
        if left := estimate_left(share, now - self._start):
            status = f"{done} % of {self.subject}, {left} s left. Esc to cancel"
        if status != self._status and now - self._status_time >= STATUS_INTERVAL:
            self._status, self._status_time = status, now
            self.show_waiting(context, done, status)

    def cancel(self, context: bpy.types.Context) -> None:
        """Blender ends the operator, as when another file is opened, or its dialog."""
        if self._steps is not None:
            self.end(context)

    def end(self, context: bpy.types.Context) -> None:
        self._steps = None
        self.end_waiting(context)


class SlowOperator(ComputingOperator):
    """Mix-in: what it does may take long, and cannot be cut into steps: where a user waits, progress is shown first."""

    canceled = "Canceled: nothing was changed"

    def run(self, context: bpy.types.Context) -> Any:
        return self.take(context, self._work_later(context))

    def _work_later(self, context: bpy.types.Context) -> Steps:
        yield None
        return self.work(context)

    def work(self, context: bpy.types.Context) -> Any:
        """Do it: returns and raises as `run` does."""
        raise AssertionError("each operator has its own")

    def finish(self, _context: bpy.types.Context, result: Any) -> Any:
        """All is done."""
        return result


def estimate_left(share: float, seconds: float) -> int:
    """Seconds that are left if the rest goes as what is done, by fives; 0 where there is no telling yet."""
    if share < 0.05 or seconds < 5.0:
        return 0
    return max(5, 5 * round(seconds * (1.0 - share) / share / 5.0))
