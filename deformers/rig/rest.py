"""Inputs of a deformer: the character at rest and, for each frame, its pose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from ..errors import SkinningError, find_unusable
from .rolls import Rolls, find_frames, join_ends, pose_rolls
from .skeleton import Chains

T = TypeVar("T")

# Vertices with a smaller sum of weights stay at rest, as with Blender's Armature modifier.
MIN_WEIGHT_SUM = 1e-4


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
        """Sort by vertex."""
        order = np.argsort(self.vertices, kind="stable")
        return Weights(self.vertices[order], self.joints[order], self.values[order])

    def to_dense(self, vertex_count: int, joint_count: int) -> np.ndarray:
        """The weights as they are, float64, shape (V, B)."""
        dense = np.zeros((vertex_count, joint_count))
        np.add.at(dense, (self.vertices, self.joints), self.values)
        return dense

    @classmethod
    def from_dense(cls, dense: np.ndarray) -> Weights:
        """Make from an array of shape (V, B)."""
        dense = np.asarray(dense)
        vertices, joints = np.nonzero(dense)
        return cls(vertices, joints, dense[vertices, joints])

    @classmethod
    def in_a_row(cls, parts: Sequence[Rest]) -> Weights:
        """The weights of meshes whose vertices follow one another."""
        starts = np.cumsum([0, *(len(part.points) for part in parts)])
        vertices = [part.weights.vertices + start for part, start in zip(parts, starts, strict=False)]
        joints, values = (
            np.concatenate([getattr(part.weights, name) for part in parts]) for name in ("joints", "values")
        )
        return cls(np.concatenate(vertices), joints, values)


@dataclass(frozen=True, eq=False)
class Joints:
    """The skeleton that the skin follows.

    Two are equal only if they are the same object, because results for one pose of it are looked up by the object.

    Attributes
    ----------
    centers : float array, shape (B, 3)
        Rest position of each joint's center of rotation (the bone's head), armature space.
    parents : int array, shape (B,)
        Index of the joint each is joined to, -1 for a root. Any order, no cycles.
    tails : float array, shape (B, 3), or None
        Tails of the joints' bones at rest, armature space, for methods that need distances or directions of bones.
    sharpness : float array, shape (B,), or None
        The user's choices for a joint that override the method's, 0 to 1; NaN for none.
    rolls : Rolls or None
        Joints whose bones have segments that roll, for methods that blend joints.
    orientations : float array, shape (B, 3, 3), or None
        Columns are the axes of each joint's bone at rest, y along it, armature space, for methods that separate scale
        from rotation as Blender does.
    plain : Joints or None
        The joints without ends of segments, if these are extended by them.
    """

    centers: np.ndarray
    parents: np.ndarray
    tails: np.ndarray | None = None
    sharpness: np.ndarray | None = None
    rolls: Rolls | None = None
    orientations: np.ndarray | None = None
    plain: Joints | None = field(default=None, repr=False)

    @cached_property
    def extended(self) -> Joints:
        """These joints and, after them, the ends of rolled segments."""
        rolls = self.rolls
        if rolls is None or self.plain is not None:
            return self
        bones = rolls.joints[rolls.rows]
        along = (rolls.positions * self.lengths[bones])[:, None] * self.axes[bones]
        centers = np.concatenate([self.centers, self.centers[bones] + along])
        axes = np.concatenate([self.axes, self.axes[bones]])
        turned = self.orientations
        return Joints(
            centers,
            join_ends(rolls, self.parents),
            centers + axes,
            rolls=rolls,
            orientations=None if turned is None else np.concatenate([turned, turned[bones]]),
            plain=self,
        )

    def pose_ends(self, pose: Pose) -> np.ndarray:
        """Posed transforms of the ends of rolled segments, float64, shape (E, 4, 4)."""
        assert self.rolls is not None
        return pose_rolls(self.rolls, self.parents, self._rolled_frames, pose.rest_to_pose, pose.hints)

    @cached_property
    def _rolled_frames(self) -> np.ndarray:
        """Axes and heads of the rolled bones at rest, shape (R, 4, 4)."""
        assert self.rolls is not None
        bones = self.rolls.joints
        frames = np.tile(np.eye(4), (len(bones), 1, 1))
        frames[:, :3, :3] = find_frames(self.axes[bones]) if self.orientations is None else self.orientations[bones]
        frames[:, :3, 3] = self.centers[bones]
        return frames

    @cached_property
    def without_rolls(self) -> Joints:
        """These joints without rolls, for methods that pose plain joints."""
        return self if self.rolls is None else replace(self, rolls=None)

    @property
    def bone_count(self) -> int:
        """B: number of joints without the ends of segments."""
        return len((self.plain or self).parents)

    @cached_property
    def chains(self) -> Chains:
        """Sums along the chains of joints; raises SkinningError if the joints are parented in a circle."""
        return Chains(self.parents)

    @cached_property
    def lengths(self) -> np.ndarray:
        """Lengths of the joints' bones at rest, shape (B,); 0 without tails."""
        if self.tails is None:
            return np.zeros(len(self.parents))
        return np.linalg.norm(np.asarray(self.tails, np.float64) - self.centers, axis=1)

    @cached_property
    def axes(self) -> np.ndarray:
        """Directions of the joints' bones at rest, unit vectors, shape (B, 3); zero without tails."""
        along = np.zeros((len(self.parents), 3)) if self.tails is None else np.asarray(self.tails) - self.centers
        return along / np.where(self.lengths > 0.0, self.lengths, 1.0)[:, None]


