"""Skinning by particles as it was published (Yamamoto & Tokoi 2010): for study and comparison, slow.

The body is filled with spheres (`hexagonal_fill`), each pulled along by the nearest bone and held by springs to its
neighbors (`particle_forces`), and each vertex follows its 4 nearest spheres. Weights are not used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..errors import SkinningError
from ..geometry.neighbors import find_nearest
from ..method import Choice, Method
from ..rig.rest import Pose, Rest
from ..skinning import blending, dlbnt
from .fill_2010 import SPHERE_SPACE, count_places, fill_two_levels, fill_uniform, surface_bounds, surface_volume
from .forces_2010 import STILL, TINY, UNIT_SIZE, Springs, find_masses, find_springs, settle_particles

FILLS = {"UNIFORM": fill_uniform, "TWO_LEVEL": fill_two_levels}

AUTOMATIC_COUNT = 1000
"""Particles of one size that the automatic radius leads to, about."""

MOST_PARTICLES = 20_000
"""With more, a pose would take minutes."""

MOST_PLACES = 2_000_000
"""Of the lattice, in the box around the body: what does not fill its box has many more places than particles."""

LEAST_VOLUME = 1e-7
"""Share of its box's largest extent, cubed, below which a surface counts as flat."""

SURFACE_PARTICLES = 4
"""Particles that a vertex follows (section 5)."""

TIE = 1e-6
"""Distances count as equal if they differ by less than this: in radii, squared ones to a bone in parts of them. A body
and a lattice have many equal ones, and rounding must not choose."""

NEAR = 16
"""Particles among which those of a vertex are chosen: more than can be equally near."""


