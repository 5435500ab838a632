"""The pages of weight pictures: which characters, poses and views are on them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Vector

from benchmarks.particle_pictures import linear
from benchmarks.pattern_body import Pose, curl_fingers
from benchmarks.pattern_pages import FLEX
from benchmarks.pattern_scenes import View
from benchmarks.weight_scenes import (
    PARTS,
    Character,
    Drawing,
    color_by_bone,
    color_one_bone,
    give_weights,
    open_character,
    paint,
    select,
)
from bridge.meshes import read_points
from deformers.geometry.neighbors import find_nearest

WIDTH, GAP, HEADER = 1500.0, 10.0, 84.0
TITLE_SIZE, LABEL_SIZE = 27.0, 24.0
LABEL_WIDTH = 120.0
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
UNDER = (0.86, 0.13, 0.10)
"""Color of a body under clothes: what is seen of it has come through. sRGB."""
COVERED = {"tights": 0.02, "skirt": 0.15}
"""How far from clothes, meters, what they cover is at most, ..."""
RIM = 0.03
"""... and from their rims at least."""


@dataclass(frozen=True)
class Row:
    """A character in a pose, and how it is seen.

    Attributes
    ----------
    label : str
    view : View
        Its target is counted from the posed head of `bone`, if one is given.
    pose : Pose, or name and frame of an action
    bone : str
    height : float
        Of the cell.
    colors : str
        "BONES", "PARTS", or the bone whose weight is shown.
    name : str
        The character.
    parts : tuple of str
        Endings of the names of its parts; all if empty.
    joined : bool
        Whether they are one object.
    subdivisions : int
    """

    label: str
    view: View
    pose: Pose | tuple[str, int] = field(default_factory=dict)
    bone: str = ""
    height: float = 330.0
    colors: str = "PARTS"
    name: str = "mh_human"
    parts: tuple[str, ...] = ("body",)
    joined: bool = False
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


def draw_methods(path: Path, assets: Path, studio: Drawing) -> None:
    """Weights in colors."""
    _draw_rows(METHOD_ROWS, tuple(TITLES), path, assets, studio)


def draw_posed(path: Path, assets: Path, studio: Drawing) -> None:
    """Characters in poses, all by linear blending."""
    _draw_rows(POSED_ROWS, tuple(TITLES), path, assets, studio)


def draw_fingers(path: Path, assets: Path, studio: Drawing) -> None:
    """A hand that closes."""
    _draw_rows(FINGER_ROWS, tuple(TITLES), path, assets, studio)


def _draw_rows(rows: tuple[Row, ...], methods: tuple[str, ...], path: Path, assets: Path, studio: Drawing) -> None:
    """Rows of what each method gives."""
    page, lefts, tops, width = _lay_out(studio, [row.height for row in rows], len(methods))
    for method, left in zip(methods, lefts, strict=True):
        placed = zip(rows, tops, strict=True)
        for _, group in groupby(placed, key=lambda entry: (entry[0].name, entry[0].parts, entry[0].joined)):
            members = list(group)
            first = members[0][0]
            character = open_character(assets, first.name, first.parts, first.joined, first.subdivisions)
            give_weights(character, method)
            for row, top in members:
                studio.put(page, _shoot_row(character, row, studio, width), left, top)
    _write(studio, page, rows, [TITLES[method] for method in methods], lefts, tops, width, path)


def _shoot_row(character: Character, row: Row, studio: Drawing, width: float) -> np.ndarray:
    character.pose(row.pose)
    if row.colors == "BONES":
        color_by_bone(character)
    elif row.colors != "PARTS":
        color_one_bone(character, row.colors)
    else:
        character.color_parts()
    return studio.shoot(_follow(character, row), width, row.height)


def _follow(character: Character, row: Row) -> View:
    """The row's view of where its bone is now."""
    if not row.bone:
        return row.view
    head = cast(Any, character.armature.pose).bones[row.bone].head
    return replace(row.view, target=tuple(Vector(row.view.target) + character.armature.matrix_world @ head))


def _lay_out(studio: Drawing, heights: list[float], columns: int) -> tuple[np.ndarray, list[float], list[float], float]:
    """An empty page, where its columns and rows begin, and the width of a cell."""
    width = (WIDTH - LABEL_WIDTH - columns * GAP) / columns
    lefts = [LABEL_WIDTH + column * (width + GAP) for column in range(columns)]
    tops = [HEADER + sum(heights[:number]) + number * GAP for number in range(len(heights))]
    return studio.new_page(WIDTH, tops[-1] + heights[-1] + GAP), lefts, tops, width


def _write(
    studio: Drawing,
    page: np.ndarray,
    rows: tuple[Row, ...],
    titles: list[str],
    lefts: list[float],
    tops: list[float],
    width: float,
    path: Path,
) -> None:
    texts = [(title, left + width / 2, HEADER / 2, TITLE_SIZE) for title, left in zip(titles, lefts, strict=True)]
    texts += [
        (row.label, LABEL_WIDTH / 2, top + row.height / 2, LABEL_SIZE) for row, top in zip(rows, tops, strict=True)
    ]
    studio.write(page, texts, path)


def draw_transfer(path: Path, assets: Path, studio: Drawing) -> None:
    """Clothes on a body that has an artist's weights, in poses; what has come through them is red."""
    page, lefts, tops, width = _lay_out(studio, [row.height for row in TRANSFER_ROWS], len(TRANSFERS))
    for method, left in zip(TRANSFERS, lefts, strict=True):
        for row, top in zip(TRANSFER_ROWS, tops, strict=True):
            cloth = row.label.split(",")[0]
            character = open_character(assets, row.name, ("body", cloth), subdivisions=row.subdivisions)
            _dress(character, cloth, method)
            character.pose(row.pose)
            _stress_covered(character, cloth)
            studio.put(page, studio.shoot(_follow(character, row), width, row.height), left, top)
    _write(studio, page, TRANSFER_ROWS, list(TRANSFERS.values()), lefts, tops, width, path)


def _stress_covered(character: Character, cloth: str) -> None:
    """Color what of the body is under a piece of clothing at rest, so that it is seen where it comes through."""
    mesh = cast(bpy.types.Mesh, character.find(cloth).data)
    body, worn = read_points(cast(bpy.types.Mesh, character.find("body").data)), read_points(mesh)
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


DRAW = {"methods": draw_methods, "posed": draw_posed, "fingers": draw_fingers, "transfer": draw_transfer}
"""What draws each picture into a file: from the assets, in a studio."""
