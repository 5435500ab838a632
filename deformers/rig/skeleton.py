"""The joint hierarchy: parents of joints, and sums along their chains."""

from __future__ import annotations

from functools import cached_property
from itertools import permutations, product

import numpy as np

from ..errors import SkinningError


class Chains:
    """Sums and products over each joint's ancestors, for all joints at once.

    Pointer jumping (each joint adds its parent's partial result, then skips to its grandparent's, ...) needs only
    log2(depth) vectorized steps, fewer than a walk down the levels. Raises SkinningError if the parents run in a
    circle, or are not joints.

    Parameters
    ----------
    parents : int array, shape (B,)
        -1 for a root.
    """

    def __init__(self, parents: np.ndarray) -> None:
        self.parents = np.asarray(parents)
        self.is_root = self.parents < 0
        count = len(self.parents)
        if ((self.parents < -1) | (self.parents >= count)).any():
            raise SkinningError(f"There are {count} joints, but a parent is not among them: bind again")
        jump = np.append(np.where(self.is_root, count, self.parents), count)  # `count`: a neutral row above the roots
        self._jumps = []
        while (jump < count).any():
            if 2 ** len(self._jumps) > count:
                raise SkinningError("The joints are parented in a circle: bind again")
            self._jumps.append(jump)
            jump = jump[jump]

    @cached_property
    def below(self) -> np.ndarray:
        """Whether joint b is a or below it: bool array, shape (B, B), at [b, a]."""
        return self.sum(np.eye(len(self.parents), dtype=np.intp)) > 0

    @property
    def level_count(self) -> int:
        """Joints in the longest chain from a root down."""
        return int(self.sum(np.ones(len(self.parents), np.intp)).max(initial=0))

    def of_parents(self, values: np.ndarray, root: np.ndarray | float) -> np.ndarray:
        """Row of `values`, shape (B, ...), of each joint's parent; `root` for a root."""
        return np.concatenate([values, np.broadcast_to(root, (1, *values.shape[1:]))])[self.parents]

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Sum of `values`, shape (B, ...), over each joint and its ancestors."""
        total = np.concatenate([values, np.zeros_like(values[:1])])
        for jump in self._jumps:
            total = total + total[jump]
        return total[:-1]


# Axes, as columns, of a bone that points up without roll, as the first bone of most characters does
UPRIGHT = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


def find_frame(rest_axes: np.ndarray, chains: Chains) -> np.ndarray:
    """Orientation of a character in its armature's space, in right angles, as files of other programs rotate
    characters.

    `rest_axes`, float array, shape (B, 3, 3): of the joints' bones at rest: columns, armature space. Returns a float64
    array, shape (3, 3): columns are signed axes of armature space: approximate axes of the root with most joints, if it
    pointed up without roll. The identity without joints.
    """
    roots = np.flatnonzero(chains.is_root)
    if not len(roots):
        return np.eye(3)
    root = roots[chains.below[:, roots].sum(axis=0).argmax()]
    turns = [
        np.eye(3)[:, order] * signs for order in permutations(range(3)) for signs in product((1.0, -1.0), repeat=3)
    ]
    proper = [turn for turn in turns if np.linalg.det(turn) > 0.0]
    return max(proper, key=lambda turn: float((turn * rest_axes[root]).sum())) @ UPRIGHT.T


def find_joint_parents(
    heads: np.ndarray,
    tails: np.ndarray,
    bone_parents: np.ndarray,
    deforming: np.ndarray,
    handles: np.ndarray | None = None,
) -> np.ndarray:
    """Find the joint that each deforming bone is joined to, which the bone tree may not tell.

    A deforming parent is the joint's parent. Otherwise (in Rigify deforming bones are children of control bones) it is
    the nearest deforming bone up the bone tree; a control bone that lies on a deforming bone counts as that bone. If
    the bone's head is not on that bone, a deforming bone with its tail at the head is preferred. Separate parts of the
    skeleton are then joined, the smaller to the larger, at the bone nearest to the part's root.

    Parameters
    ----------
    heads, tails : float arrays, shape (N, 3)
        All bones at rest, armature space.
    bone_parents : int array, shape (N,)
        The bone tree, -1 for none.
    deforming : bool array, shape (N,)
    handles : bool array, shape (N,), optional
        Deforming bones outside of the skeleton: each is joined to the nearest other bone, and none to it. If all are
        handles, they are joined to each other.

    Returns
    -------
    int array, shape (N,)
        The joint parent's index; -1 for the root and for bones that do not deform.

    Notes
    -----
    Kurihara & Nishita, eq 15, needs the joint that a bone is joined to; the paper has no control bones.
    """
    which = np.flatnonzero(deforming)
    parents = np.full(len(heads), -1)
    if not which.size:
        return parents
    if handles is not None and (deforming & handles).any() and not handles[which].all():
        parents = find_joint_parents(heads, tails, bone_parents, deforming & ~handles)
        others = np.flatnonzero(deforming & ~handles)
        for bone in np.flatnonzero(deforming & handles):
            parents[bone] = others[distances_to_bones(heads[bone], heads[others], tails[others]).argmin()]
        return parents
    lengths = np.linalg.norm(tails - heads, axis=1)
    touching = max(1e-6, 1e-3 * float(np.median(lengths[which])))
    stands_for = _find_stand_ins(heads, tails, which, touching)

    loose = []
    for bone in which:
        parent = bone_parents[bone]
        if parent >= 0 and deforming[parent]:
            parents[bone] = parent
        else:
            loose.append(bone)
    max_joined_gap = 0.05  # A head this close to another bone, in lengths of that bone, is on it.
    for bone in loose:
        above = -1
        ancestor = bone_parents[bone]
        while ancestor >= 0 and above < 0:
            candidate = int(stands_for[ancestor])
            if candidate >= 0 and not _is_above(bone, candidate, parents):
                above = candidate
            ancestor = bone_parents[ancestor]
        sits = above >= 0 and (
            distances_to_bones(heads[bone], heads[[above]], tails[[above]])[0] <= max_joined_gap * lengths[above]
        )
        if not sits:
            touched = which[np.linalg.norm(tails[which] - heads[bone], axis=1) <= touching]
            above = next((other for other in touched if not _is_above(bone, other, parents)), above)
        parents[bone] = above
    _join_parts(parents, which, heads, tails)
    return parents


def _find_stand_ins(heads: np.ndarray, tails: np.ndarray, which: np.ndarray, touching: float) -> np.ndarray:
    """The deforming bone that each bone is or lies on (same head, tail on the bone), -1 for none: shape (N,)."""
    stands_for = np.full(len(heads), -1)
    for bone in range(len(heads)):
        same_head = which[np.linalg.norm(heads[which] - heads[bone], axis=1) <= touching]
        away = [distances_to_bones(tails[other], heads[[bone]], tails[[bone]])[0] for other in same_head]
        if away and min(away) <= touching:
            stands_for[bone] = same_head[int(np.argmin(away))]
    stands_for[which] = which
    return stands_for


def _is_above(bone: int, other: int, parents: np.ndarray) -> bool:
    """Whether `bone` is `other` or its ancestor: joining it below `other` would close a circle."""
    while other >= 0 and other != bone:
        other = parents[other]
    return other == bone


def _join_parts(parents: np.ndarray, which: np.ndarray, heads: np.ndarray, tails: np.ndarray) -> None:
    """Join separate parts of the skeleton, the smallest first, to the bone nearest to their root."""
    part = np.arange(len(parents))
    for bone in which:
        root = bone
        while parents[root] >= 0:
            root = parents[root]
        part[bone] = root
    roots, sizes = np.unique(part[which], return_counts=True)
    for root in roots[np.argsort(sizes, kind="stable")][:-1]:
        others = which[part[which] != root]
        nearest = others[distances_to_bones(heads[root], heads[others], tails[others]).argmin()]
        parents[root] = nearest
        part[part == root] = part[nearest]


def distances_to_bones(points: np.ndarray, heads: np.ndarray, tails: np.ndarray) -> np.ndarray:
    """Distances of points from bones: float array, (...).

    `points`, `heads` and `tails`, float arrays, shape (..., 3): in one space; they are broadcast.
    """
    axes = tails - heads
    squared = np.maximum((axes * axes).sum(axis=-1), 1e-300)
    along = np.clip(((points - heads) * axes).sum(axis=-1) / squared, 0.0, 1.0)
    return np.linalg.norm(points - heads - along[..., None] * axes, axis=-1)
