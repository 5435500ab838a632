"""What keeps layers outside of each other, as Blender's data: attributes of a mesh, and limbs objects of loose cloth.

These are hidden meshes, in no collection: one says which limbs each vertex may enter, one holds distances about them.
"""

from __future__ import annotations

from typing import Any, cast

import bpy
import numpy as np

from ...deformers.layers.limb_grids import LimbGrids, NearLimbs
from ...deformers.layers.tuck import Cover
from ...nodes.layers import (
    CORNERS,
    DISTANCE,
    FIELD,
    HEIGHT,
    JOINT,
    LOW,
    NEIGHBORS,
    NODES,
    START,
    STEP,
    VERTEX,
    WEIGHTS,
)
from ..arrays import write_array
from .data import mesh_of

LIMBS_KEY = "supple_limbs"
"""Custom property of the mesh of limbs objects."""

FIELDS = {"INT": "value", "FLOAT": "value", "FLOAT_VECTOR": "vector", "FLOAT_COLOR": "color"}


def write_neighbors(mesh: bpy.types.Mesh, neighbors: np.ndarray) -> None:
    """Store what `find_neighbors` says of a mesh, array (V, 4)."""
    _write(mesh, NEIGHBORS, "FLOAT_COLOR", neighbors)


def write_cover(mesh: bpy.types.Mesh, number: int, cover: Cover) -> None:
    """Store what a layer of a number covers of a mesh."""
    for name, kind, values in (
        (CORNERS, "FLOAT_VECTOR", cover.corners),
        (WEIGHTS, "FLOAT_VECTOR", cover.weights),
        (HEIGHT, "FLOAT", cover.heights),
    ):
        _write(mesh, f"{name}{number}", kind, values)


def remove_layer_attributes(mesh: bpy.types.Mesh) -> None:
    """Take all of this off a mesh."""
    for name in [name for name in mesh.attributes.keys() if name.startswith((NEIGHBORS, CORNERS, WEIGHTS, HEIGHT))]:
        mesh.attributes.remove(mesh.attributes[name])


def new_slots_object(obj: bpy.types.Object, grids: LimbGrids, near: NearLimbs) -> bpy.types.Object:
    """Make the object that says which limbs loose cloth may enter; `grids.bones` are joints of its armature."""
    limbs = near.limbs.ravel()
    chosen = np.maximum(limbs, 0)
    slots = _new_hidden(f"Supple Limbs {obj.name}", len(limbs))
    for name, kind, values in (
        (JOINT, "INT", grids.bones[chosen]),
        (LOW, "FLOAT_VECTOR", grids.lows[chosen]),
        (STEP, "FLOAT", grids.steps[chosen]),
        (NODES, "FLOAT_VECTOR", np.where(limbs[:, None] >= 0, grids.counts[chosen], 0)),
        (START, "FLOAT", grids.firsts[chosen]),
        (DISTANCE, "FLOAT", near.distances.ravel()),
        (VERTEX, "INT", np.tile(np.arange(near.limbs.shape[1]), len(near.limbs))),
    ):
        _write(mesh_of(slots), name, kind, values)
    return slots


def new_grids_object(obj: bpy.types.Object, grids: LimbGrids) -> bpy.types.Object:
    """Make the object that holds the distances about these limbs at rest."""
    made = _new_hidden(f"Supple Grids {obj.name}", len(grids.values))
    _write(mesh_of(made), FIELD, "FLOAT_COLOR", np.roll(grids.values, -1, axis=1))
    return made


def _new_hidden(name: str, count: int) -> bpy.types.Object:
    mesh = bpy.data.meshes.new(name)
    mesh[LIMBS_KEY] = True
    mesh.vertices.add(count)
    return bpy.data.objects.new(mesh.name, mesh)


def is_limbs_object(obj: bpy.types.Object) -> bool:
    """Whether an object was made by one of these."""
    return obj.type == "MESH" and LIMBS_KEY in mesh_of(obj)


def remove_unused_limbs_objects() -> None:
    """Remove limbs objects that no node modifier reads any more."""
    hidden = {obj for obj in bpy.data.objects if obj.library is None and is_limbs_object(obj)}
    users = cast(Any, bpy.data).user_map(subset=hidden) if hidden else {}
    for obj in [obj for obj in hidden if not users[obj]]:
        mesh = mesh_of(obj)
        bpy.data.objects.remove(obj)
        if mesh.library is None and not mesh.users:
            bpy.data.meshes.remove(mesh)


def _write(mesh: bpy.types.Mesh, name: str, kind: Any, values: np.ndarray) -> None:
    attribute = mesh.attributes.get(name) or mesh.attributes.new(name, kind, "POINT")
    write_array(attribute.data, FIELDS[kind], values, np.int32 if kind == "INT" else np.float32)
