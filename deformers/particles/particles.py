"""Particle skinning: the flesh as a solid of particles, after Yamamoto & Tokoi 2010.

The joints move the particles by DLBNT. Then the particles keep their arrangement and their volume (`settling`). The
change is added to the skin by DLBNT. So the skin is that of DLBNT if the particles move just as the joints move them,
such as in a stiff limb or in a face, and if the solid is too thin to be filled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..geometry.solid import weld
from ..geometry.vectors import transform_points
from ..method import Method, RestParticles
from ..option import Option
from ..rig.rest import Joints, Pose, Rest, normalize_weights
from ..skinning import blending, dlbnt
from ..skinning.blending import skin_points, skin_transforms
from ..skinning.limb_roots import find_linear_shares
from ..skinning.stages import Stage, linear_stage
from .filled_solid import (
    MAX_PARTICLES,
    MIN_PARTICLES,
    FilledSolid,
    add_still_joint,
    fill_character,
    without_still_joint,
)
from .hinges import Hinges, find_hinges_of_skin
from .layers import FleshLayers, find_flesh_layers
from .settling import settle

IDENTITY = Pose(np.eye(4)[None])

# Flesh with this stiffness is nearly rigid.
MAX_STIFFNESS = 100.0

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
        name="target_count",
        label="Particles",
        tooltip="Approximate number of particles, used where Smallest Radius is 0",
        lowest=MIN_PARTICLES,
        highest=MAX_PARTICLES,
        slider=(None, 10_000),
        overruled_by="smallest_radius",
        group="size",
    ),
    Option(
        name="stiffness",
        label="Stiffness",
        tooltip="How closely the flesh follows its bones: 1 for flesh, lower values are softer",
        lowest=0.01,
        highest=MAX_STIFFNESS,
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
    """Options of the method.

    Attributes
    ----------
    stiffness : float
        How closely the flesh follows its bones, above 0. 1 is flesh.
    iterations : int
        More are more accurate and slower.
    smallest_radius : float
        Smallest radius of particles, in object space; 0 for about `target_count` particles.
    volume : float
        Share of the volume change to correct, 0 to 1.
    """

    stiffness: float = 1.0
    iterations: int = 8
    smallest_radius: float = 0.0
    target_count: int = 2000
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
class Flesh:
    """Data that turn the joints' skin into flesh.

    Attributes
    ----------
    base : blending.Binding
        All vertices, with weights of the joints as smooth as those of the particles.
    hinges : Hinges
        Bent limbs, whose skin is that of the joints.
    layers : FleshLayers
        Layers on the flesh, and rigid parts.
    """

    solid: FilledSolid
    base: blending.Binding
    hinges: Hinges
    layers: FleshLayers

    def with_points(self, points: np.ndarray) -> Flesh:
        """Replace the rest shape of the vertices by points (V, 3), in object space."""
        solid = self.solid
        unit_points = transform_points(solid.to_unit, points).astype(np.float32)
        skin, keeper = blending.with_points(solid.skin, unit_points), solid.keeper.with_points(points)
        return replace(
            self,
            solid=replace(solid, skin=skin, points=unit_points, keeper=keeper),
            base=dlbnt.with_points(self.base, points),
        )


@dataclass(frozen=True)
class Binding:
    """A character at rest, prepared for `deform`.

    Attributes
    ----------
    joints : blending.Binding
        All vertices, for DLBNT.
    flesh : Flesh or None
        None if there is nothing to fill: the skin is that of DLBNT then.
    messages : tuple of str
        What was not filled, and how it is deformed instead.
    """

    params: Params
    joints: blending.Binding
    flesh: Flesh | None
    messages: tuple[str, ...]

    @property
    def solid_share(self) -> float:
        """Share of the vertices' motion that follows the particles."""
        return 0.0 if self.flesh is None else float(self.flesh.solid.follows.mean())

    @property
    def count(self) -> int:
        """Number of particles."""
        return 0 if self.flesh is None else len(self.flesh.solid.cloud.points)


def bind(rest: Rest, params: Params) -> Binding:
    """Fill the character with particles that follow its joints, and let its skin follow them.

    Raises SkinningError if the joints are parented in a circle, or the radius needs too many particles.

    Parameters
    ----------
    rest : Rest
        With triangles. If they do not enclose a volume, the binding is that of DLBNT.
    """
    skeleton, count = rest.joints, len(rest.points)
    weights = normalize_weights(rest.weights, count, len(skeleton.parents)).by_vertex()
    rest = replace(rest, weights=weights, joints=add_still_joint(skeleton))
    solid, messages = fill_character(rest, skeleton, params.smallest_radius, params.target_count, params.stiffness)
    flesh = None if solid is None else _bind_flesh(rest, skeleton, solid, params.stiffness)
    return Binding(params, _bind_skin(rest, skeleton), flesh, messages)


