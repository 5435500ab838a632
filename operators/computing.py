"""What takes seconds: computed in a thread of its own, with progress and Esc to cancel."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, cast

import bpy

from ..deformers import SkinningError
from ..tasks.steps import Steps, only, take_all
from .base import WaitingOperator

CHECK_INTERVAL = 0.02
"""Seconds after which is checked whether the computing is done."""

STEP_TIME = 0.1
"""Seconds in which steps are taken between two drawings of the window."""

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


class ComputingOperator(WaitingOperator):
    """Mix-in: takes long steps in one go from Python, and from the user interface between two drawings of the window.

    `run` calls `compute` with a function that touches nothing of Blender's, or `take` with steps; `finish` is called
    with what they have returned, and says what was done. Where a user waits, the first step is taken once progress is
    shown, and it is shown until all that follows what was done has followed.
    """

    subject = ""
    """What is computed, as in "40 % of ..."."""
    canceled = ""
    """What is reported after Esc."""
    is_interactive = False
    """Whether a user waits in front of a window: set by `watch`."""
    _steps: Steps | None = None
    """What is being done, until it ends."""

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        self.watch(context)
        return self.execute(context)

    def watch(self, context: bpy.types.Context) -> None:
        """Note whether a user waits in front of a window."""
        self.is_interactive = not bpy.app.background and context.window is not None

    def compute(self, context: bpy.types.Context, function: Callable[[Callable[[float], None]], Any]) -> Any:
        """Compute, in a thread where a user waits, and `finish`; `function` takes a function that is told the share."""
        return self.take(context, only(function))

    def take(self, context: bpy.types.Context, steps: Steps) -> Any:
        """Take steps, a few at a time where a user waits, and `finish`: returns and raises as `run` does."""
        is_interactive, self.is_interactive = self.is_interactive, False  # Repeat Last and Redo execute this instance
        if not is_interactive:
            return self.finish(context, take_all(steps))
        self._steps, self._computation, self._share, self._is_canceled = steps, None, 0.0, False
        self._status, self._status_time, self._start = "", 0.0, time.monotonic()
        self.begin_waiting(context, CHECK_INTERVAL, 100)
        self.show_progress(context)
        context.window_manager.modal_handler_add(cast(bpy.types.Operator, self))
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        if event.type == "ESC":
            self._stop()
        return self._go_on(context) if event.type == "TIMER" else {"RUNNING_MODAL"}

    def _go_on(self, context: bpy.types.Context) -> set[str]:
        result = {"CANCELLED"}
        try:
            result = self.attempt(lambda: self._advance(context))
        finally:
            if "RUNNING_MODAL" not in result:
                self.end(context)
        return result

    def stop(self) -> Any:
        """After Esc, say that nothing was changed, unless something was: returns as `run` does."""
        self.tell(self.canceled)
        return {"CANCELLED"}

    def finish(self, context: bpy.types.Context, result: Any) -> Any:
        """Write what was computed: returns and raises as `run` does."""
        raise AssertionError("each operator has its own")

    def _advance(self, context: bpy.types.Context) -> Any:
        """Take steps for a moment, or until one computes in a thread; after the last, `finish`. Returns as `run`."""
        until = time.monotonic() + STEP_TIME
        try:
            while self._computation is None or not self._computation.is_running:
                step = self._take_step()
                if callable(step):
                    self._computation = Computation(step)
                elif step is not None:
                    self._share = step
                if time.monotonic() > until:
                    break
        except StopIteration as end:
            result = self.finish(context, end.value)
            context.view_layer.update()  # what follows a change may take as long as the change
            return result
        except CanceledError:
            return self.stop()
        self.show_progress(context)
        return {"RUNNING_MODAL"}

    def _take_step(self) -> Any:
        """Take the next step, with what was computed meanwhile or what is wrong about it."""
        steps, computation, self._computation = self._steps, self._computation, None
        assert steps is not None  # until `end`
        if self._is_canceled:
            steps.close()  # before anyone is told: what they have begun is taken back
            raise CanceledError
        if computation is None:
            return next(steps)
        try:
            result = computation.wait()
        except SkinningError as error:
            return steps.throw(error)
        return steps.send(result)

    def _stop(self) -> None:
        self._is_canceled = True
        if self._computation is not None:
            self._computation.cancel()

    def show_progress(self, context: bpy.types.Context) -> None:
        """Show the progress, and how long it takes yet, under the mouse and in the status bar."""
        share = self._share if self._computation is None else max(self._share, self._computation.done)
        done, now = round(100 * share), time.monotonic()
        status = "canceling" if self._is_canceled else f"{done} % of {self.subject}. Esc to cancel"
        if not self._is_canceled and (left := estimate_left(share, now - self._start)):
            status = f"{done} % of {self.subject}, {left} s left. Esc to cancel"
        if status != self._status and (self._is_canceled or now - self._status_time >= STATUS_INTERVAL):
            self._status, self._status_time = status, now
            self.show_waiting(context, done, status)

    def cancel(self, context: bpy.types.Context) -> None:
        """Blender ends the operator, as when another file is opened, or its dialog."""
        if self._steps is not None:
            self._stop()
            self.end(context)

    def end(self, context: bpy.types.Context) -> None:
        steps, self._steps = self._steps, None
        if steps is not None:
            steps.close()  # what they have begun is taken back
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
