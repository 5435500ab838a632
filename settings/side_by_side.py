"""Side by Side: the methods to show next to the character as ghosts, and whether they are shown.

The armature whose ghosts are shown is known only while Blender runs: no file and no undo step holds it.
"""

from __future__ import annotations

from collections.abc import Iterable

import bpy

from ..deformers import DEFAULT_METHOD, METHODS
from .character import find_armature, list_meshes

# Blender's own methods; all others are keys of `METHODS`.
LINEAR, PRESERVE_VOLUME = "LINEAR", "PRESERVE_VOLUME"

# Bits of a stored choice that are reserved for Blender's own methods
OWN_BITS = 4

# Methods that can be shown. Methods whose poses take seconds cannot follow.
GHOST_ITEMS = (
    (LINEAR, "Blender's Linear", "As Blender's Armature modifier deforms", "NONE", 1),
    (PRESERVE_VOLUME, "Preserve Volume", "As Blender's Armature modifier with Preserve Volume", "NONE", 2),
    *(
        (method.key, method.label, method.tooltip, "NONE", 1 << OWN_BITS + method.number)
        for method in METHODS.values()
        if not method.is_slow
    ),
)

FIRST_GHOSTS = {LINEAR, PRESERVE_VOLUME, DEFAULT_METHOD}

GHOST_LABELS = {item[0]: item[1] for item in GHOST_ITEMS}

# `session_uid` of the armature whose character has ghosts, as "armature"; empty if there are none
_shown: dict[str, int] = {}


def show_ghosts(armature: bpy.types.Object) -> None:
    """Show the ghosts of an armature's meshes, instead of another's."""
    _shown["armature"] = armature.session_uid


def hide_ghosts() -> None:
    """Show no ghosts any more."""
    _shown.clear()


def has_ghosts(armature: bpy.types.Object | None = None) -> bool:
    """Whether the ghosts of an armature's meshes are shown; of any armature if none is given."""
    return bool(_shown) if armature is None else _shown.get("armature") == armature.session_uid


def find_compared(context: bpy.types.Context) -> bpy.types.Object | None:
    """The armature of the active character, whose ghosts Side by Side shows; None without a character."""
    return find_armature(context) if list_meshes(context) else None


def find_shown_armature(objects: Iterable[bpy.types.Object]) -> bpy.types.Object | None:
    """The armature among these objects whose meshes have ghosts, if any."""
    return next((obj for obj in objects if has_ghosts(obj)), None) if _shown else None
