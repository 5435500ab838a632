"""Skinning by particles as published (Yamamoto & Tokoi 2010), for study and comparison. It is slow.

The mesh is filled with spheres (`fill_2010`). Each is pulled by the nearest bone and by springs to its neighbors
(`forces_2010`), and each vertex follows its 4 nearest spheres. Weights are not used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..errors import SkinningError
from ..geometry.vectors import transform_points
from ..method import Method, RestParticles
from ..option import Option
from ..rig.rest import Pose, Rest, check_pose
from ..skinning import blending, dlbnt
from .forces_2010 import SETTLED_DISTANCE, settle_particles
from .solid_2010 import SphereSolid, make_solid, matrix_or_identity, scale_of

FILL = Option(
    name="fill",
    label="Fill",
    tooltip="How the mesh is filled",
    items=(
        ("UNIFORM", "Uniform", "Particles of one size"),
        ("TWO_LEVEL", "Two Levels", "Particles of three times the radius in the core"),
    ),
)
RADIUS = Option(
    name="radius",
    label="Radius",
    tooltip="Radius of the small particles. 0 sets it automatically, for about 1000 particles",
    slider=(None, 1.0),
    unit="DISTANCE",
)


@dataclass(frozen=True)
class Params:
    """Options of the method.

    Attributes
    ----------
    fill : str
        "UNIFORM" for spheres of one radius, "TWO_LEVEL" for spheres of three times the radius in the core.
    radius : float
        Radius of the small spheres in object space, the mean of its axes if the object is scaled unevenly against the
        armature. 0 is a radius for about 1000 spheres of one size.
    """

    fill: str = "TWO_LEVEL"
    radius: float = 0.0

    def __post_init__(self) -> None:
        FILL.check(self.fill)
        if not (np.isfinite(self.radius) and self.radius >= 0.0):
            raise SkinningError(f"Radius is {self.radius}: choose a length above 0, or 0 for an automatic one")


INFO = Method(
    key="PARTICLES_2010",
    number=4,
    label="Particles 2010",
    tooltip="Particles as Yamamoto and Tokoi published them. For study only: each pose takes seconds",
    params=Params,
    choices=(FILL, RADIUS),
    fills_solid=True,
    is_slow=True,
)


@dataclass(frozen=True)
class Binding:
    """A character at rest, prepared for `deform`.

    Attributes
    ----------
    skin : blending.Binding
        For DLBNT of the part of the vertices that does not follow particles.
    points : float64 array, shape (V, 3)
        In object space.
    share : float64 array, shape (V,)
        Share of each vertex that follows particles.
    strength : float64 array, shape (V,)
        As in `Rest`.
    solid : SphereSolid or None
        None if there is nothing to fill: all is DLBNT then.
    messages : tuple of str
        Why nothing was filled, and what to do.
    """

    params: Params
    skin: blending.Binding
    points: np.ndarray
    share: np.ndarray
    strength: np.ndarray
    solid: SphereSolid | None
    messages: tuple[str, ...]

    @property
    def count(self) -> int:
        """Number of particles."""
        return 0 if self.solid is None else len(self.solid.radii)


def bind(rest: Rest, params: Params) -> Binding:
    """Fill the mesh, and find each particle's joint and neighbors and each vertex's particles.

    Raises SkinningError if the radius needs too many particles, or the joints are parented in a circle.

    Parameters
    ----------
    rest : Rest
        With closed `triangles` and with `joints.tails`. Otherwise the binding is that of DLBNT, with a message.
    """
    count = len(rest.points)
    solid = make_solid(rest, params.fill, params.radius)
    return Binding(
        params=params,
        skin=dlbnt.bind(rest, dlbnt.Params()),
        points=np.asarray(rest.points, np.float64),
        share=_values(rest.solid, count, 1.0) * (1.0 - _values(rest.linear, count, 0.0)),
        strength=_values(rest.strength, count, 1.0),
        solid=None if isinstance(solid, str) else solid,
        messages=(solid,) if isinstance(solid, str) else (),
    )


def with_points(binding: Binding, points: np.ndarray) -> Binding:
    """Replace the rest shape of the vertices by points (V, 3), in object space. Each keeps its particles."""
    skin = dlbnt.with_points(binding.skin, points)
    return replace(binding, skin=skin, points=np.asarray(points, np.float64))


def deform(binding: Binding, pose: Pose) -> np.ndarray:
    """Posed positions, float32, shape (V, 3), in object space, a function of the pose alone.

    The part of a vertex that does not follow particles (`Rest.solid`, `Rest.linear`) is DLBNT.
    """
    skinned = dlbnt.deform(binding.skin, pose)
    if binding.solid is None:
        return skinned
    carried = _carry_vertices(binding.solid, pose)
    posed = np.einsum("vij,vj->vi", carried[:, :, :3], binding.points) + carried[:, :, 3]
    return _mix(skinned, binding.points, posed, binding).astype(np.float32)


def vertex_transforms(binding: Binding, pose: Pose) -> np.ndarray:
    """Transforms of the vertices' spaces, float32, shape (V, 4, 4), with the layout of `blending.skin_transforms`.

    They are exact, because the mean of a vertex's particles is affine in its position (section 5).
    """
    skinned = dlbnt.vertex_transforms(binding.skin, pose)
    if binding.solid is None:
        return skinned
    result = skinned.copy(order="K")
    result[:, :3] = _mix(skinned[:, :3], np.eye(3, 4), _carry_vertices(binding.solid, pose), binding)
    return result


def particles(binding: Binding) -> RestParticles:
    """List the particles at rest."""
    solid = binding.solid
    if solid is None:
        return RestParticles(np.empty((0, 3)), np.empty(0), np.empty(0, np.intp))
    back = np.linalg.inv(solid.object_to_unit)
    return RestParticles(transform_points(back, solid.centers), solid.radii * scale_of(back), solid.joints)


def pose_particles(binding: Binding, pose: Pose) -> np.ndarray:
    """Centers of the particles in a pose, float64, shape (P, 3), in object space."""
    check_pose(binding.skin.joints, pose)
    solid = binding.solid
    if solid is None:
        return np.empty((0, 3))
    return transform_points(np.linalg.inv(solid.object_to_unit), _settle(solid, _unit_matrices(solid, pose)))


def _values(values: np.ndarray | None, count: int, neutral: float) -> np.ndarray:
    return np.full(count, neutral) if values is None else np.asarray(values, np.float64)


def _mix(skinned: np.ndarray, rest: np.ndarray, carried: np.ndarray, binding: Binding) -> np.ndarray:
    """Mix the part by particles and the part by DLBNT, which includes the strength already."""
    shape = (-1,) + (1,) * (carried.ndim - 1)
    share, strength = binding.share.reshape(shape), binding.strength.reshape(shape)
    return (1.0 - share) * skinned + share * (rest + strength * (carried - rest))


def _unit_matrices(solid: SphereSolid, pose: Pose) -> np.ndarray:
    """Transforms of the joints in unit space, float64, shape (B, 4, 4).

    If the object has moved in the armature's space since rest, the solid moves with it, with its bones and springs: the
    transforms are converted from the pose's space to that at rest. So the result is that of a character bound there, if
    both differ by a rigid motion and an even scale, and each particle is nearest to the same bone.
    """
    to_unit = solid.object_to_unit @ np.linalg.inv(matrix_or_identity(pose.object_to_armature))
    return to_unit @ pose.rest_to_pose @ np.linalg.inv(to_unit)


def _settle(solid: SphereSolid, matrices: np.ndarray) -> np.ndarray:
    """Posed centers, shape (P, 3), in unit space.

    The springs are scaled with the bones of their two ends, so that a character that is scaled as a whole stays at
    rest. The paper does not have scale.
    """
    carried = np.einsum("pij,pj->pi", matrices[solid.joints, :3, :3], solid.centers) + matrices[solid.joints, :3, 3]
    scales = np.cbrt(np.abs(np.linalg.det(matrices[:, :3, :3])))[solid.joints]
    springs = solid.springs
    springs = replace(springs, lengths=springs.lengths * 0.5 * (scales[springs.first] + scales[springs.second]))
    points, _ = settle_particles(
        np.ascontiguousarray(carried.T), solid.masses, springs, SETTLED_DISTANCE * float(solid.radii.min())
    )
    return points.T


def _carry_vertices(solid: SphereSolid, pose: Pose) -> np.ndarray:
    """Transforms of the vertices by their particles (section 5), float64, shape (V, 3, 4), in object space.

    Each of the nearest particles predicts x_i + A (V - X_i) with the linear part A of its bone. The mean counts.
    """
    matrices = _unit_matrices(solid, pose)
    linear = matrices[solid.joints, :3, :3]
    transforms = np.zeros((len(linear), 4, 4))
    transforms[:, :3, :3] = linear
    transforms[:, :3, 3] = _settle(solid, matrices) - np.einsum("pij,pj->pi", linear, solid.centers)
    transforms[:, 3, 3] = 1.0
    transforms = np.linalg.inv(solid.object_to_unit) @ transforms @ solid.object_to_unit
    return transforms[:, :3][solid.nearest].mean(axis=1)
