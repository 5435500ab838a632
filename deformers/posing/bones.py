"""Inputs of posing: the posed bones of an armature, and points of the skin that are held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..errors import SkinningError, find_unusable
from .limits import Hinge, RotationLimits

# Columns of a bone's matrix that are shorter do not have a direction.
MIN_SCALE = 1e-9


@dataclass(frozen=True, eq=False)
class PosedBones:
    """All bones of an armature at the start of a drag, float64, in armature space.

    Attributes
    ----------
    parents : int array, shape (B,)
        -1 for a root. Parents come before children.
    posed : float array, shape (B, 4, 4)
        Matrices of the bones. A drag keeps their scale.
    rest_local : float array, shape (B, 3, 3)
        Rest rotation of a bone relative to its parent's, or to the armature for a root. A bone's local rotation is
        `inverse(parent's posed rotation @ rest_local) @ posed rotation`.
    free : bool array, shape (B,)
        Whether a bone may rotate: it is not locked, nor moved by a constraint, a driver or Blender's IK.
    follows : bool array, shape (B,)
        Whether a bone is carried rigidly by its parent. Others stay in place.
    may_move : bool array, shape (B,)
        Whether a bone's location may change: it is not locked, and a root or not connected.
    stiffness : float array, shape (B, 3), or None
        Stiffness of each bone about its X, Y and Z, 0 to below 1, as Blender's IK stiffness: 0.99 nearly locks it. A
        bone that only twists has it about X and Z. 0 by default.
    axes : float array, shape (B, 3, 3), or None
        Axes of limits and stiffness, as columns, in the bones' own axes, which are the default.
    hinges : tuple of Hinge
        Joints that bend to one side.
    """

    parents: np.ndarray
    posed: np.ndarray
    rest_local: np.ndarray
    free: np.ndarray
    follows: np.ndarray
    may_move: np.ndarray
    limits: RotationLimits
    stiffness: np.ndarray | None = None
    axes: np.ndarray | None = None
    hinges: tuple[Hinge, ...] = ()

    def __post_init__(self) -> None:
        count = len(self.parents)
        for name in ("posed", "rest_local", "free", "follows", "may_move"):
            if len(getattr(self, name)) != count:
                raise SkinningError(
                    f"There are {count} bones, but {len(getattr(self, name))} values of {name}: read the armature again"
                )
        if (self.parents >= np.arange(count)).any():
            raise SkinningError("A bone comes before its parent: list parents before children")
        if find_unusable(self.posed).any():
            raise SkinningError(
                "The pose contains values that are not numbers (NaN or infinite): check the drivers and constraints "
                "of the armature"
            )

    @cached_property
    def _bare(self) -> np.ndarray:
        """Rotations of the bones without their scale, shape (B, 3, 3)."""
        return remove_scale(self.posed[:, :3, :3])

    @cached_property
    def rotations(self) -> np.ndarray:
        """Rotations of the bones' `axes`, shape (B, 3, 3)."""
        return self._bare if self.axes is None else self._bare @ self.axes

    @cached_property
    def frames(self) -> np.ndarray:
        """Posed rotations that local rotations are relative to: the parent's times `rest_local`, shape (B, 3, 3)."""
        above = np.concatenate([self._bare, np.eye(3)[None]])[self.parents]
        return above @ self.rest_local if self.axes is None else above @ self.rest_local @ self.axes

    @cached_property
    def local(self) -> np.ndarray:
        """Local rotations in `axes`, shape (B, 3, 3)."""
        return self.frames.transpose(0, 2, 1) @ self.rotations

    def stiffened(self, bones: np.ndarray | Sequence[int], least: np.ndarray | float) -> PosedBones:
        """Raise the stiffness of bones, int (N,) or bool (B,), to at least this about each axis, (3,), or all axes."""
        stiffness = np.zeros((len(self.parents), 3)) if self.stiffness is None else np.array(self.stiffness, np.float64)
        stiffness[bones] = np.maximum(stiffness[bones], least)
        return replace(self, stiffness=stiffness)

    @property
    def heads(self) -> np.ndarray:
        """Heads of the bones, shape (B, 3)."""
        return self.posed[:, :3, 3]


@dataclass(frozen=True, eq=False)
class DragHandle:
    """A point of the skin that is dragged, or pinned.

    Attributes
    ----------
    bones : int array, shape (N,)
        Bones that the point follows.
    weights : float array, shape (N,)
        Their weights, with any sum. A point of a triangle has the bones of its corners.
    position : float array, shape (3,)
        Position at the start of the drag, in armature space.
    is_pin : bool
        Whether it is to stay in place.
    """

    bones: np.ndarray
    weights: np.ndarray
    position: np.ndarray
    is_pin: bool = False

    def __post_init__(self) -> None:
        if not np.sum(self.weights) > 0.0:
            raise SkinningError("The point does not follow any bone: choose a point with weights")
        if find_unusable(np.asarray(self.position)).any():
            raise SkinningError("The position of the point is NaN or infinite: repair the mesh")

    @property
    def shares(self) -> np.ndarray:
        """Normalized weights, shape (N,)."""
        return np.asarray(self.weights, np.float64) / np.sum(self.weights)


def remove_scale(linear: np.ndarray) -> np.ndarray:
    """Make the columns of matrices, shape (N, 3, 3), orthonormal: Y keeps its direction, then Z.

    A mirrored bone becomes a rotation with the same Y and Z.
    """
    x, y, z = (linear[:, :, axis] for axis in range(3))
    y = _unit(y, np.array([0.0, 1.0, 0.0]))
    side = np.cross(y, z)
    flat = np.linalg.norm(side, axis=1) < MIN_SCALE
    side = np.where(flat[:, None], x - y * np.einsum("ni,ni->n", x, y)[:, None], side)
    spare = np.cross(y, np.eye(3)[np.abs(y).argmin(axis=1)])
    side = _unit(side, _unit(spare, spare))
    return np.stack([side, y, np.cross(side, y)], axis=2)


def _unit(vectors: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.where(lengths > MIN_SCALE, vectors / np.maximum(lengths, MIN_SCALE), otherwise)


def find_carriers(parents: np.ndarray, follows: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """Find the moved bone that carries each bone, the nearest up the tree.

    `parents` and `follows` are as in `PosedBones`. `moved`, shape (B,), are the bones that move by themselves. The
    result, int, shape (B,), is the index among them, or -1.
    """
    carriers = np.full(len(parents), -1)
    index = np.cumsum(moved) - 1
    for bone, parent in enumerate(parents):
        if moved[bone]:
            carriers[bone] = index[bone]
        elif parent >= 0 and follows[bone]:
            carriers[bone] = carriers[parent]
    return carriers


def list_path(parents: np.ndarray, follows: np.ndarray, bones: Sequence[int] | np.ndarray) -> np.ndarray:
    """Find bones, int, shape (N,), and all bones that carry them: bool, shape (B,).

    `parents` and `follows` are as in `PosedBones`.
    """
    path = np.zeros(len(parents), bool)
    for start in bones:
        bone = int(start)
        while bone >= 0 and not path[bone]:
            path[bone] = True
            bone = int(parents[bone]) if follows[bone] else -1
    return path
