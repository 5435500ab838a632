"""A studio for the pictures of patterns: a camera, lights that go with it, and pages that cells are put on."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import bpy
import numpy as np
from mathutils import Vector

from benchmarks.particle_pictures import INK, PAPER, choose_palette, emission, use_nodes, write_png
from demo.picture import add_camera, add_text

BACKDROP = np.array([0.70, 0.71, 0.72])
"""Behind a body, sRGB."""
LIGHTS = ((-62.0, 32.0, 3.3, 10.0), (45.0, 10.0, 0.45, 40.0), (152.0, 35.0, 1.5, 20.0))
"""Key, fill and rim: to the right of the camera and above it (degrees), strength, how wide (degrees)."""
SKY = 0.34
DITHER = 4.0
LENS = 100.0
"""Millimeters, on a sensor 36 high."""


@dataclass(frozen=True)
class View:
    """Where the camera looks at, from where (degrees to the body's left of its front, and up), and how much is seen.

    `key`: where the strongest light comes from, as in LIGHTS.
    """

    target: tuple[float, float, float]
    azimuth: float
    elevation: float
    height: float
    key: tuple[float, float] = LIGHTS[0][:2]


@dataclass(frozen=True)
class Studio:
    """How pictures are made: samples for each pixel, and their size, 1 for the documents."""

    samples: int
    size: float

    def pixels(self, length: float) -> int:
        """A length of the page in pixels."""
        return round(length * self.size)

    def shoot(self, view: View, width: float, height: float) -> np.ndarray:
        """Render the scene: float32, shape (H, W, 3), top row first, sRGB."""
        scene = bpy.context.scene
        _light(scene, view)
        scene.render.resolution_x, scene.render.resolution_y = self.pixels(width), self.pixels(height)
        return self.render(scene, BACKDROP)

    def render(self, scene: bpy.types.Scene, behind: np.ndarray) -> np.ndarray:
        """Render a scene that has a camera: float32, shape (H, W, 3), top row first, sRGB."""
        scene.render.engine, scene.render.film_transparent = "CYCLES", True
        scene.cycles.samples, scene.cycles.max_bounces = self.samples, 4
        scene.cycles.use_denoising, scene.cycles.use_adaptive_sampling = True, False
        scene.view_settings.view_transform = "Standard"
        scene.render.image_settings.file_format, scene.render.image_settings.color_mode = "PNG", "RGBA"
        with tempfile.TemporaryDirectory() as folder:
            scene.render.filepath = str(Path(folder, "cell.png"))
            bpy.ops.render.render(write_still=True, scene=scene.name)
            pixels = read_image(Path(folder, "cell.png"))
        return pixels[..., 3:] * pixels[..., :3] + (1.0 - pixels[..., 3:]) * behind.astype(np.float32)

    def new_page(self, width: float, height: float) -> np.ndarray:
        """An empty page."""
        return np.tile(PAPER.astype(np.float32), (self.pixels(height), self.pixels(width), 1))

    def put(self, page: np.ndarray, cell: np.ndarray, left: float, top: float) -> None:
        """Put a cell on a page."""
        x, y = self.pixels(left), self.pixels(top)
        page[y : y + cell.shape[0], x : x + cell.shape[1]] = cell[: page.shape[0] - y, : page.shape[1] - x]

    def write(self, page: np.ndarray, texts: list[tuple[str, float, float, float]], path: Path) -> None:
        """Print texts (text, middle x and y from the top, size) on a page, and save it in few colors."""
        page = print_on(page, self.draw_texts(page.shape, texts))
        colors = np.clip(np.rint(255.0 * page + _dither(page.shape)), 0.0, 255.0).astype(np.uint8)
        palette, indices = choose_palette(colors.reshape(-1, 3))
        write_png(path, palette, indices.reshape(colors.shape[:2]))
        print(f"{path}: {path.stat().st_size / 1000:.0f} kB", flush=True)

    def draw_texts(self, shape: tuple[int, ...], texts: Iterable[tuple[str, float, float, float]]) -> np.ndarray:
        """How much paper is seen on a page of a shape behind texts (text, middle x and y, size), shape (H, W, 3)."""
        height, width = (side / self.size for side in shape[:2])
        scene, ink = bpy.data.scenes.new("Page"), emission("Ink", INK)
        for text, x, y, size in texts:
            add_text(scene, text, (x / width, -y / width), size / width, ink)
        add_camera(scene, 1.0, height / width)
        scene.render.resolution_x, scene.render.resolution_y = shape[1], shape[0]
        shown = Studio(16, self.size).render(scene, np.ones(3))
        bpy.data.scenes.remove(scene)
        return shown


def print_on(page: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """A page with the texts of `Studio.draw_texts` on it."""
    return shown * page + (1.0 - shown) * np.array(INK, np.float32)


def _dither(shape: tuple[int, ...]) -> np.ndarray:
    """A fine grid of -DITHER/2 to DITHER/2, shape (H, W, 1), so that few colors show no bands."""
    grid = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]]) / 15.0 - 0.5
    rows, columns = np.ogrid[: shape[0], : shape[1]]
    return DITHER * grid[rows % 4, columns % 4, None]


def read_image(path: Path) -> np.ndarray:
    """Pixels of a PNG file: float32, shape (H, W, 4), top row first."""
    image = bpy.data.images.load(str(path))
    width, height = image.size
    pixels = np.empty(4 * width * height, np.float32)
    image.pixels.foreach_get(pixels)
    bpy.data.images.remove(image)
    return pixels.reshape(height, width, 4)[::-1]


def _light(scene: bpy.types.Scene, view: View) -> None:
    """Aim the scene's camera and lights; made where they are not there yet."""
    if scene.camera is None:
        world = scene.world = bpy.data.worlds.new("Sky")
        use_nodes(world)
        world.node_tree.nodes["Background"].inputs["Color"].default_value = (0.86, 0.92, 1.0, 1.0)
        world.node_tree.nodes["Background"].inputs["Strength"].default_value = SKY
        scene.camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
        scene.collection.objects.link(scene.camera)
        for name in ("Key", "Fill", "Rim"):
            scene.collection.objects.link(bpy.data.objects.new(name, bpy.data.lights.new(name, "SUN")))
    camera = scene.camera
    camera.data.lens, camera.data.sensor_fit, camera.data.sensor_height = LENS, "VERTICAL", 36.0
    away = _direction(view.azimuth, view.elevation)
    camera.location = Vector(view.target) + away * (view.height * LENS / 36.0)
    camera.rotation_euler = away.to_track_quat("Z", "Y").to_euler()
    for name, (*angles, strength, width) in zip(("Key", "Fill", "Rim"), LIGHTS, strict=True):
        light = scene.objects[name]
        light.data.energy, light.data.angle = strength, math.radians(width)
        azimuth, elevation = view.key if name == "Key" else angles
        light.rotation_euler = _direction(view.azimuth + azimuth, elevation).to_track_quat("Z", "Y").to_euler()


def _direction(azimuth: float, elevation: float) -> Vector:
    """Unit vector from the body to where it is seen from, degrees."""
    around, rise = math.radians(azimuth), math.radians(elevation)
    return Vector((math.sin(around) * math.cos(rise), -math.cos(around) * math.cos(rise), math.sin(rise)))
