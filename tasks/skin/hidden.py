"""Hidden objects of characters bound by Python, and Lock Interface in their scenes."""

from __future__ import annotations

from functools import partial

import bpy

from ...bridge import modifiers
from ...bridge.meshes.data import mesh_of, read_points
from ...bridge.owned import Tag, is_marked, mark, unmark
from ...bridge.removal import outside_handlers
from ...bridge.rigs import carriers
from ...nodes.carrier import CARRIER_SOCKET, WATCHER_SOCKET
from ...settings.objects import ObjectSettings, needs_supple, settings_of
from ..subject.stack import BoundObject, find_bound_objects, resolve


def give_hidden(bound: BoundObject) -> None:
    """Give a bound object a carrier and a watcher, and both to its node modifier."""
    settings = bound.settings
    if not carriers.is_own(settings.carrier):
        settings.carrier = carriers.new_carrier(bound.obj, read_points(mesh_of(bound.obj)))
    if not carriers.is_own(settings.watcher):
        settings.watcher = carriers.new_watcher(bound.obj)
    carriers.watch(settings.watcher, bound.armature)
    for name, hidden in ((CARRIER_SOCKET, settings.carrier), (WATCHER_SOCKET, settings.watcher)):
        if modifiers.read_input(bound.supple, name) != hidden:
            modifiers.write_input(bound.supple, name, hidden)


def remove_hidden(settings: ObjectSettings) -> None:
    """Remove the carrier and the watcher, unless a fresh copy of the object, or its original, uses them too."""
    for name in ("carrier", "watcher"):
        hidden = getattr(settings, name)
        settings.property_unset(name)
        if hidden is not None and all(getattr(settings_of(obj), name) != hidden for obj in find_bound_objects()):
            outside_handlers(partial(carriers.remove_hidden, hidden.session_uid))


def own_hidden(obj: bpy.types.Object, taken: set[bpy.types.Object]) -> None:
    """Give a bound object hidden objects of its own, where others in `taken`, or its library, have them too."""
    settings = settings_of(obj)
    if settings.carrier is None or settings.watcher is None:
        return
    former = settings.carrier, settings.watcher
    for name in ("carrier", "watcher"):
        if getattr(settings, name) in taken:
            setattr(settings, name, None)
    give_hidden(resolve(obj))
    for hidden in former:
        if hidden.override_library is not None and not hidden.users:
            # It came with the override, and nothing can be written to its mesh.
            outside_handlers(partial(carriers.remove_hidden, hidden.session_uid))
    taken |= {settings.carrier, settings.watcher}


def list_hidden() -> set[int]:
    """All carriers and watchers, by `session_uid`."""
    return {obj.session_uid for obj in _find_hidden()}


def _find_hidden() -> list[bpy.types.Object]:
    return [obj for obj in bpy.data.objects if carriers.is_own(obj)]


def show_returned(before: set[int]) -> None:
    """Have every scene read the carriers and watchers that undo has brought back as they are now.

    A scene that is not shown keeps its evaluated copies from before the removal, and hears of no change, until an
    update looks up its data-blocks anew.

    Parameters
    ----------
    before : set of int
        From `list_hidden`, before undo.
    """
    returned = [obj for obj in _find_hidden() if obj.session_uid not in before]
    if not returned:
        return
    for layer in (layer for scene in bpy.data.scenes for layer in scene.view_layers):
        if layer.depsgraph is not None:  # was shown once
            layer.depsgraph.update()
    for obj in returned:
        mesh_of(obj).update_tag()  # what handlers wrote meanwhile, scenes that were still to come have not heard of


def lock_interface(obj: bpy.types.Object) -> None:
    """Lock the interface while rendering: viewport and render write the same carrier."""
    for scene in obj.users_scene:
        if not scene.render.use_lock_interface:
            scene.render.use_lock_interface = True
            mark(scene, Tag.LOCKED)


def unlock_interfaces() -> None:
    """Undo `lock_interface` in scenes if no object is bound by Python any more."""
    locked = [scene for scene in bpy.data.scenes if is_marked(scene, Tag.LOCKED) and scene.library is None]
    bound = [obj for obj in find_bound_objects() if needs_supple(settings_of(obj))] if locked else []
    for scene in locked:
        if not any(scene in obj.users_scene for obj in bound):
            scene.render.use_lock_interface = False
            unmark(scene, Tag.LOCKED)
