"""A character filled with particles: the solid, its particles, what joins them to the joints and the skin to them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..errors import LARGEST_NUMBER, SkinningError
from ..geometry.neighbors import find_nearest
from ..geometry.solid import Surface, read_surface
from ..rig.rest import Joints, Rest, Weights
from ..skinning import blending, dlbnt
from ..skinning.limb_roots import find_linear_shares
from .attachments import attach
from .cloud import Cloud, make_cloud
from .fill import Fill, fill_solid, find_smallest_radius
from .parts import find_flesh
from .volumes import VolumeKeeper

LEAST_PARTICLES, MOST_PARTICLES = 20, 50_000
"""Particles below which a mesh is not filled, and above which a pose takes too long to wait for."""

SPARE_MOVE = 0.02
"""How far a vertex may move to keep the volume where joints meet, in radii of the limb."""

SWELLING = 0.05
"""How far a vertex may move to keep the volume at all, in radii of the limb."""

SWELLS = 40
"""Particles from which on an island may swell: a lace must not become a sausage."""

EVEN_SCALES = 1e-4
"""Differences in the scale of the axes, from object to armature space, that do not count."""


SMALLEST = 1.0 / LARGEST_NUMBER
"""Size of a mesh, and its scale against the armature, below which it has none."""

FLATTEST = 1e-6
"""Scale of an axis, for another's of 1, below which a space is flat."""

NO_SCALE = (
    "The mesh has zero scale: DQ with Stretch deforms it. Give the object and the armature a larger scale and "
    "bind again"
)

NO_FLESH = (
    "Every part of the mesh is thin, follows a single bone, or covers only a short piece of two bones: DQ with Stretch "
    "deforms it"
)


@dataclass(frozen=True)
class FilledSolid:
    """The particles of a character, in unit space: object space about the mesh's center, in sizes of the mesh.

    Attributes
    ----------
    core : blending.Binding
        The particles, and the joints that take them, by dual quaternions alone.
    goals : blending.Binding
        The same, blended linearly where limbs begin.
    skin : blending.Binding
        The vertices, and the particles as the joints that take them.
    points : float32 array, shape (V, 3)
        The vertices.
    keeper : VolumeKeeper
        Of the skin, in object space.
    radii : float32 array, shape (V,)
        Of the limb around each vertex, object space.
    spare : float32 array, shape (V,)
        How far each vertex may go to keep the volume where the particles do not move it, object space.
    swelling : float32 array, shape (V,)
        How far at all.
    weights : Weights
        By which the joints take the vertices: as smooth as the particles'.
    follows : float array, shape (V,)
        Share of each vertex's motion that follows the particles.
    to_unit, to_object : float64 arrays, shape (4, 4)
    """

    fill: Fill
    cloud: Cloud
    core: blending.Binding
    goals: blending.Binding
    skin: blending.Binding
    points: np.ndarray
    keeper: VolumeKeeper
    radii: np.ndarray
    spare: np.ndarray
    swelling: np.ndarray
    weights: Weights
    follows: np.ndarray
    to_unit: np.ndarray
    to_object: np.ndarray


@dataclass(frozen=True)
class Filling:
    """What came of filling a character.

    Attributes
    ----------
    solid : FilledSolid or None
        None where there is nothing to fill.
    messages : tuple of str
        What was not filled, and what is done instead.
    """

    solid: FilledSolid | None
    messages: tuple[str, ...]


