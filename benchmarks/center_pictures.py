"""Close pictures of joints by linear blending, Preserve Volume and Centers.

    python benchmarks/center_pictures.py --page joints characters worst

Draws the pictures of docs/centers.md, in 4 minutes on two cores. Needs Blender's module bpy, and the real characters
(--assets), which are not part of the repository.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import bpy
import numpy as np

from harness import list_at_hand, new_scene
from benchmarks.bound_characters import PRESERVE_VOLUME, find_deform, merge_seams
from benchmarks.characters import SCULPTED, Character, read_character
from benchmarks.range_of_motion import BONES, TWIST, bend_joint, find_axis, find_bend
from benchmarks.shapes import Shape
from benchmarks.skin_measures import find_normals
from benchmarks.studio import (
    CLAYS,
    Row,
    Studio,
    View,
    add_figure,
    cell_width,
    colored,
    draw,
    name_row,
    set_points,
    write_page,
)
from deformers.measures.stretch import edge_stretches

DRAWN = ("mh_human", "human_male", "kaykit_knight")
SHOWN = ("elbow", "knee", "hip", "arm up", "wrist", "neck", "finger")
OTHERS = {"human_male": ("elbow", "knee"), "fox": ("knee", "hip")}
HEIGHT = 300.0

TITLES = {"SSD": "linear (SSD)", PRESERVE_VOLUME: "Preserve Volume", "CENTERS": "Centers"}

# Height of the picture of a joint, as a share of a human's height
HEIGHTS = {
    "elbow": 0.15, "knee": 0.23, "hip": 0.36, "arm up": 0.25, "wrist": 0.085, "wrist twist": 0.12, "neck": 0.20,
    "neck turn": 0.20, "spine": 0.42, "spine turn": 0.42, "finger": 0.036,
}  # fmt: skip
# Height of the picture relative to that of a human's joint
ZOOMS = {
    "fox": {"elbow": 1.5, "knee": 2.2, "hip": 1.5, "arm up": 2.2, "wrist": 1.6, "neck": 3.2, "neck turn": 3.2},
    "human_male": {"elbow": 1.3, "knee": 1.1, "neck": 1.4},
    "kaykit_knight": {"elbow": 1.7, "knee": 1.0, "arm up": 1.5, "wrist": 2.4, "wrist twist": 2.4, "neck": 2.4},
}
WORST_HEIGHT = 0.3  # Height of the picture, as a share of the character's
LEAST_EDGE = 0.003  # Share of a part's size; shorter edges count as this long
# The camera is on the side of a joint's axis that is nearer to this direction
FACING = (0.5, -1.0, 0.1)
RISE = 12.0  # Degrees that the camera is above the joint's axis
# Number of parts to show, if not all: some joints with clothes, some without
PARTS_SHOWN = MappingProxyType(
    {"mh_human": {"elbow": 1, "knee": 1, "wrist": 1, "wrist twist": 1, "neck": 1, "finger": 1, "hip": 2, "arm up": 2}}
)
# Other joint of a human that moves, and its share, to keep it from hiding the joint
FREE = {"elbow": ("arm up", 0.7), "hip": ("arm up", 1.0), "spine": ("arm up", 1.0)}


@dataclass(frozen=True)
class Stage:
    """A character on stage.

    Attributes
    ----------
    objects : list
        Of its parts.
    deforms : dict from a method to a function
        From a pose's matrices to the points of each part.
    """

    name: str
    character: Character
    objects: list[bpy.types.Object]
    deforms: dict[str, Callable[[np.ndarray], list[np.ndarray]]]

    @property
    def shape(self) -> Shape:
        """A part of the character: all have its bones."""
        return self.character.parts[0].shape

    @property
    def height(self) -> float:
        """The character's, at rest."""
        points = np.concatenate([part.shape.points for part in self.character.parts])
        return float(np.ptp(points[:, 2]))

    def shoot(self, pose: np.ndarray, view: View, studio: Studio) -> list[np.ndarray]:
        """Draw the character in a pose by each method."""
        cells = []
        for deform in self.deforms.values():
            for obj, points in zip(self.objects, deform(pose), strict=True):
                set_points(obj, points)
            cells.append(studio.shoot(view, cell_width(len(self.deforms)), HEIGHT))
        return cells

    def show_parts(self, count: int) -> None:
        """Show so many parts, hide the others."""
        for number, obj in enumerate(self.objects):
            obj.hide_render = number >= count

    def bend(self, kind: str) -> np.ndarray:
        """The pose in which a joint is at the end of its range, and nothing hides it."""
        pose = bend_joint(self.name, self.shape, kind)
        if self.name == "fox" or kind not in FREE:
            return pose
        return bend_joint(self.name, self.shape, *FREE[kind]) @ pose

    def view(self, kind: str, pose: np.ndarray) -> View:
        """The view of a joint in a pose, along its axis."""
        bone, axis = find_axis(self.name, self.shape, kind)
        axis = pose[bone, :3, :3] @ axis
        if find_bend(self.name, kind).toward == TWIST:
            axis = np.array(FACING) - (np.array(FACING) @ axis) * axis
        axis = axis if axis @ FACING > 0.0 else -axis
        head = pose[bone, :3, :3] @ self.shape.heads[bone] + pose[bone, :3, 3]
        view = View.along(head, axis, self.height * HEIGHTS[kind] * ZOOMS.get(self.name, {}).get(kind, 1.0))
        return replace(view, elevation=view.elevation + RISE)


