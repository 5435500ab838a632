"""The vertices that are fitted: each once, with its targets in the chosen frames, its candidates and their weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ..algebra.products import multiply_columns, multiply_rows
from ..geometry.solid import weld
from .posing import blend
from .regions import Blends

SAME = 5e-5
"""Targets of coincident vertices that are nearer than this share of the character's size are one."""

CHUNK_NUMBERS = 1_000_000
"""Numbers that are computed together."""

MOST_EMPHASIS = 8.0
"""How much more a vertex counts whose error is larger than the tolerance."""


NOBODY = np.empty(0, np.intp), np.empty(0, np.intp)
"""Vertices and slots of a bone that none follows."""


def _group_bones(bones: np.ndarray, chosen: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Each bone, with the rows and columns in which it is chosen; bones and bools of shape (n, C)."""
    entries = np.flatnonzero(chosen)
    owners = bones.ravel()[entries]
    order = np.argsort(owners, kind="stable")
    present, starts = np.unique(owners[order], return_index=True)
    for bone, own in zip(present.tolist(), np.split(entries[order], starts[1:]), strict=False):
        yield bone, *np.divmod(own, bones.shape[1])


@dataclass
class Patch:
    """Vertices that are fitted; what fits them changes.

    Attributes
    ----------
    vertices : int array, shape (N,)
        Of the skin: one of all that coincide and go the same way.
    points : float64 array, shape (N, 3)
    targets : float32 array, shape (N, F, 3)
        In the chosen frames.
    joint_count : int
        Bones with higher numbers are helpers.
    bones : int array, shape (N, C)
        Candidates.
    allowed : bool array, shape (N, C)
        False where there are fewer.
    values : float64 array, shape (N, C)
        Their weights.
    emphasis : float32 array, shape (N, F)
        How much errors count.
    """

    vertices: np.ndarray
    points: np.ndarray
    targets: np.ndarray
    blends: Blends
    joint_count: int
    bones: np.ndarray = field(default_factory=lambda: np.empty((0, 0), int))
    allowed: np.ndarray = field(default_factory=lambda: np.empty((0, 0), bool))
    values: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    emphasis: np.ndarray = field(default_factory=lambda: np.empty((0, 0), np.float32))

    @property
    def importance(self) -> np.ndarray:
        """How much each vertex counts in motions, float64 array, shape (N,)."""
        return np.square(self.emphasis, dtype=np.float64).mean(axis=1)

    def find_residuals(self, matrices: np.ndarray) -> np.ndarray:
        """What is missing to the targets, float32 array, shape (N, F, 3); matrices (F, B + H, 4, 4) of all bones."""
        posed = blend(matrices, self.points, self.bones, self.values).transpose(1, 0, 2)
        return np.subtract(self.targets, posed, out=posed)

    def offer(self, bone: int, rows: np.ndarray) -> None:
        """Have some vertices choose from one bone more; where they have all that they may, it takes the least's place.

        Parameters
        ----------
        rows : int array, shape (n,)
        """
        worth = np.where(self.allowed[rows], self.values[rows] + (self.bones[rows] < self.joint_count), -1.0)
        slots = self.bones.shape[1] - 1 - worth[:, ::-1].argmin(axis=1)  # the last of those that are alike
        self.bones[rows, slots], self.allowed[rows, slots], self.values[rows, slots] = bone, True, 0.0

    def emphasize(self, residuals: np.ndarray, tolerance: float) -> None:
        """Have what misses the tolerance count more.

        Parameters
        ----------
        residuals : float array, shape (N, F, 3)
        """
        ratio = np.sqrt(np.square(residuals).sum(axis=2)) / np.float32(tolerance)
        self.emphasis = np.clip(ratio, 1.0, MOST_EMPHASIS)

    def find_products(self, matrices: np.ndarray) -> np.ndarray:
        """What errors of candidates have in common: sum over frames of (M_i v - x) . (M_j v - x).

        Parameters
        ----------
        matrices : float array, shape (F, B + H, 4, 4)

        Returns
        -------
        float64 array, shape (N, C, C)
        """
        frames, (count, size) = len(matrices), self.bones.shape
        rows = np.ascontiguousarray(matrices[:, :, :3].transpose(1, 3, 0, 2)).reshape(-1, 4, 3 * frames)
        rows = rows.astype(np.float32)
        full = np.concatenate([self.points, np.ones((count, 1))], axis=1).astype(np.float32)
        order = np.lexsort((self.bones[:, 1], self.bones[:, 0]))
        products = np.empty((count, size, size))
        length = max(1, CHUNK_NUMBERS // (size * 3 * frames))
        for start in range(0, count, length):
            own = order[start : start + length]
            bones = self.bones[own]
            apart = np.zeros((len(own), size, frames, 3), np.float32)
            for bone, vertices, slots in _group_bones(bones, self.allowed[own]):
                apart[vertices, slots] = multiply_rows(full[own[vertices]], rows[bone]).reshape(-1, frames, 3)
            apart -= self.targets[own, None]
            apart *= self.emphasis[own, None, :, None]
            apart = apart.reshape(len(own), size, -1)
            products[own] = apart @ apart.transpose(0, 2, 1)
        return products

    def _list_followers(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """Vertices, and in which of their slots, by the bone that they follow."""
        return {bone: (vertices, slots) for bone, vertices, slots in _group_bones(self.bones, self.values > 0.0)}

    def find_pairs(self, helper_count: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each helper the bones that move its vertices, itself first, and what all of these have in common.

        Returns
        -------
        list of (int array (n,), float64 array (n, 4, 4))
            Bones; sums over vertices of both weights times (rest, 1) (rest, 1).
        """
        full = np.concatenate([self.points, np.ones((len(self.points), 1))], axis=1)
        importance, pairs = self.importance, []
        followers = self._list_followers()
        for helper in range(self.joint_count, self.joint_count + helper_count):
            vertices, slots = followers.get(helper, NOBODY)
            others = self.bones[vertices]
            weights = self.values[vertices] * (self.values[vertices, slots] * importance[vertices])[:, None]
            present = np.unique(others[weights > 0.0])
            present = np.concatenate([[helper], present[present != helper]]).astype(int)
            products = (full[vertices, :, None] * full[vertices, None]).reshape(-1, 16)
            shares = np.stack([np.where(others == bone, weights, 0.0).sum(axis=1) for bone in present])
            pairs.append((present, (shares @ products).reshape(-1, 4, 4)))
        return pairs

    def find_moments(self, targets: np.ndarray, helper_count: int) -> np.ndarray:
        """Sums over vertices of their weight for each helper times target times (rest, 1).

        Parameters
        ----------
        targets : float32 array, shape (N, F, 3)
            In any frames.

        Returns
        -------
        float64 array, shape (F, H, 3, 4)
        """
        full = np.concatenate([self.points, np.ones((len(self.points), 1))], axis=1)
        flat, importance = targets.reshape(len(targets), -1), self.importance
        moments = np.zeros((targets.shape[1], helper_count, 3, 4))
        for bone, (vertices, slots) in self._list_followers().items():
            helper = bone - self.joint_count
            if helper >= 0:
                weights = self.values[vertices, slots] * importance[vertices]
                rows = (weights[:, None] * full[vertices]).T.astype(np.float32)
                sums = np.empty((4, flat.shape[1]), np.float32)
                multiply_columns(rows, flat[vertices], out=sums)
                moments[:, helper] = sums.reshape(4, -1, 3).transpose(1, 2, 0)
        return moments


def merge_coincident(points: np.ndarray, targets: np.ndarray, size: float) -> tuple[np.ndarray, np.ndarray]:
    """Vertices that stand for all that are at the same position and have the same targets.

    Parameters
    ----------
    points : float array, shape (N, 3)
    targets : float array, shape (N, F, 3)
    size : float
        Of the character.

    Returns
    -------
    kept : int array
        Ascending.
    members : int array, shape (N,)
        Which of these stands for each.
    """
    first = weld(points)
    apart = np.abs(targets - targets[first]).max(axis=(1, 2), initial=0.0) > SAME * size
    first = np.where(apart, np.arange(len(points)), first)
    kept, members = np.unique(first, return_inverse=True)
    return kept, members.ravel()
