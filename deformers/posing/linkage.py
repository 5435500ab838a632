"""Which bones a drag moves, and where they carry all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import SkinningError
from .bones import Handle, PosedBones, carry, list_path

WHOLE = 0.98
"""Share of the skin's area that a bone carries, with all below it, if it carries the whole character."""


@dataclass(frozen=True, eq=False)
class Linkage:
    """The joints that a drag rotates, J of them, and the groups of bones that they carry.

    Group j is what joint j carries and no other below it; the last group, J, stays where it is.

    Attributes
    ----------
    joints : int array, shape (J,)
        Bones, parents before children.
    above : int array, shape (J,)
        The group that carries each joint.
    groups : int array, shape (B + 1,)
        The group of each bone. The last, which carries vertices without weights, stays.
    carried : float64 array, shape (J, J + 1)
        1 where a joint carries a group, else 0.
    movers : int array, shape (M,)
        Joints whose location changes, too.
    """

    bones: PosedBones
    joints: np.ndarray
    above: np.ndarray
    groups: np.ndarray
    carried: np.ndarray
    movers: np.ndarray

    @property
    def heads(self) -> np.ndarray:
        """What the joints rotate about as the drag begins, shape (J, 3)."""
        return self.bones.heads[self.joints]

    @cached_property
    def frames(self) -> np.ndarray:
        """The joints' `PosedBones.frames`, shape (J, 3, 3)."""
        return self.bones.frames[self.joints]

    @cached_property
    def homes(self) -> np.ndarray:
        """What takes the joints' rotations as the drag begins back, from armature space to their frames, (J, 3, 3)."""
        return self.bones.local[self.joints].transpose(0, 2, 1) @ self.frames.transpose(0, 2, 1)

    def place(self, changes: np.ndarray, shifts: np.ndarray) -> np.ndarray:
        """Carry the joints along.

        Parameters
        ----------
        changes : float64 array, shape (J, 3, 3)
            Rotation of each joint since the drag began, seen in the pose of its beginning.
        shifts : float64 array, shape (M, 3)
            Of the movers, seen the same way.

        Returns
        -------
        float64 array, shape (J + 1, 4, 4)
            What carries each group from where it was when the drag began.
        """
        own = np.zeros((len(changes), 4, 4))
        own[:, :3, :3] = changes
        own[:, :3, 3] = self.heads - (changes @ self.heads[:, :, None])[:, :, 0]
        own[self.movers, :3, 3] += shifts
        own[:, 3, 3] = 1.0
        moved = np.empty((len(changes) + 1, 4, 4))
        moved[-1] = np.eye(4)
        for joint, above in enumerate(self.above.tolist()):
            np.matmul(moved[above], own[joint], out=moved[joint])
        return moved

    def place_heads(self, moved: np.ndarray) -> np.ndarray:
        """Where the joints' heads are, shape (J, 3), where groups are moved, shape (J + 1, 4, 4)."""
        return (moved[:-1, :3, :3] @ self.heads[:, :, None])[:, :, 0] + moved[:-1, :3, 3]

    def pose(self, moved: np.ndarray) -> np.ndarray:
        """All bones' matrices, shape (B, 4, 4), where the groups are moved, shape (J + 1, 4, 4)."""
        return moved[self.groups[:-1]] @ self.bones.posed


def link(bones: PosedBones, handles: Sequence[Handle], areas: np.ndarray, moving_root: bool | None) -> Linkage:
    """Find what moves so that the handles may follow their targets.

    Parameters
    ----------
    areas : float array, shape (B + 1,)
        Area of the skin that each bone carries by itself.
    moving_root : bool or None
        Whether the whole character may move. None: where there is a pin, or where nothing else can follow.

    Raises
    ------
    SkinningError
        Where nothing is free to move.

    Notes
    -----
    The joints are the free bones from the handles up. What carries the whole skin costs no energy to rotate: it is held
    unless the character may move. Then it moves by the lowest bone that carries the whole skin and is not locked, and
    what is above that bone is held.
    """
    path = list_path(bones.parents, bones.follows, np.unique(np.concatenate([handle.bones for handle in handles])))
    rotating = path & bones.free & ~bones.limits.locked.all(axis=1)
    whole = path & _carries_all(bones, areas)
    movers = np.flatnonzero(path & bones.may_move & whole)[-1:]
    if moving_root is None:
        moving_root = any(handle.is_pin for handle in handles) or not (rotating & ~whole).any()
    if moving_root and movers.size:
        rotating &= ~(list_path(bones.parents, bones.follows, movers) & (np.arange(len(path)) != movers[0]))
    elif not moving_root and (rotating & ~whole).any():
        movers = movers[:0]
        rotating &= ~whole
    else:
        movers = movers[:0]
    moved = rotating.copy()
    moved[movers] = True
    joints = np.flatnonzero(moved)
    if not joints.size:
        raise SkinningError(
            "No bone that moves this point is free: unlock a bone, or pose with the controls of the rig"
        )
    return link_joints(bones, joints, np.flatnonzero(np.isin(joints, movers)))


def link_joints(bones: PosedBones, joints: np.ndarray, movers: np.ndarray | None = None) -> Linkage:
    """Find what some joints carry.

    Parameters
    ----------
    joints : int array, shape (J,)
        Bones, ascending.
    movers : int array, shape (M,), or None
        Those of the joints whose location changes, too. None: no joint's does.
    """
    moved = np.zeros(len(bones.parents), bool)
    moved[joints] = True
    carriers = carry(bones.parents, bones.follows, moved)
    parents = np.where(bones.follows[joints], bones.parents[joints], -1)
    above = np.where(parents >= 0, carriers[parents], -1)
    carried = np.zeros((len(joints), len(joints) + 1))
    for joint, parent in enumerate(above):
        carried[:, joint] = carried[:, parent]
        carried[joint, joint] = 1.0
    groups = np.append(carriers, -1)
    return Linkage(
        bones,
        joints,
        np.where(above < 0, len(joints), above),
        np.where(groups < 0, len(joints), groups),
        carried,
        np.zeros(0, int) if movers is None else movers,
    )


def _carries_all(bones: PosedBones, areas: np.ndarray) -> np.ndarray:
    """Which bones carry the whole skin with all below them, bool (B,)."""
    below = np.array(areas[:-1], np.float64)
    for bone in range(len(below) - 1, -1, -1):
        if bones.parents[bone] >= 0 and bones.follows[bone]:
            below[bones.parents[bone]] += below[bone]
    return below >= WHOLE * max(float(areas.sum()), np.finfo(float).tiny)
