"""A chain of bones that reaches for a target, joint by joint: cyclic coordinate descent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import SkinningError, find_unusable
from .bones import PosedBones, carry
from .joints import rotate
from .limits import clamp_rotations

ROUNDS = 30
"""From the last joint to the first so many times, unless told otherwise."""


class Chain:
    """A chain that is dragged by its end.

    Attributes
    ----------
    posed : float64 array, shape (B, 4, 4)
        The bones as they are now.
    distance : float
        Of the end from its target.
    """

    def __init__(self, bones: PosedBones, joints: np.ndarray, position: np.ndarray, stiffness: np.ndarray) -> None:
        self.bones, self.posed = bones, np.array(bones.posed, np.float64)
        self._joints, self._position, self._stiffness = joints, position, stiffness
        moved = np.zeros(len(bones.parents), bool)
        moved[joints] = True
        self._carriers = carry(bones.parents, bones.follows, moved)
        self._order = np.flatnonzero(moved)
        self._local = bones.local.copy()
        self._end = position
        self.distance = 0.0

    def move(self, target: np.ndarray, rounds: int = ROUNDS, tolerance: float = 1e-4) -> np.ndarray:
        """Reach for a target from where the chain is.

        Parameters
        ----------
        target : float array, shape (3,)
            Armature space.
        rounds : int
            From the last joint to the first so many times at most.
        tolerance : float
            A distance that is near enough, in the unit of the points.

        Returns
        -------
        float64 array, shape (B, 4, 4)
            All bones' matrices.

        Raises
        ------
        SkinningError
            Where the target is not a number.
        """
        target = np.asarray(target, np.float64)
        if find_unusable(target).any():
            raise SkinningError("The target is not a number, or too far away: move the view nearer to the character")
        for _ in range(rounds):
            for joint in self._joints:
                self._turn(int(joint), target)
            self.distance = float(np.linalg.norm(self._end - target))
            if self.distance <= tolerance:
                break
        return self.posed

    def _turn(self, joint: int, target: np.ndarray) -> None:
        """Rotate one joint so that the end comes as near to the target as it can."""
        bones, head = self.bones, self.posed[joint, :3, 3]
        old, new = self._end - head, target - head
        axis = np.cross(old, new)
        sine, cosine = np.linalg.norm(axis), float(old @ new)
        if sine < 1e-12:
            return
        turn = axis / sine * np.arctan2(sine, cosine) * (1.0 - self._stiffness[joint])
        parent = bones.parents[joint]
        since = np.eye(3) if parent < 0 else self.posed[parent, :3, :3] @ np.linalg.inv(bones.posed[parent, :3, :3])
        frame = since @ bones.frames[joint]
        wanted = frame.T @ rotate(turn[None])[0] @ frame @ self._local[joint]
        local = clamp_rotations(wanted[None], bones.limits, np.array([joint]))[0]
        change = frame @ local @ self._local[joint].T @ frame.T
        self._local[joint] = local
        below = self._below(joint)
        matrix = np.eye(4)
        matrix[:3, :3], matrix[:3, 3] = change, head - change @ head
        self.posed[below] = matrix @ self.posed[below]
        self._end = matrix[:3, :3] @ self._end + matrix[:3, 3]

    def _below(self, joint: int) -> np.ndarray:
        below = np.zeros(len(self.bones.parents), bool)
        below[joint] = True
        for bone in range(joint + 1, len(below)):
            parent = self.bones.parents[bone]
            below[bone] = parent >= 0 and below[parent] and self.bones.follows[bone]
        return np.flatnonzero(below)


def begin_chain(
    bones: PosedBones, chain: Sequence[int] | np.ndarray, position: np.ndarray, stiffness: np.ndarray | None = None
) -> Chain:
    """Begin to drag the end of a chain.

    Parameters
    ----------
    bones : PosedBones
    chain : int array, shape (N,)
        Bones from the last to the first.
    position : float array, shape (3,)
        The end, which the last bone carries, armature space.
    stiffness : float array, shape (B,), or None
        How much each bone resists, 0 to 1, as Blender's IK stiffness. None: none does.

    Raises
    ------
    SkinningError
        Where no bone of the chain is free.
    """
    chain = np.asarray(chain, int)
    joints = chain[bones.free[chain] & ~bones.limits.locked[chain].all(axis=1)]
    if not joints.size:
        raise SkinningError("No bone of this chain is free to rotate: unlock one, or pose with the controls of the rig")
    stiffness = np.zeros(len(bones.parents)) if stiffness is None else np.asarray(stiffness, np.float64)
    return Chain(bones, joints, np.asarray(position, np.float64), stiffness)
