"""The pictures of docs/swing.md: strips of actions and a film of one, without swing and with it.

    python benchmarks/swing_pictures.py [--only fox film] [--assets DIR]

Needs Blender's module bpy. The character is read from a folder of assets that is not part of the repository.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import bpy
import numpy as np

from harness import find, new_scene, take_all
from benchmarks.animated_webp import write_animation
from benchmarks.motion_pictures import read_skin, write
from benchmarks.motions import open_character
from benchmarks.studio import Studio, View, add_floor, add_mesh, colored, draw, linear

CHARACTER = "fox"
ACTIONS = ("Jump_Armature", "Run_Armature")
PLAIN, SWUNG = (0.42, 0.48, 0.54), (0.90, 0.55, 0.22)
"""Colors without swing, and with it, sRGB."""
COUNT, SPACING = 6, 3.5
"""Foxes in a row, and meters between them."""
DEEPER = -0.02
"""Meters that those without swing are behind the others, so that one color shows where both are the same."""
WIDTH, HEIGHT, TALL = 1100.0, 220.0, 4.4
"""Of a row; and how many meters high it is."""

FILMED = "Run_Armature"
FILM_WIDTH, FILM_HEIGHT, CLOSE = 400.0, 260.0, 2.6
"""Of a fox in the film; and how many meters high it is."""

Skin = tuple[np.ndarray, np.ndarray]


def shoot(
    rows: Sequence[tuple[Sequence[Skin], tuple]],
    studio: Studio,
    size: tuple[float, float, float] = (WIDTH, HEIGHT, TALL),
) -> np.ndarray:
    """Foxes from the side, beside each other; those of all rows in the same places, each row in its color.

    Parameters
    ----------
    size : three floats
        Width and height of the picture, and how many meters high it is.
    """
    new_scene()
    scene, material = bpy.context.scene, colored("Skin")
    first, _ = rows[0][0][0]
    middle = 0.5 * (first.min(axis=0) + first.max(axis=0)) * (1.0, 1.0, 0.0)
    floor = min(float(points[:, 2].min()) for skins, _ in rows for points, _ in skins)
    for skins, color in rows:
        for number, (points, triangles) in enumerate(skins):
            along = SPACING * (number - 0.5 * (len(skins) - 1))
            corners = np.tile(linear(np.array(color)), (len(triangles), 3, 1))
            shift = np.array([DEEPER * (color == PLAIN), along, 0.0])
            add_mesh(scene, points + shift - middle, triangles, corners, material)
    add_floor(scene, floor)
    return studio.shoot(View((0.0, 0.0, floor + 0.5 * size[2] - 0.2), 90.0, 4.0, size[2]), *size[:2])


def play(armature: Any, name: str) -> tuple[int, int]:
    """Have the fox play an action; its first and last frame."""
    armature.animation_data.action = action = bpy.data.actions[name]
    if hasattr(action, "slots"):
        armature.animation_data.action_slot = action.slots[0]
    first, last = action.frame_range
    return math.ceil(first), math.floor(last)


def read_row(armature: Any, name: str) -> list[Skin]:
    """The fox in some frames of an action."""
    return [read_skin(round(frame)) for frame in np.linspace(*play(armature, name), COUNT + 2)[1:-1]]


def draw_film(arguments: Any, name: str) -> None:
    """A cycle, as it is and with swing beside it."""
    studio, add_swing = Studio.of(arguments), find("tasks.swing.add").add_swing
    armature = open_character(arguments.assets, CHARACTER)
    first, last = play(armature, FILMED)
    plain = [read_skin(frame) for frame in range(first, last)]
    take_all(add_swing(armature, bpy.context.scene))
    play(armature, FILMED)
    swung = [read_skin(frame) for frame in range(first, last)]
    size = (FILM_WIDTH, FILM_HEIGHT, CLOSE)
    frames = [
        np.concatenate([shoot([([skin], color)], studio, size) for skin, color in ((before, PLAIN), (after, SWUNG))], 1)
        for before, after in zip(plain, swung, strict=True)
    ]
    milliseconds = round(1000.0 * bpy.context.scene.render.fps_base / bpy.context.scene.render.fps)
    write_animation(arguments.output / f"swing-{name}.webp", frames, [milliseconds] * len(frames), 80)


def draw_strips(arguments: Any, name: str) -> None:
    """A row of each action: as it is, and with swing, in one place."""
    studio, add_swing = Studio.of(arguments), find("tasks.swing.add").add_swing
    armature = open_character(arguments.assets, CHARACTER)
    plain = [read_row(armature, action) for action in ACTIONS]
    take_all(add_swing(armature, bpy.context.scene))
    swung = [read_row(armature, action) for action in ACTIONS]
    rows = [
        (action.removesuffix("_Armature").lower(), shoot([(before, PLAIN), (after, SWUNG)], studio))
        for action, before, after in zip(ACTIONS, plain, swung, strict=True)
    ]
    write(studio, rows, arguments.output / f"swing-{name}.png")


if __name__ == "__main__":
    draw(__doc__, {"fox": draw_strips, "film": draw_film}, samples=12)
