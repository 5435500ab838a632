"""Bakes: a frame range as shape keys or as a PC2 point cache, which render the same without Supple.

Both are generators that yield after each frame: an operator can show progress between two frames and stop by closing
the generator, which takes back what was made so far.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import bpy
import numpy as np

from ...bridge.animation import key_spike, remove_curves
from ...bridge.files import open_replacing
from ...bridge.meshes import read_evaluated_points, read_key_points, write_key_points
from ...bridge.modifiers import add_modifier, is_supple_modifier, remove_modifier
from ...bridge.point_caches import CacheHeader, open_cache, write_sample
from ...deformers import SkinningError
from ...deformers.errors import find_unusable
from ...settings.objects import settings_of
from ..character import modifiers_above
from ..frames import LAST_FRAME, check_frames
from ..stack import (
    check_not_linked,
    find_supple_modifier,
    is_deformed_by_parent,
    pass_toggles,
    read_toggles,
    write_toggles,
)
from . import live

CACHE_MODIFIER = "Supple Bake"
LARGEST_KEYS = 4 * 10**9
"""Bytes of the shape keys of a bake: a file that holds more opens nowhere."""


def frame_range(start: int, end: int, step: int) -> range:
    """The frames to bake, both ends included; raises SkinningError where there are none."""
    if step < 1:
        raise SkinningError(f"Frame step is {step}: choose 1 or more")
    if end < start:
        raise SkinningError(f"Frame range {start} to {end} runs backwards: choose an end that is not before the start")
    check_frames(start, end)
    if step > LAST_FRAME:
        raise SkinningError(f"Frame step is {step}: choose {LAST_FRAME:,} or less")
    return range(start, end + 1, step)


def check_bakeable(obj: bpy.types.Object | None) -> bpy.types.Modifier:
    """The node modifier of an object to bake; raises SkinningError where it can not be baked."""
    if obj is None or obj.type != "MESH" or not settings_of(obj).is_bound:
        raise SkinningError("Nothing to bake: select a mesh and bind it first")
    check_not_linked(obj)
    if obj.mode == "EDIT":
        raise SkinningError(f"'{obj.name}' is in Edit Mode: leave it first")
    return find_supple_modifier(obj)


def bake_cache(obj: bpy.types.Object, scene: bpy.types.Scene, path: Path, frames: range) -> Iterator[int]:
    """Write a PC2 file, frame by frame, and yield how many frames are done.

    The file appears under its name only when it is whole. The same frames give the same bytes, in one run or several.

    Raises
    ------
    SkinningError
        Where the object can not be deformed, or the file not be written.
    """
    with open_replacing(path) as stream:
        yield from write_frames(stream, obj, scene, frames)


def write_frames(stream: BinaryIO, obj: bpy.types.Object, scene: bpy.types.Scene, frames: range) -> Iterator[int]:
    """Write the content of a PC2 file, frame by frame, and yield how many frames are done.

    Raises
    ------
    SkinningError
        Where the object can not be deformed.
    """
    supple = check_bakeable(obj)
    with _without_baked_keys(obj), closing(_posed_frames(obj, supple, scene, frames)) as posed:
        stream.write(_describe(obj, frames).pack())
        for done, (_, points) in enumerate(posed, start=1):
            write_sample(stream, points)
            yield done


def _describe(obj: bpy.types.Object, frames: range) -> CacheHeader:
    return CacheHeader(len(obj.data.vertices), frames.start, frames.step, len(frames))


@contextmanager
def _without_baked_keys(obj: bpy.types.Object) -> Iterator[None]:
    """Mute the keys of an earlier bake meanwhile: they would be in every frame."""
    names, keys = settings_of(obj).baked_keys.split("\n"), obj.data.shape_keys
    muted = [key for key in keys.key_blocks if key.name in names and not key.mute] if keys is not None else []
    for key in muted:
        key.mute = True
    try:
        yield
    finally:
        for key in muted:
            key.mute = False


def show_cache(obj: bpy.types.Object, path: Path, frames: range | None = None) -> None:
    """Deform the object by a baked PC2 file, through a Mesh Cache modifier, instead of live.

    The file is read for its frames, where these are not given: then it may appear later.

    Raises
    ------
    SkinningError
        Where the file can not be read, or is not a PC2 file.
    """
    if frames is not None:
        header = _describe(obj, frames)
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


def bake_shape_keys(obj: bpy.types.Object, scene: bpy.types.Scene, frames: range) -> Iterator[int]:
    """Add a shape key for each frame, keyed to be on in that frame, and yield how many are done.

    Keys that the mesh has already stay live: what they add is left out of the baked ones. An earlier bake is removed
    when all frames are done.

    Raises
    ------
    SkinningError
        Where the object can not be deformed, or shape keys can not hold its deformation.
    """
    supple = check_bakeable(obj)
    _check_keys_can_hold(obj, supple, len(frames))
    earlier = settings_of(obj).baked_keys
    made = [] if obj.data.shape_keys is not None else [obj.shape_key_add(name="Basis").name]
    try:
        with _without_baked_keys(obj), closing(_posed_frames(obj, supple, scene, frames)) as posed:
            yield from _fill_keys(obj, posed, made)
    except BaseException:  # whatever ends it early, also the generator being closed
        _remove_keys(obj, made)
        settings_of(obj).baked_keys = earlier
        raise
    _show_keys(obj, made, frames)
    scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)


def _fill_keys(obj: bpy.types.Object, posed: Iterator[tuple[int, np.ndarray]], made: list[str]) -> Iterator[int]:
    """Add a key for each posed frame, and its name to those made; yield how many are done."""
    settings, keys, active_index = settings_of(obj), obj.data.shape_keys, obj.active_shape_key_index
    earlier = [name for name in settings.baked_keys.split("\n") if name]
    had_keys = any(key.name not in {*earlier, *made} for key in keys.key_blocks)
    basis = read_key_points(keys.reference_key)
    for done, (frame, points) in enumerate(posed, start=1):
        mixed = _points_above(obj) if had_keys else basis
        key = obj.shape_key_add(name=f"Supple {frame}", from_mix=False)
        key.value = 0.0
        obj.active_shape_key_index = active_index
        made.append(key.name)
        settings.baked_keys = "\n".join([*earlier, *made])
        write_key_points(key, points - mixed + basis)
        yield done


def _show_keys(obj: bpy.types.Object, made: list[str], frames: range) -> None:
    """Deform an object by its keys of this bake instead of by an earlier one, or live."""
    settings, keys = settings_of(obj), obj.data.shape_keys
    basis = keys.reference_key.name
    frame_keys = [keys.key_blocks[name] for name in made if name != basis]
    earlier = [name for name in settings.baked_keys.split("\n") if name not in made]
    _remove_keys(obj, [name for name in earlier if name != basis])
    for key, frame in zip(frame_keys, frames, strict=True):
        key.name = f"Supple {frame}"
    settings.baked_keys = "\n".join([basis] * (basis in (*earlier, *made)) + [key.name for key in frame_keys])
    for key, frame in zip(frame_keys, frames, strict=True):
        key_spike(keys, key, "value", frame, frames)
    _show_live(obj)
    supple = find_supple_modifier(obj)
    settings.live_toggles = read_toggles(supple)
    write_toggles(supple, (False, False))
    settings.bake = "SHAPE_KEYS"


def clear_bake(obj: bpy.types.Object) -> None:
    """Remove a bake and deform the object live again; a PC2 file stays where it is.

    Raises
    ------
    SkinningError
        Where the bake is not to be removed.
    """
    check_clearable(obj)
    settings = settings_of(obj)
    _show_live(obj)
    if settings.baked_keys:
        _remove_keys(obj, settings.baked_keys.split("\n"))
    settings.baked_keys = ""


def _show_live(obj: bpy.types.Object) -> None:
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


def _remove_keys(obj: bpy.types.Object, names: list[str]) -> None:
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


def _check_keys_can_hold(obj: bpy.types.Object, supple: bpy.types.Modifier, count: int) -> None:
    size = count * len(obj.data.vertices) * 12
    if size > LARGEST_KEYS:
        raise SkinningError(
            f"{count:,} frames of '{obj.name}' take {size / 1e9:,.0f} GB of memory as shape keys: bake to a point "
            "cache instead"
        )
    if obj.data.users > 1:
        raise SkinningError(
            f"The mesh of '{obj.name}' is used by {obj.data.users} objects, which would all get the shape keys: make "
            "it single-user, or bake to a point cache"
        )
    if obj.data.library is not None:
        raise SkinningError(f"The mesh of '{obj.name}' is linked from another file: bake to a point cache instead")
    keys = obj.data.shape_keys
    if keys is not None and not keys.use_relative:
        raise SkinningError(f"'{obj.name}' has absolute shape keys: switch Relative on, or bake to a point cache")
    if obj.show_only_shape_key:
        raise SkinningError(f"'{obj.name}' shows only its active shape key: switch the pin off in the Shape Keys panel")
    for modifier in modifiers_above(obj, supple):
        raise SkinningError(
            f"Modifier '{modifier.name}' stands above Supple and would act on the baked keys once more: bake to a "
            "point cache instead"
        )
    if is_deformed_by_parent(obj):
        raise SkinningError(
            f"'{obj.parent.name}' deforms '{obj.name}' as its parent and would act on the baked keys once more: set "
            "the parent type to Object, or bake to a point cache instead"
        )


def _posed_frames(
    obj: bpy.types.Object, supple: bpy.types.Modifier, scene: bpy.types.Scene, frames: range
) -> Generator[tuple[int, np.ndarray], None, None]:
    """Go through the frames and yield each with the points that Supple's modifier passes on, shape (V, 3)."""
    current, sub = scene.frame_current, scene.frame_subframe
    try:
        with _stack_down_to(obj, supple), live.at_bake_quality(obj):
            for frame in frames:
                scene.frame_set(frame)
                depsgraph = bpy.context.evaluated_depsgraph_get()
                try:
                    live.refresh(obj, depsgraph)
                    depsgraph.update()
                    points = _read_posed(obj, depsgraph)
                except SkinningError as error:
                    raise SkinningError(f"Frame {frame}: {error}") from error
                yield frame, points
    finally:
        scene.frame_set(current, subframe=sub)


