"""The look of a character: which of `LOOKS` its meshes have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bpy

from ...deformers import METHODS
from ...options import LOOKS
from ...settings.choices import are_same
from ...settings.objects import settings_of
from .corrected import list_flesh

CUSTOM, MIXED = "CUSTOM", "MIXED"
"""Instead of a look's key: method or settings are those of none; the meshes differ."""

RIGID = {"twist": "OFF"}
"""Settings of meshes that follow one bone: nothing bends, and what costs time there has no effect."""


def list_defaults(method: str) -> dict[str, Any]:
    """The settings that a look gives to meshes, by name: the defaults of its method."""
    chosen = METHODS[method]
    return {choice.name: chosen.default_of(choice) for choice in chosen.choices} | {"twist": "AUTO"}


def read_look(meshes: Sequence[bpy.types.Object]) -> str:
    """The key of the look that meshes have together, `CUSTOM` or `MIXED`."""
    bases = {_read_method(obj) for obj in meshes}
    if len(bases) > 1:
        return MIXED
    method = bases.pop() if bases else ""
    has_flesh = bool(method) and bool(list_flesh(meshes))
    found = (key for key, look in LOOKS.items() if (look.method, look.has_flesh) == (method, has_flesh))
    return next(found, CUSTOM)


def _read_method(obj: bpy.types.Object) -> str:
    """The method that a mesh is bound by, if its settings are those of a look; "" if it is not bound."""
    settings = settings_of(obj)
    if not settings.is_bound:
        return ""
    if settings.method not in {look.method for look in LOOKS.values()}:
        return CUSTOM
    for name, value in list_defaults(settings.method).items():
        if not any(are_same(getattr(settings, name), allowed) for allowed in (value, RIGID.get(name, value))):
            return CUSTOM
    return settings.method
