"""Reports in the panels: a measure of the current frame, and what takes any report off again."""

from __future__ import annotations

import bpy
from bpy.props import StringProperty

from ..deformers import SkinningError
from ..settings.character import find_shown
from ..tasks.character import has_armature_modifier
from ..tasks.check.this_frame import measure_shown
from ..tasks.reports import close_report
from ..translations import translate


class SUPPLE_OT_measure(bpy.types.Operator):
    """Measure what the current pose keeps of the mesh that is shown, and how far Blender's own methods are from it"""

    bl_idname = "supple.measure"
    bl_label = "Measure"
    bl_options = {"REGISTER"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        obj = find_shown(context)
        if obj is None or not has_armature_modifier(obj):
            cls.poll_message_set(translate("Select a mesh that has an Armature modifier"))
            return False
        return True

    def execute(self, context: bpy.types.Context) -> set[str]:
        try:
            measures = measure_shown(find_shown(context), context.scene, context.evaluated_depsgraph_get())
        except SkinningError as error:
            self.report({"ERROR"}, translate(str(error)))
            return {"CANCELLED"}
        self.report({"INFO"}, translate(". ".join(measures.describe())))
        return {"FINISHED"}


class SUPPLE_OT_close_report(bpy.types.Operator):
    """Take this report off the panel"""

    bl_idname = "supple.close_report"
    bl_label = "Close Report"
    bl_options = {"REGISTER", "UNDO"}

    owner: StringProperty(name="Object", description="Name of the object that the report is on")
    kind: StringProperty(name="Report", description="Which of its reports")

    def execute(self, context: bpy.types.Context) -> set[str]:
        obj = context.view_layer.objects.get(self.owner)
        if obj is None:
            self.report(
                {"ERROR"}, translate(f"There is no object '{self.owner}' in the view layer: choose one that is")
            )
            return {"CANCELLED"}
        close_report(obj, self.kind)
        return {"FINISHED"}


register, unregister = bpy.utils.register_classes_factory((SUPPLE_OT_measure, SUPPLE_OT_close_report))
