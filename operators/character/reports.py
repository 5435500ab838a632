"""Reports in the panels: measure the current frame, and close any report."""

from __future__ import annotations

import bpy
from bpy.props import StringProperty

from ...deformers import SkinningError
from ...settings.character import find_shown
from ...tasks.check.this_frame import Measures, measure_shown
from ...tasks.reports import close_report
from ...tasks.steps import Steps
from ...tasks.subject.character import has_armature_modifier
from ..base import SuppleOperator
from ..computing import ComputingOperator


def needs_shown(context: bpy.types.Context) -> str:
    obj = find_shown(context)
    return "" if obj is not None and has_armature_modifier(obj) else "Select a mesh that has an Armature modifier"


class SUPPLE_OT_measure(ComputingOperator, bpy.types.Operator):
    """Measure how well the mesh keeps its shape in the current pose, and how far Blender's own methods are from it"""

    bl_label = "Measure"
    bl_options = {"REGISTER"}
    requires = (needs_shown,)
    subject = "the measures"
    canceled = "Measure canceled"

    def list_steps(self, context: bpy.types.Context) -> Steps[Measures]:
        return measure_shown(find_shown(context), context.scene, context.evaluated_depsgraph_get())


class SUPPLE_OT_close_report(SuppleOperator, bpy.types.Operator):
    """Remove this report from the panel"""

    bl_label = "Close Report"

    owner: StringProperty(name="Object", description="Name of the object in the report")
    kind: StringProperty(name="Report", description="Report to close")

    def run(self, context: bpy.types.Context) -> None:
        obj = context.view_layer.objects.get(self.owner)
        if obj is None:
            raise SkinningError(f"There is no object '{self.owner}' in the view layer: choose another object")
        close_report(obj, self.kind)
