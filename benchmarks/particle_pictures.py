"""The pictures of docs/particles.md: a filled cow, and a box and an elbow by four methods.

    python benchmarks/particle_pictures.py [--output DIR] [--samples COUNT] [--only NAME ...]

Needs Blender's module bpy; takes 4 minutes on two cores. The cow is read from a folder of assets that is not part
of the repository (--assets); without it its picture is left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from mathutils import Euler, Matrix, Vector

from harness import is_there, new_scene
from benchmarks import shapes
from benchmarks.shapes import Shape, rotation
from benchmarks.skins import bind_skin, count_particles
from benchmarks.studio import (
    INK,
    PAPER,
    Studio,
    add_balls,
    add_floor,
    add_mesh,
    color_by_ramp,
    color_joints,
    colored,
    draw,
    emission,
    linear,
    render_on,
    save_page,
    set_points,
    translucent,
    use_nodes,
)
from deformers.measures.sections import smallest_section
from deformers.measures.space import close_surface
from demo.picture import add_camera, add_text

METHODS = {
    "SSD": "Linear (SSD)",
    "DLB": "Preserve Volume (DLB)",
    "PARTICLES_2010": "Yamamoto & Tokoi 2010",
    "PARTICLES": "Supple Particles",
}
PIXELS_WIDE = 1600
LABEL_WIDTH, HEADER_HEIGHT, BORDER = 0.26, 0.18, 0.03
TITLE_SIZE, LABEL_SIZE, CAPTION_SIZE = 0.072, 0.062, 0.047

CLAY, PALE_CLAY, SKIN = (0.78, 0.50, 0.39), (0.87, 0.63, 0.52), (0.60, 0.47, 0.40)
# From the smallest radius to the largest, as the overlay has them
RAMP = np.array([(0.84, 0.19, 0.15), (0.99, 0.68, 0.38), (1.0, 1.0, 0.75), (0.57, 0.77, 0.87), (0.27, 0.46, 0.71)])
COW_COUNT = 1500
COW_POSE = "rear up"

# Turns the cow, which looks to -z with y up, so that it looks to +x with z up
UPRIGHT = np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


@dataclass(frozen=True)
class View:
    """How a body is shown: turned (Euler angles in degrees, z first), enlarged, `center` in the middle of its cell."""

    height: float
    angles: tuple[float, float, float]
    scale: float
    center: tuple[float, float, float]

    def matrix(self, middle: tuple[float, float]) -> Matrix:
        """From the body's space to the page, where its middle is at (x, z)."""
        turn = Euler([math.radians(angle) for angle in self.angles], "ZYX").to_matrix().to_4x4()
        place = Matrix.Translation((middle[0], 0.0, middle[1]))
        return place @ turn @ Matrix.Scale(self.scale, 4) @ Matrix.Translation(-Vector(self.center))


BEND = View(0.92, (20.0, 180.0, 22.0), 0.32, (-0.33, 0.0, -0.23))
TWIST = View(0.66, (20.0, 0.0, 22.0), 0.30, (0.0, 0.0, 0.0))
ELBOW = View(0.60, (12.0, 90.0, 8.0), 2.05, (-0.06, 0.0, 0.155))
COW = View(0.98, (12.0, 0.0, -38.0), 0.46, (-0.25, 0.0, 0.21))
COW_PLACE = 0.5, -HEADER_HEIGHT - 0.5 * COW.height


def draw_bends(arguments: Any, name: str) -> None:
    """Render the box bent and twisted, and the elbow bent, by each of METHODS."""
    scene, ink, clay = light_scene(), emission("Ink", INK), checked("Clay")
    box, arm = shapes.box(), shapes.arm()
    boxes, arms = ({method: bind_skin(method, shape) for method in METHODS} for shape in (box, arm))
    for column, title in enumerate(METHODS.values()):
        add_text(scene, title, (LABEL_WIDTH + column + 0.5, -0.5 * HEADER_HEIGHT), TITLE_SIZE, ink)
    top = -HEADER_HEIGHT
    for label, shape, skins, turn, view in (
        ("bend\n90°", box, boxes, rotation((0, 1, 0), 90), BEND),
        ("twist\n180°", box, boxes, rotation((1, 0, 0), 180), TWIST),
        ("elbow\n150°", arm, arms, rotation((0, 1, 0), -150), ELBOW),
    ):
        add_text(scene, label, (0.5 * LABEL_WIDTH, top - 0.5 * view.height), LABEL_SIZE, ink)
        for column, skin in enumerate(skins.values()):
            middle = LABEL_WIDTH + column + 0.5
            posed = skin.deform(shape.pose({1: turn}))
            body = add_mesh(scene, shape.points, shape.triangles, find_squares(shape), clay)
            set_points(body, posed)
            body.matrix_world = view.matrix((middle, top - 0.5 * view.height + 0.04))
            add_text(scene, describe(shape, posed), (middle, top - view.height + 0.05), CAPTION_SIZE, ink)
        top -= view.height
    render(scene, LABEL_WIDTH + len(METHODS), BORDER - top, arguments, name)


def describe(shape: Shape, posed: np.ndarray) -> str:
    """The caption of a box or an elbow."""
    space = close_surface(shape.points, shape.triangles).measure(posed)
    if shape is shapes.arm():
        return f"{100.0 * space.twice:.1f} % of it overlaps itself"
    ends = np.array([-1.2, 0.0, 0.0]), np.array([1.2, 0.0, 0.0])
    section = smallest_section(shape.points, posed, shape.triangles, *ends)[0]
    return f"fills {100.0 * space.filled:.0f} % of its space, keeps {100.0 * section:.0f} % of its section"


