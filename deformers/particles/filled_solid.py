"""A character filled with particles, the joints that move them, and the skin that follows them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..errors import LARGEST_NUMBER, SkinningError
from ..geometry.neighbors import find_nearest
from ..geometry.solid import Surface, read_surface
from ..geometry.vectors import transform_points
from ..rig.rest import Joints, Rest, Weights
from ..skinning import blending, dlbnt
from ..skinning.limb_roots import find_linear_shares
from .attachments import attach
from .cloud import Cloud, make_cloud
from .fill import Fill, fill_solid, find_smallest_radius
from .parts import find_flesh
from .volumes import VolumeKeeper

# A mesh with fewer particles is not filled. With more, a pose takes too long.
MIN_PARTICLES, MAX_PARTICLES = 20, 50_000

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
    """The particles of a character, in unit space: object space around the mesh's center, in sizes of the mesh.

    Attributes
    ----------
    core : blending.Binding
        Particles and their joints, by dual quaternions alone.
    goals : blending.Binding
        Particles and their joints, blended linearly where limbs start.
    skin : blending.Binding
        Vertices, with the particles as their joints.
    points : float32 array, shape (V, 3)
        Vertices.
    keeper : VolumeKeeper
        Volume of the skin, in object space.
    radii : float32 array, shape (V,)
        Radius of the limb around each vertex, in object space.
    spare, swelling : float32 arrays, shape (V,)
        Largest move of each vertex to keep the volume where particles do not move it, and anywhere, in object space.
    weights : Weights
        Weights of the joints for the vertices, as smooth as those of the particles.
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


def fill_character(
    rest: Rest, skeleton: Joints, smallest_radius: float, count: int, stiffness: float
) -> tuple[FilledSolid | None, tuple[str, ...]]:
    """Fill a character with particles that follow its joints, and let its skin follow them.

    Raises SkinningError if the radius needs too many particles.

    Parameters
    ----------
    rest : Rest
        With weights by vertex, and the joint of `add_still_joint` at the end.
    skeleton : Joints
        Joints without the still joint.
    smallest_radius : float
        In object space; 0 for about `count` particles.
    stiffness : float
        How closely particles follow the joints, above 0. 1 is flesh.

    Returns
    -------
    solid : FilledSolid or None
        None if there is nothing to fill.
    messages : tuple of str
        What was not filled, and how it is deformed instead.
    """
    joints = rest.joints
    to_unit = _find_unit_space(rest)
    if to_unit is None:
        return None, (NO_SCALE,)
    triangles = np.empty((0, 3), int) if rest.triangles is None else rest.triangles
    points = transform_points(to_unit, rest.points)
    surface = read_surface(points, triangles)
    messages = _describe_surface(surface)
    dense = rest.weights.to_dense(len(rest.points), len(joints.parents)).astype(np.float32)
    heads, tails = _find_bones(rest, to_unit)
    flesh = find_flesh(surface, dense, heads, tails)
    if not flesh.any() and surface.solid.any():
        return None, (*messages, NO_FLESH)
    if not flesh.all():
        surface = read_surface(points, triangles[flesh[surface.islands[triangles[:, 0]]]])
    fill, scale = None, float(np.cbrt(abs(np.linalg.det(to_unit[:3, :3]))))
    if surface.triangles.size:
        _check_radius(surface, smallest_radius, scale)
        fill = fill_solid(surface, smallest_radius * scale, count)
        if len(fill.points) < MIN_PARTICLES:
            few = f"Only {len(fill.points)} particles fit into the mesh: DQ with Stretch deforms it"
            messages = (*messages, f"{few}. Choose a smaller radius")
            fill = None
    if fill is None:
        return None, messages

    cloud = make_cloud(surface, fill, dense, np.linalg.norm(tails - heads, axis=1), joints.parents, stiffness)
    dense, attachment = attach(surface, fill, cloud, rest.weights, dense, rest.solid)
    if not attachment.solid.any():
        return None, (*messages, NO_FLESH)
    to_object = np.linalg.inv(to_unit)
    # Weights in single precision would make the rest shape inexact.
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
    return solid, messages


