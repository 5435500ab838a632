"""Bakes to shape keys: one for each frame, keyed to be on in that frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing

import bpy
import numpy as np

from ...bridge.animation.curves import key_spike
from ...bridge.changes import without_changes
from ...bridge.held import find_again
from ...bridge.meshes.data import read_evaluated_points, read_key_points, write_key_points
from ...bridge.rigs.actions import check_remapping, find_times
from ...deformers import SkinningError
from ...settings.objects import settings_of
from ..skin.baked import remove_keys, show_live
from ..subject.character import modifiers_above
from ..subject.stack import find_supple_modifier, is_deformed_by_parent, read_toggles, write_toggles
from .posed_frames import check_bakeable, posed_frames

# Bytes of the shape keys of a bake: a file that holds more opens nowhere
LARGEST_KEYS = 4 * 10**9


def bake_shape_keys(
    objects: Sequence[bpy.types.Object], scene: bpy.types.Scene, frames: Sequence[int]
) -> Iterator[int]:
    """Add a shape key for each frame to each object, keyed to be on in that frame, and yield how many are done.

    Existing keys stay live: their offsets are left out of the baked ones. An earlier bake is removed when all frames
    are done. All objects get their keys, or none. Raises SkinningError if an object cannot be deformed, or shape keys
    cannot hold its deformation.
    """
    for obj in objects:
        check_keys_can_hold(obj)
    _check_size(objects, len(frames))
    check_remapping(scene)
    times = find_times(scene, frames).tolist()
    bakes: dict[bpy.types.Object, _KeyBake] = {}
    with ExitStack() as early:  # whatever ends it early, also the generator being closed
        for obj in objects:
            bakes[obj] = _KeyBake(obj)
            early.callback(bakes[obj].undo)
        posed = early.enter_context(closing(posed_frames(objects, scene, frames)))
        for done, frame, points in posed:
            for obj, own in points.items():
                bakes[obj].add(frame, own)
            with without_changes():  # the new keys are none to be followed
                bpy.context.view_layer.update()
            yield done
        early.pop_all()
    for obj, bake in bakes.items():
        _show_keys(obj, bake.made, frames, times)
    scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)


class _KeyBake:
    """The keys of a bake of an object, while they are made.

    `made`: their names; a Basis first, where the mesh had no keys.
    """

    def __init__(self, obj: bpy.types.Object) -> None:
        self._obj, self._settings, self._uid = obj, settings_of(obj), obj.session_uid
        self._before = self._settings.baked_keys
        self._earlier = [name for name in self._before.split("\n") if name]
        self.made = [] if obj.data.shape_keys is not None else [obj.shape_key_add(name="Basis").name]
        keys = obj.data.shape_keys
        self._had_keys = any(key.name not in {*self._earlier, *self.made} for key in keys.key_blocks)
        self._basis = read_key_points(keys.reference_key)

    def add(self, frame: int, points: np.ndarray) -> None:
        """Add the key of the present frame, which is to show these points, shape (V, 3)."""
        obj, active_index = self._obj, self._obj.active_shape_key_index
        mixed = _points_above(obj) if self._had_keys else self._basis
        key = obj.shape_key_add(name=f"Supple {frame}", from_mix=False)
        key.value = 0.0
        obj.active_shape_key_index = active_index
        self.made.append(key.name)
        self._settings.baked_keys = "\n".join([*self._earlier, *self.made])
        write_key_points(key, points - mixed + self._basis)

    def undo(self) -> None:
        """Remove the new keys, unless the object was deleted."""
        if (obj := find_again(self._uid)) is not None:
            remove_keys(obj, self.made)
            settings_of(obj).baked_keys = self._before


def _show_keys(obj: bpy.types.Object, made: list[str], frames: Sequence[int], times: Sequence[float]) -> None:
    """Deform an object by its keys of this bake, one for each frame, instead of by an earlier one, or live."""
    settings, keys = settings_of(obj), obj.data.shape_keys
    basis = keys.reference_key.name
    frame_keys = [keys.key_blocks[name] for name in made if name != basis]
    earlier = [name for name in settings.baked_keys.split("\n") if name not in made]
    remove_keys(obj, [name for name in earlier if name != basis])
    for key, frame in zip(frame_keys, frames, strict=True):
        key.name = f"Supple {frame}"
    settings.baked_keys = "\n".join([basis] * (basis in (*earlier, *made)) + [key.name for key in frame_keys])
    for number, key in enumerate(frame_keys):
        key_spike(keys, key, "value", number, times)
    show_live(obj)
    supple = find_supple_modifier(obj)
    settings.live_toggles = read_toggles(supple)
    write_toggles(supple, (False, False))
    settings.bake = "SHAPE_KEYS"


def _check_size(objects: Sequence[bpy.types.Object], count: int) -> None:
    size = count * sum(len(obj.data.vertices) for obj in objects) * 12
    if size > LARGEST_KEYS:
        names = ", ".join(f"'{obj.name}'" for obj in objects)
        raise SkinningError(
            f"{count:,} frames of {names} need {size / 1e9:,.0f} GB of memory as shape keys: bake to a point cache "
            "instead"
        )


def check_keys_can_hold(obj: bpy.types.Object) -> None:
    """Raise SkinningError if an object cannot be baked, or shape keys cannot hold its deformation."""
    supple = check_bakeable(obj)
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
        raise SkinningError(f"'{obj.name}' shows only its active shape key: turn off the pin in the Shape Keys panel")
    for modifier in modifiers_above(obj, supple):
        raise SkinningError(
            f"Modifier '{modifier.name}' is above Supple and would deform the baked keys again: bake to a point "
            "cache instead"
        )
    if is_deformed_by_parent(obj):
        raise SkinningError(
            f"'{obj.parent.name}' deforms '{obj.name}' as its parent and would deform the baked keys again: set the "
            "parent type to Object, or bake to a point cache instead"
        )


def _points_above(obj: bpy.types.Object) -> np.ndarray:
    """The points that reach Supple's modifier in the current frame, shape (V, 3)."""
    supple = find_supple_modifier(obj)
    write_toggles(supple, (False, supple.show_render))
    try:
        return read_evaluated_points(obj, bpy.context.evaluated_depsgraph_get())
    finally:
        write_toggles(supple, (True, supple.show_render))
