"""Centers about which the vertices of a binding rotate, in the order of its blocks, and where they go in a pose.

A center moves linearly, by the weighted sum of its joints' matrices M (Le & Hodgins 2016, eq 1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..rig.fractions import Fractions
from ..rig.sdef import SdefPairs
from .blocks import sort_values, wrap_points
from .stages import Scratch, apply_affine, linear_stage
from .turned_rows import TurnedRows

LEAST_LOSS = 1e-9
"""What a twist costs counts as more: there is dividing by it."""

CENTERS, LEANS, OFFSETS = slice(0, 1), slice(1, 2), 2
"""Columns of what is turned along with vertices."""


@dataclass(frozen=True)
class RotationCenters:
    """The centers of a mesh's vertices.

    Attributes
    ----------
    points : float array, shape (V, 3)
        At rest, armature space.
    leans : float array, shape (V, 3)
        How far sharpness has moved each from the center of its weights toward its vertex.
    allowances : float array, shape (V,)
        What a twist between its joints may cost a vertex before its center goes back, in the terms of `go_back`.
    least_twist : float
        Radians: where the half twists of a vertex's joints differ by less, its center does not go back.
    pairs : SdefPairs or None
        Vertices whose center is that of SDEF.
    """

    points: np.ndarray
    leans: np.ndarray
    allowances: np.ndarray
    least_twist: float
    pairs: SdefPairs | None = None


@dataclass(frozen=True)
class Turns:
    """What centers follow in a pose.

    Attributes
    ----------
    coefficients : float array, shape (B + F + 1, 14)
        What is summed over a vertex's joints: their matrices from rest to pose as a linear stage has them, then half
        their twists as directions. The last row is that of what stays at rest.
    half_twists : float array, shape (B + F + 1, 2)
        Radians: half the twists of the joint and of those above it about their bones, summed. Lowest and highest of
        what a row is mixed of.
    """

    coefficients: np.ndarray
    half_twists: np.ndarray

    @classmethod
    def of_joints(cls, matrices: np.ndarray, half_twists: np.ndarray, fractions: Fractions | None = None) -> Turns:
        """Those of joints and their fractions.

        Parameters
        ----------
        matrices : float array, shape (B + F, 4, 4)
            From rest to pose.
        half_twists : float array, shape (B + F,)

        Notes
        -----
        At a joint its fractions are mixed of both bones, so that centers move as without them: where a joint bends,
        what follows them looks the same.
        """
        directions = np.stack([np.cos(half_twists), np.sin(half_twists)], axis=1)
        ranges = np.stack([half_twists, half_twists], axis=1)
        if fractions is not None:
            rows, bones = slice(fractions.joint_count, None), slice(fractions.joint_count)
            matrices, both = matrices.copy(), half_twists[[fractions.first, fractions.last]]
            matrices[rows] = fractions.mix(matrices[bones])
            directions[rows] = fractions.mix(directions[bones])
            ranges[rows] = np.sort(both, axis=0).T
        linear = linear_stage(np.concatenate([matrices, np.eye(4)[None]])).coefficients
        directions = np.concatenate([directions, [[1.0, 0.0]]])
        return cls(np.concatenate([linear, directions], axis=1), np.concatenate([ranges, np.zeros((1, 2))]))


@dataclass(frozen=True)
class SdefRows:
    """Vertices that have SDEF, in the order of the blocks.

    Attributes
    ----------
    ranks : int array, shape (N,)
        Ascending.
    joints : int array, shape (2, P)
        The pairs of joints that there are.
    which : int array, shape (N,)
        Each vertex's pair.
    offsets : float32 array, shape (N, 3)
    """

    ranks: np.ndarray
    joints: np.ndarray
    which: np.ndarray
    offsets: np.ndarray

    def turned_with(self, turned: TurnedRows) -> SdefRows:
        """The same with offsets that are turned along with vertices."""
        _, own, others = np.intersect1d(self.ranks, turned.ranks, assume_unique=True, return_indices=True)
        offsets = self.offsets.copy()
        offsets[own] = turned.columns[:, OFFSETS, others].T
        return replace(self, offsets=offsets)

    def move(self, first: int, last: int, matrices: np.ndarray, posed: np.ndarray) -> None:
        """Move a run of vertices by what their posed centers have besides.

        Parameters
        ----------
        first, last : int
            The run.
        matrices : float array, shape (B, 4, 4)
            From rest to pose.
        posed : float32 array, shape (3, last - first)
            Armature space; changed.
        """
        own = slice(*np.searchsorted(self.ranks, (first, last)))
        differences = (matrices[self.joints[0]] - matrices[self.joints[1]])[:, :3, :3].astype(np.float32)
        moves = np.einsum("nij,nj->in", differences[self.which[own]], self.offsets[own])
        posed[:, self.ranks[own] - first] += moves


@dataclass(frozen=True)
class CenterRows:
    """Centers in the order of the blocks.

    Attributes
    ----------
    points, leans : float32 arrays, shape (5, W)
        Wrapped.
    allowances : float32 array, shape (W,)
    """

    points: np.ndarray
    leans: np.ndarray
    allowances: np.ndarray
    least_twist: float
    sdef: SdefRows | None = None

    def find_columns(self, ranks: np.ndarray) -> np.ndarray:
        """What is turned along with some vertices, float32, shape (3, C, N): center, lean and, if any, offset of SDEF.

        The first is a point, the others are vectors.
        """
        columns = [self.points[:3, ranks], self.leans[:3, ranks]]
        if self.sdef is not None:
            _, own, others = np.intersect1d(ranks, self.sdef.ranks, assume_unique=True, return_indices=True)
            columns.append(np.zeros((3, len(ranks)), np.float32))
            columns[OFFSETS][:, own] = self.sdef.offsets[others].T
        return np.stack(columns, axis=1)

    def place(
        self,
        first: int,
        last: int,
        sums: np.ndarray,
        half_twists: np.ndarray,
        turned: TurnedRows | None,
        memory: Scratch,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Where the centers of a run of vertices are at rest, and where they are in the pose, but for SDEF.

        Parameters
        ----------
        first, last : int
            The run.
        sums : float32 array, shape (14 or more, n)
            The turns' coefficients, summed over each vertex's joints, before others.
        half_twists : float array, shape (N, 2)
            Of all joints that the run follows.
        turned : TurnedRows or None
            Its first columns are those of `find_columns`.

        Returns
        -------
        rest, posed : float32 arrays, shape (5, n)
            Wrapped.
        """
        rest, leans = self.points[:, first:last], self.leans[:, first:last]
        if turned is not None:
            rest = turned.put(first, last, CENTERS, rest[:, None], memory)[:, 0]
        if np.ptp(half_twists) > self.least_twist:
            if turned is not None:
                leans = turned.put(first, last, LEANS, leans[:, None], memory)[:, 0]
            rest = rest + go_back(leans, self.allowances[first:last], sums[12:14])
        return rest, apply_affine(sums[:12], rest[:, None], memory)[:, 0]


