"""Measure the pose of the current frame."""

from __future__ import annotations

import bpy

from ..deformers import SkinningError
from ..settings.character import find_shown
from ..tasks.character import has_armature_modifier
from ..tasks.measure import measure_shown


class SUPPLE_OT_measure(bpy.types.Operator):
    """Measure what the current pose keeps of the mesh that is shown, and how far Blender's own methods are from it"""

    bl_idname = "supple.measure"
    bl_label = "Measure"
    bl_options = {"REGISTER"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        obj = find_shown(context)
        if obj is None or not has_armature_modifier(obj):
            cls.poll_message_set("Select a mesh that has an Armature modifier")
            return False
        return True

    def execute(self, context: bpy.types.Context) -> set[str]:
        try:
            measures = measure_shown(find_shown(context), context.scene, context.evaluated_depsgraph_get())
        except SkinningError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        self.report({"INFO"}, ". ".join(measures.describe()))
        return {"FINISHED"}


register, unregister = bpy.utils.register_classes_factory((SUPPLE_OT_measure,))
