"""Blind sheets of poses by several methods, and counts of their rankings.

    python benchmarks/blind.py --output SHEETS [--characters NAME ...] [--only KIND ...] [--methods METHOD ...]
        [--seed N]
    python benchmarks/blind.py --output SHEETS --rankings RANKS.json ... [--method METHOD]
    python benchmarks/blind.py --agreed FOLDER ... [--method METHOD]

The first draws a sheet for each pose: the character at rest, then each method, from two sides, in an order of its own,
under letters. Which is which is written to SHEETS/key.json; whoever ranks sees the sheets alone. The order and the
sheet's number depend on the seed, the character and the pose alone, so some can be drawn again under the same letters;
another seed deals them anew. FLESH is the result of Make Supple, with corrections, played by Blender.

Methods that are less than a pixel apart on a sheet are noted in the key, and tie whatever a ranking says.

The second prints counts of rankings, in all and by class of joint: mean place, how often a method is preferred to
another and to both of Blender's, how often it is not worse than these, last, and in need of a corrective; then the
poses where --method is behind the better of Blender's. benchmarks/rankings/README.md says what a ranking is.

The third prints where several counts of the same poses, each a folder of benchmarks/rankings with sheets in an order of
its own, agree on which method is better: the rest may be chance.

The first needs Blender's module bpy; the characters are read from a folder of assets that is not part of the repository
(--assets).
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from harness import list_at_hand, option, print_table
from benchmarks.blind_counts import (
    count_all,
    list_agreed,
    list_behind,
    measure_agreement,
    name_columns,
    read_count,
    read_ranking,
)
from benchmarks.blind_flesh import play_flesh
from benchmarks.blind_key import FLESH, LETTERS, METHODS, Sheet, deal_sheets
from benchmarks.blind_poses import CHARACTERS, KINDS, TALL, Look, count_parts, find_bone, find_look, make_pose, stand_up
from benchmarks.bound_characters import BLENDERS, bind_as_made
from benchmarks.center_pictures import Stage, set_stage
from benchmarks.characters import read_character
from benchmarks.png import as_bytes, write_png
from benchmarks.range_of_motion import find_along
from benchmarks.studio import GAP, Studio, View, draw, print_on, set_points

REST = "rest"
# Cells beside one another, their width and height, and how high the row of letters above them is
COLUMNS, CELL, HEADER = 3, (350.0, 258.0), 34.0
FEW = 1000  # Step between stored poses: so large that only the first of each action is read
Points = list[np.ndarray]  # One array for each part, armature space


def pose_all(
    assets: Path, name: str, methods: Sequence[str], kinds: Sequence[tuple[str, float]]
) -> dict[str, list[Points]]:
    """By method, a character's points in each pose."""
    parts = read_character(assets, name, FEW).parts
    poses = [make_pose(name, parts[0].shape, *pose) for pose in kinds]
    plain = [method for method in dict.fromkeys((*methods, "DLB")) if method != FLESH]
    posed = {method: [*map(bind_as_made(parts, method), poses)] for method in plain}
    if FLESH in methods:
        shown = [count_parts(name, kind, len(parts)) for kind, _ in kinds]
        posed[FLESH] = [list(points) for points in posed["DLB"]]
        for count in sorted(set(shown)):  # what is hidden gets none, and skin does not give way to it
            own = [index for index, each in enumerate(shown) if each == count]
            plain_points = [posed["DLB"][index][:count] for index in own]
            played = play_flesh(assets, name, parts[:count], [poses[index] for index in own], plain_points)
            for index, points in zip(own, played, strict=True):
                posed[FLESH][index][:count] = points
    return posed


# Sheets


