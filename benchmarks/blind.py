"""Sheets of poses by several methods that tell nothing of which is which, and what rankings of them come to.

    python benchmarks/blind.py --output SHEETS [--character NAME ...] [--only JOINT ...] [--seed N]
    python benchmarks/blind.py --output SHEETS --rankings RANKS.json ...

The first draws a sheet for each pose: the character at rest, then each method, from two sides, in an order of its own,
under letters. Which is which is written to SHEETS/key.json; whoever ranks sees the sheets alone. A ranking is a JSON
file: for each sheet the letters, best first, ties together, as {"007": ["B", ["A", "D"], "C"]}. The second prints what
rankings come to: mean place, how often a method is preferred to another, how often it is not worse than both of
Blender's, in all and by class of joint; ties count half. Needs Blender's module bpy; the characters are read from a
folder of assets that is not part of the repository (--assets).
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from harness import list_at_hand, option, print_table
from benchmarks.bound_characters import PRESERVE_VOLUME, BoundCharacter, find_deform, make_rests
from benchmarks.center_pictures import HEIGHT, PARTS_SHOWN, Stage, set_stage
from benchmarks.characters import Part
from benchmarks.range_of_motion import BONES, CHARACTERS, KINDS
from benchmarks.skins import make_params
from benchmarks.studio import Row, Studio, cell_width, draw, write_page
from deformers import DEFORMERS
from deformers.rig.fraction_plan import find_long_bones, plan_twists

METHODS = ("SSD", PRESERVE_VOLUME, "DLBNT", "CENTERS")
BLENDERS = METHODS[:2]
REST = "rest"
LETTERS = "ABCDEFGH"
TURNED = 70.0
"""Degrees between the two views."""
CLASSES = {
    "elbow": "hinges", "knee": "hinges", "finger": "hinges", "wrist": "hinges", "hip": "limb roots",
    "arm up": "limb roots", "wrist twist": "twists", "neck turn": "twists", "spine turn": "twists",
    "neck": "neck, spine", "spine": "neck, spine",
}  # fmt: skip

Ranking = dict[str, list[str | list[str]]]


def bind_as_made(parts: list[Part], method: str) -> Callable[[np.ndarray], list[np.ndarray]]:
    """What poses the parts as after Make Supple: bound with the method's defaults, twists spread along long bones."""
    if method in BLENDERS:
        return find_deform(parts, method)
    rests, module = make_rests(parts), DEFORMERS[method]
    long_bones = find_long_bones(rests[0].joints)
    counts = np.where(long_bones.is_long, long_bones.counts, 0)
    _, spread = plan_twists(rests[0].joints, 0 * counts, counts)
    joints = replace(rests[0].joints, spread=spread)
    bindings = [module.bind(replace(rest, joints=joints), make_params(method)) for rest in rests]
    return BoundCharacter(module, bindings).deform


def shoot(stage: Stage, kind: str, order: Sequence[str], studio: Studio) -> list[Row]:
    """Both views of a pose: the rest, and the methods in this order."""
    pose = stage.bend(kind)
    stage.show_parts(PARTS_SHOWN.get(stage.name, {}).get(kind, len(stage.objects)))
    view, still = stage.view(kind, pose), np.broadcast_to(np.eye(4), pose.shape)
    views, width = (view, replace(view, azimuth=view.azimuth + TURNED)), cell_width(1 + len(order))
    rows = []
    for seen in views:
        cells = [stage.shoot(method, pose, seen, studio, width, HEIGHT) for method in order]
        at_rest = replace(seen, target=stage.view(kind, still).target)
        rows.append(Row("", [stage.shoot("SSD", still, at_rest, studio, width, HEIGHT), *cells]))
    return rows


