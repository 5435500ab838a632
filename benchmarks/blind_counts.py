"""Counts of rankings of blind sheets.

The key has for each sheet its character, joint, methods in the order of the letters, and those that look alike there. A
ranking has for each sheet the letters, best first, ties together, as ["B", ["A", "D"], "C"]; or {"ranks": such a list,
"needs": ["C"]}, with the letters that need a corrective. Methods that look alike share the mean of their places.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.blind_key import LETTERS
from benchmarks.blind_poses import HINGES, KINDS, ROOTS, SPINES, TWISTS
from benchmarks.bound_characters import BLENDERS

FORMER = {"wrist": HINGES, "hip": ROOTS, "neck": SPINES, "spine": SPINES}  # Classes of joints on former sheets
CLASSES = FORMER | {name: kind.joints for name, kind in KINDS.items()}
CLASS_ORDER = (HINGES, ROOTS, TWISTS, SPINES)

Ranks = list[str | list[str]]
Ranking = dict[str, Ranks | dict[str, Any]]


@dataclass(frozen=True)
class Judged:
    """A sheet as one ranking has it."""

    places: dict[str, float]  # by method, from 1; tied methods share a place
    needs: set[str] | None = None  # methods that need a corrective; None if the ranking does not say

    def prefer(self, first: str, second: str) -> float:
        """Whether a method is preferred to another: 1, or 0; 0.5 if they are tied."""
        return (self.places[first] < self.places[second]) + 0.5 * (self.places[first] == self.places[second])

    def prefer_to_both(self, method: str) -> float:
        """The worse of the comparisons with Blender's two methods."""
        return min(self.prefer(method, other) for other in BLENDERS)

    def is_fine(self, method: str) -> bool:
        """Whether a method is not worse than both of Blender's."""
        return self.places[method] <= self.best_of_blender()

    def best_of_blender(self) -> float:
        return min(self.places[other] for other in BLENDERS)

    def share_last(self, method: str) -> float:
        """Whether a method is last: 1, or 0; methods that are tied for it share it."""
        last = max(self.places.values())
        return (self.places[method] == last) / sum(place == last for place in self.places.values())


Judgments = dict[str, Judged]  # By sheet


def read_ranking(key: dict[str, Any], ranking: Ranking) -> Judgments:
    """A ranking, with methods instead of letters.

    Raises
    ------
    ValueError
        Where a sheet is not ranked, or not all of its letters, or one that it does not have.
    """
    return {number: _read_sheet(number, sheet, ranking.get(number, [])) for number, sheet in key.items()}


def _read_sheet(number: str, sheet: dict[str, Any], entry: Ranks | dict[str, Any]) -> Judged:
    by_letter = dict(zip(LETTERS, sheet["methods"], strict=False))
    ranks, needs = (entry["ranks"], entry.get("needs")) if isinstance(entry, dict) else (entry, None)
    tied = [[letters] if isinstance(letters, str) else letters for letters in ranks]
    if sorted(itertools.chain(*tied)) != sorted(by_letter):
        raise ValueError(f"Sheet {number}: rank each of {', '.join(by_letter)} once")
    if needs is not None and not set(needs) <= set(by_letter):
        raise ValueError(f"Sheet {number}: 'needs' has other letters than {', '.join(by_letter)}")
    places, before = {}, 0
    for letters in tied:
        places |= {by_letter[letter]: before + (len(letters) + 1) / 2 for letter in letters}
        before += len(letters)
    for alike in sheet.get("alike", ()):
        places |= dict.fromkeys(alike, float(np.mean([places[method] for method in alike])))
    return Judged(places, None if needs is None else {by_letter[letter] for letter in needs})


def list_methods(key: dict[str, Any]) -> list[str]:
    """Those on the sheets, Blender's first."""
    found = {method for sheet in key.values() for method in sheet["methods"]}
    return [*(method for method in BLENDERS if method in found), *sorted(found - set(BLENDERS))]


def group_sheets(key: dict[str, Any]) -> dict[str, list[str]]:
    """The sheets of each class of joint that there is, after all."""
    groups = {"all": sorted(key)}
    for joints in CLASS_ORDER:
        groups[joints] = [number for number in sorted(key) if CLASSES[key[number]["joint"]] == joints]
    return {label: numbers for label, numbers in groups.items() if numbers}


