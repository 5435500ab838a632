"""Memory of what was computed from data-blocks, until Blender says that one of them has changed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

import bpy

from ...bridge.per_object import PerObject

T = TypeVar("T")

Note = Callable[[bpy.types.ID], None]


@dataclass(frozen=True)
class _Known(Generic[T]):
    value: T
    state: Hashable
    uids: frozenset[int]


class Reads(Generic[T]):
    """One value for each data-block. Undo, another file, and changes of what was read for it end a value.

    Data-blocks are known by `session_uid`, never held: Blender may free them at any step.
    """

    def __init__(self) -> None:
        self._known: PerObject[_Known[T]] = PerObject(survives_undo=False)

    def once(self, owner: bpy.types.ID, state: Hashable, compute: Callable[[Note], T]) -> T:
        """A value of a data-block, computed if it is not known yet.

        Parameters
        ----------
        state : hashable
            Whatever else the value depends on, such as the frame rate.
        compute : callable
            Takes a function, to be called with each data-block that is read. If it notes none, the value may be out of
            date at any time, and is not remembered.
        """
        known = self._known.find(owner)
        if known is None or known.state != state:
            uids: set[int] = set()
            value = compute(lambda data: uids.add(data.original.session_uid))
            known = _Known(value, state, frozenset(uids))
            if uids:
                self._known.keep(owner, known)
        return known.value

    def drop(self, changed: Iterable[bpy.types.ID]) -> None:
        """Forget all values that were computed from any of these data-blocks."""
        if not self._known:
            return
        uids = {data.original.session_uid for data in changed}
        for owner in [owner for owner, known in self._known.items() if uids & known.uids]:
            del self._known[owner]

    def clear(self) -> None:
        """Forget all values."""
        self._known.clear()