def find_squares(shape: Shape) -> np.ndarray:
    """Coordinates of the triangles' corners in a pattern of squares of side 1, shape (T, 3, 3)."""
    corners = shape.points[shape.triangles]
    if len(np.unique(shape.points[:, 0])) < 100:  # a box: its faces are not to lie between two squares
        return corners / (0.25, 0.24, 0.25) + (0.01, 0.0, 0.01)
    angles = np.arctan2(corners[..., 1], corners[..., 0])
    pole = np.hypot(corners[..., 0], corners[..., 1]) < 1e-6
    first = np.take_along_axis(angles, np.argmin(pole, axis=1)[:, None], axis=1)
    angles = np.where(pole, first, first + np.mod(angles - first + np.pi, 2.0 * np.pi) - np.pi)
    return np.stack([angles * (8.0 / np.pi), np.zeros_like(angles) + 0.5, corners[..., 2] / 0.02], axis=2)


def draw_fill(arguments: Any, name: str) -> None:
    """Render the cow's particles: by radius, by bone, and posed."""
    if not is_there(arguments.assets, "spot", "obj"):
        return
    scene, ink, balls, skin_material = light_scene(), emission("Ink", INK), colored("Balls"), translucent("Skin", SKIN)
    shape = shapes.cow(arguments.assets)
    skin = bind_skin("PARTICLES", shape, target_count=COW_COUNT)
    rest = skin.module.particles(skin.binding)
    pose = shapes.cow_poses(shape)[COW_POSE]
    posed = skin.deform(pose), skin.pose_particles(pose)
    cells = (
        (f"{count_particles(skin):,} particles, by radius", shape.points, rest.points, color_radii(rest.radii)),
        ("by bone", shape.points, rest.points, color_joints(rest.joints)),
        ("posed", *posed, color_joints(rest.joints)),
    )
    for column, (title, points, centers, colors) in enumerate(cells):
        add_text(scene, title, (column + 0.5, -0.5 * HEADER_HEIGHT), 0.8 * TITLE_SIZE, ink)
        place = COW.matrix((column + COW_PLACE[0], COW_PLACE[1]))
        corners = np.ones((len(shape.triangles), 3, 3))
        add_mesh(scene, points @ UPRIGHT.T, shape.triangles, corners, skin_material).matrix_world = place
        add_balls(scene, centers @ UPRIGHT.T, rest.radii, colors, balls).matrix_world = place
    add_floor(scene, float(shape.points[:, 1].min())).matrix_world = COW.matrix(COW_PLACE)
    render(scene, float(len(cells)), HEADER_HEIGHT + COW.height + BORDER, arguments, name)


def color_radii(radii: np.ndarray) -> np.ndarray:
    """Warm for the smallest, cool for the largest, even steps for even ratios, shape (P, 3)."""
    sizes = np.log(radii)
    shares = (sizes - sizes.min()) / np.ptp(sizes)
    return color_by_ramp(shares, RAMP)


def light_scene() -> bpy.types.Scene:
    """An empty scene with soft light: a large sun from the upper left, a weak one against it, and a pale sky."""
    new_scene()
    scene = bpy.context.scene
    for angles, strength, width in (((38.0, 0.0, -42.0), 3.1, 20.0), ((75.0, 0.0, 60.0), 0.5, 60.0)):
        light = bpy.data.lights.new("Sun", "SUN")
        light.energy, light.angle = strength, math.radians(width)
        sun = bpy.data.objects.new("Sun", light)
        sun.rotation_euler = [math.radians(angle) for angle in angles]
        scene.collection.objects.link(sun)
    world = bpy.data.worlds.new("Sky")
    use_nodes(world)
    world.node_tree.nodes["Background"].inputs["Color"].default_value = (0.86, 0.92, 1.0, 1.0)
    world.node_tree.nodes["Background"].inputs["Strength"].default_value = 0.42
    scene.world = world
    return scene


def checked(name: str) -> bpy.types.Material:
    """A soft material of two clays, in squares that the mesh has the coordinates of."""
    material = colored(name)
    tree = material.node_tree
    squares = tree.nodes.new("ShaderNodeTexChecker")
    squares.inputs["Scale"].default_value = 1.0
    for socket, color in (("Color1", CLAY), ("Color2", PALE_CLAY)):
        squares.inputs[socket].default_value = (*linear(np.array(color)), 1.0)
    tree.links.new(tree.nodes["Attribute"].outputs["Vector"], squares.inputs["Vector"])
    tree.links.new(squares.outputs["Color"], tree.nodes["Principled BSDF"].inputs["Base Color"])
    return material


def render(scene: bpy.types.Scene, width: float, height: float, arguments: Any, name: str) -> None:
    """Render the page, from x = 0 to `width` and from z = 0 down to -`height`, into a PNG file."""
    add_camera(scene, width, height)
    wide = round(PIXELS_WIDE * arguments.size)
    scene.render.resolution_x, scene.render.resolution_y = wide, round(wide * height / width)
    Studio.of(arguments).set_engine(scene)
    scene.cycles.use_denoising, scene.cycles.transparent_max_bounces = False, 32
    save_page(np.clip(render_on(scene, PAPER), 0.0, 1.0), arguments.output / f"particles-{name}.png")


if __name__ == "__main__":
    draw(__doc__, {"fill": draw_fill, "bend-twist": draw_bends}, samples=128)
