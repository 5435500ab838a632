"""Pictures that are rendered for a report: a scene of its own, which is gone afterward."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import bpy
import numpy as np

from ...deformers import SkinningError
from ..files.writing import replacing

COLORS = "Color"
INK = (0.03, 0.03, 0.04)
SAMPLES = 8
PNG_END = b"IEND\xaeB`\x82"


class Page:
    """Meshes and texts on a sheet, seen from above: x to the right, y up, z toward the eye.

    `scene`: empty, as `new_page` makes it.
    """

    def __init__(self, scene: bpy.types.Scene) -> None:
        self.scene = scene
        self._skin = _new_material("Supple Skin", colored=True)
        self._ink = _new_material("Supple Ink", colored=False)

    def add_mesh(self, points: np.ndarray, triangles: np.ndarray, colors: np.ndarray) -> None:
        """Put a mesh on the sheet.

        Parameters
        ----------
        points : float array, shape (V, 3)
        triangles : int array, shape (T, 3)
        colors : float array, shape (V, 3)
            sRGB.
        """
        mesh = bpy.data.meshes.new("Supple Sheet")
        mesh.from_pydata(points.tolist(), [], triangles.tolist())
        mesh.polygons.foreach_set("use_smooth", np.ones(len(triangles), bool))
        attribute = cast(Any, mesh.attributes.new(COLORS, "FLOAT_COLOR", "POINT"))
        linear = np.append(_to_linear(colors), np.ones((len(colors), 1)), axis=1)
        attribute.data.foreach_set("color", linear.astype(np.float32).ravel())
        mesh.materials.append(self._skin)
        self._link(bpy.data.objects.new("Supple Sheet", mesh))

    def add_text(self, text: str, x: float, y: float, size: float, align: str = "CENTER") -> None:
        """Write a line.

        Parameters
        ----------
        x, y : float
            Of its middle, or of its left end.
        size : float
            Height of the font.
        align : "CENTER" or "LEFT"
        """
        curve = bpy.data.curves.new("Supple Sheet", "FONT")
        curve.body, curve.size = text, size
        curve.align_x, curve.align_y = cast(Any, align), "CENTER"
        curve.materials.append(self._ink)
        obj = bpy.data.objects.new("Supple Sheet", curve)
        obj.location = (x, y, 0.0)
        self._link(obj)

    def _link(self, obj: bpy.types.Object) -> None:
        self.scene.collection.objects.link(obj)

    def render(self, width: float, height: float, pixels: int, path: Path) -> None:
        """Render the sheet from (0, 0) to (width, -height) into a PNG file, by Cycles.

        Raises SkinningError if it cannot be rendered, or written.

        Parameters
        ----------
        pixels : int
            Width of the picture.
        """
        scene = self.scene
        _look_down(scene, width, height)
        scene.render.resolution_x, scene.render.resolution_y = pixels, round(pixels * height / width)
        try:
            scene.render.engine = "CYCLES"
        except TypeError as error:
            raise SkinningError("The sheet needs Cycles to render: enable it in the preferences") from error
        cycles = cast(Any, scene).cycles
        cycles.samples, cycles.max_bounces, cycles.use_denoising, cycles.device = SAMPLES, 1, False, "CPU"
        scene.view_settings.view_transform = "Standard"
        scene.render.image_settings.file_format = "PNG"
        with replacing(path) as target:
            scene.render.filepath = str(target)
            scene.render.use_file_extension = False
            try:
                bpy.ops.render.render(write_still=True, scene=scene.name)
                is_whole = target.is_file() and target.read_bytes().endswith(PNG_END)  # Blender does not always tell
                reason = "" if is_whole else "Blender wrote only part of it"
            except RuntimeError as error:
                reason = " ".join(str(error).removeprefix("Error:").split())
            if reason:
                raise SkinningError(f"Cannot write '{path}' ({reason}): choose another folder, or free some space")


@contextmanager
def new_page() -> Iterator[Page]:
    """An empty sheet; all that was made for it is removed again."""
    known = {name: set(getattr(bpy.data, name)) for name in KINDS}
    try:
        yield Page(bpy.data.scenes.new("Supple Sheet"))
    finally:
        for name in KINDS:
            made: Sequence[Any] = [data for data in getattr(bpy.data, name) if data not in known[name]]
            for data in made:
                getattr(bpy.data, name).remove(data)


# What a sheet is made of, in the order in which it is removed
KINDS = ("scenes", "objects", "meshes", "curves", "materials", "cameras", "lights", "worlds", "images")


def _to_linear(colors: np.ndarray) -> np.ndarray:
    """Linear color of sRGB."""
    return np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)


def _new_material(name: str, *, colored: bool) -> bpy.types.Material:
    """Skin in the colors of its mesh, or ink that no light falls on."""
    material = bpy.data.materials.new(name)
    if bpy.app.version < (5, 0):
        material.use_nodes = True
    nodes, links = material.node_tree.nodes, material.node_tree.links
    shader = next(node for node in nodes if node.type == "BSDF_PRINCIPLED")
    if colored:
        color = cast(Any, nodes.new("ShaderNodeAttribute"))
        color.attribute_name = COLORS
        links.new(color.outputs["Color"], shader.inputs["Base Color"])
        shader.inputs["Roughness"].default_value = 0.6
        return material
    ink = nodes.new("ShaderNodeEmission")
    ink.inputs["Color"].default_value = (*INK, 1.0)
    output = next(node for node in nodes if node.type == "OUTPUT_MATERIAL")
    links.new(ink.outputs[0], output.inputs["Surface"])
    return material


def _look_down(scene: bpy.types.Scene, width: float, height: float) -> None:
    """A camera without perspective over a sheet, light from the upper left, and gray paper."""
    camera = bpy.data.cameras.new("Supple Sheet")
    camera.type, camera.ortho_scale, camera.clip_end = "ORTHO", max(width, height), 100.0
    obj = bpy.data.objects.new("Supple Sheet", camera)
    obj.location = (width / 2.0, -height / 2.0, 50.0)
    scene.collection.objects.link(obj)
    scene.camera = obj
    sun = bpy.data.lights.new("Supple Sheet", "SUN")
    sun.energy, sun.angle = 2.6, 0.3
    light = bpy.data.objects.new("Supple Sheet", sun)
    light.rotation_euler = (-0.7, -0.6, 0.0)
    scene.collection.objects.link(light)
    world = scene.world = bpy.data.worlds.new("Supple Sheet")
    if bpy.app.version < (5, 0):
        world.use_nodes = True
    background = next(node for node in world.node_tree.nodes if node.type == "BACKGROUND")
    background.inputs["Color"].default_value = (0.62, 0.63, 0.65, 1.0)
    background.inputs["Strength"].default_value = 0.9
