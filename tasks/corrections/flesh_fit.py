"""Keys of flesh, fitted: to bends of one joint, to poses in which all joints are bent, and to frames of the actions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

import numpy as np

from ...deformers.corrections.offset_fit import OffsetFit, find_mask
from ...deformers.corrections.rotation_choice import measure_angles, pose_joint, turn_about
from ...deformers.geometry.vectors import normalize
from ...deformers.rig.rest import Joints
from ..steps import Progress
from .fleshy_character import FleshyCharacter
from .from_joints import BentJoint
from .from_method import NEAR, Fitted, JointKeys

# Share of the character's size that a joint must change the skin by, somewhere, to be corrected
LEAST_CHANGE = 1e-3

# Degrees from one pose of a joint to the next, at most, that its keys are fitted to: they grow as its angle
STEP = 30.0

# Poses in which all joints are bent
MIXED = 16

# More of these, which tell how much they count in the fit
LEFT_OUT = 8

# What a pose of several joints may count in the fit, where a joint bent alone counts 1. Keys add up, flesh does not:
# the more such poses count, the nearer keys come in them, and the farther they are where one joint is bent.
OF_SEVERAL = 0.1, 0.3, 1.0

# Share of a bend, in such poses, that a joint is bent by at least
LEAST_BEND = 0.4

# Of all actions, that corrections are fitted to
MOST_FRAMES = 24


@dataclass(eq=False)
class Bends:
    """A joint and its sampled rotations.

    Attributes
    ----------
    rotations : float array, shape (R, 4)
    offsets : list of lists of float32 arrays
        Of each rotation and mesh.
    products : float array, shape (R, R)
        Inner products of the changes by Particles.
    gains : float array, shape (R,)
        Weighted size of the changes; 0 if too small.
    """

    joint: BentJoint
    rotations: np.ndarray
    is_hinge: bool
    offsets: list[list[np.ndarray]] = field(default_factory=list)
    products: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    gains: np.ndarray = field(default_factory=lambda: np.zeros(0))


def bend_between(bends: Sequence[Bends], joints: Joints) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Poses in which one joint is bent by less than at its keys: the rotation of each, (N, 4), and (B, 4, 4)."""
    for number, bend in enumerate(bends):
        angle = 0.0
        for rotation in bend.rotations:
            whole = float(measure_angles(rotation))
            before, angle = angle if bend.is_hinge else 0.0, whole
            for between in np.linspace(before, whole, math.ceil((whole - before) / np.radians(STEP) - 1e-6) + 1)[1:-1]:
                rotations = np.tile([1.0, 0.0, 0.0, 0.0], (len(bends), 1))
                rotations[number] = turn_about(normalize(rotation[1:]), [float(between)])[0]
                yield rotations, pose_joint(joints, bend.joint.joint, rotations[number], bend.joint.axes)