def aim(stage: Stage, stands: np.ndarray, look: Look, pose: np.ndarray) -> list[View]:
    """Both views of a pose: the second camera is turned about the axis that is upright in the first picture."""
    bone = find_bone(stage.name, stage.shape, look.joint)
    target = stage.shape.heads[bone] + look.along * find_along(stage.name, stage.shape, bone)
    target = stands @ (pose[bone, :3, :3] @ target + pose[bone, :3, 3])
    azimuth, elevation, turned = np.radians((look.azimuth, look.elevation, look.turned))
    right = np.array([math.cos(azimuth), math.sin(azimuth), 0.0])
    away = np.array([right[1] * math.cos(elevation), -right[0] * math.cos(elevation), math.sin(elevation)])
    second = math.cos(turned) * away + math.sin(turned) * right
    return [View.along(target, direction, TALL * look.height) for direction in (away, second)]


def shoot(
    stage: Stage, sheet: Sheet, posed: dict[str, Points], pose: np.ndarray, studio: Studio
) -> list[list[np.ndarray]]:
    """The two views of the rest, and of each method in its order."""
    parts = stage.character.parts
    stands = stand_up(stage.name, np.concatenate([part.shape.points for part in parts]))
    stage.show_parts(count_parts(stage.name, sheet.kind, len(parts)))
    look, still = find_look(stage.name, sheet.kind), np.broadcast_to(np.eye(4), pose.shape)
    shown = [([part.shape.points for part in parts], still), *((posed[method], pose) for method in sheet.methods)]
    cells = []
    for points, matrices in shown:
        for obj, own in zip(stage.objects, points, strict=True):
            obj.matrix_world = Matrix(stands.tolist()).to_4x4()
            set_points(obj, own)
        cells.append([studio.shoot(view, *CELL) for view in aim(stage, stands, look, matrices)])
    return cells


def list_alike(stage: Stage, sheet: Sheet, posed: dict[str, Points], pose: np.ndarray) -> list[list[str]]:
    """Methods that nobody can tell apart on a sheet: their points are less than a pixel apart where it shows them."""
    parts = stage.character.parts
    count, look = count_parts(stage.name, sheet.kind, len(parts)), find_look(stage.name, sheet.kind)
    stands = stand_up(stage.name, np.concatenate([part.shape.points for part in parts]))
    target = np.array(aim(stage, stands, look, pose)[0].target)
    seen = {method: np.concatenate(points[:count]) @ stands.T for method, points in posed.items()}
    pixel = TALL * look.height / CELL[1]

    def is_alike(method: str, other: str) -> bool:
        is_shown = np.linalg.norm(seen[method] - target, axis=1) < 0.5 * pixel * np.hypot(*CELL)
        return np.linalg.norm(seen[method] - seen[other], axis=1)[is_shown].max(initial=0.0) < pixel

    groups: list[list[str]] = []
    for method in sheet.methods:
        group = next((group for group in groups if all(is_alike(method, other) for other in group)), None)
        if group is None:
            groups.append(group := [])
        group.append(method)
    return [group for group in groups if len(group) > 1]


@dataclass(frozen=True)
class QuickStudio(Studio):
    """A studio that smooths no noise, which takes most of the time."""

    def set_engine(self, scene: bpy.types.Scene) -> None:
        super().set_engine(scene)
        scene.cycles.use_denoising, scene.cycles.max_bounces = False, 1


def write_sheet(cells: list[list[np.ndarray]], studio: Studio, path: Path) -> None:
    """Put cells on a page, each with its second view below it."""
    (width, height), band = CELL, HEADER + 2 * (CELL[1] + GAP)
    titles, texts = [REST, *LETTERS[: len(cells) - 1]], []
    size = GAP + COLUMNS * (width + GAP), math.ceil(len(cells) / COLUMNS) * band
    page = studio.new_page(*size)
    for index, (title, views) in enumerate(zip(titles, cells, strict=True)):
        left, top = GAP + index % COLUMNS * (width + GAP), index // COLUMNS * band
        texts.append((title, left + width / 2, top + HEADER / 2, 27.0))
        for number, view in enumerate(views):
            studio.put(page, view, left, top + HEADER + number * (height + GAP))
    write_png(path, as_bytes(print_on(page, draw_titles(studio, page.shape, tuple(texts)))))
    print(path, flush=True)


