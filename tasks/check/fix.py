"""Faults that a tool can mend: weights removed, given anew or smoothed, and settings of the method."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np

from ...deformers import DEFAULT_METHOD, METHODS, SkinningError
from ...deformers.measures.joint_faults import BULGE, COLLAPSE, OVERLAP, TEAR
from ...settings.objects import settings_of
from ..skin.bind import bind
from ..weights.automatic import Options, assign_weights
from ..weights.edits import normalize_weights, smooth_weights
from ..weights.reports import count
from ..weights.targets import Scope
from .findings import FAR, LINEAR, SEAM, STRAY, UNBLENDED, UNWEIGHTED, Finding, find_faults, label_method
from .run import Options as Checked
from .run import prepare

REPEATS = 12
"""How far weights are smoothed through the body where they are torn or not blended."""


def can_fix(finding: Finding) -> bool:
    """Whether there is a tool for a fault."""
    return finding.kind in FIXES


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
    if not can_fix(finding):
        raise SkinningError(f"'{finding.bone}' {finding.describe()}: rename its vertex group, or paint its weights")
    return FIXES[finding.kind](obj, finding)


def measure_again(obj: bpy.types.Object, finding: Finding) -> Finding | None:
    """What is left of a fault, as a mesh is now, in the same pose; None where it is gone.

    Raises
    ------
    SkinningError
        Where the mesh can not be checked any more.
    """
    check = prepare([obj], Checked(methods=(LINEAR,), use_actions=False, angle=0.0))
    if finding.pose is not None:
        check.poses.append(finding.pose)
    faults = find_faults(check, check.run(), [obj])
    return next((fault for fault in faults if (fault.kind, fault.bone) == (finding.kind, finding.bone)), None)


def _mask(obj: bpy.types.Object, finding: Finding) -> np.ndarray:
    mask = np.zeros(len(obj.data.vertices), bool)
    if finding.vertices and max(finding.vertices) >= len(mask):
        raise SkinningError(f"'{obj.name}' has other vertices than when it was checked: check the character again")
    mask[list(finding.vertices)] = True
    return mask


def _give_weights(obj: bpy.types.Object, _finding: Finding) -> list[str]:
    reports = assign_weights([obj], Options(mode="UNWEIGHTED"))
    return [sentence for report in reports for sentence in report.summarize()]


def _take_away(obj: bpy.types.Object, finding: Finding) -> list[str]:
    """Remove a bone from vertices that it has no business with; those that are left bare get new weights."""
    scope = Scope(vertices={obj.name: _mask(obj, finding)})
    obj.vertex_groups[finding.bone].remove(list(finding.vertices))
    bare = [
        index for index in finding.vertices if not any(entry.weight > 0.0 for entry in obj.data.vertices[index].groups)
    ]
    messages = [f"Removed '{finding.bone}' from {count(len(finding.vertices), 'vertex')}."]
    return messages + (_give_weights(obj, finding) if bare else normalize_weights([obj], scope))


def _smooth(obj: bpy.types.Object, finding: Finding) -> list[str]:
    return smooth_weights([obj], Scope(vertices={obj.name: _mask(obj, finding)}), "SOLID", 1.0, REPEATS)


def _close_seam(obj: bpy.types.Object, finding: Finding) -> list[str]:
    """Smoothing gives all vertices at one position the same weights."""
    return smooth_weights([obj], Scope(vertices={obj.name: _mask(obj, finding)}), "SURFACE", 1.0, 1)


def _change_method(obj: bpy.types.Object, finding: Finding) -> list[str]:
    """Bind by the default method where another is in use; its limit and contact take the rest."""
    settings = settings_of(obj)
    if finding.method != DEFAULT_METHOD:
        bind([obj], DEFAULT_METHOD)
        return [f"Bound '{obj.name}' by {label_method(DEFAULT_METHOD)}."]
    kept = {BULGE: "bulge_limit", OVERLAP: "contact"}.get(finding.kind)
    chosen = (choice.property_name for choice in METHODS[DEFAULT_METHOD].choices if choice.name == kept)
    name = next(chosen, None)
    if name is None or getattr(settings, name) >= 1.0:
        raise SkinningError(
            f"'{finding.bone}' {finding.describe()} by {label_method(finding.method)}: smooth the weights around it, "
            "or choose Particles"
        )
    setattr(settings, name, 1.0)
    return [f"{settings.bl_rna.properties[name].name} of '{obj.name}' is 1 now."]


FIXES: dict[str, Callable[[bpy.types.Object, Finding], list[str]]] = {
    UNWEIGHTED: _give_weights,
    STRAY: _take_away,
    FAR: _take_away,
    SEAM: _close_seam,
    UNBLENDED: _smooth,
    TEAR: _smooth,
    COLLAPSE: _change_method,
    BULGE: _change_method,
    OVERLAP: _change_method,
}
"""By the kind of fault: what is done to the mesh."""
