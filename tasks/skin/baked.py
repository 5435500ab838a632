"""How an object is deformed by its bake instead of live, and how the bake is taken away again."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import bpy

from ...bridge.animation import remove_curves
from ...bridge.modifiers import add_modifier, is_supple_modifier, remove_modifier
from ...bridge.point_caches import CacheHeader, open_cache
from ...deformers import SkinningError
from ...settings.objects import settings_of
from ..stack import check_not_linked, find_supple_modifier, pass_toggles, read_toggles, write_toggles

CACHE_MODIFIER = "Supple Bake"


def show_cache(obj: bpy.types.Object, path: Path, frames: range | None = None) -> None:
    """Deform the object by a baked PC2 file, through a Mesh Cache modifier, instead of live.

    The file is read for its frames, where these are not given: then it may appear later.

    Raises
    ------
    SkinningError
        Where the file can not be read, or is not a PC2 file.
    """
    if frames is not None:
        header = CacheHeader.of(len(obj.data.vertices), frames)
    else:
        with open_cache(path) as (header, _):
            pass
    clear_bake(obj)
    settings = settings_of(obj)
    supple = find_supple_modifier(obj)
    settings.live_toggles = read_toggles(supple)
    modifier = add_modifier(obj, CACHE_MODIFIER, "MESH_CACHE", obj.modifiers.find(supple.name) + 1)
    modifier.cache_format = "PC2"
    modifier.filepath = bpy.path.relpath(str(path)) if bpy.data.filepath else str(path)
    modifier.frame_scale = 1.0 / header.frame_step
    modifier.frame_start = header.frame_start / header.frame_step  # counted in samples
    pass_toggles(supple, modifier)
    settings.cache_modifier = modifier.name
    settings.bake = "PC2"


def _find_cache_modifier(obj: bpy.types.Object) -> bpy.types.Modifier | None:
    """The Mesh Cache modifier of a bake: by its name, else, renamed, the one right below Supple's."""
    named = obj.modifiers.get(settings_of(obj).cache_modifier)
    if named is not None:
        return named
    for above, modifier in zip(obj.modifiers, obj.modifiers[1:], strict=False):
        if is_supple_modifier(above) and modifier.type == "MESH_CACHE":
            return modifier
    return None


def clear_bake(obj: bpy.types.Object) -> None:
    """Remove a bake and deform the object live again; a PC2 file stays where it is.

    Raises
    ------
    SkinningError
        Where the bake is not to be removed.
    """
    check_clearable(obj)
    settings = settings_of(obj)
    show_live(obj)
    if settings.baked_keys:
        remove_keys(obj, settings.baked_keys.split("\n"))
    settings.baked_keys = ""


def show_live(obj: bpy.types.Object) -> None:
    """Have Supple's modifier deform an object again instead of a bake."""
    settings = settings_of(obj)
    if settings.bake != "NONE":
        toggles, supple = tuple(settings.live_toggles), None
        cache = _find_cache_modifier(obj) if settings.bake == "PC2" else None
        if cache is not None:
            toggles = read_toggles(cache)
        with suppress(SkinningError):  # the user may have removed Supple's modifier
            supple = find_supple_modifier(obj)
            write_toggles(supple, toggles)
        if cache is not None:
            remove_modifier(obj, cache, supple)
    settings.bake = "NONE"
    settings.property_unset("cache_modifier")


def check_clearable(obj: bpy.types.Object) -> None:
    """Raise SkinningError where a bake is not to be removed: that of another file, or shape keys of a mesh there."""
    check_not_linked(obj)
    if settings_of(obj).bake == "SHAPE_KEYS" and obj.data.library is not None:
        raise SkinningError(
            f"The mesh of '{obj.name}' is linked, with its baked shape keys: go back to live in its own file"
        )


def remove_keys(obj: bpy.types.Object, names: list[str]) -> None:
    """Remove shape keys and their curves, where the user has left them; the active key stays active."""
    keys = obj.data.shape_keys
    if keys is None:
        return
    found = [keys.key_blocks[name] for name in names if name in keys.key_blocks]
    if len(found) < len(keys.key_blocks):  # the others are relative to the first
        found = [key for key in found if key != keys.reference_key]
    remove_curves(keys, {key.path_from_id("value") for key in found})
    active = obj.active_shape_key.name if obj.active_shape_key else ""
    for key in reversed(found):
        obj.shape_key_remove(key)
    if obj.data.shape_keys is not None:
        obj.active_shape_key_index = max(0, obj.data.shape_keys.key_blocks.find(active))
