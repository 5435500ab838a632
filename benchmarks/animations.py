"""The animations of the README, one for each of the five main things, with the arm of the demonstration.

    python benchmarks/animations.py [--output DIR] [--samples COUNT] [--size SHARE] [--only NAME ...]

Needs Blender's module bpy, and nothing else; takes 5 minutes on two cores.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Vector

from harness import new_scene, option, read_vertices, select
from benchmarks.animated_webp import write_animation
from benchmarks.shapes import Shape
from benchmarks.skins import bind_skin
from benchmarks.studio import (
    CORNERS_NAME,
    Studio,
    View,
    add_balls,
    color_joints,
    colored,
    draw,
    linear,
    print_on,
    translucent,
)
from benchmarks.weight_scenes import mix_by_weights
from deformers.measures.heat import color_stretch, stretch_vertices
from deformers.measures.sections import smallest_section
from deformers.measures.stretch import mesh_edges
from demo.arm import Arm, build_arm
from demo.character import build_armature, build_mesh
from demo.motion import TWIST, Channels, curled
from demo.patterns import add_patterns
from demo.subjects import Subject
from demo.topology import triangulate

VERTICES = 10_000  # Approximate number of the arm's
WIDTH, GAP, TITLE_HEIGHT, TITLE_SIZE = 640.0, 4.0, 28.0, 19.0
FRAME_TIME, HOLD_TIME = 55, 700  # Milliseconds for a frame, and for the first and last
# Quality of the encoder, 1 to 100, if not 86: many small shapes make large files, and one page shows all five
QUALITY = {"particles": 72}
FLESH, BARE = (0.78, 0.55, 0.45), (0.66, 0.66, 0.66)  # Colors of skin, sRGB
BONE = (0.93, 0.88, 0.74)
BONE_WIDTH = 0.12  # Half the width of a bone, as a share of its length
EMPHASIS = 1.5  # Height of skin patterns relative to the demonstration: frames are small

# Methods of Blender's Armature modifier, and whether they preserve volume
BLENDERS = {"Linear": False, "Preserve Volume": True}

# Text, middle x and y from the top, and size, as in `Studio.draw_texts`
Text = tuple[str, float, float, float]


@dataclass(frozen=True)
class Cell:
    """A part of the frame.

    Attributes
    ----------
    title : function
        What stands above it, asked for after `show`.
    show : function
        Puts what is seen into the context's scene; what it returns is removed after the shot.
    """

    title: Callable[[], str]
    show: Callable[[], list[bpy.types.Object]]


@dataclass(frozen=True)
class Animation:
    """What moves, and what is seen of it.

    Attributes
    ----------
    scene : Scene
        Where the armature and its skins are.
    pose : function
        From 0 at the start to 1 at the end of the motion to the angles of bones, degrees.
    height : float
        Of a cell, in pixels.
    legend : function, optional
        Draws a strip below the cells, and what is printed on it, measured from its own corner.
    """

    scene: bpy.types.Scene
    armature: bpy.types.Object
    pose: Callable[[float], Channels]
    cells: list[Cell]
    columns: int
    view: View
    height: float
    legend: Callable[[Studio], tuple[np.ndarray, tuple[Text, ...]]] | None = None


def animate(arguments: Any, name: str) -> None:
    """Draw frames from the start of a motion to its end, and write them there and back."""
    start, studio, count = time.perf_counter(), Studio.of(arguments), arguments.frames
    animation = SHOW[name](build_arm(VERTICES))
    shots = bpy.data.scenes.new("Shots")
    shots.cycles.denoising_prefilter, shots.cycles.denoising_quality = "FAST", "FAST"
    frames, inks = [], {}
    for number in range(count):
        share = 0.5 - 0.5 * math.cos(math.pi * number / (count - 1))
        bpy.context.window.scene = animation.scene
        strike(animation.armature, animation.pose(share))
        page, texts = draw_cells(animation, studio, shots)
        if texts not in inks:
            inks[texts] = studio.draw_texts(page.shape, texts)
        frames.append(print_on(page, inks[texts]))
    one_way = [HOLD_TIME, *[FRAME_TIME] * (count - 2)]
    path = arguments.output / f"animated-{name}.webp"
    write_animation(path, [*frames, *frames[-2:0:-1]], [*one_way, *one_way], QUALITY.get(name, 86))
    print(f"  {time.perf_counter() - start:.0f} s", flush=True)


def strike(armature: bpy.types.Object, angles: Channels) -> None:
    """Pose an armature; bones that are not named are at rest."""
    for bone in armature.pose.bones:
        bone.rotation_euler = [math.radians(angle) for angle in angles.get(bone.name, (0.0, 0.0, 0.0))]
    bpy.context.view_layer.update()


def draw_cells(animation: Animation, studio: Studio, shots: bpy.types.Scene) -> tuple[np.ndarray, tuple[Text, ...]]:
    """The cells of a pose on one page, float32, shape (H, W, 3), and the texts to be printed on it."""
    columns, rows = animation.columns, -(-len(animation.cells) // animation.columns)
    width, step = (WIDTH - (columns + 1) * GAP) / columns, TITLE_HEIGHT + animation.height
    page, texts = studio.new_page(WIDTH, rows * step + GAP), []
    for number, cell in enumerate(animation.cells):
        left, top = GAP + number % columns * (width + GAP), number // columns * step + TITLE_HEIGHT
        bpy.context.window.scene = animation.scene
        with only_for_a_shot(cell, shots):
            studio.put(page, studio.shoot(animation.view, width, animation.height), left, top)
        texts.append((cell.title(), left + width / 2.0, top - TITLE_HEIGHT / 2.0, TITLE_SIZE))
    if animation.legend:
        strip, words = animation.legend(studio)
        page = np.concatenate([page, strip])
        texts += [(text, x, rows * step + GAP + y, size) for text, x, y, size in words]
    return page, tuple(texts)


@contextmanager
def only_for_a_shot(cell: Cell, shots: bpy.types.Scene) -> Iterator[None]:
    """Have what a cell shows in a scene, which becomes the context's, and remove it after the shot."""
    objects = cell.show()
    bpy.context.window.scene = shots
    for obj in objects:
        shots.collection.objects.link(obj)
    yield
    for obj in objects:
        mesh = cast(bpy.types.Mesh, obj.data)
        bpy.data.objects.remove(obj)
        bpy.data.meshes.remove(mesh)


