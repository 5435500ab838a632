"""A character as the elastic solid sees it, in an order of its own, and shares of a pose."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..algebra.rotations import from_matrices, scale_rotations, to_vectors
from ..errors import SkinningError
from ..geometry.mesh_laplacian import drop_degenerate
from ..geometry.neighbors import find_nearest
from ..geometry.solid import MAX_HOLE, Surface, read_surface, weld
from ..geometry.vectors import sum_by
from ..rig.rest import Joints
from ..rig.skeleton import distances_to_bones

# Share of the area that holes take of the largest island, for it to be solid: bodies are cut at collar and waist.
MAX_BODY_HOLE = 0.6

# A weight of a bone above this is all of it: an island that one bone holds is rigid.
MIN_WHOLE = 0.95

# Sum of the weights at a bone and below it, for the bone to count
MIN_USE = 1.0

# A joint that is nearer to the skin, in radii of its limb, lies just under it, and the limb's radius counts.
MIN_DEPTH = 0.45

NO_TAILS = "The joints have no tails, and flesh needs bones with a length: give the tails of the joints"
NO_SOLID = "No part of the meshes encloses flesh that several bones move: choose a mesh with a closed surface"


@dataclass(frozen=True, eq=False)
class Body:
    """Meshes of a character at rest, one after the other, in armature space, with x = 0 as the plane between sides.

    Points, triangles and weights are in an order that depends on positions alone, and points at one position are one:
    so the flesh is the same whatever the order of the vertices.

    Attributes
    ----------
    surface : Surface
        Its triangles are those of parts that are filled.
    weights : float64 array, shape (P, B)
        Rows sum to 1, or to 0.
    joints : Joints
        With tails.
    vertices : int array, shape (V,)
        The point of each vertex that was given.
    rigid : int array, shape (P,)
        The rigid part of each point, -1 for flesh and cloth.
    hinges : bool array, shape (B,)
        Joints such as elbows and knees.
    """

    surface: Surface
    weights: np.ndarray
    joints: Joints
    vertices: np.ndarray
    rigid: np.ndarray
    hinges: np.ndarray

    @property
    def points(self) -> np.ndarray:
        """Shape (P, 3)."""
        return self.surface.points

    @property
    def triangles(self) -> np.ndarray:
        """Of the parts that are filled, counter-clockwise from outside, shape (T, 3)."""
        return self.surface.triangles

    @property
    def tails(self) -> np.ndarray:
        """Tails of the joints' bones, shape (B, 3)."""
        return np.asarray(self.joints.tails)

    @cached_property
    def height(self) -> float:
        """The longest side of the character's box."""
        return float(np.ptp(self.points, axis=0).max())

    @cached_property
    def skin(self) -> np.ndarray:
        """Points of the parts that are filled, int array."""
        return np.unique(self.triangles)

    @cached_property
    def bones(self) -> np.ndarray:
        """The bone with the largest weight of each point, int array, shape (P,)."""
        return self.weights.argmax(axis=1)

    @cached_property
    def hops(self) -> np.ndarray:
        """Number of joints between two bones, int array, shape (B, B)."""
        below = self.joints.chains.below.astype(int)
        counts = below.sum(axis=1)
        return counts[:, None] + counts - 2 * below @ below.T

    @cached_property
    def used(self) -> np.ndarray:
        """Bones that move skin, they or those below: bool array, shape (B,)."""
        return self.weights.sum(axis=0) @ self.joints.chains.below > MIN_USE

    def measure_depths(self, points: np.ndarray) -> np.ndarray:
        """Distances of points, shape (N, 3), from the skin's vertices: float array, shape (N,)."""
        return find_nearest(points, self.points[self.skin], 1)[1][:, 0]

    @cached_property
    def radii(self) -> tuple[np.ndarray, np.ndarray]:
        """Radius of the flesh at each joint, float array, shape (B,), and whether the joint lies just under the skin.

        It is the joint's distance from the skin, or else the limb's radius, the median distance of the bone's own skin.
        """
        heads, tails = self.joints.centers, self.tails
        radii, limbs = self.measure_depths(heads), np.zeros(len(heads))
        for bone in np.unique(self.bones[self.skin]):
            own = self.points[self.skin[self.bones[self.skin] == bone]]
            limbs[bone] = np.median(distances_to_bones(own, heads[bone], tails[bone]))
        shallow = radii < MIN_DEPTH * limbs
        return np.where(shallow, limbs, radii), shallow

    def scale_pose(self, rest_to_pose: np.ndarray, share: float) -> np.ndarray:
        """The pose, shape (B, 4, 4), at a share of what each bone rotates and moves against its parent."""
        heads, chains = self.joints.centers, self.joints.chains
        local = np.linalg.inv(chains.of_parents(rest_to_pose, np.eye(4))) @ rest_to_pose
        moved = np.einsum("bij,bj->bi", local[:, :3, :3], heads) + local[:, :3, 3]
        local[:, :3, :3] = scale_rotations(local[:, :3, :3], share)
        moved = heads + share * (moved - heads)
        local[:, :3, 3] = moved - np.einsum("bij,bj->bi", local[:, :3, :3], heads)
        for bone in np.argsort(chains.below.sum(axis=1), kind="stable"):  # parents first
            if chains.parents[bone] >= 0:
                local[bone] = local[chains.parents[bone]] @ local[bone]
        return local

    def find_turned_joints(self, rest_to_pose: np.ndarray) -> np.ndarray:
        """Joints that a pose, shape (B, 4, 4), rotates against their parents, those above first: int array."""
        min_turn = np.radians(3.0)  # A joint that rotates by less is left to the base
        chains = self.joints.chains
        above = chains.of_parents(rest_to_pose[:, :3, :3], np.eye(3))
        angles = np.linalg.norm(to_vectors(from_matrices(above.swapaxes(1, 2) @ rest_to_pose[:, :3, :3])), axis=1)
        joints = np.flatnonzero(~chains.is_root & self.used & (angles > min_turn))
        return joints[np.argsort(chains.below.sum(axis=1)[joints], kind="stable")]


