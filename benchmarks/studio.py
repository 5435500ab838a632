"""A studio for pictures: materials, a camera with its lights, cells that are rendered, pages that they are put on."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import bpy
import bmesh
import numpy as np
from mathutils import Vector

from harness import ASSETS, IMAGES, option, parse, supple
from benchmarks.bodies import make_mesh
from benchmarks.png import write_png
from deformers.geometry.neighbors import find_nearest
from demo.picture import add_camera, add_text

PAPER = np.array([0.925, 0.925, 0.92])  # Color of the page; all colors are sRGB
INK, BACKDROP = (0.09, 0.09, 0.10), np.array([0.70, 0.71, 0.72])  # Of texts, and behind what is rendered
# Colors of the parts, sRGB
CLAYS = ((0.78, 0.58, 0.48), (0.42, 0.50, 0.58), (0.72, 0.60, 0.36), (0.60, 0.64, 0.68), (0.62, 0.46, 0.44))
PALE = 0.72  # Factor of the color of stripes
GOLDEN_RATIO = 0.618034
CORNERS_NAME = "corners"  # Attribute of the colors, or of the positions in a pattern, of each triangle's corners
# Key, fill and rim: to the right of the camera and above it (degrees), strength, how wide (degrees)
LIGHTS = ((-62.0, 32.0, 3.3, 10.0), (45.0, 10.0, 0.45, 40.0), (152.0, 35.0, 1.5, 20.0))
SKY = 0.34
DITHER = 4.0
LENS = 100.0  # Millimeters, on a sensor 36 high
WIDTH, GAP = 1500.0, 10.0  # Of a page, and between its cells
# Names of characters on pages
NAMES = {
    "mh_human": "woman", "mh_human_game": "woman", "human_male": "man", "fox": "fox", "cesium_man": "Cesium man",
    "kaykit_knight": "knight",
}  # fmt: skip


Pages = Mapping[str, Callable[[Any, str], None]] | Callable[[Any], None]


def draw(about: str | None, pages: Pages, samples: int = 24, **options: Any) -> None:
    """Draw pictures, with Supple enabled.

    Parameters
    ----------
    about : str
        The script's docstring.
    pages : mapping, or function
        What draws each page that --only names, of the command line and its name; or what draws all, of the former.
    samples : int
        For each pixel, if the command line has no other.
    options
        Further ones, as `parse` takes them.
    """
    arguments = parse(
        about, () if callable(pages) else pages, output=option(IMAGES, "folder of the pictures"), assets=ASSETS,
        samples=option(samples, "for each pixel"), size=option(1.0, "of the pictures, to look at small ones first"),
        **options,
    )  # fmt: skip
    arguments.output = arguments.output.resolve()
    arguments.output.mkdir(parents=True, exist_ok=True)
    with supple():
        if callable(pages):
            pages(arguments)
            return
        for name in arguments.only:
            pages[name](arguments, name)


# Colors and materials


def linear(colors: np.ndarray) -> np.ndarray:
    """SRGB colors as linear ones."""
    colors = np.asarray(colors, float)
    return np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)


def color_joints(joints: np.ndarray) -> np.ndarray:
    """A hue for each joint, shape (P, 3)."""
    hues = (joints[:, None] * GOLDEN_RATIO) % 1.0
    steps = (6.0 * hues + np.array((5.0, 3.0, 1.0))) % 6.0
    return 0.90 - 0.50 * np.clip(np.minimum(steps, 4.0 - steps), 0.0, 1.0)


def color_by_ramp(values: np.ndarray, ramp: np.ndarray) -> np.ndarray:
    """Colors of values from 0 to 1 by a ramp of even steps, shape (N, 3)."""
    steps = np.linspace(0.0, 1.0, len(ramp))
    return np.stack([np.interp(values, steps, channel) for channel in ramp.T], axis=1)


def use_nodes(owner: bpy.types.Material | bpy.types.World) -> None:
    """Give a material or a world its nodes; from Blender 5.0 on it has them."""
    if bpy.app.version < (5, 0):
        owner.use_nodes = True


def new_material(name: str) -> tuple[bpy.types.Material, Any]:
    """A material with its tree of nodes."""
    material = bpy.data.materials.new(name)
    use_nodes(material)
    return material, material.node_tree


def colored(name: str) -> bpy.types.Material:
    """A soft material in the colors of the mesh."""
    material, tree = new_material(name)
    attribute = tree.nodes.new("ShaderNodeAttribute")
    attribute.attribute_name = CORNERS_NAME
    shader = tree.nodes["Principled BSDF"]
    tree.links.new(attribute.outputs["Color"], shader.inputs["Base Color"])
    shader.inputs["Roughness"].default_value = 0.6
    return material


def plain_material(name: str, color: tuple[float, float, float], roughness: float) -> bpy.types.Material:
    """A material of one color."""
    material, tree = new_material(name)
    shader = tree.nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = (*linear(np.array(color)), 1.0)
    shader.inputs["Roughness"].default_value = roughness
    return material


def emission(name: str, color: tuple[float, float, float]) -> bpy.types.Material:
    """A material of one color, whatever the light."""
    material, tree = new_material(name)
    shader = tree.nodes.new("ShaderNodeEmission")
    shader.inputs["Color"].default_value = (*linear(np.array(color)), 1.0)
    tree.links.new(shader.outputs["Emission"], tree.nodes["Material Output"].inputs["Surface"])
    return material


def translucent(name: str, color: tuple[float, float, float]) -> bpy.types.Material:
    """A material as of glass: clear where one looks straight on it, and the more to be seen the more it turns away."""
    material, tree = new_material(name)
    shader = tree.nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = (*linear(np.array(color)), 1.0)
    shader.inputs["Roughness"].default_value = 0.35
    facing = tree.nodes.new("ShaderNodeLayerWeight")
    facing.inputs["Blend"].default_value = 0.25
    share = tree.nodes.new("ShaderNodeMapRange")
    share.inputs["To Min"].default_value, share.inputs["To Max"].default_value = 0.0, 0.8
    clear, mix = tree.nodes.new("ShaderNodeBsdfTransparent"), tree.nodes.new("ShaderNodeMixShader")
    tree.links.new(facing.outputs["Facing"], share.inputs["Value"])
    tree.links.new(share.outputs["Result"], mix.inputs[0])
    tree.links.new(clear.outputs["BSDF"], mix.inputs[1])
    tree.links.new(shader.outputs["BSDF"], mix.inputs[2])
    tree.links.new(mix.outputs["Shader"], tree.nodes["Material Output"].inputs["Surface"])
    return material


# What is shown


def add_mesh(
    scene: bpy.types.Scene, points: np.ndarray, triangles: np.ndarray, corners: np.ndarray, material: bpy.types.Material
) -> bpy.types.Object:
    """Show a surface, smooth but for its sharp edges; its material reads `corners`, shape (T, 3, 3)."""
    mesh = make_mesh("Body", points, triangles)
    mesh.shade_smooth()
    mesh.set_sharp_from_angle(angle=math.radians(50.0))
    attribute = mesh.attributes.new(CORNERS_NAME, "FLOAT_VECTOR", "CORNER")
    attribute.data.foreach_set("vector", corners.astype(np.float32).ravel())
    mesh.materials.append(material)
    obj = bpy.data.objects.new("Body", mesh)
    scene.collection.objects.link(obj)
    return obj


def add_figure(
    points: np.ndarray, triangles: np.ndarray, color: Sequence[float], material: bpy.types.Material
) -> bpy.types.Object:
    """Show a surface in one sRGB color."""
    corners = np.broadcast_to(linear(np.array(color)), (*triangles.shape, 3))
    return add_mesh(bpy.context.scene, points, triangles, corners, material)


def add_striped(points: np.ndarray, triangles: np.ndarray, dark: np.ndarray) -> bpy.types.Object:
    """Show a surface in clay, with stripes: `dark`, bool array, shape (T,)."""
    colors = linear(np.array(CLAYS[0])) * np.where(dark, PALE, 1.0)[:, None] ** 2
    corners = np.broadcast_to(colors[:, None], (*triangles.shape, 3))
    return add_mesh(bpy.context.scene, points, triangles, corners, colored("Clay"))


def add_balls(
    scene: bpy.types.Scene,
    centers: np.ndarray,
    radii: np.ndarray,
    colors: np.ndarray,
    material: bpy.types.Material,
    subdivisions: int = 3,
) -> bpy.types.Object:
    """Show spheres as one mesh."""
    sphere = bmesh.new()
    bmesh.ops.create_icosphere(sphere, subdivisions=subdivisions, radius=1.0)
    ball = np.array([vertex.co for vertex in sphere.verts])
    faces = np.array([[vertex.index for vertex in face.verts] for face in sphere.faces])
    sphere.free()
    points = (centers[:, None] + radii[:, None, None] * ball).reshape(-1, 3)
    triangles = (faces + len(ball) * np.arange(len(centers))[:, None, None]).reshape(-1, 3)
    corners = np.repeat(linear(colors), 3 * len(faces), axis=0).reshape(-1, 3, 3)
    return add_mesh(scene, points, triangles, corners, material)


def add_floor(scene: bpy.types.Scene, height: float) -> bpy.types.Object:
    """Catch the shadow of what stands at a height."""
    points = 40.0 * np.array([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)], float) + (0.0, 0.0, height)
    floor = add_mesh(scene, points, np.array([(0, 1, 2), (0, 2, 3)]), np.ones((2, 3, 3)), colored("Floor"))
    floor.is_shadow_catcher = True
    return floor


def set_points(obj: Any, points: np.ndarray) -> None:
    """Put a mesh's vertices to points, shape (V, 3)."""
    obj.data.vertices.foreach_set("co", np.asarray(points, np.float32).ravel())
    obj.data.update()


