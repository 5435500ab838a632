"""What a deformer is given: the character at rest and, for each frame, its pose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from ..errors import SkinningError, find_unusable
from .fractions import Fractions, pose_fractions
from .skeleton import Chains
from .spread_twists import SpreadTurns, SpreadTwists, measure_turns

T = TypeVar("T")

LEAST_WEIGHT = 1e-4
"""Vertices whose weights sum to less stay at rest, as under Blender's Armature modifier."""


@dataclass(frozen=True)
class Weights:
    """Sparse weights, ordered by vertex: entry n says that vertex `vertices[n]` follows joint `joints[n]`.

    Sums need not be 1: `bind` normalizes. A pair may be listed more than once; its weights add up.

    Attributes
    ----------
    vertices : int array, shape (N,)
        Ascending.
    joints : int array, shape (N,)
    values : float array, shape (N,)
        Negative values count as 0.
    """

    vertices: np.ndarray
    joints: np.ndarray
    values: np.ndarray

    def by_vertex(self) -> Weights:
        """The same, ordered by vertex."""
        order = np.argsort(self.vertices, kind="stable")
        return Weights(self.vertices[order], self.joints[order], self.values[order])

    @classmethod
    def from_dense(cls, dense: np.ndarray) -> Weights:
        """The same from an array of shape (V, B)."""
        dense = np.asarray(dense)
        vertices, joints = np.nonzero(dense)
        return cls(vertices, joints, dense[vertices, joints])


@dataclass(frozen=True, eq=False)
class Joints:
    """The skeleton that the skin follows.

    Two are equal only if they are the same object: what is known of one pose of it is looked up by that.

    Attributes
    ----------
    centers : float array, shape (B, 3)
        Rest position of each joint's center of rotation (the bone's head), armature space.
    parents : int array, shape (B,)
        Index of the joint each is joined to, -1 for a root. Any order, no cycles.
    tails : float array, shape (B, 3), or None
        The other end of each joint's bone at rest, armature space, for the methods that ask how near a bone is, or how
        it lies.
    sharpness : float array, shape (B,), or None
        What users have chosen for a joint instead of the method's, 0 to 1; NaN where they have not.
    fractions : Fractions or None
        Joints between these, for the methods that blend joints.
    spread : SpreadTwists or None
        Joints whose twist is spread along the bones before them, for these methods.
    """

    centers: np.ndarray
    parents: np.ndarray
    tails: np.ndarray | None = None
    sharpness: np.ndarray | None = None
    fractions: Fractions | None = None
    spread: SpreadTwists | None = None

    @cached_property
    def extended(self) -> Joints:
        """These joints and, after them, their fractions."""
        fractions = self.fractions
        if fractions is None or self.is_extended:
            return self
        centers = np.concatenate([self.centers, fractions.centers])
        axes = np.concatenate([self.axes, fractions.axes])
        return Joints(centers, fractions.parents, centers + axes, fractions=fractions, spread=self.spread)

    @property
    def is_extended(self) -> bool:
        """Whether the last of these joints are fractions."""
        return self.fractions is not None and len(self.parents) == len(self.fractions.parents)

    @cached_property
    def chains(self) -> Chains:
        """Sums along the chains of joints; raises SkinningError where the joints are parented in a circle."""
        return Chains(self.parents)

    @cached_property
    def lengths(self) -> np.ndarray:
        """Lengths of the joints' bones at rest, shape (B,); 0 where they have no tails."""
        if self.tails is None:
            return np.zeros(len(self.parents))
        return np.linalg.norm(np.asarray(self.tails, np.float64) - self.centers, axis=1)

    @cached_property
    def axes(self) -> np.ndarray:
        """Directions of the joints' bones at rest, unit vectors, shape (B, 3); zero where they have no tails."""
        along = np.zeros((len(self.parents), 3)) if self.tails is None else np.asarray(self.tails) - self.centers
        return along / np.where(self.lengths > 0.0, self.lengths, 1.0)[:, None]


