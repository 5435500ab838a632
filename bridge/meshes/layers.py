"""What keeps layers outside of each other, as Blender's data: attributes of a mesh, and a limbs object of loose cloth.

The limbs object is a hidden mesh, in no collection, that holds distances about limbs at rest.
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
    FIRST,
    HEIGHT,
    JOINT,
    LOW,
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

NOWHERE = -1e3
"""Distance at rest of a limb that a slot does not have: then nothing is ever nearer than it was."""

FIELDS = {"INT": "value", "FLOAT": "value", "FLOAT_VECTOR": "vector", "FLOAT_COLOR": "color"}


def write_first(mesh: bpy.types.Mesh, first: np.ndarray) -> None:
    """Store for each vertex, array (V,), the first that lies where it lies."""
    _write(mesh, FIRST, "INT", first)


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
    for name in [name for name in mesh.attributes.keys() if name.startswith((FIRST, CORNERS, WEIGHTS, HEIGHT))]:
        mesh.attributes.remove(mesh.attributes[name])


def new_limbs_object(obj: bpy.types.Object, grids: LimbGrids, near: NearLimbs) -> bpy.types.Object:
    """Make the limbs object of loose cloth; `grids.bones` are joints of its armature."""
    mesh = bpy.data.meshes.new(f"Supple Limbs {obj.name}")
    mesh[LIMBS_KEY] = True
    limbs, distances = near.limbs.ravel(), near.distances.ravel()
    slots = len(limbs)
    mesh.vertices.add(max(slots, len(grids.values)))
    has = limbs >= 0
    chosen = np.maximum(limbs, 0)
    rows = {
        JOINT: ("INT", grids.bones[chosen]),
        LOW: ("FLOAT_VECTOR", grids.lows[chosen]),
        STEP: ("FLOAT", grids.steps[chosen]),
        NODES: ("FLOAT_VECTOR", grids.counts[chosen]),
        START: ("FLOAT", grids.firsts[chosen]),
        DISTANCE: ("FLOAT", np.where(has, distances, NOWHERE)),
        VERTEX: ("INT", np.tile(np.arange(near.limbs.shape[1]), len(near.limbs))),
    }
    for name, (kind, values) in rows.items():
        _write(mesh, name, kind, values)
    _write(mesh, FIELD, "FLOAT_COLOR", np.roll(grids.values, -1, axis=1))
    return bpy.data.objects.new(mesh.name, mesh)


def is_limbs_object(obj: bpy.types.Object) -> bool:
    """Whether an object was made by `new_limbs_object`."""
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
    """Store values of the first vertices; the others have zero."""
    attribute = mesh.attributes.get(name) or mesh.attributes.new(name, kind, "POINT")
    rows = np.zeros((len(mesh.vertices), *values.shape[1:]), np.int32 if kind == "INT" else np.float32)
    rows[: len(values)] = values
    write_array(attribute.data, FIELDS[kind], rows, rows.dtype.type)
