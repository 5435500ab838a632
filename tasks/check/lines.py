"""The lines of a check, as the panel lists them."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import bpy

from ...options import CheckOptions
from ...settings.checks import check_settings
from ...settings.objects import settings_of
from ..reports import check_reports
from .faults import Finding
from .findings import describe_fully
from .fix import can_fix


@dataclass
class Report:
    """Findings on a character, and the options of the check.

    Attributes
    ----------
    faults : list of Finding
        All lines of the list; `fixed` has the indices of those that were fixed.
    meshes : list of str
        Names of the checked meshes.
    """

    faults: list[Finding]
    fixed: set[int]
    meshes: list[str]
    options: CheckOptions

    def list_open(self) -> list[Finding]:
        """The faults that there are."""
        return [fault for number, fault in enumerate(self.faults) if number not in self.fixed]

    def follow(self, found: Sequence[Finding], unchecked: Set[str]) -> Report:
        """The list after a fresh check. Faults it does not find are fixed, unless it could not check their mesh; new
        ones come last.
        """
        new = {fault.key: fault for fault in found}
        fixed = {
            number
            for number, fault in enumerate(self.faults)
            if fault.key not in new and (number in self.fixed or fault.mesh not in unchecked)
        }
        known = {fault.key for fault in self.faults}
        faults = [new.get(fault.key, fault) for fault in self.faults]
        return replace(self, faults=[*faults, *(fault for fault in found if fault.key not in known)], fixed=fixed)


def find_report(armature: bpy.types.Object) -> Report | None:
    """The report on a character as it is now; None if it fits no longer."""
    return (check_reports.find(armature) or {}).get(settings_of(armature).fixes)


def list_lines(settings: Any, armature: bpy.types.Object, report: Report, poses: int) -> None:
    """Keep the report on a character, and write its faults into the list that the panel shows.

    `poses`: that were checked.
    """
    check_reports.keep(armature, {settings_of(armature).fixes: report})
    settings.armature, settings.poses, settings.active = armature.name, poses, 0
    _write_lines(settings, report)


def note_fixes(settings: Any, armature: bpy.types.Object, report: Report) -> None:
    """Keep the report after a fix beside the one before it, to which undo returns."""
    number = settings_of(armature).fixes + 1
    settings_of(armature).fixes = number
    (check_reports.find(armature) or {})[number] = report
    _write_lines(settings, report)


def follow_fixes() -> None:
    """Write the lines as the character is after the undo or redo of a fix."""
    settings = check_settings(bpy.context)
    armature = bpy.data.objects.get(settings.armature)
    report = None if armature is None else find_report(armature)
    if report is not None:
        _write_lines(settings, report)


def _write_lines(settings: Any, report: Report) -> None:
    lines = settings.findings
    while len(lines) > len(report.faults):
        lines.remove(len(lines) - 1)
    for number, fault in enumerate(report.faults):
        write_line(lines[number] if number < len(lines) else lines.add(), number, fault)
        lines[number].is_mended = number in report.fixed
    settings.active = min(settings.active, max(len(lines) - 1, 0))


def write_line(line: Any, number: int, fault: Finding) -> None:
    """Write a fault, by its index in the report, into a line of the list."""
    line.number, line.mesh, line.bone, line.key = number, fault.mesh, fault.bone, fault.key
    line.text, line.details = fault.short, "\n".join(describe_fully(fault))
    line.is_of_weights, line.can_fix = not fault.method, can_fix(fault)