def count_all(key: dict[str, Any], ranked: Sequence[Judgments]) -> Iterator[tuple]:
    """A row for each class of joint and method, under `name_columns`."""
    methods = list_methods(key)
    for label, numbers in group_sheets(key).items():
        judged = [ranking[number] for ranking in ranked for number in numbers]
        for method in methods:
            mean = np.mean([one.places[method] for one in judged])
            others = [
                "-" if method == other else _mean(one.prefer(method, other) for one in judged) for other in methods
            ]
            is_fine = _mean(one.is_fine(method) for one in judged)
            both = "-" if method in BLENDERS else _mean(one.prefer_to_both(method) for one in judged)
            last = _mean(one.share_last(method) for one in judged)
            needs = _mean(method in one.needs for one in judged if one.needs is not None)
            yield label, len(numbers), method, f"{mean:.2f}", *others, is_fine, both, last, needs


def name_columns(key: dict[str, Any]) -> tuple[str, ...]:
    preferred = (f"preferred to {method}" for method in list_methods(key))
    both = "not worse than both of Blender's", "preferred to both"
    return "joints", "sheets", "method", "mean place", *preferred, *both, "last", "needs a corrective"


def _mean(values: Any) -> str:
    """A mean as percent; "-" if there are none."""
    values = [float(value) for value in values]
    return f"{np.mean(values):.0%}" if values else "-"


def list_behind(key: dict[str, Any], ranked: Sequence[Judgments], method: str) -> list[tuple]:
    """Sheets where a method's mean place is behind the better of Blender's two, the farthest behind first.

    Each with its character and pose, the mean places of the method and of Blender's two, and in how many rankings the
    method is behind the better of these.
    """
    found = []
    for number, sheet in sorted(key.items()):
        judged = [ranking[number] for ranking in ranked]
        places = [float(np.mean([one.places[name] for one in judged])) for name in (method, *BLENDERS)]
        if places[0] > min(places[1:]):
            behind = sum(not one.is_fine(method) for one in judged)
            row = number, sheet["character"], sheet.get("pose", sheet["joint"]), *places, f"{behind} of {len(ranked)}"
            found.append((places[0] - min(places[1:]), row))
    return [row for _, row in sorted(found, key=lambda one: -one[0])]


Count = tuple[dict[str, Any], Sequence[Judgments]]  # A key, and the rankings of its sheets


def read_count(folder: Path) -> Count:
    """Read a folder of `benchmarks/rankings`."""
    key, *rankings = (
        json.loads(path.read_text(encoding="utf-8")) for path in (folder / "key.json", *sorted(folder.glob("ranks-*")))
    )
    return key, [read_ranking(key, ranking) for ranking in rankings]


def list_agreed(counts: Sequence[Count], method: str) -> Iterator[tuple]:
    """On how many poses a method is before each other one, and behind it, in all of several counts of the same poses.

    Of each: the other method, poses where the mean place of the method is before its in each count, where it is behind
    it in each, all poses, and which share of those that counts agree on the first are.
    """
    shared = set.intersection(*({(sheet["character"], sheet["pose"]) for sheet in key.values()} for key, _ in counts))
    for other in list_methods(counts[0][0]):
        if other == method:
            continue
        ahead: dict[tuple[str, str], list[float]] = {pose: [] for pose in shared}
        for key, ranked in counts:
            for number, sheet in key.items():
                pose = sheet["character"], sheet["pose"]
                if pose in shared:
                    judged = [ranking[number].places for ranking in ranked]
                    ahead[pose].append(float(np.mean([places[other] - places[method] for places in judged])))
        better = sum(min(each) > 0.0 for each in ahead.values())
        worse = sum(max(each) < 0.0 for each in ahead.values())
        yield other, better, worse, len(shared), _mean([1.0] * better + [0.0] * worse)


def measure_agreement(key: dict[str, Any], one: Judgments, other: Judgments) -> float:
    """Share of the pairs that two rankings both tell apart in which they agree; not a number if there are none."""
    pairs = [
        (one[number].places[a] - one[number].places[b], other[number].places[a] - other[number].places[b])
        for number in key
        for a, b in itertools.combinations(key[number]["methods"], 2)
    ]
    agreed = [x * y > 0 for x, y in pairs if x * y != 0]
    return float(np.mean(agreed)) if agreed else float("nan")
