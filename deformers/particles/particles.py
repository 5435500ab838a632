"""Particle skinning: the flesh as a solid of particles, after Yamamoto & Tokoi 2010.

The joints take the particles along by DLBNT; the particles then keep their arrangement and their volume
(`settling`). What this changes is added to the skin as DLBNT deforms it. Where particles go just as the joints take
them, in a stiff limb as in a face, the skin is that of DLBNT; so it is where the solid is too thin to be filled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..method import Method
from ..option import Option
from ..rig.rest import Pose, Rest, normalize_weights
from ..skinning import blending, dlbnt
from ..skinning.blending import skin_points, skin_transforms
from ..skinning.stages import linear_stage
from .filled_solid import (
    LEAST_PARTICLES,
    MOST_PARTICLES,
    FilledSolid,
    add_still_joint,
    fill_character,
    transform_points,
)
from .settling import settle

IDENTITY = Pose(np.eye(4)[None])

CHOICES = (
    Option(
        name="smallest_radius",
        label="Smallest Radius",
        tooltip=(
            "Radius of the smallest particles: thinner parts follow the joints. 0 sets it from the number of particles"
        ),
        slider=(None, 1.0),
        unit="DISTANCE",
        group="size",
    ),
    Option(
        name="count",
        label="Particles",
        tooltip="Approximate number of particles, used where Smallest Radius is 0",
        lowest=LEAST_PARTICLES,
        highest=MOST_PARTICLES,
        slider=(None, 10_000),
        overruled_by="smallest_radius",
        stored_as="target_count",
        group="size",
    ),
    Option(
        name="stiffness",
        label="Stiffness",
        tooltip="How closely the flesh follows its bones: 1 for flesh, lower values are softer",
        lowest=0.01,
        highest=100.0,
        slider=(0.1, 10.0),
        group="flesh",
    ),
    Option(
        name="volume",
        label="Keep Volume",
        tooltip="Fraction of the volume change to correct",
        highest=1.0,
        unit="FACTOR",
        per_pose=True,
        group="flesh",
    ),
    Option(
        name="iterations",
        label="Iterations",
        tooltip="Solver iterations in the viewport and in renders. More iterations are more accurate and slower",
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
        How closely the flesh follows its bones, above 0; 1 is flesh.
    iterations : int
        More are more accurate and slower.
    smallest_radius : float
        Of a particle, in object space; 0: what gives about `count` particles.
    volume : float
        Share of the volume change to correct, 0 to 1.
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
    number=3,
    label="Particles",
    tooltip="Fill the mesh with particles: bends and twists like flesh, keeps its volume",
    params=Params,
    choices=CHOICES,
    fills_solid=True,
)


@dataclass(frozen=True)
class Binding:
    """What is kept from a character at rest.

    Attributes
    ----------
    base : blending.Binding
        All vertices as DLBNT has them.
    solid : FilledSolid or None
        None where there is nothing to fill: the skin is that of DLBNT then.
    solid_share : float
        Share of the vertices' motion that follows the particles.
    messages : tuple of str
        What was not filled, and what is done instead.
    """

    params: Params
    base: blending.Binding
    solid: FilledSolid | None
    solid_share: float
    messages: tuple[str, ...]

    @property
    def count(self) -> int:
        """Particles."""
        return 0 if self.solid is None else len(self.solid.cloud.points)


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

    Raises
    ------
    SkinningError
        Where the joints are parented in a circle, or the radius would take too many particles.
    """
    joints = add_still_joint(rest.joints)
    weights = normalize_weights(rest.weights, len(rest.points), len(rest.joints.parents)).by_vertex()
    rest = replace(rest, weights=weights, joints=joints)
    filled = fill_character(rest, params.smallest_radius, params.count, params.stiffness)
    if filled.weights is not None:
        rest = replace(rest, weights=filled.weights)
    return Binding(params, dlbnt.bind(rest, dlbnt.PUBLISHED), filled.solid, filled.share, filled.messages)


def with_points(binding: Binding, points: np.ndarray) -> Binding:
    """The same binding for another shape of the same vertices, `points` of shape (V, 3), object space."""
    solid = binding.solid
    if solid is not None:
        unit_points = transform_points(solid.to_unit, points).astype(np.float32)
        skin, keeper = blending.with_points(solid.skin, unit_points), solid.keeper.with_points(points)
        solid = replace(solid, skin=skin, points=unit_points, keeper=keeper)
    return replace(binding, base=dlbnt.with_points(binding.base, points), solid=solid)


def deform(binding: Binding, pose: Pose) -> np.ndarray:
    """Posed positions, float32, shape (V, 3), object space."""
    pose = _with_still_pose(pose)
    points = dlbnt.deform(binding.base, pose)
    if binding.solid is None:
        return points
    solid = binding.solid
    moves = linear_stage(_find_moves(solid, pose, binding.params.iterations))
    change = (skin_points(solid.skin, IDENTITY, [moves]) - solid.points) @ solid.to_object[:3, :3].T.astype(np.float32)
    points = points + change
    points += _find_swelling(binding, solid, pose, points, change)
    return points