def _bind_skin(rest: Rest, skeleton: Joints) -> blending.Binding:
    """Bind a skin to the joints: dual quaternions, linear where limbs start or a group says so."""
    if rest.linear is None:
        own = without_still_joint(rest.weights, skeleton)
        linear = find_linear_shares(own, skeleton, len(rest.points))
        rest = replace(rest, linear=linear if linear.any() else None)
    return blending.bind(rest, dlbnt.Params())


def _bind_flesh(rest: Rest, skeleton: Joints, solid: FilledSolid, stiffness: float) -> Flesh:
    points, triangles = np.asarray(rest.points, np.float64), np.asarray(rest.triangles)
    dense = rest.weights.to_dense(len(points), len(rest.joints.parents))
    welded = weld(transform_points(solid.to_unit, points))
    back = np.eye(4) if rest.object_to_armature is None else np.linalg.inv(rest.object_to_armature)
    centers = transform_points(back, np.asarray(skeleton.centers, np.float64))
    scale = float(np.cbrt(abs(np.linalg.det(solid.to_object[:3, :3]))))
    radii = scale * solid.fill.limbs_at(transform_points(solid.to_unit, centers))
    return Flesh(
        solid=solid,
        base=_bind_skin(replace(rest, weights=solid.weights), skeleton),
        hinges=find_hinges_of_skin(points, welded[triangles], dense, skeleton, centers, radii, stiffness),
        layers=find_flesh_layers(points, welded, triangles, dense, solid.follows, solid.radii),
    )


def with_points(binding: Binding, points: np.ndarray) -> Binding:
    """Replace the rest shape of the vertices by points (V, 3), in object space."""
    flesh = None if binding.flesh is None else binding.flesh.with_points(points)
    return replace(binding, joints=dlbnt.with_points(binding.joints, points), flesh=flesh)


def deform(binding: Binding, pose: Pose) -> np.ndarray:
    """Posed positions, float32, shape (V, 3), in object space."""
    still = _with_still_pose(pose)
    by_joints = dlbnt.deform(binding.joints, still)
    if binding.flesh is None:
        return by_joints
    moves = _find_moves(binding.flesh.solid, still, binding.params.iterations)
    return _find_skin(binding, binding.flesh, still, by_joints, moves)


def vertex_transforms(binding: Binding, pose: Pose) -> np.ndarray:
    """Transforms of the vertices' spaces, float32, shape (V, 4, 4), with the layout of `blending.skin_transforms`."""
    still, flesh = _with_still_pose(pose), binding.flesh
    if flesh is None:
        return dlbnt.vertex_transforms(binding.joints, still)
    solid = flesh.solid
    moves = _find_moves(solid, still, binding.params.iterations)
    transforms = dlbnt.vertex_transforms(flesh.base, still).copy(order="K")
    change = skin_transforms(solid.skin, IDENTITY, [moves])[:, :3, :3] - np.eye(3, dtype=np.float32)
    into, out = (matrix[:3, :3].astype(np.float32) for matrix in (solid.to_unit, solid.to_object))
    transforms[:, :3, :3] += out @ change @ into
    posed = _find_skin(binding, flesh, still, dlbnt.deform(binding.joints, still), moves)
    rest = transform_points(solid.to_object, solid.points).astype(np.float32)
    transforms[:, :3, 3] = posed - np.einsum("vij,vj->vi", transforms[:, :3, :3], rest)
    return transforms


def _find_skin(binding: Binding, flesh: Flesh, still: Pose, by_joints: np.ndarray, moves: Stage) -> np.ndarray:
    """Find the posed skin, float32, shape (V, 3), in object space.

    `still` includes the still joint, `by_joints` is the skin by the joints alone, (V, 3), `moves` is from
    `_find_moves`.
    """
    solid = flesh.solid
    change = (skin_points(solid.skin, IDENTITY, [moves]) - solid.points) @ solid.to_object[:3, :3].T.astype(np.float32)
    points = dlbnt.deform(flesh.base, still) + change
    points += _find_swelling(binding, flesh, still, points, change)

    points = flesh.hinges.unite(points, by_joints, still)
    flesh.layers.carry(points, by_joints)
    return points


def _apply(transforms: np.ndarray, points: np.ndarray) -> np.ndarray:
    return np.einsum("vij,vj->vi", transforms[:, :3, :3], points) + transforms[:, :3, 3]


