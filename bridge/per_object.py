"""Tables of values remembered for data-blocks: all are emptied, and tidied up, together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

import bpy

T = TypeVar("T")

_tables: list[PerObject] = []

_undone = 0


class PerObject(dict[int, T], Generic[T]):
    """Values remembered for data-blocks.

    By `session_uid`, which stays when undo changes names and pointers, and which no two data-blocks share. Another file
    empties all tables; data-blocks that the file no longer has are dropped from all.

    Parameters
    ----------
    survives_undo : bool
        Whether values hold after undo, or are compared before use.
    """

    def __init__(self, survives_undo: bool = True) -> None:
        super().__init__()
        self.survives_undo = survives_undo
        _tables.append(self)

    def find(self, data: bpy.types.ID) -> T | None:
        """The value of an original data-block; None if there is none."""
        return self.get(data.session_uid)

    def keep(self, data: bpy.types.ID, value: T) -> T:
        """Remember something of an original data-block; returns it."""
        self[data.session_uid] = value
        return value

    def forget(self, data: bpy.types.ID) -> None:
        """Forget the value of a data-block, if any."""
        self.pop(data.session_uid, None)

    def keep_only(self, kept: Iterable[bpy.types.ID]) -> None:
        """Forget the values of all others."""
        uids = {data.session_uid for data in kept}
        for uid in self.keys() - uids:
            del self[uid]


def forget_all() -> None:
    """Empty all tables, as when another file is opened."""
    for table in _tables:
        table.clear()


def count_undone() -> int:
    """How often undo or redo has replaced data-blocks, whose parts are others then."""
    return _undone


def forget_undone() -> None:
    """Empty the tables that do not survive undo, after undo or redo."""
    global _undone
    _undone += 1
    for table in _tables:
        if not table.survives_undo:
            table.clear()


def forget_missing() -> None:
    """Forget data-blocks that the file no longer has, in all tables."""
    present = [data for known in (bpy.data.objects, bpy.data.meshes, bpy.data.actions) for data in known]
    for table in _tables:
        table.keep_only(present)
