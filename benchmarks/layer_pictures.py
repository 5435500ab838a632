"""The pictures of docs/layers.md: a woman in skirt and tights, without Stay Outside and with it; and with limbs apart.

    python benchmarks/layer_pictures.py [--only moves limits limbs] [--assets DIR]

Needs Blender's module bpy. The character is read from a folder of assets that is not part of the repository.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from harness import api, new_scene, play_action, read_posed, read_triangles
from benchmarks.motion_pictures import write
from benchmarks.motions import open_character
from benchmarks.studio import Drawing, View, add_figure, add_floor, colored, draw, linear
from benchmarks.weight_scenes import paint

CHARACTER = "mh_human"
WALK, DANCE = "cmu_02_01_walk", "cmu_05_06_dance"
# sRGB, by the ends of the meshes' names
COLORS = {"body": (0.86, 0.66, 0.55), "tights": (0.30, 0.33, 0.42), "skirt": (0.80, 0.47, 0.20)}
WIDTH, HEIGHT, TALL = 1100.0, 420.0, 1.75  # Of a row; and its height in meters
SPACING, LOW = 1.1, -0.05  # Meters between figures, and from the floor to the lower edge of the picture
CLOSE = 0.1, 0.75, 0.75  # Lower edge, height and spacing in pictures of limbs, meters
Figure = list[tuple[np.ndarray, np.ndarray, tuple]]


def play(armature: Any, name: str, frame: int) -> None:
    """Show a frame of an action."""
    play_action(armature, name)
    bpy.context.scene.frame_set(frame)


def sit(armature: Any, _name: str, _frame: int) -> None:
    """Both thighs raised by 90 degrees, and both knees bent."""
    bend(armature, {f"upperleg01.{side}": ("X", -90.0) for side in "LR"})
    bend(armature, {f"lowerleg01.{side}": ("X", 85.0) for side in "LR"}, False)


def bend(armature: Any, turns: dict[str, tuple[str, float]], from_rest: bool = True) -> None:
    """Turn bones about axes of the armature by degrees; the others are at rest, or stay as they are."""
    if from_rest:
        armature.animation_data.action = None
        for bone in armature.pose.bones:
            bone.matrix_basis.identity()
    for name, (axis, degrees) in turns.items():
        bone = armature.pose.bones[name]
        rest = bone.bone.matrix_local.to_3x3()
        bone.matrix_basis = (rest.inverted() @ Matrix.Rotation(math.radians(degrees), 3, axis) @ rest).to_4x4()
    bpy.context.view_layer.update()


def press(armature: Any, _name: str, _frame: int) -> None:
    """Both arms against the ribs, sitting."""
    sit(armature, "", 0)
    bend(armature, {f"upperarm01.{side}": ("Y", sign * 42.0) for side, sign in (("L", 1.0), ("R", -1.0))}, False)


def crouch(armature: Any, _name: str, _frame: int) -> None:
    """Both thighs against the belly, and both knees bent."""
    bend(armature, {f"upperleg01.{side}": ("X", -125.0) for side in "LR"})
    bend(armature, {f"lowerleg01.{side}": ("X", 110.0) for side in "LR"}, False)


def read_figure() -> Figure:
    """All meshes as they are shown."""
    figure = []
    for obj in bpy.context.scene.objects:
        if obj.type == "MESH":
            points, triangles = read_posed(obj), read_triangles(obj.data)
            color = next(color for name, color in COLORS.items() if obj.name.endswith(name))
            figure.append((points, triangles, color))
    return figure


def shoot(
    figures: list[Figure], studio: Drawing, azimuths: list[float], low: float, tall: float, spacing: float
) -> np.ndarray:
    """Figures beside each other, each seen from its own side."""
    new_scene()
    material = colored("Skin")
    for number, (figure, azimuth) in enumerate(zip(figures, azimuths, strict=True)):
        angle = math.radians(-azimuth)
        turn = np.array([[math.cos(angle), -math.sin(angle), 0], [math.sin(angle), math.cos(angle), 0], [0, 0, 1.0]])
        body = max((points for points, _, _ in figure), key=len)
        middle = 0.5 * (body.min(axis=0) + body.max(axis=0)) * (1.0, 1.0, 0.0) + (0.0, 0.0, body[:, 2].min())
        along = np.array([spacing * (number - 0.5 * (len(figures) - 1)), 0.0, 0.0])
        for points, triangles, color in figure:
            paint(add_figure((points - middle) @ turn.T + along, triangles, color, material), linear(np.array(color)))
    add_floor(bpy.context.scene, 0.0)
    return studio.shoot(View((0.0, 0.0, low + 0.5 * tall), 0.0, 3.0, tall), WIDTH, HEIGHT)


Pose = tuple[Callable[[Any, str, int], None], str, int, float]
MOVES: tuple[Pose, ...] = (
    (play, WALK, 1, 40.0), (play, DANCE, 97, 20.0), (play, DANCE, 59, 60.0), (sit, "", 0, 50.0),
)  # fmt: skip
LIMITS: tuple[Pose, ...] = ((play, DANCE, 17, 30.0), (play, DANCE, 17, 120.0), (play, DANCE, 1, 0.0))
# Function that poses, its arguments, and azimuth of the camera
LIMBS: tuple[Pose, ...] = ((sit, "", 0, 60.0), (crouch, "", 0, 75.0), (press, "", 0, 30.0))


def draw_rows(arguments: Any, name: str) -> None:
    """A row without Stay Outside, and one with it; of limbs without the skirt, and with Keep Limbs Apart."""
    studio, is_close = Drawing(arguments.samples, arguments.size), name == "limbs"
    poses = {"moves": MOVES, "limits": LIMITS, "limbs": LIMBS}[name]
    rows = []
    for title in ("as posed", f"Mend at Rest, and {'Keep Limbs Apart' if is_close else 'Stay Outside'}"):
        armature = open_character(arguments.assets, CHARACTER)
        meshes = [obj for obj in bpy.context.scene.objects if obj.type == "MESH"]
        for obj in [obj for obj in meshes if is_close and obj.name.endswith("skirt")]:
            meshes.remove(obj)
            bpy.data.objects.remove(obj)
        if rows:
            report = api().Character(armature).layers(limbs=True if is_close else None, mend=True, meshes=meshes)
            print("\n".join(report.describe()))
        figures = []
        for pose, action, frame, _ in poses:
            pose(armature, action, frame)
            figures.append(read_figure())
        seen = CLOSE if is_close else (LOW, TALL, SPACING)
        rows.append((title, shoot(figures, studio, [azimuth for *_, azimuth in poses], *seen)))
    write(studio, rows, arguments.output / f"layers-{name}.png")


if __name__ == "__main__":
    draw(__doc__, dict.fromkeys(("moves", "limits", "limbs"), draw_rows), samples=12)
