"""What a feature is: something that a rigger adds to a character, and that Blender then evaluates by itself."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import bpy

from ...bridge.changes import Changes
from .reads import Note


@dataclass(frozen=True)
class Subject:
    """Objects that a feature is for. The armature is None if there is none (yet); bones alone need no meshes."""

    armature: Any
    meshes: tuple[bpy.types.Object, ...] = ()

    def choose(self, names: Sequence[str]) -> list[bpy.types.Object]:
        """Its meshes of these names, or all without any."""
        return [obj for obj in self.meshes if not names or obj.name in names]


@dataclass(frozen=True)
class Feature:
    """One kind of thing that Supple puts into a file, such as swing or layers, as the functions of its stages.

    Each is a function of a feature's room, in the module that has the name of the stage. It calls neither the engine
    nor other features.

    Attributes
    ----------
    key : str
        Name of the feature.
    remove : callable
        (subject, names) to sentences. Takes out what is marked, wherever the user has moved or renamed it, of bones or
        meshes of these names, or of all without any. What the user made or edited stays.
    is_in : callable
        (subject) to bool: whether anything of the feature is there, or left over, for `remove`.
    notice : callable
        (subject, note) to str. For features that do not follow: one sentence if what was written no longer fits, and
        which button updates it; "" if it fits. Calls `note` with each data-block that it reads, or with none if it is
        quick: then it is called at each draw.
    read_state : callable
        (subject) to anything hashable: what a notice depends on beside data-blocks, such as which action is played.
    follow : callable, optional
        (changes). Only for live features, which bring the file up to date by themselves, at each change and frame.
    stands_on : tuple of str
        Keys of features whose results this one reads: they come before it in `tasks.features`.
    """

    key: str
    remove: Callable[[Subject, Sequence[str]], list[str]]
    is_in: Callable[[Subject], bool]
    notice: Callable[[Subject, Note], str] = lambda _subject, _note: ""
    read_state: Callable[[Subject], Hashable] = lambda _subject: None
    follow: Callable[[Changes], None] | None = None
    stands_on: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PlannedFeature(Feature):
    """A feature that the engine installs, by three stages in this order.

    Attributes
    ----------
    read : callable
        (subject, options of `engine.install`) to a source. Looks at the character. All refusals are here: SkinningError
        if something does not fit. Reads by the bridge, returns plain data (names, arrays), and changes nothing.
    plan : callable
        (source) to a plan. Computes all that is to be written, from the source alone: no bpy, no memory, no flag.
    write : callable
        (subject, plan) to a report. Puts the plan into the file, in place of an earlier plan. It marks what it writes
        (`bridge.owned`), with a digest of what that was made from if it can be out of date. If it fails, the file is as
        it was (`bridge.restoring.undone_on_failure`).

    Stages that take long are generators (`tasks.steps`): read, plan and write may be.
    """

    read: Callable[..., Any]
    plan: Callable[[Any], Any]
    write: Callable[[Subject, Any], Any]
