"""Data-blocks as they were, where a change of them fails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import bpy


@contextmanager
def restored_on_failure(blocks: Iterable[Any]) -> Iterator[None]:
    """Exchange armatures and actions for copies from before, under their names, if what is done meanwhile raises."""
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


def _remove(block: Any) -> None:
    data: Any = bpy.data
    (data.armatures if isinstance(block, bpy.types.Armature) else data.actions).remove(block)
