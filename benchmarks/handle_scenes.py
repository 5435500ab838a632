"""A knight's helmet in a cage of twelve vertices, and a fox whose tail follows four points: built, weighted, posed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Euler, Matrix, Vector

from harness import open_file, put_to_rest, select
from benchmarks.studio import linear
from benchmarks.weight_scenes import PARTS, paint

STEEL, FUR, WIRE, AXES = (0.62, 0.65, 0.70), (0.83, 0.47, 0.2), (0.1, 0.42, 0.9), (0.9, 0.2, 0.1)
CLOTHES = {**PARTS, "Knight_Helmet": STEEL, "Fox": FUR}  # Colors of meshes, by how their names begin, sRGB
QUARTER = 0.5 * np.pi
KNIGHT = ("Knight_Helmet", "Knight_Body", "Knight_Head", "Knight_Arm", "Knight_Leg")
# Height above the helmet's middle, and width, of the rings of four vertices of its cage, in sizes of the helmet
RINGS = ((-0.54, 1.04), (-0.02, 1.10), (0.54, 0.96))
TAIL = (1.2, 1.47, 1.74, 2.02)  # Positions of points in the tail along Y


@dataclass(frozen=True)
class Held:
    """A skin and its handles."""

    skins: tuple[bpy.types.Object, ...]
    armature: bpy.types.Object  # of the handles
    handles: tuple[bpy.types.Object, ...]


def open_at_rest(assets: Path, name: str) -> None:
    """Open a character at rest, without its actions."""
    put_to_rest(open_file(assets, name))


def color_meshes() -> None:
    """Give each mesh the color of its name."""
    for obj in bpy.data.objects:
        color = next((color for name, color in CLOTHES.items() if obj.name.startswith(name)), None)
        if obj.type == "MESH" and color is not None:
            paint(obj, linear(np.array(color)))
            cast(bpy.types.Mesh, obj.data).shade_smooth()


def add_knight(assets: Path, plain: bool = False) -> Held | None:
    """The knight, with a cage about head and helmet."""
    open_at_rest(assets, "kaykit_knight")
    for obj in [obj for obj in bpy.data.objects if obj.type == "MESH" and not obj.name.startswith(KNIGHT)]:
        bpy.data.objects.remove(obj)
    color_meshes()
    if plain:
        return None
    helmet, rig = bpy.data.objects["Knight_Helmet"], bpy.data.objects["Rig"]
    matrix = helmet.matrix_world.copy()
    helmet.parent, helmet.matrix_world = None, matrix  # it was a prop on a bone
    cast(Any, helmet.modifiers.new("Armature", "ARMATURE")).object = rig
    return hold([bpy.data.objects["Knight_Head"], helmet], [add_cage(helmet)])


def add_cage(helmet: bpy.types.Object) -> bpy.types.Object:
    """Three rings of four vertices about the helmet, closed."""
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)], float)
    low = np.array([helmet.matrix_world @ Vector(corner) for corner in helmet.bound_box])
    middle = 0.5 * (low.min(axis=0) + low.max(axis=0))
    span = np.ptp(low, axis=0)
    rings = []
    for share, width in RINGS:
        flat = middle[:2] + 0.5 * width * span[:2] * corners
        rings.append(np.column_stack([flat, np.full(4, middle[2] + share * span[2])]))
    sides = [[r + c, r + (c + 1) % 4, r + 4 + (c + 1) % 4, r + 4 + c] for r in (0, 4) for c in range(4)]
    mesh = bpy.data.meshes.new("Hat")
    mesh.from_pydata(np.concatenate(rings).tolist(), [], [[3, 2, 1, 0], [8, 9, 10, 11], *sides])
    cage = bpy.data.objects.new("Hat", mesh)
    bpy.context.scene.collection.objects.link(cage)
    cage.display_type = "WIRE"
    return cage


def add_fox(assets: Path, plain: bool = False) -> Held | None:
    """The fox, whose tail bones deform no more, with four points in the tail."""
    open_at_rest(assets, "fox")
    color_meshes()
    skin, armature = bpy.data.objects["Fox-Mesh"], bpy.data.objects["Armature"]
    fine = cast(Any, skin.modifiers.new("Subdivision", "SUBSURF"))
    fine.levels = fine.render_levels = 1
    if plain:
        return None
    for bone in cast(Any, armature.data).bones:
        if bone.name.startswith("Tail") and bone.name != "Tail_Base":
            bone.use_deform = False
    skin.vertex_groups.clear()
    points = []
    for number, y in enumerate(TAIL, 1):
        point = bpy.data.objects.new(f"Tail Point {number}", None)
        bpy.context.scene.collection.objects.link(point)
        point.location = (0.0, y, 1.08)
        points.append(point)
    return hold([skin], points)


def hold(skins: list[bpy.types.Object], handles: list[bpy.types.Object]) -> Held:
    """Add handles, and weight the skin."""
    bpy.context.view_layer.update()
    select([*skins, *handles], skins[0])
    bpy.ops.supple.handles_add()
    select(skins, skins[0])
    bpy.ops.supple.weights_auto(method="BIHARMONIC")
    armature = next(cast(Any, one).object for one in skins[0].modifiers if one.type == "ARMATURE")
    return Held(tuple(skins), armature, tuple(handles))


def bind(held: Held, method: str) -> None:
    """Bind the skin."""
    select(list(held.skins), held.skins[0])
    bpy.ops.supple.bind(method=method)


def move(obj: bpy.types.Object, change: Matrix, about: Vector | None = None) -> None:
    """Move an object in the world, about its own location if not told otherwise."""
    at = Matrix.Translation(obj.matrix_world.translation if about is None else about)
    obj.matrix_world = at @ change @ at.inverted() @ obj.matrix_world
    bpy.context.view_layer.update()


def move_vertices(cage: bpy.types.Object, vertices: Sequence[int], change: Matrix) -> None:
    """Move vertices of a cage about their middle, in the cage's space."""
    points = cast(bpy.types.Mesh, cage.data).vertices
    middle = Matrix.Translation(sum((points[vertex].co for vertex in vertices), Vector()) / len(vertices))
    for vertex in vertices:
        points[vertex].co = middle @ change @ middle.inverted() @ points[vertex].co
    cast(bpy.types.Mesh, cage.data).update()
    bpy.context.view_layer.update()


