"""Plain copies of meshes, for exporters and for sculpting in a pose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Matrix

from ...deformers import SkinningError
from ..arrays import write_array
from .data import FaceKeys, mesh_of, write_key_points


def check_keys(obj: bpy.types.Object) -> None:
    """See that the shape keys of a mesh are some that exporters know. Raises SkinningError if they are absolute."""
    keys = mesh_of(obj).shape_keys
    if keys is not None and not keys.use_relative:
        raise SkinningError(
            f"The shape keys of '{obj.name}' are absolute, which no engine supports: make them relative"
        )


def copy_mesh(obj: bpy.types.Object, name: str, points: np.ndarray, space: np.ndarray) -> bpy.types.Object:
    """A new object, in no collection, with a copy of a mesh in another space: materials, UVs, colors and normals stay.

    It has no vertex groups, and no modifiers. Shape keys are relative to the Basis, and have their vertex groups in
    their shape.

    Parameters
    ----------
    obj : Object
        Its shape keys are relative, if it has any.
    points : float array, shape (V, 3)
        The vertices of the copy.
    space : float array, shape (4, 4)
        From the object's space to the copy's.
    """
    keys = FaceKeys(obj) if obj.data.shape_keys is not None else None
    copy = _copy_plain(obj, name)
    mesh = mesh_of(copy)
    mesh.transform(Matrix(space.tolist()))  # normals, too
    if np.linalg.det(space[:3, :3]) < 0.0:
        mesh.flip_normals()
    write_array(mesh.vertices, "co", points)
    if keys is not None:
        _write_keys(mesh, keys, points, space[:3, :3])
    mesh.update()
    return copy


def _copy_plain(obj: bpy.types.Object, name: str) -> bpy.types.Object:
    """A new object, in no collection, with a copy of a mesh and its shape keys, and nothing that moves it."""
    mesh = cast(bpy.types.Mesh, mesh_of(obj).copy())
    copy = bpy.data.objects.new(name, mesh)
    mesh.name = name
    copy.vertex_groups.clear()
    for number, slot in enumerate(obj.material_slots):
        if slot.link == "OBJECT":
            cast(Any, mesh.materials)[number] = slot.material
    mesh.animation_data_clear()
    return copy


def copy_posed(obj: bpy.types.Object, name: str, points: np.ndarray) -> bpy.types.Object:
    """A new object, in no collection, with a copy of a mesh in a pose: materials, UVs and colors stay.

    It has no vertex groups, no shape keys, and of the modifiers those that subdivide it.

    Parameters
    ----------
    points : float array, shape (V, 3)
        Object space.
    """
    copy = _copy_plain(obj, name)
    mesh = mesh_of(copy)
    _clear_keys(copy)
    write_array(mesh.vertices, "co", points)
    mesh.update()
    for modifier in obj.modifiers:
        if modifier.type == "SUBSURF" and modifier.show_viewport:
            new = cast(Any, copy.modifiers.new(modifier.name, "SUBSURF"))
            new.levels = new.render_levels = cast(Any, modifier).levels
            new.subdivision_type = cast(Any, modifier).subdivision_type
    return copy


def _clear_keys(copy: bpy.types.Object) -> None:
    """Remove the shape keys of an object whose mesh was copied: before 5.0 they had a user more, and would stay."""
    keys = mesh_of(copy).shape_keys
    if keys is None:
        return
    name = keys.name
    copy.shape_key_clear()
    if name in bpy.data.shape_keys:
        bpy.data.batch_remove([bpy.data.shape_keys[name]])


def _write_keys(mesh: bpy.types.Mesh, keys: FaceKeys, points: np.ndarray, linear: np.ndarray) -> None:
    blocks = mesh.shape_keys
    assert blocks is not None
    blocks.animation_data_clear()
    basis = blocks.reference_key
    for index, block in enumerate(blocks.key_blocks):
        block.relative_key = basis
        block.vertex_group = ""
        if block.mute:
            block.mute, block.value = False, 0.0
        write_key_points(block, points + keys.find_offset(index) @ linear.T)


def add_key(obj: bpy.types.Object, name: str, offsets: np.ndarray) -> bpy.types.ShapeKey:
    """Add a shape key to a copy, and a Basis if it has none. `offsets`, float array, shape (V, 3): Object space."""
    mesh = mesh_of(obj)
    if mesh.shape_keys is None:
        obj.shape_key_add(name="Basis", from_mix=False)
    points = np.empty((len(mesh.vertices), 3), np.float32)
    assert mesh.shape_keys is not None
    mesh.shape_keys.reference_key.data.foreach_get("co", points.ravel())
    key = obj.shape_key_add(name=name, from_mix=False)
    write_key_points(key, points + offsets)
    key.value = 0.0
    return key


def write_groups(obj: bpy.types.Object, names: Sequence[str], bones: np.ndarray, values: np.ndarray) -> None:
    """Give a copy, which has no vertex groups, its weights.

    Parameters
    ----------
    names : sequence of str
        Of the bones.
    bones : int array, shape (V, K)
        Into the names.
    values : float array, shape (V, K)
    """
    for bone in np.unique(bones[values > 0.0]).tolist():
        group = obj.vertex_groups.new(name=str(names[bone]))
        vertices, slots = np.nonzero((bones == bone) & (values > 0.0))
        for vertex, value in zip(vertices.tolist(), values[vertices, slots].tolist(), strict=True):
            group.add((vertex,), value, "ADD")


def skin_by(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Make a copy a child of an armature that deforms it linearly."""
    modifier = cast(Any, obj.modifiers.new("Armature", "ARMATURE"))
    modifier.object = armature
    obj.parent = armature