FILL = Choice(
    name="fill",
    label="Fill",
    tooltip="How the mesh is filled",
    items=(
        ("UNIFORM", "Uniform", "Particles of one size"),
        ("TWO_LEVEL", "Two Levels", "Particles of three times the radius in the core"),
    ),
)
RADIUS = Choice(
    name="radius",
    label="Radius",
    tooltip="Radius of the small particles. 0 finds one that gives some 1000",
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
        axes. 0: one that would give some 1000 spheres of one size.
    """

    fill: str = "TWO_LEVEL"
    radius: float = 0.0

    def __post_init__(self) -> None:
        FILL.check(self.fill)
        if not (np.isfinite(self.radius) and self.radius >= 0.0):
            raise SkinningError(f"Radius is {self.radius}: choose a length above 0, or 0 for an automatic one")


INFO = Method(
    key="PARTICLES_2010",
    label="Yamamoto & Tokoi 2010",
    tooltip="Particles as they were published: for study, slow, takes seconds for each pose",
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
class Body:
    """A filled body at rest, in unit space: armature space, scaled so that its largest extent is `UNIT_SIZE`.

    Attributes
    ----------
    object_to_unit : float64 array, shape (4, 4)
    centers : float64 array, shape (P, 3)
    radii, masses : float64 arrays, shape (P,)
    joints : int array, shape (P,)
    springs : Springs
    nearest : int array, shape (V, up to 4)
        The particles that each vertex follows.
    """

    object_to_unit: np.ndarray
    centers: np.ndarray
    radii: np.ndarray
    masses: np.ndarray
    joints: np.ndarray
    springs: Springs
    nearest: np.ndarray


@dataclass(frozen=True)
class Binding:
    """What is kept from a character at rest.

    Attributes
    ----------
    params : Params
    skin : blending.Binding
        DLBNT, for the part of the vertices that does not follow particles.
    points : float64 array, shape (V, 3)
        Object space.
    share : float64 array, shape (V,)
        Part of each vertex that follows particles.
    strength : float64 array, shape (V,)
        As in `Rest`.
    body : Body, or None
        None where there is nothing to fill: then all is DLBNT.
    messages : tuple of str
        Why there is no body, and what to do.
    """

    params: Params
    skin: blending.Binding
    points: np.ndarray
    share: np.ndarray
    strength: np.ndarray
    body: Body | None
    messages: tuple[str, ...]

    @property
    def count(self) -> int:
        """Particles."""
        return 0 if self.body is None else len(self.body.radii)


def bind(rest: Rest, params: Params) -> Binding:
    """Fill the body, and find each particle's joint and neighbors and each vertex's particles.

    Parameters
    ----------
    rest : Rest
        `triangles` closed, `joints.tails` given: where they are not, the binding is one of DLBNT, with a message.
    params : Params

    Raises
    ------
    SkinningError
        Where the radius leads to too many particles, or the joints are parented in a circle.
    """
    count = len(rest.points)
    body = _make_body(rest, params)
    return Binding(
        params=params,
        skin=dlbnt.bind(rest, dlbnt.Params()),
        points=np.asarray(rest.points, np.float64),
        share=_values(rest.solid, count, 1.0) * (1.0 - _values(rest.linear, count, 0.0)),
        strength=_values(rest.strength, count, 1.0),
        body=None if isinstance(body, str) else body,
        messages=(body,) if isinstance(body, str) else (),
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
    if binding.body is None:
        return skinned
    carried = _carry_vertices(binding.body, pose)
    posed = np.einsum("vij,vj->vi", carried[:, :, :3], binding.points) + carried[:, :, 3]
    return _mix(skinned, binding.points, posed, binding).astype(np.float32)


def vertex_transforms(binding: Binding, pose: Pose) -> np.ndarray:
    """Where each vertex's space goes, float32, shape (V, 4, 4): `blending.skin_transforms` tells the layout.

    Exact: the mean of a vertex's particles is affine in its position (section 5).
    """
    result = dlbnt.vertex_transforms(binding.skin, pose)
    if binding.body is not None:
        result[:, :3] = _mix(result[:, :3], np.eye(3, 4), _carry_vertices(binding.body, pose), binding)
    return result


def particles(binding: Binding) -> Particles:
    """The particles at rest; none where the binding is one of DLBNT."""
    body = binding.body
    if body is None:
        return Particles(np.empty((0, 3)), np.empty(0), np.empty(0, np.intp))
    back = np.linalg.inv(body.object_to_unit)
    return Particles(_transform(back, body.centers), body.radii * _scale_of(back), body.joints)


def pose_particles(binding: Binding, pose: Pose) -> np.ndarray:
    """Posed centers of the particles, float64, shape (P, 3), object space."""
    binding.skin.check(pose)
    body = binding.body
    if body is None:
        return np.empty((0, 3))
    return _transform(np.linalg.inv(body.object_to_unit), _settle(body, _unit_matrices(body, pose))[0])


def count_steps(binding: Binding, pose: Pose) -> int:
    """Steps that the particles take to settle in a pose, for benchmarks."""
    binding.skin.check(pose)
    return 0 if binding.body is None else _settle(binding.body, _unit_matrices(binding.body, pose))[1]


def find_bones(points: np.ndarray, heads: np.ndarray, tails: np.ndarray) -> np.ndarray:
    """The nearest bone of each point: index, shape (P,).

    Parameters
    ----------
    points : float array, shape (P, 3)
    heads, tails : float arrays, shape (B, 3)
        In the same space. A bone with an end that is no number is nearest to nothing. Of bones that are equally near,
        as two at their common end, the first counts.

    Notes
    -----
    Section 2: distance to the segment, which is that to an end where the foot of the perpendicular is beyond it. The
    foot is also the base point of the paper, from which the vector to the particle is turned with the bone. As base
    point and vector go through one and the same affine transform, their sum is that of the particle itself, and the
    base point is not kept.
    """
    nearest = np.zeros(len(points), np.intp)
    least = np.full(len(points), np.inf)
    for bone, (head, tail) in enumerate(zip(heads, tails, strict=True)):
        with np.errstate(invalid="ignore"):
            along = tail - head
            length = max(float(along @ along), TINY)  # without length it is a point
            shares = np.clip((points - head) @ along / length, 0.0, 1.0)
            away = points - head - shares[:, None] * along
            squares = np.einsum("pi,pi->p", away, away)
        nearer = squares < least * (1.0 - TIE)
        nearest[nearer] = bone
        least[nearer] = squares[nearer]
    return nearest


def _values(values: np.ndarray | None, count: int, neutral: float) -> np.ndarray:
    return np.full(count, neutral) if values is None else np.asarray(values, np.float64)


def _mix(skinned: np.ndarray, rest: np.ndarray, carried: np.ndarray, binding: Binding) -> np.ndarray:
    """Each vertex's part by particles and the part by DLBNT, which has the strength in it already."""
    shape = (-1,) + (1,) * (carried.ndim - 1)
    share, strength = binding.share.reshape(shape), binding.strength.reshape(shape)
    return (1.0 - share) * skinned + share * (rest + strength * (carried - rest))


def _make_body(rest: Rest, params: Params) -> Body | str:
    """Fill the surface, or tell why that can not be done."""
    triangles, heads, tails = rest.triangles, rest.joints.centers, rest.joints.tails
    if triangles is None or not len(triangles):
        return "The mesh has no faces to fill with particles, so DLBNT is used: add faces that enclose a volume"
    if tails is None or not len(tails):
        return "No deforming bone has a tail, so DLBNT is used: turn on Deform of some bones and bind again"
    object_to_unit = _find_unit_space(rest.points, triangles, rest.object_to_armature)
    if object_to_unit is None:
        return "The mesh is scaled to nothing, so DLBNT is used: give object and armature a scale and bind again"
    points = _transform(object_to_unit, rest.points)
    radius = _choose_radius(points, triangles, params.radius, _scale_of(object_to_unit))
    if radius is None:
        return "The mesh encloses no volume, so DLBNT is used: close its holes, or give it thickness, and bind again"
    centers, radii = FILLS[params.fill](points, triangles, radius)
    shown = radius / _scale_of(object_to_unit)
    if not len(centers):
        return f"No particle of radius {shown:.4g} is inside the mesh, so DLBNT is used: choose a smaller radius"
    if len(centers) > MOST_PARTICLES:
        raise _too_many(shown, len(centers), MOST_PARTICLES, "particles")
    armature_to_unit = object_to_unit @ np.linalg.inv(_matrix(rest.object_to_armature))
    return Body(
        object_to_unit=object_to_unit,
        centers=centers,
        radii=radii,
        masses=find_masses(radii),
        joints=find_bones(centers, _transform(armature_to_unit, heads), _transform(armature_to_unit, tails)),
        springs=find_springs(centers, radii),
        nearest=_find_surface_particles(points, centers, radius),
    )


def _find_surface_particles(points: np.ndarray, centers: np.ndarray, radius: float) -> np.ndarray:
    """The particles nearest to each vertex (section 5), shape (V, up to 4); the first of those equally near."""
    near, away = find_nearest(points, centers, NEAR)
    steps = np.floor(away / (TIE * radius) + 0.37)  # so that what comes of plain lengths is not at the edge of a step
    order = np.lexsort((near, steps), axis=1)
    return np.take_along_axis(near, order, axis=1)[:, :SURFACE_PARTICLES]


def _find_unit_space(
    points: np.ndarray, triangles: np.ndarray, object_to_armature: np.ndarray | None
) -> np.ndarray | None:
    """From object space to armature space scaled to `UNIT_SIZE` and centered, shape (4, 4); None for a point."""
    into = _matrix(object_to_armature)
    if not (np.isfinite(into).all() and np.linalg.matrix_rank(into) == 4):
        return None
    low, high = surface_bounds(_transform(into, points), triangles)
    size = float((high - low).max())
    if not size > 0:
        return None
    scale = UNIT_SIZE / size
    to_unit = np.diag([scale, scale, scale, 1.0])
    to_unit[:3, 3] = -0.5 * scale * (low + high)
    return to_unit @ into


def _choose_radius(points: np.ndarray, triangles: np.ndarray, radius: float, scale: float) -> float | None:
    """The radius in unit space of one in object space, which is 1 / `scale` as large; None if there is no volume."""
    low, high = surface_bounds(points, triangles)
    volume = surface_volume(points, triangles)
    if volume <= LEAST_VOLUME * UNIT_SIZE**3:
        return None
    if radius > 0:
        places = count_places(high - low, radius * scale)
        if places > MOST_PLACES:
            raise _too_many(radius, places, MOST_PLACES, "places to test")
        return radius * scale
    radius = float(np.cbrt(volume / (AUTOMATIC_COUNT * SPHERE_SPACE)))
    return radius * max(1.0, float(np.cbrt(count_places(high - low, radius) / MOST_PLACES)))


def _too_many(radius: float, count: float, most: int, what: str) -> SkinningError:
    least = radius * float(np.cbrt(count / most)) * 1.02
    return SkinningError(
        f"A radius of {radius:.4g} gives {count:.0f} {what}, more than {most}: choose one of at least {least:.4g}"
    )


def _unit_matrices(body: Body, pose: Pose) -> np.ndarray:
    """The joints' transforms in unit space, float64, shape (B, 4, 4).

    Where the object stands otherwise in the armature's space than at rest, the body stands there too, with its bones
    and springs as they were bound: the transforms are carried over from the pose's place of the body to that at rest.
    So the result is that of a body bound there, if the two places differ by a rigid motion and an even scale and each
    particle is nearest to the same bone.
    """
    to_unit = body.object_to_unit @ np.linalg.inv(_matrix(pose.object_to_armature))
    return to_unit @ pose.rest_to_pose @ np.linalg.inv(to_unit)


def _settle(body: Body, matrices: np.ndarray) -> tuple[np.ndarray, int]:
    """Posed centers, shape (P, 3), and steps.

    The springs grow and shrink with the bones of their two ends (the paper has no scale): a character that is scaled
    as a whole stays at rest.
    """
    carried = np.einsum("pij,pj->pi", matrices[body.joints, :3, :3], body.centers) + matrices[body.joints, :3, 3]
    scales = np.cbrt(np.abs(np.linalg.det(matrices[:, :3, :3])))[body.joints]
    springs = body.springs
    springs = replace(springs, lengths=springs.lengths * 0.5 * (scales[springs.first] + scales[springs.second]))
    points, steps = settle_particles(
        np.ascontiguousarray(carried.T), body.masses, springs, STILL * float(body.radii.min())
    )
    return points.T, steps


def _carry_vertices(body: Body, pose: Pose) -> np.ndarray:
    """Each vertex's transform by its particles (section 5), object space, float64, shape (V, 3, 4).

    Each of the nearest particles guesses x_i + A (V - X_i) with the linear part A of its bone; the mean counts.
    """
    matrices = _unit_matrices(body, pose)
    linear = matrices[body.joints, :3, :3]
    transforms = np.zeros((len(linear), 4, 4))
    transforms[:, :3, :3] = linear
    transforms[:, :3, 3] = _settle(body, matrices)[0] - np.einsum("pij,pj->pi", linear, body.centers)
    transforms[:, 3, 3] = 1.0
    transforms = np.linalg.inv(body.object_to_unit) @ transforms @ body.object_to_unit
    return transforms[:, :3][body.nearest].mean(axis=1)


def _matrix(matrix: np.ndarray | None) -> np.ndarray:
    return np.eye(4) if matrix is None else np.asarray(matrix, np.float64)


def _transform(matrix: np.ndarray, points: np.ndarray) -> np.ndarray:
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def _scale_of(matrix: np.ndarray) -> float:
    """How many times longer an affine transform makes lengths, in the mean."""
    return float(np.cbrt(abs(np.linalg.det(matrix[:3, :3]))))
