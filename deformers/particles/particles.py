"""Particle skinning: the body as a solid of particles, after Yamamoto & Tokoi 2010.

The joints take the particles along by DLBNT; the particles then keep their places among each other and their volume
(`settling`). What this changes is added to the skin as DLBNT deforms it. Where particles go just as the joints take
them, in a stiff limb as in a face, the skin is that of DLBNT; so it is where the body is too thin to be filled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..errors import SkinningError
from ..geometry.solid import Surface, read_surface
from ..method import Choice, Method
from ..rig.rest import Joints, Pose, Rest, Weights, normalize_weights
from ..skinning import blending, dlbnt
from ..skinning.blending import linear_stage, skin_points, skin_transforms
from .attachments import attach
from .cloud import Cloud, make_cloud
from .fill import Fill, fill_solid, find_smallest_radius
from .settling import settle
from .volumes import VolumeKeeper

LEAST_PARTICLES, MOST_PARTICLES = 20, 50_000
"""Particles below which a body is no solid, and above which a pose takes longer than anyone would wait."""

SPARE = 0.02
"""The same move, in radii of the limb, where joints meet."""

EVEN = 1e-4
"""Differences in the scale of the axes, from object to armature space, that do not count."""

IDENTITY = Pose(np.eye(4)[None])

CHOICES = (
    Choice(
        name="smallest_radius",
        label="Smallest Radius",
        tooltip="Radius of the smallest particles: thinner parts follow the joints. 0 finds it by the number",
        slider=(None, 1.0),
        unit="DISTANCE",
        group="size",
    ),
    Choice(
        name="count",
        label="Particles",
        tooltip="How many particles there should be, about, where Smallest Radius is 0",
        lowest=LEAST_PARTICLES,
        highest=MOST_PARTICLES,
        slider=(None, 10_000),
        overruled_by="smallest_radius",
        stored_as="target_count",
        group="size",
    ),
    Choice(
        name="stiffness",
        label="Stiffness",
        tooltip="How much the flesh keeps to its bones: 1 is flesh, less is softer",
        lowest=0.01,
        highest=100.0,
        slider=(0.1, 10.0),
        group="flesh",
    ),
    Choice(
        name="volume",
        label="Keep Volume",
        tooltip="Share of the lost or gained volume that is made good",
        highest=1.0,
        unit="FACTOR",
        per_pose=True,
        group="flesh",
    ),
    Choice(
        name="iterations",
        label="Iterations",
        tooltip="More let the particles come nearer to rest and take longer; in the viewport and in renders",
        lowest=1,
        highest=1000,
        slider=(None, 32),
        per_pose=True,
        group="accuracy",
    ),
)


@dataclass(frozen=True)
class Params:
    """What can be chosen.

    Attributes
    ----------
    stiffness : float
        How much the flesh keeps to its bones, above 0; 1 is flesh.
    iterations : int
        More come nearer to where the particles come to rest, and take longer.
    smallest_radius : float
        Of a particle, in object space; 0: what gives about `count` particles.
    count : int
    volume : float
        Share of the volume that the skin has lost or gained which is made good, 0 to 1.
    """

    stiffness: float = 1.0
    iterations: int = 8
    smallest_radius: float = 0.0
    count: int = 2000
    volume: float = 1.0

    def __post_init__(self) -> None:
        for choice in CHOICES:
            choice.check(getattr(self, choice.name))


INFO = Method(
    key="PARTICLES",
    label="Particles",
    tooltip="A solid body of particles under the skin: bends and twists as flesh, keeps its volume",
    params=Params,
    choices=CHOICES,
    fills_solid=True,
)


@dataclass(frozen=True)
class Body:
    """The particles of a character, in unit space: object space about the body's center, in sizes of the body.

    Attributes
    ----------
    fill : Fill
    cloud : Cloud
    core : blending.Binding
        The particles, and the joints that take them.
    skin : blending.Binding
        The vertices, and the particles as the joints that take them.
    points : float32 array, shape (V, 3)
        The vertices.
    keeper : VolumeKeeper
        Of the skin, in object space.
    spare : float32 array, shape (V,)
        How far each vertex may go to keep the volume where the particles do not move it, object space.
    to_unit, to_object : float64 arrays, shape (4, 4)
    """

    fill: Fill
    cloud: Cloud
    core: blending.Binding
    skin: blending.Binding
    points: np.ndarray
    keeper: VolumeKeeper
    spare: np.ndarray
    to_unit: np.ndarray
    to_object: np.ndarray


@dataclass(frozen=True)
class Binding:
    """What is kept from a character at rest.

    Attributes
    ----------
    params : Params
    base : blending.Binding
        All vertices as DLBNT has them.
    body : Body or None
        None where there is nothing to fill: the skin is that of DLBNT then.
    solid_share : float
        Share of the vertices' motion that follows the particles.
    messages : tuple of str
        What was not filled, and what is done instead.
    """

    params: Params
    base: blending.Binding
    body: Body | None
    solid_share: float
    messages: tuple[str, ...]

    @property
    def count(self) -> int:
        """Particles."""
        return 0 if self.body is None else len(self.body.cloud.points)


@dataclass(frozen=True)
class Particles:
    """Particles at rest, object space: centers, shape (P, 3), radii, shape (P,), and strongest joints, shape (P,)."""

    points: np.ndarray
    radii: np.ndarray
    joints: np.ndarray


def bind(rest: Rest, params: Params) -> Binding:
    """Fill the character with particles, and tie them to its joints and its skin to them.

    Parameters
    ----------
    rest : Rest
        With triangles; where they hold nothing, the binding is that of DLBNT.
    params : Params

    Raises
    ------
    SkinningError
        Where the joints are parented in a circle.
    """
    joints = _with_still_joint(rest.joints)
    weights = normalize_weights(rest.weights, len(rest.points), len(rest.joints.parents)).by_vertex()
    rest = replace(rest, weights=weights, joints=joints)
    to_unit = _find_unit_space(rest)
    triangles = np.empty((0, 3), int) if rest.triangles is None else rest.triangles
    surface = read_surface(_transform(to_unit, rest.points), triangles)
    messages = _describe_surface(surface)
    fill, scale = None, float(np.cbrt(abs(np.linalg.det(to_unit[:3, :3]))))
    if surface.triangles.size:
        _check_radius(surface, params.smallest_radius, scale)
        fill = fill_solid(surface, params.smallest_radius * scale, params.count)
        if len(fill.points) < LEAST_PARTICLES:
            few = f"Only {len(fill.points)} particles fit into the mesh: it is deformed by DLBNT"
            messages = (*messages, f"{few}. Choose a smaller radius")
            fill = None
    if fill is None:
        return Binding(params, dlbnt.bind(rest, dlbnt.Params()), None, 0.0, messages)

    dense = np.zeros((len(rest.points), len(joints.parents)), np.float32)
    np.add.at(dense, (weights.vertices, weights.joints), weights.values)
    lengths = _bone_lengths(joints) * _armature_to_unit(rest, to_unit)
    cloud = make_cloud(surface, fill, dense, lengths, joints.parents, params.stiffness)
    dense, attachment = attach(surface, fill, cloud, weights, dense, rest.solid)
    if not attachment.solid.any():
        messages += ("Every part is held by one bone, or too thin for its particles: it is deformed by DLBNT",)
        return Binding(params, dlbnt.bind(rest, dlbnt.Params()), None, 0.0, messages)
    body = Body(
        fill=fill,
        cloud=cloud,
        core=dlbnt.bind(Rest(fill.points, Weights.from_dense(cloud.weights), joints), dlbnt.Params()),
        skin=attachment.bind(rest, surface.points, fill.points),
        points=surface.points.astype(np.float32),
        keeper=VolumeKeeper(rest.points, surface),
        spare=_find_spare(fill.limbs_at(surface.points) / scale, dense, attachment.find_strength(rest)),
        to_unit=to_unit,
        to_object=np.linalg.inv(to_unit),
    )
    base = dlbnt.bind(replace(rest, weights=Weights.from_dense(dense)), dlbnt.Params())
    return Binding(params, base, body, float(attachment.solid.mean()), messages)


def _check_radius(surface: Surface, smallest_radius: float, scale: float) -> None:
    """Raise SkinningError for a radius, object space, that would take too many particles."""
    least = find_smallest_radius(surface, MOST_PARTICLES) / scale if smallest_radius > 0 else 0.0
    if smallest_radius < least:
        raise SkinningError(
            f"A smallest radius of {smallest_radius:g} would take more than {MOST_PARTICLES:,} particles: choose "
            f"{least:.2g} or more, or 0 to have it found"
        )


def _find_spare(thickness: np.ndarray, weights: np.ndarray, strength: np.ndarray) -> np.ndarray:
    """How far vertices may go to keep the volume: the more, the more joints share them."""
    return (SPARE * thickness * (1.0 - np.einsum("vb,vb->v", weights, weights)) * strength).astype(np.float32)


def _with_still_joint(joints: Joints) -> Joints:
    """The joints, and one that stays at rest: vertices without weights follow it."""
    tails = joints.centers if joints.tails is None else joints.tails
    return Joints(
        np.concatenate([joints.centers, np.zeros((1, 3))]),
        np.append(joints.parents, -1),
        None if joints.tails is None else np.concatenate([tails, np.full((1, 3), np.inf)]),
    )


def _bone_lengths(joints: Joints) -> np.ndarray:
    """Lengths of the bones, armature space; bones without an end are long."""
    if joints.tails is None:
        return np.full(len(joints.parents), np.inf)
    return np.linalg.norm(joints.tails - joints.centers, axis=1)


def _find_unit_space(rest: Rest) -> np.ndarray:
    """From object to unit space, shape (4, 4): about the center, in sizes, and as the armature sees the object.

    An object that is scaled unevenly against its armature has other lengths there. How it is moved and turned, or
    scaled evenly, makes no difference: the particles are the same in every frame.
    """
    shape = np.eye(3)
    if rest.object_to_armature is not None:
        _, scales, axes = np.linalg.svd(rest.object_to_armature[:3, :3])
        scales = scales / np.cbrt(np.prod(scales))
        if np.ptp(scales) > EVEN:
            shape = np.round(axes.T @ np.diag(scales) @ axes, 4)
    low, high = rest.points.min(axis=0, initial=np.inf), rest.points.max(axis=0, initial=-np.inf)
    size = float((high - low).max(initial=0.0)) or 1.0
    matrix = np.eye(4)
    matrix[:3, :3] = shape / size
    matrix[:3, 3] = -matrix[:3, :3] @ (0.5 * (low + high)).astype(float)
    return matrix


def _armature_to_unit(rest: Rest, to_unit: np.ndarray) -> float:
    """How many units are one of armature space."""
    into = np.eye(4) if rest.object_to_armature is None else rest.object_to_armature
    return float(np.cbrt(abs(np.linalg.det(to_unit[:3, :3]) / np.linalg.det(into[:3, :3]))))


def _transform(matrix: np.ndarray, points: np.ndarray) -> np.ndarray:
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def _describe_surface(surface: Surface) -> tuple[str, ...]:
    count, solid = len(surface.solid), int(surface.solid.sum())
    messages = []
    if not count:
        messages.append("The mesh has no faces to fill: it is deformed by DLBNT")
    elif not solid:
        messages.append(
            "No part of the mesh is closed, so nothing can be filled: it is deformed by DLBNT. Close its holes"
        )
    elif solid < count:
        messages.append(f"Parts that are open, like cloth, and follow the joints: {count - solid} of {count}")
    if surface.turned:
        messages.append(f"Parts that are inside out, and are filled as if their normals were flipped: {surface.turned}")
    return tuple(messages)


def with_points(binding: Binding, points: np.ndarray) -> Binding:
    """The same binding for another shape of the same vertices, `points` of shape (V, 3), object space."""
    body = binding.body
    if body is not None:
        unit_points = _transform(body.to_unit, points).astype(np.float32)
        skin, keeper = blending.with_points(body.skin, unit_points), body.keeper.with_points(points)
        body = replace(body, skin=skin, points=unit_points, keeper=keeper)
    return replace(binding, base=dlbnt.with_points(binding.base, points), body=body)


def deform(binding: Binding, pose: Pose) -> np.ndarray:
    """Posed positions, float32, shape (V, 3), object space."""
    pose = _with_still_pose(pose)
    points = dlbnt.deform(binding.base, pose)
    if binding.body is None:
        return points
    body = binding.body
    moves = linear_stage(_find_moves(body, pose, binding.params.iterations))
    change = (skin_points(body.skin, IDENTITY, [moves]) - body.points) @ body.to_object[:3, :3].T.astype(np.float32)
    points += change
    points += _find_swelling(binding, body, pose, points, change)
    return points


def vertex_transforms(binding: Binding, pose: Pose) -> np.ndarray:
    """Where each vertex's space goes, float32, shape (V, 4, 4): `blending.skin_transforms` tells the layout."""
    pose = _with_still_pose(pose)
    transforms = dlbnt.vertex_transforms(binding.base, pose)
    if binding.body is None:
        return transforms
    body = binding.body
    change = skin_transforms(
        body.skin, IDENTITY, [linear_stage(_find_moves(body, pose, binding.params.iterations))]
    ) - np.eye(4, dtype=np.float32)
    into, out = body.to_unit.astype(np.float32), body.to_object[:3, :3].astype(np.float32)
    rows = out @ change[:, :3] @ into
    transforms[:, :3] += rows
    rest = body.points @ out.T + body.to_object[:3, 3].astype(np.float32)
    posed = _apply(transforms, rest)
    transforms[:, :3, 3] += _find_swelling(binding, body, pose, posed, _apply(rows, rest))
    return transforms


