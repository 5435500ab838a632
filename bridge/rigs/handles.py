"""Bones that follow points and cages: made, removed, and read for automatic weights.

A point is an object with a bone that copies its transform. Each vertex of a cage has a bone that follows the vertex,
and turns with the cage's object. All of it is Blender's own, and works without Supple.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Matrix, Vector

from ...deformers.automatic_weights.handles import Cage, Handles
from ..meshes.data import mesh_of, read_edges, read_triangles
from ..meshes.weights import read_weights
from .copies import editing_bones, put_aside, remove_put_aside

# Bone collection of the bones
COLLECTION = "Handles"

# Names of the constraints
FOLLOW, FOLLOW_VERTEX = "Handle", "Handle Vertex"


def add_handle_bones(armature: bpy.types.Object, names: Sequence[str], heads: np.ndarray, length: float) -> None:
    """Add deforming bones without a parent, hidden, in a bone collection of their own.

    Parameters
    ----------
    names : sequence of str
        None of them is taken.
    heads : float array, shape (N, 3)
        Armature space.
    """
    with editing_bones(armature) as edit_bones:
        for name, head in zip(names, heads.tolist(), strict=True):
            bone = edit_bones.new(name)
            bone.head, bone.tail = head, Vector(head) + Vector((0.0, 0.0, length))
    put_aside(armature, names, COLLECTION)
    for name in names:
        bone = cast(Any, armature.data).bones[name]
        bone.supple.is_handle = bone.hide_select = True


def follow_object(armature: bpy.types.Object, bone: str, target: bpy.types.Object) -> None:
    """Have a bone take all that an object does from now on, in the armature's space."""
    constraint = cast(Any, armature.pose.bones[bone].constraints.new("CHILD_OF"))
    constraint.name, constraint.target = FOLLOW, target
    constraint.owner_space = "POSE"
    constraint.inverse_matrix = (armature.matrix_world.inverted() @ target.matrix_world).inverted()


def follow_vertex(armature: bpy.types.Object, bone: str, cage: bpy.types.Object, vertex: int) -> None:
    """Make a bone turn with a cage's object and follow a vertex, by a vertex group of the bone's name."""
    cage.vertex_groups.new(name=bone).add([vertex], 1.0, "REPLACE")
    follow_object(armature, bone, cage)
    constraint = cast(Any, armature.pose.bones[bone].constraints.new("COPY_LOCATION"))
    constraint.name, constraint.target, constraint.subtarget = FOLLOW_VERTEX, cage, bone


def list_handle_bones(armature: bpy.types.Object) -> dict[str, bpy.types.Object | None]:
    """The bones that follow points and cages, and the object that each follows."""
    found = {}
    for bone in cast(Any, armature.data).bones:
        if bone.supple.is_handle:
            constraint = cast(Any, armature.pose.bones[bone.name].constraints.get(FOLLOW))
            found[bone.name] = constraint.target if constraint is not None else None
    return found


def find_follower(obj: bpy.types.Object) -> bpy.types.Object | None:
    """The armature whose bones follow an object; None if there is none."""
    armatures = (one for one in bpy.data.objects if one.type == "ARMATURE")
    return next((one for one in armatures if obj in list_handle_bones(one).values()), None)


def remove_handle_bones(armature: bpy.types.Object, names: Iterable[str]) -> None:
    """Remove bones with their constraints, and the vertex groups of cages that say which vertex they follow."""
    names = list(names)
    for name in names:
        constraint = cast(Any, armature.pose.bones[name].constraints.get(FOLLOW_VERTEX))
        cage = constraint.target if constraint is not None else None
        if cage is not None and (group := cage.vertex_groups.get(constraint.subtarget)) is not None:
            cage.vertex_groups.remove(group)
    remove_put_aside(armature, names)


def parent_to_bone(obj: bpy.types.Object, armature: bpy.types.Object, bone: str) -> None:
    """Parent an object to a bone, keeping its transform while the bone is at rest."""
    rest = cast(Any, armature.data).bones[bone]
    obj.parent, obj.parent_type, obj.parent_bone = armature, "BONE", bone
    tail = rest.matrix_local @ Matrix.Translation((0.0, rest.length, 0.0))
    obj.matrix_parent_inverse = (armature.matrix_world @ tail).inverted()


def parent_to_object(obj: bpy.types.Object, parent: bpy.types.Object) -> None:
    """Parent an object to another, keeping its transform."""
    obj.parent, obj.parent_type = parent, "OBJECT"
    obj.matrix_parent_inverse = parent.matrix_world.inverted()


def clear_parent(obj: bpy.types.Object) -> None:
    """Take an object's parent away; it keeps its own channels."""
    obj.parent = None
    obj.parent_type, obj.parent_bone = "OBJECT", ""
    obj.matrix_parent_inverse = Matrix()


def read_handles(armature: bpy.types.Object, names: Sequence[str]) -> Handles | None:
    """Read which deforming bones are points, and which the vertices of cages; None if none is.

    `names`: of the deforming bones.
    """
    bones = {name: obj for name, obj in list_handle_bones(armature).items() if name in names}
    if not bones:
        return None
    index = {name: bone for bone, name in enumerate(names)}
    by_cage: dict[bpy.types.Object, list[str]] = {}
    points = []
    for name, obj in bones.items():
        if obj is not None and FOLLOW_VERTEX in armature.pose.bones[name].constraints:
            by_cage.setdefault(obj, []).append(name)
        else:
            points.append(index[name])
    cages = tuple(_read_cage(armature, cage, own, index) for cage, own in by_cage.items())
    return Handles(np.array(points, np.intp), cages)


def _read_cage(armature: bpy.types.Object, cage: bpy.types.Object, names: Sequence[str], index: dict[str, int]) -> Cage:
    """A cage at rest, armature space: where its bones are."""
    mesh = mesh_of(cage)
    groups = read_weights(cage, names) > 0.0
    own = np.flatnonzero(groups.any(axis=0))
    number = np.full(len(mesh.vertices), -1)
    number[groups[:, own].argmax(axis=0)] = np.arange(len(own))
    edges, triangles = number[read_edges(mesh)], number[read_triangles(mesh)]
    bones = cast(Any, armature.data).bones
    own_names = [names[int(bone)] for bone in own]
    heads = [bones[name].head_local for name in own_names]
    return Cage(
        bones=np.array([index[name] for name in own_names], np.intp),
        points=np.array(heads, np.float64).reshape(-1, 3),
        edges=edges[(edges >= 0).all(axis=1)],
        triangles=triangles[(triangles >= 0).all(axis=1)],
    )
