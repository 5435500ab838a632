"""Weights checked: what is wrong is told, or selected. No weight is changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import bpy
import numpy as np

from ...bridge.selection import write_selected
from ...deformers.weight_editing.checks import Findings, describe
from ...deformers.weight_editing.checks import check_weights as check
from ...settings.objects import settings_of
from .parts import Part, read_skins
from .reports import count, end_sentence

MOST_LINES = 12
"""Sentences of a report."""


def _mark(pairs: np.ndarray, count: int) -> np.ndarray:
    marked = np.zeros(count, bool)
    marked[pairs[:, 0]] = True
    return marked


KINDS: dict[str, Callable[[Findings], np.ndarray]] = {
    "UNWEIGHTED": lambda found: found.unweighted,
    "OVER_INFLUENCED": lambda found: found.crowded,
    "SUMS": lambda found: found.unnormalized,
    "SEAMS": lambda found: found.torn,
    "ISLANDS": lambda found: _mark(found.stray, len(found.sums)),
    "FAR": lambda found: _mark(found.far, len(found.sums)),
    "ANY": lambda found: found.wrong,
}
"""What can be selected: vertices, shape (V,)."""


def check_weights(objects: Iterable[bpy.types.Object], limit: int = 4) -> list[str]:
    """Look for mistakes in weights, and keep what was found as text in the objects' settings.

    Parameters
    ----------
    objects : Objects
        Meshes with an armature.
    limit : int
        Influences that a vertex may have; 0 for any number.

    Returns
    -------
    list of str
        Sentences, of all objects.
    """
    told = []
    for part, found, names in list(_find(objects, limit)):
        lines = [end_sentence(line) for line in describe(found, names)]
        if len(lines) > MOST_LINES:
            lines[MOST_LINES - 1 :] = [f"{len(lines) - MOST_LINES + 1} more of this kind."]
        lines = [f"'{part.obj.name}', {count(len(part.points), 'vertex')}:", *lines]
        for obj in (part.obj, *part.sharers):
            settings_of(obj).weights_report = "\n".join(lines)
        told += lines
    return told


def find_vertices(
    objects: Iterable[bpy.types.Object], kind: str, limit: int = 4
) -> list[tuple[bpy.types.Object, np.ndarray]]:
    """The vertices of each mesh with a mistake: bool arrays, shape (V,).

    Parameters
    ----------
    objects : Objects
    kind : str
        Key of `KINDS`.
    limit : int
        Influences that a vertex may have; 0 for any number.
    """
    return [(part.obj, KINDS[kind](found)) for part, found, _ in _find(objects, limit)]


def select_vertices(found: Iterable[tuple[bpy.types.Object, np.ndarray]]) -> list[str]:
    """Select these vertices of meshes and no others; gives what is to be told."""
    total = 0
    for obj, selected in found:
        write_selected(obj, selected)
        total += np.count_nonzero(selected)
    return [f"{count(total, 'vertex')} selected."]


def _find(objects: Iterable[bpy.types.Object], limit: int) -> Iterator[tuple[Part, Findings, tuple[str, ...]]]:
    """What is wrong with each part, and the names of its bones; those of one armature are looked at together."""
    for skin in read_skins(objects, needs_faces=False):
        bones = skin.skeleton.envelopes
        found = check(skin.points, skin.triangles, skin.weights, bones.heads, bones.tails, limit)
        for part, rows in zip(skin.parts, skin.rows, strict=True):
            yield part, _cut(found, rows), skin.names


def _cut(found: Findings, rows: slice) -> Findings:
    """Findings of some vertices, which are counted from 0 again."""
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
