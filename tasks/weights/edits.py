"""Weights edited, and taken over from elsewhere. Where something is wrong, nothing is changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ...bridge.meshes import mesh_of, read_vertex_groups
from ...bridge.nearest import find_nearest_surface
from ...bridge.weights import read_selected, write_weights
from ...deformers import SkinningError
from ...deformers.geometry.solid import weld
from ...deformers.weight_editing import edits as weight_edits
from ...deformers.weight_editing.mirror import mirror_weights as mirror
from ...deformers.weight_editing.mirror import pair_names
from ...deformers.weight_editing.solid_smoothing import smooth_through
from ...deformers.weight_editing.transfer import Params as TransferParams
from ...deformers.weight_editing.transfer import transfer_weights as transfer
from ...settings.objects import settings_of
from .copies import complete_sides, read_copies
from .parts import (
    Skin,
    add_armature_modifier,
    find_armature,
    lacks_modifier,
    own_meshes,
    read_selected_bones,
    read_skins,
)
from .reports import count, end_sentence, list_names

TRACE = 1e-3
"""Weight below which no bone is new to a vertex: there is a trace of every bone in all of a solid."""

MUCH = 0.05
"""Share of a vertex's weight whose loss can be seen."""


@dataclass(frozen=True)
class Scope:
    """Which weights may be changed.

    Attributes
    ----------
    selected_only : bool
        Those of selected vertices, not of all.
    bones : str
        "ALL", "ACTIVE" for that of the active vertex group, or "SELECTED" ones of the armature. Others share what
        these leave. Those whose group is locked in one of the meshes are never changed.
    """

    selected_only: bool = False
    bones: str = "ALL"


@dataclass(frozen=True)
class Target:
    """What is edited: the parts of one armature together, so that they go on fitting each other.

    Attributes
    ----------
    skin : Skin
    chosen : bool array, shape (V,)
        Vertices that may change.
    picked : bool array, shape (B,)
        Bones that are edited.
    locked : bool array, shape (B,)
        Bones that are never changed.
    """

    skin: Skin
    chosen: np.ndarray
    picked: np.ndarray
    locked: np.ndarray

    @property
    def masks(self) -> dict[str, Any]:
        """What edits take as `locked` and `chosen`."""
        return {"locked": self.locked, "chosen": self.chosen}


Edited = tuple[np.ndarray, list[str]]
"""Weights, shape (V, B), and sentences to be told."""


def has_mask(obj: bpy.types.Object) -> bool:
    """Whether a user who edits a mesh means its selected vertices: in Edit Mode, and where a paint mask is on."""
    mesh = mesh_of(obj)
    return obj.mode == "EDIT" or (obj.mode == "WEIGHT_PAINT" and (mesh.use_paint_mask or mesh.use_paint_mask_vertex))


def smooth_weights(
    objects: Iterable[bpy.types.Object],
    scope: Scope = Scope(),
    method: str = "SURFACE",
    strength: float = 0.5,
    repeats: int = 4,
) -> list[str]:
    """Even weights out, by `method` of `SMOOTHINGS`; gives what is to be told."""

    def change(target: Target) -> Edited:
        return SMOOTHINGS[method](target, strength, repeats), []

    return _edit(objects, scope, change, "Smoothed")


def _smooth_surface(target: Target, strength: float, repeats: int) -> np.ndarray:
    links = weight_edits.find_links(target.skin.points, target.skin.triangles)
    return weight_edits.smooth_weights(target.skin.weights, links, strength, repeats, **target.masks)


