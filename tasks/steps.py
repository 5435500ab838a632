"""What takes long, step by step: a window may draw itself between two of them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from typing import Any, TypeVar

T = TypeVar("T")

Progress = Callable[[float], None]
"""Called with the share that is done, 0 to 1. What it raises ends the work."""

Steps = Generator[Any, Any, T]
"""Yields the share that is done after a step that it has taken itself, in Blender's thread; or a function to be
computed in a thread, which takes a function to tell the share, and is sent its result."""


def only(function: Callable[[Progress], Any]) -> Steps:
    """One step, computed in a thread; `function` takes a function to tell the share that is done."""
    return (yield function)


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
    result = None
    with closing(steps):  # what they have begun is taken back, whatever ends them
        while True:
            try:
                step = steps.send(result)
            except StopIteration as end:
                return end.value
            result = step(progress) if callable(step) else progress(step)
