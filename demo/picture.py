"""Pictures: poses in rows, methods in columns, rendered by Workbench."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import bpy
from mathutils import Euler, Matrix, Vector

LABEL_WIDTH, HEADER_HEIGHT, BORDER = 0.30, 0.16, 0.04  # in widths of a column
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


def render_sheet(
    path: Path,
    rows: dict[str, Row],
    cells: dict[tuple[str, str], list[bpy.types.Mesh]],
    colors: Sequence[tuple[float, ...]] = (CLAY,),
) -> None:
    """Render meshes into a PNG file.

    Parameters
    ----------
    cells : dict
        Meshes by the title of their column and the key of their row; as many as there are colors are shown.
    """
    scene = bpy.data.scenes.new(path.stem)
    bpy.context.window.scene = scene
    ink, materials = plain_material("Ink", INK), [plain_material("Color", color) for color in colors]
    titles = list(dict.fromkeys(title for title, _ in cells))
    for column, title in enumerate(titles):
        add_text(scene, title, (LABEL_WIDTH + column + 0.5, -HEADER_HEIGHT / 2.0), 0.06, ink)
    top = -HEADER_HEIGHT
    for key, row in rows.items():
        add_text(scene, row.label, (LABEL_WIDTH / 2.0, top - row.height / 2.0), 0.05, ink)
        for column, title in enumerate(titles):
            for mesh, material in zip(cells[title, key], materials, strict=False):
                add_mesh(scene, mesh, row, (LABEL_WIDTH + column + 0.5, top - row.height / 2.0), material)
        top -= row.height
    add_camera(scene, LABEL_WIDTH + len(titles), BORDER - top)
    render(scene, path)


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
