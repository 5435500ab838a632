"""Regions of skin that swing: a vertex group gets a bone, which takes weights of the bone that carries it."""

from __future__ import annotations

from typing import Any, cast

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of, read_edges, read_points
from ...bridge.meshes.weights import read_weights, write_weights
from ...bridge.rigs.swings import add_flesh_bone, remove_flesh_bone
from ...deformers import SkinningError
from ...deformers.swing.regions import place_bone, share_weights, soften_region
from ..subject.character import has_armature_modifier

SMALLEST = 1e-4
"""Length of a region's bone, in sizes of the mesh, below which its middle is on the bone that carries it."""


def add_region(armature: bpy.types.Object, mesh: bpy.types.Object, group: str) -> str:
    """Give a vertex group a bone; returns its name.

    Raises
    ------
    SkinningError
        Where that can not be done; nothing is changed then.
    """
    bones: Any = cast(Any, armature.data).bones
    if group not in mesh.vertex_groups:
        raise SkinningError(f"'{mesh.name}' has no vertex group '{group}': check the name")
    if group in bones:
        raise SkinningError(f"'{group}' is a bone of '{armature.name}': select it in Pose Mode instead")
    if mesh.library is not None or mesh_of(mesh).library is not None:
        raise SkinningError(f"'{mesh.name}' is linked from another file: make it local")
    names = [bone.name for bone in bones if bone.use_deform]
    weights, painted = read_weights(mesh, names), read_weights(mesh, [group])[:, 0].astype(np.float64)
    space = np.array(armature.matrix_world.inverted() @ mesh.matrix_world, np.float64)
    points = read_points(mesh_of(mesh)) @ space[:3, :3].T + space[:3, 3]
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
    name = add_flesh_bone(armature, f"{group}.flesh", carrier, head, tail)
    write_weights(mesh, [carrier, name], np.stack([own - taken, taken], axis=1))
    return name


def remove_region(armature: bpy.types.Object, name: str) -> None:
    """Remove a region's bone, and give its weights back."""
    carrier = cast(Any, armature.data).bones[name].parent.name
    for mesh in bpy.data.objects:
        if has_armature_modifier(mesh, armature) and name in mesh.vertex_groups:
            weights = read_weights(mesh, [carrier, name])
            write_weights(mesh, [carrier], weights.sum(axis=1, keepdims=True))
            mesh.vertex_groups.remove(mesh.vertex_groups[name])
    remove_flesh_bone(armature, name)
