"""Data-blocks are removed outside of handlers.

Handlers that run after Supple's, Blender's own too, look up the originals of evaluated data. If one was removed
meanwhile, they would read and write freed memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import bpy

_depth = 0
# Steps that are still to be run, in their order
_put_off: dict[Callable[[], object], None] = {}


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
    """Run a step that removes unused data: at once, or after the handler that asks for it."""
    if not _depth:
        step()
        return
    _put_off[step] = None
    if not (bpy.app.background or bpy.app.timers.is_registered(run_put_off)):  # no timer runs in the background
        bpy.app.timers.register(run_put_off, first_interval=0.0)


def forget_put_off() -> None:
    """Drop postponed steps, as after undo: their data may be in use again."""
    _put_off.clear()


def run_put_off() -> None:
    """Run postponed steps. A timer; also called on saving."""
    steps = list(_put_off)
    _put_off.clear()
    for step in steps:
        step()
