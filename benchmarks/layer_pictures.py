"""The pictures of docs/layers.md: a woman in skirt and tights, without Stay Outside and with it.

    python benchmarks/layer_pictures.py [--only moves limits] [--assets DIR]

Needs Blender's module bpy. The character is read from a folder of assets that is not part of the repository.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import bpy
import numpy as np

from harness import find, new_scene, read_posed
from benchmarks.motion_pictures import write
from benchmarks.motions import open_character
from benchmarks.studio import Drawing, View, add_floor, add_mesh, colored, draw, linear

CHARACTER = "mh_human"
WALK, DANCE = "cmu_02_01_walk", "cmu_05_06_dance"
COLORS = {"body": (0.86, 0.66, 0.55), "tights": (0.30, 0.33, 0.42), "skirt": (0.80, 0.47, 0.20)}
"""sRGB, by the ends of the meshes' names."""
WIDTH, HEIGHT, TALL = 1100.0, 420.0, 1.75
"""Of a row; and how many meters high it is."""
SPACING, LOW = 1.1, -0.05
"""Meters between figures, and how far above the floor the picture begins."""

Figure = list[tuple[np.ndarray, np.ndarray, tuple]]


def play(armature: Any, name: str, frame: int) -> None:
    """Show a frame of an action."""
    armature.animation_data.action = action = bpy.data.actions[name]
    if hasattr(action, "slots"):
        armature.animation_data.action_slot = action.slots[0]
    bpy.context.scene.frame_set(frame)


def sit(armature: Any, _name: str, _frame: int) -> None:
    """Both thighs raised by 90 degrees, and both knees bent."""
    armature.animation_data.action = None
    for bone in armature.pose.bones:
        bone.matrix_basis.identity()
    bpy.context.view_layer.update()
    for side in "LR":
        for name, angle in ((f"upperleg01.{side}", -90.0), (f"lowerleg01.{side}", 85.0)):
            bone = armature.pose.bones[name]
            turn = bone.bone.matrix_local.to_3x3().inverted() @ find_turn(angle) @ bone.bone.matrix_local.to_3x3()
            bone.matrix_basis = turn.to_4x4()
    bpy.context.view_layer.update()


def find_turn(degrees: float) -> Any:
    """A rotation about the axis from side to side, armature space."""
    from mathutils import Matrix

    return Matrix.Rotation(math.radians(degrees), 3, "X")


def read_figure() -> Figure:
    """All meshes as they are shown."""
    figure = []
    for obj in bpy.context.scene.objects:
        if obj.type == "MESH":
            points, triangles = read_posed(obj), find("bridge.meshes.data").read_triangles(obj.data)
            color = next(color for name, color in COLORS.items() if obj.name.endswith(name))
            figure.append((points, triangles, color))
    return figure


def shoot(figures: list[Figure], studio: Drawing, azimuths: list[float]) -> np.ndarray:
    """Figures beside each other, each seen from its own side."""
    new_scene()
    scene, material = bpy.context.scene, colored("Skin")
    for number, (figure, azimuth) in enumerate(zip(figures, azimuths, strict=True)):
        angle = math.radians(-azimuth)
        turn = np.array([[math.cos(angle), -math.sin(angle), 0], [math.sin(angle), math.cos(angle), 0], [0, 0, 1.0]])
        body = max((points for points, _, _ in figure), key=len)
        middle = 0.5 * (body.min(axis=0) + body.max(axis=0)) * (1.0, 1.0, 0.0) + (0.0, 0.0, body[:, 2].min())
        along = np.array([SPACING * (number - 0.5 * (len(figures) - 1)), 0.0, 0.0])
        for points, triangles, color in figure:
            corners = np.tile(linear(np.array(color)), (len(triangles), 3, 1))
            shown = add_mesh(scene, (points - middle) @ turn.T + along, triangles, corners, material)
            colors = shown.data.color_attributes.new("Color", "FLOAT_COLOR", "POINT")
            colors.data.foreach_set("color", np.tile([*linear(np.array(color)), 1.0], len(points)).astype(np.float32))
    add_floor(scene, 0.0)
    return studio.shoot(View((0.0, 0.0, LOW + 0.5 * TALL), 0.0, 3.0, TALL), WIDTH, HEIGHT)


Pose = tuple[Callable[[Any, str, int], None], str, int, float]
MOVES: tuple[Pose, ...] = (
    (play, WALK, 1, 40.0), (play, DANCE, 97, 20.0), (play, DANCE, 59, 60.0), (sit, "", 0, 50.0),
)  # fmt: skip
LIMITS: tuple[Pose, ...] = ((play, DANCE, 17, 30.0), (play, DANCE, 17, 120.0), (play, DANCE, 1, 0.0))
"""What is shown: how it is posed, and from which side it is seen."""


def draw_rows(arguments: Any, name: str) -> None:
    """A row without Stay Outside, and one with it."""
    studio = Drawing(arguments.samples, arguments.size)
    poses = {"moves": MOVES, "limits": LIMITS}[name]
    rows = []
    for title, is_kept in (("as posed", False), ("Mend at Rest, and Stay Outside", True)):
        armature = open_character(arguments.assets, CHARACTER)
        if is_kept:
            meshes = [obj for obj in bpy.context.scene.objects if obj.type == "MESH"]
            print("\n".join(find("tasks.layers.mend").mend_at_rest(armature, meshes)))
            find("tasks.layers.add").add_layers(armature, meshes)
        figures = []
        for pose, action, frame, _ in poses:
            pose(armature, action, frame)
            figures.append(read_figure())
        rows.append((title, shoot(figures, studio, [azimuth for *_, azimuth in poses])))
    write(studio, rows, arguments.output / f"layers-{name}.png")


if __name__ == "__main__":
    draw(__doc__, {"moves": draw_rows, "limits": draw_rows}, samples=12)
