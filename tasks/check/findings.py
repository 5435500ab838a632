"""The findings of a check: which measures are faults, and their descriptions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import bpy
import numpy as np

from ...deformers.measures.joint_faults import KINDS
from ...deformers.weight_editing.bone_regions import find_misplaced, find_unblended
from ...deformers.weight_editing.checks import Findings
from ...deformers.weight_editing.stiff_parts import MIN_DIFFERENCE, measure_difference
from ..weights.checks import find_mistakes, find_stiff
from ..weights.parts import SkinPart
from .contacts import describe_crossings, describe_layers
from .faults import FAR, FAULTS, MISPLACED, SEAM, STIFF, STRAY, UNBLENDED, UNWEIGHTED, Finding, label_method, percent
from .poses import CheckedPose
from .run import Checked, CheckedMesh

# A stray patch of weights is harmless unless a pose stretches its edges by this many limb thicknesses
HARMLESS = 1.0

LINEAR = "SSD"


def find_faults(checked: Checked, objects: Iterable[bpy.types.Object]) -> list[Finding]:
    """All faults of a character, the worst first. `objects`: the meshes."""
    known = {mesh.name for mesh in checked.meshes}
    found_in, _ = find_mistakes([obj for obj in objects if obj.name in known], is_read_only=True)
    mistakes = {part.obj.name: (part, found, skin.names) for part, found, skin in found_in}
    faults: list[Finding] = []
    for mesh in checked.meshes:
        known = mistakes.get(mesh.name)
        found = list(_describe_mistakes(mesh, *known[1:])) if known else []
        found += _describe_regions(checked, mesh)
        faults += [*found, *_find_pose_faults(checked, mesh, found)]
        faults += _describe_stiff(checked, known[0]) if known else []
    faults += [*describe_layers(checked), *describe_crossings(checked)]
    worst = {fault.key: fault for fault in sorted(faults, key=lambda one: one.severity)}
    return sorted(worst.values(), key=lambda one: -one.severity)


def _describe_mistakes(mesh: CheckedMesh, mistakes: Findings, names: tuple[str, ...]) -> Iterator[Finding]:
    """Mistakes in the weights of a mesh, but for stray patches that do no harm in any pose."""
    drawn = mesh.extremes[mesh.method].drawn
    for kind, mask in {UNWEIGHTED: mistakes.unweighted, SEAM: mistakes.torn}.items():
        if mask.any():
            yield _count_vertices(kind, mesh.name, "", np.flatnonzero(mask))
    far = {tuple(pair) for pair in mistakes.far.tolist()}
    is_new = np.array([tuple(pair) not in far for pair in mistakes.stray.tolist()], bool)
    harmful = mistakes.stray[is_new & (drawn[mistakes.stray[:, 0]] > HARMLESS)]
    for kind, pairs in {STRAY: harmful, FAR: mistakes.far}.items():
        for bone in np.unique(pairs[:, 1]).tolist():
            yield _count_vertices(kind, mesh.name, names[bone], pairs[pairs[:, 1] == bone, 0])


def _describe_regions(checked: Checked, mesh: CheckedMesh) -> Iterator[Finding]:
    """Bones whose regions do not follow each other as the skeleton does."""
    meter, parents = mesh.meter, mesh.meter.joints.parents
    marked = {
        MISPLACED: find_misplaced(meter.owners, meter.pairs, parents),
        UNBLENDED: find_unblended(mesh.rest.weights, meter.owners, meter.pairs, parents),
    }
    for kind, joints in marked.items():
        for joint in np.flatnonzero(joints).tolist():
            own = np.flatnonzero(meter.owners == joint)
            yield _count_vertices(kind, mesh.name, checked.skeleton.name_joint(joint), own)


def _describe_stiff(checked: Checked, part: SkinPart) -> Iterator[Finding]:
    """Stiff parts that weights bend, by the bone that moves each most."""
    parts: dict[str, list[np.ndarray]] = {}
    for vertices in find_stiff(part, checked.skeleton):
        bone = checked.skeleton.names[int(part.weights[vertices].mean(axis=0).argmax())]
        parts.setdefault(bone, []).append(vertices)
    for bone, those in parts.items():
        severity = max(measure_difference(part.weights[vertices]) for vertices in those) / MIN_DIFFERENCE
        yield replace(_count_vertices(STIFF, part.obj.name, bone, np.concatenate(those)), severity=severity)


def _count_vertices(kind: str, mesh: str, bone: str, vertices: np.ndarray) -> Finding:
    number = len(vertices)
    return Finding(kind, mesh, bone, "", 1.0 + number**0.5, float(number), vertices=tuple(vertices.tolist()))


def _find_pose_faults(checked: Checked, mesh: CheckedMesh, mistakes: Iterable[Finding]) -> Iterator[Finding]:
    """Faults in poses, except at bones whose weights must be mended first."""
    own, meter = mesh.extremes[mesh.method], mesh.meter
    mistaken = np.zeros(len(meter.points), bool)
    for mistake in mistakes:
        mistaken[list(mistake.vertices)] = True
    mistaken = meter.spread(mistaken)
    mended = np.isin(np.arange(len(meter.joints.parents)), meter.owners[mistaken])
    for kind in KINDS:
        fault, values, severities = FAULTS[kind], own.values[kind], rate(mesh, mesh.method, kind)
        if fault.is_by_vertex:
            values = meter.find_most(np.where(mistaken, 0.0, own.drawn))
            severities = fault.rate(values, None)
        is_fault = (severities >= 1.0) & (fault.is_by_vertex | ~mended)
        for joint in np.flatnonzero(is_fault).tolist():
            torn = np.flatnonzero((meter.owners == joint) & (own.drawn > HARMLESS)) if fault.is_by_vertex else ()
            yield Finding(
                kind,
                mesh.name,
                checked.skeleton.name_joint(joint),
                mesh.method,
                float(severities[joint]),
                float(values[joint]),
                {key: float(other.values[kind][joint]) for key, other in mesh.extremes.items() if key != mesh.method},
                vertices=tuple(map(int, torn)),
                pose=checked.poses[own.poses[kind][joint]],
            )


def rate(mesh: CheckedMesh, method: str, kind: str) -> np.ndarray:
    """How bad a method is for each joint by a measure: shape (B,), 1 at the limit; NaN if nothing was measured."""
    linear = mesh.extremes[LINEAR].values[kind] if LINEAR in mesh.extremes else None
    return FAULTS[kind].rate(mesh.extremes[method].values[kind], linear)


def describe_check(checked: Checked, faults: Iterable[Finding]) -> dict[str, Any]:
    """All of a check in plain strings, numbers, lists and dicts."""
    return {
        "armature": checked.armature,
        "poses": len(checked.poses),
        "refused": checked.refused,
        "faults": [describe_fault(fault) for fault in faults],
        "meshes": [
            {
                "name": mesh.name,
                "method": mesh.method,
                "methods": list(mesh.extremes),
                "joints": compare_joints(checked, mesh),
            }
            for mesh in checked.meshes
        ],
    }


def describe_fully(fault: Finding) -> list[str]:
    """Lines: the fault with its place, the measure by each method (the one in use first), and the pose."""
    subject = f"{fault.mesh}, {fault.bone}" if fault.bone else fault.mesh
    lines = [f"{subject}: {fault.describe()}"]
    if fault.pose is not None:
        values = {fault.method: fault.value, **fault.others}
        lines += [", ".join(f"{label_method(key)}: {percent(value)}" for key, value in values.items())]
        lines += [fault.pose.describe(fault.bone)]
    if fault.seen > 0.0:
        lines += [f"Covered skin that shows: {100.0 * fault.seen:.2g} % of the figure"]
    return lines


def describe_fault(fault: Finding) -> dict[str, Any]:
    """A fault in plain strings, numbers, lists and dicts."""
    return {
        "kind": fault.kind.lower(),
        "mesh": fault.mesh,
        "bone": fault.bone,
        "method": fault.method,
        "text": fault.describe(),
        "value": round(fault.value, 4),
        "severity": round(fault.severity, 3),
        "others": {method: round(value, 4) for method, value in fault.others.items() if np.isfinite(value)},
        "vertices": list(fault.vertices),
        **({} if fault.pose is None else describe_pose(fault.pose, fault.bone)),
        **({"other": fault.other, "depth": round(fault.depth, 2), "seen": round(fault.seen, 5)} if fault.other else {}),
    }


def compare_joints(checked: Checked, mesh: CheckedMesh) -> list[dict[str, Any]]:
    """Worst measures of each joint by each method: a row for each bone that moves skin, in plain numbers."""
    rows = []
    for bone, first in zip(checked.skeleton.names, checked.skeleton.first_joints.tolist(), strict=True):
        row: dict[str, Any] = {"bone": bone, "methods": {}}
        for method, extremes in mesh.extremes.items():
            known = {
                kind: float(values[first]) for kind, values in extremes.values.items() if np.isfinite(values[first])
            }
            if known:
                row["methods"][method] = {
                    kind.lower(): {
                        "value": round(value, 4),
                        **describe_pose(checked.poses[extremes.poses[kind][first]], bone),
                    }
                    for kind, value in known.items()
                }
        if row["methods"]:
            rows.append(row)
    return rows


def describe_pose(pose: CheckedPose, bone: str) -> dict[str, Any]:
    """The origin of a pose in plain strings and numbers; for a bend, that of a bone."""
    if pose.bends:
        bend = pose.find_bend(bone)
        return {"bend": bend.direction, "degrees": round(abs(float(np.degrees(bend.angle))), 1)}
    return {"action": pose.action, "frame": pose.frame}