def _with_still_pose(pose: Pose) -> Pose:
    if "still" not in pose.known:
        pose.known["still"] = Pose(np.concatenate([pose.rest_to_pose, np.eye(4)[None]]))
    return pose.known["still"].seen_from(pose.object_to_armature)


@dataclass(frozen=True)
class _Settled:
    """Settled particles, in unit space: goals and offsets from them, shape (P, 3), and the change of their spaces.

    `change`, shape (P, 3, 3), leads from a particle's space by the joints alone to its settled space.
    """

    goals: np.ndarray
    offsets: np.ndarray
    change: np.ndarray


def _settle(solid: FilledSolid, still: Pose, iterations: int) -> _Settled:
    into = np.eye(4) if still.object_to_armature is None else still.object_to_armature
    of_particles = still.seen_from(into @ solid.to_object)
    stages = dlbnt.find_stages(solid.core.joints, of_particles, solid.core.params)
    rest, stretches = solid.cloud.points, None
    if len(stages) > 1:
        stretch = skin_transforms(solid.core, of_particles, stages[:1])
        rest, stretches = _apply(stretch, rest), stretch[:, :3, :3]
    goals = dlbnt.deform(solid.goals, of_particles)
    rigid = skin_transforms(solid.core, of_particles, stages[-1:])
    rotations = np.ascontiguousarray(rigid[:, :3, :3].transpose(1, 2, 0))
    offsets, turned = settle(solid.cloud, rest, goals, rotations, iterations)
    change = (turned - rotations).transpose(2, 0, 1)
    return _Settled(goals, offsets.T, change if stretches is None else change @ stretches)


def _find_moves(solid: FilledSolid, still: Pose, iterations: int) -> Stage:
    """Find the moves by particles beyond those by the joints, as affine transforms in unit space."""
    settled, points = _settle(solid, still, iterations), solid.cloud.points
    moves = np.empty((len(points), 3, 4))
    moves[:, :, :3] = np.eye(3) + settled.change
    moves[:, :, 3] = settled.offsets - np.einsum("pij,pj->pi", settled.change, points)
    return linear_stage(moves)


def _find_swelling(
    binding: Binding, flesh: Flesh, pose: Pose, posed: np.ndarray, change: np.ndarray
) -> np.ndarray | float:
    """Find moves that correct the volume: along the normals of skin that the particles have changed.

    If these are not enough, the skin near joints also moves, never farther than the limb's size allows.
    """
    share, solid = binding.params.volume, flesh.solid
    keeper = solid.keeper
    if share == 0.0 or not keeper.holds_volume:
        return 0.0
    stages = dlbnt.find_stages(flesh.base.joints, pose, flesh.base.params)
    with np.errstate(over="ignore", invalid="ignore"):
        if len(stages) > 1:  # scaled joints need another volume
            alone = replace(flesh.base, linear=None, latest=blending.Latest())  # they belong to the whole pose
            keeper = keeper.with_points(skin_points(alone, pose, stages[:1]))
        moves = keeper.find_swelling(posed, np.sqrt(np.einsum("vi,vi->v", change, change)), solid.spare)
        if not np.isfinite(moves).all():  # volumes so large are not numbers
            return 0.0
    lengths = np.maximum(np.sqrt(np.einsum("vi,vi->v", moves, moves)), np.float32(1e-30))
    return np.float32(share) * np.minimum(1.0, solid.swelling / lengths)[:, None] * moves


def measure_volume(binding: Binding, points: np.ndarray) -> float | None:
    """Volume of posed points, shape (V, 3), relative to rest, or None if the surface does not enclose a volume."""
    if binding.flesh is None or not binding.flesh.solid.keeper.holds_volume:
        return None
    keeper = binding.flesh.solid.keeper
    return keeper.measure(points) / keeper.volume


def particles(binding: Binding) -> RestParticles:
    """List the particles at rest."""
    if binding.flesh is None:
        return RestParticles(np.empty((0, 3)), np.empty(0), np.empty(0, np.intp))
    solid = binding.flesh.solid
    scale = float(np.cbrt(abs(np.linalg.det(solid.to_object[:3, :3]))))
    points = transform_points(solid.to_object, solid.fill.points)
    return RestParticles(points, scale * solid.fill.radii, solid.cloud.weights.argmax(axis=1))


def pose_particles(binding: Binding, pose: Pose) -> np.ndarray:
    """Centers of the particles in a pose, float64, shape (P, 3), in object space."""
    if binding.flesh is None:
        return np.empty((0, 3))
    solid = binding.flesh.solid
    settled = _settle(binding.flesh.solid, _with_still_pose(pose), binding.params.iterations)
    return transform_points(solid.to_object, (settled.goals + settled.offsets).astype(float))