def _apply(transforms: np.ndarray, points: np.ndarray) -> np.ndarray:
    return np.einsum("vij,vj->vi", transforms[:, :3, :3], points) + transforms[:, :3, 3]


def _with_still_pose(pose: Pose) -> Pose:
    return Pose(np.concatenate([pose.rest_to_pose, np.eye(4)[None]]), pose.object_to_armature)


@dataclass(frozen=True)
class _Settled:
    """Particles in a pose, unit space: goals and offsets from them, shape (P, 3), and the change of their space.

    `change`, shape (P, 3, 3): from how the joints take a particle's space to how it lies.
    """

    goals: np.ndarray
    offsets: np.ndarray
    change: np.ndarray


def _settle(body: Body, pose: Pose, iterations: int) -> _Settled:
    into = np.eye(4) if pose.object_to_armature is None else pose.object_to_armature
    pose = Pose(pose.rest_to_pose, into @ body.to_object)
    stages, rest, stretches = dlbnt.find_stages(body.core, pose), body.cloud.points, None
    if len(stages) > 1:
        stretch = skin_transforms(body.core, pose, stages[:1])
        rest, stretches = _apply(stretch, rest), stretch[:, :3, :3]
    rigid = skin_transforms(body.core, pose, stages[-1:])
    goals = _apply(rigid, rest)
    rotations = np.ascontiguousarray(rigid[:, :3, :3].transpose(1, 2, 0))
    offsets, turned = settle(body.cloud, rest, goals, rotations, iterations)
    change = (turned - rotations).transpose(2, 0, 1)
    return _Settled(goals, offsets.T, change if stretches is None else change @ stretches)