@dataclass(frozen=True)
class Rest:
    """A character at rest.

    Attributes
    ----------
    points : float array, shape (V, 3)
        Vertices in object space.
    linear : float array, shape (V,), or None
        0 for the method's own blend, 1 for linear blending (SSD); in between, a mix of both results.
    strength : float array, shape (V,), or None
        Part of the deformation of each vertex, 0 to 1 (a modifier's vertex group). None: all of it.
    triangles : int array, shape (T, 3), or None
        The surface, for methods that fill it. Counter-clockwise from outside.
    solid : float array, shape (V,), or None
        Part of a vertex that follows the filling of the surface, 0 to 1; the rest follows the joints. None: all of it.
    object_to_armature : float array, shape (4, 4), or None
        From object to armature space at rest, for methods that measure the surface. None: the identity.
    surfaces : tuple of WeightedSurface
        This mesh, and then all others that follow the joints, for methods that use the whole character. Empty: only
        this.
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
        for name, values in (("linear", self.linear), ("strength", self.strength), ("solid", self.solid)):
            if values is not None and len(values) != vertex_count:
                raise SkinningError(
                    f"The mesh has {vertex_count} vertices, but {len(values)} values of {name}: bind again"
                )
            if values is not None and not np.isfinite(values).all():
                raise SkinningError(f"Some values of {name} are not numbers: repair the vertex group and bind again")


@dataclass(frozen=True, eq=False)
class Pose:
    """Joints in one frame. Two are equal only if they are the same object.

    Attributes
    ----------
    rest_to_pose : float array, shape (B, 4, 4)
        From rest positions to posed positions in armature space, column vectors: `pose @ inverse(rest)`.
    object_to_armature : float array, shape (4, 4), or None
        From object to armature space in this frame. None: the identity.
    hints : float array, shape (B,), or None
        Expected twist of each joint that rolls others, radians: the nearest whole turns are used. None: 0.
    known : dict
        Results of `once_for_a_pose` for the joints, in armature space.
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
        """The pose of extended joints; itself if the joints are not extended."""
        plain = joints.plain
        if plain is None:
            return self
        if plain not in self.known:
            self.known[plain] = Pose(np.concatenate([self.rest_to_pose, plain.pose_ends(self)]))
        return self.known[plain]

    def seen_from(self, object_to_armature: np.ndarray | None) -> Pose:
        """Move the pose to the space of another mesh, with shared results for the joints.

        `object_to_armature`, float array, shape (4, 4), or None: as in this class.
        """
        return self if object_to_armature is None else replace(self, object_to_armature=object_to_armature)


def check_space(space: np.ndarray) -> None:
    """Raise an error for an unusable matrix from object to armature space, shape (4, 4); it may be flat.

    Raises SkinningError if it has values that are not numbers, or are too large.
    """
    if find_unusable(space).any():
        raise SkinningError(
            "The object or the armature is too far away, or has a scale that is not a number or is too large: move "
            "or scale it"
        )


def check_pose(joints: Joints, pose: Pose) -> None:
    """Raise an error for a pose of other joints. Raises SkinningError if it has another number of joints."""
    count = joints.bone_count
    if len(pose.rest_to_pose) != count:
        raise SkinningError(f"There are {count} joints, but the pose has {len(pose.rest_to_pose)}: bind again")


def once_for_a_pose(find: Callable[[Joints, Pose, Any], Any]) -> Callable[[Joints, Pose, Any], Any]:
    """Compute a function of joints, their pose and a method's Params once, for all meshes that share these.

    The function gets the pose of extended joints if the joints are. It raises SkinningError for a pose of another
    number of joints.
    """

    @wraps(find)
    def find_once(joints: Joints, pose: Pose, params: Any) -> Any:
        check_pose(joints, pose)
        key = (find, joints, params)
        if key not in pose.known:
            pose.known[key] = find(joints, pose.extended_to(joints), params)
        return pose.known[key]

    return find_once


def once_for_joints(find: Callable[[Joints], T]) -> Callable[[Joints], T]:
    """Compute a function of joints once, for as long as anything uses these joints."""
    known: WeakKeyDictionary[Joints, T] = WeakKeyDictionary()

    @wraps(find)
    def find_once(joints: Joints) -> T:
        if joints not in known:
            known[joints] = find(joints)
        return known[joints]

    return find_once


def normalize_weights(weights: Weights, vertex_count: int, joint_count: int) -> Weights:
    """Make each vertex's weights sum to 1; vertices without weights follow an extra joint that stays at rest.

    `vertex_count` and `joint_count`: the extra joint has the index `joint_count`.
    """
    positive = np.maximum(weights.values, 0.0)
    totals = np.bincount(weights.vertices, positive, minlength=vertex_count)
    loose = totals <= MIN_WEIGHT_SUM
    kept = (positive > 0) & ~loose[weights.vertices]
    vertices = weights.vertices[kept]
    unweighted = np.flatnonzero(loose)
    vertices = np.concatenate([vertices, unweighted])
    joints = np.concatenate([weights.joints[kept], np.full(len(unweighted), joint_count)])
    values = np.concatenate([weights.values[kept] / totals[weights.vertices[kept]], np.ones(len(unweighted))])
    return Weights(vertices, joints, values)
