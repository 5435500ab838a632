"""Notices before anything goes wrong: a newer file, an untested Blender, another deformer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import bpy

from ...bridge.meshes.data import moves_by_sdef
from ...settings.objects import SETTINGS_VERSION, settings_of

# The newest Blender that Supple was tested with
NEWEST = (5, 2)


def list_notices(meshes: Iterable[bpy.types.Object]) -> Iterator[str]:
    """Notices about a character, each with its remedy."""
    if bpy.app.version[:2] > NEWEST:
        tested, this = (".".join(map(str, version)) for version in (NEWEST, bpy.app.version[:2]))
        yield f"Supple was tested up to Blender {tested}, but not with {this}: look for a newer version of Supple"
    bound = [obj for obj in meshes if settings_of(obj).is_bound]
    if any(settings_of(obj).version > SETTINGS_VERSION for obj in bound):
        yield "A newer version of Supple has saved this file: update Supple before you change its settings"
    for obj in bound:
        if moves_by_sdef(obj):
            yield f"mmd_tools moves '{obj.name}', too: press Unbind SDEF in its panel"
