"""Patterns as a feature: they follow meshes, bones and deleted objects by themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import bpy

from ...bridge.changes import Changes
from ...bridge.meshes.data import read_object_ids
from ...deformers import SkinningError
from ...settings.events import are_muted
from ...settings.objects import settings_of
from ..installed.feature import Feature, Subject
from ..left_out import describe_left_out
from ..reports import describe_failure
from ..subject.stack import armature_modifiers
from .edit import remove_all
from .write import follow_bones, follow_mesh, follow_objects, update

_objects = b""  # of the file, when they were last followed


def follow(changes: Changes) -> None:
    """Lay patterns anew on meshes that have changed, and follow bones that were renamed or deleted."""
    global _objects
    if changes.is_render or (changes.is_motion and not changes.data):
        return
    before, _objects = _objects, read_object_ids()
    if _objects != before:
        follow_objects()
    for obj in bpy.data.objects if changes.data else ():
        if obj.type != "MESH" or not settings_of(obj).patterns or obj.data.is_editmode:
            continue
        if obj.data in changes.data:
            show(obj, follow_mesh)
        if any(each.object is not None and each.object.data in changes.data for each in armature_modifiers(obj)):
            show(obj, follow_bones)


def show(obj: bpy.types.Object, step: Callable[[bpy.types.Object], None] = update) -> None:
    """Follow the settings of an object's patterns; the panel shows what is wrong."""
    if are_muted() or obj.library is not None:
        return
    try:
        step(obj)
    except SkinningError as error:
        settings_of(obj).pattern_message = str(error)
    except Exception as error:  # noqa: BLE001
        settings_of(obj).pattern_message = f"Supple failed on the patterns of '{obj.name}' ({describe_failure(error)})"


def _take_off(subject: Subject, names: Sequence[str]) -> list[str]:
    count, left_out = remove_all(subject.choose(names))
    return [f"Removed {count} patterns", *describe_left_out(left_out)]


PATTERNS = Feature(
    key="patterns",
    remove=_take_off,
    is_in=lambda subject: any(settings_of(obj).patterns for obj in subject.meshes),
    follow=follow,
    stands_on=("skin",),
)