def fill_character(rest: Rest, skeleton: Joints, smallest_radius: float, count: int, stiffness: float) -> Filling:
    """Fill a character with particles, and tie them to its joints and its skin to them.

    Parameters
    ----------
    rest : Rest
        Its weights by vertex, its last joint that of `add_still_joint`.
    skeleton : Joints
        Without that joint.
    smallest_radius : float
        Of a particle, object space; 0: what gives about `count` particles.
    stiffness : float
        How closely particles follow the joints, above 0; 1 is flesh.

    Raises
    ------
    SkinningError
        Where the radius would take too many particles.
    """
    joints = rest.joints
    to_unit = _find_unit_space(rest)
    if to_unit is None:
        return Filling(None, (NO_SCALE,))
    triangles = np.empty((0, 3), int) if rest.triangles is None else rest.triangles
    points = transform_points(to_unit, rest.points)
    surface = read_surface(points, triangles)
    messages = _describe_surface(surface)
    dense = np.zeros((len(rest.points), len(joints.parents)), np.float32)
    np.add.at(dense, (rest.weights.vertices, rest.weights.joints), rest.weights.values)
    heads, tails = _find_bones(rest, to_unit)
    flesh = find_flesh(surface, dense, heads, tails)
    if not flesh.any() and surface.solid.any():
        return Filling(None, (*messages, NO_FLESH))
    if not flesh.all():
        surface = read_surface(points, triangles[flesh[surface.islands[triangles[:, 0]]]])
    fill, scale = None, float(np.cbrt(abs(np.linalg.det(to_unit[:3, :3]))))
    if surface.triangles.size:
        _check_radius(surface, smallest_radius, scale)
        fill = fill_solid(surface, smallest_radius * scale, count)
        if len(fill.points) < LEAST_PARTICLES:
            few = f"Only {len(fill.points)} particles fit into the mesh: DQ with Stretch deforms it"
            messages = (*messages, f"{few}. Choose a smaller radius")
            fill = None
    if fill is None:
        return Filling(None, messages)

    cloud = make_cloud(surface, fill, dense, np.linalg.norm(tails - heads, axis=1), joints.parents, stiffness)
    dense, attachment = attach(surface, fill, cloud, rest.weights, dense, rest.solid)
    if not attachment.solid.any():
        return Filling(None, (*messages, NO_FLESH))
    to_object = np.linalg.inv(to_unit)
    # weights of single precision would leave the rest shape inexact
    weights = Weights.from_dense(cloud.weights / cloud.weights.sum(axis=1, keepdims=True, dtype=np.float64))
    into = to_object if rest.object_to_armature is None else rest.object_to_armature @ to_object
    particles = Rest(fill.points, weights, joints, object_to_armature=into)
    own = without_still_joint(weights, skeleton)
    linear = find_linear_shares(own, skeleton, len(fill.points))
    radii = (fill.limbs_at(surface.points) / scale).astype(np.float32)
    solid = FilledSolid(
        fill=fill,
        cloud=cloud,
        core=blending.bind(particles, dlbnt.Params()),
        goals=blending.bind(replace(particles, linear=linear if linear.any() else None), dlbnt.Params()),
        skin=attachment.bind(rest, surface.points, fill.points),
        points=surface.points.astype(np.float32),
        keeper=VolumeKeeper(rest.points, surface),
        radii=radii,
        spare=_find_spare(radii, dense, attachment.find_strength(rest)),
        swelling=_find_swelling_room(surface, fill, radii),
        weights=Weights.from_dense(dense),
        follows=attachment.find_strength(rest),
        to_unit=to_unit,
        to_object=to_object,
    )
    return Filling(solid, messages)


def _check_radius(surface: Surface, smallest_radius: float, scale: float) -> None:
    """Raise SkinningError for a radius, object space, that would take too many particles."""
    least = find_smallest_radius(surface, MOST_PARTICLES) / scale if smallest_radius > 0 else 0.0
    if smallest_radius < least:
        raise SkinningError(
            f"A smallest radius of {smallest_radius:g} would need more than {MOST_PARTICLES:,} particles: choose "
            f"{least:.2g} or more, or 0 for an automatic radius"
        )


def _find_spare(thickness: np.ndarray, weights: np.ndarray, strength: np.ndarray) -> np.ndarray:
    """How far vertices may go to keep the volume: the more, the more joints share them."""
    return (SPARE_MOVE * thickness * (1.0 - np.einsum("vb,vb->v", weights, weights)) * strength).astype(np.float32)


