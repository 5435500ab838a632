"""What takes long, step by step: a window may draw itself between two of them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from functools import partial
from typing import Any, TypeVar

from ..deformers import SkinningError

T = TypeVar("T")

Progress = Callable[[float], None]
"""Called with the share that is done, 0 to 1. What it raises ends the work."""

Steps = Generator[Any, Any, T]
"""Yields the share that is done after a step that it has taken itself, in Blender's thread, or None where it is the
same as before; or a function to be computed in a thread, which takes a function to tell the share, and is sent its
result. A SkinningError of that function is thrown in."""


def only(function: Callable[[Progress], Any]) -> Steps:
    """One step, computed in a thread; `function` takes a function to tell the share that is done."""
    return (yield function)


def computed(function: Callable[[], T]) -> Steps[T]:
    """One step, computed in a thread; `function` cannot tell the share that is done."""
    return (yield partial(without_progress, function))


def without_progress(function: Callable[[], T], _progress: Progress) -> T:
    """What a function computes that cannot tell the share that is done."""
    return function()


def take_all(steps: Steps, progress: Progress = lambda share: None) -> Any:
    """Take steps in one go.

    Parameters
    ----------
    progress : callable
        Told the share that is done.

    Returns
    -------
    object
        What they return.
    """
    result = error = None
    with closing(steps):  # what they have begun is taken back, whatever ends them
        while True:
            try:
                step = steps.send(result) if error is None else steps.throw(error)
            except StopIteration as end:
                return end.value
            result = error = None
            try:
                if callable(step):
                    result = step(progress)
                elif step is not None:
                    progress(step)
            except SkinningError as failed:
                error = failed
