"""Automatic weights: read, computed without Blender, and written in one go.

`prepare` reads all that counts, `compute` needs none of Blender's data, `apply` writes. Where
something is wrong, nothing is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of
from ...bridge.meshes.nearest import find_nearest_surface
from ...bridge.meshes.visibility import make_crossing_test
from ...bridge.meshes.weights import write_weights
from ...bridge.rigs.handles import read_handles
from ...deformers import SkinningError
from ...deformers.automatic_weights import DEFAULT_METHOD, SOLVERS
from ...deformers.automatic_weights.handles import Handles
from ...deformers.automatic_weights.method import Solution
from ...deformers.geometry.solid import weld
from ...deformers.weight_editing import edits as weight_edits
from ...deformers.weight_editing.mirror import mirror_weights, pair_names
from ...options import WeightOptions
from ...settings.objects import settings_of
from ..left_out import describe_left_out
from .copies import Copies, complete_sides, join_copies, read_copies
from .edits import describe_loss
from .parts import (
    SkinPart,
    WeightedSkin,
    add_armature_modifier,
    check_near,
    check_sharers,
    lacks_modifier,
    read_selected_bones,
    read_skins,
    sort_skins,
)
from .reports import Report, count, end_sentence, list_names

Progress = Callable[[float], None]

# Tolerance of a vertex's sum of weights
SHORT = 1e-3

# Vertices merged at once: all together would take several times the memory of the result
BLOCK = 16_384

# Why a bone has no weights that a method has found some for
TOO_SMALL = "all its weights are below the limit"

# Share of the progress at which weights are found, but not merged
SOLVED = 0.9


# Method that points and cages need
WITH_HANDLES = "BIHARMONIC"


def cut_progress(progress: Progress | None, start: float, end: float) -> Progress | None:
    """The progress of a step that takes from `start` to `end` of the whole."""
    return None if progress is None else lambda done: progress(start + (end - start) * done)


@dataclass(frozen=True)
class Job:
    """The input of the weights of one armature's skin.

    Attributes
    ----------
    chosen : bool array, shape (B,)
        Bones that are to get weights.
    locked : bool array, shape (B,)
        Bones whose groups are locked in all parts: others find their weights as if these were not there.
    pairs : int array, shape (B,)
        The bone of the other side.
    copies : tuple of Copies
        Copies of each part by Mirror modifiers.
    missing : tuple of Object
        Meshes that nothing deforms by the armature yet.
    handles : Handles or None
        Bones that are points, or vertices of cages.
    notes : tuple of str
        Messages from before anything was computed.
    left_out : tuple of str
        A sentence on each mesh that is left out of all jobs, and why.
    """

    skin: WeightedSkin
    options: WeightOptions
    chosen: np.ndarray
    locked: np.ndarray
    pairs: np.ndarray
    copies: tuple[Copies, ...]
    missing: tuple[bpy.types.Object, ...]
    handles: Handles | None
    notes: tuple[str, ...]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """The result of a job.

    Attributes
    ----------
    weights : float32 array, shape (V, B)
        Of all parts.
    reasons : tuple of str, length B
        Why a bone got no weight; "" for one that got some, and for one that was not to get any.
    """

    weights: np.ndarray
    reasons: tuple[str, ...]
    notes: tuple[str, ...]


def assign_weights(
    objects: Iterable[bpy.types.Object],
    options: WeightOptions | None = None,
    armature: bpy.types.Object | None = None,
    progress: Progress | None = None,
) -> list[Report]:
    """Give meshes automatic weights: those of one armature as one solid.

    Raises SkinningError if no mesh can be weighted; nothing is changed then.

    Parameters
    ----------
    objects : Objects
        Meshes.
    armature : Object, optional
        Armature of the meshes that have none; it is given to them as a modifier.
    progress : callable, optional
        Called with the share that is done, 0 to 1. An exception from it cancels, and nothing is changed.

    Returns
    -------
    list of Report
        One for each armature.
    """
    jobs = prepare(objects, options or WeightOptions(), armature)
    return apply(jobs, compute_all(jobs, progress))


def prepare(
    objects: Iterable[bpy.types.Object], options: WeightOptions, armature: bpy.types.Object | None = None
) -> list[Job]:
    """Read all that weights are computed from; nothing is changed.

    Meshes that cannot be weighted are left out, and named in the first job; raises SkinningError if none can.
    """
    skins, left_out = read_skins(objects, armature)
    jobs, left_out = sort_skins(skins, lambda skin: _prepare_skin(skin, options), left_out)
    named = tuple(map(end_sentence, describe_left_out(left_out)))
    return [replace(jobs[0], left_out=named), *jobs[1:]]


def _prepare_skin(skin: WeightedSkin, options: WeightOptions) -> Job:
    chosen = np.ones(len(skin.names), bool)
    if options.only_selected_bones:
        selected = read_selected_bones(skin.armature)
        chosen = np.array([name in selected for name in skin.names])
        if not chosen.any():
            raise SkinningError(
                f"No deforming bone of '{skin.armature.name}' is selected: select some in Pose Mode, or choose all "
                "bones"
            )
    locked = np.all([part.locked for part in skin.parts], axis=0)
    if not (chosen & ~locked).any():
        raise SkinningError("The vertex groups of all target bones are locked: unlock some of them")
    check_near(skin)
    check_sharers(skin)
    envelopes = skin.skeleton.envelopes
    points = np.flatnonzero((envelopes.heads == envelopes.tails).all(axis=1))
    notes = []
    if points.size:
        named = list_names([skin.names[bone] for bone in points])
        notes.append(f"{count(points.size, 'bone')} of zero length used as points: {named}.")
    notes += [
        f"Locked groups of '{part.obj.name}' were not changed: {list_names(_locked_names(skin, part))}."
        for part in skin.parts
        if part.locked.any()
    ]
    handles = read_handles(skin.armature, skin.names)
    options = replace(options, method=options.method or (DEFAULT_METHOD if handles is None else WITH_HANDLES))
    if handles is not None and handles.cages and not SOLVERS[options.method].INFO.has_handles:
        notes.append("With this method, the vertices of a cage act as points: choose Bounded Biharmonic to fill cages.")
    objects = [obj for part in skin.parts for obj in (part.obj, *part.sharers)]
    return Job(
        skin=skin,
        options=options,
        chosen=chosen,
        locked=locked,
        pairs=pair_names(skin.names, bpy.utils.flip_name),
        copies=tuple(read_copies(part.obj, skin.armature) for part in skin.parts),
        missing=tuple(obj for obj in objects if lacks_modifier(obj, skin.armature)),
        handles=handles,
        notes=tuple(notes),
    )


def _locked_names(skin: WeightedSkin, part: SkinPart) -> list[str]:
    return [name for name, is_locked in zip(skin.names, part.locked, strict=True) if is_locked]


def compute_all(jobs: list[Job], progress: Progress | None = None) -> list[Result]:
    """Compute one job after the other; touches nothing of Blender's."""
    results = []
    for number, job in enumerate(jobs):
        results.append(compute(job, cut_progress(progress, number / len(jobs), (number + 1) / len(jobs))))
    return results