# What cells show


def new_stage(arm: Arm) -> tuple[bpy.types.Scene, bpy.types.Object]:
    """Open an empty file, with the armature of an arm in its scene."""
    new_scene()
    return bpy.context.scene, build_armature(arm, "Armature")


def add_skin(arm: Arm, armature: bpy.types.Object, method: str) -> bpy.types.Object:
    """The arm, deformed by one of BLENDERS or by a method of Supple."""
    obj = build_mesh(arm, method)
    obj.parent = armature
    modifier = obj.modifiers.new("Armature", "ARMATURE")
    modifier.object, modifier.use_deform_preserve_volume = armature, BLENDERS.get(method, False)
    select([obj], obj)
    if method not in BLENDERS:
        bpy.ops.supple.bind(method=method)
    return obj


def freeze(
    obj: bpy.types.Object, material: bpy.types.Material, color: Callable[[np.ndarray], np.ndarray]
) -> list[bpy.types.Object]:
    """A copy of an object as it is posed, in the sRGB colors, shape (V, 3) or (3,), that its posed points give."""
    mesh = bpy.data.meshes.new_from_object(obj.evaluated_get(bpy.context.evaluated_depsgraph_get()))
    points = read_vertices(mesh.vertices)
    colors = np.broadcast_to(linear(color(points)), points.shape).astype(np.float32)
    attribute = mesh.attributes.new(CORNERS_NAME, "FLOAT_VECTOR", "POINT")
    attribute.data.foreach_set("vector", colors.ravel())
    mesh.materials.clear()
    mesh.materials.append(material)
    return [bpy.data.objects.new("Shown", mesh)]


def plain(title: str, obj: bpy.types.Object, material: bpy.types.Material) -> Cell:
    """A cell of one object in one color."""
    return Cell(lambda: title, partial(freeze, obj, material, lambda _: np.array(FLESH)))


def read_matrices(arm: Arm, armature: bpy.types.Object) -> np.ndarray:
    """From rest to the pose, in armature space, shape (B, 4, 4)."""
    bones = armature.pose.bones
    return np.array([bones[bone.name].matrix @ bones[bone.name].bone.matrix_local.inverted() for bone in arm.bones])


# The five animations


