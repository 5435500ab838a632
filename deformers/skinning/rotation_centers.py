"""Centers about which the vertices of a binding rotate, in the order of its blocks, and their posed positions.

A center moves linearly, by the weighted sum of its joints' matrices M (Le & Hodgins 2016, eq 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .blocks import sort_values, wrap_points
from .stages import Scratch, apply_affine, linear_stage


@dataclass(frozen=True)
class RotationCenters:
    """The centers of a mesh's vertices.

    Attributes
    ----------
    points : float array, shape (V, 3)
        At rest, armature space.
    leans : float array, shape (V, 3)
        Offset of each by sharpness, from the center of its weights toward its vertex.
    allowances : float array, shape (V,)
        Cost of a twist up to which a center does not go back; see `go_back`.
    least_twist : float
        Radians: centers do not go back if the half twists of their joints differ by less.
    """

    points: np.ndarray
    leans: np.ndarray
    allowances: np.ndarray
    least_twist: float


@dataclass(frozen=True)
class Turns:
    """Posed joints that centers follow.

    Attributes
    ----------
    coefficients : float array, shape (B + 1, 14)
        To be summed over a vertex's joints: their matrices from rest to pose as in a linear stage, then half their
        twists as directions. The last row is the joint at rest.
    half_twists : float array, shape (B + 1,)
        Radians: half the twists of the joint and of those above it about their bones, summed.
    """

    coefficients: np.ndarray
    half_twists: np.ndarray

    @classmethod
    def of_joints(cls, matrices: np.ndarray, half_twists: np.ndarray) -> Turns:
        """From matrices and half twists of joints.

        Parameters
        ----------
        matrices : float array, shape (B, 4, 4)
            From rest to pose.
        half_twists : float array, shape (B,)
        """
        linear = linear_stage(np.concatenate([matrices, np.eye(4)[None]])).coefficients
        half_twists = np.append(half_twists, 0.0)
        directions = np.stack([np.cos(half_twists), np.sin(half_twists)], axis=1)
        return cls(np.concatenate([linear, directions], axis=1), half_twists)


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

    def place(
        self, first: int, last: int, sums: np.ndarray, half_twists: np.ndarray, memory: Scratch
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rest and posed positions of the centers of a run of vertices.

        Parameters
        ----------
        first, last : int
            The run.
        sums : float32 array, shape (14 or more, n)
            The turns' coefficients, summed over each vertex's joints, before others.
        half_twists : float array, shape (N,)
            Of all joints that the run follows.

        Returns
        -------
        rest, posed : float32 arrays, shape (5, n)
            Wrapped.
        """
        rest = self.points[:, first:last]
        if np.ptp(half_twists) > self.least_twist:
            rest = rest + go_back(self.leans[:, first:last], self.allowances[first:last], sums[12:14])
        return rest, apply_affine(sums[:12], rest[:, None], memory)[:, 0]


def go_back(leans: np.ndarray, allowances: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Offsets that move centers back to the centers of their weights, so that twists do not narrow the limb.

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
    Linear blending narrows a limb between joints i and j, twisted by t relative to each other, to no less than cos(t /
    2): it costs 1 - cos(t / 2). The square of the blended unit vectors is less than 1 by w_i w_j |x_i - x_j|^2, summed
    over pairs, which is 2 w_i w_j (1 - cos(t / 2)). So with `allowances` 2 w_i w_j N / sharpness, summed over pairs,
    the remaining lean costs at most N.
    """
    min_loss = 1e-9  # Avoids a division by zero
    loss = np.maximum(1.0 - np.square(directions).sum(axis=0), min_loss)
    return np.minimum(allowances / loss - 1.0, 0.0) * leans


def sort_centers(centers: RotationCenters, ranks: np.ndarray) -> CenterRows:
    """Sort centers into the order of the blocks. `ranks`, int array, shape (V,): of the vertices."""
    points, leans = (wrap_points(rows, ranks)[:, 0] for rows in (centers.points, centers.leans))
    allowances = sort_values(centers.allowances, ranks, np.inf)
    if allowances is None:
        allowances = np.full(points.shape[1], np.inf, np.float32)
    return CenterRows(points, leans, allowances, centers.least_twist)
