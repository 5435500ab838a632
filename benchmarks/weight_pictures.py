"""The pictures of docs/weights.md and its methods: weights in colors, in poses, of fingers, and given to clothes.

    python benchmarks/weight_pictures.py [--output DIR] [--size SHARE] [--only NAME ...]

Needs Blender's module bpy; takes 8 minutes on two cores. The characters are read from a folder of assets that is not
part of the repository (--assets); without it nothing is drawn.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Vector

from harness import list_at_hand, read_vertices, select
from benchmarks.pattern_body import FLEX, Pose, curl_fingers
from benchmarks.studio import Drawing, Page, View, draw, linear
from benchmarks.weight_scenes import (
    PARTS,
    Character,
    color_by_bone,
    color_one_bone,
    give_weights,
    open_character,
    paint,
)
from deformers.geometry.neighbors import find_nearest

PAGE: dict[str, Any] = {"header": 84.0, "label_width": 120.0}  # How pages are laid out
TITLES = {
    "BLENDER": "Blender,\nautomatic weights",
    "SOLID": "Supple,\nSolid Heat",
    "SURFACE": "Supple,\nSurface Heat",
    "BIHARMONIC": "Supple,\nBounded Biharmonic",
    "ARTIST": "an artist's weights,\nfor comparison",
}
TRANSFERS = {
    "BLENDER": "Blender,\nData Transfer",
    "TRANSFER": "Supple,\nTransfer",
    "ARTIST": "an artist's weights,\nfor comparison",
}
UNDER = (0.86, 0.13, 0.10)  # Color of skin under clothes, sRGB: visible skin has come through
COVERED = {"tights": 0.02, "skirt": 0.15}  # Maximum distance of covered skin from clothes, meters
RIM = 0.03  # Minimum distance of covered skin from the rims of clothes, meters


@dataclass(frozen=True)
class Row:
    """A character in a pose, and how it is seen."""

    label: str
    view: View  # Its target is counted from the posed head of `bone`, if one is given
    pose: Pose | tuple[str, int] = field(default_factory=dict)
    bone: str = ""
    height: float = 330.0  # of the cell
    colors: str = "PARTS"  # "BONES", "PARTS", or the bone whose weight is shown
    name: str = "mh_human"  # The character
    parts: tuple[str, ...] = ("body",)  # Endings of the names of its parts; all if empty
    joined: bool = False  # Whether they are one object
    subdivisions: int = 1


LIFT: Pose = {
    "upperleg01.L": (-75.0, 0.0, 0.0), "upperleg02.L": (-10.0, 0.0, 0.0), "lowerleg01.L": (100.0, 0.0, 0.0),
    "upperleg01.R": (15.0, 0.0, 0.0), "lowerleg01.R": (0.0, 0.0, 0.0),
}  # fmt: skip
REACH: Pose = {"clavicle.L": (0.0, 0.0, 14.0), "shoulder01.L": (0.0, 0.0, 8.0), "upperarm01.L": (0.0, 0.0, 75.0)}
FIST: Pose = {**curl_fingers(1.0), "lowerarm01.L": (60.0, 0.0, 0.0)}
POINT: Pose = {bone: angles for bone, angles in FIST.items() if not bone.startswith("finger2")}
HAND = View((-0.02, 0.0, -0.02), 105.0, 15.0, 0.25)
METHOD_ROWS = (
    Row("all bones", View((0.0, 0.0, 1.06), 25.0, 5.0, 1.02), height=400.0, colors="BONES"),
    Row("hand", HAND, bone="finger3-1.L", height=280.0, colors="BONES"),
    Row("face", View((0.0, 0.0, 1.475), 25.0, 0.0, 0.27), height=280.0, colors="BONES"),
    Row("one bone,\nupper leg", View((0.04, 0.0, 0.8), 30.0, 5.0, 0.62), height=300.0, colors="upperleg01.L"),
)
POSED_ROWS = (
    Row(
        "six parts,\njoined as\nimported", View((0.0, 0.0, 0.62), 40.0, 8.0, 2.75), ("1H_Melee_Attack_Chop_Rig", 12),
        "hips", 330.0, name="kaykit_knight", parts=(), joined=True, subdivisions=0,
    ),
    Row(
        "body and\nskirt,\njoined", View((0.08, 0.0, -0.06), 20.0, 5.0, 1.75), ("cmu_05_06_dance", 100),
        "spine05", 380.0, parts=("body", "skirt"), joined=True,
    ),
    Row("hip, knee", View((0.0, -0.18, -0.06), 70.0, 8.0, 0.6), LIFT, "upperleg01.L", 300.0),
    Row("shoulder,\nelbow", View((0.05, 0.0, 0.02), 0.0, 3.0, 0.5), FLEX, "upperarm02.L", 300.0),
    Row("arm up", View((-0.03, 0.0, 0.0), 20.0, 5.0, 0.56), REACH, "upperarm01.L", 300.0),
)  # fmt: skip
FINGER_ROWS = (
    Row("fist", View((-0.012, 0.025, -0.018), -65.0, 5.0, 0.115), FIST, "finger3-1.L", 250.0),
    Row("fist,\nback", View((-0.004, 0.034, -0.022), 100.0, 20.0, 0.125), FIST, "finger3-1.L", 250.0),
    Row("pointing", View((-0.01, 0.018, -0.01), -65.0, 5.0, 0.14), POINT, "finger3-1.L", 250.0),
)
TRANSFER_ROWS = (
    Row("tights,\nknee up", View((0.0, -0.12, 0.02), 30.0, 15.0, 0.66), LIFT, "upperleg01.L", 400.0),
    Row("skirt,\nknee up", View((0.06, 0.0, -0.32), 20.0, 8.0, 1.0), LIFT, "spine05", 400.0),
    Row("skirt,\na dance", View((0.1, 0.0, -0.28), 20.0, 5.0, 1.15), ("cmu_05_06_dance", 100), "spine05", 400.0),
)
ROWS = {"methods": METHOD_ROWS, "posed": POSED_ROWS, "fingers": FINGER_ROWS, "transfer": TRANSFER_ROWS}
CHARACTERS = ("mh_human", "kaykit_knight")


def lay_out(arguments: Any, rows: tuple[Row, ...], titles: dict[str, str]) -> Page:
    """An empty page."""
    labels, heights = [row.label for row in rows], [row.height for row in rows]
    return Page(Drawing.of(arguments), tuple(titles.values()), labels, heights, **PAGE)


def draw_rows(arguments: Any, name: str) -> None:
    """Draw rows of the results of each method."""
    page = lay_out(arguments, ROWS[name], TITLES)
    for column, method in enumerate(TITLES):
        for _, group in groupby(
            enumerate(ROWS[name]), key=lambda entry: (entry[1].name, entry[1].parts, entry[1].joined)
        ):
            members = list(group)
            first = members[0][1]
            character = open_character(arguments.assets, first.name, first.parts, first.joined, first.subdivisions)
            give_weights(character, method)
            for number, row in members:
                page.put(number, column, _shoot_row(character, row, page))
    page.write(arguments.output / f"weights-{name}.png")


def _shoot_row(character: Character, row: Row, page: Page) -> np.ndarray:
    character.pose(row.pose)
    if row.colors == "BONES":
        color_by_bone(character)
    elif row.colors != "PARTS":
        color_one_bone(character, row.colors)
    else:
        character.color_parts()
    return page.studio.shoot(_follow(character, row), page.width, row.height)


def _follow(character: Character, row: Row) -> View:
    """The row's view of where its bone is now."""
    if not row.bone:
        return row.view
    head = cast(Any, character.armature.pose).bones[row.bone].head
    return replace(row.view, target=tuple(Vector(row.view.target) + character.armature.matrix_world @ head))