def show_methods(arm: Arm) -> Animation:
    """An elbow that bends by four methods."""
    scene, armature = new_stage(arm)
    titles = {
        "Linear": "Blender: Linear",
        "Preserve Volume": "Blender: Preserve Volume",
        "DLBNT": "Supple: DQ with Stretch",
        "CENTERS": "Supple: Centers",
    }
    clay = colored("Clay")
    cells = [plain(title, add_skin(arm, armature, method), clay) for method, title in titles.items()]
    view = View((0.262, 0.0, 0.05), 10.0, 14.0, 0.225)
    return Animation(scene, armature, bend_elbow, cells, 2, view, 200.0)


def bend_elbow(share: float) -> Channels:
    return {"forearm": (20.0 + 115.0 * share, 0.0, 0.0), **curled(0.2 + 0.65 * share)}


def show_particles(arm: Arm) -> Animation:
    """A forearm that twists, by linear blending and by particles, and the particles."""
    scene, armature = new_stage(arm)
    clay, triangles = colored("Clay"), triangulate(arm.quads)
    sections: dict[str, float] = {}

    def measure(method: str, points: np.ndarray) -> np.ndarray:
        ends = np.array([0.35, 0.0, 0.0]), np.array([0.58, 0.0, 0.0])
        sections[method] = smallest_section(arm.points, points, triangles, *ends)[0]
        return np.array(FLESH)

    def caption(method: str, title: str) -> str:
        return f"{title}: the forearm keeps {100.0 * sections[method]:.0f} % of its section"

    skins = {method: add_skin(arm, armature, method) for method in ("Linear", "PARTICLES")}
    cells = [
        Cell(partial(caption, method, title), partial(freeze, skins[method], clay, partial(measure, method)))
        for method, title in (("Linear", "Linear"), ("PARTICLES", "Particles"))
    ]
    cells.append(fill(arm, armature, skins["PARTICLES"]))
    view = View((0.455, 0.0, 0.0), 0.0, 22.0, 0.145)
    return Animation(scene, armature, twist_forearm, cells, 1, view, 140.0)


def twist_forearm(share: float) -> Channels:
    turned = {bone: tuple(share * angle for angle in angles) for bone, angles in TWIST.items()}
    return {**turned, **curled(0.25)}  # pyright: ignore[reportReturnType]


def fill(arm: Arm, armature: bpy.types.Object, obj: bpy.types.Object) -> Cell:
    """A cell of the particles in a skin, in the colors of their bones."""
    names = [bone.name for bone in arm.bones]
    parents = np.array([names.index(bone.parent) if bone.parent else -1 for bone in arm.bones])
    heads, tails = (np.array([getattr(bone, end) for bone in arm.bones]) for end in ("head", "tail"))
    skin = bind_skin("PARTICLES", Shape(arm.points, triangulate(arm.quads), arm.weights, heads, tails, parents))
    rest = skin.module.particles(skin.binding)
    glass, balls = translucent("Glass", FLESH), colored("Balls")

    def show() -> list[bpy.types.Object]:
        centers = skin.pose_particles(read_matrices(arm, armature))
        shown = add_balls(bpy.context.scene, centers, rest.radii, color_joints(rest.joints), balls, 2)
        bpy.context.scene.collection.objects.unlink(shown)
        return [shown, *freeze(obj, glass, lambda _: np.array(FLESH))]

    return Cell(lambda: f"{len(rest.radii):,} particles that keep their volume", show)


def show_patterns(arm: Arm) -> Animation:
    """A flexed arm without and with skin patterns."""
    scene, armature = new_stage(arm)
    bare, patterned = (add_skin(arm, armature, "CENTERS") for _ in range(2))
    add_patterns(Subject("Centers", scene, patterned, armature))
    for pattern in patterned.supple.patterns:
        pattern.strength *= EMPHASIS
    clay = colored("Clay")
    cells = [plain("Centers", bare, clay), plain("Centers, with skin patterns", patterned, clay)]
    view = View((0.155, 0.0, 0.09), -20.0, 16.0, 0.36, (-35.0, 58.0))
    return Animation(scene, armature, flex, cells, 2, view, 300.0)


def flex(share: float) -> Channels:
    return {"forearm": (20.0 + 110.0 * share, 0.0, 0.0), "hand": (55.0 * share, 0.0, 0.0), **curled(0.3 + 0.55 * share)}