def _read_posed(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> np.ndarray:
    """The evaluated points of an object; raises SkinningError where they are not those of its own vertices."""
    if not obj.evaluated_get(depsgraph).is_evaluated:
        raise SkinningError(
            f"'{obj.name}' is switched off in this view layer: switch it and its collection on to bake it"
        )
    points = read_evaluated_points(obj, depsgraph)
    if find_unusable(points).any():
        raise SkinningError(
            f"'{obj.name}' has positions that are not numbers (NaN or infinite): check the drivers and constraints of "
            "the armature"
        )
    if len(points) != len(obj.data.vertices):
        raise SkinningError(
            f"'{obj.name}' has {len(obj.data.vertices)} vertices, but {len(points)} reach Supple: move modifiers that "
            "change their number below it"
        )
    return points


def _points_above(obj: bpy.types.Object) -> np.ndarray:
    """The points that reach Supple's modifier in the current frame, shape (V, 3)."""
    supple = find_supple_modifier(obj)
    supple.show_viewport = False
    try:
        return read_evaluated_points(obj, bpy.context.evaluated_depsgraph_get())
    finally:
        supple.show_viewport = True


@contextmanager
def _stack_down_to(obj: bpy.types.Object, last: bpy.types.Modifier) -> Iterator[None]:
    """Evaluate meanwhile only the modifiers that render down to `last`, and `last` itself."""
    names, end = [modifier.name for modifier in obj.modifiers], obj.modifiers.find(last.name)
    before = [modifier.show_viewport for modifier in obj.modifiers]
    for index, modifier in enumerate(obj.modifiers):
        modifier.show_viewport = index == end or (index < end and modifier.show_render)
    try:
        yield
    finally:
        for name, shown in zip(names, before, strict=True):
            if name in obj.modifiers:
                obj.modifiers[name].show_viewport = shown