# The studio


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

    @classmethod
    def along(cls, target: Iterable[float], away: np.ndarray, height: float, **angles: Any) -> View:
        """From where a vector leads away from the target; `angles` replace those that it gives."""
        away = away / np.linalg.norm(away)
        azimuth, elevation = (float(np.degrees(angle)) for angle in (np.arctan2(away[0], -away[1]), np.arcsin(away[2])))
        x, y, z = map(float, target)
        return replace(cls((x, y, z), azimuth, elevation, height), **angles)


@dataclass(frozen=True)
class Studio:
    """How pictures are made: samples for each pixel, and their size, 1 for the documents."""

    samples: int
    size: float

    @classmethod
    def of(cls, arguments: Any) -> Studio:
        """As the command line asks for it."""
        return cls(arguments.samples, arguments.size)

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
        self.set_engine(scene)
        return render_on(scene, behind)

    def set_engine(self, scene: bpy.types.Scene) -> None:
        """Have Cycles render."""
        scene.render.engine = "CYCLES"
        scene.cycles.samples, scene.cycles.max_bounces = self.samples, 4
        scene.cycles.use_denoising, scene.cycles.use_adaptive_sampling = True, False

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
        save_page(page, path, _dither(page.shape))

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


@dataclass(frozen=True)
class Drawing(Studio):
    """A studio in which Workbench draws, in the colors of the meshes."""

    def set_engine(self, scene: bpy.types.Scene) -> None:
        """Have Workbench draw."""
        scene.render.engine, scene.display.render_aa = "BLENDER_WORKBENCH", "16"
        shading = scene.display.shading
        shading.light, shading.studio_light, shading.color_type = "STUDIO", "paint.sl", "VERTEX"
        shading.show_cavity, shading.cavity_type, shading.cavity_ridge_factor = True, "WORLD", 0.0
        shading.show_specular_highlight, shading.show_backface_culling = False, False


