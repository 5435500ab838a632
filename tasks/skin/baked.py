"""How an object is deformed by its bake instead of live, and how the bake is taken away again."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import bpy

from ...bridge.animation.curves import remove_curves
from ...bridge.animation.drivers import ensure_driver, remove_drivers, set_expression
from ...bridge.files.point_caches import CacheHeader, open_cache
from ...bridge.modifiers import add_modifier, is_supple_modifier, remove_modifier
from ...bridge.rigs.actions import check_remapping, find_times
from ...deformers import SkinningError
from ...settings.objects import settings_of
from ..installed.feature import Feature, Subject
from ..left_out import choose_usable, describe_left_out
from ..subject.stack import (
    check_blends,
    check_not_linked,
    either,
    find_armature_modifier,
    find_last_modifier,
    find_replaced_modifier,
    find_supple_modifier,
    read_toggles,
    write_toggles,
)

CACHE_MODIFIER = "Supple Bake"


def show_cache(obj: bpy.types.Object, path: Path, frames: range | None = None) -> None:
    """Deform the object by a baked PC2 file, through a Mesh Cache modifier, instead of live.

    The frames are read from the file if they are not given; otherwise the file may appear later.

    Raises
    ------
    SkinningError
        If the file cannot be read, or is not a PC2 file.
    """
    if frames is not None:
        header = CacheHeader.of(len(obj.data.vertices), frames)
    else:
        with open_cache(path) as (header, _):
            pass
    show_caches(obj, [(path, header)])


def show_caches(obj: bpy.types.Object, caches: Sequence[tuple[Path, CacheHeader]]) -> None:
    """Deform the object by baked PC2 files, instead of live by Supple's or by its Armature modifier.

    Each has a Mesh Cache modifier; of several, drivers without Python have exactly one act at any time.

    Parameters
    ----------
    obj : Object
        Bound, or with an Armature modifier.
    caches : sequence of (Path, CacheHeader)
        Files, which may appear later, and their headers: frames that do not overlap, in any order.

    Raises
    ------
    SkinningError
        If there is nothing that the bake stands in for, or more than one, or its frames are too close in time.
    """
    check_remapping(bpy.context.scene)
    length = find_times(bpy.context.scene, [1])[0]
    clear_bake(obj)
    settings, live = settings_of(obj), find_live_modifier(obj)
    toggles, index = read_toggles(live), obj.modifiers.find(_find_last(obj, live).name)
    caches = sorted(caches, key=lambda cache: cache[1].frame_start)
    made = [_add_cache(obj, index + number, *cache, length) for number, cache in enumerate(caches, start=1)]
    names = [modifier.name for modifier in made]
    for name, expression in zip(names, _when_to_act([header for _, header in caches]), strict=True):
        _act_when(obj.modifiers[name], toggles, expression)
    settings.live_toggles = toggles
    if not settings.is_bound and live.type == "ARMATURE":
        settings.armature_modifier = live.name
    write_toggles(live, (False, False))
    settings.cache_modifier = "\n".join(names)
    settings.bake = "PC2"


def find_live_modifier(obj: bpy.types.Object) -> bpy.types.Modifier:
    """The modifier that a bake stands in for: Supple's, or the Armature modifier of an object that is not bound.

    Raises
    ------
    SkinningError
        If there is none, or others are not to do without it.
    """
    settings = settings_of(obj)
    if settings.is_bound:
        return find_supple_modifier(obj)
    if (former := next(filter(is_supple_modifier, obj.modifiers), None)) is not None:
        return former
    if settings.bake != "NONE":
        return find_replaced_modifier(obj)
    replaced = find_armature_modifier(obj)
    check_blends(obj, replaced)
    return replaced


def _find_last(obj: bpy.types.Object, live: bpy.types.Modifier) -> bpy.types.Modifier:
    """The last of the modifiers that a bake stands in for."""
    return find_last_modifier(obj) if settings_of(obj).is_bound else live


def _add_cache(obj: bpy.types.Object, index: int, path: Path, header: CacheHeader, length: float) -> bpy.types.Modifier:
    """Put a Mesh Cache modifier that plays a PC2 file into the stack at `index`; a frame takes this time."""
    modifier = add_modifier(obj, CACHE_MODIFIER, "MESH_CACHE", index)
    modifier.cache_format = "PC2"
    modifier.filepath = _name_file(path)
    modifier.frame_scale = 1.0 / (header.frame_step * length)
    modifier.frame_start = header.frame_start / header.frame_step  # counted in samples
    return modifier


def _name_file(path: Path) -> str:
    """A path as it is stored: relative to the open file, unless that has no name or is on another drive."""
    if not bpy.data.filepath:
        return str(path)
    try:
        return bpy.path.relpath(str(path))
    except ValueError:
        return str(path)


def _when_to_act(headers: list[CacheHeader]) -> list[str]:
    """For each of several caches in their order an expression of when it acts; they change halfway between."""
    if len(headers) == 1:
        return [""]
    halves = [(first.frame_end + second.frame_start) / 2 for first, second in itertools.pairwise(headers)]
    edges = find_times(bpy.context.scene, halves).tolist()  # as drivers have them
    between = [f"{start!r} <= frame < {end!r}" for start, end in itertools.pairwise(edges)]
    return [f"frame < {edges[0]!r}", *between, f"{edges[-1]!r} <= frame"]


def _act_when(modifier: bpy.types.Modifier, toggles: tuple[bool, bool], expression: str) -> None:
    """Switch a modifier on as the toggles say, if need be driven by an expression."""
    write_toggles(modifier, toggles)
    for name, is_on in zip(("show_viewport", "show_render"), toggles, strict=True):
        if is_on and expression:
            set_expression(ensure_driver(modifier.id_data, modifier.path_from_id(name), 0).driver, expression)


def _find_cache_modifiers(obj: bpy.types.Object) -> list[bpy.types.Modifier]:
    """The Mesh Cache modifiers of a bake: by their names, or after renaming as many right below the modifier they stand
    in for.
    """
    names = settings_of(obj).cache_modifier.split("\n")
    named = [obj.modifiers[name] for name in names if name in obj.modifiers]
    if len(named) == len(names):
        return named
    live = None
    with suppress(SkinningError):  # the user may have removed it
        live = find_live_modifier(obj)
    below = obj.modifiers[obj.modifiers.find(_find_last(obj, live).name) + 1 :] if live is not None else []
    renamed = itertools.takewhile(lambda modifier: modifier.type == "MESH_CACHE", below)
    return list(itertools.islice(renamed, len(names))) or named


def clear_bake(obj: bpy.types.Object) -> None:
    """Remove a bake and deform the object live again; a PC2 file is not deleted.

    Raises
    ------
    SkinningError
        If the bake is not to be removed.
    """
    check_clearable(obj)
    settings = settings_of(obj)
    show_live(obj)
    if settings.baked_keys:
        remove_keys(obj, settings.baked_keys.split("\n"))
    settings.baked_keys = ""


def show_live(obj: bpy.types.Object) -> None:
    """Have an object deformed again by Supple's modifier, or by its Armature modifier, instead of by a bake."""
    settings = settings_of(obj)
    if settings.bake != "NONE":
        toggles, live = tuple(settings.live_toggles), None
        caches = _find_cache_modifiers(obj) if settings.bake == "PC2" else []
        if caches:
            toggles = either(*map(read_toggles, caches))
        with suppress(SkinningError):  # the user may have removed it
            live = find_live_modifier(obj)
            write_toggles(live, toggles)
        removed = [name for name in settings.cache_modifier.split("\n") if name not in obj.modifiers]
        starts = [cache.path_from_id() for cache in caches if len(caches) > 1]
        starts += [f'modifiers["{bpy.utils.escape_identifier(name)}"]' for name in removed]
        if starts:
            remove_drivers(obj, tuple(f"{start}." for start in starts))
        for name in [cache.name for cache in caches]:
            remove_modifier(obj, obj.modifiers[name], live)
    settings.bake = "NONE"
    settings.property_unset("cache_modifier")


def check_clearable(obj: bpy.types.Object) -> None:
    """Raise SkinningError if a bake is not to be removed: that of another file, or shape keys of a mesh there."""
    check_not_linked(obj)
    if settings_of(obj).bake == "SHAPE_KEYS" and obj.data.library is not None:
        raise SkinningError(
            f"The mesh of '{obj.name}' is linked, with its baked shape keys: go back to live in its own file"
        )


def _take_off(subject: Subject, names: Sequence[str]) -> list[str]:
    baked, left_out = choose_usable(_list_baked(subject.choose(names)), check_clearable)
    for obj in baked:
        clear_bake(obj)
    return list(describe_left_out(left_out))


def _list_baked(objects: Iterable[bpy.types.Object]) -> list[bpy.types.Object]:
    return [obj for obj in objects if settings_of(obj).bake != "NONE"]


BAKES = Feature(
    key="bake", remove=_take_off, is_in=lambda subject: bool(_list_baked(subject.meshes)), stands_on=("skin", "flesh")
)


def remove_keys(obj: bpy.types.Object, names: list[str]) -> None:
    """Remove those shape keys, and their curves, that still exist; the active key stays active."""
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