@functools.cache
def draw_titles(studio: Studio, shape: tuple[int, ...], texts: tuple) -> np.ndarray:
    """The texts of a page, which are those of all."""
    return studio.draw_texts(shape, texts)


def read_key(path: Path) -> dict[str, Any]:
    """The key of the sheets that were drawn; empty if there are none."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def draw_sheets(arguments: Any) -> None:
    """The sheets that the command line asks for, and their key."""
    studio, path = QuickStudio.of(arguments), arguments.output / "key.json"
    sheets = deal_sheets(arguments.seed, arguments.methods)
    described = {sheet.number: sheet.describe() for sheet in sheets}
    if any(described.get(number) != sheet | {"alike": []} for number, sheet in read_key(path).items()):
        raise SystemExit(
            f"{arguments.output} has sheets of another seed, or of other methods or poses: use another folder"
        )
    for name in list_at_hand(arguments.assets, arguments.characters, "npz"):
        chosen = [sheet for sheet in sheets if sheet.character == name and sheet.kind in arguments.only]
        if not chosen:
            continue
        start = time.perf_counter()
        posed = pose_all(arguments.assets, name, arguments.methods, [(sheet.kind, sheet.degrees) for sheet in chosen])
        print(f"{name}: bound and posed in {time.perf_counter() - start:.0f} s", flush=True)
        stage = set_stage(arguments.assets, name)
        for index, sheet in enumerate(chosen):
            own = {method: points[index] for method, points in posed.items()}
            pose = make_pose(name, stage.shape, sheet.kind, sheet.degrees)
            write_sheet(shoot(stage, sheet, own, pose, studio), studio, arguments.output / f"{sheet.number}.png")
            stored = read_key(path) | {sheet.number: sheet.describe(list_alike(stage, sheet, own, pose))}
            path.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n", encoding="utf-8")


# Rankings


def print_counts(arguments: Any) -> None:
    """Print counts of rankings for all sheets and by class of joint, and the poses with a method behind Blender's."""
    key = json.loads((arguments.output / "key.json").read_text(encoding="utf-8"))
    ranked = [read_ranking(key, json.loads(path.read_text(encoding="utf-8"))) for path in arguments.rankings]
    print_table(name_columns(key), count_all(key, ranked))
    for one, other in itertools.combinations(range(len(ranked)), 2):
        agreed = measure_agreement(key, ranked[one], ranked[other])
        print(f"Rankings {one + 1} and {other + 1} agree on {agreed:.0%} of the pairs that both tell apart.")
    method = arguments.method
    if all(method in sheet["methods"] for sheet in key.values()):
        print(f"\nPoses where {method} is behind the better of Blender's two:\n")
        header = "sheet", "character", "pose", method, *BLENDERS, "rankings"
        print_table(header, list_behind(key, ranked, method))


def run(arguments: Any) -> None:
    if not arguments.agreed:
        (print_counts if arguments.rankings else draw_sheets)(arguments)
        return
    header = f"{arguments.method} and", "better in all counts", "worse in all", "of poses", "better of these"
    print_table(header, list_agreed([read_count(folder) for folder in arguments.agreed], arguments.method))


if __name__ == "__main__":
    draw(
        __doc__, run, samples=8, characters=option(CHARACTERS, choices=CHARACTERS),
        only=option(tuple(KINDS), "kinds of poses", choices=tuple(KINDS)), methods=METHODS, seed=1,
        rankings=option([], "rankings to count", nargs="+", type=Path),
        agreed=option([], "folders of counts to compare", nargs="+", type=Path),
        method=option(FLESH, "whose poses behind Blender's are listed"),
    )  # fmt: skip
