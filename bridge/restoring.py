"""Restore data-blocks after a failed change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import bpy


@contextmanager
def restored_on_failure(blocks: Iterable[Any]) -> Iterator[None]:
    """Exchange armatures and actions for copies from before, under their names, if the block raises."""
    before = [(block, block.name, block.copy()) for block in blocks]
    try:
        yield
    except BaseException:
        for block, name, copy in before:
            copy.use_fake_user = block.use_fake_user
            block.user_remap(copy)
            _remove(block)
            copy.name = name
        raise
    for _, _, copy in before:
        _remove(copy)


@contextmanager
def undone_on_failure(blocks: Iterable[Any] = ()) -> Iterator[ExitStack]:
    """Yield a stack of callbacks for all that is done meanwhile. They are only called if that raises, the last first.

    `blocks`: restored before any callback is called.
    """
    with ExitStack() as undo, restored_on_failure(blocks):
        yield undo
        undo.pop_all()


def _remove(block: Any) -> None:
    data: Any = bpy.data
    (data.armatures if isinstance(block, bpy.types.Armature) else data.actions).remove(block)