def squash(held: Held) -> None:
    """The top comes down, and the middle goes out."""
    (cage,) = held.handles
    move_vertices(cage, range(8, 12), Matrix.Translation((0.0, 0.0, -0.5)))
    move_vertices(cage, range(4, 8), Matrix.LocRotScale((0.0, 0.0, -0.2), None, (1.3, 1.3, 1.0)))


def stretch(held: Held) -> None:
    """The top goes up and narrow."""
    (cage,) = held.handles
    move_vertices(cage, range(8, 12), Matrix.LocRotScale((0.0, 0.0, 0.7), None, (0.55, 0.55, 1.0)))
    move_vertices(cage, range(4, 8), Matrix.LocRotScale((0.0, 0.0, 0.25), None, (0.85, 0.85, 1.0)))


def tip(held: Held) -> None:
    """The top leans to a side, as a nightcap."""
    (cage,) = held.handles
    lean = Euler((0.0, 0.6, 0.0)).to_matrix().to_4x4()
    move_vertices(cage, range(8, 12), Matrix.Translation((0.45, 0.0, 0.1)) @ lean)
    move_vertices(
        cage, range(4, 8), Matrix.Translation((0.12, 0.0, 0.05)) @ Euler((0.0, 0.25, 0.0)).to_matrix().to_4x4()
    )


def curl(held: Held) -> None:
    """The tail goes up in a curve: each point is moved and turned."""
    for point, (y, z, angle) in zip(
        held.handles, ((1.19, 1.12, 0.25), (1.42, 1.27, 0.65), (1.58, 1.49, 1.05), (1.64, 1.76, 1.5)), strict=True
    ):
        point.matrix_world = Matrix.LocRotScale((0.0, y, z), Euler((angle, 0.0, 0.0)), None)
    bpy.context.view_layer.update()


def sway(held: Held) -> None:
    """The tail goes aside in an S: points are moved alone."""
    for point, offset in zip(held.handles, (0.08, 0.22, 0.1, -0.25), strict=True):
        move(point, Matrix.Translation((offset, 0.0, 0.0)))


def swell(held: Held) -> None:
    """The third point is scaled, the last one is twisted."""
    move(held.handles[2], Matrix.LocRotScale(None, None, (1.9, 1.2, 1.9)))
    move(held.handles[3], Matrix.LocRotScale((0.0, 0.0, 0.3), Euler((0.6, 0.0, 0.0)), None))


def show_handles(held: Held) -> None:
    """Draw cages as wires and points as crosses, as they are now."""
    for obj in held.handles:
        if obj.type == "EMPTY":
            for turned in (Euler((0.0, 0.0, 0.0)), Euler((QUARTER, 0.0, 0.0)), Euler((0.0, QUARTER, 0.0))):
                bpy.ops.mesh.primitive_cylinder_add(radius=0.014, depth=0.5)
                axis = cast(bpy.types.Object, bpy.context.object)
                axis.matrix_world = obj.matrix_world @ turned.to_matrix().to_4x4()
                paint(axis, linear(np.array(AXES)))
            continue
        shown = bpy.data.objects.new("Shown", cast(bpy.types.Mesh, obj.data).copy())
        shown.matrix_world = obj.matrix_world
        bpy.context.scene.collection.objects.link(shown)
        shown.vertex_groups.clear()
        cast(Any, shown.modifiers.new("Wires", "WIREFRAME")).thickness = 0.022
        paint(shown, linear(np.array(WIRE)))
        obj.hide_render = True
    bpy.context.view_layer.update()
