"""A character checked, with progress and Esc; its faults shown, mended and dismissed."""

from __future__ import annotations

from typing import Any, cast

import bpy
from bpy.props import IntProperty

from ..deformers import SkinningError
from ..options import CheckOptions
from ..settings.character import find_armature, list_ticked
from ..settings.checks import check_settings, close_check, cool
from ..settings.objects import settings_of
from ..settings.properties import read_options
from ..tasks.check.faults import Finding
from ..tasks.check.findings import find_faults
from ..tasks.check.fix import MOST_ROUNDS, fix_each
from ..tasks.check.lines import Report, find_report, follow_fixes, list_lines
from ..tasks.check.run import Checked, check_character
from ..tasks.check.show import show_finding
from ..tasks.check.view import find_view
from ..tasks.reports import check_reports
from ..viewport.framing import frame_sphere, read_eye
from .base import SuppleOperator
from .computing import ComputingOperator, SlowOperator

NOT_CHECKED = "Select a mesh that has an Armature modifier, and check its character"

DEEP = 1.0 / 16.0
"""Depth at the end of the scale of colors, in radii of what is shown."""


def needs_ticked(context: bpy.types.Context) -> str:
    return "" if list_ticked(context) else "Select a mesh that has an Armature modifier, or its armature"


def needs_check(context: bpy.types.Context) -> str:
    is_there = (armature := find_armature(context)) is not None and armature.name == check_settings(context).armature
    return "" if is_there else NOT_CHECKED


def needs_findings(context: bpy.types.Context) -> str:
    return needs_check(context) if check_settings(context).findings else NOT_CHECKED


class SUPPLE_OT_check(ComputingOperator, bpy.types.Operator):
    """Find mistakes in weights, and joints that collapse, swell or tear. Changes nothing"""

    bl_idname = "supple.check"
    bl_label = "Check Character"
    bl_options = {"REGISTER"}
    requires = (needs_ticked,)

    computes = True
    subject = "the poses"
    canceled = "Check canceled"

    def run(self, context: bpy.types.Context) -> Any:
        options = read_options(CheckOptions, check_settings(context))
        return self.take(context, check_character(list_ticked(context), options))

    def finish(self, context: bpy.types.Context, checked: Checked) -> str:
        """Keep what was found, and list it."""
        armature = bpy.data.objects.get(checked.armature)
        if armature is None:
            raise SkinningError(f"'{checked.armature}' was deleted: check another character")
        meshes = [obj for mesh in checked.meshes if (obj := bpy.data.objects.get(mesh.name)) is not None]
        faults = find_faults(checked, meshes)
        list_lines(check_settings(context), armature, faults, len(checked.poses))
        for reason in checked.refused.values():
            self.tell(reason, "WARNING")
        what = (
            "No faults found" if not faults else "1 fault found" if len(faults) == 1 else f"{len(faults)} faults found"
        )
        return f"{what} in {len(checked.poses)} poses"


class FindingOperator(SuppleOperator):
    """Mix-in: does something about the fault that is active in the list."""

    requires = (needs_findings,)

    def run(self, context: bpy.types.Context) -> Any:
        self.act_on_active(context)

    def act_on_active(self, context: bpy.types.Context) -> None:
        """Find the fault, and `act`."""
        settings, armature = check_settings(context), cast(bpy.types.Object, find_armature(context))
        line = settings.findings[min(settings.active, len(settings.findings) - 1)]
        report = find_report(armature)
        if report is None or line.number >= len(report.faults):
            raise SkinningError("The report no longer exists: check the character again")
        self.act(context, armature, report.faults[line.number], line)

    def act(self, context: bpy.types.Context, armature: bpy.types.Object, fault: Any, line: Any) -> None:
        """Do it to a fault, and to its line of the list."""
        raise AssertionError("each operator has its own")


class SUPPLE_OT_check_show(SlowOperator, FindingOperator, bpy.types.Operator):
    """Go to the worst frame of the fault, or repeat the test pose of the joint. Undo restores the pose"""

    bl_idname = "supple.check_show"
    bl_label = "Show Fault"

    subject = "the pose"

    number: IntProperty(
        name="Line", description="Row of the list; the active row if -1", default=-1, min=-1, options={"SKIP_SAVE"}
    )

    def run(self, context: bpy.types.Context) -> Any:
        if self.number >= 0:
            check_settings(context).active = self.number
        return super().run(context)

    def work(self, context: bpy.types.Context) -> None:
        self.act_on_active(context)

    def act(self, context: bpy.types.Context, armature: bpy.types.Object, fault: Any, _line: Any) -> None:
        settings = check_settings(context)
        mesh = show_finding(armature, context.scene, fault)
        settings.heat = "OVERLAP" if fault.kind in ("OVERLAP", "PIERCED", "CROSSED") else "STRETCH"
        space = context.space_data
        if isinstance(space, bpy.types.SpaceView3D):
            view = find_view(armature, mesh, fault, read_eye(space))
            frame_sphere(context.area, space, view.center, view.radius, view.eye)
            if settings.heat == "OVERLAP":
                settings.full = view.radius * DEEP


