"""The vertices to be fitted, with their targets in the chosen frames, their candidate bones and weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ..algebra.products import multiply_columns, multiply_rows
from ..geometry.solid import weld
from .posing import blend
from .regions import Blends

# Errors above the tolerance count at most this much more.
MAX_EMPHASIS = 8.0


def _group_bones(bones: np.ndarray, chosen: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield each bone with the rows and columns in which it is chosen. `bones` and `chosen` have shape (n, C)."""
    entries = np.flatnonzero(chosen)
    owners = bones.ravel()[entries]
    order = np.argsort(owners, kind="stable")
    present, starts = np.unique(owners[order], return_index=True)
    for bone, own in zip(present.tolist(), np.split(entries[order], starts[1:]), strict=False):
        yield bone, *np.divmod(own, bones.shape[1])


@dataclass
class Patch:
    """Vertices that are fitted, with the state of their fit.

    Attributes
    ----------
    vertices : int array, shape (N,)
        Indices in the skin, one for all vertices that coincide and move alike.
    points : float64 array, shape (N, 3)
    targets : float32 array, shape (N, F, 3)
        In the chosen frames.
    joint_count : int
        Bones from this index on are helpers.
    bones, values : int and float64 arrays, shape (N, C)
        Candidate bones and their weights.
    allowed : bool array, shape (N, C)
        False for unused candidates.
    emphasis : float32 array, shape (N, F)
        Factor of errors in each frame.
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
        """Weight of each vertex in the fit of motions, float64, shape (N,)."""
        return np.square(self.emphasis, dtype=np.float64).mean(axis=1)

    def find_residuals(self, matrices: np.ndarray) -> np.ndarray:
        """Offsets to the targets, float32, shape (N, F, 3), for matrices of all bones, shape (F, B + H, 4, 4)."""
        posed = blend(matrices, self.points, self.bones, self.values).transpose(1, 0, 2)
        return np.subtract(self.targets, posed, out=posed)

    def offer(self, bone: int, rows: np.ndarray) -> None:
        """Add a candidate bone to vertices, int, shape (n,). It replaces the least candidate if all are used."""
        worth = np.where(self.allowed[rows], self.values[rows] + (self.bones[rows] < self.joint_count), -1.0)
        slots = self.bones.shape[1] - 1 - worth[:, ::-1].argmin(axis=1)  # the last of equal ones
        self.bones[rows, slots], self.allowed[rows, slots], self.values[rows, slots] = bone, True, 0.0

    def emphasize(self, residuals: np.ndarray, tolerance: float) -> None:
        """Let residuals, shape (N, F, 3), above the tolerance count more."""
        ratio = np.sqrt(np.square(residuals).sum(axis=2)) / np.float32(tolerance)
        self.emphasis = np.clip(ratio, 1.0, MAX_EMPHASIS)

    def find_products(self, matrices: np.ndarray) -> np.ndarray:
        """Products of the candidates' errors, sum over frames of (M_i v - x) . (M_j v - x), float64, shape (N, C, C).

        `matrices` has shape (F, B + H, 4, 4).
        """
        frames, (count, size) = len(matrices), self.bones.shape
        rows = np.ascontiguousarray(matrices[:, :, :3].transpose(1, 3, 0, 2)).reshape(-1, 4, 3 * frames)
        rows = rows.astype(np.float32)
        full = np.concatenate([self.points, np.ones((count, 1))], axis=1).astype(np.float32)
        order = np.lexsort((self.bones[:, 1], self.bones[:, 0]))
        products = np.empty((count, size, size))
        length = max(1, 1_000_000 // (size * 3 * frames))
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
        """Vertices, and the slots of their weights, by the bone that they follow."""
        return {bone: (vertices, slots) for bone, vertices, slots in _group_bones(self.bones, self.values > 0.0)}

    def find_pairs(self, helper_count: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """List for each helper the bones that also move its vertices, the helper first, int, shape (n,).

        Each comes with sums over vertices of both weights times (rest, 1) (rest, 1), float64, shape (n, 4, 4).
        """
        full = np.concatenate([self.points, np.ones((len(self.points), 1))], axis=1)
        importance, pairs = self.importance, []
        followers, nobody = self._list_followers(), np.empty(0, np.intp)
        for helper in range(self.joint_count, self.joint_count + helper_count):
            vertices, slots = followers.get(helper, (nobody, nobody))
            others = self.bones[vertices]
            weights = self.values[vertices] * (self.values[vertices, slots] * importance[vertices])[:, None]
            present = np.unique(others[weights > 0.0])
            present = np.concatenate([[helper], present[present != helper]]).astype(int)
            products = (full[vertices, :, None] * full[vertices, None]).reshape(-1, 16)
            shares = np.stack([np.where(others == bone, weights, 0.0).sum(axis=1) for bone in present])
            pairs.append((present, (shares @ products).reshape(-1, 4, 4)))
        return pairs

    def find_moments(self, targets: np.ndarray, helper_count: int) -> np.ndarray:
        """Sums over vertices of the weight for each helper times target times (rest, 1), float64, shape (F, H, 3, 4).

        `targets`, float32, shape (N, F, 3), may be of any frames.
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
    """Merge vertices at one position, (N, 3), that have nearly the same targets, (N, F, 3).

    Returns kept vertices, ascending, and the index among them of each vertex, int, shape (N,).
    """
    first = weld(points)
    apart = np.abs(targets - targets[first]).max(axis=(1, 2), initial=0.0) > 5e-5 * size
    first = np.where(apart, np.arange(len(points)), first)
    kept, members = np.unique(first, return_inverse=True)
    return kept, members.ravel()
