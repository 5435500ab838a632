"""Pictures of joints, close, by linear blending, Preserve Volume, DLBNT and Centers.

    python benchmarks/center_pictures.py --character mh_human fox --only elbow knee --set sharpness=0.4 --output DIR
    python benchmarks/center_pictures.py --page joints characters worst

The first draws a picture for each character, the second those of docs/centers.md, in 4 minutes on two cores. Needs
Blender's module bpy. The characters are read from a folder of assets that is not part of the repository (--assets).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import bpy
import numpy as np

from harness import list_at_hand, new_scene, option
from benchmarks.bound_characters import PRESERVE_VOLUME, find_deform, merge_seams
from benchmarks.characters import SCULPTED, Character, read_character
from benchmarks.range_of_motion import BONES, CHARACTERS, KINDS, TWIST, bend_joint, find_axis, find_bend
from benchmarks.shapes import Shape
from benchmarks.skin_measures import find_normals
from benchmarks.studio import (
    CLAYS,
    Row,
    Studio,
    View,
    add_mesh,
    cell_width,
    colored,
    draw,
    linear,
    name_row,
    set_points,
    write_page,
)
from deformers.measures.stretch import edge_stretches

DRAWN = ("mh_human", "human_male", "kaykit_knight")
COLUMNS = ("SSD", PRESERVE_VOLUME, "CENTERS")
"""Methods on the pages of the documents."""
SHOWN = ("elbow", "knee", "hip", "arm up", "wrist", "neck", "finger")
OTHERS = {"human_male": ("elbow", "knee"), "fox": ("knee", "hip")}
HEIGHT = 300.0
PAGES = {"joints": "centers.png", "characters": "centers-characters.png", "worst": "centers-worst.png"}

TITLES = {"SSD": "linear (SSD)", PRESERVE_VOLUME: "Preserve Volume", "DLBNT": "DLBNT", "CENTERS": "Centers"}
"""Methods in the order of their columns."""


HEIGHTS = {
    "elbow": 0.15, "knee": 0.23, "hip": 0.36, "arm up": 0.25, "wrist": 0.085, "wrist twist": 0.12, "neck": 0.20,
    "neck turn": 0.20, "spine": 0.42, "spine turn": 0.42, "finger": 0.036,
}  # fmt: skip
"""How much is seen of a joint, as a share of a human's height."""
ZOOMS = {
    "fox": {"elbow": 1.5, "knee": 2.2, "hip": 1.5, "arm up": 2.2, "wrist": 1.6, "neck": 3.2, "neck turn": 3.2},
    "human_male": {"elbow": 1.3, "knee": 1.1, "neck": 1.4},
    "kaykit_knight": {"elbow": 1.7, "knee": 1.0, "arm up": 1.5, "wrist": 2.4, "wrist twist": 2.4, "neck": 2.4},
}
"""How much more is seen of a character's joint than of a human's."""
WORST_HEIGHT = 0.3
"""How much is seen around the edge that is stretched most, as a share of the character's height."""
LEAST_EDGE = 0.003
"""Share of a part's size: shorter edges count as so long."""
FACING = (0.5, -1.0, 0.1)
"""Of both directions along a joint's axis, joints are seen from the one that goes more this way."""
RISE = 12.0
"""Degrees that the camera is above the joint's axis."""
PARTS_SHOWN = MappingProxyType(
    {"mh_human": {"elbow": 1, "knee": 1, "wrist": 1, "wrist twist": 1, "neck": 1, "finger": 1, "hip": 2, "arm up": 2}}
)
"""How many parts are shown of a character's joint, where not all: what the clothes are to show, or what is under."""
FREE = {"elbow": ("arm up", 0.7), "hip": ("arm up", 1.0), "spine": ("arm up", 1.0)}
"""What of a human moves, too, and how far, so that nothing hides a joint or is close behind it."""