def _find_swelling_room(surface: Surface, fill: Fill, radii: np.ndarray) -> np.ndarray:
    """How far vertices may go to keep the volume, (V,): not at all on islands of few particles."""
    used = np.unique(surface.triangles)
    nearest = used[find_nearest(fill.points, surface.points[used], 1)[0][:, 0]]
    counts = np.bincount(surface.islands[nearest], minlength=len(surface.solid))
    swells = np.append(counts >= SWELLS, False)[surface.islands]
    return (SWELLING * radii * swells).astype(np.float32)


def add_still_joint(joints: Joints) -> Joints:
    """The joints, and one that stays at rest: vertices without weights follow it."""
    tails = joints.tails
    return Joints(
        np.concatenate([joints.centers, np.zeros((1, 3))]),
        np.append(joints.parents, -1),
        None if tails is None else np.concatenate([tails, np.full((1, 3), np.inf)]),
    )


def without_still_joint(weights: Weights, skeleton: Joints) -> Weights:
    """Weights without those of the joint that stays at rest: of the skeleton alone."""
    own = weights.joints < len(skeleton.parents)
    return Weights(weights.vertices[own], weights.joints[own], weights.values[own])


def _find_bones(rest: Rest, to_unit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Heads and tails of the bones in unit space, shape (B, 3); those of bones without an end are infinite."""
    centers, tails = rest.joints.centers, rest.joints.tails
    into = np.eye(4) if rest.object_to_armature is None else rest.object_to_armature
    matrix = to_unit @ np.linalg.inv(into)
    ends = np.full(centers.shape, np.inf)
    if tails is not None:
        known = np.isfinite(tails).all(axis=1)
        ends[known] = transform_points(matrix, tails[known])
    return transform_points(matrix, centers), ends


def _find_unit_space(rest: Rest) -> np.ndarray | None:
    """From object to unit space, shape (4, 4): about the center, in sizes, and as the armature sees the object.

    None where one of the spaces is flat, or so small that there is no computing with the other's units.

    An object that is scaled unevenly against its armature has other lengths there. How it is moved and rotated, or
    scaled evenly, makes no difference: the particles are the same in every frame. Where the character has a `frame`,
    its axes are those of unit space, whatever those of object and armature are.
    """
    shape, turn = np.eye(3), np.eye(3)
    if rest.object_to_armature is not None:
        left, scales, axes = np.linalg.svd(rest.object_to_armature[:3, :3])
        turn = np.sign(np.linalg.det(left @ axes)) * (left @ axes)
        if scales.min() < max(SMALLEST, FLATTEST * scales.max()):
            return None
        scales = scales / np.cbrt(np.prod(scales))
        if np.ptp(scales) > EVEN_SCALES:
            shape = np.round(axes.T @ np.diag(scales) @ axes, 4)
    turn = np.eye(3) if rest.frame is None else rest.frame.T @ turn
    points = rest.points @ turn.T
    low, high = points.min(axis=0, initial=np.inf), points.max(axis=0, initial=-np.inf)
    size = float((high - low).max(initial=0.0)) or 1.0
    if size < SMALLEST:
        return None
    matrix = np.eye(4)
    matrix[:3, :3] = turn @ shape / size
    matrix[:3, 3] = -matrix[:3, :3] @ turn.T @ (0.5 * (low + high)).astype(float)
    return matrix


def transform_points(matrix: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Apply an affine transform, shape (4, 4), to points, shape (N, 3)."""
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def _describe_surface(surface: Surface) -> tuple[str, ...]:
    count, solid = len(surface.solid), int(surface.solid.sum())
    messages = []
    if not count:
        messages.append("The mesh has no faces to fill: DQ with Stretch deforms it")
    elif not solid:
        messages.append(
            "No part of the mesh is closed, so particles cannot fill it: DQ with Stretch deforms it. Close its holes"
        )
    elif solid < count:
        messages.append(f"Open parts, such as cloth, that follow the joints: {count - solid} of {count}")
    if surface.flipped:
        messages.append(f"Parts that are inside out, filled as if their normals were flipped: {surface.flipped}")
    return tuple(messages)