def _check_radius(surface: Surface, smallest_radius: float, scale: float) -> None:
    """Raise a SkinningError for a radius, in object space, that needs too many particles."""
    least = find_smallest_radius(surface, MAX_PARTICLES) / scale if smallest_radius > 0 else 0.0
    if smallest_radius < least:
        raise SkinningError(
            f"A smallest radius of {smallest_radius:g} would need more than {MAX_PARTICLES:,} particles: choose "
            f"{least:.2g} or more, or 0 for an automatic radius"
        )


def _find_spare(thickness: np.ndarray, weights: np.ndarray, strength: np.ndarray) -> np.ndarray:
    """Largest moves of vertices to keep the volume, in object space, larger the more joints share a vertex."""
    return (0.02 * thickness * (1.0 - np.einsum("vb,vb->v", weights, weights)) * strength).astype(np.float32)


def _find_swelling_room(surface: Surface, fill: Fill, radii: np.ndarray) -> np.ndarray:
    """Largest moves of vertices to keep the volume, (V,), 0 on islands of few particles: a lace must not swell."""
    used = np.unique(surface.triangles)
    nearest = used[find_nearest(fill.points, surface.points[used], 1)[0][:, 0]]
    counts = np.bincount(surface.islands[nearest], minlength=len(surface.solid))
    swells = np.append(counts >= 40, False)[surface.islands]
    return (0.05 * radii * swells).astype(np.float32)


def add_still_joint(joints: Joints) -> Joints:
    """Add a joint that stays at rest, for vertices without weights."""
    tails = joints.tails
    return Joints(
        np.concatenate([joints.centers, np.zeros((1, 3))]),
        np.append(joints.parents, -1),
        None if tails is None else np.concatenate([tails, np.full((1, 3), np.inf)]),
    )


def without_still_joint(weights: Weights, skeleton: Joints) -> Weights:
    """Remove the weights of the joint that stays at rest."""
    own = weights.joints < len(skeleton.parents)
    return Weights(weights.vertices[own], weights.joints[own], weights.values[own])


def _find_bones(rest: Rest, to_unit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Heads and tails of the bones in unit space, shape (B, 3). Missing tails are infinite."""
    centers, tails = rest.joints.centers, rest.joints.tails
    into = np.eye(4) if rest.object_to_armature is None else rest.object_to_armature
    matrix = to_unit @ np.linalg.inv(into)
    ends = np.full(centers.shape, np.inf)
    if tails is not None:
        known = np.isfinite(tails).all(axis=1)
        ends[known] = transform_points(matrix, tails[known])
    return transform_points(matrix, centers), ends


def _find_unit_space(rest: Rest) -> np.ndarray | None:
    """Transform from object to unit space, shape (4, 4): around the center, in sizes, with the armature's proportions.

    None if one of the spaces is flat, or too small for the numbers of the other.

    An object that is scaled unevenly against its armature has other lengths there. Moving, rotating or evenly scaling
    it does not matter: the particles are the same in every frame.
    """
    smallest = 1.0 / LARGEST_NUMBER
    shape = np.eye(3)
    if rest.object_to_armature is not None:
        _, scales, axes = np.linalg.svd(rest.object_to_armature[:3, :3])
        if scales.min() < max(smallest, 1e-6 * scales.max()):
            return None
        scales = scales / np.cbrt(np.prod(scales))
        if np.ptp(scales) > 1e-4:
            shape = np.round(axes.T @ np.diag(scales) @ axes, 4)
    low, high = rest.points.min(axis=0, initial=np.inf), rest.points.max(axis=0, initial=-np.inf)
    size = float((high - low).max(initial=0.0)) or 1.0
    if size < smallest:
        return None
    matrix = np.eye(4)
    matrix[:3, :3] = shape / size
    matrix[:3, 3] = -matrix[:3, :3] @ (0.5 * (low + high)).astype(float)
    return matrix


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
