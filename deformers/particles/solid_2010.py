"""A character filled with spheres (Yamamoto & Tokoi 2010, sections 2 and 3): particles, their bones and springs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError
from ..geometry.lattice import SPHERE_SPACE
from ..geometry.neighbors import find_nearest
from ..geometry.vectors import transform_points
from ..rig.rest import Rest
from .fill_2010 import count_lattice_points, fill_two_levels, fill_uniform, surface_bounds, surface_volume
from .forces_2010 import TINY, UNIT_SIZE, Springs, find_masses, find_springs

FILLS = {"UNIFORM": fill_uniform, "TWO_LEVEL": fill_two_levels}

# With more particles, a pose would take minutes. The box around a mesh may contain many more lattice points.
MAX_PARTICLES, MAX_LATTICE_POINTS = 20_000, 2_000_000

# Distances within this share of a radius, and squared distances to bones within this share, are equal. A mesh and a
# lattice have many equal distances, and rounding must not choose.
TIE_TOLERANCE = 1e-6


@dataclass(frozen=True)
class SphereSolid:
    """A filled character at rest, in unit space: armature space, scaled to a largest extent of `UNIT_SIZE`.

    Attributes
    ----------
    object_to_unit : float64 array, shape (4, 4)
    centers : float64 array, shape (P, 3)
    radii, masses : float64 arrays, shape (P,)
    joints : int array, shape (P,)
    nearest : int array, shape (V, up to 4)
        Particles that each vertex follows.
    """

    object_to_unit: np.ndarray
    centers: np.ndarray
    radii: np.ndarray
    masses: np.ndarray
    joints: np.ndarray
    springs: Springs
    nearest: np.ndarray


def find_bones(points: np.ndarray, heads: np.ndarray, tails: np.ndarray) -> np.ndarray:
    """Find the nearest bone of each point, int, shape (P,).

    Parameters
    ----------
    points : float array, shape (P, 3)
    heads, tails : float arrays, shape (B, 3)
        In the same space. A bone with an end that is NaN is never nearest. The first of equally near bones counts, such
        as of two bones at their common end.

    Notes
    -----
    Section 2: distance to the segment, or to an end if the foot of the perpendicular is beyond it. The foot is also the
    paper's base point, from which the vector to the particle is rotated with the bone. As base point and vector have
    the same affine transform, their sum is the transformed particle, so the base point is not needed.
    """
    nearest = np.zeros(len(points), np.intp)
    least = np.full(len(points), np.inf)
    for bone, (head, tail) in enumerate(zip(heads, tails, strict=True)):
        with np.errstate(invalid="ignore"):
            along = tail - head
            length = max(float(along @ along), TINY)  # a bone without length is a point
            shares = np.clip((points - head) @ along / length, 0.0, 1.0)
            away = points - head - shares[:, None] * along
            squares = np.einsum("pi,pi->p", away, away)
        nearer = squares < least * (1.0 - TIE_TOLERANCE)
        nearest[nearer] = bone
        least[nearer] = squares[nearer]
    return nearest


def make_solid(rest: Rest, fill: str, radius: float) -> SphereSolid | str:
    """Fill the surface of a character with spheres.

    Raises SkinningError if the radius needs too many particles.

    Parameters
    ----------
    fill : str
        Key of `FILLS`.
    radius : float
        Radius of the small spheres, in object space; 0 for an automatic radius.

    Returns
    -------
    SphereSolid or str
        A message for the user if there is nothing to fill.
    """
    triangles, heads, tails = rest.triangles, rest.joints.centers, rest.joints.tails
    if triangles is None or not len(triangles):
        return (
            "The mesh has no faces to fill with particles, so DQ with Stretch is used: add faces that enclose a volume"
        )
    if tails is None or not len(tails):
        return "No deforming bone has a tail, so DQ with Stretch is used: turn on Deform for some bones and bind again"
    object_to_unit = _find_unit_space(rest.points, triangles, rest.object_to_armature)
    if object_to_unit is None:
        return (
            "The mesh has zero scale, so DQ with Stretch is used: give the object and the armature a scale and bind "
            "again"
        )
    points = transform_points(object_to_unit, rest.points)
    unit_radius = _choose_radius(points, triangles, radius, scale_of(object_to_unit))
    if unit_radius is None:
        return (
            "The mesh encloses no volume, so DQ with Stretch is used: close its holes, or give it "
            "thickness, and bind again"
        )
    centers, radii = FILLS[fill](points, triangles, unit_radius)
    shown = unit_radius / scale_of(object_to_unit)
    if not len(centers):
        return (
            f"No particle of radius {shown:.4g} is inside the mesh, so DQ with Stretch is used: choose a smaller radius"
        )
    if len(centers) > MAX_PARTICLES:
        raise _too_many(shown, len(centers), MAX_PARTICLES, "particles")
    armature_to_unit = object_to_unit @ np.linalg.inv(matrix_or_identity(rest.object_to_armature))
    return SphereSolid(
        object_to_unit=object_to_unit,
        centers=centers,
        radii=radii,
        masses=find_masses(radii),
        joints=find_bones(
            centers, transform_points(armature_to_unit, heads), transform_points(armature_to_unit, tails)
        ),
        springs=find_springs(centers, radii),
        nearest=_find_surface_particles(points, centers, unit_radius),
    )


def _find_surface_particles(points: np.ndarray, centers: np.ndarray, radius: float) -> np.ndarray:
    """Find the particles nearest to each vertex (section 5), shape (V, up to 4), the first of equally near ones."""
    near, away = find_nearest(points, centers, 16)  # more than can be equally near
    # The summand keeps round lengths away from the edge of a step.
    steps = np.floor(away / (TIE_TOLERANCE * radius) + 0.37)
    order = np.lexsort((near, steps), axis=1)
    return np.take_along_axis(near, order, axis=1)[:, :4]


def _find_unit_space(
    points: np.ndarray, triangles: np.ndarray, object_to_armature: np.ndarray | None
) -> np.ndarray | None:
    """Transform from object to unit space, shape (4, 4). None for a point."""
    into = matrix_or_identity(object_to_armature)
    if not (np.isfinite(into).all() and np.linalg.matrix_rank(into) == 4):
        return None
    low, high = surface_bounds(transform_points(into, points), triangles)
    size = float((high - low).max())
    if not size > 0:
        return None
    scale = UNIT_SIZE / size
    to_unit = np.diag([scale, scale, scale, 1.0])
    to_unit[:3, 3] = -0.5 * scale * (low + high)
    return to_unit @ into


def _choose_radius(points: np.ndarray, triangles: np.ndarray, radius: float, scale: float) -> float | None:
    """Convert a radius to unit space, which is `scale` times larger. None without a volume."""
    low, high = surface_bounds(points, triangles)
    volume = surface_volume(points, triangles)
    if volume <= 1e-7 * UNIT_SIZE**3:
        return None
    if radius > 0:
        tested = count_lattice_points(high - low, radius * scale)
        if tested > MAX_LATTICE_POINTS:
            raise _too_many(radius, tested, MAX_LATTICE_POINTS, "lattice points to test")
        return radius * scale
    radius = float(np.cbrt(volume / (1000 * SPHERE_SPACE)))
    return radius * max(1.0, float(np.cbrt(count_lattice_points(high - low, radius) / MAX_LATTICE_POINTS)))


def _too_many(radius: float, count: float, most: int, what: str) -> SkinningError:
    least = radius * float(np.cbrt(count / most)) * 1.02
    return SkinningError(
        f"A radius of {radius:.4g} gives {count:.0f} {what}, more than {most}: choose a radius of at least {least:.4g}"
    )


def matrix_or_identity(matrix: np.ndarray | None) -> np.ndarray:
    """Return a matrix, shape (4, 4), as float64, or the identity for None."""
    return np.eye(4) if matrix is None else np.asarray(matrix, np.float64)


def scale_of(matrix: np.ndarray) -> float:
    """Mean scale of an affine transform, shape (4, 4)."""
    return float(np.cbrt(abs(np.linalg.det(matrix[:3, :3]))))
