"""The outer side of a bent joint: what viewers miss where smoothing and soft flesh flatten a kneecap."""

from __future__ import annotations

import numpy as np

from ..algebra.rotations import scale_rotations
from ..geometry.solid import vertex_areas
from ..geometry.vectors import normalize, transform_points
from ..rig.rest import Joints

# The outer side of a joint: skin so near to it, in its radii, and in directions of at least this cosine with the middle
# of the outer side; a joint is straight whose two directions add up to less.
OUTER_REACH, OUTER, MIN_BEND = 1.6, 0.6, 0.2

# Skin counts at least at this share of its distance at rest.
MIN_LENGTH = 0.1


class OuterMeter:
    """Skin on the outer side of a bent joint, such as that of a kneecap, which smoothing and soft flesh flatten.

    Parameters
    ----------
    points : float array, shape (V, 3)
        Armature space.
    triangles : int array, shape (T, 3)
    joints : Joints
        With `tails`.
    radius : float
        Of the joint, in the unit of the points.
    """

    def __init__(self, points: np.ndarray, triangles: np.ndarray, joints: Joints, joint: int, radius: float) -> None:
        self._joint, self._parent, self._center = joint, int(joints.parents[joint]), np.asarray(joints.centers)[joint]
        self._ends = np.asarray(joints.centers)[self._parent], np.asarray(joints.tails)[joint]
        lengths = np.linalg.norm(points - self._center, axis=1)
        self._near = np.flatnonzero((lengths < OUTER_REACH * radius) & (lengths > 0.0))
        self._lengths, self._rest = lengths[self._near], (points - self._center)[self._near]
        self._areas = vertex_areas(points, triangles)[self._near]

    def measure(self, posed: np.ndarray, rest_to_pose: np.ndarray) -> float:
        """How much nearer to the joint its outer side is than at rest: log2, by area; 0 for a joint that is straight.

        Parameters
        ----------
        posed : float array, shape (V, 3)
            Armature space.
        rest_to_pose : float array, shape (B, 4, 4)
        """
        above, own = rest_to_pose[self._parent], rest_to_pose[self._joint]
        center = transform_points(own, self._center)
        ends = transform_points(above, self._ends[0]) - center, transform_points(own, self._ends[1]) - center
        outward = -normalize(ends[0]) - normalize(ends[1])
        if np.linalg.norm(outward) < MIN_BEND:
            return 0.0
        half = above[:3, :3] @ scale_rotations((above[:3, :3].T @ own[:3, :3])[None], 0.5)[0]
        outer = self._rest @ half.T @ normalize(outward) > OUTER * self._lengths
        if not outer.any():
            return 0.0
        lengths = np.linalg.norm(np.asarray(posed, np.float64)[self._near[outer]] - center, axis=1)
        losses = np.log2(self._lengths[outer] / np.maximum(lengths, MIN_LENGTH * self._lengths[outer]))
        return float(np.average(np.maximum(losses, 0.0), weights=self._areas[outer] + 1e-30))