def compute(job: Job, progress: Progress | None = None) -> Result:
    """Compute the weights of one armature's skin; touches nothing of Blender's."""
    skin, limit = job.skin, job.options.limit
    if job.options.mode == "UNWEIGHTED" and not weight_edits.find_bare(skin.weights).any():
        return Result(skin.weights, ("",) * len(skin.names), ())
    found, reasons, notes = _solve(job, cut_progress(progress, 0.0, SOLVED))
    report_progress = cut_progress(progress, SOLVED, 1.0) or (lambda done: None)
    closed = _close_seams(skin) if job.options.mode == "UNWEIGHTED" else None
    loss, short, used = np.zeros(len(found), np.float32), 0, np.zeros(len(skin.names), bool)
    for part, rows, copies in zip(skin.parts, skin.rows, job.copies, strict=True):
        before = part.weights if closed is None else closed[rows]
        for start in range(rows.start, rows.stop, BLOCK):
            report_progress(start / len(found))
            block = slice(start, min(start + BLOCK, rows.stop))
            existing = before[block.start - rows.start : block.stop - rows.start]
            found[block], loss[block] = _merge(job, existing, found[block], part.locked)
        if part.locked.any():
            short += np.count_nonzero(abs(found[rows].sum(axis=1) - 1.0) > SHORT)
        used |= copies.add_twins(np.array(found[rows].any(axis=0)), job.pairs)
    report_progress(1.0)
    if limit:
        notes.append(describe_loss(loss, limit))
    if short:
        notes.append(
            f"{count(short, 'vertex')} do not sum to 1 because of locked groups: unlock the groups, and normalize"
        )
    lost = job.chosen & ~job.locked & ~used
    reasons = np.where(lost, np.where(reasons == "", TOO_SMALL, reasons), "")
    return Result(found, tuple(reasons.tolist()), tuple(end_sentence(note) for note in notes))


