"""Cost of *As Published*: steps with all bones scaled, next to Blender's own Armature modifier.

    python benchmarks/as_published.py [--only SECTION ...] [--rounds N] [--assets FOLDER]

needs an interpreter that has bpy. A ratio is the processor's time of a step over that without any deformation, to the
same of Preserve Volume; the quickest of all rounds counts. Real characters are measured if available.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import bpy
import numpy as np

from harness import ASSETS, find, list_at_hand, new_scene, open_file, option, parse, print_table, run_sections
from benchmarks.generated import add_rig, add_skin
from benchmarks.timing import BARE, LINEAR, PUBLISHED, VOLUME, WARM, WAYS, Character, bind, find_character

REAL = ("mh_human", "mh_human_game", "human_male", "kaykit_knight")
VERTICES, BONES = 24_000, 71
ORDERS = {"Stretch First": "GH", "Rotation First": "HG"}
LARGEST = 0.3  # Maximum difference of scales from 1


def run_scaled(arguments: argparse.Namespace) -> None:
    """Steps with all bones scaled, as published"""
    _print_rows(arguments, LARGEST)


def run_rigid(arguments: argparse.Namespace) -> None:
    """The same with no bone scaled: Preserve Volume is faster then"""
    _print_rows(arguments, 0.0)


def _print_rows(arguments: argparse.Namespace, largest: float) -> None:
    new_scene()
    add_skin(add_rig(BONES), "Skin", VERTICES)
    rows = [_measure("generated", find_character(), arguments.rounds, largest)]
    for name in list_at_hand(arguments.assets, REAL):
        open_file(arguments.assets, name)
        rows.append(_measure(name, find_character(), arguments.rounds, largest))
    ratios = "linear, x", *(f"{order}, x" for order in ORDERS)
    print_table(("character", "meshes", "vertices", "bones", "Preserve Volume, ms", *ratios, "Bind, ms"), rows)


def _measure(name: str, character: Character, rounds: int, largest: float) -> tuple:
    """A row of the table; scales differ from 1 by so much, at most."""
    random = np.random.default_rng(1)
    for bone in character.armature.pose.bones:
        bone.bone.inherit_scale, bone.scale = "ALIGNED", 1.0 + random.uniform(-largest, largest, 3)
    for curve in find("bridge.animation.curves").list_curves(character.armature):
        curve.mute = curve.data_path.endswith(".scale")
    steps = character.play()
    times: dict[str, list[float]] = {}
    made = []
    for _ in range(rounds):
        for way in character.set_modifiers():
            times.setdefault(way, []).append(_take(steps))
        for way, order in ORDERS.items():
            for obj in character.meshes:
                obj.supple.order = order
            made.append(1e3 * bind(WAYS[PUBLISHED]))
            times.setdefault(way, []).append(_take(steps))
            bpy.ops.supple.unbind()
    least = {way: min(each) for way, each in times.items()}
    volume = least[VOLUME] - least[BARE]
    ratios = [(least[way] - least[BARE]) / volume for way in (LINEAR, *ORDERS)]
    return (name, *character.describe(), volume, *ratios, statistics.median(made))


def _take(steps: list[Callable[[], object]]) -> float:
    """Median milliseconds of the processor for a step."""
    taken = []
    for step in steps:
        start = time.process_time()
        step()
        taken.append(1e3 * (time.process_time() - start))
    return statistics.median(taken[WARM:])


SECTIONS = {"scaled": run_scaled, "rigid": run_rigid}


if __name__ == "__main__":
    run_sections(
        SECTIONS, parse(__doc__, SECTIONS, rounds=option(5, "how often all steps are taken in turn"), assets=ASSETS)
    )
