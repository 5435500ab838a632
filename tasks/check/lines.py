"""The lines of a check, as the panel lists them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import bpy

from .faults import Finding
from .findings import describe_fully
from .fix import can_fix


def list_lines(settings: Any, armature: bpy.types.Object, faults: Iterable[Finding], poses: int) -> None:
    """Write the faults of a character into the list that the panel shows.

    Parameters
    ----------
    faults : sequence of Finding
        The worst first.
    poses : int
        That were checked.
    """
    settings.armature, settings.poses, settings.active = armature.name, poses, 0
    settings.findings.clear()
    for number, fault in enumerate(faults):
        write_line(settings.findings.add(), number, fault)


def write_line(line: Any, number: int, fault: Finding) -> None:
    """Write a fault, by its index in the report, into a line of the list."""
    line.number, line.mesh, line.bone, line.key = number, fault.mesh, fault.bone, fault.key
    line.text, line.details = fault.short, "\n".join(describe_fully(fault))
    line.is_of_weights, line.can_fix = not fault.method, can_fix(fault)