def _solve(job: Job, progress: Progress | None) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Weights, shape (V, B), why bones have none, shape (B,), and notes, without regard to the weights there are."""
    skin, options, envelopes = job.skin, job.options, job.skin.skeleton.envelopes
    points, triangles = join_copies(skin, job.copies)
    free = ~job.locked
    heads, tails = envelopes.heads[free], envelopes.tails[free]
    handles = None if job.handles is None else job.handles.choose(free)
    if handles is not None:
        tails = np.where(handles.mark(len(heads))[:, None], heads, tails)
    solution = run_method(options, points, triangles, heads, tails, progress, handles)
    found, reasons, notes = solution.weights, np.array(solution.reasons, object), list(solution.notes)
    if not free.all():
        found, reasons = np.zeros((len(points), len(free)), np.float32), np.full(len(free), "", object)
        found[:, free], reasons[free] = solution.weights, solution.reasons
    if options.mirror:
        mirrored = mirror_weights(found, points, triangles, job.pairs, find_nearest_surface, "BOTH")
        mirrored.weights[mirrored.far] = found[mirrored.far]
        found = mirrored.weights
        if far := np.count_nonzero(mirrored.far[: skin.rows[-1].stop]):
            notes.append(f"{count(far, 'vertex')} with nothing on the other side of X were not mirrored")
    return found[: skin.rows[-1].stop], reasons, notes


def run_method(
    options: WeightOptions,
    points: np.ndarray,
    triangles: np.ndarray,
    heads: np.ndarray,
    tails: np.ndarray,
    progress: Progress | None,
    handles: Handles | None,
) -> Solution:
    """Find weights by the chosen method; vertices that see no bone take those of the default method, computed only if
    needed.
    """
    solver = SOLVERS[options.method]
    solve = partial(solver.solve, points, triangles, heads, tails, solver.INFO.make_params(options.choices))
    if solver.INFO.has_handles:
        return solve(progress, handles=handles)
    if not solver.INFO.casts_rays:
        return solve(progress)
    solve = partial(solve, make_crossing_test=make_crossing_test)
    found = solve(cut_progress(progress, 0.0, 0.5))
    if found.weights.any(axis=1).all():
        return found
    default = replace(options, method=DEFAULT_METHOD)
    fallback = run_method(default, points, triangles, heads, tails, cut_progress(progress, 0.5, 0.75), handles)
    return solve(cut_progress(progress, 0.75, 1.0), fallback=fallback.weights)


def _close_seams(skin: WeightedSkin) -> np.ndarray:
    """Weights as they are, shape (V, B), where vertices that have none take those of others at their position.

    They would be torn off these, which stay as they are. Locked groups stay too.
    """
    weights = skin.weights
    bare = weight_edits.find_bare(weights)
    first, held = weld(skin.points), np.flatnonzero(~bare)
    giver = np.full(len(weights), -1)
    giver[first[held[::-1]]] = held[::-1]
    for part, rows in zip(skin.parts, skin.rows, strict=True):
        taking = rows.start + np.flatnonzero(bare[rows] & (giver[first[rows]] >= 0))
        free = np.flatnonzero(~part.locked)
        weights[np.ix_(taking, free)] = weights[np.ix_(giver[first[taking]], free)]
    return weights


def _merge(
    job: Job, existing: np.ndarray, found: np.ndarray, locked: np.ndarray
) -> tuple[np.ndarray, np.ndarray | float]:
    """Weights, shape (V, B), of some vertices as they are to be, and the shares, shape (V,), that the limit took."""
    options = job.options
    found = weight_edits.prune_weights(found, options.prune)
    weights = weight_edits.merge_weights(existing, found, options.mode, job.chosen, locked)
    if not options.limit:
        return weights, 0.0
    changed = (weights != existing).any(axis=1)
    return weight_edits.limit_influences(weights, min(options.limit, weights.shape[1]), locked, changed)


def apply(jobs: list[Job], results: list[Result]) -> list[Report]:
    """Write the results, and keep the report in the objects' settings.

    Raises SkinningError if a mesh has changed since it was read; nothing is changed then.
    """
    for job in jobs:
        for part in job.skin.parts:
            _check_unchanged(part)
    return [_apply_one(job, result) for job, result in zip(jobs, results, strict=True)]


def _check_unchanged(part: SkinPart) -> None:
    vertices, read = len(mesh_of(part.obj).vertices), len(part.points)
    if vertices != read:
        raise SkinningError(
            f"'{part.obj.name}' has {vertices} vertices but had {read} at the start of its weights: start again"
        )


def _apply_one(job: Job, result: Result) -> Report:
    skin, armature = job.skin, job.skin.armature
    parts, filled, notes = [], [], [*job.notes, *result.notes]
    for part, rows in zip(skin.parts, skin.rows, strict=True):
        weights = result.weights[rows]
        write_weights(part.obj, skin.names, weights)
        notes += complete_sides(part.obj, armature, skin.names, np.array(weights.any(axis=0)), job.pairs)
        has_weights = (weights > 0).any(axis=1)
        parts.append((part.obj.name, len(weights), int(has_weights.sum())))
        filled.append(int((has_weights & weight_edits.find_bare(part.weights)).sum()))
    for obj in job.missing:
        notes.append(add_armature_modifier(obj, armature))
    reasons = {name: why for name, why in zip(skin.names, result.reasons, strict=True) if why}
    known = tuple(filled) if job.options.mode == "UNWEIGHTED" else None
    notes += job.left_out
    method, bones = job.options.method, len(skin.names)
    report = Report(armature.name, method, bones, tuple(parts), reasons, tuple(notes), known, job.left_out)
    for part in skin.parts:
        message = "\n".join(report.describe(part.obj.name))
        settings_of(part.obj).weights_report = message
        for obj in part.sharers:
            settings_of(obj).weights_report = f"'{obj.name}' shares the mesh of '{part.obj.name}'.\n{message}"
    if armature.library is None:
        settings_of(armature).weights_report = "\n".join(report.describe())
    return report
