"""Faults that a tool can mend, and what is left of them then."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import bpy

from ...deformers import SkinningError
from ...options import CheckOptions
from ..steps import Steps, take_all, within
from ..subject.character import find_skinned, list_deformed
from ..weights.reports import end_sentence
from .faults import FAULTS, PIERCED, Finding
from .findings import LINEAR, find_faults
from .run import check_character

MOST_ROUNDS = 4
"""Of weights, of the method, of its bulge limit and contact, and what is torn then."""


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
        if finding.other:
            raise SkinningError(f"'{finding.bone}' {finding.describe()}: change the pose, or use Keep Limbs Apart")
        raise SkinningError(f"'{finding.bone}' {finding.describe()}: rename its vertex group, or paint its weights")
    return mend(obj, finding)


def fix_each(
    faults: Mapping[int, Finding], note: Callable[[int, Finding | None], None], rounds: int = MOST_ROUNDS
) -> Steps[list[str]]:
    """Mend faults, and measure all of them again after each round.

    Mistakes in weights go first: they may be the reason of others. What changes a whole mesh is done once a round.

    Parameters
    ----------
    faults : dict of Findings
    note : function
        Called after each measure with the fault's key and what is left of it, None if that is nothing.

    Returns
    -------
    list of str
        Messages.
    """
    messages, left, stuck = [], dict(faults), set()
    for number in range(rounds):
        start, share, tried = number / rounds, 1.0 / rounds, set()
        others = {key: fault for key, fault in left.items() if key not in stuck}
        chosen = {key: fault for key, fault in others.items() if not fault.method} or others
        for done, (key, fault) in enumerate(chosen.items()):
            yield start + 0.5 * share * done / len(chosen)
            about = FAULTS[fault.kind]
            change = (fault.mesh, about.mend, about.setting, key if about.is_by_vertex or not fault.method else None)
            if change in tried:
                continue
            tried.add(change)
            try:
                messages += fix_finding(_find_mesh(fault.mesh), fault)
            except SkinningError as error:
                messages.append(end_sentence(str(error)))
        bpy.context.view_layer.update()
        before, left = left, {}
        meshes = dict.fromkeys(fault.mesh for fault in before.values())
        for done, mesh in enumerate(meshes):
            of_mesh = {key: fault for key, fault in before.items() if fault.mesh == mesh}
            at = start + share * (0.5 + 0.5 * done / len(meshes))
            try:
                found = yield from _measure(_find_mesh(mesh), list(of_mesh.values()), at, 0.5 * share / len(meshes))
            except SkinningError as error:  # others go on without it
                messages.append(end_sentence(str(error)))
                left |= of_mesh
                continue
            for key, fault in zip(of_mesh, found, strict=True):
                note(key, fault)
                if fault is not None:
                    left[key] = fault
        stuck |= {key for key in chosen if left.get(key) == before[key]}
        if stuck >= set(left):
            break
    return list(dict.fromkeys(messages))


def _find_mesh(name: str) -> bpy.types.Object:
    obj = bpy.context.scene.objects.get(name)
    if obj is None:
        raise SkinningError(f"'{name}' was deleted or renamed: check the character again")
    return obj


def _measure(
    obj: bpy.types.Object, findings: Sequence[Finding], start: float, share: float
) -> Steps[list[Finding | None]]:
    """What is left of faults of a mesh in their poses; steps tell a share of the whole from a start on."""
    poses = {id(finding.pose): finding.pose for finding in findings if finding.pose is not None}
    options = CheckOptions(methods=(LINEAR,), use_actions=False, angle=0.0)
    layers = {finding.other for finding in findings if finding.kind == PIERCED}
    # Of layers all meshes, as skin that gives way looks at those above.
    objects = list_deformed(bpy.context.view_layer, find_skinned(obj).armature) if layers else [obj]
    checked = yield from within(check_character(objects, options, tuple(poses.values())), start, share)
    faults = [fault for fault in reversed(find_faults(checked, objects)) if fault.mesh == obj.name]
    found = {(fault.kind, fault.bone, fault.other): fault for fault in faults}
    return [found.get((finding.kind, finding.bone, finding.other)) for finding in findings]


def measure_again(obj: bpy.types.Object, finding: Finding) -> Finding | None:
    """What is left of a fault, as a mesh is now, in the same pose; None where it is gone.

    Raises
    ------
    SkinningError
        Where the mesh can not be checked any more.
    """
    (left,) = take_all(_measure(obj, [finding], 0.0, 1.0))
    return left
