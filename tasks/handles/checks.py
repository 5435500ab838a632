"""What can be a point or a cage, and which armature can have bones for it."""

from __future__ import annotations

from collections.abc import Sequence

import bpy

from ...bridge.meshes.data import mesh_of
from ...deformers import SkinningError
from ...settings.objects import settings_of
from ..subject.character import changes_topology, has_armature_modifier

MOST_VERTICES = 200
"""Vertices of a cage: each is a bone."""


def check_objects(
    meshes: Sequence[bpy.types.Object], objects: Sequence[bpy.types.Object], armature: bpy.types.Object | None
) -> None:
    """Raise SkinningError where objects can not be points or cages of meshes that an armature deforms, if any."""
    if not objects:
        names = ", ".join(f"'{mesh.name}'" for mesh in meshes)
        raise SkinningError(f"Nothing is selected to move {names}: also select empties for points, or meshes for cages")
    skins = {mesh.data for mesh in meshes}
    for obj in objects:
        name = obj.name
        if obj in meshes or obj.data in skins:
            raise SkinningError(f"'{name}' is the skin itself: select another mesh as a cage")
        if obj.type not in ("EMPTY", "MESH"):
            raise SkinningError(
                f"'{name}' is neither an empty nor a mesh: only empties can be points, and only meshes can be cages"
            )
        if obj.library is not None:
            raise SkinningError(f"'{name}' is linked from another file: make it local first")
        if settings_of(obj).is_handle:
            raise SkinningError(f"'{name}' is already a handle: remove it first")
        if carried := [one.name for one in (armature, *meshes) if one in obj.children_recursive]:
            raise SkinningError(
                f"'{name}' carries '{carried[0]}', which is to follow it: clear the parent of '{carried[0]}', or leave "
                f"'{name}' out"
            )
        if obj.type == "MESH":
            _check_cage(obj)


def _check_cage(obj: bpy.types.Object) -> None:
    name, mesh = obj.name, mesh_of(obj)
    if obj.mode == "EDIT":
        raise SkinningError(f"'{name}' is in Edit Mode: leave it first")
    if mesh.is_editmode:
        raise SkinningError(f"The mesh of '{name}' is in Edit Mode with another object: leave Edit Mode first")
    if has_armature_modifier(obj):
        raise SkinningError(f"'{name}' is deformed by an armature: remove its Armature modifier to make it a cage")
    if mesh.library is not None or mesh.override_library is not None:
        raise SkinningError(f"The mesh of '{name}' is linked from another file: make it local first")
    if not mesh.vertices:
        raise SkinningError(f"'{name}' has no vertices: a cage needs at least one")
    if len(mesh.vertices) > MOST_VERTICES:
        raise SkinningError(
            f"'{name}' has {len(mesh.vertices)} vertices, and each would become a bone: use a cage with "
            f"{MOST_VERTICES} vertices or fewer"
        )
    changing = [modifier for modifier in obj.modifiers if changes_topology(modifier) and modifier.show_viewport]
    if changing:
        raise SkinningError(
            f"Modifier '{changing[0].name}' of '{name}' changes the number of vertices: apply or remove it"
        )


def check_armature(armature: bpy.types.Object) -> None:
    """Raise SkinningError where an armature can not have more bones."""
    data = armature.data
    if not (armature.is_editable and data.is_editable) or armature.override_library or data.override_library:
        raise SkinningError(
            f"'{armature.name}' is linked from another file, so bones cannot be added: add handles in its own file, "
            "or make it local"
        )
    if armature.mode == "EDIT":
        raise SkinningError(f"'{armature.name}' is in Edit Mode: leave it first")