def read_body(
    points: np.ndarray, triangles: np.ndarray, weights: np.ndarray, joints: Joints, hinges: np.ndarray | None = None
) -> Body:
    """Read a character at rest.

    Parameters
    ----------
    points : float array, shape (V, 3)
        Of the body and of all that it wears, in armature space, moved so that x = 0 is the plane between both sides.
    triangles : int array, shape (T, 3)
    weights : float array, shape (V, B)
    hinges : bool array, shape (B,), optional
        As of `Body`; none if not given.

    Raises
    ------
    SkinningError
        If there is no solid part that several bones move, or joints have no tails.
    """
    if joints.tails is None:
        raise SkinningError(NO_TAILS)
    points = _round(np.asarray(points, np.float64))
    order = np.lexsort(points.T[::-1])
    first, ranks = np.unique(weld(points[order]), return_inverse=True)
    vertices = np.empty(len(order), np.intp)
    vertices[order] = ranks.ravel()
    points = points[order[first]]
    weights = sum_by(vertices, np.asarray(weights, np.float64), len(points))
    weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)
    surface = _read_solid(points, _sort_triangles(vertices[triangles]))
    rigid = _find_rigid(weights, surface.islands)
    filled = surface.triangles[rigid[surface.triangles[:, 0]] < 0]
    if not len(filled):
        raise SkinningError(NO_SOLID)
    hinges = np.zeros(len(joints.parents), bool) if hinges is None else hinges
    return Body(replace(surface, triangles=filled), weights, joints, vertices, rigid, hinges)


def _round(points: np.ndarray) -> np.ndarray:
    """Points to about a millionth of their size: what lies in a plane between cells lies there however it was moved."""
    size = float(np.ptp(points, axis=0).max(initial=0.0)) if len(points) else 0.0
    unit = 2.0 ** np.floor(np.log2(max(1e-6 * size, 1e-300)))
    return np.round(points / unit) * unit


def _sort_triangles(triangles: np.ndarray) -> np.ndarray:
    """Triangles of three points, shape (T, 3), in ascending order, each from its smallest point on."""
    triangles = drop_degenerate(triangles)
    starts = triangles.argmin(axis=1)[:, None]
    triangles = np.take_along_axis(triangles, (starts + np.arange(3)) % 3, axis=1)
    return triangles[np.lexsort(triangles.T[::-1])]


def _read_solid(points: np.ndarray, triangles: np.ndarray) -> Surface:
    """The surface, whose largest island may be wide open."""
    surface = read_surface(points, triangles)
    if len(surface.solid):
        corners = points[triangles]
        areas = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
        limits = np.full(len(surface.solid), MAX_HOLE)
        limits[np.bincount(surface.islands[triangles[:, 0]], areas).argmax()] = MAX_BODY_HOLE
        surface = read_surface(points, triangles, limits)
    return surface


def _find_rigid(weights: np.ndarray, islands: np.ndarray) -> np.ndarray:
    """The rigid part of each point, shape (P,): an island that one bone holds, such as a buckle; otherwise -1."""
    count = islands.max(initial=-1) + 1
    held = np.zeros((count, weights.shape[1]), int)
    np.add.at(held, (islands[islands >= 0], weights.argmax(axis=1)[islands >= 0]), 1)
    loose = np.bincount(islands[(islands >= 0) & (weights.max(axis=1) < MIN_WHOLE)], minlength=count) > 0
    whole = (np.count_nonzero(held, axis=1) == 1) & ~loose
    return np.where(islands >= 0, np.append(np.where(whole, np.cumsum(whole) - 1, -1), -1)[islands], -1)
