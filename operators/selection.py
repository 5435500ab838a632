"""The selection: the meshes and the armature that an operator is for."""

from __future__ import annotations

from typing import Any, cast

import bpy

from ..bridge.rigs.carriers import is_hidden_object
from ..settings.character import find_armature, list_meshes
from ..settings.objects import settings_of
from ..tasks.subject.character import list_deformed


def chosen_meshes(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The selected and active meshes, or those that the active armature deforms."""
    active = context.active_object
    if active is not None and active.type == "ARMATURE":
        return list_meshes(context)
    meshes = [obj for obj in context.selected_objects if obj.type == "MESH"]
    if active is not None and active.type == "MESH" and active not in meshes:
        meshes.append(active)
    return [obj for obj in meshes if not is_hidden_object(obj) and not _is_only_cage(settings_of(obj))]


def _is_only_cage(settings: Any) -> bool:
    # A mesh that was made a cage after Bind can still be unbound.
    return settings.is_handle and not settings.is_bound and not settings.patterns


def chosen_armature(context: bpy.types.Context) -> bpy.types.Object | None:
    """The active or selected armature, if there is only one."""
    chosen = {obj for obj in (context.active_object, *context.selected_objects) if obj and obj.type == "ARMATURE"}
    return chosen.pop() if len(chosen) == 1 else None


def meshes_to_weight(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The selected meshes, and the active mesh if it is edited or painted, or if nothing is selected.

    If an armature is active and no mesh selected: all visible meshes that it deforms.
    """
    active = context.active_object
    meshes = [obj for obj in context.selected_objects if obj.type == "MESH" and not is_hidden_object(obj)]
    meshes = [obj for obj in meshes if not settings_of(obj).is_handle]
    if active is None or active in meshes:
        return meshes
    is_alone = not context.selected_objects and active.visible_get()
    if active.type == "MESH" and not settings_of(active).is_handle and (active.mode != "OBJECT" or is_alone):
        return [*meshes, active]
    if active.type == "ARMATURE" and not meshes:
        return [obj for obj in list_deformed(context.view_layer, active) if obj.visible_get()]
    return meshes


def describe_hidden(context: bpy.types.Context) -> str:
    """A message on meshes that `meshes_to_weight` leaves out because they are hidden; "" if there are none."""
    active = context.active_object
    if active is None or active.type != "ARMATURE" or any(obj.type == "MESH" for obj in context.selected_objects):
        return ""
    hidden = [obj.name for obj in list_deformed(context.view_layer, active) if not obj.visible_get()]
    return f"Left as they are: {', '.join(hidden)}" if hidden else ""


def active_armature(context: bpy.types.Context) -> bpy.types.Object:
    """The armature of the active character, which `requires` has made sure of."""
    return cast(bpy.types.Object, find_armature(context))


def needs_armature(context: bpy.types.Context) -> str:
    armature = find_armature(context)
    is_there = armature is not None and armature.type == "ARMATURE"
    return "" if is_there else "Select a mesh that has an Armature modifier, or its armature"


def needs_meshes_to_weight(context: bpy.types.Context) -> str:
    are_there = meshes_to_weight(context)
    return "" if are_there else "Select a mesh that has an Armature modifier, or a mesh together with its armature"
