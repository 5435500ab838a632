"""The pictures of docs/swing.md: strips of actions and films, without swing and with it.

    python benchmarks/swing_pictures.py [--only fox film cloak] [--assets DIR]

Needs Blender's module bpy. The characters are read from a folder of assets that is not part of the repository.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from mathutils import Vector

from harness import api, new_scene, play_action
from benchmarks.animated_webp import write_animation
from benchmarks.motion_pictures import read_skin, write
from benchmarks.motions import open_character
from benchmarks.studio import Studio, View, add_figure, add_floor, colored, draw

CHARACTER = "fox"
ACTIONS = ("Jump_Armature", "Run_Armature")
PLAIN, SWUNG = (0.42, 0.48, 0.54), (0.90, 0.55, 0.22)  # Colors without swing, and with it, sRGB
COUNT, SPACING = 6, 3.5  # Foxes in a row, and meters between them
DEEPER = -0.02  # Offset of foxes without swing, meters: behind the others, so that one color shows if both are equal
WIDTH, HEIGHT, TALL = 1100.0, 220.0, 4.4  # Of a row; and its height in meters
FILM_WIDTH, FILM_HEIGHT = 400.0, 260.0  # Size of a character in a film
CAPE = ("cape.1", "cape.2", "cape.3", "cape.4")

Skin = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Film:
    """An action of a character, beside what it is with swing."""

    character: str
    action: str
    view: View  # Of the character, whose vertices are about the origin on the mean
    prepare: Callable[[Any], None] | None = None  # adds the bones that swing

    def shoot(self, skin: Skin, color: tuple, floor: float, studio: Studio) -> np.ndarray:
        """A picture of a frame."""
        new_scene()
        points, triangles = skin
        add_figure(points, triangles, color, colored("Skin"))
        add_floor(bpy.context.scene, floor)
        return studio.shoot(self.view, FILM_WIDTH, FILM_HEIGHT)


def shoot(rows: Sequence[tuple[Sequence[Skin], tuple]], studio: Studio) -> np.ndarray:
    """Foxes from the side, beside each other; those of all rows in the same places, each row in its color."""
    new_scene()
    scene, material = bpy.context.scene, colored("Skin")
    first, _ = rows[0][0][0]
    middle = 0.5 * (first.min(axis=0) + first.max(axis=0)) * (1.0, 1.0, 0.0)
    floor = min(float(points[:, 2].min()) for skins, _ in rows for points, _ in skins)
    for skins, color in rows:
        for number, (points, triangles) in enumerate(skins):
            along = SPACING * (number - 0.5 * (len(skins) - 1))
            shift = np.array([DEEPER * (color == PLAIN), along, 0.0])
            add_figure(points + shift - middle, triangles, color, material)
    add_floor(scene, floor)
    return studio.shoot(View((0.0, 0.0, floor + 0.5 * TALL - 0.2), 90.0, 4.0, TALL), WIDTH, HEIGHT)


def play(armature: Any, name: str) -> tuple[int, int]:
    """Have a character play an action; its first and last frame."""
    first, last = play_action(armature, name).frame_range
    return math.ceil(first), math.floor(last)


def read_row(armature: Any, name: str) -> list[Skin]:
    """The fox in some frames of an action."""
    return [read_skin(round(frame)) for frame in np.linspace(*play(armature, name), COUNT + 2)[1:-1]]


def add_cape(armature: Any) -> None:
    """Have the knight's cape, which hangs on one bone, follow a chain of bones down its middle."""
    cape, count = bpy.data.objects["Knight_Cape"], len(CAPE)
    points = np.array([cape.matrix_world @ vertex.co for vertex in cape.data.vertices])
    top, bottom = points[:, 2].max(), points[:, 2].min()
    levels = np.linspace(top, bottom, count + 1)
    order = np.argsort(points[:, 2])
    depths = np.interp(levels, points[order, 2], points[order, 1])
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    to_armature = armature.matrix_world.inverted()
    for number, name in enumerate(CAPE):
        bone = armature.data.edit_bones.new(name)
        bone.head, bone.tail = (to_armature @ Vector((0.0, depths[end], levels[end])) for end in (number, number + 1))
        bone.parent = armature.data.edit_bones[CAPE[number - 1] if number else "chest"]
    bpy.ops.object.mode_set(mode="OBJECT")
    along = np.clip((top - points[:, 2]) / (top - bottom) * count - 0.5, 0.0, count - 1.0)
    for number, name in enumerate(CAPE):
        group = cape.vertex_groups.new(name=name)
        for vertex, weight in enumerate(np.maximum(1.0 - np.abs(along - number), 0.0)):
            group.add([vertex], weight, "REPLACE")
    world = cape.matrix_world.copy()
    cape.parent_type = "OBJECT"
    cape.matrix_world = world
    cape.modifiers.new("Armature", "ARMATURE").object = armature


FILMS = {
    "film": Film("fox", "Run_Armature", View((0.0, 0.0, 1.1), 90.0, 4.0, 2.6)),
    "cloak": Film("kaykit_knight", "1H_Melee_Attack_Chop_Rig", View((0.0, 0.1, 1.1), 120.0, 6.0, 2.8), add_cape),
}


def draw_film(arguments: Any, name: str) -> None:
    """An action, as it is and with swing beside it."""
    film, studio = FILMS[name], Studio.of(arguments)
    armature = open_character(arguments.assets, film.character)
    if film.prepare is not None:
        film.prepare(armature)
    first, last = play(armature, film.action)
    frames = range(first, last)
    plain = [read_skin(frame) for frame in frames]
    scene = bpy.context.scene
    milliseconds = round(1000.0 * scene.render.fps_base / scene.render.fps)
    api().Character(armature).swing()
    play(armature, film.action)
    swung = [read_skin(frame) for frame in frames]
    floor = min(float(points[:, 2].min()) for points, _ in plain)
    pictures = []
    for before, after in zip(plain, swung, strict=True):
        middle = before[0].mean(axis=0) * (1.0, 1.0, 0.0)
        beside = [
            ((points - middle, triangles), color) for (points, triangles), color in ((before, PLAIN), (after, SWUNG))
        ]
        pictures.append(np.concatenate([film.shoot(skin, color, floor, studio) for skin, color in beside], axis=1))
    write_animation(arguments.output / f"swing-{name}.webp", pictures, [milliseconds] * len(pictures), 80)


def draw_strips(arguments: Any, name: str) -> None:
    """A row of each action: as it is, and with swing, in one place."""
    studio = Studio.of(arguments)
    armature = open_character(arguments.assets, CHARACTER)
    plain = [read_row(armature, action) for action in ACTIONS]
    api().Character(armature).swing()
    swung = [read_row(armature, action) for action in ACTIONS]
    rows = [
        (action.removesuffix("_Armature").lower(), shoot([(before, PLAIN), (after, SWUNG)], studio))
        for action, before, after in zip(ACTIONS, plain, swung, strict=True)
    ]
    write(studio, rows, arguments.output / f"swing-{name}.png")


if __name__ == "__main__":
    draw(__doc__, {"fox": draw_strips, **dict.fromkeys(FILMS, draw_film)}, samples=12)