def show_weights(arm: Arm) -> Animation:
    """A hand that closes: its bones alone, and with automatic weights."""
    scene, armature = new_stage(arm)
    skins = []
    for title in ("Bare", "Weighted"):
        obj = build_mesh(arm, title)
        obj.vertex_groups.clear()
        obj.parent = armature
        obj.modifiers.new("Armature", "ARMATURE").object = armature
        skins.append(obj)
    bare, weighted = skins
    select([weighted], weighted)
    bpy.ops.supple.weights_auto(method="SOLID")
    bpy.ops.supple.bind(method="CENTERS")
    hues, clay = color_joints(np.arange(len(weighted.vertex_groups), dtype=float)), colored("Clay")
    colors, _ = mix_by_weights(weighted, hues)

    def show_bare() -> list[bpy.types.Object]:
        return [*freeze(bare, clay, lambda _: np.array(BARE)), add_bones(arm, armature, clay)]

    cells = [
        Cell(lambda: "without weights", show_bare),
        Cell(lambda: "Automatic Weights", partial(freeze, weighted, clay, lambda _: colors)),
    ]
    view = View((0.648, -0.005, 0.015), 30.0, 38.0, 0.225)
    return Animation(scene, armature, close_hand, cells, 2, view, 300.0)


def close_hand(share: float) -> Channels:
    return {"hand": (-12.0 + 24.0 * share, 0.0, 0.0), **curled(0.95 * share)}


def add_bones(arm: Arm, armature: bpy.types.Object, material: bpy.types.Material) -> bpy.types.Object:
    """The posed bones of an armature as octahedra, in no scene."""
    points, faces = [], []
    for bone in armature.pose.bones:
        width, start = BONE_WIDTH * bone.length, len(points)
        ring = [(x * width, 0.12 * bone.length, z * width) for x, z in ((1, 0), (0, 1), (-1, 0), (0, -1))]
        points += [(bone.matrix @ Vector(point)).to_tuple() for point in ((0, 0, 0), *ring, (0, bone.length, 0))]
        for side in range(4):
            here, following = start + 1 + side, start + 1 + (side + 1) % 4
            faces += [(start, here, following), (start + 5, following, here)]
    mesh = bpy.data.meshes.new("Bones")
    mesh.from_pydata(points, [], faces)
    attribute = mesh.attributes.new(CORNERS_NAME, "FLOAT_VECTOR", "POINT")
    attribute.data.foreach_set("vector", np.tile(linear(np.array(BONE)), len(points)).astype(np.float32))
    mesh.materials.append(material)
    return bpy.data.objects.new("Bones", mesh)


def show_check(arm: Arm) -> Animation:
    """How far the skin of an elbow is pressed and drawn by three methods."""
    scene, armature = new_stage(arm)
    clay, edges = colored("Clay"), mesh_edges(arm.quads)

    def heat(points: np.ndarray) -> np.ndarray:
        return color_stretch(stretch_vertices(arm.points, points, edges))

    titles = {"Linear": "Linear", "Preserve Volume": "Preserve Volume", "CENTERS": "Centers"}
    cells = [
        Cell(partial(str, title), partial(freeze, add_skin(arm, armature, method), clay, heat))
        for method, title in titles.items()
    ]
    view = View((0.24, 0.0, 0.13), 14.0, 12.0, 0.40)
    return Animation(scene, armature, bend_and_twist, cells, 3, view, 250.0, draw_legend)


def bend_and_twist(share: float) -> Channels:
    return {**twist_forearm(share), "forearm": (55.0 + 45.0 * share, 0.0, 0.0)}


def draw_legend(studio: Studio) -> tuple[np.ndarray, tuple[Text, ...]]:
    """Draw the colors of stretch as a strip of the page, with captions."""
    strip = studio.new_page(WIDTH, TITLE_HEIGHT)
    colors = color_stretch(np.linspace(-1.0, 1.0, studio.pixels(0.35 * WIDTH)))
    studio.put(strip, np.tile(colors, (studio.pixels(12.0), 1, 1)), 0.325 * WIDTH, (TITLE_HEIGHT - 12.0) / 2.0)
    texts = ("pressed to half", 0.2 * WIDTH), ("drawn to double", 0.8 * WIDTH)
    return strip, tuple((text, x, TITLE_HEIGHT / 2.0, 0.85 * TITLE_SIZE) for text, x in texts)


SHOW: dict[str, Callable[[Arm], Animation]] = {
    "methods": show_methods, "particles": show_particles, "patterns": show_patterns, "weights": show_weights,
    "check": show_check,
}  # fmt: skip


if __name__ == "__main__":
    frames = option(16, "from rest to the pose; the way back has the same")
    draw(__doc__, dict.fromkeys(SHOW, animate), samples=12, frames=frames)
