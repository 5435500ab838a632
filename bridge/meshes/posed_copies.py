"""The record of a posed copy, as attributes of its mesh: it survives undo, saving and other poses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ...deformers import Pose, SkinningError
from ..arrays import read_array, write_array
from .data import mesh_of, read_points

# Attributes of the vertices
INDEX, REST, POSED, TRANSFORM = "supple_index", "supple_rest", "supple_posed", "supple_transform"

# Custom properties of the mesh
MATRICES, HINTS, SPACE = "supple_matrices", "supple_hints", "supple_space"


@dataclass(frozen=True, eq=False)
class Record:
    """A mesh in the pose in which its copy was made.

    Attributes
    ----------
    rest, points : float32 arrays, shape (V, 3)
        At rest with shape keys, and posed; object space.
    transforms : float32 array, shape (V, 4, 4)
        Transforms of the vertices.
    """

    rest: np.ndarray
    points: np.ndarray
    transforms: np.ndarray
    pose: Pose


def write_record(mesh: bpy.types.Mesh, record: Record) -> None:
    """Store the record in the mesh of a posed copy."""
    attributes: Any = mesh.attributes
    for name, kind, field, values in (
        (INDEX, "INT", "value", np.arange(len(record.points))),
        (REST, "FLOAT_VECTOR", "vector", record.rest),
        (POSED, "FLOAT_VECTOR", "vector", record.points),
        (TRANSFORM, "FLOAT4X4", "value", record.transforms.transpose(0, 2, 1)),
    ):
        attribute = attributes.new(name, kind, "POINT")
        write_array(attribute.data, field, values, np.int32 if kind == "INT" else np.float32)
    pose = record.pose
    mesh[MATRICES] = pose.rest_to_pose.ravel().tolist()
    if pose.hints is not None:
        mesh[HINTS] = pose.hints.tolist()
    if pose.object_to_armature is not None:
        mesh[SPACE] = pose.object_to_armature.ravel().tolist()


def read_record(copy: bpy.types.Object) -> Record:
    """Read the record of a posed copy. Raises SkinningError if its vertices have changed, or their order."""
    mesh = mesh_of(copy)
    found: Any = [mesh.attributes.get(name) for name in (INDEX, REST, POSED, TRANSFORM)]
    count = len(mesh.vertices)
    if any(one is None or len(one.data) != count for one in found) or MATRICES not in mesh:
        raise SkinningError(
            f"'{copy.name}' has lost the pose in which it was made: press Discard, and correct the pose again"
        )
    index, rest, points, transforms = found
    if not np.array_equal(read_array(index.data, "value", kind=np.int32), np.arange(count)):
        raise SkinningError(
            f"Vertices of '{copy.name}' were added, deleted or sorted: undo that and work without Dyntopo and "
            "Remesh, or press Discard"
        )
    hints, space = mesh.get(HINTS), mesh.get(SPACE)
    pose = Pose(
        np.array(mesh[MATRICES], np.float64).reshape(-1, 4, 4),
        None if space is None else np.array(space, np.float64).reshape(4, 4),
        None if hints is None else np.array(hints, np.float64),
    )
    return Record(
        read_array(rest.data, "vector", 3),
        read_array(points.data, "vector", 3),
        read_array(transforms.data, "value", 16).reshape(-1, 4, 4).transpose(0, 2, 1),
        pose,
    )


def read_sculpted(copy: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> np.ndarray:
    """A posed copy as it was sculpted, float32, shape (V, 3), object space: after modifiers that add no vertex."""
    shown = copy.evaluated_get(depsgraph)
    if copy.modifiers and shown.is_evaluated and len(mesh_of(shown).vertices) == len(mesh_of(copy).vertices):
        return read_points(mesh_of(shown))
    return read_points(mesh_of(copy))


def show_in_local_views(copy: bpy.types.Object, obj: bpy.types.Object) -> None:
    """Show a posed copy in each Local View that shows its character."""
    for window in bpy.context.window_manager.windows:
        for area in (area for area in window.screen.areas if area.type == "VIEW_3D"):
            space: Any = area.spaces.active
            if space.local_view is not None and obj.local_view_get(space):
                copy.local_view_set(space, True)