def render_on(scene: bpy.types.Scene, behind: np.ndarray) -> np.ndarray:
    """Render a scene on a color: float32, shape (H, W, 3), top row first, sRGB."""
    scene.render.film_transparent, scene.view_settings.view_transform = True, "Standard"
    scene.render.image_settings.file_format, scene.render.image_settings.color_mode = "PNG", "RGBA"
    with tempfile.TemporaryDirectory() as folder:
        scene.render.filepath = str(Path(folder, "cell.png"))
        bpy.ops.render.render(write_still=True, scene=scene.name)
        pixels = read_image(Path(folder, "cell.png"))
    return pixels[..., 3:] * pixels[..., :3] + (1.0 - pixels[..., 3:]) * behind.astype(np.float32)


def print_on(page: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """A page with the texts of `Studio.draw_texts` on it."""
    return shown * page + (1.0 - shown) * np.array(INK, np.float32)


def read_image(path: Path) -> np.ndarray:
    """Pixels of a PNG file: float32, shape (H, W, 4), top row first."""
    image = bpy.data.images.load(str(path))
    width, height = image.size
    pixels = np.empty(4 * width * height, np.float32)
    image.pixels.foreach_get(pixels)
    bpy.data.images.remove(image)
    return pixels.reshape(height, width, 4)[::-1]


def _light(scene: bpy.types.Scene, view: View) -> None:
    """Aim the scene's camera and lights; made if missing."""
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


# Pages


@dataclass(frozen=True)
class Row:
    """Cells that show the same by each method."""

    label: str
    cells: list[np.ndarray]


class Page:
    """Cells in columns under their titles and in rows beside their labels.

    Parameters
    ----------
    titles, labels, heights : sequences
        Of columns; of rows, and how high these are.
    header, label_width : floats
        How high the row of titles is, and how wide the column of labels.
    sizes : pair of float
        Of titles and labels.
    """

    def __init__(
        self, studio: Studio, titles: Sequence[str], labels: Sequence[str], heights: Sequence[float],
        header: float = 60.0, label_width: float = 130.0, sizes: tuple[float, float] = (27.0, 24.0),
    ) -> None:  # fmt: skip
        self.studio, self.width = studio, cell_width(len(titles), label_width)
        self._lefts = [label_width + column * (self.width + GAP) for column in range(len(titles))]
        self._tops = [header + sum(heights[:row]) + row * GAP for row in range(len(heights))]
        self._page = studio.new_page(WIDTH, self._tops[-1] + heights[-1] + GAP)
        self._texts = [
            (title, left + self.width / 2, header / 2, sizes[0])
            for title, left in zip(titles, self._lefts, strict=True)
        ]
        places = zip(labels, self._tops, heights, strict=True)
        self._texts += [(label, label_width / 2, top + height / 2, sizes[1]) for label, top, height in places if label]

    def put(self, row: int, column: int, cell: np.ndarray) -> None:
        """Put a cell in its position."""
        self.studio.put(self._page, cell, self._lefts[column], self._tops[row])

    def write(self, path: Path) -> None:
        """Save the page with its texts."""
        self.studio.write(self._page, self._texts, path)


def cell_width(columns: int, label_width: float = 130.0) -> float:
    return (WIDTH - label_width - columns * GAP) / columns


def write_page(rows: Sequence[Row], titles: Sequence[str], studio: Studio, path: Path) -> None:
    """Put rows under the titles of their columns, and save the page."""
    heights = [row.cells[0].shape[0] / studio.size for row in rows]
    page = Page(studio, titles, [row.label for row in rows], heights)
    for number, row in enumerate(rows):
        for column, cell in enumerate(row.cells):
            page.put(number, column, cell)
    page.write(path)


def name_row(character: str, label: str) -> str:
    """Label of a row on a page of several characters."""
    return f"{NAMES[character]}\n{label}"


def save_page(page: np.ndarray, path: Path, dither: np.ndarray | float = 0.0) -> None:
    """Save a page, float32, shape (H, W, 3), in few colors."""
    colors = np.clip(np.rint(255.0 * page + dither), 0.0, 255.0).astype(np.uint8)
    palette, indices = choose_palette(colors.reshape(-1, 3))
    write_png(path, indices.reshape(colors.shape[:2]), palette)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB", flush=True)


def _dither(shape: tuple[int, ...]) -> np.ndarray:
    """A fine grid of -DITHER/2 to DITHER/2, shape (H, W, 1), so that few colors show no bands."""
    grid = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]]) / 15.0 - 0.5
    rows, columns = np.ogrid[: shape[0], : shape[1]]
    return DITHER * grid[rows % 4, columns % 4, None]


def choose_palette(colors: np.ndarray, count: int = 256) -> tuple[np.ndarray, np.ndarray]:
    """The colors that stand for those of an image, shape (N, 3), and the place of each among them: by 12 k-means."""
    cells, cell_of, used = np.unique(colors >> 2, axis=0, return_inverse=True, return_counts=True)
    cells, weights = 4.0 * cells + 1.5, np.sqrt(used)
    order = np.lexsort(cells.T)
    palette = cells[order[np.linspace(0, len(order) - 1, count).astype(int)]]
    nearest = find_nearest(cells, palette, 1)[0][:, 0]
    for _ in range(12):
        sums = np.maximum(np.bincount(nearest, weights, count), 1e-9)
        means = [np.bincount(nearest, weights * channel, count) / sums for channel in cells.T]
        palette = np.stack(means, axis=1)
        nearest = find_nearest(cells, palette, 1)[0][:, 0]
    paper = np.rint(255.0 * PAPER)
    palette[nearest[np.argmin(np.square(cells - paper).sum(axis=1))]] = paper
    return np.rint(palette).astype(np.uint8), nearest[cell_of.ravel()].astype(np.uint8)
