"""A range of motion from a character's rest alone: each joint bent to four sides and twisted to two, or by its own
limits.

Joints whose bends move no common vertex are bent in one pose: each vertex is on one side of all of them but one, so
that its surroundings are as with that joint alone. A few poses are enough for a whole body.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..rig.rest import Joints, Weights, normalize_weights

# In the frame of the joint's own bone: about an axis across it, across both, and along it
DIRECTIONS = ("forward", "back", "right", "left", "twist right", "twist left")

# Vertices whose weights are dense at a time
CHUNK = 65536


@dataclass(frozen=True)
class Bend:
    """A bent joint.

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
        """The direction without the word for a twist."""
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
    """A pose of bent joints that do not affect each other.

    Attributes
    ----------
    bends : tuple of Bend
        All in one direction, with their own angles.
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
    """List the range of motion of joints that bend skin.

    Parameters
    ----------
    weights : Weights
        Of all meshes of the character in a row.
    joints : Joints
        With `tails`.
    angle : float
        Radians, to each side.
    chosen : bool array, shape (B,)
        The joints to bend.
    own : dict from a joint to its bends, optional
        Instead of `list_bends`, for joints that do not bend to all sides.
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
    """The bends of a joint by an angle, radians, to all sides, in the order of `DIRECTIONS`."""
    axes = _find_axes(joint, joints)
    return [
        Bend(joint, direction, axes[number // 2], angle if number % 2 == 0 else -angle)
        for number, direction in enumerate(DIRECTIONS)
    ]


def _count_shared(weights: Weights, vertex_count: int, joints: Joints) -> np.ndarray:
    """Number of vertices that the bends of two joints both move, shape (B, B); of one bend on the diagonal."""
    count = len(joints.parents)
    weights = normalize_weights(weights, vertex_count, count)
    below = joints.chains.below.astype(np.float32)
    shared = np.zeros((count, count))
    min_beyond = 0.02  # A vertex with less weight beyond a joint is not moved by its bend.
    for start in range(0, vertex_count, CHUNK):
        rows = slice(*np.searchsorted(weights.vertices, [start, start + CHUNK]))
        dense = np.zeros((min(CHUNK, vertex_count - start), count + 1), np.float32)
        np.add.at(dense, (weights.vertices[rows] - start, weights.joints[rows]), weights.values[rows])
        beyond = dense[:, :count] @ below
        total = dense[:, :count].sum(axis=1, keepdims=True)
        bent = ((beyond > min_beyond) & (beyond < total - min_beyond)).astype(np.float32)
        shared += bent.T @ bent
    shared[np.asarray(joints.parents) < 0] = 0.0
    return shared


def _group_joints(shared: np.ndarray) -> Iterator[list[int]]:
    """Joints in few groups without common vertices; those that bend most skin first."""
    left = [joint for joint in np.argsort(-np.diag(shared), kind="stable").tolist() if shared[joint, joint] > 0]
    while left:
        group: list[int] = []
        for joint in left:
            if not shared[joint, group].any():
                group.append(joint)
        left = [joint for joint in left if joint not in group]
        yield group


def _bend_joints(bends: Sequence[Bend], joints: Joints) -> BentPose:
    """The pose of bends, with rotations of parents that move their children."""
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
    """Axes to bend a joint about, unit vectors, shape (3, 3): of its rest bend, across that, along its bone."""
    along = joints.axes[joint] if joints.axes[joint].any() else np.array([0.0, 0.0, 1.0])
    first = np.cross(joints.axes[joints.parents[joint]], along)
    if np.linalg.norm(first) < 0.05:  # straight at rest: any will do
        first = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
    first = first / np.linalg.norm(first)
    return np.stack([first, np.cross(along, first), along])
