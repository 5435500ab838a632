"""Reports about weights: as sentences, and as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...deformers.automatic_weights import METHODS

# Counted things: singular and plural
COUNTED = {
    "bone": ("{} bone", "{} bones"),
    "empty group": ("{} empty group", "{} empty groups"),
    "stiff part": ("{} stiff part", "{} stiff parts"),
    "vertex": ("{} vertex", "{} vertices"),
    "weight": ("{} weight", "{} weights"),
}

# Limit of names in a sentence; it counts the others
NAMED = 5


@dataclass(frozen=True)
class Report:
    """Report on the weights of one armature's skin.

    Attributes
    ----------
    bones : int
        Deforming bones.
    parts : tuple of (str, int, int)
        Name, number of vertices, and how many of them have weights, of each mesh.
    reasons : dict of str to str
        Bones without weights, and why.
    filled : tuple of int, or None
        Vertices of each mesh that had no weights and got some; None if all were weighted anew.
    left_out : tuple of str
        Those of the notes that are on meshes that could not be weighted.
    """

    armature: str
    method: str
    bones: int
    parts: tuple[tuple[str, int, int], ...]
    reasons: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    filled: tuple[int, ...] | None = None
    left_out: tuple[str, ...] = ()

    def describe(self, part: str | None = None) -> list[str]:
        """Sentences, of all parts or of one."""
        filled = self.filled or (None,) * len(self.parts)
        described = [(*row, kept) for row, kept in zip(self.parts, filled, strict=True) if part in (None, row[0])]
        lines = [_describe_part(*row, METHODS[self.method].label) for row in described]
        by_reason: dict[str, list[str]] = {}
        for bone, reason in self.reasons.items():
            by_reason.setdefault(reason, []).append(bone)
        for reason, bones in by_reason.items():
            lines.append(f"{count(len(bones), 'bone')} of {self.bones} got no weights ({reason}): {list_names(bones)}.")
        return [*lines, *self.notes]

    def summarize(self) -> list[str]:
        """Sentences that sum up: only of parts that are not whole each has its own."""
        if len(self.parts) == 1:
            return self.describe()
        total, weighted = sum(part[1] for part in self.parts), sum(part[2] for part in self.parts)
        found = count(weighted, "vertex") if weighted == total else f"{weighted:,} of {count(total, 'vertex')}"
        method = METHODS[self.method].label
        partial = [_describe_part(*part, None, method) for part in self.parts if not 0 < part[1] == part[2]]
        first = f"{found} of {len(self.parts)} meshes got weights by {method}."
        if self.filled is not None and (filled := sum(self.filled)) < weighted:
            first = (
                f"{count(filled, 'vertex')} of {len(self.parts)} meshes had no weights and got some by {method}. "
                "All others keep theirs: Replace computes them again."
            )
        return [first, *partial, *self.describe()[len(self.parts) :]]

    def as_json(self) -> dict[str, Any]:
        """The report in plain strings, numbers, lists and dicts."""
        return {
            "armature": self.armature,
            "method": self.method,
            "bones": self.bones,
            "objects": [dict(zip(("name", "vertices", "weighted"), part, strict=True)) for part in self.parts],
            "bones_without_weights": [{"name": name, "reason": why} for name, why in self.reasons.items()],
            "notes": list(self.notes),
        }


def _describe_part(name: str, vertices: int, weighted: int, filled: int | None, method: str) -> str:
    if not vertices:
        return f"'{name}' has no vertices."
    if filled == 0 and weighted == vertices:
        return f"'{name}': all {vertices:,} vertices have weights already and keep them: Replace computes them again."
    if filled is not None and filled < weighted:
        first = f"'{name}': {count(filled, 'vertex')} without weights got some by {method}, and the others keep theirs"
        return f"{first}." if weighted == vertices else f"{first}; {vertices - weighted:,} have none."
    if weighted == vertices:
        return f"'{name}': all {vertices:,} vertices have weights, by {method}."
    return (
        f"'{name}': {weighted:,} of {vertices:,} vertices have weights, by {method}; {vertices - weighted:,} have none."
    )


def count(number: int | np.integer, thing: str) -> str:
    """A number with its thing, a key of `COUNTED`, as in "1 bone", "2 bones" and "3 vertices"."""
    one, several = COUNTED[thing]
    return (one if number == 1 else several).format(f"{number:,}")


def list_names(names: list[str]) -> str:
    """Names in a row; of many, the first ones and how many there are besides."""
    shown = ", ".join(names[:NAMED])
    return f"{shown} and {len(names) - NAMED} more" if len(names) > NAMED else shown


def end_sentence(text: str) -> str:
    """A sentence with its full stop."""
    return text if text.endswith(".") else f"{text}."
