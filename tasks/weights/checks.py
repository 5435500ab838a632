"""Weights checked: mistakes are reported, or selected. No weight is changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of, read_hard_edges
from ...bridge.meshes.selection import write_selected
from ...bridge.rigs.armatures import Skeleton
from ...deformers import SkinningError
from ...deformers.weight_editing import checks
from ...deformers.weight_editing.checks import Findings
from ...deformers.weight_editing.stiff_parts import find_stiff_parts
from ...settings.objects import settings_of
from ..left_out import LeftOut, describe_left_out
from .parts import SkinPart, WeightedSkin, read_skins
from .reports import count, end_sentence

# Limit of a report on one mesh
MAX_SENTENCES = 12


def _mark(pairs: np.ndarray, count: int) -> np.ndarray:
    marked = np.zeros(count, bool)
    marked[pairs[:, 0]] = True
    return marked


# The mistakes that can be selected, and which vertices have them: bool arrays, shape (V,)
KINDS: dict[str, Callable[[Findings], np.ndarray]] = {
    "UNWEIGHTED": lambda found: found.unweighted,
    "OVER_INFLUENCED": lambda found: found.crowded,
    "SUMS": lambda found: found.unnormalized,
    "SEAMS": lambda found: found.torn,
    "ISLANDS": lambda found: _mark(found.stray, len(found.sums)),
    "FAR": lambda found: _mark(found.far, len(found.sums)),
    "ANY": lambda found: found.wrong,
}


def check_weights(objects: Iterable[bpy.types.Object], limit: int = 4) -> list[str]:
    """Look for mistakes in weights, and store the report as text in the objects' settings.

    Parameters
    ----------
    objects : Objects
        Meshes with an armature.
    limit : int
        Influences that a vertex may have; 0 for any number.
    """
    mistakes, left_out = find_mistakes(objects, limit)
    messages = []
    for part, found, skin in mistakes:
        lines = [end_sentence(line) for line in checks.describe(found, skin.names)]
        if len(lines) > MAX_SENTENCES:
            lines[MAX_SENTENCES - 1 :] = [f"{len(lines) - MAX_SENTENCES + 1} more of this kind."]
        lines = [f"'{part.obj.name}', {count(len(part.points), 'vertex')}:", *lines]
        for obj in (part.obj, *part.sharers):
            settings_of(obj).weights_report = "\n".join(lines)
        messages += lines
    return [*messages, *map(end_sentence, describe_left_out(left_out))]


def list_doubts(objects: Iterable[bpy.types.Object]) -> list[str]:
    """What no method makes good of weights, and what mends it, to be told before meshes are bound: sentences."""
    doubts = list[str]()
    try:
        mistakes, _ = find_mistakes(objects, is_read_only=True)
    except SkinningError:  # binding says why
        return doubts
    for part, found, skin in mistakes:
        if far := len(np.unique(found.far[:, 0])):
            doubts.append(
                f"'{part.obj.name}': {count(far, 'vertex')} far from the bone: Select, Far From Bone, shows them"
            )
        if stiff := len(find_stiff(part, skin.skeleton)):
            doubts.append(f"'{part.obj.name}': {count(stiff, 'stiff part')} would bend: Stiffen mends that")
    return doubts


def find_vertices(
    objects: Iterable[bpy.types.Object], kind: str, limit: int = 4
) -> list[tuple[bpy.types.Object, np.ndarray]]:
    """The vertices of each mesh with a mistake: bool arrays, shape (V,).

    Parameters
    ----------
    kind : str
        Key of `KINDS`.
    limit : int
        Influences that a vertex may have; 0 for any number.
    """
    return [(part.obj, KINDS[kind](found)) for part, found, _ in find_mistakes(objects, limit)[0]]


def select_vertices(found: Iterable[tuple[bpy.types.Object, np.ndarray]]) -> list[str]:
    """Select these vertices of meshes, bool arrays of shape (V,), and no others; returns messages."""
    total = 0
    for obj, selected in found:
        write_selected(obj, selected)
        total += np.count_nonzero(selected)
    return [f"Selected {count(total, 'vertex')}."]


def show_selection(context: bpy.types.Context, objects: Iterable[bpy.types.Object]) -> None:
    """Go to a mode that shows selected vertices: stay in Weight Paint Mode with the mask on, or go to Edit Mode."""
    objects = list(objects)
    painted = [obj for obj in objects if obj.mode == "WEIGHT_PAINT"]
    for obj in painted:
        mesh_of(obj).use_paint_mask_vertex = True
    active = context.active_object
    mesh = mesh_of(active) if active is not None and active in objects else None
    is_free = mesh is not None and mesh.is_editable and not mesh.is_editmode  # none is in that with two objects
    if is_free and not painted and context.mode == "OBJECT":
        bpy.ops.object.mode_set(mode="EDIT")
    context.scene.tool_settings.mesh_select_mode = (True, False, False)


def find_mistakes(
    objects: Iterable[bpy.types.Object], limit: int = 0, is_read_only: bool = False
) -> tuple[list[tuple[SkinPart, Findings, WeightedSkin]], LeftOut]:
    """The mistakes of each part, and its skin; the parts of one armature are checked together.

    `is_read_only`: whether nothing is to be written on the meshes, which may be linked then.
    """
    skins, left_out = read_skins(objects, needs_faces=False, is_read_only=is_read_only)
    mistakes = []
    for skin in skins:
        bones = skin.skeleton.envelopes
        found = checks.check_weights(skin.points, skin.triangles, skin.weights, bones.heads, bones.tails, limit)
        for part, rows in zip(skin.parts, skin.rows, strict=True):
            mistakes.append((part, _cut(found, rows), skin))
    return mistakes, left_out


def find_stiff(part: SkinPart, skeleton: Skeleton) -> list[np.ndarray]:
    """The vertices of each stiff island of a mesh that its weights bend, int arrays."""
    bones, hard = skeleton.envelopes, read_hard_edges(mesh_of(part.obj))
    return find_stiff_parts(part.points, part.triangles, part.weights, bones.heads, bones.tails, hard)


def _cut(found: Findings, rows: slice) -> Findings:
    """Findings of a range of vertices, with indices from 0."""
    masks = ("influences", "sums", "unweighted", "crowded", "unnormalized", "torn")
    pairs = {name: getattr(found, name) for name in ("stray", "far")}
    return replace(
        found,
        **{name: getattr(found, name)[rows] for name in masks},
        **{
            name: pair[(pair[:, 0] >= rows.start) & (pair[:, 0] < rows.stop)] - (rows.start, 0)
            for name, pair in pairs.items()
        },
    )
