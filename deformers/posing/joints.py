"""Unknowns of a drag: rotations of joints, as Euler angles for joints with limits, and shifts of movers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..algebra.rotations import matrices_from_vectors
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

# A hinge resists becoming straighter than its `least` this much more than other joints: a limb that is locked straight
# would not bend any more.
LOCKING = 2500.0


@dataclass(frozen=True, eq=False)
class JointState:
    """Present rotations and shifts of the joints of a drag.

    Attributes
    ----------
    limits : RotationLimits
        A joint that is outside its limits at the start of the drag may stay there, but only move back.
    limited : bool array, shape (J,)
        Whether joints have limits.
    changes : float64 array, shape (J, 3, 3)
        As in `Linkage.place`.
    angles : float64 array, shape (J, 3)
        Euler angles of the local rotations, used for joints with limits.
    shifts : float64 array, shape (M, 3)
    lowest, highest : float64 arrays, shape (J, 3)
        Limits in this event.
    stiffness : float64 array, shape (J, 3, 3)
        Resistance of each joint to rotation about any axis, in the pose at the start of the drag. The identity if it is
        free about all axes.
    hinges : tuple of (int, Hinge)
        Joints that bend to one side.
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
        """Joints at the start of a drag."""
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
        """Widen the limits to the present angles."""
        return replace(
            self,
            lowest=np.minimum(self.limits.lowest, self.angles),
            highest=np.maximum(self.limits.highest, self.angles),
        )

    def place(self) -> np.ndarray:
        """Transforms of the groups of bones, shape (J + 1, 4, 4)."""
        return self.linkage.place(self.changes, self.shifts)

    @property
    def resistance(self) -> float:
        """Resistance of the joints: the sum of `(1 - cos(angle)) axis . stiffness axis`.

        Hinges that are straighter than their `least` also resist, as springs.
        """
        stiffness = self.stiffness
        traces = np.trace(stiffness, axis1=1, axis2=2)
        turned = np.trace(self.changes, axis1=1, axis2=2)
        # With S = tr(K) / 2 - K, this is tr(S) - tr(S C).
        turning = (0.5 * traces * (1.0 - turned) + np.einsum("jab,jba->j", stiffness, self.changes)).sum()
        return float(turning) + 0.5 * LOCKING * sum(short**2 for _, _, short in self._locking)

    @cached_property
    def _locking(self) -> list[tuple[int, Hinge, float]]:
        """Joints and hinges that are straighter than `least`, and by how much, radians."""
        shorts = [(joint, hinge, hinge.least - hinge.flexion(self.angles[joint])) for joint, hinge in self.hinges]
        return [found for found in shorts if found[2] > 0.0]

    def differentiate_resistance(self, moved: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient (J, 3) of `resistance`, and a Hessian (J, 3, 3), at least that without any rotation."""
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
        """Axes of the Euler angles at the start, (J, 3, 3), and which joints are changed by them."""
        axes = self.linkage.frames @ axes_of_angles(self.angles, self.limits.orders)
        clear = np.abs(np.linalg.det(axes)) > 0.15  # not near gimbal lock, where steps are clamped instead
        single = self.limits.locked.sum(axis=1) > 0  # one or two angles are left, with any axes
        return axes, self.limited & (clear | single)

    @cached_property
    def _chosen(self) -> np.ndarray:
        """Which of the 3 J + 3 M rotations and shifts are unknowns."""
        angular = self._by_angle[1][:, None]
        locked = angular & (self.highest - self.lowest <= SAME_ANGLE) & self.limits.locked
        free = self.linkage.bones.free[self.linkage.joints][:, None] & ~locked
        return np.concatenate([free.ravel(), np.ones(self.shifts.size, bool)])

    def unknowns(self, moved: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Find the unknowns of a step, for transforms of the groups, shape (J + 1, 4, 4).

        Returns
        -------
        axes : float64 array, shape (3 J + 3 M, N)
            Small rotations of the joints and shifts of the movers by each unknown, in armature space.
        lower, upper : float64 arrays, shape (N,)
            Limits of the change of each.
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
        """Largest motion of a joint by a change (N,): radians, or shares of the character's size."""
        whole = np.zeros(len(self._chosen))
        whole[self._chosen] = change
        turns, shifts = np.split(whole.reshape(-1, 3), [len(self.changes)])
        own, angular = self._by_angle
        turns = np.where(angular[:, None], (own @ turns[:, :, None])[:, :, 0], turns)
        return float(np.linalg.norm(np.concatenate([turns, shifts / size]), axis=1).max(initial=0.0))

    def changed(self, change: np.ndarray, moved: np.ndarray) -> JointState:
        """Change the unknowns by (N,). Their axes were found for `moved`, shape (J + 1, 4, 4).

        Near gimbal lock, a joint with limits rotates about fixed axes, and its Euler angles are clamped then.
        """
        whole = np.zeros(len(self._chosen))
        whole[self._chosen] = change
        turns, shifts = np.split(whole.reshape(-1, 3), [len(self.changes)])
        angular = self._by_angle[1]
        above = moved[self.linkage.above, :3, :3]
        local = (above.transpose(0, 2, 1) @ turns[:, :, None])[:, :, 0]
        changes = matrices_from_vectors(local) @ self.changes
        angles = np.clip(self.angles + np.where(angular[:, None], turns, 0.0), self.lowest, self.highest)
        clamped = self.limited & ~angular
        if clamped.any():
            frames, before = self.linkage.frames, self.linkage.bones.local[self.linkage.joints]
            found = frames[clamped].transpose(0, 2, 1) @ changes[clamped] @ frames[clamped] @ before[clamped]
            near = nearest_angles(found, self.limits.orders[clamped], self.angles[clamped])
            angles[clamped] = np.clip(near, self.lowest[clamped], self.highest[clamped])
        return replace(self, changes=changes, shifts=self.shifts + shifts).with_angles(angles)

    def bent(self, hinges: Mapping[int, Hinge], flexion: float) -> JointState:
        """Bend hinges, by their joints, to at least this angle on their side, radians, in this event."""
        angles, lowest, highest = self.angles.copy(), self.lowest.copy(), self.highest.copy()
        for joint, hinge in hinges.items():
            angles[joint, hinge.axis] = hinge.angle(flexion)
            (lowest if hinge.sign > 0.0 else highest)[joint, hinge.axis] = hinge.angle(flexion)
        return replace(self, lowest=lowest, highest=highest).with_angles(angles)

    def with_angles(self, angles: np.ndarray) -> JointState:
        """Replace the Euler angles, shape (J, 3), of joints with limits."""
        which = self.limited
        if not which.any():
            return replace(self, angles=angles)
        changes = self.changes.copy()
        wanted = rotations_from_angles(angles[which], self.limits.orders[which])
        changes[which] = self.linkage.frames[which] @ wanted @ self.linkage.homes[which]
        return replace(self, changes=changes, angles=angles)


def _find_stiffness(linkage: Linkage) -> np.ndarray:
    """Find `JointState.stiffness`."""
    factor, most = 50.0, 0.999  # how much more a bone of stiffness 0.5 resists; a limit of stiffness
    bones, own = linkage.bones, np.ones((len(linkage.joints), 3))
    if bones.stiffness is not None:
        given = np.clip(bones.stiffness[linkage.joints], 0.0, most)
        own = own + factor * given / (1.0 - given)
    axes = bones.rotations[linkage.joints]
    return (axes * own[:, None]) @ axes.transpose(0, 2, 1)
