"""Side by Side: which methods are shown beside the character as ghosts, and whether.

Of which armature they are shown is known only while Blender runs: a file never holds it, nor an undo step.
"""

from __future__ import annotations

from collections.abc import Iterable

import bpy

from ..deformers import DEFAULT_METHOD, METHODS
from .character import find_armature, list_meshes
from .events import redraw

LINEAR, PRESERVE_VOLUME = "LINEAR", "PRESERVE_VOLUME"
"""Blender's own methods; all others are keys of `METHODS`."""

OWN_BITS = 4
"""Bits of a stored choice that are kept for Blender's own."""

GHOST_ITEMS = (
    (LINEAR, "Blender's Linear", "As Blender's Armature modifier deforms", "NONE", 1),
    (PRESERVE_VOLUME, "Preserve Volume", "As Blender's Armature modifier with Preserve Volume", "NONE", 2),
    *(
        (method.key, method.label, method.tooltip, "NONE", 1 << OWN_BITS + method.number)
        for method in METHODS.values()
        if not method.is_slow
    ),
)
"""What can be shown; methods whose poses take seconds can not follow."""

GHOST_LABELS = {item[0]: item[1] for item in GHOST_ITEMS}

_shown: dict[str, int] = {}
"""`session_uid` of the armature whose character has ghosts, as "armature"; nothing while there are none."""


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
    """The armature whose ghosts are shown when Side by Side is pressed; None where nothing of a character is active."""
    return find_armature(context) if list_meshes(context) else None


def find_shown_armature(objects: Iterable[bpy.types.Object]) -> bpy.types.Object | None:
    """The armature among these objects whose meshes have ghosts, if any."""
    return next((obj for obj in objects if has_ghosts(obj)), None) if _shown else None


def register() -> None:
    bpy.types.WindowManager.supple_ghosts = bpy.props.EnumProperty(
        name="Ghosts",
        description="Methods to show next to the character",
        items=GHOST_ITEMS,
        options={"ENUM_FLAG"},
        default={LINEAR, PRESERVE_VOLUME, DEFAULT_METHOD},
        update=redraw,
    )


def unregister() -> None:
    del bpy.types.WindowManager.supple_ghosts
    hide_ghosts()
