"""Faults that a tool can mend, and what is left of them then."""

from __future__ import annotations

import bpy

from ...deformers import SkinningError
from ...options import CheckOptions
from .faults import FAULTS, Finding
from .findings import LINEAR, find_faults
from .run import prepare


def can_fix(finding: Finding) -> bool:
    """Whether there is a tool for a fault."""
    return FAULTS[finding.kind].mend is not None


def fix_finding(obj: bpy.types.Object, finding: Finding) -> list[str]:
    """Mend a fault of a mesh; returns messages.

    Parameters
    ----------
    obj : Object
        The mesh.
    finding : Finding
        Of the mesh as it is.

    Raises
    ------
    SkinningError
        Where no tool mends it.
    """
    mend = FAULTS[finding.kind].mend
    if mend is None:
        raise SkinningError(f"'{finding.bone}' {finding.describe()}: rename its vertex group, or paint its weights")
    return mend(obj, finding)


def measure_again(obj: bpy.types.Object, finding: Finding) -> Finding | None:
    """What is left of a fault, as a mesh is now, in the same pose; None where it is gone.

    Raises
    ------
    SkinningError
        Where the mesh can not be checked any more.
    """
    check = prepare([obj], CheckOptions(methods=(LINEAR,), use_actions=False, angle=0.0))
    if finding.pose is not None:
        check.poses.append(finding.pose)
    faults = find_faults(check, check.run(), [obj])
    return next((fault for fault in faults if (fault.kind, fault.bone) == (finding.kind, finding.bone)), None)
