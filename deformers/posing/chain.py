"""Chains of bones that reach for a target, joint by joint: cyclic coordinate descent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..algebra.rotations import matrices_from_vectors
from ..errors import SkinningError, find_unusable
from .bones import DragHandle, PosedBones
from .boxes import solve_in_box
from .held import HeldPoints
from .joints import JointState
from .limits import axes_of_angles, rotations_from_angles
from .linkage import link_joints


class Chain:
    """A chain that is dragged by its end.

    Attributes
    ----------
    linkage : Linkage
        Joints that rotate, from the first to the last.
    distance : float
        Distance of the end from its target.
    """

    def __init__(self, bones: PosedBones, joints: np.ndarray, position: np.ndarray, stiffness: np.ndarray) -> None:
        self.linkage = link_joints(bones, np.sort(joints))
        self._gives = 1.0 - np.clip(stiffness[np.sort(joints)], 0.0, 1.0)
        self._joints = JointState.begin(self.linkage)
        end = DragHandle(np.array([joints.max()]), np.ones(1), position)
        self._end = HeldPoints.hold(self.linkage, [end], np.ones(1), np.ones(1))
        self._position = position
        self._random = np.random.default_rng(1)
        self.distance = 0.0

    @property
    def posed(self) -> np.ndarray:
        """Present matrices of the bones, shape (B, 4, 4)."""
        return self.linkage.pose(self._joints.place())

    def move(self, target: np.ndarray, rounds: int = 30, tolerance: float = 1e-4) -> np.ndarray:
        """Reach for a target from the present pose.

        Raises SkinningError if the target is not a number.

        Parameters
        ----------
        target : float array, shape (3,)
            In armature space.
        rounds : int
            Largest number of sweeps over all joints, or of steps of all joints at once.
        tolerance : float
            Sufficient distance, in the unit of the points.

        Returns
        -------
        float64 array, shape (B, 4, 4)
            Matrices of all bones.

        Notes
        -----
        Joint by joint from the last to the first (Wang & Chen 1991), and angle by angle for joints with limits: the
        best angle about one axis within its limits is known exactly, so a joint slides along a limit. Deviations, as
        this alone is slow near a straight chain and may get stuck at limits: after a slow round, all joints take a step
        at once (damped least squares within the limits). After two rounds without progress, they restart from random
        angles within their limits if the chain is long enough. Such a result counts only if it reaches the target: an
        end that cannot reach its target must not jump.
        """
        slow, stuck = 0.6, 0.98  # shares of the distance that are left after a round
        target = np.asarray(target, np.float64)
        if find_unusable(target).any():
            raise SkinningError("The target is not a number, or is too far away: move the view closer to the character")
        self._joints = best = joints = self._joints.begin_event()
        least = distance = self._measure(joints, target)
        is_first, idle, together = True, 0, False
        corners = np.concatenate([self.linkage.heads, self._position[None]])
        reach = np.linalg.norm(np.diff(corners, axis=0), axis=1).sum()
        can_reach = np.linalg.norm(target - corners[0]) <= reach
        for _ in range(rounds):
            if least <= tolerance:
                break
            joints = self._step(joints, target) if together else self._sweep(joints, target)
            before, distance = distance, self._measure(joints, target)
            if distance < least and (is_first or distance <= tolerance):
                best, least = joints, distance
            idle = idle + 1 if distance > stuck * before else 0
            together = not together and distance > slow * before
            if idle >= 2 and can_reach:
                joints, idle, is_first, together = self._restart(), 0, False, False
                distance = self._measure(joints, target)
        self._joints, self.distance = best, least
        return self.posed

    def _measure(self, joints: JointState, target: np.ndarray) -> float:
        return float(np.linalg.norm(self._end.place(joints.place())[0] - target))

    def _sweep(self, joints: JointState, target: np.ndarray) -> JointState:
        """Rotate each joint in turn, from the last to the first, to bring the end as near as possible."""
        linkage, bones = self.linkage, self.linkage.bones
        moved, end = joints.place(), np.append(self._position, 1.0)
        changes, angles = joints.changes.copy(), joints.angles.copy()
        for joint in range(len(changes) - 1, -1, -1):
            head, bone = linkage.heads[joint], linkage.joints[joint]
            above = moved[linkage.above[joint]]
            aim = above[:3, :3].T @ (target - above[:3, 3]) - head
            arm = end[:3] - head
            if joints.limited[joint]:
                frame, before = bones.frames[bone], bones.local[bone]
                order = joints.limits.orders[joint]
                limits = joints.lowest[joint], joints.highest[joint]
                angles[joint] = aim_angles(
                    angles[joint], order, limits, before.T @ frame.T @ arm, frame.T @ aim, self._gives[joint]
                )
                turn = rotations_from_angles(angles[joint : joint + 1], order[None])[0]
                changes[joint] = frame @ turn @ before.T @ frame.T
            else:
                now = changes[joint] @ arm
                axis = np.cross(now, aim)
                sine = np.linalg.norm(axis)
                if sine > 1e-12:
                    turn = axis / sine * np.arctan2(sine, now @ aim) * self._gives[joint]
                    changes[joint] = matrices_from_vectors(turn[None])[0] @ changes[joint]
            end[:3] = head + changes[joint] @ arm
        return replace(joints, changes=changes, angles=angles)

    def _step(self, joints: JointState, target: np.ndarray) -> JointState:
        """Rotate all joints at once by damped least squares within their limits. Keep them if no step helps."""
        moved = joints.place()
        axes, lower, upper = joints.unknowns(moved)
        levers = self._end.find_levers(moved)
        slopes = self._end.find_slopes(levers).reshape(3, -1) @ axes
        weights = np.sqrt((np.abs(axes.T) @ np.repeat(self._gives, 3)) / np.abs(axes).sum(axis=0))
        slopes = slopes * weights
        offset = self._end.place(moved)[0] - target
        square, slope = slopes.T @ slopes, slopes.T @ offset
        bounds = [limit / np.maximum(weights, 1e-9) for limit in (lower, upper)]
        damping = 1e-6 * max(float(np.trace(square)) / len(square), 1e-30)
        for _ in range(4):
            change, _ = solve_in_box(square + damping * np.eye(len(square)), slope, *bounds)
            change *= weights * min(1.0, 1.0 / max(float(np.abs(change).max()), 1e-9))
            tried = joints.changed(change, moved)
            if self._measure(tried, target) < np.linalg.norm(offset):
                return tried
            damping *= 30.0
        return joints

    def _restart(self) -> JointState:
        """Rotate the joints to random angles within their limits."""
        joints, count = self._joints, len(self.linkage.joints)
        lowest = np.maximum(joints.lowest, joints.angles - 1.5)
        highest = np.minimum(joints.highest, joints.angles + 1.5)
        angles = self._random.uniform(lowest, highest)
        changes = matrices_from_vectors(self._random.normal(size=(count, 3)) * 0.7) @ joints.changes
        which, bones = joints.limited, self.linkage.bones
        frames, before = bones.frames[self.linkage.joints], bones.local[self.linkage.joints]
        wanted = frames @ rotations_from_angles(angles, joints.limits.orders)
        limited = wanted @ before.transpose(0, 2, 1) @ frames.transpose(0, 2, 1)
        changes = np.where(which[:, None, None], limited, changes)
        return replace(joints, changes=changes, angles=np.where(which[:, None], angles, joints.angles))


def aim_angles(
    angles: np.ndarray,
    order: np.ndarray,
    limits: tuple[np.ndarray, np.ndarray],
    arm: np.ndarray,
    aim: np.ndarray,
    gives: float = 1.0,
) -> np.ndarray:
    """Find Euler angles, float64, shape (3,), within limits that rotate an arm nearer to an aim, angle by angle.

    Parameters
    ----------
    angles, order : float and int arrays, shape (3,)
        Present angles, within the limits.
    limits : tuple of two float arrays, shape (3,)
        Lowest and highest angles.
    arm, aim : float arrays, shape (3,)
        Vectors from the joint, the arm before it is rotated.
    gives : float
        Share of each rotation that is done.
    """
    angles = np.array(angles, np.float64)
    # The outer axes come first because they carry the inner axes.
    for axis in order[::-1]:
        direction = axes_of_angles(angles[None], order[None])[0, :, axis]
        now = rotations_from_angles(angles[None], order[None])[0] @ arm
        cos = now @ aim - (now @ direction) * (aim @ direction)
        sin = direction @ np.cross(now, aim)
        if np.hypot(cos, sin) < 1e-12:
            continue
        turn = gives * np.arctan2(sin, cos)
        low, high = limits[0][axis] - angles[axis], limits[1][axis] - angles[axis]
        ends = np.clip([turn, turn + 2.0 * np.pi, turn - 2.0 * np.pi], low, high)
        angles[axis] += ends[np.argmax(np.round(cos * np.cos(ends) + sin * np.sin(ends), 12))]
    return angles


def begin_chain(
    bones: PosedBones, chain: Sequence[int] | np.ndarray, position: np.ndarray, stiffness: np.ndarray | None = None
) -> Chain:
    """Start to drag the end of a chain.

    Raises SkinningError if no bone of the chain is free.

    Parameters
    ----------
    chain : int array, shape (N,)
        Bones from the last to the first.
    position : float array, shape (3,)
        The end, which the last bone carries, in armature space.
    stiffness : float array, shape (B,), or None
        Stiffness of each bone, 0 to 1, as Blender's IK stiffness, 0 by default.
    """
    chain = np.asarray(chain, int)
    joints = chain[bones.free[chain] & ~bones.limits.locked[chain].all(axis=1)]
    if not joints.size:
        raise SkinningError("No bone of this chain can rotate: unlock a bone, or pose with the controls of the rig")
    stiffness = np.zeros(len(bones.parents)) if stiffness is None else np.asarray(stiffness, np.float64)
    return Chain(bones, joints, np.asarray(position, np.float64), stiffness)
