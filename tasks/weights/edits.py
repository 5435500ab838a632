"""Weights smoothed, sharpened, stiffened, normalized, pruned, limited and mirrored.

Where an edit fails, nothing is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of, read_vertex_groups
from ...bridge.meshes.nearest import find_nearest_surface
from ...deformers import SkinningError
from ...deformers.geometry.solid import label_islands, weld
from ...deformers.weight_editing import edits, mirror
from ...deformers.weight_editing.mirror import pair_names
from ...deformers.weight_editing.solid_smoothing import smooth_solid
from ..left_out import describe_left_out, sort_out
from ..steps import Steps, computed
from .checks import find_stiff
from .copies import read_copies
from .parts import find_deforming_armature, own_meshes, read_skins, sort_skins
from .reports import count, end_sentence, list_names
from .targets import ALL_WEIGHTS, Edited, Scope, Target, aim, keep_chosen, write

# Share of a vertex's weight whose loss can be seen
VISIBLE_LOSS = 0.05


def has_mask(obj: bpy.types.Object) -> bool:
    """Whether edits of a mesh are for its selected vertices by default: in Edit Mode, and with a paint mask."""
    mesh = mesh_of(obj)
    return obj.mode == "EDIT" or (obj.mode == "WEIGHT_PAINT" and (mesh.use_paint_mask or mesh.use_paint_mask_vertex))


def smooth_weights(
    objects: Iterable[bpy.types.Object],
    scope: Scope = ALL_WEIGHTS,
    method: str = "SURFACE",
    strength: float = 0.5,
    repeats: int = 4,
) -> Steps[list[str]]:
    """Smooth weights.

    Parameters
    ----------
    method : str
        Key of `SMOOTHINGS`.
    strength : float
        0 changes nothing; 1 takes the mean of the neighbors.
    """
    targets, notes = _read(objects, scope)
    plan = []
    for target in targets:
        weights = yield from computed(smoothing(target, method, strength, repeats))
        plan.append((target, weights, []))
    return [*write(plan, "Smoothed {}".format), *notes]


SMOOTHINGS = {"SURFACE": edits.smooth_surface, "SOLID": smooth_solid}


def smoothing(target: Target, method: str, strength: float, repeats: int) -> Callable[[], np.ndarray]:
    """A function that computes smoothed weights of a target, shape (V, B); raises SkinningError if it has no volume."""
    skin = target.skin
    if method == "SOLID" and not len(skin.triangles):
        names = list_names([f"'{part.obj.name}'" for part in skin.parts])
        raise SkinningError(
            f"{names}: no faces, so no volume to smooth through. Add faces, or smooth along the surface"
        )
    return partial(
        SMOOTHINGS[method], skin.weights, skin.points, skin.triangles, strength, repeats, target.locked, target.chosen
    )


def sharpen_weights(
    objects: Iterable[bpy.types.Object], scope: Scope = ALL_WEIGHTS, amount: float = 0.3
) -> Steps[list[str]]:
    """Strengthen the large weights of each vertex at the cost of its small weights; returns messages."""

    def change(target: Target) -> Edited:
        return edits.sharpen_weights(target.skin.weights, amount, **target.masks), []

    return _edit(objects, scope, change, "Sharpened {}".format)


def normalize_weights(objects: Iterable[bpy.types.Object], scope: Scope = ALL_WEIGHTS) -> Steps[list[str]]:
    """Scale the weights of each vertex to a sum of 1; returns messages."""

    def change(target: Target) -> Edited:
        edited = edits.normalize_rows(target.skin.weights, **target.masks)
        bare = np.count_nonzero(~(edited > 0).any(axis=1) & target.chosen)
        if not bare:
            return edited, []
        return edited, [f"{count(bare, 'vertex')} without weights cannot be normalized: use automatic weights."]

    return _edit(objects, scope, change, "Normalized {}".format)


def stiffen_weights(objects: Iterable[bpy.types.Object], scope: Scope = ALL_WEIGHTS) -> Steps[list[str]]:
    """Give each island with a vertex that may change the mean of its weights, so that it moves as one piece.

    Without a selection, these are the stiff parts that *Check Character* finds. Returns messages.
    """
    objects = list(objects)
    if not scope.selected_only and scope.vertices is None:
        skins, _ = read_skins(objects, needs_faces=False)
        found = {
            part.obj.name: np.isin(np.arange(len(part.points)), np.concatenate([[], *find_stiff(part, skin.skeleton)]))
            for skin in skins
            for part in skin.parts
        }
        if not any(mask.any() for mask in found.values()):
            return ["No stiff part bends: to stiffen other parts, select them in Edit Mode."]
        scope = replace(scope, vertices=found)

    def change(target: Target) -> Edited:
        islands = label_islands(weld(target.skin.points), target.skin.triangles)
        target.chosen[:] = np.isin(islands, islands[target.chosen]) & target.free
        return edits.stiffen_weights(target.skin.weights, islands, **target.masks), []

    return (yield from _edit(objects, scope, change, "Stiffened {}".format))


def prune_weights(
    objects: Iterable[bpy.types.Object], scope: Scope = ALL_WEIGHTS, threshold: float = 0.01
) -> Steps[list[str]]:
    """Remove weights below a threshold; returns messages."""

    def change(target: Target) -> Edited:
        before = target.skin.weights
        edited = edits.prune_weights(before, threshold, **target.masks)
        gone = np.count_nonzero((before > 0) & (edited <= 0))
        return edited, [f"Removed {count(gone, 'weight')} below {threshold:.3g}."]

    return _edit(objects, scope, change, "Pruned {}".format)


def limit_weights(objects: Iterable[bpy.types.Object], scope: Scope = ALL_WEIGHTS, limit: int = 4) -> Steps[list[str]]:
    """Keep the largest weights of each vertex; returns messages that say how much weight was removed."""

    def change(target: Target) -> Edited:
        edited, loss = edits.limit_influences(target.skin.weights, limit, **target.masks)
        return edited, [describe_loss(loss, limit)]

    return _edit(objects, scope, change, "Limited {}".format)


def describe_loss(loss: np.ndarray, limit: int) -> str:
    """Say how much weight a limit removed, from the share of each vertex's weight, shape (V,)."""
    lost = loss[loss > 0]
    if not lost.size:
        return f"No vertex has more than {count(limit, 'bone')}: no weight was removed."
    visible = np.count_nonzero(lost > VISIBLE_LOSS)
    return (
        f"{count(lost.size, 'vertex')} had more than {count(limit, 'bone')} and lost at most {_percent(lost.max())} "
        f"of their weight, {_percent(lost.mean())} on average; {visible:,} lost more than {_percent(VISIBLE_LOSS)}."
    )