def mix_bends(
    bends: Sequence[Bends], joints: Joints, seed: int = 0, count: int = MIXED
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Poses in which all joints are bent: the rotation of each, (N, 4), and the matrices (B, 4, 4)."""
    chance = np.random.default_rng(seed)
    for _ in range(count):
        rotations = []
        for bend in bends:
            whole = bend.rotations[chance.integers(len(bend.rotations))]
            angle = chance.uniform(LEAST_BEND, 1.0) * measure_angles(whole)
            rotations.append(turn_about(normalize(whole[1:]), [float(angle)])[0])
        yield np.array(rotations), _bend_all(bends, joints, rotations)


def _bend_all(bends: Sequence[Bends], joints: Joints, rotations: Sequence[np.ndarray] | np.ndarray) -> np.ndarray:
    """The pose, (B, 4, 4), in which each joint has its rotation, (4,), and no other has one."""
    levels = joints.chains.sum(np.ones(len(joints.parents), np.intp))
    matrices = np.tile(np.eye(4), (len(joints.parents), 1, 1))
    for number in np.argsort([levels[bend.joint.joint] for bend in bends], kind="stable"):
        joint = bends[number].joint
        matrices = matrices @ pose_joint(joints, joint.joint, rotations[number], joint.axes)
    return matrices


def fit_bends(
    character: FleshyCharacter,
    bends: Sequence[Bends],
    planned: Sequence[Sequence[JointKeys]],
    joints: Joints,
    progress: Progress,
) -> list[Fitted]:
    """Fit offsets by least squares to bends of single joints, mixed poses and frames of the actions.

    In frames, only these joints are bent, so that they do not make up for others. A mesh without planned keys gets
    none.
    """
    fits = [MeshFit(character, number, bends, keys) for number, keys in enumerate(planned)]
    poses = [(*pose, Kind.ALONE) for pose in bend_between(bends, joints)]
    poses += [(*pose, Kind.SEVERAL) for pose in mix_bends(bends, joints)]
    poses += [(*pose, Kind.LEFT_OUT) for pose in mix_bends(bends, joints, 2, LEFT_OUT)]
    count = min(len(bend.joint.rotations) for bend in bends)
    for frame in np.unique(np.linspace(0, count - 1, min(count, MOST_FRAMES)).round().astype(int)) if count else ():
        rotations = np.array([bend.joint.rotations[frame] for bend in bends])
        poses.append((rotations, _bend_all(bends, joints, rotations), Kind.SEVERAL))
    for number, (rotations, matrices, kind) in enumerate(poses):
        offsets = character.find_offsets(matrices)
        for fit in fits:
            fit.add(rotations, offsets, kind)
        progress(0.6 + 0.4 * (number + 1) / len(poses))
    tried = [[fit.solve(weight) for fit in fits] for weight in OF_SEVERAL]
    missed = [np.sum([fit.measure(found) for fit, found in zip(fits, each, strict=True)], axis=0) for each in tried]
    best = int(np.argmin([(left / np.maximum(wanted, 1e-30)).sum() for left, wanted in missed]))
    return [fit.describe(found) for fit, found in zip(fits, tried[best], strict=True)]


class Kind(Enum):
    """The kind of a pose: of one joint, of several, or left out of the fit to measure it."""

    ALONE = auto()
    SEVERAL = auto()
    LEFT_OUT = auto()


class MeshFit:
    """The corrections of one mesh, as they are fitted."""

    def __init__(
        self, character: FleshyCharacter, number: int, bends: Sequence[Bends], planned: Sequence[JointKeys]
    ) -> None:
        self.mesh, self._number = character.meshes[number], number
        least = (LEAST_CHANGE * character.size) ** 2
        scale = np.square(np.linalg.svd(self.mesh.space[:3, :3], compute_uv=False).max())
        self._kept = []
        for index, (keys, bend) in enumerate(zip(planned, bends, strict=bool(planned))):
            offsets = self._own(bend)
            if scale * np.square(offsets).sum(axis=2).max(initial=0.0) > least:
                self._kept.append((index, keys, bend))
        masks = [np.tile(find_mask(self._own(bend)), (len(keys.corrections), 1)) for _, keys, bend in self._kept]
        self._starts = np.cumsum([0, *(len(keys.corrections) for _, keys, _ in self._kept)])
        every = np.concatenate(masks) if masks else np.zeros((0, len(character.shares[number])))
        self._fits = {kind: OffsetFit(every) for kind in (Kind.ALONE, Kind.SEVERAL)}
        self._rows = self._fits[Kind.ALONE].rows
        self._examples: dict[Kind, list[tuple[np.ndarray, np.ndarray]]] = {kind: [] for kind in Kind}
        for place, (_, keys, bend) in enumerate(self._kept):
            for rotation, offsets in zip(bend.rotations, bend.offsets, strict=True):
                values = np.zeros(self._starts[-1])
                values[self._starts[place] : self._starts[place + 1]] = keys.read(rotation[None])[0]
                self._fits[Kind.ALONE].add(values, offsets[number][self._rows])

    def _own(self, bend: Bends) -> np.ndarray:
        return np.array([offsets[self._number] for offsets in bend.offsets])

    def add(self, rotations: np.ndarray, offsets: Sequence[np.ndarray], kind: Kind) -> None:
        """Add a pose: the rotation of each joint, (N, 4), and the offsets wanted of each mesh."""
        if not self._kept:
            return
        values = np.concatenate([keys.read(rotations[index][None])[0] for index, keys, _ in self._kept])
        wanted = offsets[self._number][self._rows]
        self._examples[kind].append((values, wanted))
        if kind in self._fits:
            self._fits[kind].add(values, wanted)

    def solve(self, of_several: float) -> np.ndarray:
        """The offsets that miss least, (K, V, 3), if poses of several joints count so much."""
        return self._fits[Kind.ALONE].plus(self._fits[Kind.SEVERAL], of_several).solve()

    def measure(self, found: np.ndarray) -> np.ndarray:
        """Sums of squares of errors and of wanted offsets, in poses of one joint and in those left out."""
        kinds = Kind.ALONE, Kind.LEFT_OUT
        return self.mesh.millimeters**2 * np.array([self._sum(found, kind, slice(None)) for kind in kinds]).T

    def _sum(self, found: np.ndarray, kind: Kind, part: slice | np.ndarray) -> tuple[float, float]:
        own, left, total = found[:, self._rows[part]], 0.0, 0.0
        for values, wanted in self._examples[kind]:
            left += float(np.square(wanted[part] - np.tensordot(values.astype(np.float32), own, axes=1)).sum())
            total += float(np.square(wanted[part]).sum())
        return left, total

    def describe(self, found: np.ndarray) -> Fitted:
        """The corrections, and how near they come in poses of several joints."""
        if not self._kept:
            return Fitted(self.mesh, [], [], np.zeros(3))
        near = self._fits[Kind.ALONE].masks[:, self._rows].max(axis=0) > NEAR
        left, total = self._sum(found, Kind.SEVERAL, near)
        squares = np.array([near.sum() * len(self._examples[Kind.SEVERAL]), 0.0, 0.0])
        squares[1:] = self.mesh.millimeters**2 * np.array([total, left])
        return Fitted(self.mesh, [keys for _, keys, _ in self._kept], np.split(found, self._starts[1:-1]), squares)