def _find_moves(body: Body, pose: Pose, iterations: int) -> np.ndarray:
    """What the particles add to where the joints take the skin, as affine transforms, shape (P, 3, 4), unit space."""
    settled, points = _settle(body, pose, iterations), body.cloud.points
    moves = np.empty((len(points), 3, 4))
    moves[:, :, :3] = np.eye(3) + settled.change
    moves[:, :, 3] = settled.offsets - np.einsum("pij,pj->pi", settled.change, points)
    return moves


def _find_swelling(
    binding: Binding, body: Body, pose: Pose, posed: np.ndarray, change: np.ndarray
) -> np.ndarray | float:
    """What makes good the volume that is still lacking: along the normals, where the particles have changed the skin.

    Where that is not enough, near the joints.
    """
    share, keeper = binding.params.volume, body.keeper
    if share == 0.0 or not keeper.holds_volume:
        return 0.0
    stages = dlbnt.find_stages(binding.base, pose)
    with np.errstate(over="ignore", invalid="ignore"):
        if len(stages) > 1:  # scaled joints ask for another volume
            keeper = keeper.with_points(skin_points(binding.base, pose, stages[:1]))
        moves = keeper.find_swelling(posed, np.sqrt(np.einsum("vi,vi->v", change, change)), body.spare)
    return share * moves if np.isfinite(moves).all() else 0.0  # volumes so large are no numbers


def measure_volume(binding: Binding, points: np.ndarray) -> float | None:
    """Volume of posed points, shape (V, 3), as a ratio to that at rest; None where the surface holds none."""
    if binding.body is None or not binding.body.keeper.holds_volume:
        return None
    return binding.body.keeper.measure(points) / binding.body.keeper.volume


def particles(binding: Binding) -> Particles:
    """The particles at rest; none where nothing was filled."""
    if binding.body is None:
        return Particles(np.empty((0, 3)), np.empty(0), np.empty(0, np.intp))
    body = binding.body
    scale = float(np.cbrt(abs(np.linalg.det(body.to_object[:3, :3]))))
    points = _transform(body.to_object, body.fill.points)
    return Particles(points, scale * body.fill.radii, body.cloud.weights.argmax(axis=1))


def pose_particles(binding: Binding, pose: Pose) -> np.ndarray:
    """Centers of the particles in a pose, float64, shape (P, 3), object space."""
    if binding.body is None:
        return np.empty((0, 3))
    settled = _settle(binding.body, _with_still_pose(pose), binding.params.iterations)
    return _transform(binding.body.to_object, (settled.goals + settled.offsets).astype(float))
