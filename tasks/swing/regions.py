"""Weights of bones that are made for swings: regions of skin get a bone, which takes weights of what carries it."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, cast

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of, read_edges, read_points
from ...bridge.meshes.weights import read_weights, write_weights
from ...bridge.names import free_name, name_within
from ...bridge.rigs.swing_weights import remove_group
from ...bridge.rigs.swings import add_flesh_bone
from ...deformers import SkinningError
from ...deformers.swing.regions import place_bone, share_weights, soften_region
from ..subject.character import list_deformed
from .choose import check_skin, list_taken

# Length of a region's bone, in sizes of the mesh, below which its middle is on the bone that carries it
SMALLEST = 1e-4


@dataclass(frozen=True, eq=False)
class Region:
    """A vertex group that is to get a bone.

    Attributes
    ----------
    name, carrier : str
        Of its bone, and of the one that it takes weights of.
    head, tail : float64 arrays, shape (3,)
        Of its bone, armature space.
    weights : float32 array, shape (V, 2)
        Of the carrier and of its bone, as they are to be.
    """

    mesh: bpy.types.Object
    group: str
    name: str
    carrier: str
    head: np.ndarray
    tail: np.ndarray
    weights: np.ndarray


def find_region_mesh(layer: bpy.types.ViewLayer, armature: bpy.types.Object, group: str) -> bpy.types.Object:
    """The mesh of an armature that has a vertex group; SkinningError unless it is one."""
    found = [mesh for mesh in list_deformed(layer, armature) if group in mesh.vertex_groups]
    if len(found) != 1:
        raise SkinningError(
            f"{len(found)} meshes of '{armature.name}' have a vertex group '{group}': use a group of one mesh"
        )
    return found[0]


def plan_region(armature: bpy.types.Object, mesh: bpy.types.Object, group: str) -> Region:
    """What a vertex group needs to swing; raises SkinningError if that cannot be done."""
    bones: Any = cast(Any, armature.data).bones
    if group not in mesh.vertex_groups:
        raise SkinningError(f"'{mesh.name}' has no vertex group '{group}': check the name")
    if group in bones:
        raise SkinningError(f"'{group}' is a bone of '{armature.name}': select it in Pose Mode instead")
    check_skin(armature, mesh)
    names = [bone.name for bone in bones if bone.use_deform]
    weights, painted = read_weights(mesh, names), read_weights(mesh, [group])[:, 0].astype(np.float64)
    space = np.array(armature.matrix_world.inverted() @ mesh.matrix_world, np.float64)
    points = read_points(mesh_of(mesh)) @ space[:3, :3].T + space[:3, 3]
    if not np.isfinite(points).all():
        raise SkinningError(f"Points of '{mesh.name}' are not at finite positions: repair the mesh, or its object")
    shares = soften_region(points, read_edges(mesh_of(mesh)), np.minimum(painted, 1.0))
    carried = shares @ weights
    if not carried.any():
        raise SkinningError(f"No bone has weights in '{group}' of '{mesh.name}': give it weights first")
    carrier = names[int(carried.argmax())]
    start, end = (np.array(point, np.float64) for point in (bones[carrier].head_local, bones[carrier].tail_local))
    head, tail = place_bone(points, shares, start, end)
    if np.linalg.norm(tail - head) < SMALLEST * np.ptp(points, axis=0).max():
        raise SkinningError(f"'{group}' lies all around bone '{carrier}': paint one side of the body")
    own = weights[:, names.index(carrier)]
    taken = share_weights(own, shares)
    name = free_name(name_within(group, ".flesh"), list_taken(armature, (), [mesh]))
    return Region(mesh, group, name, carrier, head, tail, np.stack([own - taken, taken], axis=1))


def add_region(armature: bpy.types.Object, region: Region, undo: ExitStack) -> None:
    """Give a region its bone, and that its weights; `undo` takes the weights back."""
    groups: Any = region.mesh.vertex_groups
    add_flesh_bone(armature, region.name, region.carrier, region.head, region.tail)
    active = groups.active_index
    undo.callback(remove_group, region.mesh, region.name, active)
    undo.callback(write_weights, region.mesh, [region.carrier], read_weights(region.mesh, [region.carrier]))
    write_weights(region.mesh, [region.carrier, region.name], region.weights)
    groups.active_index = active