@dataclass(frozen=True)
class Stage:
    """A character on stage.

    Attributes
    ----------
    name : str
    character : Character
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

    def shoot(
        self, method: str, pose: np.ndarray, view: View, studio: Studio, width: float, height: float
    ) -> np.ndarray:
        """A cell: the character in a pose, by a method."""
        for obj, points in zip(self.objects, self.deforms[method](pose), strict=True):
            set_points(obj, points)
        return studio.shoot(view, width, height)

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


def set_stage(assets: Path, name: str, methods: tuple[str, ...], chosen: dict[str, float]) -> Stage:
    """Open an empty scene and put a character there, bound by each method; `chosen` are parameters of Centers."""
    new_scene()
    character = read_character(assets, name, 2)
    material, objects = colored("Clay"), []
    for number, (part, merged) in enumerate(zip(character.parts, merge_seams(assets, name), strict=True)):
        triangles = merged[part.shape.triangles]
        corners = np.broadcast_to(linear(np.array(CLAYS[number % len(CLAYS)])), (*triangles.shape, 3))
        objects.append(add_mesh(bpy.context.scene, part.shape.points, triangles, corners, material))
    deforms = {
        method: find_deform(character.parts, method, **(chosen if method == "CENTERS" else {})) for method in methods
    }
    return Stage(name, character, objects, deforms)


def shoot_worst(stage: Stage, studio: Studio, height: float) -> Row:
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
                    label = f"{name_action(action)}\n{number + 1} of {len(triples)}\nstretch {stretches[first]:.1f}"
                    worst = stretches[first], label, pose, posed[edge].mean(axis=0), normals[edge].sum(axis=0)
    _, label, pose, target, away = worst
    view = View.along(target, away, WORST_HEIGHT * stage.height)
    view = replace(view, elevation=float(np.clip(view.elevation, -5.0, 40.0)))
    stage.show_parts(len(stage.objects))
    width = cell_width(len(stage.deforms))
    cells = [stage.shoot(method, pose, view, studio, width, height) for method in stage.deforms]
    return Row(name_row(stage.name, label), cells)


def name_action(action: str) -> str:
    """An action's name on a page, in lines that are no wider than a label."""
    return re.sub(r"^cmu_\d+_\d+_|_Rig$", "", action).replace("_", "\n")


def shoot_joints(stage: Stage, kinds: tuple[str, ...], studio: Studio, height: float) -> list[Row]:
    """A row for each kind of joint that the character has."""
    rows, width = [], cell_width(len(stage.deforms))
    for kind in kinds:
        if kind not in BONES[stage.name]:
            continue
        pose = stage.bend(kind)
        stage.show_parts(PARTS_SHOWN.get(stage.name, {}).get(kind, len(stage.objects)))
        view = stage.view(kind, pose)
        cells = [stage.shoot(method, pose, view, studio, width, height) for method in stage.deforms]
        rows.append(Row(f"{kind}\n{find_bend(stage.name, kind).degrees:.0f}°", cells))
    return rows


def set_stages(arguments: Any, names: tuple[str, ...], methods: tuple[str, ...]) -> Iterator[Stage]:
    """The characters that are at hand, one after the other."""
    chosen = {name: float(value) for name, value in (entry.split("=") for entry in arguments.set)}
    for name in list_at_hand(arguments.assets, names, "npz"):
        yield set_stage(arguments.assets, name, methods, chosen)


def draw_page(arguments: Any, page: str) -> None:
    """A page of the documents, unless there is nothing on it."""
    studio, rows = Studio.of(arguments), []
    if page == "joints":
        for stage in set_stages(arguments, ("mh_human",), COLUMNS):
            rows += shoot_joints(stage, SHOWN, studio, HEIGHT)
    elif page == "characters":
        for stage in set_stages(arguments, tuple(OTHERS), COLUMNS):
            shot = shoot_joints(stage, OTHERS[stage.name], studio, HEIGHT)
            rows += [replace(row, label=name_row(stage.name, row.label)) for row in shot]
    elif page == "worst":
        rows = [shoot_worst(stage, studio, HEIGHT) for stage in set_stages(arguments, DRAWN, COLUMNS)]
    write(arguments, rows, COLUMNS, PAGES[page])


def write(arguments: Any, rows: list[Row], methods: tuple[str, ...], name: str) -> None:
    if rows:
        write_page(rows, [TITLES[method] for method in methods], Studio.of(arguments), arguments.output / name)


def draw_chosen(arguments: Any) -> None:
    """The pages that are asked for, or else a picture for each character."""
    for page in arguments.page:
        draw_page(arguments, page)
    methods = tuple(arguments.methods)
    for stage in set_stages(arguments, () if arguments.page else tuple(arguments.character), methods):
        rows = shoot_joints(stage, tuple(arguments.only), Studio.of(arguments), HEIGHT)
        write(arguments, rows, methods, f"{stage.name}.png")


if __name__ == "__main__":
    draw(
        __doc__, draw_chosen, character=option(DRAWN, choices=CHARACTERS), methods=tuple(TITLES),
        page=option((), "pictures of the documents instead", choices=tuple(PAGES)),
        only=option(SHOWN, "kinds of joints", choices=KINDS),
        set=option([], "parameters of Centers", nargs="+", metavar="NAME=VALUE", type=str),
    )  # fmt: skip
