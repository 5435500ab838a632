"""What an engine copy is made of: the skin, examples of how it shall move, and bones, weights and keys that do so.

A character is all its meshes in a row, V vertices at rest in armature space. Its joints keep their motion; a copy adds
helpers, bones that move between them, and corrective keys. Linear blending of these is all that engines know.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError
from ..rig.rest import Joints, Weights, normalize_weights

AS_MANY_AS_IT_TAKES = -1
"""Of helpers or keys: the tolerance says how many."""

INFLUENCES = (4, 8)
"""Bones that a vertex may follow in engines."""


@dataclass(frozen=True, eq=False)
class CopiedSkin:
    """What is copied.

    Attributes
    ----------
    points : float array, shape (V, 3)
        At rest, armature space.
    triangles : int array, shape (T, 3)
    weights : Weights
        Need not be normalized.
    joints : Joints
        B of them.
    """

    points: np.ndarray
    triangles: np.ndarray
    weights: Weights
    joints: Joints

    @property
    def size(self) -> float:
        """Diagonal of the box around all points; 1 where there is none."""
        return float(np.linalg.norm(np.ptp(self.points, axis=0))) if len(self.points) else 1.0


@dataclass(frozen=True, eq=False)
class Examples:
    """Poses, and where the vertices shall be in them.

    Attributes
    ----------
    matrices : float64 array, shape (F, B, 4, 4)
        From rest to pose, of the joints.
    read : function
        From frames, int array of shape (N,), to targets, float32 array of shape (N, V, 3), armature space. They are
        read a few at a time.
    """

    matrices: np.ndarray
    read: Callable[[np.ndarray], np.ndarray]

    @property
    def count(self) -> int:
        """Frames."""
        return len(self.matrices)


@dataclass(frozen=True)
class FitParams:
    """What can be chosen.

    Attributes
    ----------
    tolerance : float
        Largest difference that is aimed at, in the unit of the points.
    influences : int
        Bones that a vertex may follow: 4 or 8.
    helpers : int
        Most helpers of a joint; -1 for as many as it takes.
    keys : int
        Most corrective keys of the character; -1 for as many as it takes, 0 for none.
    uses_rules : bool
        Whether helpers are to do what a rule can say, a share of their joint's rotation: where no action moves them.
        There are no corrective keys then.
    """

    tolerance: float = 0.003
    influences: int = 4
    helpers: int = AS_MANY_AS_IT_TAKES
    keys: int = AS_MANY_AS_IT_TAKES
    uses_rules: bool = False

    def __post_init__(self) -> None:
        if not self.tolerance > 0.0:
            raise SkinningError(f"Tolerance is {self.tolerance:g}: choose a value above 0")
        if self.influences not in INFLUENCES:
            raise SkinningError(f"Influences is {self.influences}: choose 4 or 8")


@dataclass(frozen=True, eq=False)
class Helper:
    """A bone that moves between a joint and the one above it.

    Attributes
    ----------
    joint : int
        Whose bend or twist it divides.
    base : int
        The joint that it is a child of: the one above. Against it, it moves rigidly.
    center : float array, shape (3,)
        Its head at rest, armature space: that of its joint.
    twist_share : float or None
        Where it just takes this share of its joint's rotation about the joint's own bone, and nothing else. None where
        it moves otherwise.
    turn_share : float or None
        Where it takes this share of all of its joint's rotation, about the rotation's own axis: the rules of
        `FitParams`.
    """

    joint: int
    base: int
    center: np.ndarray
    twist_share: float | None = None
    turn_share: float | None = None


@dataclass(frozen=True, eq=False)
class Key:
    """A corrective shape key, driven by one angle of a joint: a hat, 1 at its own angle and 0 at those beside it.

    The angle is that by which the joint turns against its parent about an axis, `2 atan2(q . axis, q_w)`, q being the
    rotation's quaternion with w not negative.

    Attributes
    ----------
    axis : float array, shape (3,)
        Unit vector, armature space at rest.
    angles : (float, float, float or None)
        Radians, from 0 to pi, ascending: where the hat begins, where it is 1, where it ends; None where it stays 1
        beyond.
    offsets : float32 array, shape (V, 3)
        At rest, armature space.
    """

    joint: int
    axis: np.ndarray
    angles: tuple[float, float, float | None]
    offsets: np.ndarray


@dataclass(frozen=True, eq=False)
class Fit:
    """A copy: what moves the skin by linear blending.

    Attributes
    ----------
    helpers : tuple of Helper
        H of them.
    bones : int32 array, shape (V, K)
        What each vertex follows: a joint below B, from B on a helper.
    values : float32 array, shape (V, K)
        Weights, descending. They sum to 1, or are all 0 where a vertex stays at rest.
    helper_matrices : float64 array, shape (F, H, 4, 4)
        From rest to pose, armature space, in each example.
    key_values : float64 array, shape (F, K')
    """

    helpers: tuple[Helper, ...]
    bones: np.ndarray
    values: np.ndarray
    helper_matrices: np.ndarray
    keys: tuple[Key, ...]
    key_values: np.ndarray


def fit_linear(skin: CopiedSkin, examples: Examples, influences: int) -> Fit:
    """The skin as engines show it without a fit: its own weights, of each vertex the largest.

    Parameters
    ----------
    influences : int
        Most bones of a vertex.
    """
    bones, values = limit_weights(skin, influences)
    matrices = np.empty((examples.count, 0, 4, 4))
    return Fit((), bones, values, matrices, (), np.empty((examples.count, 0)))


def limit_weights(skin: CopiedSkin, influences: int) -> tuple[np.ndarray, np.ndarray]:
    """The largest weights of each vertex, normalized: bones, int32, and values, float32, shape (V, K)."""
    count, joint_count = len(skin.points), len(skin.joints.parents)
    weights = normalize_weights(skin.weights, count, joint_count)
    keys, where = np.unique(weights.vertices * (joint_count + 1) + weights.joints, return_inverse=True)
    sums = np.bincount(where.ravel(), weights.values, minlength=len(keys))
    vertices, joints = np.divmod(keys, joint_count + 1)
    order = np.lexsort((-sums, vertices))
    vertices, joints, sums = vertices[order], joints[order], sums[order]
    slots = np.arange(len(vertices)) - np.searchsorted(vertices, vertices)
    kept = (slots < influences) & (joints < joint_count)  # the joint beyond the last stays at rest
    bones, values = np.zeros((count, influences), np.int32), np.zeros((count, influences), np.float32)
    bones[vertices[kept], slots[kept]], values[vertices[kept], slots[kept]] = joints[kept], sums[kept]
    totals = values.sum(axis=1, keepdims=True)
    return bones, values / np.where(totals > 0.0, totals, 1.0)
