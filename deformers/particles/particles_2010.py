"""Skinning by particles as it was published (Yamamoto & Tokoi 2010): for study and comparison, slow.

The mesh is filled with spheres (`fill_2010`), each pulled along by the nearest bone and held by springs to its
neighbors (`forces_2010`), and each vertex follows its 4 nearest spheres. Weights are not used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..errors import SkinningError
from ..method import Method
from ..option import Option
from ..rig.rest import Pose, Rest, check_pose
from ..skinning import blending, dlbnt
from .forces_2010 import SETTLED_DISTANCE, settle_particles
from .solid_2010 import SphereSolid, make_solid, matrix_or_identity, scale_of, transform_points

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
    """What can be chosen.

    Attributes
    ----------
    fill : str
        "UNIFORM": spheres of one radius. "TWO_LEVEL": the core gets spheres of three times the radius.
    radius : float
        Of the small spheres, object space; where the object is scaled unevenly against the armature, a mean of its
        axes. 0: a radius that would give about 1000 spheres of one size.
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


class Particles(NamedTuple):
    """The particles at rest, for drawing.

    Attributes
    ----------
    points : float64 array, shape (P, 3)
        Centers, object space.
    radii : float64 array, shape (P,)
        Object space.
    joints : int array, shape (P,)
        The joint that each follows.
    """

    points: np.ndarray
    radii: np.ndarray
    joints: np.ndarray


@dataclass(frozen=True)
class Binding:
    """What is kept from a character at rest.

    Attributes
    ----------
    skin : blending.Binding
        DLBNT, for the part of the vertices that does not follow particles.
    points : float64 array, shape (V, 3)
        Object space.
    share : float64 array, shape (V,)
        Part of each vertex that follows particles.
    strength : float64 array, shape (V,)
        As in `Rest`.
    solid : SphereSolid, or None
        None where there is nothing to fill: then all is DLBNT.
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
        """Particles."""
        return 0 if self.solid is None else len(self.solid.radii)


def bind(rest: Rest, params: Params) -> Binding:
    """Fill the mesh, and find each particle's joint and neighbors and each vertex's particles.

    Parameters
    ----------
    rest : Rest
        `triangles` closed, `joints.tails` given: where they are not, the binding is one of DLBNT, with a message.

    Raises
    ------
    SkinningError
        Where the radius leads to too many particles, or the joints are parented in a circle.
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
    """The same binding for another shape of the same vertices, `points` of shape (V, 3), object space.

    Particles stay where they are, and each vertex keeps those that it follows.
    """
    skin = dlbnt.with_points(binding.skin, points)
    return replace(binding, skin=skin, points=np.asarray(points, np.float64))


def deform(binding: Binding, pose: Pose) -> np.ndarray:
    """Posed positions, float32, shape (V, 3), object space.

    A function of the pose alone. What of a vertex does not follow the particles (`Rest.solid`, `Rest.linear`) is DLBNT.
    """
    skinned = dlbnt.deform(binding.skin, pose)
    if binding.solid is None:
        return skinned
    carried = _carry_vertices(binding.solid, pose)
    posed = np.einsum("vij,vj->vi", carried[:, :, :3], binding.points) + carried[:, :, 3]
    return _mix(skinned, binding.points, posed, binding).astype(np.float32)


def vertex_transforms(binding: Binding, pose: Pose) -> np.ndarray:
    """Where each vertex's space goes, float32, shape (V, 4, 4): layout as in `blending.skin_transforms`.

    Exact: the mean of a vertex's particles is affine in its position (section 5).
    """
    skinned = dlbnt.vertex_transforms(binding.skin, pose)
    if binding.solid is None:
        return skinned
    result = skinned.copy(order="K")
    result[:, :3] = _mix(skinned[:, :3], np.eye(3, 4), _carry_vertices(binding.solid, pose), binding)
    return result


def particles(binding: Binding) -> Particles:
    """The particles at rest; none where the binding is one of DLBNT."""
    solid = binding.solid
    if solid is None:
        return Particles(np.empty((0, 3)), np.empty(0), np.empty(0, np.intp))
    back = np.linalg.inv(solid.object_to_unit)
    return Particles(transform_points(back, solid.centers), solid.radii * scale_of(back), solid.joints)


def pose_particles(binding: Binding, pose: Pose) -> np.ndarray:
    """Posed centers of the particles, float64, shape (P, 3), object space."""
    check_pose(binding.skin.joints, pose)
    solid = binding.solid
    if solid is None:
        return np.empty((0, 3))
    return transform_points(np.linalg.inv(solid.object_to_unit), _settle(solid, _unit_matrices(solid, pose)))


def _values(values: np.ndarray | None, count: int, neutral: float) -> np.ndarray:
    return np.full(count, neutral) if values is None else np.asarray(values, np.float64)


def _mix(skinned: np.ndarray, rest: np.ndarray, carried: np.ndarray, binding: Binding) -> np.ndarray:
    """Each vertex's part by particles and the part by DLBNT, which has the strength in it already."""
    shape = (-1,) + (1,) * (carried.ndim - 1)
    share, strength = binding.share.reshape(shape), binding.strength.reshape(shape)
    return (1.0 - share) * skinned + share * (rest + strength * (carried - rest))


def _unit_matrices(solid: SphereSolid, pose: Pose) -> np.ndarray:
    """The joints' transforms in unit space, float64, shape (B, 4, 4).

    Where the object stands otherwise in the armature's space than at rest, the solid stands there too, with its bones
    and springs as they were bound: the transforms are carried over from the pose's space to that at rest.
    So the result is that of a character bound there, if the two differ by a rigid motion and an even scale and each
    particle is nearest to the same bone.
    """
    to_unit = solid.object_to_unit @ np.linalg.inv(matrix_or_identity(pose.object_to_armature))
    return to_unit @ pose.rest_to_pose @ np.linalg.inv(to_unit)


def _settle(solid: SphereSolid, matrices: np.ndarray) -> np.ndarray:
    """Posed centers, shape (P, 3), unit space.

    The springs grow and shrink with the bones of their two ends (the paper has no scale): a character that is scaled
    as a whole stays at rest.
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
    """Each vertex's transform by its particles (section 5), object space, float64, shape (V, 3, 4).

    Each of the nearest particles guesses x_i + A (V - X_i) with the linear part A of its bone; the mean counts.
    """
    matrices = _unit_matrices(solid, pose)
    linear = matrices[solid.joints, :3, :3]
    transforms = np.zeros((len(linear), 4, 4))
    transforms[:, :3, :3] = linear
    transforms[:, :3, 3] = _settle(solid, matrices) - np.einsum("pij,pj->pi", linear, solid.centers)
    transforms[:, 3, 3] = 1.0
    transforms = np.linalg.inv(solid.object_to_unit) @ transforms @ solid.object_to_unit
    return transforms[:, :3][solid.nearest].mean(axis=1)