@dataclass(frozen=True)
class SdefKeys:
    """The points of SDEF, "spherical deform", that models of MikuMikuDance have for vertices of two bones.

    Attributes
    ----------
    centers : float array, shape (V, 3)
        C, object space, as the others. A vertex has SDEF where this is not its own position.
    first, second : float arrays, shape (V, 3)
        R0 and R1.
    order : int array, shape (B,)
        Of a vertex's two joints, R0 belongs to the one with the lesser number. Joints of one bone have the same.
    """

    centers: np.ndarray
    first: np.ndarray
    second: np.ndarray
    order: np.ndarray

    def __post_init__(self) -> None:
        if any(find_unusable(points).any() for points in (self.centers, self.first, self.second)):
            raise SkinningError(
                "Some SDEF points (shape keys mmd_sdef_c, mmd_sdef_r0 and mmd_sdef_r1) are not numbers, or are too "
                "far away: repair or delete these keys and bind again"
            )


@dataclass(eq=False)
class Found:
    """What takes long to find of a mesh, and hardly depends on a few of its weights: see `once_found`.

    Attributes
    ----------
    values : dict
        By what has found them.
    is_former : bool
        Whether they were found for other weights, as before a stroke of the brush.
    """

    values: dict[tuple, Any] = field(default_factory=dict)
    is_former: bool = False


@dataclass(frozen=True)
class Rest:
    """A character at rest.

    Attributes
    ----------
    points : float array, shape (V, 3)
        Vertices in object space.
    linear : float array, shape (V,), or None
        0 where a vertex is blended by the method itself, 1 where linearly (SSD), between: a mix of both results.
    strength : float array, shape (V,), or None
        How much of the deformation each vertex takes, 0 to 1 (a modifier's vertex group). None: all of it.
    triangles : int array, shape (T, 3), or None
        The surface, for the methods that fill it. Counter-clockwise seen from outside.
    solid : float array, shape (V,), or None
        How much a vertex follows what fills the surface, 0 to 1; its other part follows the joints. None: all of it.
    object_to_armature : float array, shape (4, 4), or None
        From object to armature space at rest, for the methods that measure the surface. None: they are the same.
    surfaces : tuple of WeightedSurface
        This mesh, and then all others that follow the joints, for the methods that look at the whole character. Empty:
        there is this one.
    sdef : SdefKeys or None
        Centers that the model brings along, for the methods that rotate about centers.
    found : Found or None
        What was found of the mesh already; None to find all anew.
    frame : float array, shape (3, 3), or None
        Columns are the axes, armature space, along which what fills the surface is laid out. None: the object's own.
    """

    points: np.ndarray
    weights: Weights
    joints: Joints
    linear: np.ndarray | None = None
    strength: np.ndarray | None = None
    triangles: np.ndarray | None = None
    solid: np.ndarray | None = None
    object_to_armature: np.ndarray | None = None
    surfaces: tuple[Any, ...] = ()
    sdef: SdefKeys | None = None
    found: Found | None = None
    frame: np.ndarray | None = None

    @property
    def armature_points(self) -> np.ndarray:
        """The vertices in armature space, float64, shape (V, 3)."""
        points, space = np.asarray(self.points, np.float64), self.object_to_armature
        return points if space is None else points @ space[:3, :3].T + space[:3, 3]

    def __post_init__(self) -> None:
        vertex_count, joint_count = len(self.points), len(self.joints.parents)
        if self.points.shape != (vertex_count, 3):
            raise SkinningError(f"Points have shape {self.points.shape}, not (V, 3)")
        weights = self.weights
        if not len(weights.vertices) == len(weights.joints) == len(weights.values):
            raise SkinningError(
                f"Weights have {len(weights.vertices)} vertices, {len(weights.joints)} joints and "
                f"{len(weights.values)} values: give one of each for each entry"
            )
        if len(weights.vertices) and (weights.vertices[0] < 0 or (np.diff(weights.vertices) < 0).any()):
            raise SkinningError("Weights are not ordered by vertex: sort their entries")
        if len(weights.vertices) and weights.vertices[-1] >= vertex_count:
            raise SkinningError(
                f"The mesh has {vertex_count} vertices, but vertex {weights.vertices[-1]} has weights: read the "
                "weights again"
            )
        wrong = weights.joints[(weights.joints < 0) | (weights.joints >= joint_count)]
        if wrong.size:
            raise SkinningError(f"There are {joint_count} joints, but weights for joint {wrong[0]}: bind again")
        if not np.isfinite(weights.values).all():
            raise SkinningError("Some weights are not numbers: normalize the vertex groups and bind again")
        if find_unusable(self.points).any():
            raise SkinningError(
                "Some vertex positions are not numbers, or are too far away: repair the mesh and bind again"
            )
        if self.object_to_armature is not None:
            check_space(self.object_to_armature)
        triangles = self.triangles
        if triangles is not None and triangles.size and not 0 <= triangles.min() <= triangles.max() < vertex_count:
            raise SkinningError(
                f"The mesh has {vertex_count} vertices, but a triangle has vertex {triangles.max()}: bind again"
            )
        if self.sdef is not None and self.sdef.centers.shape != self.points.shape:
            raise SkinningError(
                f"The mesh has {vertex_count} vertices, but {len(self.sdef.centers)} points of SDEF: bind again"
            )
        for name, values in (("linear", self.linear), ("strength", self.strength), ("solid", self.solid)):
            if values is not None and len(values) != vertex_count:
                raise SkinningError(
                    f"The mesh has {vertex_count} vertices, but {len(values)} values of {name}: bind again"
                )
            if values is not None and not np.isfinite(values).all():
                raise SkinningError(f"Some values of {name} are not numbers: repair the vertex group and bind again")