def go_back(leans: np.ndarray, allowances: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """How far centers go back to where their weights have them, so that twists do not narrow the limb.

    Parameters
    ----------
    leans : float array, shape (5, n)
    allowances : float array, shape (n,)
    directions : float array, shape (2, n)
        The blend of unit vectors at half the twist of each joint.

    Returns
    -------
    float array, shape (5, n)

    Notes
    -----
    Linear blending narrows a limb between joints i and j, twisted by t against each other, to no less than cos(t / 2):
    it costs 1 - cos(t / 2). The square of the blended unit vectors is less than 1 by w_i w_j |x_i - x_j|^2, summed over
    pairs, which is 2 w_i w_j (1 - cos(t / 2)). So with `allowances` 2 w_i w_j N / sharpness, summed over pairs, what is
    left of the lean costs N at most.
    """
    loss = np.maximum(1.0 - np.square(directions).sum(axis=0), LEAST_LOSS)
    return np.minimum(allowances / loss - 1.0, 0.0) * leans


def sort_centers(centers: RotationCenters, ranks: np.ndarray) -> CenterRows:
    """Centers in the order of the blocks.

    Parameters
    ----------
    ranks : int array, shape (V,)
        Of the vertices.
    """
    points, leans = (wrap_points(rows, ranks)[:, 0] for rows in (centers.points, centers.leans))
    allowances = sort_values(centers.allowances, ranks, np.inf)
    if allowances is None:
        allowances = np.full(points.shape[1], np.inf, np.float32)
    return CenterRows(points, leans, allowances, centers.least_twist, _sort_pairs(centers.pairs, ranks))


def _sort_pairs(pairs: SdefPairs | None, ranks: np.ndarray) -> SdefRows | None:
    if pairs is None:
        return None
    order = np.argsort(ranks[pairs.vertices])
    joints, which = np.unique([pairs.first[order], pairs.second[order]], axis=1, return_inverse=True)
    offsets = pairs.offsets[order].astype(np.float32)
    return SdefRows(ranks[pairs.vertices[order]], joints, which.reshape(-1), offsets)
