"""The surfaces of all meshes on an armature, for methods that look at the whole character."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager, suppress
from dataclasses import replace

import bpy
from mathutils import Matrix

from ...bridge.meshes.data import mesh_of, reading_groups_once
from ...bridge.per_object import PerObject
from ...bridge.rigs.armatures import Skeleton
from ...bridge.rigs.carriers import is_hidden_object
from ...deformers import METHODS, Rest, SkinningError
from ...deformers.rig.surfaces import WeightedSurface
from ...settings.objects import settings_of
from .character import has_armature_modifier, object_to_armature, read_rest
from .stack import SkinnedObject, armature_modifiers, find_replaced_modifier, resolve_skinned

# The latest surface of each object: what was computed of it holds while it is the same
_known: PerObject[WeightedSurface] = PerObject()

# Whether each object was bound when another one was last given its surface, and from where to armature space it was
# taken
_spaces: PerObject[tuple[bool, Matrix]] = PerObject()

# Within `reading_meshes_once`: of each armature, by `session_uid`, the surface of each mesh, by that of the mesh
_read: dict[int, dict[int, WeightedSurface]] | None = None


@contextmanager
def reading_meshes_once() -> Iterator[None]:
    """Read weights and surface of each mesh at most once meanwhile: they must not be changed."""
    global _read
    before, _read = _read, {} if _read is None else _read
    try:
        with reading_groups_once():
            yield
    finally:
        _read = before


def with_surfaces(rest: Rest, skinned: SkinnedObject, skeleton: Skeleton, method: str) -> Rest:
    """Add the surfaces of the armature's meshes, the object's own first, if the method uses them.

    A mesh that cannot be read, such as one without weights, is left out.
    """
    if not METHODS[method].sees_all_meshes:
        return rest
    surfaces = {} if _read is None else _read.setdefault(skinned.armature.session_uid, {})
    if not surfaces:
        surfaces |= _read_others(skinned, skeleton)
    own = mesh_of(skinned.obj).session_uid
    surfaces[own] = _keep(skinned.obj, rest)
    others = (surface for mesh, surface in surfaces.items() if mesh != own)
    return replace(rest, surfaces=(surfaces[own], *others))


def _read_others(skinned: SkinnedObject, skeleton: Skeleton) -> dict[int, WeightedSurface]:
    """The surfaces of the other meshes that an object's armature deforms, by `session_uid` of the mesh."""
    found = {}
    for other in find_others(skinned.obj, skinned.armature):
        modifier = next(modifier for modifier in armature_modifiers(other) if modifier.object == skinned.armature)
        with suppress(SkinningError):
            space = find_bound_space(other, skinned.armature)
            _spaces.keep(other, (settings_of(other).is_bound, space))
            rest = read_rest(resolve_skinned(other, modifier), skeleton, space)
            found[mesh_of(other).session_uid] = _keep(other, rest)
    return found


def find_bound_space(obj: bpy.types.Object, armature: bpy.types.Object) -> Matrix:
    """From an object's space to its armature's, when it was bound; as the objects stand now if it is not."""
    settings = settings_of(obj)
    is_known = settings.is_bound and settings.is_property_set("bound_space")
    return settings.bound_space.copy() if is_known else object_to_armature(obj, armature)


def find_left_behind(bound: Iterable[bpy.types.Object]) -> list[bpy.types.Object]:
    """Bound objects that were given another mesh's surface as it stood before Bind, Unbind or undo."""
    others = [obj for obj in bpy.data.objects if _is_elsewhere(obj)] if _spaces else []
    armatures = {modifier.object for obj in others for modifier in armature_modifiers(obj)}
    found = []
    for obj in bound if armatures else ():
        method = METHODS.get(settings_of(obj).method)
        if method is not None and method.sees_all_meshes and armatures & {m.object for m in armature_modifiers(obj)}:
            found.append(obj)
    return found


def _is_elsewhere(obj: bpy.types.Object) -> bool:
    """Whether a mesh counts as standing elsewhere than when it was read for another. One that is not bound may move."""
    was_bound, space = _spaces.find(obj) or (False, None)
    armature = next((modifier.object for modifier in armature_modifiers(obj) if modifier.object is not None), None)
    if space is None or armature is None or not (was_bound or settings_of(obj).is_bound):
        return False
    if find_bound_space(obj, armature) == space:
        return False
    _spaces.forget(obj)
    return True


def find_others(obj: bpy.types.Object, armature: bpy.types.Object) -> Iterator[bpy.types.Object]:
    """Yield the other meshes that an armature deforms, each mesh once."""
    seen = {mesh_of(obj)}
    for other in bpy.data.objects:
        if other.type != "MESH" or is_hidden_object(other) or mesh_of(other) in seen:
            continue
        if has_armature_modifier(other, armature) and not mesh_of(other).is_editmode:
            seen.add(mesh_of(other))
            yield other


def _keep(obj: bpy.types.Object, rest: Rest) -> WeightedSurface:
    surface, known = WeightedSurface.of_rest(rest), _known.find(obj)
    return known if known is not None and known.is_same(surface) else _known.keep(obj, surface)


def is_one_changed(obj: bpy.types.Object, changed: Set[bpy.types.ID]) -> bool:
    """Whether another mesh that a bound object's method uses has changed.

    Meshes being painted do not count: each stroke would bind all meshes of the character anew.
    """
    method = METHODS.get(settings_of(obj).method)  # a later version may have stored another
    if method is None or not method.sees_all_meshes or not changed:
        return False
    with suppress(SkinningError):
        armature = find_replaced_modifier(obj).object
        others = [] if armature is None else find_others(obj, armature)
        return any(mesh_of(other) in changed and other.mode != "WEIGHT_PAINT" for other in others)
    return False