@dataclass(frozen=True, eq=False)
class Pose:
    """Where the joints are in one frame. Two are equal only if they are the same object.

    Attributes
    ----------
    rest_to_pose : float array, shape (B, 4, 4)
        Carries rest positions to posed positions in armature space, column vectors: `pose @ inverse(rest)`.
    object_to_armature : float array, shape (4, 4), or None
        From the mesh object's space to the armature's in this frame. None: they are the same.
    hints : float array, shape (B,), or None
        Twist of each joint that is asked for, radians: it tells how many whole turns a joint makes. None: 0.
    known : dict
        What `once_for_a_pose` has computed of the joints, in armature space.
    """

    rest_to_pose: np.ndarray
    object_to_armature: np.ndarray | None = None
    hints: np.ndarray | None = None
    known: dict = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.rest_to_pose.ndim != 3 or self.rest_to_pose.shape[1:] != (4, 4):
            raise SkinningError(f"Pose matrices have shape {self.rest_to_pose.shape}, not (B, 4, 4)")
        if find_unusable(self.rest_to_pose).any():
            raise SkinningError(
                "The pose contains values that are not numbers (NaN or infinite): check the drivers and constraints "
                "of the armature"
            )
        space = self.object_to_armature
        if space is not None:
            check_space(space)
            if np.linalg.matrix_rank(space[:3, :3]) < 3:
                raise SkinningError("The object or the armature has zero scale: give both a scale other than 0")

    def extended_to(self, joints: Joints) -> Pose:
        """The pose of joints and their fractions, from that of the joints; the same for joints that have none."""
        fractions = joints.fractions
        if fractions is None or not joints.is_extended:
            return self
        if fractions not in self.known:
            posed = pose_fractions(fractions, self.rest_to_pose, self.hints)
            self.known[fractions] = Pose(np.concatenate([self.rest_to_pose, posed]))
        return self.known[fractions]

    def find_turns(self, spread: SpreadTwists) -> SpreadTurns:
        """How joints are turned whose twist is spread."""
        if spread not in self.known:
            self.known[spread] = measure_turns(spread, self.rest_to_pose, self.hints)
        return self.known[spread]

    def seen_from(self, object_to_armature: np.ndarray | None) -> Pose:
        """The same pose for a mesh in another space; what is known of the joints is shared.

        Parameters
        ----------
        object_to_armature : float array, shape (4, 4), or None
            As in this class.
        """
        return self if object_to_armature is None else replace(self, object_to_armature=object_to_armature)


