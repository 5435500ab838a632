"""Scenes of the pictures of Centers: a character's parts in clay, posed by one method after the other, seen close."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import bpy
import numpy as np

from benchmarks.bound_characters import PRESERVE_VOLUME, find_deform, merge_seams
from benchmarks.characters import SCULPTED, Character, read_character
from benchmarks.particle_pictures import add_mesh, colored, linear
from benchmarks.pattern_scenes import Studio, View
from benchmarks.range_of_motion import BONES, TWIST, bend_joint, find_axis, find_bend
from benchmarks.shapes import Shape
from benchmarks.skin_measures import find_normals
from deformers.measures.stretch import edge_stretches

TITLES = MappingProxyType(
    {
        "SSD": "linear (SSD)",
        PRESERVE_VOLUME: "Preserve Volume",
        "DLBNT": "DLBNT",
        "CENTERS": "Centers",
    }
)
"""Methods in the order of their columns."""

WIDTH, GAP, HEADER, LABEL_WIDTH = 1500.0, 10.0, 60.0, 130.0
TITLE_SIZE, LABEL_SIZE = 27.0, 24.0
CLAYS = ((0.78, 0.58, 0.48), (0.42, 0.50, 0.58), (0.72, 0.60, 0.36), (0.60, 0.64, 0.68), (0.62, 0.46, 0.44))
"""Colors of the parts, sRGB."""

HEIGHTS = MappingProxyType(
    {
        "elbow": 0.15,
        "knee": 0.23,
        "hip": 0.36,
        "arm up": 0.25,
        "wrist": 0.085,
        "wrist twist": 0.12,
        "neck": 0.20,
        "neck turn": 0.20,
        "spine": 0.42,
        "spine turn": 0.42,
        "finger": 0.036,
    }
)
"""How much is seen of a joint, as a share of a human's height."""
ZOOMS: MappingProxyType[str, dict[str, float]] = MappingProxyType(
    {
        "fox": {"elbow": 1.5, "knee": 2.2, "hip": 1.5, "arm up": 2.2, "wrist": 1.6, "neck": 3.2, "neck turn": 3.2},
        "human_male": {"elbow": 1.3, "knee": 1.1, "neck": 1.4},
        "kaykit_knight": {"elbow": 1.7, "knee": 1.0, "arm up": 1.5, "wrist": 2.4, "wrist twist": 2.4, "neck": 2.4},
    }
)
"""How much more is seen of a character's joint than of a human's."""
NAMES = MappingProxyType(
    {
        "mh_human": "woman",
        "mh_human_game": "woman",
        "human_male": "man",
        "fox": "fox",
        "cesium_man": "Cesium man",
        "kaykit_knight": "knight",
    }
)
"""What characters are called on pages."""
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
FREE = MappingProxyType({"elbow": ("arm up", 0.7), "hip": ("arm up", 1.0), "spine": ("arm up", 1.0)})
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
            obj.data.vertices.foreach_set("co", points.astype(np.float32).ravel())
            obj.data.update()
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
        axis = axis / np.linalg.norm(axis)
        head = pose[bone, :3, :3] @ self.shape.heads[bone] + pose[bone, :3, 3]
        return View(
            target=tuple(head.tolist()),
            azimuth=float(np.degrees(np.arctan2(axis[0], -axis[1]))),
            elevation=float(np.degrees(np.arcsin(axis[2]))) + RISE,
            height=self.height * HEIGHTS[kind] * ZOOMS.get(self.name, {}).get(kind, 1.0),
        )


def set_stage(assets: Path, name: str, methods: tuple[str, ...], chosen: dict[str, float]) -> Stage:
    """Open an empty scene and put a character there, bound by each method; `chosen` are parameters of Centers."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
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


def name_row(character: str, label: str) -> str:
    """What stands beside a row, on a page of several characters."""
    return f"{NAMES[character]}\n{label}"


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
    away = away / np.linalg.norm(away)
    view = View(
        target=(float(target[0]), float(target[1]), float(target[2])),
        azimuth=float(np.degrees(np.arctan2(away[0], -away[1]))),
        elevation=float(np.clip(np.degrees(np.arcsin(away[2])), -5.0, 40.0)),
        height=WORST_HEIGHT * stage.height,
    )
    stage.show_parts(len(stage.objects))
    width = cell_width(len(stage.deforms))
    cells = [stage.shoot(method, pose, view, studio, width, height) for method in stage.deforms]
    return Row(name_row(stage.name, label), cells)


def name_action(action: str) -> str:
    """An action's name on a page, in lines that are no wider than a label."""
    return re.sub(r"^cmu_\d+_\d+_|_Rig$", "", action).replace("_", "\n")


@dataclass(frozen=True)
class Row:
    """Cells that show the same by each method."""

    label: str
    cells: list[np.ndarray]


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


def cell_width(columns: int) -> float:
    return (WIDTH - LABEL_WIDTH - columns * GAP) / columns


def write_page(rows: list[Row], titles: Sequence[str], studio: Studio, path: Path) -> None:
    """Put rows under the titles of their columns, and save the page."""
    width = cell_width(len(titles))
    heights = [row.cells[0].shape[0] / studio.size for row in rows]
    page = studio.new_page(WIDTH, HEADER + sum(heights) + GAP * len(rows))
    lefts = [LABEL_WIDTH + column * (width + GAP) for column in range(len(titles))]
    texts = [(title, left + width / 2, HEADER / 2, TITLE_SIZE) for title, left in zip(titles, lefts, strict=True)]
    top = HEADER
    for row, height in zip(rows, heights, strict=True):
        texts.append((row.label, LABEL_WIDTH / 2, top + height / 2, LABEL_SIZE))
        for cell, left in zip(row.cells, lefts, strict=True):
            studio.put(page, cell, left, top)
        top += height + GAP
    studio.write(page, texts, path)
