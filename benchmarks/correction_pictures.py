"""Pictures of corrections on a real character: docs/images/corrections-knee.png and corrections-particles.png.

    python benchmarks/correction_pictures.py [--only knee particles] [--output DIR] [--assets DIR]

Needs Blender's module bpy. The character is read from a folder of assets that is not part of the repository.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from harness import open_file, read_vertices, select
from benchmarks.pattern_body import SKIN, strike
from benchmarks.studio import Row, Studio, View, cell_width, draw, plain_material, write_page

KNEE, HEIGHT = "lowerleg01", 330.0
FAR, HALF = 130.0, 65.0  # Bends of the knee, degrees
SEEN, ABOVE = 0.28, 0.15  # Height of the picture of a knee, meters; its middle above the knee, in heights
# Corrected joints: name, pose, bone, azimuth of the camera, and height of the picture, meters
BENT = (
    ("elbow", {"lowerarm01.L": (120.0, 0.0, 0.0)}, "lowerarm01.L", 60.0, 0.2),
    ("knee", {"lowerleg01.L": (120.0, 0.0, 0.0)}, "lowerleg01.L", 90.0, 0.30),
)
# Strokes of a brush at a knee, meters: middle (up the thigh, down the shin, outward from the joint), radius, height
STROKES = (
    ((0.045, 0.000, 0.040), 0.075, 0.012), ((0.015, 0.000, 0.060), 0.060, 0.010), ((0.000, 0.050, 0.040), 0.050, 0.006),
    ((0.090, 0.000, -0.030), 0.080, 0.010), ((0.000, 0.090, -0.030), 0.080, 0.010),
)  # fmt: skip


def open_body(assets: Path) -> tuple[bpy.types.Object, bpy.types.Object]:
    """Open the file of a woman without her clothes: the body, and its armature."""
    armature, body = open_file(assets, "mh_human"), bpy.data.objects["mh_human_body"]
    armature.animation_data_clear()
    for name in ("mh_human_skirt", "mh_human_tights"):
        bpy.data.objects.remove(bpy.data.objects[name])
    body.data.materials.append(plain_material("Skin", SKIN, 0.6))
    body.data.shade_smooth()
    body.modifiers.new("Subdivision", "SUBSURF").render_levels = 2
    select([body], body)
    return body, armature


def look_at(armature: bpy.types.Object, bone: str, azimuth: float, height: float) -> View:
    """A view of the joint at a bone's head, as it is posed, and of what is above it."""
    head = armature.matrix_world @ armature.pose.bones[bone].head
    return View((head.x, head.y, head.z + ABOVE * height), azimuth, 8.0, height)


def sculpt(copy: bpy.types.Object, armature: bpy.types.Object, side: str) -> None:
    """Raise a posed knee where brushes would."""
    bones = armature.pose.bones
    knee, hip, foot = (
        np.array(armature.matrix_world @ bones[f"{name}.{side}"].head) for name in (KNEE, "upperleg01", "foot")
    )
    up, down = (hip - knee) / np.linalg.norm(hip - knee), (foot - knee) / np.linalg.norm(foot - knee)
    out = -(up + down) / np.linalg.norm(up + down)
    mesh: Any = copy.data
    for along, radius, height in STROKES:
        points, normals = read_vertices(mesh.vertices), read_vertices(mesh.vertices, "normal")
        distances = np.linalg.norm(points - (knee + np.array(along) @ np.array([up, down, out])), axis=1)
        falloff = np.maximum(0.0, 1.0 - (distances / radius) ** 2) ** 2
        mesh.vertices.foreach_set("co", (points + (height * falloff)[:, None] * normals).astype(np.float32).ravel())
        mesh.update()


def draw_knee(assets: Path, studio: Studio) -> tuple[list[Row], Sequence[str]]:
    """Draw a knee by linear blending, sculpted; and the correction at half the bend and on the other leg."""
    _, armature = open_body(assets)
    width = cell_width(4)

    def shoot(angle: float, side: str) -> np.ndarray:
        strike(armature, {f"{KNEE}.L": (angle, 0.0, 0.0)})
        bpy.context.view_layer.update()
        return studio.shoot(look_at(armature, f"{KNEE}.{side}", 90.0 if side == "L" else -90.0, SEEN), width, HEIGHT)

    before = shoot(FAR, "L")
    strike(armature, {f"{KNEE}.L": (FAR, 0.0, 0.0), f"{KNEE}.R": (0.0, 0.0, 0.0)})
    bpy.context.view_layer.update()
    bpy.ops.supple.correct_pose(mode="OBJECT")
    sculpt(bpy.context.selected_objects[0], armature, "L")
    bpy.ops.supple.correction_keep(mirror=True)
    after = shoot(FAR, "L"), shoot(HALF, "L"), shoot(FAR, "R")
    titles = (f"linear, {FAR:.0f}°", "sculpted and kept", f"{HALF:.0f}°", "the other leg")
    return [Row("knee", [before, *after])], titles


def draw_particles(assets: Path, studio: Studio) -> tuple[list[Row], Sequence[str]]:
    """Joints by DQ with Stretch, without and with corrections from Particles, and by Particles themselves."""
    body, armature = open_body(assets)
    width = cell_width(3)

    def shoot_all() -> list[np.ndarray]:
        cells = []
        for _, pose, bone, azimuth, seen in BENT:
            strike(armature, pose)
            bpy.context.view_layer.update()
            cells.append(studio.shoot(look_at(armature, bone, azimuth, seen), width, HEIGHT))
        return cells

    bpy.ops.supple.bind(method="DLBNT")
    columns = [shoot_all()]
    bpy.ops.supple.corrections_from(joints=",".join(bone for _, _, bone, _, _ in BENT), angles="40, 80, 120")
    columns.append(shoot_all())
    for correction in body.supple.corrections:
        body.data.shape_keys.key_blocks[correction.name].mute = True
    bpy.ops.supple.bind(method="PARTICLES")
    columns.append(shoot_all())
    rows = [Row(name, list(cells)) for (name, *_), cells in zip(BENT, zip(*columns, strict=True), strict=True)]
    return rows, ("DQ with Stretch", "with corrections", "Particles")


PAGES = {"knee": draw_knee, "particles": draw_particles}


def draw_page(arguments: Any, name: str) -> None:
    studio = Studio.of(arguments)
    rows, titles = PAGES[name](arguments.assets, studio)
    write_page(rows, titles, studio, arguments.output / f"corrections-{name}.png")


if __name__ == "__main__":
    draw(__doc__, dict.fromkeys(PAGES, draw_page))