def mirror_weights(
    objects: Iterable[bpy.types.Object], scope: Scope = ALL_WEIGHTS, direction: str = "POSITIVE"
) -> Steps[list[str]]:
    """Copy weights from one side of the armature to the other.

    Parameters
    ----------
    scope : Scope
        A bone's counterpart on the other side is edited with it.
    direction : str
        The side to copy from: "POSITIVE", "NEGATIVE", or "BOTH" for the mean of both.
    """

    armatures: list[bpy.types.Object] = []

    def change(target: Target) -> Edited:
        armatures.append(target.skin.armature)
        skin, pairs = target.skin, pair_names(target.skin.names, bpy.utils.flip_name)
        mirrored = mirror.mirror_weights(
            skin.weights, skin.points, skin.triangles, pairs, find_nearest_surface, direction, **target.masks
        )
        target.picked[pairs[target.picked]] = True
        if not (far := np.count_nonzero(mirrored.far)):
            return mirrored.weights, []
        return mirrored.weights, [
            f"{count(far, 'vertex')} with no surface opposite got the weights of the nearest vertex."
        ]

    return _edit(
        objects, scope, change, lambda changed: f"Mirrored {changed} {describe_sides(armatures[0], direction)}"
    )


def describe_sides(armature: bpy.types.Object, direction: str) -> str:
    """From which side to which weights are mirrored, with a bone of each: "from +X (arm.L) to -X (arm.R)"."""
    if direction == "BOTH":
        return "to the average of both sides"
    bones: Any = armature.data.bones
    pairs = ((bone.name, bpy.utils.flip_name(bone.name)) for bone in bones if bone.use_deform and bone.center.x > 0.0)
    names = next((pair for pair in pairs if pair[1] != pair[0] and pair[1] in bones), None)
    first, second = ("+X", "-X") if names is None else (f"+X ({names[0]})", f"-X ({names[1]})")
    return f"from {first} to {second}" if direction == "POSITIVE" else f"from {second} to {first}"


def _edit(
    objects: Iterable[bpy.types.Object],
    scope: Scope,
    change: Callable[[Target], Edited],
    describe: Callable[[str], str],
) -> Steps[list[str]]:
    """Edit the weights of meshes, those of each armature together, and write them once all are edited."""
    targets, notes = _read(objects, scope)
    plan = []
    for number, target in enumerate(targets):
        yield (number + 1) / (len(targets) + 2)
        plan.append((target, *change(target)))
    yield 1.0 - 1.0 / (len(targets) + 2)
    return [*write(plan, describe), *notes]


def _read(objects: Iterable[bpy.types.Object], scope: Scope) -> tuple[list[Target], list[str]]:
    """The weights to edit, and which meshes are left out; raises SkinningError if there is none."""
    skins, left_out = read_skins(objects, needs_faces=False)
    targets, left_out = sort_skins(skins, lambda skin: aim(skin, scope), left_out)
    left_out += [
        (part.obj, SkinningError(f"All vertex groups to edit of '{part.obj.name}' are locked: unlock some of them"))
        for target in targets
        for part in target.skin.parts
        if part.locked[target.picked].all()
    ]
    return keep_chosen(targets), [end_sentence(line) for line in describe_left_out(left_out)]


def clean_groups(objects: Iterable[bpy.types.Object]) -> list[str]:
    """Remove vertex groups of bones that have no weight on any vertex; returns messages.

    Locked groups stay, and groups that copies of a Mirror modifier follow.
    """
    plan: list[tuple[bpy.types.Object, list[str]]] = []
    own, left_out = own_meshes(objects)
    found, unskinned = sort_out(own, lambda obj: (obj, find_deforming_armature(obj)))
    notes = [end_sentence(line) for line in describe_left_out([*left_out, *unskinned])]
    for obj, armature in found:
        bones: Any = armature.data.bones
        if mesh_of(obj).is_editmode:
            obj.update_from_editmode()
        entries = read_vertex_groups(mesh_of(obj))
        groups = [group.name for group in obj.vertex_groups]
        held = np.isin(np.arange(len(groups)), entries.groups[entries.values > 0])
        used = read_copies(obj, armature).add_twins(held, pair_names(groups, bpy.utils.flip_name))
        empty = [group for group in obj.vertex_groups if group.name in bones and not used[group.index]]
        plan.append((obj, [group.name for group in empty if not group.lock_weight]))
    for obj, names in plan:
        for name in names:
            obj.vertex_groups.remove(obj.vertex_groups[name])
    removed = [name for _, names in plan for name in names]
    if not removed:
        return ["All vertex groups of bones have weights: nothing to remove.", *notes]
    return [f"Removed {count(len(removed), 'empty group')}: {list_names(removed)}.", *notes]


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g} %"
