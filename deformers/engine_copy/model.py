"""Data of an engine copy: the skin, examples of its motion, and the bones, weights and keys that reproduce it.

The meshes of a character are joined: V vertices at rest in armature space. Its joints keep their motion. A copy adds
helper bones that move between them, and corrective keys. Linear blending of these is all that engines support.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError
from ..rig.rest import Joints, Weights, normalize_weights


@dataclass(frozen=True, eq=False)
class CopiedSkin:
    """The skin to be copied.

    Attributes
    ----------
    points : float array, shape (V, 3)
        At rest, in armature space.
    triangles : int array, shape (T, 3)
    weights : Weights
        Need not be normalized.
    joints : Joints
        B joints.
    """

    points: np.ndarray
    triangles: np.ndarray
    weights: Weights
    joints: Joints

    @property
    def size(self) -> float:
        """Diagonal of the bounding box, or 1 without points."""
        return float(np.linalg.norm(np.ptp(self.points, axis=0))) if len(self.points) else 1.0


@dataclass(frozen=True, eq=False)
class Examples:
    """Poses, and the targets of the vertices in them.

    Attributes
    ----------
    matrices : float64 array, shape (F, B, 4, 4)
        From rest to pose, of the joints.
    read : function
        Reads the targets, float32 array, shape (N, V, 3), in armature space, of frames, int array, shape (N,).
    """

    matrices: np.ndarray
    read: Callable[[np.ndarray], np.ndarray]

    @property
    def count(self) -> int:
        """Number of frames."""
        return len(self.matrices)


@dataclass(frozen=True)
class FitParams:
    """Options of the fit.

    Attributes
    ----------
    tolerance : float
        Wanted largest difference, in the unit of the points.
    influences : int
        Largest number of bones of a vertex, 4 or 8.
    helpers : int
        Largest number of helpers of a joint, or -1 for as many as needed.
    keys : int
        Largest number of corrective keys of the character, or -1 for as many as needed.
    uses_rules : bool
        Whether helpers follow a rule, a share of their joint's rotation, so that they need no actions. There are no
        corrective keys then.
    """

    tolerance: float = 0.003
    influences: int = 4
    helpers: int = -1
    keys: int = -1
    uses_rules: bool = False

    def __post_init__(self) -> None:
        if not self.tolerance > 0.0:
            raise SkinningError(f"Tolerance is {self.tolerance:g}: choose a value above 0")
        if self.influences not in (4, 8):
            raise SkinningError(f"Influences is {self.influences}: choose 4 or 8")


@dataclass(frozen=True, eq=False)
class Helper:
    """A bone that moves between a joint and the joint's parent.

    Attributes
    ----------
    joint : int
        It divides the bend or twist of this joint.
    base : int
        Its parent, which is the joint's parent. It moves rigidly relative to it.
    center : float array, shape (3,)
        Its head at rest, in armature space, which is its joint's head.
    twist_share : float or None
        Share of its joint's rotation about the joint's bone, if this is all of its motion.
    turn_share : float or None
        Share of its joint's whole rotation about the rotation's own axis, if `FitParams` asks for rules.
    """

    joint: int
    base: int
    center: np.ndarray
    twist_share: float | None = None
    turn_share: float | None = None


@dataclass(frozen=True, eq=False)
class Key:
    """A corrective shape key, driven by one angle of a joint: 1 at its own angle and 0 at the neighboring keys' angles.

    The angle is the joint's rotation relative to its parent about an axis, `2 atan2(q . axis, q_w)`, with the
    quaternion q of the rotation and w not negative.

    Attributes
    ----------
    axis : float array, shape (3,)
        Unit vector, armature space at rest.
    angles : (float, float, float or None)
        Radians, from 0 to pi, ascending: where the hat begins, where it is 1, where it ends; None if it stays 1
        beyond.
    offsets : float32 array, shape (V, 3)
        At rest, armature space.
    """

    joint: int
    axis: np.ndarray
    angles: tuple[float, float, float | None]
    offsets: np.ndarray


@dataclass(frozen=True, eq=False)
class CopyFit:
    """Helpers, weights and keys that reproduce examples by linear blending.

    Attributes
    ----------
    helpers : tuple of Helper
        H helpers.
    bones : int32 array, shape (V, K)
        Bones that each vertex follows: below B a joint, from B on a helper.
    values : float32 array, shape (V, K)
        Weights, descending. They sum to 1, or are all 0 if a vertex stays at rest.
    helper_matrices : float64 array, shape (F, H, 4, 4)
        From rest to pose, in armature space, in each example.
    key_values : float64 array, shape (F, K')
    """

    helpers: tuple[Helper, ...]
    bones: np.ndarray
    values: np.ndarray
    helper_matrices: np.ndarray
    keys: tuple[Key, ...]
    key_values: np.ndarray


def fit_linear(skin: CopiedSkin, examples: Examples, influences: int) -> CopyFit:
    """Copy a skin without a fit: each vertex keeps its largest weights, at most `influences` of them."""
    bones, values = limit_weights(skin, influences)
    matrices = np.empty((examples.count, 0, 4, 4))
    return CopyFit((), bones, values, matrices, (), np.empty((examples.count, 0)))


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
