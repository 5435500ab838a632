"""The picture of docs/motions.md: the seams of a loop and of two actions joined.

    python benchmarks/motion_pictures.py [--assets DIR]

Needs Blender's module bpy. The characters are read from a folder of assets that is not part of the repository.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from harness import api, new_scene, read_triangles, read_vertices
from benchmarks.motions import open_character
from benchmarks.studio import Studio, View, add_figure, add_floor, colored, draw
from deformers.geometry.vectors import transform_points

# Colors of the first motion, of the blend, and of the second, sRGB
FIRST, BLENDED, SECOND = (0.42, 0.50, 0.58), (0.85, 0.52, 0.22), (0.50, 0.62, 0.45)
SPACING, COUNT, STEP = 0.62, 13, 3  # Meters between bodies; how many, and every how many frames
WIDTH, HEIGHT, TALL = 1000.0, 245.0, 9.5  # Of a row; and its width in meters
TITLE, TITLE_SIZE = 30.0, 15.0
CHARACTER, WALK, DANCE = "human_male", "cmu_02_01_walk", "cmu_05_06_dance"
Skin = tuple[np.ndarray, np.ndarray]


def read_skin(frame: int) -> Skin:
    """Points and triangles of all skins of the scene as they are shown in a frame, world space."""
    bpy.context.scene.frame_set(frame)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    points, triangles, count = [], [], 0
    for obj in bpy.context.scene.objects:
        if obj.type == "MESH" and any(modifier.type == "ARMATURE" for modifier in obj.modifiers):
            mesh = obj.evaluated_get(depsgraph).data
            points.append(transform_points(np.array(obj.matrix_world), read_vertices(mesh.vertices)))
            triangles.append(read_triangles(mesh) + count)
            count += len(points[-1])
    return np.concatenate(points), np.concatenate(triangles)


def shoot(skins: Sequence[tuple[Skin, tuple]], studio: Studio) -> np.ndarray:
    """Bodies in their colors, seen from the side, beside each other in their order."""
    new_scene()
    material = colored("Skin")
    middles = [0.5 * (points.min(axis=0) + points.max(axis=0)) for (points, _), _ in skins]
    travel = (middles[-1] - middles[0]) * (1.0, 1.0, 0.0)
    travel /= np.linalg.norm(travel)
    floor, top = (float(side([side(points[:, 2]) for (points, _), _ in skins])) for side in (min, max))
    for number, (((points, triangles), color), middle) in enumerate(zip(skins, middles, strict=True)):
        along = SPACING * (number - 0.5 * (len(skins) - 1)) - float((middle - middles[0]) @ travel)
        add_figure(points + along * travel - middles[0] * (1.0, 1.0, 0.0), triangles, color, material)
    add_floor(bpy.context.scene, floor)
    side = math.degrees(math.atan2(travel[1], travel[0]))
    view = View((0.0, 0.0, 0.5 * (floor + top)), side, 6.0, TALL * HEIGHT / WIDTH)
    return studio.shoot(view, WIDTH, HEIGHT)


def write(studio: Studio, rows: Sequence[tuple[str, np.ndarray]], path: Path) -> None:
    """Pictures under each other, each under its title."""
    width = max(cell.shape[1] for _, cell in rows) / studio.size
    heights = [cell.shape[0] / studio.size for _, cell in rows]
    page, texts, top = studio.new_page(width, sum(heights) + TITLE * len(rows)), [], 0.0
    for (title, cell), height in zip(rows, heights, strict=True):
        texts.append((title, width / 2, top + TITLE / 2, TITLE_SIZE))
        studio.put(page, cell, 0.0, top + TITLE)
        top += TITLE + height
    studio.write(page, texts, path)


def draw_seams(arguments: Any, _name: str) -> None:
    """Draw a walk closed to a loop, and a dance joined to a walk, with blended frames in another color."""
    studio = Studio.of(arguments)
    report = api().Character(open_character(arguments.assets, CHARACTER)).loop(WALK)
    rows = [("the end of a cycle, the seam, the beginning of the next", shoot_seam(report.blended, studio))]
    report = api().Character(open_character(arguments.assets, CHARACTER)).join(DANCE, WALK)
    rows.append(("a dance, the seam, a walk", shoot_seam(report.blended, studio)))
    write(studio, rows, arguments.output / "motion-seams.png")


def shoot_seam(blended: tuple[int, int], studio: Studio) -> np.ndarray:
    """Bodies about a seam, every few frames."""
    first, last = blended
    middle = (first + last) // 2
    frames = range(middle - STEP * (COUNT // 2), middle + STEP * (COUNT // 2) + 1, STEP)
    colors = [FIRST if frame < first else SECOND if frame > last else BLENDED for frame in frames]
    return shoot([(read_skin(frame), color) for frame, color in zip(frames, colors, strict=True)], studio)


if __name__ == "__main__":
    draw(__doc__, {"seams": draw_seams}, samples=12)
