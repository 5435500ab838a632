"""What posing is given: all bones of an armature as they are posed, and points of the skin that are held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..errors import SkinningError, find_unusable
from .limits import Hinge, RotationLimits

LEAST_SCALE = 1e-9
"""Columns of a bone's matrix that are shorter have no direction."""


@dataclass(frozen=True, eq=False)
class PosedBones:
    """All bones of an armature as a drag finds them, armature space, float64.

    Attributes
    ----------
    parents : int array, shape (B,)
        -1 for a root; parents come before children.
    posed : float array, shape (B, 4, 4)
        The bones' matrices: head and axes. Scale is kept; a drag rotates, and moves what may move.
    rest_local : float array, shape (B, 3, 3)
        Rotation of a bone's rest against its parent's rest, against the armature for a root. A bone's local rotation is
        `inverse(parent's posed rotation @ rest_local) @ posed rotation`.
    free : bool array, shape (B,)
        Whether a bone may rotate: not locked, not moved by a constraint, a driver or Blender's IK.
    follows : bool array, shape (B,)
        Whether a bone is carried rigidly by its parent. What does not follow stays where it is.
    may_move : bool array, shape (B,)
        Whether a bone's location may change: roots, and others that are not connected, that are not locked.
    stiffness : float array, shape (B, 3), or None
        How much each bone resists rotation about its own X, Y and Z, 0 to below 1, as Blender's IK stiffness: 0.99 all
        but locks it. A bone that only twists has it about X and Z. None: 0.
    axes : float array, shape (B, 3, 3), or None
        Axes about which limits and stiffness are, as columns, seen in the bones' own. None: the bones' own.
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
        """The bones' own rotations without their scale, shape (B, 3, 3)."""
        return remove_scale(self.posed[:, :3, :3])

    @cached_property
    def rotations(self) -> np.ndarray:
        """Rotations of the bones' `axes`, shape (B, 3, 3)."""
        return self._bare if self.axes is None else self._bare @ self.axes

    @cached_property
    def frames(self) -> np.ndarray:
        """Rotations in which local rotations are measured, as posed: the parent's times `rest_local`, (B, 3, 3)."""
        above = np.concatenate([self._bare, np.eye(3)[None]])[self.parents]
        return above @ self.rest_local if self.axes is None else above @ self.rest_local @ self.axes

    @cached_property
    def local(self) -> np.ndarray:
        """Local rotations, seen in `axes`, shape (B, 3, 3)."""
        return self.frames.transpose(0, 2, 1) @ self.rotations

    def stiffened(self, bones: np.ndarray | Sequence[int], least: np.ndarray | float) -> PosedBones:
        """The same where some bones, int (N,) or bool (B,), resist at least so much about each axis, (3,), or all."""
        stiffness = np.zeros((len(self.parents), 3)) if self.stiffness is None else np.array(self.stiffness, np.float64)
        stiffness[bones] = np.maximum(stiffness[bones], least)
        return replace(self, stiffness=stiffness)

    @property
    def heads(self) -> np.ndarray:
        """What the bones rotate about, shape (B, 3)."""
        return self.posed[:, :3, 3]


@dataclass(frozen=True, eq=False)
class Handle:
    """A point of the skin that is dragged, or pinned.

    Attributes
    ----------
    bones : int array, shape (N,)
        What the point follows, indices of bones.
    weights : float array, shape (N,)
        How much of each; their sum need not be 1. The bones of a point of a triangle are those of its corners.
    position : float array, shape (3,)
        Where it is when the drag begins, armature space.
    is_pin : bool
        Whether it stays where it is.
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
        """Weights whose sum is 1, shape (N,)."""
        return np.asarray(self.weights, np.float64) / np.sum(self.weights)


def remove_scale(linear: np.ndarray) -> np.ndarray:
    """Rotations of bones whose axes are perpendicular: columns of length 1, shape (N, 3, 3) to the same.

    A mirrored bone keeps the direction of Y and Z. Sheared axes are made perpendicular, Y first, then Z.
    """
    x, y, z = (linear[:, :, axis] for axis in range(3))
    y = _unit(y, np.array([0.0, 1.0, 0.0]))
    side = np.cross(y, z)
    flat = np.linalg.norm(side, axis=1) < LEAST_SCALE
    side = np.where(flat[:, None], x - y * np.einsum("ni,ni->n", x, y)[:, None], side)
    spare = np.cross(y, np.eye(3)[np.abs(y).argmin(axis=1)])
    side = _unit(side, _unit(spare, spare))
    return np.stack([side, y, np.cross(side, y)], axis=2)


def _unit(vectors: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.where(lengths > LEAST_SCALE, vectors / np.maximum(lengths, LEAST_SCALE), otherwise)


def carry(parents: np.ndarray, follows: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """Find which of some bones carries each bone, the nearest up the tree; -1 where none does.

    Parameters
    ----------
    parents : int array, shape (B,)
    follows : bool array, shape (B,)
        As in `PosedBones`.
    moved : bool array, shape (B,)
        The bones that move by themselves.

    Returns
    -------
    int array, shape (B,)
        Index among the moved bones, which are counted from the first.
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
    """Which bones carry some bones: these and their ancestors as far as bones follow.

    Parameters
    ----------
    parents : int array, shape (B,)
    follows : bool array, shape (B,)
    bones : int array, shape (N,)

    Returns
    -------
    bool array, shape (B,)
    """
    path = np.zeros(len(parents), bool)
    for start in bones:
        bone = int(start)
        while bone >= 0 and not path[bone]:
            path[bone] = True
            bone = int(parents[bone]) if follows[bone] else -1
    return path