def set_stage(assets: Path, name: str, methods: tuple[str, ...] = ()) -> Stage:
    """Open an empty scene and add a character, bound by each method."""
    new_scene()
    character = read_character(assets, name, 2)
    material, objects = colored("Clay"), []
    for number, (part, merged) in enumerate(zip(character.parts, merge_seams(assets, name), strict=True)):
        triangles = merged[part.shape.triangles]
        objects.append(add_figure(part.shape.points, triangles, CLAYS[number % len(CLAYS)], material))
    deforms = {method: find_deform(character.parts, method) for method in methods}
    return Stage(name, character, objects, deforms)


def shoot_worst(stage: Stage, studio: Studio) -> Row:
    """The frame of the stored actions in which Centers stretches an edge most, seen from outside that edge."""
    parts, worst = stage.character.parts, (0.0, "", np.empty(0), np.zeros(3), np.zeros(3))
    for action, triples in stage.character.actions.items():
        if action in SCULPTED:
            continue
        for number, pose in enumerate(triples[:, 1]):
            for part, posed in zip(parts, stage.deforms["CENTERS"](pose), strict=True):
                floor = LEAST_EDGE * part.shape.diagonal
                stretches = edge_stretches(part.shape.points, posed, part.edges, floor)
                first = int(np.argmax(stretches))
                if stretches[first] > worst[0]:
                    edge = part.edges[first]
                    normals = find_normals(posed, part.shape.triangles)[1]
                    title = re.sub(r"^cmu_\d+_\d+_|_Rig$", "", action).replace("_", "\n")
                    label = f"{title}\n{number + 1} of {len(triples)}\nstretch {stretches[first]:.1f}"
                    worst = stretches[first], label, pose, posed[edge].mean(axis=0), normals[edge].sum(axis=0)
    _, label, pose, target, away = worst
    view = View.along(target, away, WORST_HEIGHT * stage.height)
    view = replace(view, elevation=float(np.clip(view.elevation, -5.0, 40.0)))
    stage.show_parts(len(stage.objects))
    return Row(name_row(stage.name, label), stage.shoot(pose, view, studio))


def shoot_joints(stage: Stage, kinds: tuple[str, ...], studio: Studio) -> list[Row]:
    """A row for each kind of joint that the character has."""
    rows = []
    for kind in kinds:
        if kind not in BONES[stage.name]:
            continue
        pose = stage.bend(kind)
        stage.show_parts(PARTS_SHOWN.get(stage.name, {}).get(kind, len(stage.objects)))
        view = stage.view(kind, pose)
        rows.append(Row(f"{kind}\n{find_bend(stage.name, kind).degrees:.0f}°", stage.shoot(pose, view, studio)))
    return rows


def draw_joints(stage: Stage, studio: Studio) -> list[Row]:
    return shoot_joints(stage, SHOWN, studio)


def draw_others(stage: Stage, studio: Studio) -> list[Row]:
    rows = shoot_joints(stage, OTHERS[stage.name], studio)
    return [replace(row, label=name_row(stage.name, row.label)) for row in rows]


def draw_worst(stage: Stage, studio: Studio) -> list[Row]:
    return [shoot_worst(stage, studio)]


# File, characters, and the function that draws the rows of one character
PAGES: dict[str, tuple[str, tuple[str, ...], Callable[[Stage, Studio], list[Row]]]] = {
    "joints": ("centers.png", ("mh_human",), draw_joints),
    "characters": ("centers-characters.png", tuple(OTHERS), draw_others),
    "worst": ("centers-worst.png", DRAWN, draw_worst),
}


def draw_pages(arguments: Any) -> None:
    """Draw pages of the documents; without the characters of a page, none."""
    studio = Studio.of(arguments)
    for file, characters, draw_character in (PAGES[page] for page in arguments.page):
        rows = []
        for name in list_at_hand(arguments.assets, characters, "npz"):
            rows += draw_character(set_stage(arguments.assets, name, tuple(TITLES)), studio)
        if rows:
            write_page(rows, tuple(TITLES.values()), studio, arguments.output / file)


if __name__ == "__main__":
    draw(__doc__, draw_pages, page=tuple(PAGES))
