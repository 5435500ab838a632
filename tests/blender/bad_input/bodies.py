"""Bodies that characters of files may have and nobody wants: each spoils a closed tube of three bones."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan

import bpy
import bmesh
import numpy as np

from scenes import add_tube, edit_bones, rest_points

Spoil = Callable[[bpy.types.Object, bpy.types.Object], None]


def add_body() -> tuple[bpy.types.Object, bpy.types.Object]:
    """A small closed tube along Y, with a UV map, and its armature."""
    obj, armature = add_tube(rings=7, sides=6)
    edited = bmesh.new()
    edited.from_mesh(obj.data)
    bmesh.ops.holes_fill(edited, edges=edited.edges[:], sides=0)
    bmesh.ops.recalc_face_normals(edited, faces=edited.faces[:])
    edited.to_mesh(obj.data)
    edited.free()
    layer = obj.data.uv_layers.new(name="UVMap")
    for loop, data in zip(obj.data.loops, layer.data, strict=True):
        x, y, z = obj.data.vertices[loop.vertex_index].co
        data.uv = (0.5 + 0.5 * x + 0.1 * z, y / 3.0)
    return obj, armature


def write_points(obj: bpy.types.Object, points: np.ndarray) -> None:
    obj.data.vertices.foreach_set("co", np.ascontiguousarray(points, np.float32).ravel())
    obj.data.update()


def scale_points(*factors: float) -> Spoil:
    """Scale the mesh itself along the axes."""
    return lambda obj, _: write_points(obj, rest_points(obj) * np.array(factors, np.float64))


def move_vertex(value: float) -> Spoil:
    return lambda obj, _: setattr(obj.data.vertices[3].co, "x", value)


def move_points(*offset: float) -> Spoil:
    return lambda obj, _: write_points(obj, rest_points(obj) + np.array(offset))


def rebuild(points: list, faces: list) -> Spoil:
    """Other geometry, with all weight on the middle bone."""

    def change(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
        obj.data.clear_geometry()
        obj.data.from_pydata(points, [], faces)
        if points:
            obj.vertex_groups.new(name="bone.1").add(list(range(len(points))), 1.0, "REPLACE")

    return change


def scale_object(*scale: float) -> Spoil:
    return lambda obj, _: setattr(obj, "scale", scale)


def scale_armature(*scale: float) -> Spoil:
    return lambda _, armature: setattr(armature, "scale", scale)


def move_bone(name: str, **ends: tuple[float, float, float]) -> Spoil:
    """Set the head or the tail of a bone."""

    def write(bones: bpy.types.ArmatureEditBones) -> None:
        for end, position in ends.items():
            setattr(bones[name], end, position)

    return lambda _, armature: edit_bones(armature, write)


def rename(names: str) -> Spoil:
    """Rename bones, whose groups follow, by a pattern."""

    def change(_obj: bpy.types.Object, armature: bpy.types.Object) -> None:
        for index, bone in enumerate(armature.data.bones):
            bone.name = names.format(index=index)

    return change


def add_groups(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    for index in range(3000):
        obj.vertex_groups.new(name=f"group {index}")


def lock_groups(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    for group in obj.vertex_groups:
        group.lock_weight = True


def set_weight(value: float) -> Spoil:
    return lambda obj, _: setattr(obj.data.vertices[3].groups[0], "weight", value)


def turn_uv(value: float) -> Spoil:
    def change(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
        for data in obj.data.uv_layers[0].data:
            data.uv = (value, value)

    return change


def key_of(value: float) -> Spoil:
    """A shape key with a point of this value."""

    def change(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
        obj.shape_key_add(name="Basis")
        key = obj.shape_key_add(name="Face", from_mix=False)
        key.data[3].co.x = value
        key.value = 1.0

    return change


def double(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    """All faces twice, by vertices of their own."""
    points = rest_points(obj)
    faces = [list(polygon.vertices) for polygon in obj.data.polygons]
    rebuild(np.concatenate([points, points]).tolist(), faces + [[v + len(points) for v in f] for f in faces])(obj, obj)


def each(what: str, spoil: Callable[..., Spoil], *values: float, times: int = 1) -> dict[str, Spoil]:
    """A case for each value, named for it; `spoil` takes it so many times."""
    return {f"{what} {value:g}": spoil(*times * [value]) for value in values}


SQUARE = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]

BODIES: dict[str, Spoil] = {
    "on a line": scale_points(0, 1, 0),
    "on another line": scale_points(1, 0, 0),
    "at a point": scale_points(0, 0, 0),
    "flat": scale_points(1, 1, 0),
    **each("vertex at", move_vertex, 1e10, 1e18, 1e20, 1e30, -1e30, 3e38, inf, nan),
    **each("size", scale_points, 1e-45, 1e-38, 1e-30, 1e-20, 1e-10, 1e10, 1e20, 1e30, 1e38, times=3),
    **each("thin", lambda size: scale_points(size, 1, size), 1e-30, 1e-20, 1e-10, 1e-6),
    **each("away", lambda value: move_points(value, 0, 0), 1e6, 1e10, 1e20, 1e30),
    "no vertices": rebuild([], []),
    "a vertex": rebuild([(0, 1, 0)], []),
    "two vertices": rebuild([(0, 1, 0), (0, 2, 0)], []),
    "no faces": rebuild(SQUARE, []),
    "a triangle": rebuild(SQUARE, [(0, 1, 2)]),
    "a face of no area": rebuild([(0, 0, 0), (0, 1, 0), (0, 2, 0)], [(0, 1, 2)]),
    "vertices without faces": rebuild([*SQUARE, (0, 0, 2), (0, 1, 2)], [(0, 1, 2, 3)]),
    "faces twice": double,
    "inside out": lambda obj, _: obj.data.flip_normals(),
    **each("scale", scale_object, 0, nan, inf, 1e-38, 1e-30, 1e-20, 1e20, 1e30, 3e38, times=3),
    "flat scale": scale_object(1, 1, 0),
    "line scale": scale_object(0, 1, 0),
    **each("armature scale", scale_armature, 0, nan, inf, 1e-38, 1e-30, 1e-20, 1e20, 1e30, 3e38, times=3),
    "flat armature": scale_armature(1, 1, 0),
    "bone of length 1e-5": move_bone("bone.1", tail=(0, 1.00001, 0)),
    "bone of no length": move_bone("bone.2", tail=(0, 2, 0)),
    **each("bone at", lambda at: move_bone("bone.2", tail=(at, 2, 0)), 1e10, 1e20, 1e30, 3e38, inf, nan),
    **each("bones at", lambda at: move_bone("bone.0", head=(at, 0, 0), tail=(at, 1, 0)), 1e10, 1e20, 1e30, nan),
    "odd names": rename("\"'{{{index}}}\\\n%s\t[0]"),
    "long names": rename("{index}" + "x" * 62),
    "names of brackets": rename('"]["{index}'),
    "thousands of groups": add_groups,
    "locked groups": lock_groups,
    "no groups": lambda obj, _: obj.vertex_groups.clear(),
    **each("weight", set_weight, nan, inf, -inf, 1e30, -1, 1e-45),
    **each("UV", turn_uv, 0.5, nan, inf, 1e30),
    "no UV map": lambda obj, _: obj.data.uv_layers.remove(obj.data.uv_layers[0]),
    **each("key at", key_of, nan, inf, 1e30),
}
