"""Data-blocks are removed outside of handlers.

Blender gives handlers what it has evaluated, and those that come after Supple's, its own too, look up the originals: of
one that has been removed by then they would read, and write, memory that is free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import bpy

_depth = 0
_put_off: dict[Callable[[], object], None] = {}
"""Steps that are still to be run, in their order."""


@contextmanager
def in_handler() -> Iterator[None]:
    """Put off what `outside_handlers` is given meanwhile."""
    global _depth
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1


def outside_handlers(step: Callable[[], object]) -> None:
    """Run a step that removes what nothing uses: at once, or once the handler that asks for it has ended."""
    if not _depth:
        step()
        return
    _put_off[step] = None
    if not (bpy.app.background or bpy.app.timers.is_registered(run_put_off)):  # no timer runs in the background
        bpy.app.timers.register(run_put_off, first_interval=0.0)


def forget_put_off() -> None:
    """Drop what was put off, as after undo: what was unused then may be used now."""
    _put_off.clear()


def run_put_off() -> None:
    """Run what was put off. A timer, and where the file is saved."""
    steps = list(_put_off)
    _put_off.clear()
    for step in steps:
        step()
