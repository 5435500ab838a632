"""A character checked, with progress and Esc; its faults shown, mended and dismissed."""

from __future__ import annotations

from typing import Any, cast

import bpy
from bpy.props import IntProperty

from ..deformers import SkinningError
from ..options import CheckOptions
from ..settings.character import find_armature, list_ticked
from ..settings.checks import check_settings
from ..settings.objects import settings_of
from ..settings.properties import read_options
from ..tasks.check.findings import describe_fully, find_faults
from ..tasks.check.fix import fix_finding, measure_again
from ..tasks.check.lines import list_lines, write_line
from ..tasks.check.run import prepare
from ..tasks.check.show import show_finding
from ..tasks.reports import check_reports
from ..tasks.skin.step import without_changes
from .base import SuppleOperator
from .computing import ComputingOperator

VIEW_SIZE = 8.0
"""Lengths of a bone that a view shows around it."""


def needs_ticked(context: bpy.types.Context) -> str:
    return "" if list_ticked(context) else "Select a mesh that has an Armature modifier, or its armature"


def needs_findings(context: bpy.types.Context) -> str:
    settings, armature = check_settings(context), find_armature(context)
    is_there = armature is not None and armature.name == settings.armature and settings.findings
    return "" if is_there else "Select a mesh that has an Armature modifier, and check its character"


class SUPPLE_OT_check(ComputingOperator, bpy.types.Operator):
    """Find mistakes in weights, and joints that collapse, swell or tear. Changes nothing"""

    bl_idname = "supple.check"
    bl_label = "Check Character"
    bl_options = {"REGISTER"}
    requires = (needs_ticked,)

    subject = "the poses"
    canceled = "Check canceled"

    def run(self, context: bpy.types.Context) -> Any:
        options = read_options(CheckOptions, check_settings(context))
        with without_changes():
            self._check = prepare(list_ticked(context), options)
        return self.compute(context, self._check.run)

    def finish(self, context: bpy.types.Context, measured: list[Any]) -> str:
        """Keep what was found, and list it."""
        armature = bpy.data.objects.get(self._check.armature)
        if armature is None:
            raise SkinningError(f"'{self._check.armature}' was deleted: check another character")
        meshes = [obj for mesh in self._check.meshes if (obj := bpy.data.objects.get(mesh.name)) is not None]
        faults = find_faults(self._check, measured, meshes)
        check_reports.keep(armature, faults)
        list_lines(check_settings(context), armature, faults, len(self._check.poses))
        for reason in self._check.refused.values():
            self.tell(reason, "WARNING")
        what = (
            "No faults found" if not faults else "1 fault found" if len(faults) == 1 else f"{len(faults)} faults found"
        )
        return f"{what} in {len(self._check.poses)} poses"


class FindingOperator(SuppleOperator):
    """Mix-in: does something about the fault that is active in the list."""

    requires = (needs_findings,)

    def run(self, context: bpy.types.Context) -> Any:
        settings, armature = check_settings(context), cast(bpy.types.Object, find_armature(context))
        line = settings.findings[min(settings.active, len(settings.findings) - 1)]
        faults = check_reports.find(armature)
        if faults is None or line.number >= len(faults):
            raise SkinningError("The report no longer exists: check the character again")
        self.act(context, armature, faults[line.number], line)

    def act(self, context: bpy.types.Context, armature: bpy.types.Object, fault: Any, line: Any) -> None:
        """Do it to a fault, and to its line of the list."""
        raise AssertionError("each operator has its own")


class SUPPLE_OT_check_show(FindingOperator, bpy.types.Operator):
    """Go to the worst frame of the fault, or repeat the test pose of the joint. Undo restores the pose"""

    bl_idname = "supple.check_show"
    bl_label = "Show Fault"

    number: IntProperty(
        name="Line", description="Row of the list; the active row if -1", default=-1, min=-1, options={"SKIP_SAVE"}
    )

    def run(self, context: bpy.types.Context) -> Any:
        if self.number >= 0:
            check_settings(context).active = self.number
        return super().run(context)

    def act(self, context: bpy.types.Context, armature: bpy.types.Object, fault: Any, _line: Any) -> None:
        settings = check_settings(context)
        center = show_finding(armature, context.scene, fault)
        settings.heat = "OVERLAP" if fault.kind == "OVERLAP" else "STRETCH"
        space = context.space_data
        if center is not None and isinstance(space, bpy.types.SpaceView3D):
            space.region_3d.view_location = center
            length = armature.data.bones[fault.bone].length * armature.matrix_world.median_scale
            space.region_3d.view_distance = min(space.region_3d.view_distance, VIEW_SIZE * length)


class SUPPLE_OT_check_fix(FindingOperator, bpy.types.Operator):
    """Fix the fault if a tool can: remove, add or smooth weights, or change the method"""

    bl_idname = "supple.check_fix"
    bl_label = "Fix"

    def act(self, context: bpy.types.Context, armature: bpy.types.Object, fault: Any, line: Any) -> None:
        obj = context.scene.objects.get(fault.mesh)
        if obj is None:
            raise SkinningError(f"'{fault.mesh}' was deleted or renamed: check the character again")
        messages = fix_finding(obj, fault)
        context.view_layer.update()
        left = measure_again(obj, fault)
        line.is_mended = left is None
        if left is not None:
            check_reports[armature.session_uid][line.number] = left
            write_line(line, line.number, left)
            messages.append(f"Not fixed: {describe_fully(left)[0]}.")
        self.tell(" ".join(messages), "INFO" if left is None else "WARNING")


class SUPPLE_OT_check_dismiss(FindingOperator, bpy.types.Operator):
    """Hide the fault from the list, also in later checks; or restore it"""

    bl_idname = "supple.check_dismiss"
    bl_label = "Dismiss"

    def act(self, _context: bpy.types.Context, armature: bpy.types.Object, fault: Any, _line: Any) -> None:
        settings = settings_of(armature)
        kept = [key for key in settings.dismissed.split("\n") if key]
        settings.dismissed = "\n".join(
            [key for key in kept if key != fault.key] if fault.key in kept else [*kept, fault.key]
        )


register, unregister = bpy.utils.register_classes_factory(
    (SUPPLE_OT_check, SUPPLE_OT_check_show, SUPPLE_OT_check_fix, SUPPLE_OT_check_dismiss)
)
