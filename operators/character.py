"""What is done to the character as a whole: flip it to Blender's own modifier, clear what keeps a mesh from Bind."""

from __future__ import annotations

from collections.abc import Callable

import bpy
from bpy.props import StringProperty

from ..deformers import SkinningError
from ..preview import without_changes
from ..settings.character import list_meshes
from ..settings.objects import settings_of
from ..tasks.skin.bind import bind_each
from ..tasks.stack import find_armature_modifier, flip, is_flipped
from .bind import followed_already


class SUPPLE_OT_flip(bpy.types.Operator):
    """Show the character by Blender's own Armature modifiers, and by Supple again. Renders stay Supple's"""

    bl_idname = "supple.flip"
    bl_label = "Flip to Blender"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not any(settings_of(obj).is_bound for obj in list_meshes(context)):
            cls.poll_message_set("Select a mesh that is bound, or its armature")
            return False
        return True

    def execute(self, context: bpy.types.Context) -> set[str]:
        bound = [obj for obj in list_meshes(context) if settings_of(obj).is_bound]
        to_armature = not any(map(is_flipped, bound))
        try:
            with without_changes():
                for obj in bound:
                    flip(obj, to_armature)
                context.view_layer.update()
        except SkinningError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        return {"FINISHED"}


class SUPPLE_OT_remedy(bpy.types.Operator):
    """Clear what keeps this mesh from being bound, and bind it"""

    bl_idname = "supple.remedy"
    bl_label = "Remedy"
    bl_options = {"REGISTER", "UNDO"}

    mesh: StringProperty(name="Mesh", description="Name of the mesh object", options={"SKIP_SAVE"})

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not any(settings_of(obj).remedy for obj in list_meshes(context)):
            cls.poll_message_set(
                "Select a mesh that has an Armature modifier, and that Bind has refused, or its armature"
            )
            return False
        return True

    def execute(self, context: bpy.types.Context) -> set[str]:
        obj = next((obj for obj in list_meshes(context) if obj.name == self.mesh), None)
        if obj is None or settings_of(obj).remedy not in REMEDIES:
            self.report({"ERROR"}, f"'{self.mesh}' waits for no remedy: press Bind")
            return {"CANCELLED"}
        try:
            REMEDIES[settings_of(obj).remedy](context, obj)
            with followed_already(context):
                failed = bind_each([obj])
        except SkinningError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        except RuntimeError as error:  # an operator that has failed and said why
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        for _, error in failed:
            self.report({"WARNING"}, str(error))
        if not failed:
            self.report({"INFO"}, f"Bound {obj.name}")
        return {"FINISHED"}


def _weight(context: bpy.types.Context, obj: bpy.types.Object) -> None:
    armature = find_armature_modifier(obj).object
    with context.temp_override(active_object=obj, object=obj, selected_objects=[obj, armature]):
        bpy.ops.supple.weights_auto()


def _switch_on(_context: bpy.types.Context, obj: bpy.types.Object) -> None:
    modifier = find_armature_modifier(obj)
    modifier.show_viewport = modifier.show_render = True


def _leave_edit_mode(context: bpy.types.Context, obj: bpy.types.Object) -> None:
    with context.temp_override(active_object=obj, object=obj):
        bpy.ops.object.mode_set(mode="OBJECT")


REMEDIES: dict[str, Callable[[bpy.types.Context, bpy.types.Object], None]] = {
    "WEIGHTS": _weight,
    "SWITCH_ON": _switch_on,
    "OBJECT_MODE": _leave_edit_mode,
}
"""By `SkinningError.remedy`."""

register, unregister = bpy.utils.register_classes_factory((SUPPLE_OT_flip, SUPPLE_OT_remedy))
