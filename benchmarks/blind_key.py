"""Which number each blind sheet has, and which method is under which letter."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.blind_poses import list_poses, name_pose
from benchmarks.bound_characters import BLENDERS

FLESH = "FLESH"  # Result of Make Supple, with corrections
METHODS = (*BLENDERS, "DLB", "PARTICLES", FLESH)
LETTERS = "ABCDEFGH"


@dataclass(frozen=True)
class Sheet:
    """A pose of a character: its number, and the methods in the order of their letters."""

    number: str
    character: str
    kind: str
    degrees: float
    methods: tuple[str, ...]

    def describe(self, alike: Sequence[Sequence[str]] = ()) -> dict[str, Any]:
        """Entry of the key; `alike`: groups of methods that nobody can tell apart there."""
        pose, methods = name_pose(self.kind, self.degrees), list(self.methods)
        return {"character": self.character, "joint": self.kind, "pose": pose, "methods": methods, "alike": list(alike)}


def deal_sheets(seed: int, methods: Collection[str] = METHODS) -> list[Sheet]:
    """All sheets, whichever are drawn: the order on each depends on the seed, the character and the pose alone."""
    poses = list(list_poses())
    numbers = random.Random(seed).sample(range(1, len(poses) + 1), len(poses))
    sheets = []
    for number, (character, kind, degrees) in zip(numbers, poses, strict=True):
        order = random.Random(f"{seed} {character} {name_pose(kind, degrees)}").sample(METHODS, len(METHODS))
        shown = tuple(method for method in order if method in methods)
        sheets.append(Sheet(f"{number:03}", character, kind, degrees, shown))
    return sheets