def _smooth_solid(target: Target, strength: float, repeats: int) -> np.ndarray:
    """Each repeat spreads weights by as much as a step to neighboring cells: so far as the root of their number."""
    points, before = target.skin.points, target.skin.weights
    if not len(target.skin.triangles):
        names = list_names([f"'{part.obj.name}'" for part in target.skin.parts])
        raise SkinningError(f"{names}: no faces, and no inside to smooth through. Add faces, or smooth on the surface")
    spread = smooth_through(points, target.skin.triangles, before, repeats**0.5)
    free = ~target.locked
    mixed = before[:, free] + np.float32(strength) * (spread[:, free] - before[:, free])
    mixed[(mixed < TRACE) & (before[:, free] == 0)] = 0.0
    rooms, sums = before[:, free].sum(axis=1), mixed.sum(axis=1)
    mixed *= np.divide(rooms, sums, out=np.zeros_like(sums), where=sums > 0)[:, None]
    place = weld(points)
    rows = np.isin(place, place[target.chosen]) & (sums > 0)
    result = before.copy()
    result[np.ix_(rows, free)] = mixed[rows]
    return result


SMOOTHINGS: dict[str, Callable[[Target, float, int], np.ndarray]] = {
    "SURFACE": _smooth_surface,
    "SOLID": _smooth_solid,
}


def sharpen_weights(objects: Iterable[bpy.types.Object], scope: Scope = Scope(), amount: float = 0.3) -> list[str]:
    """Strengthen strong weights at the cost of weak ones; gives what is to be told."""

    def change(target: Target) -> Edited:
        return weight_edits.sharpen_weights(target.skin.weights, amount, **target.masks), []

    return _edit(objects, scope, change, "Sharpened")


def normalize_weights(objects: Iterable[bpy.types.Object], scope: Scope = Scope()) -> list[str]:
    """Have the weights of each vertex sum to 1; gives what is to be told."""

    def change(target: Target) -> Edited:
        edited = weight_edits.normalize_rows(target.skin.weights, **target.masks)
        bare = np.count_nonzero(~(edited > 0).any(axis=1) & target.chosen)
        told = [f"{count(bare, 'vertex')} without any weight stay so: give them automatic weights."] if bare else []
        return edited, told

    return _edit(objects, scope, change, "Normalized")


def prune_weights(objects: Iterable[bpy.types.Object], scope: Scope = Scope(), threshold: float = 0.01) -> list[str]:
    """Take small weights out; gives what is to be told."""

    def change(target: Target) -> Edited:
        before = target.skin.weights
        edited = weight_edits.prune_weights(before, threshold, **target.masks)
        gone = np.count_nonzero((before > 0) & (edited <= 0))
        return edited, [f"{count(gone, 'weight')} below {threshold:.3g} taken out."]

    return _edit(objects, scope, change, "Pruned")


def limit_weights(objects: Iterable[bpy.types.Object], scope: Scope = Scope(), limit: int = 4) -> list[str]:
    """Keep the strongest bones of each vertex; gives what is to be told, with how much was lost."""

    def change(target: Target) -> Edited:
        edited, loss = weight_edits.limit_influences(target.skin.weights, limit, **target.masks)
        return edited, [describe_loss(loss, limit)]

    return _edit(objects, scope, change, "Limited")


def describe_loss(loss: np.ndarray, limit: int) -> str:
    """What a limit took away, from each vertex's lost share, shape (V,)."""
    lost = loss[loss > 0]
    if not lost.size:
        return f"No vertex has more than {count(limit, 'bone')}: nothing was lost."
    much = np.count_nonzero(lost > MUCH)
    return (
        f"{count(lost.size, 'vertex')} had more than {count(limit, 'bone')} and lost at most {_percent(lost.max())} of "
        f"their weight, {_percent(lost.mean())} in the mean; {much:,} lost more than {_percent(MUCH)}."
    )


def mirror_weights(
    objects: Iterable[bpy.types.Object], scope: Scope = Scope(), direction: str = "POSITIVE"
) -> list[str]:
    """Take weights over from one side of the armature to the other; gives what is to be told.

    Parameters
    ----------
    objects : Objects
    scope : Scope
        With a bone its counterpart is edited.
    direction : str
        The side that is kept: "POSITIVE", "NEGATIVE", or "BOTH" for the mean of both.
    """

    def change(target: Target) -> Edited:
        skin, pairs = target.skin, pair_names(target.skin.names, bpy.utils.flip_name)
        mirrored = mirror(
            skin.weights, skin.points, skin.triangles, pairs, find_nearest_surface, direction, **target.masks
        )
        target.picked[pairs[target.picked]] = True
        if not (far := np.count_nonzero(mirrored.far)):
            return mirrored.weights, []
        return mirrored.weights, [
            f"{count(far, 'vertex')} have nothing on the other side of X: they got the weights of what is nearest."
        ]

    return _edit(objects, scope, change, "Mirrored")


