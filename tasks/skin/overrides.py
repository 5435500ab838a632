"""Library overrides of characters: repair what Blender drops, and what a changed library leaves."""

from __future__ import annotations

from contextlib import suppress
from typing import cast

import bpy

from ...bridge.modifiers import is_from_library, is_supple_modifier
from ...deformers import SkinningError
from ...settings.objects import needs_supple, settings_of
from ..subject.stack import either, find_replaced_modifier, is_former, read_toggles, write_toggles
from .hidden import remove_hidden


def store_settings() -> None:
    """Make Blender store the settings of overrides.

    From 5.0 on it loses a whole group of settings if the library's object has none yet. Reading creates it there.
    """
    for obj in bpy.data.objects:
        override = obj.override_library
        if override is not None and override.reference is not None:
            settings_of(cast(bpy.types.Object, override.reference)).particles  # noqa: B018


def tidy_up() -> None:
    """Follow changes of libraries since their overrides were saved, for overrides that are not bound."""
    for obj in bpy.data.objects:
        settings, override = settings_of(obj), obj.override_library
        if override is None or override.reference is None:
            continue
        if (settings.carrier or settings.watcher) and not (settings.is_bound and needs_supple(settings)):
            remove_hidden(settings)
        library = settings_of(cast(bpy.types.Object, override.reference))
        if library.is_bound and not settings.is_bound and not is_former(obj):
            with suppress(SkinningError):  # the library may have lost one of the modifiers
                _set_toggles(obj, find_replaced_modifier(obj))


def mend(obj: bpy.types.Object) -> None:
    """Bring a bound override into the state of its settings, whatever changed in its library or Blender did not keep.

    The library may have been bound since the override was: one modifier is enough, and the library's stays.
    """
    settings = settings_of(obj)
    found = [modifier for modifier in obj.modifiers if is_supple_modifier(modifier)]
    if obj.override_library is None or settings.bake != "NONE" or not found or not needs_supple(settings):
        return
    from_library = list(filter(is_from_library, found))
    supple = (from_library or found)[0]
    _set_toggles(obj, supple)
    for modifier in [modifier.name for modifier in found if modifier not in (supple, *from_library)]:
        obj.modifiers.remove(obj.modifiers[modifier])
    settings.is_handed_over = False


def _set_toggles(obj: bpy.types.Object, deforming: bpy.types.Modifier) -> None:
    """Let one of an object's modifiers deform it, where any of them did."""
    modifiers = (find_replaced_modifier(obj), *filter(is_supple_modifier, obj.modifiers))
    toggles = either(*map(read_toggles, modifiers))
    for modifier in modifiers:
        wanted = toggles if modifier == deforming else (False, False)
        if read_toggles(modifier) != wanted:
            write_toggles(modifier, wanted)