class FixOperator(ComputingOperator):
    """Mix-in: mends faults of the list; what is mended when Esc is pressed stays, as one step of undo."""

    requires = (needs_findings,)
    computes = True
    subject = "the fixes"
    rounds = MOST_ROUNDS

    def list_lines(self, settings: Any) -> list[Any]:
        """The lines whose faults to mend."""
        raise AssertionError("each operator has its own")

    def run(self, context: bpy.types.Context) -> Any:
        settings, armature = check_settings(context), cast(bpy.types.Object, find_armature(context))
        report, lines = find_report(armature), self.list_lines(settings)
        if report is None or any(line.number >= len(report.faults) for line in lines):
            raise SkinningError("The report no longer exists: check the character again")
        self._count, self._mended = len(lines), set[int]()
        left, number = Report(list(report.faults), set(report.fixed)), settings_of(armature).fixes + 1

        def note(key: int, found: Finding | None) -> None:
            if found is None:
                left.fixed.add(key)
            else:
                left.faults[key] = found
                left.fixed.discard(key)
            self._mended = left.fixed - report.fixed
            settings_of(armature).fixes = number
            cast(dict[int, Any], check_reports.find(armature))[number] = left
            follow_fixes(settings)

        chosen = {line.number: report.faults[line.number] for line in lines}
        return self.take(context, fix_each(chosen, note, self.rounds))

    def stop(self) -> str:
        return f"Stopped: {len(self._mended)} of {self._count} faults fixed"


class SUPPLE_OT_check_fix(FixOperator, bpy.types.Operator):
    """Fix the fault if a tool can: remove, add or smooth weights, or change the method"""

    bl_idname = "supple.check_fix"
    bl_label = "Fix"
    rounds = 1

    def list_lines(self, settings: Any) -> list[Any]:
        return [settings.findings[min(settings.active, len(settings.findings) - 1)]]

    def finish(self, context: bpy.types.Context, messages: list[str]) -> None:
        """Say what was done, and what is left."""
        (line,) = self.list_lines(check_settings(context))
        if not line.is_mended:
            messages = [*messages, f"Not fixed: {line.details.splitlines()[0]}."]
        self.tell(" ".join(messages), "INFO" if line.is_mended else "WARNING")


class SUPPLE_OT_check_fix_all(FixOperator, bpy.types.Operator):
    """Fix all faults in the list that a tool can fix, except for dismissed faults. Esc stops, and keeps what is
    fixed"""

    bl_idname = "supple.check_fix_all"
    bl_label = "Fix All"

    def run(self, context: bpy.types.Context) -> Any:
        self._dismissed = settings_of(cast(bpy.types.Object, find_armature(context))).dismissed.split("\n")
        return super().run(context)

    def list_lines(self, settings: Any) -> list[Any]:
        lines = [line for line in settings.findings if line.can_fix and not line.is_mended]
        lines = [line for line in lines if line.key not in self._dismissed]
        if not lines:
            raise SkinningError("No tool can fix what is left in the list: paint weights, or choose another method")
        return lines

    def finish(self, _context: bpy.types.Context, _messages: list[str]) -> str:
        """Say how many are gone."""
        return f"{len(self._mended)} of {self._count} faults fixed"


class SUPPLE_OT_check_close(SuppleOperator, bpy.types.Operator):
    """Close the list of faults, and turn heat off"""

    bl_idname = "supple.check_close"
    bl_label = "Close List"
    bl_options = {"REGISTER"}
    requires = (needs_check,)

    def run(self, context: bpy.types.Context) -> None:
        close_check(check_settings(context))


class SUPPLE_OT_check_dismiss(FindingOperator, bpy.types.Operator):
    """Hide the fault from the list, also in later checks; or restore it"""

    bl_idname = "supple.check_dismiss"
    bl_label = "Dismiss"

    def act(self, context: bpy.types.Context, armature: bpy.types.Object, fault: Any, _line: Any) -> None:
        settings = settings_of(armature)
        cool(check_settings(context))
        kept = [key for key in settings.dismissed.split("\n") if key]
        settings.dismissed = "\n".join(
            [key for key in kept if key != fault.key] if fault.key in kept else [*kept, fault.key]
        )


register, unregister = bpy.utils.register_classes_factory(
    (
        SUPPLE_OT_check,
        SUPPLE_OT_check_show,
        SUPPLE_OT_check_fix,
        SUPPLE_OT_check_fix_all,
        SUPPLE_OT_check_dismiss,
        SUPPLE_OT_check_close,
    )
)
