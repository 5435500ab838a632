"""Where the library's patterns belong on a character: found by its rig preset, or by the shape of its body."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of, read_points
from ...bridge.rigs.rest_bones import read_rest_bones
from ...deformers.anatomy.body import Body, RestBones, body_of_rig, body_of_shape
from ...deformers.anatomy.landmarks import (
    Landmark,
    Spot,
    find_drivers,
    find_side,
    find_spot,
    guess_spot,
    sides_of,
)
from ...deformers.anatomy.presets import Rig
from ...deformers.patterns.picking import cast_ray_at_rest
from ...deformers.patterns.surface_points import SurfacePoint, locate_point, surface_frame
from ...deformers.rig.rest import check_space
from ..subject.character import object_to_armature
from ..subject.rig_presets import find_rig_of, read_all_landmarks
from .layout import charts_of, check_mesh
from .meaning import find_driving_armature

FLAT = 1e-6
"""Smallest over largest scale from object to armature space, below which one of them is flat and has no directions."""

FARTHEST = 0.35
"""Distance from the inside of the body to the skin, of the stature, from which on it is not the skin that is meant."""

UPRIGHT = 0.6
"""Height of a body, of its largest extent, from which on it is taken to stand."""


@dataclass(frozen=True)
class Anatomy:
    """What is known of a character's body.

    Attributes
    ----------
    rig : Rig, or None where no preset knows its bones
    """

    body: Body
    bones: RestBones
    rig: Rig | None


@dataclass(frozen=True)
class Landing:
    """Where a pattern lies on a mesh, and what drives it.

    Attributes
    ----------
    location : tuple of 3 floats
        Object space, at rest.
    angle : float
        Rotation, counter-clockwise, radians.
    stature : float
        Of the body, in the object's units.
    depth : float
        How far inside the skin the spot's origin is, in the armature's units.
    """

    spot: Spot
    location: tuple[float, float, float]
    angle: float
    stature: float
    depth: float


def find_anatomy(armature: bpy.types.Object, meshes: Sequence[bpy.types.Object]) -> Anatomy | None:
    """The body of an armature: by its rig preset, else by the shape of meshes; None where that is no standing body."""
    bones = read_rest_bones(armature)
    rig = find_rig_of(armature, bones)
    if rig is not None:
        return Anatomy(body_of_rig(rig, bones), bones, rig)
    if not (meshes and len(bones.names)):
        return None
    spaces = [np.array(object_to_armature(obj, armature), np.float64) for obj in meshes]
    points = np.concatenate(
        [read_points(mesh_of(obj)) @ space[:3, :3].T + space[:3, 3] for obj, space in zip(meshes, spaces, strict=True)]
    )
    up = np.array(armature.matrix_world.inverted_safe().to_3x3().col[2], np.float64)
    pairs = [
        (bones.heads[index], bones.heads[bones.index(other)])
        for index, name in enumerate(bones.names)
        if (other := bpy.utils.flip_name(name)) != name and other in bones.names and _is_left(name, other)
    ]
    body = body_of_shape(points, up, pairs)
    is_standing = np.ptp(points @ body.up) >= UPRIGHT * max(np.ptp(points @ body.left), np.ptp(points @ body.front))
    return Anatomy(body, bones, None) if is_standing else None


def _is_left(name: str, other: str) -> bool:
    """Whether of two names that differ in their side alone, the first is that of the left."""
    return next(a for a, b in zip(name, other, strict=False) if a != b) in "lL"


def find_landing(obj: bpy.types.Object, key: str, bone: str = "") -> Landing | None:
    """Where a pattern of the library belongs on a mesh; None where nobody knows.

    Parameters
    ----------
    key : str
        Of the library.
    bone : str
        Bone that drives it, or a bone near it. Needed where no preset knows the armature.
    """
    landmarks = [landmark for landmark in read_all_landmarks()[0] if key in _keys_of(landmark)]
    armature = find_driving_armature(obj)
    check_mesh(obj)
    check_space(np.array(object_to_armature(obj, armature)))
    anatomy = find_anatomy(armature, [obj]) if landmarks else None
    if anatomy is None or (bone and bone not in anatomy.bones.names):
        return None
    spot = _find_spot(landmarks, key, anatomy, bone)
    return None if spot is None else land(obj, armature, anatomy.body, spot)


def _keys_of(landmark: Landmark) -> list[str]:
    return [landmark.key(side) for side in sides_of(landmark)]


def _find_spot(landmarks: Sequence[Landmark], key: str, anatomy: Anatomy, bone: str) -> Spot | None:
    """The spot for a pattern of the library that a bone drives, or that is nearest to it."""
    body, bones, rig = anatomy.body, anatomy.bones, anatomy.rig
    if rig is not None:
        pairs = [(one, side) for one in landmarks for side in sides_of(one) if one.key(side) == key]
        spots = [spot for one, side in pairs if (spot := find_spot(one, side, body, rig, bones, bone)) is not None]
        if not bone or not spots:
            return spots[0] if spots else None
        driven = [spot for spot in spots if bone in find_drivers(spot.landmark, spot.side, body, rig)]
        head = bones.heads[bones.index(bone)]
        return min(driven or spots, key=lambda spot: float(np.linalg.norm(spot.origin - head)))
    if not bone:
        return None
    head = bones.heads[bones.index(bone)]
    is_leg = float((head - body.hips) @ body.up) < 0.0
    fitting = [one for one in landmarks if (one.region == "LEGS") == is_leg] or list(landmarks)
    sides = [side for side in sides_of(fitting[0]) if fitting[0].key(side) == key]
    side = find_side(body, head)
    return guess_spot(fitting[0], side if side in sides else sides[0], body, bones, bone)


def suggest_bone(obj: bpy.types.Object, key: str, bone: str) -> str:
    """The bone that a preset says drives a pattern, on the side and at the limb where a bone is; else this bone."""
    landmarks = [landmark for landmark in read_all_landmarks()[0] if key in _keys_of(landmark)]
    armature = find_driving_armature(obj)
    anatomy = find_anatomy(armature, ()) if landmarks else None
    if anatomy is None or anatomy.rig is None:
        return bone
    spot = _find_spot(landmarks, key, anatomy, "")
    if bone in anatomy.bones.names:
        spots = [
            spot
            for one in landmarks
            for side in sides_of(one)
            if one.key(side) == key
            and (spot := find_spot(one, side, anatomy.body, anatomy.rig, anatomy.bones)) is not None
        ]
        head = anatomy.bones.heads[anatomy.bones.index(bone)]
        spot = min(spots, key=lambda spot: float(np.linalg.norm(spot.origin - head)), default=None)
    return bone if spot is None else spot.bone


def land(obj: bpy.types.Object, armature: bpy.types.Object, body: Body, spot: Spot) -> Landing | None:
    """Where a spot is on a mesh; None where the mesh has no skin there."""
    to_armature = np.array(object_to_armature(obj, armature), np.float64)
    scales = np.linalg.svd(to_armature[:3, :3], compute_uv=False)
    if scales.min() <= FLAT * scales.max():
        return None
    to_object = np.linalg.inv(to_armature)
    origin = to_object[:3, :3] @ spot.origin + to_object[:3, 3]
    hit = cast_ray_at_rest(charts_of(obj).mesh, origin, to_object[:3, :3] @ spot.toward)
    scale = float(np.cbrt(abs(np.linalg.det(to_object[:3, :3]))))
    stature = scale * body.stature
    depth = np.inf if hit is None else float(np.linalg.norm(hit.point - origin)) / scale
    if hit is None or depth > FARTHEST * body.stature:
        return None
    center = locate_point(charts_of(obj).mesh, hit.rest)
    angle = _find_angle(center, to_object[:3, :3], spot)
    x, y, z = map(float, center.position)
    return Landing(spot, (x, y, z), angle, stature, depth)


def _find_angle(center: SurfacePoint, to_object: np.ndarray, spot: Spot) -> float:
    """How far a height map is rotated so that it points where a spot says."""
    wanted = spot.right if spot.right is not None else spot.top
    assert wanted is not None, "a spot says where the right side or the top points"
    along, up = surface_frame(center) @ (to_object @ wanted)
    return math.atan2(up, along) - (0.0 if spot.right is not None else 0.5 * math.pi)
