"""The unknowns of a drag: rotations of its joints, as Euler angles where they have limits, and shifts of its movers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..algebra.dual_quaternions import rotations_from_quaternions
from .limits import (
    SAME_ANGLE,
    Hinge,
    RotationLimits,
    angles_within,
    axes_of_angles,
    nearest_angles,
    rotations_from_angles,
)
from .linkage import Linkage

LEAST_VOLUME = 0.15
"""Determinant of the axes of Euler angles below which steps are about fixed axes and then clamped: near gimbal lock."""

STIFFEST = 0.999
"""Stiffness of a bone that counts at most."""

STIFFER = 50.0
"""How much more a bone of stiffness 0.5 resists than one of stiffness 0."""


LOCKING = 2500.0
"""How much more than other joints a hinge resists to become straighter than its `least`: a limb that is locked straight
does not bend any more."""


@dataclass(frozen=True, eq=False)
class JointState:
    """The joints of a drag as they are now.

    Attributes
    ----------
    limits : RotationLimits
        Of the joints. A joint that was outside when the drag began may stay there, but goes back alone.
    limited : bool array, shape (J,)
        Which joints have limits.
    changes : float64 array, shape (J, 3, 3)
        As in `Linkage.place`.
    angles : float64 array, shape (J, 3)
        Euler angles of the local rotations; of use where there are limits.
    shifts : float64 array, shape (M, 3)
    lowest, highest : float64 arrays, shape (J, 3)
        Limits in this event.
    stiffness : float64 array, shape (J, 3, 3)
        How much each joint resists rotation about any axis, in the pose of the beginning. Free about all axes it is the
        identity.
    hinges : tuple of (int, Hinge)
        Those of the joints that bend to one side, each with its joint.
    """

    linkage: Linkage
    limits: RotationLimits
    limited: np.ndarray
    changes: np.ndarray
    angles: np.ndarray
    shifts: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    stiffness: np.ndarray
    hinges: tuple[tuple[int, Hinge], ...]

    @classmethod
    def begin(cls, linkage: Linkage) -> JointState:
        """Joints as a drag finds them."""
        limits = linkage.bones.limits.take(linkage.joints)
        angles = angles_within(linkage.bones.local[linkage.joints], limits)
        count = len(linkage.joints)
        changes, shifts = np.tile(np.eye(3), (count, 1, 1)), np.zeros((len(linkage.movers), 3))
        places = {int(bone): joint for joint, bone in enumerate(linkage.joints)}
        hinges = tuple((places[hinge.bone], hinge) for hinge in linkage.bones.hinges if hinge.bone in places)
        hinges = tuple((joint, hinge.begun(angles[joint])) for joint, hinge in hinges)
        stiffness, ends = _find_stiffness(linkage), (limits.lowest, limits.highest)
        return cls(linkage, limits, limits.limited, changes, angles, shifts, *ends, stiffness, hinges)

    def begin_event(self) -> JointState:
        """The same with limits that hold what is within them now."""
        return replace(
            self,
            lowest=np.minimum(self.limits.lowest, self.angles),
            highest=np.maximum(self.limits.highest, self.angles),
        )

    def place(self) -> np.ndarray:
        """What carries each group of bones, shape (J + 1, 4, 4)."""
        return self.linkage.place(self.changes, self.shifts)

    @property
    def resistance(self) -> float:
        """What the joints resist by themselves: the sum of `(1 - cos(angle)) axis . stiffness axis`.

        Hinges that are straighter than their `least` resist that, too, as springs.
        """
        stiffness = self.stiffness
        traces = np.trace(stiffness, axis1=1, axis2=2)
        turned = np.trace(self.changes, axis1=1, axis2=2)
        # With S = tr(K) / 2 - K this is tr(S) - tr(S C).
        turning = (0.5 * traces * (1.0 - turned) + np.einsum("jab,jba->j", stiffness, self.changes)).sum()
        return float(turning) + 0.5 * LOCKING * sum(short**2 for _, _, short in self._locking)

    @cached_property
    def _locking(self) -> list[tuple[int, Hinge, float]]:
        """Hinges, with their joints, that are straighter than they like, and by how much, radians."""
        shorts = [(joint, hinge, hinge.least - hinge.flexion(self.angles[joint])) for joint, hinge in self.hinges]
        return [found for found in shorts if found[2] > 0.0]

    def differentiate_resistance(self, moved: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of `resistance`.

        Parameters
        ----------
        moved : float64 array, shape (J + 1, 4, 4)

        Returns
        -------
        gradient : float64 array, shape (J, 3)
        hessian : float64 array, shape (J, 3, 3)
            Of each joint by itself; at least what it is where nothing has rotated.
        """
        stiffness, above = self.stiffness, moved[self.linkage.above, :3, :3]
        half = 0.5 * np.trace(stiffness, axis1=1, axis2=2)[:, None, None] * np.eye(3)
        c = self.changes @ (half - stiffness)
        axial = np.stack([c[:, 2, 1] - c[:, 1, 2], c[:, 0, 2] - c[:, 2, 0], c[:, 1, 0] - c[:, 0, 1]], axis=1)
        gradient, hessian = (above @ axial[:, :, None])[:, :, 0], above @ stiffness @ above.transpose(0, 2, 1)
        for joint, hinge, short in self._locking:
            axis = hinge.sign * above[joint] @ self._by_angle[0][joint, :, hinge.axis]
            gradient[joint] -= LOCKING * short * axis
            hessian[joint] += LOCKING * np.outer(axis, axis)
        return gradient, hessian

    @cached_property
    def _by_angle(self) -> tuple[np.ndarray, np.ndarray]:
        """Axes of the Euler angles in the pose of the beginning, (J, 3, 3), and which joints are changed by them."""
        axes = self.linkage.frames @ axes_of_angles(self.angles, self.limits.orders)
        clear = np.abs(np.linalg.det(axes)) > LEAST_VOLUME
        single = self.limits.locked.sum(axis=1) > 0  # one or two angles are left, whatever their axes
        return axes, self.limited & (clear | single)

    @cached_property
    def _chosen(self) -> np.ndarray:
        """Which of all 3 J + 3 M rotations and shifts are unknowns."""
        angular = self._by_angle[1][:, None]
        locked = angular & (self.highest - self.lowest <= SAME_ANGLE) & self.limits.locked
        free = self.linkage.bones.free[self.linkage.joints][:, None] & ~locked
        return np.concatenate([free.ravel(), np.ones(self.shifts.size, bool)])

    def unknowns(self, moved: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What a step changes.

        Parameters
        ----------
        moved : float64 array, shape (J + 1, 4, 4)

        Returns
        -------
        axes : float64 array, shape (3 J + 3 M, N)
            What each unknown does to small rotations of the joints and to shifts of the movers, armature space.
        lower, upper : float64 arrays, shape (N,)
            How far each may go from where it is.
        """
        count, movers = len(self.changes), self.linkage.movers
        own, angular = self._by_angle
        above = moved[self.linkage.above, :3, :3]
        blocks = np.where(angular[:, None, None], above @ own, np.eye(3))
        axes = np.zeros((count + len(movers), 3, count + len(movers), 3))
        every = np.arange(count + len(movers))
        axes[every, :, every] = np.concatenate([blocks, above[movers]])
        chosen = self._chosen
        infinite = np.full((len(movers), 3), np.inf)
        lower = np.where(angular[:, None], self.lowest - self.angles, -np.inf)
        upper = np.where(angular[:, None], self.highest - self.angles, np.inf)
        return (
            axes.reshape(len(chosen), -1)[:, chosen],
            np.concatenate([lower, -infinite]).ravel()[chosen],
            np.concatenate([upper, infinite]).ravel()[chosen],
        )

    def measure(self, change: np.ndarray, size: float) -> float:
        """How far a change (N,) takes the joint that it takes farthest: radians, or shares of the character's size."""
        whole = np.zeros(len(self._chosen))
        whole[self._chosen] = change
        turns, shifts = np.split(whole.reshape(-1, 3), [len(self.changes)])
        own, angular = self._by_angle
        turns = np.where(angular[:, None], (own @ turns[:, :, None])[:, :, 0], turns)
        return float(np.linalg.norm(np.concatenate([turns, shifts / size]), axis=1).max(initial=0.0))

    def changed(self, change: np.ndarray, moved: np.ndarray) -> JointState:
        """The joints after a step.

        Parameters
        ----------
        change : float64 array, shape (N,)
            Of the unknowns.
        moved : float64 array, shape (J + 1, 4, 4)
            Where the unknowns' axes were found.

        Notes
        -----
        Near gimbal lock a joint with limits rotates about fixed axes; its Euler angles are then clamped.
        """
        whole = np.zeros(len(self._chosen))
        whole[self._chosen] = change
        turns, shifts = np.split(whole.reshape(-1, 3), [len(self.changes)])
        angular = self._by_angle[1]
        above = moved[self.linkage.above, :3, :3]
        local = (above.transpose(0, 2, 1) @ turns[:, :, None])[:, :, 0]
        changes = rotate(local) @ self.changes
        angles = np.clip(self.angles + np.where(angular[:, None], turns, 0.0), self.lowest, self.highest)
        clamped = self.limited & ~angular
        if clamped.any():
            frames, before = self.linkage.frames, self.linkage.bones.local[self.linkage.joints]
            found = frames[clamped].transpose(0, 2, 1) @ changes[clamped] @ frames[clamped] @ before[clamped]
            near = nearest_angles(found, self.limits.orders[clamped], self.angles[clamped])
            angles[clamped] = np.clip(near, self.lowest[clamped], self.highest[clamped])
        return replace(self, changes=changes, shifts=self.shifts + shifts).with_angles(angles)

    def bent(self, hinges: Mapping[int, Hinge], flexion: float) -> JointState:
        """The same with some hinges, by their joints, bent so far to their side, radians, in this event at least."""
        angles, lowest, highest = self.angles.copy(), self.lowest.copy(), self.highest.copy()
        for joint, hinge in hinges.items():
            angles[joint, hinge.axis] = hinge.angle(flexion)
            (lowest if hinge.sign > 0.0 else highest)[joint, hinge.axis] = hinge.angle(flexion)
        return replace(self, lowest=lowest, highest=highest).with_angles(angles)

    def with_angles(self, angles: np.ndarray) -> JointState:
        """The same with other Euler angles, shape (J, 3), of the joints that have limits."""
        which = self.limited
        if not which.any():
            return replace(self, angles=angles)
        changes = self.changes.copy()
        wanted = rotations_from_angles(angles[which], self.limits.orders[which])
        changes[which] = self.linkage.frames[which] @ wanted @ self.linkage.homes[which]
        return replace(self, changes=changes, angles=angles)


def _find_stiffness(linkage: Linkage) -> np.ndarray:
    """`JointState.stiffness`."""
    bones, own = linkage.bones, np.ones((len(linkage.joints), 3))
    if bones.stiffness is not None:
        given = np.clip(bones.stiffness[linkage.joints], 0.0, STIFFEST)
        own = own + STIFFER * given / (1.0 - given)
    axes = bones.rotations[linkage.joints]
    return (axes * own[:, None]) @ axes.transpose(0, 2, 1)


def rotate(vectors: np.ndarray) -> np.ndarray:
    """Rotations about vectors by their lengths, radians, shape (N, 3) to (N, 3, 3)."""
    angles = np.linalg.norm(vectors, axis=1, keepdims=True)
    return rotations_from_quaternions(
        np.concatenate([np.cos(0.5 * angles), 0.5 * np.sinc(angles / (2.0 * np.pi)) * vectors], axis=1)
    )
