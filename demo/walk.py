"""A dressed human that walks, and squats: three meshes on one armature, bound at once, saved and baked."""

from __future__ import annotations

import math
from pathlib import Path

import bpy
from mathutils import Matrix

from .picture import INK, LABEL_WIDTH, Row, add_camera, add_mesh, add_text, plain_material, render
from .subjects import METHODS, SUPPLE_METHODS

HUMAN = Path(__file__).resolve().parent / "human" / "human.blend"
COLORS = {
    "Body": (0.80, 0.52, 0.40, 1.0),
    "Tights": (0.16, 0.24, 0.36, 1.0),
}
SKIRT = "Skirt"

SQUAT = (
    ("thigh_l", -105.0), ("calf_l", 125.0), ("foot_l", -30.0), ("thigh_r", -105.0), ("calf_r", 125.0),
    ("foot_r", -30.0), ("upperarm_l", -60.0), ("lowerarm_l", -100.0), ("upperarm_r", -60.0), ("lowerarm_r", -100.0),
)  # fmt: skip
"""Bones in their order, and degrees about the axis from the character's right to its left."""

TOP = 0.16
"""Height of the titles."""

ROWS = {
    "walk": Row("walk,\nframe 16", 1.16, (0.0, 0.0, -35.0), 0.68, (-0.31, 0.02, 0.80)),
    "squat": Row("squat", 1.06, (0.0, 0.0, -50.0), 0.82, (-0.10, -0.04, 0.98)),
}
FRAMES = {"walk": 16}
COLUMNS = METHODS[:3]


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


def pose_by(method: str, armature: bpy.types.Object, meshes: list[bpy.types.Object]) -> dict[str, list]:
    """New meshes, as one of COLUMNS shows the human in each of ROWS; by a method of Supple's it stays bound."""
    for obj in meshes:
        obj.modifiers["Armature"].use_deform_preserve_volume = method == "Preserve Volume"
    if method in SUPPLE_METHODS:
        bpy.ops.supple.bind(method=SUPPLE_METHODS[method])
    shown = {}
    for pose in ROWS:
        strike(armature, pose)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        shown[pose] = [bpy.data.meshes.new_from_object(obj.evaluated_get(depsgraph)) for obj in meshes]
    return shown


def show_walk(folder: Path) -> list[Path]:
    """Open the human, render it by each of COLUMNS, leave it bound by the last, save it and bake it: the files."""
    bpy.ops.wm.open_mainfile(filepath=str(HUMAN))
    armature, meshes = bpy.data.objects["Rig"], [bpy.data.objects[name] for name in (*COLORS, SKIRT)]
    bpy.ops.object.select_all(action="DESELECT")
    for obj in meshes:
        obj.select_set(True)
    bpy.context.view_layer.objects.active = meshes[0]
    shown = {method: pose_by(method, armature, meshes) for method in COLUMNS}
    scene = bpy.context.scene
    scene.frame_set(scene.frame_start)
    files = [folder / "human.blend", *(folder / f"{obj.name}.pc2" for obj in meshes), folder / "human.png"]
    bpy.ops.wm.save_as_mainfile(filepath=str(files[0]), copy=True)
    for obj, path in zip(meshes, files[1:], strict=False):
        bpy.context.view_layer.objects.active = obj
        bpy.ops.supple.bake_cache(filepath=str(path), frame_start=scene.frame_start, frame_end=scene.frame_end)
    render_walk(shown, files[-1])
    return files


def render_walk(shown: dict[str, dict[str, list]], path: Path) -> None:
    """Render what `pose_by` has made of each method into a PNG file: poses in rows, methods in columns."""
    scene = bpy.data.scenes.new("Walk")
    bpy.context.window.scene = scene
    ink, materials = plain_material("Ink", INK), [plain_material(name, color) for name, color in COLORS.items()]
    top = 0.0
    for column, method in enumerate(COLUMNS):
        middle = LABEL_WIDTH + column + 0.5
        title = f"Supple {method}" if method in SUPPLE_METHODS else method
        add_text(scene, title, (middle, -TOP / 2.0), 0.06, ink)
        top = -TOP
        for pose, row in ROWS.items():
            for mesh, material in zip(shown[method][pose], materials, strict=False):  # the skirt would hide the legs
                add_mesh(scene, mesh, row, (middle, top - row.height / 2.0), material)
            if not column:
                add_text(scene, row.label, (LABEL_WIDTH / 2.0, top - row.height / 2.0), 0.05, ink)
            top -= row.height
    add_camera(scene, LABEL_WIDTH + len(COLUMNS), 0.04 - top)
    render(scene, path)
