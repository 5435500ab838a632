"""A correction carried to the other side of its character."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Matrix, Quaternion, Vector

from ...bridge.meshes.data import mesh_of, read_rest_points, read_triangles
from ...bridge.meshes.nearest import find_nearest_surface
from ...deformers.corrections.mirroring import mirror_offsets, mirror_rotation
from ..subject.character import object_to_armature
from ..subject.corrected import read_ramps, read_rotations
from .keys import Correction, list_group, read_offsets
from .poses import pack_numbers, parse_bone_pose

# Angle between a pose and its mirror image up to which they are one
SAME_POSE = np.radians(2.0)

# Difference of ramps up to which they are one
SAME_RAMP = 1e-3


def flip_bones(armature: bpy.types.Object, bones: Sequence[str]) -> tuple[str, ...]:
    """The bones of the other side; a bone without one stays itself."""
    known = cast(Any, armature.data).bones
    flipped = [bpy.utils.flip_name(bone) for bone in bones]
    return tuple(other if other in known else bone for bone, other in zip(bones, flipped, strict=True))


def find_other_side(obj: bpy.types.Object, armature: bpy.types.Object, correction: Correction) -> Correction | None:
    """The correction of the other side, still without offsets; None if it is its mirror image.

    It takes the name of an existing correction in that pose, or with these ramps.
    """
    bones, own = flip_bones(armature, correction.bones), correction.ramps
    axes = [_read_axes(armature, *pair) for pair in zip(correction.bones, bones, strict=True)]
    rotations = _mirror_all(correction.rotations, axes)
    ramps = None if own is None else _mirror_all(own, axes)

    def is_same(other: np.ndarray, other_ramps: np.ndarray | None) -> bool:
        if ramps is None or other_ramps is None:
            return _is_same(rotations, other)
        return np.allclose(ramps, other_ramps, atol=SAME_RAMP)

    if bones == correction.bones and is_same(correction.rotations, own):
        return None
    group = list_group(obj, bones, ramps is not None)
    known = (one.name for one in group if is_same(read_rotations(one), read_ramps(one) if one.ramps else None))
    return replace(
        correction,
        name=next(known, _flip_name(correction, bones)),
        offsets=np.zeros((0, 3)),
        bones=bones,
        rotations=rotations,
        pose=mirror_bone_pose(armature, correction.pose),
        ramps=ramps,
    )


def _mirror_all(rows: np.ndarray, axes: Sequence[tuple[np.ndarray, ...]]) -> np.ndarray:
    """Mirror rotations or ramps of bones, (J, 4), by the axes of each and of the other side's."""
    return np.array([mirror_rotation(row, *both) for row, both in zip(rows, axes, strict=True)])


def _is_same(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether rotations of the same bones, shapes (J, 4), are one pose."""
    alike = np.abs(np.einsum("ji,ji->j", first, second)).clip(0.0, 1.0)
    return bool((2.0 * np.arccos(alike) < SAME_POSE).all())


def mirror_key(obj: bpy.types.Object, armature: bpy.types.Object, key: str) -> np.ndarray:
    """A shape key's offsets at rest, mirrored, shape (V, 3), object space.

    Parameters
    ----------
    obj : Object
        Mesh, whose vertices are matched by position at rest.
    """
    space = np.array(object_to_armature(obj, armature), np.float64)
    points = read_rest_points(mesh_of(obj)) @ space[:3, :3].T + space[:3, 3]
    offsets = read_offsets(obj, key) @ space[:3, :3].T
    mirrored = mirror_offsets(offsets, points, read_triangles(mesh_of(obj)), find_nearest_surface)
    return mirrored @ np.linalg.inv(space[:3, :3]).T


def _flip_name(correction: Correction, bones: tuple[str, ...]) -> str:
    """Name of the shape key on the other side."""
    name = correction.name
    for bone, other in zip(correction.bones, bones, strict=True):
        name = name.replace(bone, other)
    flipped = bpy.utils.flip_name(name) if name == correction.name else name
    return flipped if flipped != correction.name else f"{name} Mirrored"


def _read_axes(armature: bpy.types.Object, *bones: str) -> tuple[np.ndarray, ...]:
    """Axes of bones at rest, columns, armature space, each of shape (3, 3)."""
    known = cast(Any, armature.data).bones
    return tuple(np.array(known[bone].matrix_local.to_3x3(), np.float64) for bone in bones)


def mirror_bone_pose(armature: bpy.types.Object, stored: str) -> str:
    """A pose of `read_bone_pose` as it is on the other side; raises SkinningError if it is none."""
    mirror, found = Matrix.Diagonal((-1.0, 1.0, 1.0, 1.0)), {}
    bones = cast(Any, armature.data).bones
    for name, numbers in parse_bone_pose(stored).items():
        if name not in bones:
            continue
        other = flip_bones(armature, [name])[0]
        rest, rest_other = (bones[one].matrix_local.to_3x3().to_4x4() for one in (name, other))
        basis = Matrix.LocRotScale(Vector(numbers[:3]), Quaternion(numbers[3:7]), Vector(numbers[7:]))
        location, rotation, scale = (
            rest_other.inverted() @ mirror @ rest @ basis @ rest.inverted() @ mirror @ rest_other
        ).decompose()
        found[other] = pack_numbers((*location, *rotation, *scale))
    return json.dumps(found)
