"""Positions of the library's patterns on a character, found by its rig preset or by the shape of its body."""

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
from .read import charts_of, check_mesh, find_driving_armature

MIN_SCALE_RATIO = 1e-6  # smallest over largest scale of an object; flatter ones have no directions

MAX_DEPTH = 0.35  # from the inside of the body to its skin, in statures; a farther hit is not this skin

MIN_STANDING = 0.6  # height of a standing body over its largest other extent


@dataclass(frozen=True)
class Anatomy:
    """A character's body; `rig` is None if no preset matches its bones."""

    body: Body
    bones: RestBones
    rig: Rig | None


@dataclass(frozen=True)
class Landing:
    """The position of a spot on a mesh.

    Attributes
    ----------
    location : tuple of 3 floats
        Object space, at rest.
    angle : float
        Rotation of a pattern there, counter-clockwise, radians.
    stature : float
        Height of the body in the object's units.
    depth : float
        Distance from the spot's origin to the skin, in the armature's units.
    """

    spot: Spot
    location: tuple[float, float, float]
    angle: float
    stature: float
    depth: float


def find_anatomy(armature: bpy.types.Object, meshes: Sequence[bpy.types.Object]) -> Anatomy | None:
    """Find the body of an armature by its rig preset or, if it stands, by the shape of meshes; None if neither fits."""
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
    is_standing = np.ptp(points @ body.up) >= MIN_STANDING * max(
        np.ptp(points @ body.left), np.ptp(points @ body.front)
    )
    return Anatomy(body, bones, None) if is_standing else None


def _is_left(name: str, other: str) -> bool:
    """Whether the first of two names that differ only in their side is that of the left."""
    return next(a for a, b in zip(name, other, strict=False) if a != b) in "lL"


def find_landing(obj: bpy.types.Object, key: str, bone: str = "") -> Landing | None:
    """Find the position of a pattern of the library, by its key, on a mesh; None if it is unknown.

    `bone`: bone that drives it, or a bone near it. Required if no preset matches the armature.
    """
    landmarks = _find_landmarks(key)
    armature = find_driving_armature(obj)
    check_mesh(obj)
    check_space(np.array(object_to_armature(obj, armature)))
    anatomy = find_anatomy(armature, [obj]) if landmarks else None
    if anatomy is None or (bone and bone not in anatomy.bones.names):
        return None
    spot = _find_spot(landmarks, key, anatomy, bone)
    return None if spot is None else land(obj, armature, anatomy.body, spot)


def _find_landmarks(key: str) -> list[Landmark]:
    """Find the landmarks of a pattern of the library."""
    return [each for each in read_all_landmarks()[0] if any(each.key(side) == key for side in sides_of(each))]


def _find_all_spots(landmarks: Sequence[Landmark], key: str, anatomy: Anatomy, rig: Rig, bone: str = "") -> list[Spot]:
    found = [
        find_spot(landmark, side, anatomy.body, rig, anatomy.bones, bone)
        for landmark in landmarks
        for side in sides_of(landmark)
        if landmark.key(side) == key
    ]
    return [spot for spot in found if spot is not None]


def _find_nearest(spots: Sequence[Spot], bones: RestBones, bone: str) -> Spot:
    head = bones.heads[bones.index(bone)]
    return min(spots, key=lambda spot: float(np.linalg.norm(spot.origin - head)))


def _find_spot(landmarks: Sequence[Landmark], key: str, anatomy: Anatomy, bone: str) -> Spot | None:
    """Find the spot for a pattern of the library that a bone drives, or else the spot nearest to the bone."""
    body, bones, rig = anatomy.body, anatomy.bones, anatomy.rig
    if rig is not None:
        spots = _find_all_spots(landmarks, key, anatomy, rig, bone)
        if not bone or not spots:
            return spots[0] if spots else None
        driven = [spot for spot in spots if bone in find_drivers(spot.landmark, spot.side, body, rig)]
        return _find_nearest(driven or spots, bones, bone)
    if not bone:
        return None
    head = bones.heads[bones.index(bone)]
    is_leg = float((head - body.hips) @ body.up) < 0.0
    # without a preset, only the side of the hips tells which of the landmarks is meant
    fitting = [one for one in landmarks if (one.region == "LEGS") == is_leg] or list(landmarks)
    sides = [side for side in sides_of(fitting[0]) if fitting[0].key(side) == key]
    side = find_side(body, head)
    return guess_spot(fitting[0], side if side in sides else sides[0], body, bones, bone)


def suggest_bone(obj: bpy.types.Object, key: str, bone: str) -> str:
    """Suggest the bone that drives a pattern by a preset, on the side and limb of another bone; else this bone."""
    landmarks = _find_landmarks(key)
    anatomy = find_anatomy(find_driving_armature(obj), ()) if landmarks else None
    if anatomy is None or anatomy.rig is None:
        return bone
    if bone not in anatomy.bones.names:
        spot = _find_spot(landmarks, key, anatomy, "")
        return bone if spot is None else spot.bone
    spots = _find_all_spots(landmarks, key, anatomy, anatomy.rig)
    return _find_nearest(spots, anatomy.bones, bone).bone if spots else bone


def land(obj: bpy.types.Object, armature: bpy.types.Object, body: Body, spot: Spot) -> Landing | None:
    """Find the position of a spot on a mesh; None if the mesh has no skin there."""
    to_armature = np.array(object_to_armature(obj, armature), np.float64)
    scales = np.linalg.svd(to_armature[:3, :3], compute_uv=False)
    if scales.min() <= MIN_SCALE_RATIO * scales.max():
        return None
    to_object = np.linalg.inv(to_armature)
    # from inside of the body toward its skin: clothes, if they are other meshes, do not matter
    origin = to_object[:3, :3] @ spot.origin + to_object[:3, 3]
    hit = cast_ray_at_rest(charts_of(obj).mesh, origin, to_object[:3, :3] @ spot.toward)
    scale = float(np.cbrt(abs(np.linalg.det(to_object[:3, :3]))))
    stature = scale * body.stature
    depth = np.inf if hit is None else float(np.linalg.norm(hit.point - origin)) / scale
    if hit is None or depth > MAX_DEPTH * body.stature:
        return None
    center = locate_point(charts_of(obj).mesh, hit.rest)
    angle = _find_angle(center, to_object[:3, :3], spot)
    x, y, z = map(float, center.position)
    return Landing(spot, (x, y, z), angle, stature, depth)


def _find_angle(center: SurfacePoint, to_object: np.ndarray, spot: Spot) -> float:
    """Find the rotation of a height map by which its right side or top points in the spot's direction."""
    wanted = spot.right if spot.right is not None else spot.top
    assert wanted is not None, "a spot says where the right side or the top points"
    along, up = surface_frame(center) @ (to_object @ wanted)
    return math.atan2(up, along) - (0.0 if spot.right is not None else 0.5 * math.pi)
