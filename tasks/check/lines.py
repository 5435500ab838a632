"""The lines of a check, as the panel lists them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import bpy

from ...settings.objects import settings_of
from ..reports import check_reports
from .faults import Finding
from .findings import describe_fully
from .fix import can_fix


@dataclass
class Report:
    """What was found of a character, and what fixes have left: the indices of what is fixed."""

    faults: list[Finding]
    fixed: set[int]


def find_report(armature: bpy.types.Object) -> Report | None:
    """The report on a character as it is now; None where it fits no longer."""
    return (check_reports.find(armature) or {}).get(settings_of(armature).fixes)


def list_lines(settings: Any, armature: bpy.types.Object, faults: Sequence[Finding], poses: int) -> None:
    """Keep the faults of a character, and write them into the list that the panel shows.

    Parameters
    ----------
    faults : sequence of Finding
        The worst first.
    poses : int
        That were checked.
    """
    check_reports.keep(armature, {settings_of(armature).fixes: Report(list(faults), set())})
    settings.armature, settings.poses, settings.active = armature.name, poses, 0
    settings.findings.clear()
    for number, fault in enumerate(faults):
        write_line(settings.findings.add(), number, fault)


def follow_fixes(settings: Any) -> None:
    """Write the lines as the character is after a fix, or after its undo or redo."""
    armature = bpy.data.objects.get(settings.armature)
    report = None if armature is None else find_report(armature)
    if report is None:
        return
    for line in settings.findings:
        write_line(line, line.number, report.faults[line.number])
        line.is_mended = line.number in report.fixed


def write_line(line: Any, number: int, fault: Finding) -> None:
    """Write a fault, by its index in the report, into a line of the list."""
    line.number, line.mesh, line.bone, line.key = number, fault.mesh, fault.bone, fault.key
    line.text, line.details = fault.short, "\n".join(describe_fully(fault))
    line.is_of_weights, line.can_fix = not fault.method, can_fix(fault)
