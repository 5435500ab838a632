"""Bind and unbind: put Supple in the place of a character's Armature modifier, and take it out again."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import bpy

from ..bridge import carriers
from ..bridge.meshes import mesh_of, read_points
from ..deformers import SkinningError
from ..properties import SETTINGS_VERSION, ObjectSettings, settings_of
from . import live
from .bake import clear_bake
from .character import check_armature, find_armature_modifier
from .stack import find_replaced_modifier, find_supple_modifier, hand_over, read_toggles, write_toggles

LOCK_KEY = "supple_locked_interface"
"""Custom property of a scene whose Lock Interface Bind has switched on."""


def find_bound_objects() -> list[bpy.types.Object]:
    """All bound objects of the file that can be changed (linked ones can not)."""
    return [obj for obj in bpy.data.objects if obj.type == "MESH" and settings_of(obj).is_bound and obj.library is None]


def bind(objects: Iterable[bpy.types.Object], method: str) -> None:
    """Deform characters by Supple instead of by their Armature modifiers.

    Where one of the objects can not be bound, none is. A bound object is bound anew.

    Parameters
    ----------
    objects : Objects
        Meshes with an Armature modifier.
    method : str
        Key of `DEFORMERS`.

    Raises
    ------
    SkinningError
        Where an object can not be bound; nothing is changed then.
    """
    objects = list(objects)
    if not objects:
        raise SkinningError("Nothing to bind: select a mesh that has an Armature modifier")
    checked = [(obj, check_bindable(obj)) for obj in objects]
    prepared = [live.prepare(obj, modifier, method) for obj, modifier in checked]
    for (obj, modifier), one in zip(checked, prepared, strict=True):
        _bind_one(obj, modifier, one)


def check_bindable(obj: bpy.types.Object) -> bpy.types.ArmatureModifier:
    """Whether an object is one to bind; what `live.prepare` can still find is in its weights and bones.

    Returns
    -------
    ArmatureModifier
        The one to replace.

    Raises
    ------
    SkinningError
        With what is in the way and what to do.
    """
    if obj.type != "MESH":
        raise SkinningError(f"'{obj.name}' is not a mesh: select a mesh that has an Armature modifier")
    if obj.library is not None:
        raise SkinningError(
            f"'{obj.name}' is linked from another file: make a library override of it, or make it local"
        )
    if obj.mode == "EDIT":
        raise SkinningError(f"'{obj.name}' is in Edit Mode: leave it first")
    if not obj.data.vertices:
        raise SkinningError(f"'{obj.name}' has no vertices: select another mesh")
    modifier = find_replaced_modifier(obj) if settings_of(obj).is_bound else find_armature_modifier(obj)
    if not settings_of(obj).is_bound and not (modifier.show_viewport or modifier.show_render):
        raise SkinningError(f"Armature modifier '{modifier.name}' of '{obj.name}' is switched off: switch it on first")
    return modifier


def _bind_one(obj: bpy.types.Object, modifier: bpy.types.ArmatureModifier, prepared: live.LiveObject) -> None:
    settings = settings_of(obj)
    settings.method = prepared.choices.method
    if not settings.is_bound:
        settings.live_toggles = read_toggles(modifier)
    _ensure_modifier(obj, modifier)
    if settings.carrier is None or len(settings.carrier.data.vertices) != len(obj.data.vertices):
        _remove_hidden(settings)
    _give_hidden(obj, check_armature(obj, modifier))
    settings.version = SETTINGS_VERSION
    settings.is_bound = True
    settings.is_handed_over = False
    settings.armature_modifier = modifier.name
    settings.bound_groups = "\n".join(prepared.groups)
    settings.message = ""
    _lock_interface(obj)
    live.keep(obj, prepared)


def _ensure_modifier(obj: bpy.types.Object, replaced: bpy.types.ArmatureModifier) -> None:
    """Put the node modifier into the place of the replaced one, or give it back what the user has removed."""
    supple = next((other for other in obj.modifiers if carriers.is_supple_modifier(other)), None)
    if supple is None:
        supple = carriers.add_supple_modifier(obj, obj.modifiers.find(replaced.name))
        supple.show_in_editmode = replaced.show_in_editmode
        write_toggles(supple, settings_of(obj).live_toggles)
        write_toggles(replaced, (False, False))
    elif supple.node_group is None:
        supple.node_group = carriers.ensure_node_group()


def _give_hidden(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """See that a bound object has a carrier and a watcher, and that its node modifier knows them."""
    settings = settings_of(obj)
    if settings.carrier is None:
        settings.carrier = carriers.new_carrier(obj, read_points(mesh_of(obj)))
    if settings.watcher is None:
        settings.watcher = carriers.new_watcher(obj)
    carriers.watch(settings.watcher, armature)
    supple = find_supple_modifier(obj)
    carriers.write_input(supple, carriers.CARRIER_SOCKET, settings.carrier)
    carriers.write_input(supple, carriers.WATCHER_SOCKET, settings.watcher)


def _remove_hidden(settings: ObjectSettings) -> None:
    """Remove the carrier and the watcher, unless a fresh copy of the object, or its original, uses them too."""
    others = [settings_of(obj) for obj in find_bound_objects() if settings_of(obj) != settings]
    for name in ("carrier", "watcher"):
        hidden = getattr(settings, name)
        settings.property_unset(name)
        if hidden is not None and all(getattr(other, name) != hidden for other in others):
            carriers.remove_hidden(hidden)


def unbind(objects: Iterable[bpy.types.Object]) -> None:
    """Give characters back to their Armature modifiers, exactly as they were before Bind. Bakes are removed.

    Raises
    ------
    SkinningError
        Where none of the objects is bound.
    """
    bound = [obj for obj in objects if obj.type == "MESH" and settings_of(obj).is_bound]
    if not bound:
        raise SkinningError("Nothing to unbind: select a mesh that is bound")
    for obj in bound:
        _unbind_one(obj)
    carriers.remove_unused_node_groups()


def _unbind_one(obj: bpy.types.Object) -> None:
    settings = settings_of(obj)
    clear_bake(obj)
    hand_over(obj)
    replaced = None
    with suppress(SkinningError):  # the user may have removed it
        replaced = find_replaced_modifier(obj)
        if not settings.is_handed_over:  # Supple's own was removed, and could not hand over
            write_toggles(replaced, settings.live_toggles)
    for modifier in [modifier for modifier in obj.modifiers if carriers.is_supple_modifier(modifier)]:
        carriers.remove_modifier(obj, modifier, replaced)
    _remove_hidden(settings)
    live.forget(obj)
    for name in ("is_bound", "is_handed_over", "armature_modifier", "bound_groups", "live_toggles", "message"):
        settings.property_unset(name)
    _unlock_interface(obj)


def own_carrier(obj: bpy.types.Object, taken: set[bpy.types.Object]) -> None:
    """Give a copy of a bound object a carrier of its own, where it shares one with an object already in `taken`."""
    settings = settings_of(obj)
    if settings.carrier is None:
        return
    if settings.carrier in taken or settings.carrier.library is not None:
        settings.carrier = settings.watcher = None
        _give_hidden(obj, check_armature(obj, find_replaced_modifier(obj)))
    taken.add(settings.carrier)


def _lock_interface(obj: bpy.types.Object) -> None:
    """Lock the interface while rendering: viewport and render write the same carrier."""
    for scene in obj.users_scene:
        if not scene.render.use_lock_interface:
            scene.render.use_lock_interface = True
            scene[LOCK_KEY] = True


def _unlock_interface(obj: bpy.types.Object) -> None:
    """Undo `_lock_interface` in scenes where no object is bound any more."""
    for scene in obj.users_scene:
        if LOCK_KEY in scene and not any(scene in other.users_scene for other in find_bound_objects()):
            scene.render.use_lock_interface = False
            del scene[LOCK_KEY]