def draw_transfer(arguments: Any, name: str) -> None:
    """Draw clothes on a body that has an artist's weights, in poses; skin that comes through is red."""
    page = lay_out(arguments, ROWS[name], TRANSFERS)
    for column, method in enumerate(TRANSFERS):
        for number, row in enumerate(ROWS[name]):
            cloth = row.label.split(",")[0]
            character = open_character(arguments.assets, row.name, ("body", cloth), subdivisions=row.subdivisions)
            _dress(character, cloth, method)
            character.pose(row.pose)
            _stress_covered(character, cloth)
            page.put(number, column, page.studio.shoot(_follow(character, row), page.width, row.height))
    page.write(arguments.output / f"weights-{name}.png")


def _stress_covered(character: Character, cloth: str) -> None:
    """Color the skin under a piece of clothing at rest, to show if it comes through."""
    mesh = cast(bpy.types.Mesh, character.find(cloth).data)
    body, worn = read_vertices(cast(bpy.types.Mesh, character.find("body").data).vertices), read_vertices(mesh.vertices)
    sides = Counter(key for polygon in mesh.polygons for key in polygon.edge_keys)
    rim = worn[np.unique([key for key, count in sides.items() if count == 1])]
    covered = find_nearest(body, worn, 1)[1][:, 0] < COVERED[cloth]
    covered &= (body[:, 2] > worn[:, 2].min()) & (body[:, 2] < worn[:, 2].max() - RIM)
    covered &= find_nearest(body, rim, 1)[1][:, 0] > RIM
    paint(character.find("body"), linear(np.where(covered[:, None], UNDER, PARTS["mh_human_body"])))


def _dress(character: Character, cloth: str, method: str) -> None:
    """Give the weights of the body to a piece of clothing."""
    body, worn = character.find("body"), character.find(cloth)
    if method == "ARTIST":
        return
    worn.vertex_groups.clear()
    select([body, worn], body)
    if method == "TRANSFER":
        bpy.ops.supple.weights_transfer()
        return
    bpy.ops.object.data_transfer(
        data_type="VGROUP_WEIGHTS", vert_mapping="POLYINTERP_NEAREST", layers_select_src="ALL",
        layers_select_dst="NAME", use_create=True,
    )  # fmt: skip


def draw_page(arguments: Any, name: str) -> None:
    """A page, if all characters are at hand."""
    if len(list_at_hand(arguments.assets, CHARACTERS)) == len(CHARACTERS):
        (draw_transfer if name == "transfer" else draw_rows)(arguments, name)


if __name__ == "__main__":
    draw(__doc__, dict.fromkeys(ROWS, draw_page), samples=8)
