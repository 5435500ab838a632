"""A dressed human that walks and squats: three meshes on one armature, bound at once, kept apart, saved and baked."""

from __future__ import annotations

import math
from pathlib import Path

import bpy
from mathutils import Matrix

from .enable import load_api
from .picture import Row, render_sheet
from .subjects import copy_shown, skin

HUMAN = Path(__file__).resolve().parent / "human" / "human.blend"
COLORS = {
    "Body": (0.80, 0.52, 0.40, 1.0),
    "Tights": (0.16, 0.24, 0.36, 1.0),
}

SQUAT = (
    ("thigh_l", -105.0), ("calf_l", 125.0), ("foot_l", -30.0), ("thigh_r", -105.0), ("calf_r", 125.0),
    ("foot_r", -30.0), ("upperarm_l", -60.0), ("lowerarm_l", -100.0), ("upperarm_r", -60.0), ("lowerarm_r", -100.0),
)  # fmt: skip
"""Bones in their order, and degrees about the axis from the character's right to its left."""

ROWS = {
    "walk": Row("walk,\nframe 16", 1.16, (0.0, 0.0, -35.0), 0.68, (-0.31, 0.02, 0.80)),
    "squat": Row("squat", 1.06, (0.0, 0.0, -50.0), 0.82, (-0.10, -0.04, 0.98)),
}
FRAMES = {"walk": 16}
METHODS = ("Linear", "Preserve Volume", "Supple Fast")


def strike(armature: bpy.types.Object, pose: str) -> None:
    """Show one of ROWS: a frame of the walk, or the squat."""
    bpy.context.scene.frame_set(FRAMES.get(pose, bpy.context.scene.frame_start))
    if pose in FRAMES:
        return
    for bone in armature.pose.bones:
        bone.matrix_basis = Matrix()
    for name, degrees in SQUAT:
        bpy.context.view_layer.update()
        bone = armature.pose.bones[name]
        head = Matrix.Translation(bone.head)
        bone.matrix = head @ Matrix.Rotation(math.radians(degrees), 4, "X") @ head.inverted() @ bone.matrix
    bpy.context.view_layer.update()


def show_walk(folder: Path) -> list[Path]:
    """Open the human, render it by three methods, save it and bake it as the last of them shows it: the files."""
    bpy.ops.wm.open_mainfile(filepath=str(HUMAN))
    character, cells = load_api().Character("Rig"), {}
    for method in METHODS:
        skin(character, method)
        if method == "Supple Fast":
            character.layers()
        for pose in ROWS:
            strike(character.armature, pose)
            cells[method, pose] = [copy_shown(bpy.data.objects[name]) for name in COLORS]  # a skirt would hide legs
    scene = bpy.context.scene
    scene.frame_set(scene.frame_start)
    blend, picture = folder / "human.blend", folder / "human.png"
    bpy.ops.wm.save_as_mainfile(filepath=str(blend), copy=True)
    baked = character.bake(folder, plays=False)
    render_sheet(picture, ROWS, cells, list(COLORS.values()))
    return [blend, *map(Path, baked.notes), picture]
