"""Limbs and trunk of a character as flesh sees them: the joints that bend together, and the poses that are tried."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..corrections.mirroring import mirror_rotation
from ..corrections.rotation_choice import choose_farthest, measure_angles, pose_joint, turn_about
from ..geometry.vectors import normalize
from ..rig.rest import Joints

REST = np.array([1.0, 0.0, 0.0, 0.0])

# Share of a bend by which a joint is bent at least where several are
MIN_SHARE = 0.3

# Frames that are nearer than this to another, or to rest, tell nothing new
MIN_APART = np.radians(15.0)


@dataclass(frozen=True, eq=False)
class Bend:
    """A joint and the ways in which it is bent.

    Attributes
    ----------
    bone : str
        Whose rotation tells how far the joint is bent.
    axes : float array, shape (3, 3)
        Of that bone at rest: columns, armature space.
    ways : float array, shape (D, 3)
        Axes about which it is bent, unit vectors, in those of the bone.
    limits : float array, shape (D,)
        How far about each, radians.
    played : float array, shape (F, 4)
        Rotations in the frames of actions.
    """

    joint: int
    bone: str
    axes: np.ndarray
    ways: np.ndarray
    limits: np.ndarray
    played: np.ndarray

    def list_rotations(self, way: int, step: float) -> np.ndarray:
        """Rotations about an axis up to its limit, (R, 4), in even steps of `step` radians at most."""
        limit = float(self.limits[way])
        count = max(1, math.ceil(limit / step - 1e-6))
        return turn_about(self.ways[way], limit * np.arange(1, count + 1) / count)

    def share_ways(self, rotations: np.ndarray) -> np.ndarray:
        """How much each way has part in rotations, (K, 4): (K, D), with a sum of 1."""
        shares = np.maximum(normalize(rotations[:, 1:]) @ self.ways.T, 0.0) ** 2
        sums = shares.sum(axis=1, keepdims=True)
        return np.where(sums > 1e-9, shares / np.maximum(sums, 1e-9), 1.0 / len(self.ways))


@dataclass(frozen=True, eq=False)
class Limb:
    """Joints that bend together, from the trunk outward.

    Attributes
    ----------
    others : tuple of Bend
        Their mirror images, if there are any.
    frame : float array, shape (3, 3)
        From armature space to axes in which x points from side to side.
    """

    bends: tuple[Bend, ...]
    others: tuple[Bend, ...]
    frame: np.ndarray

    @property
    def key(self) -> tuple[object, ...]:
        """Bones of the first side, and how they bend: what the choice of shapes depends on."""
        return tuple((one.bone, *(part.tobytes() for part in (one.axes, one.ways, one.limits))) for one in self.bends)

    @property
    def axes(self) -> tuple[np.ndarray, np.ndarray]:
        """Axes of the bones and of their mirror images, (J, 3, 3), as `mirror_rotation` takes them."""
        own, others = (np.array([self.frame @ bend.axes for bend in bends]) for bends in (self.bends, self.others))
        return own, others

    def list_single(self, step: float) -> Iterator[tuple[int, int, np.ndarray]]:
        """Which joint is bent alone in which way, and the rotations of all in each pose, (R, J, 4)."""
        for number, bend in enumerate(self.bends):
            for way in range(len(bend.ways)):
                own = bend.list_rotations(way, step)
                rotations = np.tile(REST, (len(own), len(self.bends), 1))
                rotations[:, number] = own
                yield number, way, rotations

    def mix(self, count: int, seed: int = 0) -> np.ndarray:
        """Rotations of poses in which all joints are bent at once, each in two ways: (K, J, 4)."""
        chance, found = np.random.default_rng(seed), np.tile(REST, (count, len(self.bends), 1))
        for number, bend in enumerate(self.bends):
            for row in found[:, number]:
                vector, ways = np.zeros(3), chance.permutation(len(bend.ways))[:2]
                for way in ways:
                    vector += chance.uniform(MIN_SHARE, 1.0) / math.sqrt(len(ways)) * bend.limits[way] * bend.ways[way]
                row[:] = turn_about(normalize(vector), [float(np.linalg.norm(vector))])[0]
        return found

    def list_played(self, count: int) -> np.ndarray:
        """Rotations of the frames farthest from rest and from one another, of both sides: (K, J, 4)."""
        played = np.stack([bend.played for bend in self.bends], axis=1)
        if self.others:
            theirs = np.stack([bend.played for bend in self.others], axis=1)
            played = np.concatenate([played, _mirror(theirs, *self.axes[::-1])])
        far = np.linalg.norm(measure_angles(played), axis=1) > MIN_APART
        return choose_farthest(played[far], count, MIN_APART) if far.any() else played[:0]

    def mirror(self, rotations: np.ndarray) -> np.ndarray:
        """Rotations of the mirror images, for rotations (K, J, 4) of these joints."""
        return _mirror(rotations, *self.axes)


def _mirror(rotations: np.ndarray, axes: np.ndarray, others: np.ndarray) -> np.ndarray:
    return np.array(
        [[mirror_rotation(*each) for each in zip(row, axes, others, strict=True)] for row in rotations]
    ).reshape(rotations.shape)


def pose_all(joints: Joints, bends: Sequence[Bend], rotations: np.ndarray) -> np.ndarray:
    """The pose, (B, 4, 4), armature space, in which each joint has its rotation, (J, 4), and no other has one."""
    levels = joints.chains.sum(np.ones(len(joints.parents), np.intp))
    matrices = np.tile(np.eye(4), (len(joints.parents), 1, 1))
    for number in np.argsort([levels[bend.joint] for bend in bends], kind="stable"):
        bend = bends[number]
        matrices = matrices @ pose_joint(joints, bend.joint, rotations[number], bend.axes)
    return matrices


def find_limbs(
    bends: Sequence[Bend], joints: Joints, limbs: np.ndarray, mirrored: np.ndarray, frame: np.ndarray
) -> list[Limb]:
    """Sort joints into limbs and trunk; of limbs on both sides, the second is the mirror image of the first.

    Parameters
    ----------
    limbs : bool array, shape (B,)
        Joints of limbs.
    mirrored : int array, shape (B,)
        Mirror image of each joint; itself in the middle, -1 for none.
    frame : float array, shape (3, 3)
        As of `Limb`.
    """
    by_joint, firsts = {bend.joint: bend for bend in bends}, {}
    levels = joints.chains.sum(np.ones(len(joints.parents), np.intp))
    for joint in sorted(by_joint, key=lambda joint: levels[joint]):
        first = joint
        while limbs[first] and joints.parents[first] >= 0 and limbs[joints.parents[first]]:
            first = int(joints.parents[first])
        firsts.setdefault(first if limbs[first] else -1, []).append(by_joint[joint])
    found, taken = list[Limb](), set[int]()
    for first, own in firsts.items():
        if first in taken:
            continue
        images = [by_joint[joint] for bend in own if (joint := int(mirrored[bend.joint])) in by_joint]
        image = int(mirrored[first]) if first >= 0 else -1
        is_pair = image not in (-1, first) and len(images) == len(firsts.get(image, ())) == len(own)
        if is_pair:
            taken.add(image)
        found.append(Limb(tuple(own), tuple(images) if is_pair else (), frame))
    return found
