"""Check a character; show, fix and dismiss its faults."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import bpy
from bpy.props import IntProperty

from ...bridge.held import find_again
from ...deformers import SkinningError
from ...options import CheckOptions
from ...settings.character import find_armature, list_ticked
from ...settings.checks import check_settings, close_check, cool
from ...settings.objects import settings_of
from ...settings.properties import read_options
from ...tasks.check.faults import OVERLAP, Finding
from ...tasks.check.findings import find_faults
from ...tasks.check.fix import Fixed, can_fix, fix_faults
from ...tasks.check.lines import Report, find_report, list_lines, note_fixes
from ...tasks.check.run import Checked, check_character
from ...tasks.check.show import show_finding
from ...tasks.check.view import find_view
from ...tasks.weights.reports import NAMED, end_sentence
from ...viewport.framing import frame_sphere, read_eye
from ..base import SKIP, SuppleOperator
from ..computing import ComputingOperator, SlowOperator
from ..selection import active_armature

NOT_CHECKED = "Select a mesh that has an Armature modifier, and check its character"

REPORT_GONE = "The report no longer exists: check the character again"

# Depth at the end of the color scale, in radii of the framed sphere
FULL_DEPTH = 1.0 / 16.0


def needs_ticked(context: bpy.types.Context) -> str:
    return "" if list_ticked(context) else "Select a mesh that has an Armature modifier, or its armature"


def needs_check(context: bpy.types.Context) -> str:
    is_there = (armature := find_armature(context)) is not None and armature.name == check_settings(context).armature
    return "" if is_there else NOT_CHECKED


def needs_findings(context: bpy.types.Context) -> str:
    return needs_check(context) if check_settings(context).findings else NOT_CHECKED


def list_dismissed(armature: bpy.types.Object) -> list[str]:
    """Keys of the dismissed faults of a character."""
    return [key for key in settings_of(armature).dismissed.split("\n") if key]


def find_active_line(context: bpy.types.Context) -> Any:
    """The active line of the list of faults, which is not empty."""
    settings = check_settings(context)
    return settings.findings[min(settings.active, len(settings.findings) - 1)]


class SUPPLE_OT_check(ComputingOperator, bpy.types.Operator):
    """Find mistakes in weights, and joints that collapse, swell or tear. Changes nothing"""

    bl_label = "Check Character"
    bl_options = {"REGISTER"}
    requires = (needs_ticked,)

    computes = True
    subject = "the poses"
    canceled = "Check canceled"

    def run(self, context: bpy.types.Context) -> Any:
        self._options = read_options(CheckOptions, check_settings(context))
        self._uids = [obj.session_uid for obj in list_ticked(context)]
        return self.take(context, check_character(list_ticked(context), self._options))

    def finish(self, context: bpy.types.Context, checked: Checked) -> str:
        """Store and list the faults."""
        armature = bpy.data.objects.get(checked.armature)
        if armature is None:
            raise SkinningError(f"'{checked.armature}' was deleted: check another character")
        meshes = [obj for uid in self._uids if (obj := find_again(uid)) is not None]
        faults = find_faults(checked, meshes)
        report = Report(faults, set(), [mesh.name for mesh in checked.meshes], self._options)
        list_lines(check_settings(context), armature, report, len(checked.poses))
        for reason in checked.refused.values():
            self.tell(reason, "WARNING")
        found = "No faults found" if not faults else "1 fault found"
        found = f"{len(faults)} faults found" if len(faults) > 1 else found
        return f"{found} in {len(checked.poses)} poses"


class FindingOperator(SuppleOperator):
    """Mix-in: acts on the active fault of the list."""

    requires = (needs_findings,)

    def run(self, context: bpy.types.Context) -> Any:
        self.act_on_active(context)

    def act_on_active(self, context: bpy.types.Context) -> None:
        """Find the fault, and `act`."""
        armature, line = active_armature(context), find_active_line(context)
        report = find_report(armature)
        if report is None or line.number >= len(report.faults):
            raise SkinningError(REPORT_GONE)
        self.act(context, armature, report.faults[line.number], line)

    def act(self, context: bpy.types.Context, armature: bpy.types.Object, fault: Any, line: Any) -> None:
        """Act on a fault and its line of the list."""
        raise AssertionError("each operator has its own")


class SUPPLE_OT_check_show(SlowOperator, FindingOperator, bpy.types.Operator):
    """Go to the worst frame of the fault, or repeat the test pose of the joint. Undo restores the pose"""

    bl_label = "Show Fault"

    subject = "the pose"

    number: IntProperty(
        name="Line", description="Row of the list; the active row if -1", default=-1, min=-1, options=SKIP
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
        settings.heat = "OVERLAP" if fault.kind == OVERLAP or fault.other else "STRETCH"
        space = context.space_data
        if isinstance(space, bpy.types.SpaceView3D):
            view = find_view(armature, mesh, fault, read_eye(space))
            frame_sphere(context.area, space, view.center, view.radius, view.eye)
            if settings.heat == "OVERLAP":
                settings.full = view.radius * FULL_DEPTH


class FixOperator(ComputingOperator):
    """Mix-in: fixes faults of the list; nothing is changed before all are fixed and checked."""

    requires = (needs_findings,)
    computes = True
    subject = "the fixes"

    def choose(self, context: bpy.types.Context, report: Report) -> Callable[[Finding], bool]:
        """Choose the faults of a report to fix."""
        raise AssertionError("each operator has its own")

    def run(self, context: bpy.types.Context) -> Any:
        report = find_report(active_armature(context))
        if report is None:
            raise SkinningError(REPORT_GONE)
        self._report, is_chosen = report, self.choose(context, report)
        meshes = [obj for name in report.meshes if (obj := context.scene.objects.get(name)) is not None]
        return self.take(context, fix_faults(report.list_open(), meshes, report.options, is_chosen))

    def finish(self, context: bpy.types.Context, fixed: Fixed) -> None:
        """List the faults of a new check, and report the faults that are left."""
        armature, before, after = active_armature(context), self._report, self._report
        if fixed.faults is not None:
            after = before.follow(fixed.faults, fixed.unchecked)
            note_fixes(check_settings(context), armature, after)
        left = [fault for fault in after.list_open() if self.counts(armature, fault)]
        count = len(after.fixed - before.fixed)
        reasons = dict.fromkeys(fixed.reasons[fault.key] for fault in left if fault.key in fixed.reasons)
        said = [_describe_left(count, left), *(end_sentence(text) for text in [*fixed.messages, *reasons][:NAMED])]
        self.tell(" ".join(said), "WARNING" if left else "INFO")

    def counts(self, armature: bpy.types.Object, fault: Finding) -> bool:
        """Whether the message names a fault that is left."""
        raise AssertionError("each operator has its own")


def _describe_left(count: int, left: Sequence[Finding]) -> str:
    """A message on how many faults are fixed, and which faults need the user."""
    if not left:
        return f"{count} fixed."
    names = [f"{fault.bone or fault.mesh}: {fault.short}" for fault in left[:NAMED]]
    more = [f"{len(left) - NAMED} more"] if len(left) > NAMED else []
    need = "1 needs you" if len(left) == 1 else f"{len(left)} need you"
    return f"{count} fixed, {need}: {'; '.join([*names, *more])}."


class SUPPLE_OT_check_fix(FixOperator, bpy.types.Operator):
    """Fix the fault if a tool can: by weights, flesh, Stay Outside or Mend at Rest. Then the character is checked
    again. Its method stays"""

    bl_label = "Fix"

    def choose(self, context: bpy.types.Context, report: Report) -> Callable[[Finding], bool]:
        number = find_active_line(context).number
        if number >= len(report.faults):
            raise SkinningError(REPORT_GONE)
        if number in report.fixed:
            raise SkinningError("This fault is fixed: choose another one")
        self._key = report.faults[number].key
        return lambda fault: fault.key == self._key

    def counts(self, armature: bpy.types.Object, fault: Finding) -> bool:
        return fault.key == self._key


class SUPPLE_OT_check_fix_all(FixOperator, bpy.types.Operator):
    """Fix all faults in the list that a tool can fix, except for dismissed faults, and check the character again. Esc
    cancels, and changes nothing"""

    bl_label = "Fix All"

    def choose(self, context: bpy.types.Context, report: Report) -> Callable[[Finding], bool]:
        armature = active_armature(context)
        if not any(can_fix(fault) and self.counts(armature, fault) for fault in report.list_open()):
            raise SkinningError("No tool can fix what is left in the list: paint weights, or choose another method")
        dismissed = list_dismissed(armature)
        return lambda fault: fault.key not in dismissed

    def counts(self, armature: bpy.types.Object, fault: Finding) -> bool:
        return fault.key not in list_dismissed(armature)


class SUPPLE_OT_check_close(SuppleOperator, bpy.types.Operator):
    """Close the list of faults, and turn heat off"""

    bl_label = "Close List"
    bl_options = {"REGISTER"}
    requires = (needs_check,)

    def run(self, context: bpy.types.Context) -> None:
        close_check(check_settings(context))


class SUPPLE_OT_check_dismiss(FindingOperator, bpy.types.Operator):
    """Hide the fault from the list, also in later checks; or restore it"""

    bl_label = "Dismiss"

    def act(self, context: bpy.types.Context, armature: bpy.types.Object, fault: Any, _line: Any) -> None:
        settings = settings_of(armature)
        cool(check_settings(context))
        dismissed = list_dismissed(armature)
        others = [key for key in dismissed if key != fault.key]
        settings.dismissed = "\n".join(others if fault.key in dismissed else [*others, fault.key])
