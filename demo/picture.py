"""The comparison picture: key poses in rows, methods in columns, rendered by Workbench."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import bpy
from mathutils import Euler, Matrix, Vector

from .subjects import SUPPLE_METHODS, Subject, show_pose

COLUMN_WIDTH, LABEL_WIDTH, HEADER_HEIGHT, BORDER = 1.0, 0.30, 0.20, 0.06
PIXELS_WIDE = 2200
CLAY = (0.86, 0.58, 0.45, 1.0)
INK = (0.02, 0.02, 0.03, 1.0)
PAPER = (0.83, 0.83, 0.82)


@dataclass(frozen=True)
class Row:
    """How a pose is shown: what its row is called, its height, and the view (Euler angles in degrees).

    What is shown is turned, enlarged by `scale`, and moved so that `center`, a point of it in meters, lies in the
    middle of the cell.
    """

    label: str
    height: float
    angles: tuple[float, float, float]
    scale: float
    center: tuple[float, float, float]


ROWS = {
    "bend": Row("bend\n130°", 0.66, (0.0, 8.0, 28.0), 1.6, (0.165, 0.0, 0.085)),
    "twist": Row("twist\n175°", 0.36, (0.0, 0.0, 12.0), 1.2, (0.38, 0.0, -0.01)),
    "stretch": Row("stretch\n1.4 ×", 0.62, (0.0, 47.0, 12.0), 1.08, (0.27, 0.0, 0.235)),
}


def render_comparison(subjects: list[Subject], captions: dict[tuple[str, str], str], path: Path) -> None:
    """Render the poses of ROWS by each subject's method into a PNG file.

    `captions` hold a line for each pose and method, to be printed under its cell.
    """
    baked = {(pose, subject.method): bake_mesh(subject, pose) for pose in ROWS for subject in subjects}
    scene = bpy.data.scenes.new("Comparison")
    bpy.context.window.scene = scene
    ink, clay = plain_material("Ink", INK), plain_material("Clay", CLAY)
    width = LABEL_WIDTH + COLUMN_WIDTH * len(subjects)
    for column, subject in enumerate(subjects):
        left = LABEL_WIDTH + column * COLUMN_WIDTH
        title = f"Supple {subject.method}" if subject.method in SUPPLE_METHODS else subject.method
        add_text(scene, title, (left + COLUMN_WIDTH / 2.0, -HEADER_HEIGHT / 2.0), 0.075, ink)
    top = -HEADER_HEIGHT
    for pose, row in ROWS.items():
        add_text(scene, row.label, (LABEL_WIDTH / 2.0, top - row.height / 2.0), 0.06, ink)
        for column, subject in enumerate(subjects):
            middle = (LABEL_WIDTH + (column + 0.5) * COLUMN_WIDTH, top - row.height / 2.0)
            add_mesh(scene, baked[pose, subject.method], row, middle, clay)
            add_text(scene, captions[pose, subject.method], (middle[0], top - row.height + 0.035), 0.042, ink)
        top -= row.height
    add_camera(scene, width, -top + BORDER)
    render(scene, path)


def bake_mesh(subject: Subject, pose: str) -> bpy.types.Mesh:
    """Return a new mesh: the subject's evaluated one in a pose."""
    return bpy.data.meshes.new_from_object(show_pose(subject, pose))


def add_mesh(
    scene: bpy.types.Scene, mesh: bpy.types.Mesh, row: Row, middle: tuple[float, float], material: bpy.types.Material
) -> None:
    """Show a mesh in the middle (x, z) of its cell."""
    mesh.materials.clear()
    mesh.materials.append(material)
    obj = bpy.data.objects.new(mesh.name, mesh)
    turn = Euler([math.radians(angle) for angle in row.angles]).to_matrix().to_4x4()
    place = Matrix.Translation((middle[0], 0.0, middle[1]))
    obj.matrix_world = place @ turn @ Matrix.Scale(row.scale, 4) @ Matrix.Translation(-Vector(row.center))
    scene.collection.objects.link(obj)


def add_text(
    scene: bpy.types.Scene, text: str, middle: tuple[float, float], size: float, material: bpy.types.Material
) -> None:
    """Write a line of text around a point (x, z)."""
    curve = bpy.data.curves.new(text, "FONT")
    curve.body, curve.size = text, size
    curve.align_x, curve.align_y = "CENTER", "CENTER"
    curve.materials.append(material)
    obj = bpy.data.objects.new(text, curve)
    obj.location, obj.rotation_euler = (middle[0], 0.0, middle[1]), (math.pi / 2.0, 0.0, 0.0)
    scene.collection.objects.link(obj)


def add_camera(scene: bpy.types.Scene, width: float, height: float) -> None:
    """Look at the whole page, from x = 0 to `width` and from z = 0 down to -`height`, without perspective."""
    camera = bpy.data.cameras.new("Camera")
    camera.type, camera.ortho_scale = "ORTHO", max(width, height)
    obj = bpy.data.objects.new("Camera", camera)
    obj.location, obj.rotation_euler = (width / 2.0, -5.0, -height / 2.0), (math.pi / 2.0, 0.0, 0.0)
    scene.collection.objects.link(obj)
    scene.camera = obj
    scene.render.resolution_x = PIXELS_WIDE
    scene.render.resolution_y = round(PIXELS_WIDE * height / width)


def plain_material(name: str, color: tuple[float, ...]) -> bpy.types.Material:
    """Return a material that Workbench shows in one color."""
    material = bpy.data.materials.new(name)
    material.diffuse_color = color
    return material


def render(scene: bpy.types.Scene, path: Path) -> None:
    """Render a scene into a PNG file, shaded as sculptors do: by a clay matcap, with creases and ridges stressed."""
    scene.world = bpy.data.worlds.new("Paper")
    scene.world.color = PAPER
    scene.render.engine = "BLENDER_WORKBENCH"
    scene.display.render_aa = "8"
    shading = scene.display.shading
    shading.light, shading.studio_light, shading.color_type = "MATCAP", "clay_studio.exr", "MATERIAL"
    shading.show_cavity, shading.cavity_type = True, "BOTH"
    scene.view_settings.view_transform = "Standard"
    scene.render.image_settings.file_format = "PNG"
    scene.render.filepath = str(path)
    bpy.ops.render.render(write_still=True, scene=scene.name)
