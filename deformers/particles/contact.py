"""Contact of flesh where limbs bend: points stay on their side of the plane halfway between both bones."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..rig.rest import Joints, Pose, Weights
from ..skinning.joint_limits import LimitRows, sort_limits
from ..skinning.joint_shares import find_joint_shares
from ..skinning.limb_roots import find_limb_hinges


@dataclass(frozen=True, eq=False)
class Contact:
    """Points that may come into contact, of skin or particles.

    Attributes
    ----------
    points : float64 array, shape (N, 3)
        At rest, object space.
    rows : LimitRows
        Of those that may come into contact, numbered as the points are.
    """

    points: np.ndarray
    rows: LimitRows

    def with_points(self, points: np.ndarray) -> Contact:
        """The same for another shape of the points, (N, 3), object space."""
        return replace(self, points=np.asarray(points, np.float64), rows=self.rows.for_other_points())

    def push(self, posed: np.ndarray, pose: Pose, amounts: np.ndarray) -> np.ndarray:
        """Where posed points have to go, from where they are: float32, shape (N, 3), object space.

        Parameters
        ----------
        posed : float array, shape (N, 3)
        amounts : float array, shape (B,)
            How much of contact there is at each joint, 0 to 1.
        """
        into = np.eye(4) if pose.object_to_armature is None else pose.object_to_armature
        linear, moved = into[:3, :3], into[:3, 3:]

        def rest(chosen: np.ndarray) -> np.ndarray:
            return linear @ self.points[chosen].T + moved

        before = (linear @ posed.T + moved).astype(np.float32)
        after = before.copy()
        self.rows.correct(0, before.shape[1], rest, after, pose)
        after -= before
        after[:, self.rows.ranks] *= amounts[self.rows.joints].astype(np.float32)
        return (after.T @ np.linalg.inv(linear).T).astype(np.float32)


def bind_contact(
    points: np.ndarray,
    weights: Weights,
    joints: Joints,
    space: np.ndarray | None,
    triangles: np.ndarray | None = None,
    amounts: np.ndarray | float = 1.0,
) -> Contact | None:
    """Contact of points at the joints where limbs bend; None where no point is at one.

    Parameters
    ----------
    points : float array, shape (N, 3)
        At rest, object space.
    weights : Weights
        Of the joints; need not be normalized.
    joints : Joints
        Without fractions.
    space : float array, shape (4, 4), or None
        From object to armature space.
    triangles : int array, shape (T, 3), or None
        As of `find_joint_shares`.
    amounts : float array, shape (N,), or float
        How much of contact each point takes, 0 to 1.
    """
    points = np.asarray(points, np.float64)
    in_armature = points if space is None else points @ space[:3, :3].T + space[:3, 3]
    shares = find_joint_shares(in_armature, weights, joints, triangles)
    shares.contacts[:] *= amounts
    shares.contacts[~np.append(find_limb_hinges(joints), False)[shares.joints]] = 0.0
    rows = sort_limits(shares, joints, 0.0, 1.0, np.arange(len(points)))
    return None if rows is None else Contact(points, rows)