def check_space(space: np.ndarray) -> None:
    """See that there is computing with a matrix from object to armature space, shape (4, 4); it may be flat.

    Raises
    ------
    SkinningError
        Where it holds values that are not numbers, or are too large.
    """
    if find_unusable(space).any():
        raise SkinningError(
            "The object or the armature is too far away, or has a scale that is not a number or is too large: move "
            "or scale it"
        )


def check_pose(joints: Joints, pose: Pose) -> None:
    """See that a pose is one of these joints.

    Raises
    ------
    SkinningError
        Where it has another number of joints.
    """
    count = len(joints.parents) - (joints.fractions.count if joints.fractions is not None and joints.is_extended else 0)
    if len(pose.rest_to_pose) != count:
        raise SkinningError(f"There are {count} joints, but the pose has {len(pose.rest_to_pose)}: bind again")


def once_for_a_pose(find: Callable[[Joints, Pose, Any], Any]) -> Callable[[Joints, Pose, Any], Any]:
    """Have a function of joints, their pose and a method's Params computed once, for all meshes that share these.

    It gets the pose of the fractions, too, where there are any among the joints. It raises SkinningError where the pose
    is one of another number of joints.
    """

    @wraps(find)
    def find_once(joints: Joints, pose: Pose, params: Any) -> Any:
        check_pose(joints, pose)
        key = (find, joints, params)
        if key not in pose.known:
            pose.known[key] = find(joints, pose.extended_to(joints), params)
        return pose.known[key]

    return find_once


def once_found(find: Callable[..., T]) -> Callable[..., T]:
    """Have what is found of a mesh at rest, and of other values that can be compared, taken from `Rest.found`."""

    @wraps(find)
    def find_once(rest: Rest, *others: Any) -> T:
        if rest.found is None:
            return find(rest, *others)
        key = find, rest.joints, *others
        if key not in rest.found.values:
            rest.found.values[key] = find(rest, *others)
        return rest.found.values[key]

    return find_once


def once_for_joints(find: Callable[[Joints], T]) -> Callable[[Joints], T]:
    """Have what follows from joints alone computed once, for as long as anything uses these joints."""
    known: WeakKeyDictionary[Joints, T] = WeakKeyDictionary()

    @wraps(find)
    def find_once(joints: Joints) -> T:
        if joints not in known:
            known[joints] = find(joints)
        return known[joints]

    return find_once


def normalize_weights(weights: Weights, vertex_count: int, joint_count: int) -> Weights:
    """Make each vertex's weights sum to 1; vertices with none follow an extra joint that stays at rest.

    Parameters
    ----------
    vertex_count, joint_count : int
        The extra joint has the index `joint_count`.
    """
    positive = np.maximum(weights.values, 0.0)
    totals = np.bincount(weights.vertices, positive, minlength=vertex_count)
    loose = totals <= LEAST_WEIGHT
    kept = (positive > 0) & ~loose[weights.vertices]
    vertices = weights.vertices[kept]
    unweighted = np.flatnonzero(loose)
    vertices = np.concatenate([vertices, unweighted])
    joints = np.concatenate([weights.joints[kept], np.full(len(unweighted), joint_count)])
    values = np.concatenate([weights.values[kept] / totals[weights.vertices[kept]], np.ones(len(unweighted))])
    return Weights(vertices, joints, values)
