"""Which weights of which meshes an edit is for, and edited weights written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...bridge.meshes.data import mesh_of
from ...bridge.meshes.weights import read_selected, write_weights
from ...deformers import SkinningError
from ...deformers.geometry.solid import weld
from ...deformers.weight_editing import edits
from .parts import SkinPart, WeightedSkin, read_selected_bones
from .reports import count, end_sentence, list_names


@dataclass(frozen=True)
class Scope:
    """Which weights may be changed.

    Attributes
    ----------
    selected_only : bool
        Only those of selected vertices.
    bones : str
        "ALL", "ACTIVE" for the bone of the active vertex group, or "SELECTED" for the selected bones of the armature.
        The other bones share the rest. Bones whose group is locked in one of the meshes never change, but for meshes
        where all of them are locked: these are left out.
    vertices : dict from a mesh object's name to a bool array, shape (V,), or None
        The only vertices that may be changed, instead of those selected.
    """

    selected_only: bool = False
    bones: str = "ALL"
    vertices: Mapping[str, np.ndarray] | None = None


ALL_WEIGHTS = Scope()


@dataclass(frozen=True)
class Target:
    """The weights to edit: the parts of one armature together, so that they go on fitting each other.

    Attributes
    ----------
    chosen : bool array, shape (V,)
        Vertices that may change.
    picked : bool array, shape (B,)
        Bones that are edited.
    locked : bool array, shape (B,)
        Bones that never change.
    free : bool array, shape (V,)
        Vertices that an edit may spread to: not those of meshes whose groups are all locked.
    """

    skin: WeightedSkin
    chosen: np.ndarray
    picked: np.ndarray
    locked: np.ndarray
    free: np.ndarray

    @property
    def masks(self) -> dict[str, Any]:
        """`locked` and `chosen`, as arguments of edits."""
        return {"locked": self.locked, "chosen": self.chosen}


# Weights, shape (V, B), and messages
Edited = tuple[np.ndarray, list[str]]


def keep_chosen(targets: list[Target]) -> list[Target]:
    """The targets with any vertex that may change; raises SkinningError if there is none."""
    kept = [target for target in targets if target.chosen.any()]
    if kept:
        return kept
    if not any(len(target.chosen) for target in targets):
        names = list_names([f"'{part.obj.name}'" for target in targets for part in target.skin.parts])
        raise SkinningError(f"No vertices in {names}: select a mesh that has vertices")
    raise SkinningError("No vertex is selected: select vertices, or turn off Selected Only")


def aim(skin: WeightedSkin, scope: Scope) -> Target:
    """Find the vertices and bones of a skin that are in a scope; raises SkinningError if there is no bone."""
    chosen = np.ones(len(skin.points), bool)
    if scope.selected_only or scope.vertices is not None:
        chosen = np.concatenate([_read_chosen(part, scope.vertices) for part in skin.parts])
        if chosen.any():  # with a vertex those at its position, or a pose would tear them apart
            welded = weld(skin.points)
            chosen = np.isin(welded, welded[chosen])
    picked = np.ones(len(skin.names), bool)
    if scope.bones != "ALL":
        names = _find_active(skin) if scope.bones == "ACTIVE" else read_selected_bones(skin.armature)
        picked = np.array([name in names for name in skin.names])
    is_free = np.array([not part.locked[picked].all() for part in skin.parts])
    locked = np.any(
        [part.locked for part, free in zip(skin.parts, is_free, strict=True) if free or not is_free.any()], axis=0
    )
    free = np.repeat(is_free, [len(part.points) for part in skin.parts])
    if not free.all():  # what meets such a mesh stays with it
        welded = weld(skin.points)
        free = ~np.isin(welded, welded[~free])
    if not (picked & ~locked).any():
        remedies = {
            "ALL": "unlock vertex groups",
            "ACTIVE": "activate the vertex group of a bone, and unlock it",
            "SELECTED": "select deforming bones in Pose Mode, and unlock their vertex groups",
        }
        raise SkinningError(f"No bone of '{skin.armature.name}' to edit: {remedies[scope.bones]}")
    return Target(skin, chosen & free, picked, locked, free)


def _read_chosen(part: SkinPart, vertices: Mapping[str, np.ndarray] | None) -> np.ndarray:
    """The vertices of a part that are given, or else selected, shape (V,)."""
    if vertices is None:
        return read_selected(mesh_of(part.obj))
    return vertices.get(part.obj.name, np.zeros(len(part.points), bool))


def _find_active(skin: WeightedSkin) -> set[str]:
    """Names of the parts' active vertex groups."""
    groups = [part.obj.vertex_groups.active for part in skin.parts]
    return {group.name for group in groups if group is not None}


def write(plan: list[tuple[Target, np.ndarray, list[str]]], describe: Callable[[str], str]) -> list[str]:
    """Write the edited weights of each target; returns messages, the first by `describe` of "12 vertices"."""
    changed, messages = 0, []
    for target, edited, notes in plan:
        skin = target.skin
        if not target.picked.all():
            edited = _keep_others(target, edited)
        for part, rows in zip(skin.parts, skin.rows, strict=True):
            vertices = np.count_nonzero((edited[rows] != part.weights).any(axis=1))
            changed += vertices
            write_weights(part.obj, skin.names, edited[rows])
        messages += [end_sentence(note) for note in notes]
    return [f"{describe(count(changed, 'vertex'))}.", *messages]


def _keep_others(target: Target, edited: np.ndarray) -> np.ndarray:
    """Edited weights of picked bones; the other bones share the rest in the same proportions as before.

    If the others had no weight, they share the rest as edited; otherwise a single bone could not lose weight.
    """
    before = target.skin.weights
    others = np.flatnonzero(~target.picked & ~target.locked)
    bare = np.flatnonzero(target.chosen & ~before[:, others].any(axis=1))
    before[np.ix_(bare, others)] = edited[np.ix_(bare, others)]
    return edits.merge_weights(before, edited, columns=target.picked, **target.masks)