def draw_sheets(arguments: Any) -> None:
    """All sheets, and their key."""
    studio, chance, key = Studio.of(arguments), random.Random(arguments.seed), {}
    poses = [(name, kind) for name in arguments.character for kind in BONES[name] if kind in arguments.only]
    numbers = chance.sample(range(1, len(poses) + 1), len(poses))
    sheets = {pose: f"{number:03}" for pose, number in zip(poses, numbers, strict=True)}
    for name in list_at_hand(arguments.assets, arguments.character, "npz"):
        stage = set_stage(arguments.assets, name, (), {})
        deforms = {method: bind_as_made(stage.character.parts, method) for method in METHODS}
        stage = replace(stage, deforms=deforms)
        for kind in (kind for of, kind in poses if of == name):
            order = chance.sample(METHODS, len(METHODS))
            number = sheets[name, kind]
            rows = shoot(stage, kind, order, studio)
            write_page(rows, [REST, *LETTERS[: len(order)]], studio, arguments.output / f"{number}.png")
            key[number] = {"character": name, "joint": kind, "methods": order}
    (arguments.output / "key.json").write_text(json.dumps(key, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def read_places(key: dict[str, Any], ranking: Ranking) -> dict[str, dict[str, float]]:
    """By sheet, then by method, its place from 1 on; those that are tied share theirs.

    Raises
    ------
    ValueError
        Where a sheet is not ranked, or not all of its letters.
    """
    found = {}
    for number, sheet in key.items():
        methods, places, before = dict(zip(LETTERS, sheet["methods"], strict=False)), {}, 0
        for entry in ranking.get(number, []):
            for letter in (tied := list(entry)):
                places[methods[letter]] = before + (len(tied) + 1) / 2
            before += len(tied)
        if len(places) != len(methods) or before != len(methods):
            raise ValueError(f"Sheet {number}: rank each of {', '.join(methods)} once")
        found[number] = places
    return found


def prefer(places: Iterable[dict[str, float]], first: str, second: str) -> float:
    """How often one method is preferred to another, 0 to 1; ties count half."""
    return float(np.mean([(of[first] < of[second]) + 0.5 * (of[first] == of[second]) for of in places]))


def print_counts(arguments: Any) -> None:
    """What the rankings come to, for all sheets and by class of joint."""
    key = json.loads((arguments.output / "key.json").read_text(encoding="utf-8"))
    ranked = [read_places(key, json.loads(path.read_text(encoding="utf-8"))) for path in arguments.rankings]
    classes = {"all": list(key)}
    for number, sheet in key.items():
        classes.setdefault(CLASSES[sheet["joint"]], []).append(number)
    rows = []
    for label, numbers in classes.items():
        places = [ranking[number] for ranking in ranked for number in numbers]
        for method in METHODS:
            others = ["-" if method == other else f"{prefer(places, method, other):.0%}" for other in METHODS]
            is_fine = np.mean([of[method] <= min(of[other] for other in BLENDERS) for of in places])
            mean = np.mean([of[method] for of in places])
            rows.append((label, len(numbers), method, f"{mean:.2f}", *others, f"{is_fine:.0%}"))
    columns = (f"preferred to {method}" for method in METHODS)
    print_table(("joints", "sheets", "method", "mean place", *columns, "not worse than both of Blender's"), rows)
    for one, other in itertools.combinations(range(len(ranked)), 2):
        pairs = [
            (ranked[one][number][a] - ranked[one][number][b], ranked[other][number][a] - ranked[other][number][b])
            for number in key
            for a, b in itertools.combinations(METHODS, 2)
        ]
        agreed = np.mean([x * y > 0 for x, y in pairs if x * y != 0])
        print(f"Rankings {one + 1} and {other + 1} agree on {agreed:.0%} of the pairs that both tell apart.")


def run(arguments: Any) -> None:
    (print_counts if arguments.rankings else draw_sheets)(arguments)


if __name__ == "__main__":
    draw(
        __doc__, run, character=option(CHARACTERS, choices=CHARACTERS), only=option(KINDS, choices=KINDS), seed=1,
        rankings=option([], "rankings to count", nargs="+", type=Path),
    )  # fmt: skip
