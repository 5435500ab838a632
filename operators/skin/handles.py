"""Points and cages: add them to a skin, and remove them."""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty

from ...bridge.rigs.carriers import is_hidden_object
from ...bridge.rigs.handles import find_follower, list_handle_bones
from ...settings.objects import settings_of
from ...tasks.handles.add import add_handles
from ...tasks.handles.remove import remove_handles
from ...tasks.subject.character import has_armature_modifier, list_deformed
from ...tasks.subject.chosen_bones import find_active_armature
from ...tasks.weights.automatic import WITH_HANDLES
from ..base import SuppleOperator

SELECT_HANDLES = (
    "Select a mesh that has an Armature modifier, or another skin, last, after the empties and meshes that will move it"
)
SELECT_SKIN = "Select a mesh that has an Armature modifier, or its armature, points or cages"


def chosen_handles(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The selected objects besides the active one that are neither skin nor armature."""
    return [
        obj
        for obj in context.selected_objects
        if obj != context.active_object
        and obj.type != "ARMATURE"
        and not (is_hidden_object(obj) or has_armature_modifier(obj))
    ]


def chosen_skin(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The active mesh and selected meshes with an armature; if an armature is active, its selected meshes, or all."""
    active = context.active_object
    meshes = [obj for obj in context.selected_objects if has_armature_modifier(obj)]
    if active is not None and active.type == "ARMATURE":
        own = [obj for obj in meshes if has_armature_modifier(obj, active)]
        return own or list_deformed(context.view_layer, active)
    return meshes if active in meshes else [*meshes, active] if active is not None else meshes


def _is_skin(obj: bpy.types.Object | None) -> bool:
    if obj is None or is_hidden_object(obj):
        return False
    return obj.type == "ARMATURE" or (obj.type == "MESH" and not settings_of(obj).is_handle)


def needs_handles(context: bpy.types.Context) -> str:
    return "" if _is_skin(context.active_object) and chosen_handles(context) else SELECT_HANDLES


def needs_skin_with_handles(context: bpy.types.Context) -> str:
    armature = find_armature_of(context.active_object)
    if armature is None:
        return SELECT_SKIN
    return "" if list_handle_bones(armature) else "Add handles first"


class SUPPLE_OT_handles_add(SuppleOperator, bpy.types.Operator):
    """Turn selected empties into points and selected meshes into cages, which move the active skin along with its
    bones"""

    bl_label = "Add Handles"
    requires = (needs_handles,)

    parent: BoolProperty(
        name="Parent to Bones",
        description="Parent each handle that has no parent to the bone that moves the skin there",
        default=True,
    )

    def run(self, context: bpy.types.Context) -> str:
        active = context.active_object
        armature = active if active.type == "ARMATURE" else None
        lines = add_handles(chosen_skin(context), chosen_handles(context), armature, self.parent)
        context.scene.supple_weights.method = WITH_HANDLES
        return lines[0]


def find_armature_of(obj: bpy.types.Object | None) -> bpy.types.Object | None:
    """The armature of a skin; for a point or cage, the armature whose bones follow it."""
    if obj is None:
        return None
    if obj.type == "ARMATURE" or not settings_of(obj).is_handle:
        return find_active_armature(obj)
    return find_follower(obj)


class SUPPLE_OT_handles_remove(SuppleOperator, bpy.types.Operator):
    """Remove the bones of the selected points and cages, or of all of them if none is selected; their weights go to
    other bones"""

    bl_label = "Remove Handles"
    requires = (needs_skin_with_handles,)

    def run(self, context: bpy.types.Context) -> str:
        selected = [obj for obj in context.selected_objects if settings_of(obj).is_handle and obj.type != "ARMATURE"]
        armature = find_armature_of(context.active_object)
        assert armature is not None  # as `poll` has seen
        return remove_handles(armature, selected or None)[0]
