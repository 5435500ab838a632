"""Pictures of the effect of weights and signs on methods: docs/images/softness.png and signs.png.

    python benchmarks/method_pictures.py [--only softness signs] [--output DIR]

Needs Blender's module bpy.
"""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np

from harness import new_scene
from benchmarks.bound_characters import preserve_volume
from benchmarks.shapes import Shape, on_two_bones, rotation
from benchmarks.skins import bind_skin, make_rest
from benchmarks.studio import Row, Studio, View, add_striped, cell_width, draw, set_points, write_page
from benchmarks.surfaces import make_capsule
from deformers import Pose

RADIUS, LENGTH, STEP = 0.25, 3.0, 0.02
BEND = 100.0
# Width of the transition between weights, in radii
SOFTNESS = {"within\n.2 radii": 0.2, "2 radii": 2.0, "4 radii": 4.0, "8 radii": 8.0}
METHODS = {"SSD": "linear (SSD)", "DLB": "dual quaternion (DLB)", "CENTERS": "Centers"}
CURL = 105.0  # Degrees of each of the finger's three joints
STRIPE = 0.25  # Length of a dark and a pale band together


def make_bar(softness: float) -> Shape:
    """A capsule along z on two bones, whose weights cross over along so many radii about its middle."""
    return on_two_bones(make_capsule(LENGTH, RADIUS, STEP), (0.0, LENGTH / 2.0, LENGTH), softness * RADIUS)


def make_finger() -> Shape:
    """A capsule along z on four bones, with the soft weights of an automatic solver: they reach over two joints."""
    points, triangles = make_capsule(LENGTH, 0.7 * RADIUS, STEP)
    chain = np.zeros((5, 3))
    chain[:, 2] = np.linspace(0.0, LENGTH, 5)
    middles = (chain[:-1, 2] + chain[1:, 2]) / 2.0
    near = np.exp(-(((points[:, 2:] - middles) / (0.9 * LENGTH / 4.0)) ** 2))
    return Shape(points, triangles, near / near.sum(axis=1, keepdims=True), chain[:-1], chain[1:], np.arange(4) - 1)


def show(shape: Shape) -> bpy.types.Object:
    """Put a shape into an empty scene, in clay with bands across."""
    new_scene()
    heights = shape.points[shape.triangles].mean(axis=1)[:, 2]
    return add_striped(shape.points, shape.triangles, np.floor(2.0 * heights / STRIPE) % 2 == 1)


def draw_softness(arguments: Any, _name: str) -> None:
    """The same bar with ever softer weights."""
    studio, rows = Studio.of(arguments), []
    view = View((0.3, 0.0, 1.4), 0.0, 12.0, 1.5)
    for label, softness in SOFTNESS.items():
        shape, cells = make_bar(softness), []
        obj = show(shape)
        pose = Pose(shape.pose({1: rotation((0.0, 1.0, 0.0), BEND)}))
        for method in METHODS:
            skin = bind_skin(method, shape)
            set_points(obj, skin.module.deform(skin.binding, pose))
            cells.append(studio.shoot(view, cell_width(len(METHODS)), 290.0))
        rows.append(Row(label, cells))
    write_page(rows, list(METHODS.values()), studio, arguments.output / "softness.png")


def draw_signs(arguments: Any, _name: str) -> None:
    """A curled finger: signs by a pivot, the joint of the largest weight, and by the parent."""
    studio, shape = Studio.of(arguments), make_finger()
    obj, rest = show(shape), make_rest(shape)
    pose = Pose(shape.pose(dict.fromkeys((1, 2, 3), rotation((0.0, 1.0, 0.0), CURL))))
    parent = bind_skin("DLB", shape)
    cells, titles = [], ("sign by a pivot", "sign by the parent (Supple)")
    for points in (preserve_volume(rest, pose.rest_to_pose, True), parent.module.deform(parent.binding, pose)):
        set_points(obj, points)
        cells.append(studio.shoot(View((0.3, 0.0, 0.62), 0.0, 20.0, 1.75), cell_width(len(titles)), 480.0))
    write_page([Row(f"three joints,\n{CURL:.0f}° each", cells)], titles, studio, arguments.output / "signs.png")


if __name__ == "__main__":
    draw(__doc__, {"softness": draw_softness, "signs": draw_signs})