def _edit(
    objects: Iterable[bpy.types.Object], scope: Scope, change: Callable[[Target], Edited], what: str
) -> list[str]:
    """Edit the weights of meshes, those of each armature together, and write them when all went well."""
    targets = _keep_chosen([_aim(skin, scope) for skin in read_skins(objects, needs_faces=False)])
    return _write([(target, *change(target)) for target in targets], what)


def _keep_chosen(targets: list[Target]) -> list[Target]:
    """Those with any vertex that may change; raises SkinningError where none has."""
    kept = [target for target in targets if target.chosen.any()]
    if kept:
        return kept
    if not any(len(target.chosen) for target in targets):
        names = list_names([f"'{part.obj.name}'" for target in targets for part in target.skin.parts])
        raise SkinningError(f"No vertices in {names}: choose a mesh that has some")
    raise SkinningError("No vertex is selected: select some, or switch Selected Only off")


def _aim(skin: Skin, scope: Scope) -> Target:
    chosen = np.ones(len(skin.points), bool)
    if scope.selected_only:
        chosen = np.concatenate([read_selected(mesh_of(part.obj)) for part in skin.parts])
        if chosen.any():  # with a vertex those at its place, or a pose would tear them apart
            place = weld(skin.points)
            chosen = np.isin(place, place[chosen])
    picked = np.ones(len(skin.names), bool)
    if scope.bones != "ALL":
        names = _find_active(skin) if scope.bones == "ACTIVE" else read_selected_bones(skin.armature)
        picked = np.array([name in names for name in skin.names])
    locked = np.any([part.locked for part in skin.parts], axis=0)
    if not (picked & ~locked).any():
        told = {
            "ALL": "unlock vertex groups",
            "ACTIVE": "choose a vertex group of a bone, and unlock it",
            "SELECTED": "select deforming bones in Pose Mode, and unlock their vertex groups",
        }
        raise SkinningError(f"No bone of '{skin.armature.name}' to edit: {told[scope.bones]}")
    return Target(skin, chosen, picked, locked)


def _find_active(skin: Skin) -> set[str]:
    """Names of the parts' active vertex groups."""
    groups = [part.obj.vertex_groups.active for part in skin.parts]
    return {group.name for group in groups if group is not None}


def _write(plan: list[tuple[Target, np.ndarray, list[str]]], what: str) -> list[str]:
    """Write what was planned for each target; gives what is to be told."""
    changed, told = 0, []
    for target, edited, notes in plan:
        skin = target.skin
        if not target.picked.all():
            edited = _keep_others(target, edited)
        for part, rows in zip(skin.parts, skin.rows, strict=True):
            vertices = np.count_nonzero((edited[rows] != part.weights).any(axis=1))
            changed += vertices
            if vertices:
                write_weights(part.obj, skin.names, edited[rows])
        told += [end_sentence(note) for note in notes]
    return [f"{what} {count(changed, 'vertex')}.", *told]


def _keep_others(target: Target, edited: np.ndarray) -> np.ndarray:
    """Edited weights where only picked bones are edited: the others share what these leave.

    Where the others have nothing to be shared by, they share it as edited: else one bone could lose nothing there.
    """
    before = target.skin.weights
    others = np.flatnonzero(~target.picked & ~target.locked)
    bare = np.flatnonzero(target.chosen & ~before[:, others].any(axis=1))
    before[np.ix_(bare, others)] = edited[np.ix_(bare, others)]
    return weight_edits.merge_weights(before, edited, columns=target.picked, **target.masks)


