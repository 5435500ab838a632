"""The look of a character: which of `LOOKS` its meshes have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bpy

from ...deformers import METHODS
from ...options import LOOKS
from ...settings.choices import are_same
from ...settings.objects import settings_of
from .corrected import find_key, list_flesh
from .stack import is_former

# Instead of a look's key: method or settings are those of none; the meshes differ
CUSTOM, MIXED = "CUSTOM", "MIXED"

# Settings of meshes that follow one bone: nothing bends, and what costs time there has no effect
RIGID = {"twist": "OFF"}


# Instead of a look's key: an earlier version of Supple deforms the meshes
FORMER = "FORMER"


def list_defaults(method: str) -> dict[str, Any]:
    """The settings that a look gives to meshes, by name: the defaults of its method."""
    chosen = METHODS[method]
    return {choice.name: chosen.default_of(choice) for choice in chosen.choices} | {"twist": "AUTO"}


def read_look(meshes: Sequence[bpy.types.Object]) -> str:
    """The key of the look that meshes have together, `CUSTOM`, `MIXED` or `FORMER`."""
    if any(map(is_former, meshes)):
        return FORMER
    bases = {_read_method(obj) for obj in meshes}
    if len(bases) > 1:
        return MIXED
    method = bases.pop() if bases else ""
    has_flesh = bool(method) and any(map(shows_flesh, meshes))
    found = (key for key, look in LOOKS.items() if (look.method, look.has_flesh) == (method, has_flesh))
    return next(found, CUSTOM)


def shows_flesh(obj: bpy.types.Object) -> bool:
    """Whether a mesh has flesh that is not muted."""
    keys = (find_key(obj, name) for _, name in list_flesh([obj]))
    return any(key is not None and not key.mute for key in keys)


def _read_method(obj: bpy.types.Object) -> str:
    """The method that a mesh is bound by, if its settings are those of a look; "" if it is muted, or not bound."""
    settings = settings_of(obj)
    if not settings.is_bound or settings.is_muted:
        return ""
    return settings.method if has_settings_of_look(obj) else CUSTOM


def has_settings_of_look(obj: bpy.types.Object) -> bool:
    """Whether the method of a bound mesh is that of a look, and its settings are the defaults."""
    settings = settings_of(obj)
    if settings.method not in {look.method for look in LOOKS.values()}:
        return False
    return all(
        any(are_same(getattr(settings, name), allowed) for allowed in (value, RIGID.get(name, value)))
        for name, value in list_defaults(settings.method).items()
    )
