"""A range of motion made of a character's rest alone: each joint bent to four sides and twisted to two, or as it can.

Joints whose bends move no vertex in common are bent in one pose: there, each vertex lies on one side of all of them but
one, so that its surroundings are what that one joint alone would make of them. A few poses do for a whole body.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..rig.rest import Joints, Weights, normalize_weights

DIRECTIONS = ("forward", "back", "right", "left", "twist right", "twist left")
"""How a joint bends, in the frame of its own bone: about an axis across it, across both, and along it."""

BESIDE = 0.02
"""Share of its weight that a vertex may have beyond a joint, and not be moved by its bend to speak of."""

CHUNK = 65536
"""Vertices whose weights are dense at a time."""


@dataclass(frozen=True)
class Bend:
    """A joint that is bent.

    Attributes
    ----------
    direction : str
        One of `DIRECTIONS`.
    axis : float array, shape (3,)
        Unit vector, armature space at rest.
    angle : float
        Radians.
    """

    joint: int
    direction: str
    axis: np.ndarray = field(compare=False)
    angle: float

    @property
    def side(self) -> str:
        """Where to: the direction without the word for a twist."""
        return self.direction.rpartition(" ")[2]

    @property
    def is_twist(self) -> bool:
        """Whether it is about the bone's own axis."""
        return self.direction.startswith("twist")

    def matrix(self, center: np.ndarray) -> np.ndarray:
        """The rotation about the joint's center at rest, shape (4, 4), armature space."""
        matrix = np.eye(4)
        x, y, z = self.axis
        cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        matrix[:3, :3] += np.sin(self.angle) * cross + (1.0 - np.cos(self.angle)) * (cross @ cross)
        matrix[:3, 3] = center - matrix[:3, :3] @ center
        return matrix


@dataclass(frozen=True)
class BentPose:
    """A pose in which joints are bent that have nothing to do with each other.

    Attributes
    ----------
    bends : tuple of Bend
        All in the same direction, by angles of their own.
    rest_to_pose : float array, shape (B, 4, 4)
    """

    bends: tuple[Bend, ...]
    rest_to_pose: np.ndarray


def list_bent_poses(
    weights: Weights,
    vertex_count: int,
    joints: Joints,
    angle: float,
    chosen: np.ndarray,
    own: Mapping[int, Sequence[Bend]] | None = None,
) -> list[BentPose]:
    """The range of motion of joints that bend skin.

    Parameters
    ----------
    weights : Weights
        Of all meshes of the character in a row.
    joints : Joints
        With `tails`.
    angle : float
        Radians, to each side.
    chosen : bool array, shape (B,)
        The joints to be bent.
    own : dict from a joint to its bends, optional
        Of joints that do not bend to all sides: instead of `list_bends`.
    """
    shared = _count_shared(weights, vertex_count, joints)
    shared[~chosen] = 0.0
    own, poses = own or {}, []
    for group in _group_joints(shared):
        bends = [bend for joint in group for bend in own.get(joint, list_bends(joint, joints, angle))]
        sides = ([bend for bend in bends if bend.direction == direction] for direction in DIRECTIONS)
        poses += [_bend_joints(side, joints) for side in sides if side]
    return poses


def list_bends(joint: int, joints: Joints, angle: float) -> list[Bend]:
    """The bends of a joint by an angle, radians, to all sides: in the order of `DIRECTIONS`."""
    axes = _find_axes(joint, joints)
    return [
        Bend(joint, direction, axes[number // 2], angle if number % 2 == 0 else -angle)
        for number, direction in enumerate(DIRECTIONS)
    ]


def _count_shared(weights: Weights, vertex_count: int, joints: Joints) -> np.ndarray:
    """How many vertices the bends of two joints move alike, shape (B, B): on the diagonal those that one bend moves."""
    count = len(joints.parents)
    weights = normalize_weights(weights, vertex_count, count)
    below = joints.chains.below.astype(np.float32)
    shared = np.zeros((count, count))
    for start in range(0, vertex_count, CHUNK):
        rows = slice(*np.searchsorted(weights.vertices, [start, start + CHUNK]))
        dense = np.zeros((min(CHUNK, vertex_count - start), count + 1), np.float32)
        np.add.at(dense, (weights.vertices[rows] - start, weights.joints[rows]), weights.values[rows])
        beyond = dense[:, :count] @ below
        total = dense[:, :count].sum(axis=1, keepdims=True)
        bent = ((beyond > BESIDE) & (beyond < total - BESIDE)).astype(np.float32)
        shared += bent.T @ bent
    shared[np.asarray(joints.parents) < 0] = 0.0
    return shared


def _group_joints(shared: np.ndarray) -> Iterator[list[int]]:
    """Joints in few groups, none with two that share vertices; those that bend most skin first."""
    left = [joint for joint in np.argsort(-np.diag(shared), kind="stable").tolist() if shared[joint, joint] > 0]
    while left:
        group: list[int] = []
        for joint in left:
            if not shared[joint, group].any():
                group.append(joint)
        left = [joint for joint in left if joint not in group]
        yield group


def _bend_joints(bends: Sequence[Bend], joints: Joints) -> BentPose:
    """The pose of bends: rotations of parents carry those of their children along."""
    below = joints.chains.below
    depth = below.sum(axis=1)
    rest_to_pose = np.tile(np.eye(4), (len(joints.parents), 1, 1))
    bends = sorted(bends, key=lambda bend: depth[bend.joint], reverse=True)  # the deepest first: rest axes hold
    for bend in bends:
        below_it = below[:, bend.joint]
        matrix = bend.matrix(np.asarray(joints.centers[bend.joint], np.float64))
        rest_to_pose[below_it] = matrix @ rest_to_pose[below_it]
    return BentPose(tuple(bends), rest_to_pose)


def _find_axes(joint: int, joints: Joints) -> np.ndarray:
    """Axes to bend a joint about, unit vectors, shape (3, 3): as it is bent at rest, across that, along its bone."""
    along = joints.axes[joint] if joints.axes[joint].any() else np.array([0.0, 0.0, 1.0])
    first = np.cross(joints.axes[joints.parents[joint]], along)
    if np.linalg.norm(first) < 0.05:  # straight at rest: any will do
        first = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
    first = first / np.linalg.norm(first)
    return np.stack([first, np.cross(along, first), along])