def transfer_weights(
    source: bpy.types.Object,
    objects: Iterable[bpy.types.Object],
    scope: Scope = Scope(),
    params: TransferParams | None = None,
) -> list[str]:
    """Give meshes the weights of another one that they lie on; gives what is to be told.

    Parameters
    ----------
    source : Object
    objects : Objects
        Each is matched by itself. Those that no armature deforms get that of the source.
    scope : Scope
    params : TransferParams, optional

    Raises
    ------
    SkinningError
        Where the source has no weights, or another armature.
    """
    (origin,) = read_skins([source])
    objects = [obj for obj in objects if obj.data != source.data]
    if not objects:
        raise SkinningError(f"No mesh to give the weights of '{source.name}' to: select some besides, of other data")
    for obj in own_meshes(objects):
        if (armature := find_armature(obj, origin.armature)) != origin.armature:
            raise SkinningError(
                f"'{obj.name}' is deformed by '{armature.name}', and '{source.name}' by '{origin.armature.name}': "
                "choose the same armature in their modifiers"
            )
    targets = []
    for obj in objects:
        (skin,) = read_skins([obj], origin.armature, needs_faces=False)
        targets.append(_aim(skin, scope))
    plan = [(target, *_transfer_one(origin, target, params or TransferParams())) for target in _keep_chosen(targets)]
    told = _write(plan, f"Weights of '{source.name}' given to")
    for target, edited, notes in plan:
        (part,) = target.skin.parts
        obj = part.obj
        if lacks_modifier(obj, origin.armature):
            add_armature_modifier(obj, origin.armature)
            told.append(f"'{obj.name}' was given an Armature modifier with '{origin.armature.name}'.")
        pairs = pair_names(origin.names, bpy.utils.flip_name)
        told += complete_sides(obj, origin.armature, origin.names, np.array(edited.any(axis=0)), pairs)
        report = [f"'{obj.name}': weights transferred from '{source.name}'.", *map(end_sentence, notes)]
        settings_of(obj).weights_report = "\n".join(report)
    return told


def _transfer_one(origin: Skin, target: Target, params: TransferParams) -> Edited:
    """Weights, and how many vertices have no match on the source."""
    skin = target.skin
    found = transfer(
        origin.points, origin.triangles, origin.weights, skin.points, skin.triangles, find_nearest_surface, params
    )
    weights = weight_edits.merge_weights(skin.weights, found.weights, **target.masks)
    name, lost = skin.parts[0].obj.name, np.count_nonzero(~found.matched)
    notes = [f"{count(lost, 'vertex')} of {len(weights):,} have no match", *found.notes] if lost else found.notes
    return weights, [f"'{name}': {note}" for note in notes]


def clean_groups(objects: Iterable[bpy.types.Object]) -> list[str]:
    """Remove vertex groups that bones are named after and no vertex has a weight in.

    Locked ones stay, and those that copies of a Mirror modifier follow. Gives what is to be told.
    """
    plan: list[tuple[bpy.types.Object, list[str]]] = []
    for obj in own_meshes(objects):
        armature = find_armature(obj)
        bones: Any = armature.data.bones
        if obj.mode == "EDIT":
            obj.update_from_editmode()
        entries = read_vertex_groups(mesh_of(obj))
        groups = [group.name for group in obj.vertex_groups]
        held = np.isin(np.arange(len(groups)), entries.groups[entries.values > 0])
        used = read_copies(obj, armature).add_twins(held, pair_names(groups, bpy.utils.flip_name))
        plan.append(
            (
                obj,
                [
                    one.name
                    for one in obj.vertex_groups
                    if one.name in bones and not used[one.index] and not one.lock_weight
                ],
            )
        )
    for obj, names in plan:
        for name in names:
            obj.vertex_groups.remove(obj.vertex_groups[name])
    removed = [name for _, names in plan for name in names]
    if not removed:
        return ["All groups of bones hold weights: nothing to remove."]
    return [f"Removed {count(len(removed), 'empty group')}: {list_names(removed)}."]


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g} %"
