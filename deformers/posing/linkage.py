"""The bones that a drag moves, and the bones that they carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import SkinningError
from .bones import DragHandle, PosedBones, find_carriers, list_path


@dataclass(frozen=True, eq=False)
class Linkage:
    """The J joints that a drag rotates, and the groups of bones that they carry.

    Group j contains the bones whose nearest joint up the tree is j. The last group, J, stays in place.

    Attributes
    ----------
    joints : int array, shape (J,)
        Bones, parents before children.
    above : int array, shape (J,)
        Group that carries each joint.
    groups : int array, shape (B + 1,)
        Group of each bone. The last entry, for vertices without weights, stays in place.
    carried : float64 array, shape (J, J + 1)
        1 if a joint carries a group, otherwise 0.
    movers : int array, shape (M,)
        Joints whose location also changes.
    """

    bones: PosedBones
    joints: np.ndarray
    above: np.ndarray
    groups: np.ndarray
    carried: np.ndarray
    movers: np.ndarray

    @property
    def heads(self) -> np.ndarray:
        """Heads of the joints at the start of the drag, shape (J, 3)."""
        return self.bones.heads[self.joints]

    @cached_property
    def frames(self) -> np.ndarray:
        """`PosedBones.frames` of the joints, shape (J, 3, 3)."""
        return self.bones.frames[self.joints]

    @cached_property
    def homes(self) -> np.ndarray:
        """Inverses of the joints' rotations at the start, from armature space to their frames, shape (J, 3, 3)."""
        return self.bones.local[self.joints].transpose(0, 2, 1) @ self.frames.transpose(0, 2, 1)

    def place(self, changes: np.ndarray, shifts: np.ndarray) -> np.ndarray:
        """Find the transforms of the groups since the start of the drag, shape (J + 1, 4, 4).

        Rotations of the joints, (J, 3, 3), and shifts of the movers, (M, 3), since the start are in the pose at the
        start.
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
        """Heads of the joints, shape (J, 3), for transforms of the groups, shape (J + 1, 4, 4)."""
        return (moved[:-1, :3, :3] @ self.heads[:, :, None])[:, :, 0] + moved[:-1, :3, 3]

    def pose(self, moved: np.ndarray) -> np.ndarray:
        """Matrices of all bones, shape (B, 4, 4), for transforms of the groups, shape (J + 1, 4, 4)."""
        return moved[self.groups[:-1]] @ self.bones.posed


def link(bones: PosedBones, handles: Sequence[DragHandle], areas: np.ndarray, moving_root: bool | None) -> Linkage:
    """Find the joints that let handles follow their targets.

    Raises SkinningError if nothing is free to move.

    Parameters
    ----------
    areas : float array, shape (B + 1,)
        Area of the skin that each bone carries by itself.
    moving_root : bool or None
        Whether the whole character may move. By default it may if there is a pin, or if nothing else can follow.

    Notes
    -----
    The joints are the free bones from the handles up. Rotating a bone that carries the whole skin does not cost energy,
    so these bones are held unless the character may move. Then it moves by the lowest such bone that is not locked, and
    the bones above are held.
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
    """Find the groups that joints, bones (J,), ascending, carry.

    The location of `movers`, (M,), also changes, by default of none.
    """
    moved = np.zeros(len(bones.parents), bool)
    moved[joints] = True
    carriers = find_carriers(bones.parents, bones.follows, moved)
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
    """Whether bones with all bones below them carry nearly the whole skin, bool (B,)."""
    below = np.array(areas[:-1], np.float64)
    for bone in range(len(below) - 1, -1, -1):
        if bones.parents[bone] >= 0 and bones.follows[bone]:
            below[bones.parents[bone]] += below[bone]
    return below >= 0.98 * max(float(areas.sum()), np.finfo(float).tiny)
