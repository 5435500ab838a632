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


class ComputingOperator(WaitingOperator):
    """Mix-in: takes long steps in one go from Python, and from the user interface between two drawings of the window.

    `run` calls `compute` with a function that touches nothing of Blender's, or `take` with steps; `finish` is called
    with what they have returned, and says what was done.
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
        result = self._go_on(context)  # what takes but a moment is done at once
        if result == {"RUNNING_MODAL"}:
            context.window_manager.modal_handler_add(cast(bpy.types.Operator, self))
        return result

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        if event.type == "ESC":
            self._stop()
        return self._go_on(context) if event.type == "TIMER" else {"RUNNING_MODAL"}

    def _go_on(self, context: bpy.types.Context) -> set[str]:
        try:
            self._advance()
        except StopIteration as end:
            self.end(context)
            result = end.value
            return self.attempt(lambda: self.finish(context, result))
        except CanceledError:
            self.end(context)
            return self.attempt(self.stop)
        except SkinningError as error:
            self.tell(str(error), "ERROR")
        except BaseException:
            self.end(context)
            raise
        else:
            self.show_progress(context)
            return {"RUNNING_MODAL"}
        self.end(context)
        return {"CANCELLED"}

    def stop(self) -> Any:
        """After Esc, say that nothing was changed, unless something was: returns as `run` does."""
        self.tell(self.canceled)
        return {"CANCELLED"}

    def finish(self, context: bpy.types.Context, result: Any) -> Any:
        """Write what was computed: returns and raises as `run` does."""
        raise AssertionError("each operator has its own")

    def _advance(self) -> None:
        """Take steps for a moment, or until one computes in a thread; raises StopIteration after the last."""
        until = time.monotonic() + CHECK_INTERVAL
        while self._computation is None or not self._computation.is_running:
            result = None
            if self._computation is not None:
                computation, self._computation = self._computation, None
                result = computation.wait()
            if self._is_canceled:
                raise CanceledError
            step = self._steps.send(result)
            if callable(step):
                self._computation = Computation(step)
            else:
                self._share = step
            if time.monotonic() > until:
                break

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
        """Blender ends the operator, as when another file is opened."""
        self._stop()
        self.end(context)

    def end(self, context: bpy.types.Context) -> None:
        self._steps.close()  # what they have begun is taken back
        self.end_waiting(context)


def estimate_left(share: float, seconds: float) -> int:
    """Seconds that are left if the rest goes as what is done, by fives; 0 where there is no telling yet."""
    if share < 0.05 or seconds < 5.0:
        return 0
    return max(5, 5 * round(seconds * (1.0 - share) / share / 5.0))
