"""The frames of a scene, one after the other, with the points that Supple makes of objects in each."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager

import bpy
import numpy as np

from ...bridge.meshes import read_evaluated_points
from ...deformers import SkinningError
from ...deformers.errors import find_unusable
from ...settings.objects import settings_of
from ..skin import live
from ..stack import check_not_linked, find_supple_modifier


def check_bakeable(obj: bpy.types.Object | None) -> bpy.types.Modifier:
    """The node modifier of an object to bake; raises SkinningError where it can not be baked."""
    if obj is None or obj.type != "MESH" or not settings_of(obj).is_bound:
        raise SkinningError("Nothing to bake: select a mesh and bind it first")
    check_not_linked(obj)
    if obj.mode == "EDIT":
        raise SkinningError(f"'{obj.name}' is in Edit Mode: leave it first")
    return find_supple_modifier(obj)


def posed_frames(
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
                    points = _read_points(obj, depsgraph)
                except SkinningError as error:
                    raise SkinningError(f"Frame {frame}: {error}") from error
                yield frame, points
    finally:
        scene.frame_set(current, subframe=sub)


def _read_points(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> np.ndarray:
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


@contextmanager
def without_baked_keys(obj: bpy.types.Object) -> Iterator[None]:
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