def vertex_transforms(binding: Binding, pose: Pose) -> np.ndarray:
    """Where each vertex's space goes, float32, shape (V, 4, 4): layout as in `blending.skin_transforms`."""
    pose = _with_still_pose(pose)
    transforms = dlbnt.vertex_transforms(binding.base, pose)
    if binding.solid is None:
        return transforms
    transforms, solid = transforms.copy(order="K"), binding.solid
    change = skin_transforms(
        solid.skin, IDENTITY, [linear_stage(_find_moves(solid, pose, binding.params.iterations))]
    ) - np.eye(4, dtype=np.float32)
    into, out = solid.to_unit.astype(np.float32), solid.to_object[:3, :3].astype(np.float32)
    rows = out @ change[:, :3] @ into
    transforms[:, :3] += rows
    rest = solid.points @ out.T + solid.to_object[:3, 3].astype(np.float32)
    posed = _apply(transforms, rest)
    transforms[:, :3, 3] += _find_swelling(binding, solid, pose, posed, _apply(rows, rest))
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


def _settle(solid: FilledSolid, pose: Pose, iterations: int) -> _Settled:
    into = np.eye(4) if pose.object_to_armature is None else pose.object_to_armature
    pose = Pose(pose.rest_to_pose, into @ solid.to_object)
    stages, rest, stretches = dlbnt.find_stages(solid.core.joints, pose, solid.core.params), solid.cloud.points, None
    if len(stages) > 1:
        stretch = skin_transforms(solid.core, pose, stages[:1])
        rest, stretches = _apply(stretch, rest), stretch[:, :3, :3]
    rigid = skin_transforms(solid.core, pose, stages[-1:])
    goals = _apply(rigid, rest)
    rotations = np.ascontiguousarray(rigid[:, :3, :3].transpose(1, 2, 0))
    offsets, turned = settle(solid.cloud, rest, goals, rotations, iterations)
    change = (turned - rotations).transpose(2, 0, 1)
    return _Settled(goals, offsets.T, change if stretches is None else change @ stretches)


def _find_moves(solid: FilledSolid, pose: Pose, iterations: int) -> np.ndarray:
    """What the particles add to where the joints take the skin, as affine transforms, shape (P, 3, 4), unit space."""
    settled, points = _settle(solid, pose, iterations), solid.cloud.points
    moves = np.empty((len(points), 3, 4))
    moves[:, :, :3] = np.eye(3) + settled.change
    moves[:, :, 3] = settled.offsets - np.einsum("pij,pj->pi", settled.change, points)
    return moves


def _find_swelling(
    binding: Binding, solid: FilledSolid, pose: Pose, posed: np.ndarray, change: np.ndarray
) -> np.ndarray | float:
    """Moves that correct the volume: along the normals, where the particles have changed the skin.

    Where these are not enough, near the joints too.
    """
    share, keeper = binding.params.volume, solid.keeper
    if share == 0.0 or not keeper.holds_volume:
        return 0.0
    stages = dlbnt.find_stages(binding.base.joints, pose, binding.base.params)
    with np.errstate(over="ignore", invalid="ignore"):
        if len(stages) > 1:  # scaled joints ask for another volume
            keeper = keeper.with_points(skin_points(binding.base, pose, stages[:1]))
        moves = keeper.find_swelling(posed, np.sqrt(np.einsum("vi,vi->v", change, change)), solid.spare)
    return share * moves if np.isfinite(moves).all() else 0.0  # volumes so large are no numbers


def measure_volume(binding: Binding, points: np.ndarray) -> float | None:
    """Volume of posed points, shape (V, 3), as a ratio to that at rest; None where the surface holds none."""
    if binding.solid is None or not binding.solid.keeper.holds_volume:
        return None
    return binding.solid.keeper.measure(points) / binding.solid.keeper.volume


def particles(binding: Binding) -> Particles:
    """The particles at rest; none where nothing was filled."""
    if binding.solid is None:
        return Particles(np.empty((0, 3)), np.empty(0), np.empty(0, np.intp))
    solid = binding.solid
    scale = float(np.cbrt(abs(np.linalg.det(solid.to_object[:3, :3]))))
    points = transform_points(solid.to_object, solid.fill.points)
    return Particles(points, scale * solid.fill.radii, solid.cloud.weights.argmax(axis=1))


def pose_particles(binding: Binding, pose: Pose) -> np.ndarray:
    """Centers of the particles in a pose, float64, shape (P, 3), object space."""
    if binding.solid is None:
        return np.empty((0, 3))
    settled = _settle(binding.solid, _with_still_pose(pose), binding.params.iterations)
    return transform_points(binding.solid.to_object, (settled.goals + settled.offsets).astype(float))
