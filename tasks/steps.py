"""Long work, step by step: a window may draw itself between two steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from functools import partial
from typing import Any, TypeVar, cast

from ..bridge.files.child import Child
from ..bridge.held import Held
from ..deformers import SkinningError

T = TypeVar("T")

# Called with the share that is done, 0 to 1. What it raises ends the work.
Progress = Callable[[float], None]

# Yields one of three: the share that is done, 0 to 1, after a step that it has taken itself; None, for the window to
# be drawn now; or a function to be computed, which takes a `Progress`: it is sent the result, or thrown what it
# raises. For a window that is computed by another Blender (`Child.order` says what it can be).
Steps = Generator[Any, Any, T]


def ignore_progress(_share: float) -> None:
    """A `Progress` for work that nobody waits for."""


def computed(function: Callable[[], T]) -> Steps[T]:
    """One step, computed; `function` cannot tell the share that is done."""
    return (yield partial(without_progress, function))


def counted(done: Iterator[int], count: int) -> Steps[int]:
    """Steps of an iterator that yields how many of `count` are done; they return `count`."""
    with closing(cast(Any, done)):
        for number in done:
            yield number / count
    return count


def without_progress(function: Callable[[], T], _progress: Progress) -> T:
    """Call a function that does not report progress."""
    return function()


def take_all(steps: Steps, progress: Progress | None = None) -> Any:
    """Take steps in one go.

    `progress` (callable, optional): called with the share that is done, 0 to 1.

    Returns
    -------
    object
        What they return.
    """
    progress = progress or ignore_progress
    with closing(steps):  # what they have begun is taken back, whatever ends them
        try:
            step = next(steps)
            while True:
                if callable(step):
                    step = _answer(steps, partial(step, progress))
                else:
                    if step is not None:
                        progress(step)
                    step = next(steps)
        except StopIteration as end:
            return end.value


def _answer(steps: Steps, compute: Callable[[], Any]) -> Any:
    """The next step, after sending the computed result to the steps, or throwing its error into them."""
    try:
        result = compute()
    except Exception as error:  # noqa: BLE001 - it is theirs
        return steps.throw(error)
    return steps.send(result)


def within(steps: Steps, start: float, share: float) -> Steps:
    """Steps as a part of others: their progress is a share of the whole, from a start on."""
    with closing(steps):
        try:
            step = next(steps)
            while True:
                if not callable(step):
                    yield None if step is None else start + share * step
                    step = next(steps)
                    continue
                try:
                    result = yield partial(_compute_within, step, start, share)
                except Exception as error:  # noqa: BLE001 - as `_answer`
                    step = steps.throw(error)
                else:
                    step = steps.send(result)
        except StopIteration as end:
            return end.value


def _compute_within(function: Callable[[Progress], Any], start: float, share: float, progress: Progress) -> Any:
    return function(lambda done: progress(start + share * done))


class EditedMeanwhileError(SkinningError):
    """The file was edited between two steps, in data that they may hold."""

    def __init__(self) -> None:
        super().__init__("The file was edited meanwhile: start again, and wait until it is done")


class StepsBeside:
    """Steps that are taken a few at a time; another Blender computes their functions.

    Steps hold data of Blender's from one to the next. So none is taken once that data has changed: they are closed.

    Parameters
    ----------
    computes : bool
        Whether the other Blender is sure to be needed: it is started at once then.
    """

    def __init__(self, steps: Steps, computes: bool = False) -> None:
        self._steps, self._share, self._is_computing, self._held = steps, 0.0, False, Held()
        self._child: Child | _Here | None = _start() if computes else None

    @property
    def share(self) -> float:
        """How much is done, 0 to 1."""
        return max(self._share, self._child.share if self._child is not None and self._is_computing else 0.0)

    def take(self, seconds: float) -> None:
        """Take steps for a while, or until something is computed.

        Raises
        ------
        StopIteration
            With what they return.
        EditedMeanwhileError
            If the file was edited since the last step. The steps are closed, and undo their work.
        """
        if self._held.is_changed():
            self.close()
            raise EditedMeanwhileError
        if self._is_waiting:
            return
        until, is_going = time.monotonic() + seconds, True
        while is_going:
            step = self._find_next()
            if callable(step):
                self._order(step)
            elif step is not None:
                self._share = max(self._share, step)
            is_going = step is not None and not self._is_waiting and time.monotonic() <= until
        self._held.note()

    @property
    def _is_waiting(self) -> bool:
        """Whether the other Blender computes."""
        return self._is_computing and self._child is not None and not self._child.is_done

    def close(self) -> None:
        """End the steps, which undo their work, and any computation."""
        if self._child is not None:
            self._child.end()
        self._steps.close()

    def _find_next(self) -> Any:
        if not self._is_computing:
            return next(self._steps)
        self._share, self._is_computing = self.share, False
        return _answer(self._steps, self._child.take)

    def _order(self, function: Callable[[Progress], Any]) -> None:
        self._child = self._child or _start()
        self._child.order(function)
        self._is_computing = True


class _Here:
    """Computes in this Blender, if the system cannot start another."""

    is_done, share = True, 0.0

    def order(self, function: Callable[[Progress], Any]) -> None:
        self._function = function

    def take(self) -> Any:
        return self._function(ignore_progress)

    def end(self) -> None:
        pass


def _start() -> Child | _Here:
    try:
        return Child()
    except OSError:
        return _Here()
