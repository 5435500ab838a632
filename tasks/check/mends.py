"""Mend faults on a trial by weights, flesh, Stay Outside and Mend at Rest. None changes a mesh's method."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of
from ...bridge.meshes.weights import read_weights, write_weights
from ...deformers import SkinningError
from ...deformers.weight_editing.edits import find_bare
from ...options import FleshOptions, WeightOptions
from ..corrections.posed_copy import check_correctable
from ..flesh.add import find_flesh
from ..layers.mend import move_beneath
from ..layers.plan import plan_layers
from ..layers.present import find_notice, list_layered
from ..layers.read import read_dressed
from ..steps import Progress, Steps
from ..subject.character import find_skinned
from ..subject.corrected import list_flesh
from ..weights.automatic import Job, Result, compute_all, prepare
from ..weights.edits import normalize_weights, smooth_weights, stiffen_weights
from ..weights.reports import count
from ..weights.targets import Scope
from .faults import (
    BULGE,
    COLLAPSE,
    FAR,
    OVERLAP,
    PIERCED,
    PIERCED_AT_REST,
    SEAM,
    STIFF,
    STRAY,
    TEAR,
    UNBLENDED,
    UNWEIGHTED,
    Finding,
)
from .trial import Trial

# Repeats of smoothing through the body, for torn or unblended weights
REPEATS = 12

# Mends a fault on a trial; returns messages, and raises SkinningError if it cannot
Mend = Callable[[Trial, Finding], Steps[list[str]]]


def _scope(obj: bpy.types.Object, finding: Finding) -> Scope:
    mask = np.zeros(len(mesh_of(obj).vertices), bool)
    if finding.vertices and max(finding.vertices) >= len(mask):
        raise SkinningError(f"The vertices of '{obj.name}' have changed since the check: check the character again")
    mask[list(finding.vertices)] = True
    return Scope(vertices={obj.name: mask})


def _give_weights(trial: Trial, finding: Finding) -> Steps[list[str]]:
    """Give automatic weights to the vertices of a finding that have none."""
    obj = trial.find(finding.mesh)
    with trial.shown():
        (chosen,) = (_scope(obj, finding).vertices or {}).values()
        jobs = prepare([obj], WeightOptions(mode="UNWEIGHTED"))
    results = yield partial(_compute, jobs)
    messages = []
    with trial.shown():
        for job, result in zip(jobs, results, strict=True):
            for part, rows in zip(job.skin.parts, job.skin.rows, strict=True):
                weights = np.where(chosen[:, None], result.weights[rows], part.weights)
                write_weights(part.obj, job.skin.names, weights)
                filled = int((find_bare(part.weights) & ~find_bare(weights)).sum())
                messages.append(f"{count(filled, 'vertex')} of '{part.obj.name}' got weights.")
    return messages


def _compute(jobs: list[Job], progress: Progress) -> list[Result]:
    return compute_all(jobs, progress)


def _take_away(trial: Trial, finding: Finding) -> Steps[list[str]]:
    """Remove a bone from vertices that it has no business with; those that are left bare get new weights."""
    obj = trial.find(finding.mesh)
    with trial.shown():
        scope, vertices = _scope(obj, finding), mesh_of(obj).vertices
        group = obj.vertex_groups.get(finding.bone)
        if group is None:
            raise SkinningError(f"'{obj.name}' no longer has vertex group '{finding.bone}': check the character again")
        if group.lock_weight:
            raise SkinningError(f"Vertex group '{finding.bone}' of '{obj.name}' is locked: unlock it")
        before = read_weights(obj, [finding.bone])
        group.remove(list(finding.vertices))
        is_bare = any(not any(entry.weight > 0.0 for entry in vertices[index].groups) for index in finding.vertices)
    try:
        filled = _give_weights(trial, finding) if is_bare else trial.take(normalize_weights([obj], scope))
        messages = yield from filled
    except SkinningError:
        with trial.shown():
            write_weights(obj, [finding.bone], before)
        raise
    return [f"Removed '{finding.bone}' from {count(len(finding.vertices), 'vertex')}.", *messages]


def _smooth(method: str, repeats: int, trial: Trial, finding: Finding) -> Steps[list[str]]:
    obj = trial.find(finding.mesh)
    return (yield from trial.take(smooth_weights([obj], _scope(obj, finding), method, 1.0, repeats)))


def _stiffen(trial: Trial, finding: Finding) -> Steps[list[str]]:
    obj = trial.find(finding.mesh)
    return (yield from trial.take(stiffen_weights([obj], _scope(obj, finding))))


def _add_flesh(trial: Trial, finding: Finding) -> Steps[list[str]]:
    """Flesh for the whole character, whose clothes ride on its body: once."""
    if trial.flesh is not None:
        return []
    check_correctable(trial.find(finding.mesh))
    objects = []
    for obj in trial.objects:
        try:
            check_correctable(obj)
        except SkinningError:
            if obj.name == finding.mesh:
                raise
        else:
            objects.append(obj)
    if list_flesh(objects):
        raise SkinningError(
            f"'{finding.mesh}' has flesh already: smooth the weights around '{finding.bone}', or use Correct This Pose"
        )
    found = yield from trial.take(find_flesh(objects, FleshOptions("QUICK")))
    if not any(found.corrections.values()):
        raise SkinningError(f"Flesh does not change '{finding.mesh}': smooth the weights around '{finding.bone}'")
    trial.flesh = found
    return [f"Added flesh to '{finding.mesh}'."]


def _keep_outside(trial: Trial, finding: Finding) -> Steps[list[str]]:
    """Move skin that sticks out of layers at rest beneath them, and keep it there in poses: once."""
    obj = trial.find(finding.mesh)
    if trial.layers is not None:
        return []
    armature, meshes = find_skinned(obj).armature, trial.objects
    is_kept = bool(list_layered(meshes)) and not find_notice(meshes)
    yield None
    with trial.shown():
        messages = [f"{line}." for line in move_beneath(armature, meshes)]
    yield None
    if not messages and finding.kind == PIERCED_AT_REST:
        raise SkinningError(f"Nothing sticks out of '{obj.name}' that Mend at Rest can move: sculpt it")
    if not messages and is_kept:
        raise SkinningError(f"'{obj.name}' stays outside already: raise its gap, or change its weights")
    if finding.kind == PIERCED or list_layered(meshes):
        with trial.shown():
            dressed = read_dressed(armature, meshes)
            trial.layers = dressed, plan_layers(dressed)
        messages.append(f"Layers, outermost first: {', '.join(dressed.layered)}.")
    return messages


# Order of mending: an earlier fault may cause the later ones, and is checked before them
WEIGHTS, FLESH, LAYERS = range(3)

# Stage and function that mend each kind of fault
MENDS: dict[str, tuple[int, Mend]] = {
    UNWEIGHTED: (WEIGHTS, _give_weights),
    STRAY: (WEIGHTS, _take_away),
    FAR: (WEIGHTS, _take_away),
    SEAM: (WEIGHTS, partial(_smooth, "SURFACE", 1)),  # it gives all vertices at one position the same weights
    STIFF: (WEIGHTS, _stiffen),
    UNBLENDED: (WEIGHTS, partial(_smooth, "SOLID", REPEATS)),
    TEAR: (WEIGHTS, partial(_smooth, "SOLID", REPEATS)),
    COLLAPSE: (FLESH, _add_flesh),
    BULGE: (FLESH, _add_flesh),
    OVERLAP: (FLESH, _add_flesh),
    PIERCED_AT_REST: (LAYERS, _keep_outside),
    PIERCED: (LAYERS, _keep_outside),
}
