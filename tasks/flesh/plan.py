"""Which shape the skin takes at each joint, and the keys that give it: computed, without Blender's data."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...deformers import SkinningError
from ...deformers.corrections.rotation_choice import measure_angles
from ...deformers.flesh.choice import choose_skin, measure_change
from ...deformers.flesh.limbs import Limb, find_limbs, pose_all
from ...deformers.flesh.outer import OuterMeter
from ...deformers.flesh.ramps import MIN_MOVE, Ramps, choose_ramps, fit_offsets, measure_left, measure_products
from ...deformers.flesh.solid import Binding, Params, bind, mirror, solve
from ...deformers.geometry.solid import vertex_areas
from ...deformers.geometry.vectors import normalize, transform_points
from ...deformers.measures.folds import FoldMeter, find_near
from ...deformers.measures.pictures import draw_skin
from ...deformers.rig.rest import Joints, Weights
from ...deformers.skinning.limb_roots import find_limbs as find_limb_joints
from ...options import SHAPES
from ..steps import Progress
from .character import FleshyCharacter, Posed

# The shapes that skin may take: as it is, but beneath tight clothes, smoothed, that of the solid, and that smoothed
BASE, SMOOTH, SOLID, SMOOTH_SOLID = range(4)
MOVED = SMOOTH, SOLID, SMOOTH_SOLID
LABELS = tuple(SHAPES.values())

# Most that a pose of a joint whose skin changes little counts beside others
MAX_WEIGHT = 4.0

# Offsets below this, in heights of the character, are not worth a vertex of a key: .2 mm of 1.8 m
TINY = 1e-4


# Half of a picture's width: in radii of the joint, and at least in heights of the character
VIEWED, LEAST_VIEWED = 3.0, 0.09

# How far pictures of a hinge are seen from outside of the body, beside its axis
TILT = 0.4


@dataclass(frozen=True)
class Quality:
    """How much is computed.

    Attributes
    ----------
    solid : Params
    step : float
        Degrees from one pose of a joint to the next, at most.
    mixed, played : int
        Poses of several joints, and frames of actions, of each limb.
    """

    solid: Params
    step: float
    mixed: int
    played: int


QUICK = Quality(Params(fineness=1.8, most_cells=2500, steps=4, iterations=6, least=30, most=50), 90.0, 4, 6)
FULL = Quality(Params(fineness=3.0), 45.0, 6, 8)
QUALITIES = {"QUICK": QUICK, "FULL": FULL}


@dataclass(frozen=True, eq=False)
class FittedMesh:
    """Keys of a limb on one mesh.

    Attributes
    ----------
    kept : int array, shape (M,)
        Functions that have keys.
    shapes : float32 array, shape (M, n, 3)
        Offsets at value 1, space of the character.
    """

    number: int
    kept: np.ndarray
    shapes: np.ndarray


@dataclass(frozen=True, eq=False)
class FittedSide:
    """Keys of a limb, or of its mirror image.

    Attributes
    ----------
    bones : tuple of str, length J
    ramps : Ramps
        Of the rotations of these bones.
    peaks : float array, shape (N, J, 4)
        Rotations at which each function is largest.
    left : float
        Share of the distance to the chosen shapes that remains, rms over all samples.
    """

    bones: tuple[str, ...]
    ramps: Ramps
    peaks: np.ndarray
    meshes: list[FittedMesh]
    left: float


@dataclass(frozen=True, eq=False)
class FittedLimb:
    """The keys of a limb, and the shapes that were chosen.

    Attributes
    ----------
    chosen : list of (str, tuple of int, float)
        Of each joint: the bone, the shape in each way, and how far it moves the skin at most.
    choice : dict of (int, int) to int
        The shape by joint and way.
    best : dict of (int, int) to int
        The shape that measures best, where this was looked for.
    known : KnownShapes
        All shapes that were computed.
    """

    sides: list[FittedSide]
    chosen: list[tuple[str, tuple[int, ...], float]]
    choice: dict[tuple[int, int], int]
    best: dict[tuple[int, int], int]
    known: KnownShapes


class KnownShapes:
    """Offsets of the shapes of a limb's skin in poses, by side: half as exact as numbers can be, to keep them all."""

    def __init__(self) -> None:
        self._found = dict[tuple[bytes, int, int], tuple[np.ndarray, np.ndarray]]()

    def add(self, rotations: np.ndarray, side: int, shape: int, offsets: np.ndarray) -> None:
        """Add offsets, (V, 3), in sizes of the character, of a shape in a pose, (J, 4)."""
        rows = np.flatnonzero(np.abs(offsets).max(axis=1) > TINY).astype(np.int32)
        self._found[rotations.tobytes(), side, shape] = rows, offsets[rows].astype(np.float16)

    def has(self, rotations: np.ndarray, side: int, shape: int) -> bool:
        """Whether a shape is known in a pose."""
        return (rotations.tobytes(), side, shape) in self._found

    def find(self, rotations: np.ndarray, side: int, shape: int, count: int) -> np.ndarray:
        """Offsets, float32, (count, 3); 0 of a shape that is not known."""
        offsets = np.zeros((count, 3), np.float32)
        if self.has(rotations, side, shape):
            rows, values = self._found[rotations.tobytes(), side, shape]
            offsets[rows] = values
        return offsets


@dataclass(eq=False)
class _Tried:
    """One joint bent alone in one way: its poses, (P, J, 4), and of each shape its measures, (P, 3), and changes, P."""

    joint: int
    way: int
    rotations: np.ndarray
    measures: list[list[tuple[float, float, float]]] = field(default_factory=lambda: [[] for _ in SHAPES])
    changes: list[list[float]] = field(default_factory=lambda: [[] for _ in SHAPES])


def list_limbs(character: FleshyCharacter, bends: Sequence, joints: Joints) -> list[Limb]:
    """The limbs of a character, and its trunk."""
    return find_limbs(bends, joints, find_limb_joints(joints), character.mirrored, character.frame)


class Fitting:
    """The poses of a limb and of its mirror image: its shapes are chosen, and keys fitted to them.

    Parameters
    ----------
    picked : dict of (int, int) to int
        Shapes that the user has picked, by joint and way.
    before : FittedLimb, optional
        What was computed of it before.
    """

    def __init__(
        self,
        character: FleshyCharacter,
        limb: Limb,
        joints: Joints,
        quality: Quality,
        picked: dict[tuple[int, int], int],
        before: FittedLimb | None = None,
    ) -> None:
        self.character, self.limb, self.joints, self.quality, self.picked = character, limb, joints, quality, picked
        self.known = KnownShapes() if before is None else before.known
        self.best = {} if before is None else dict(before.best)
        self.sides = [limb.bends, limb.others] if limb.others else [limb.bends]
        self.bindings = dict[tuple[int, ...], list[Binding]]()

    def run(self, progress: Progress) -> FittedLimb:
        """All of it; `progress` is told the share that is done."""
        singles = [_Tried(*each) for each in self.limb.list_single(np.radians(self.quality.step))]
        several = [*self.limb.mix(self.quality.mixed), *self.limb.list_played(self.quality.played)]
        total = sum(len(tried.rotations) for tried in singles) + 2 * len(several)
        done = 0
        for tried in singles:
            for rotations in tried.rotations:
                self.try_shapes(tried, rotations, lambda share, done=done: progress((done + share) / total))
                done += 1
        choice = {(tried.joint, tried.way): self.choose(tried) for tried in singles}
        chosen = [
            (
                bend.bone,
                tuple(choice[number, way] for way in range(len(bend.ways))),
                max(max(tried.changes[choice[number, tried.way]]) for tried in singles if tried.joint == number),
            )
            for number, bend in enumerate(self.limb.bends)
        ]
        if not any(choice.values()) and not self.character.covers:
            return FittedLimb([], chosen, choice, self.best, self.known)
        poses, offsets = [], list[list[np.ndarray]]()
        for tried in singles:
            for rotations in tried.rotations:
                poses.append(rotations)
                offsets.append(self.find_known(rotations, choice[tried.joint, tried.way]))
        for rotations in several:
            poses.append(rotations)
            offsets.append(
                self.blend(rotations, choice, lambda share, done=done: progress((done + 2.0 * share) / total))
            )
            done += 2
        return FittedLimb(list(self.fit(np.array(poses), offsets)), chosen, choice, self.best, self.known)

    def find_known(self, rotations: np.ndarray, shape: int) -> list[np.ndarray]:
        """Offsets of both sides in a pose in which the shape is known."""
        count = int(self.character.starts[-1])
        return [self.known.find(rotations, side, shape, count) for side in range(len(self.sides))]

    def pose(self, rotations: np.ndarray) -> Iterator[tuple[Posed, np.ndarray]]:
        """Both sides in a pose, (J, 4), with the matrices of the character's space."""
        for number, bends in enumerate(self.sides):
            own = self.limb.mirror(rotations[None])[0] if number else rotations
            matrices = pose_all(self.joints, bends, own)
            yield self.character.pose(matrices), self.character.turn(matrices)

    def solve(
        self, rotations: np.ndarray, matrices: np.ndarray, progress: Progress
    ) -> tuple[list[Binding], np.ndarray] | None:
        """The bindings of both sides and the solid in a pose; None if no joint of it moves flesh."""
        turned = tuple(np.flatnonzero(measure_angles(rotations) > np.radians(3.0)).tolist())
        if turned not in self.bindings:
            body, partners = self.character.body, self.character.mirrored
            try:
                found = [bind(body, matrices, self.quality.solid)]
            except SkinningError:
                return None
            if len(self.sides) > 1:
                found.append(mirror(found[0], np.where(partners < 0, np.arange(len(partners)), partners)))
            if len(turned) == 1:  # the next joint is bent alone, and this no more
                self.bindings.clear()
            self.bindings[turned] = found
        return self.bindings[turned], solve(self.bindings[turned][0], matrices, progress)[0]

    def list_shapes(
        self, rotations: np.ndarray, needed: Sequence[int], progress: Progress
    ) -> Iterator[tuple[Posed, np.ndarray, dict[int, np.ndarray]]]:
        """Of each side in a pose: the base, the matrices, and the offsets of each shape that is needed, (V, 3).

        A smoothed solid needs the solid.
        """
        character, solved, first = self.character, None, None
        for side, (posed, matrices) in enumerate(self.pose(rotations)):
            found, count = dict[int, np.ndarray](), len(posed.points)
            first = matrices if first is None else first
            for shape in needed:
                if not self.known.has(rotations, side, shape):
                    moved = posed.points
                    if shape == SOLID and solved is None:
                        solved = self.solve(rotations, first, progress)
                    if shape == SOLID and solved is not None:
                        bindings, nodes = solved
                        moved = character.carry(bindings[side], nodes, posed.points)
                    if shape == SMOOTH_SOLID:
                        moved = posed.move(found[SOLID])
                    if shape in (SMOOTH, SMOOTH_SOLID):
                        moved = character.smooth(moved[character.firsts])[character.body.vertices]
                    moved = character.tuck(moved)
                    self.known.add(rotations, side, shape, character.find_offsets(posed, moved))
                found[shape] = self.known.find(rotations, side, shape, count)
            yield posed, matrices, found

    def list_needed(self, shapes: Collection[int]) -> list[int]:
        """Those of some shapes that move the skin, and what they are computed from, that first."""
        moved = [shape for shape in MOVED if shape in shapes or (shape == SOLID and SMOOTH_SOLID in shapes)]
        return [BASE, *moved] if self.character.covers else moved

    def try_shapes(self, tried: _Tried, rotations: np.ndarray, progress: Progress) -> None:
        """Measure the shapes that may be chosen in one pose."""
        firsts, decided = self.character.firsts, (self.best | self.picked).get((tried.joint, tried.way))
        needed = self.list_needed(MOVED if decided is None else {decided})
        for side, (posed, matrices, shapes) in enumerate(self.list_shapes(rotations, needed, progress)):
            folds, outer = self.meters[tried.joint][side]
            skins = {BASE: posed.points[firsts]} | {
                shape: posed.move(offsets)[firsts] for shape, offsets in shapes.items()
            }
            for shape, points in skins.items():
                tried.changes[shape].append(measure_change(skins[BASE], points, folds.near))
                if decided is None:
                    measured = *folds.measure(points, matrices), outer.measure(points, matrices)
                    tried.measures[shape].append(measured)

    @cached_property
    def meters(self) -> list[list[tuple[FoldMeter, OuterMeter]]]:
        """What measures each joint, on both sides."""
        body, found = self.character.body, []
        weights = Weights.from_dense(body.weights)
        for row in zip(*self.sides, strict=True):
            own = []
            for bend in row:
                center, radius = body.joints.centers[bend.joint], float(body.radii[0][bend.joint])
                near = find_near(body.points, center[None], np.array([radius]))
                skin = body.points, body.triangles
                folds = FoldMeter(*skin, weights, body.joints, near, radius)
                own.append((folds, OuterMeter(*skin, body.joints, bend.joint, radius)))
            found.append(own)
        return found

    def choose(self, tried: _Tried) -> int:
        """The shape for a joint bent in one way: the user's, or else the best."""
        way = tried.joint, tried.way
        if way not in self.picked and way not in self.best:
            height = self.character.body.height
            self.best[way] = choose_skin(np.array(tried.measures), np.array(tried.changes), height)
        return self.picked[way] if way in self.picked else self.best[way]

    def blend(self, rotations: np.ndarray, choice: dict[tuple[int, int], int], progress: Progress) -> list[np.ndarray]:
        """Offsets of both sides in a pose of several joints: each part of the skin as its joint was chosen."""
        shares = np.zeros((len(self.limb.bends), len(SHAPES)))
        for number, bend in enumerate(self.limb.bends):
            for way, share in enumerate(bend.share_ways(rotations[number][None])[0]):
                shares[number, choice[number, way]] += share
        turned = measure_angles(rotations) / [bend.limits.max() for bend in self.limb.bends]
        needed = self.list_needed(set(np.flatnonzero(shares[turned > 0.0].any(axis=0)).tolist()))
        found = []
        for side, (posed, _, shapes) in enumerate(self.list_shapes(rotations, needed, progress)):
            part = self.parts[side] * np.square(turned)
            part = part / np.maximum(part.sum(axis=1, keepdims=True), 1e-30) @ shares
            blended = np.zeros((len(posed.points), 3), np.float32)
            for shape, offsets in shapes.items():
                blended += part[:, shape, None].astype(np.float32) * offsets
            found.append(blended)
        return found

    @cached_property
    def parts(self) -> list[np.ndarray]:
        """How near each vertex is to each joint, of both sides, (V, J)."""
        body, found = self.character.body, []
        for bends in self.sides:
            own = [bend.joint for bend in bends]
            away = np.linalg.norm(body.points[:, None] - body.joints.centers[own], axis=2) / body.radii[0][own]
            found.append((1.0 / (0.1 + away**4))[body.vertices])
        return found

    def fit(self, rotations: np.ndarray, samples: list[list[np.ndarray]]) -> Iterator[FittedSide]:
        """Keys of each side, by functions that both share, for offsets [pose][side], (V, 3), in poses (K, J, 4)."""
        character, height = self.character, self.character.body.height
        weights = self.weigh(rotations, samples)
        offsets = [np.array(own) for own in zip(*samples, strict=True)]
        roots = self.roots[:, None]
        products = np.sum([measure_products(own * roots) for own in offsets], axis=0)
        played = np.stack([bend.played for bend in self.limb.bends], axis=1)
        ramps = choose_ramps(rotations, products, weights, played)
        peaks = rotations[ramps.read(rotations).argmax(axis=0)] if len(ramps) else rotations[:0]
        for side, (bends, own) in enumerate(zip(self.sides, offsets, strict=True)):
            bones = tuple(bend.bone for bend in bends)
            functions, shown = ramps, peaks
            if side:
                functions, shown = ramps.mirror(*self.limb.axes), self.limb.mirror(peaks)
            meshes, whole = [], np.zeros((len(ramps), *own.shape[1:]), np.float32)
            for number in range(len(character.meshes)):
                part = character.slice(number)
                reached = np.linalg.norm(own[:, part], axis=2).max(axis=0) > TINY * height
                kept, shapes = fit_offsets(ramps, rotations, own[:, part], weights, MIN_MOVE * height, reached)
                whole[kept, part] = shapes
                if len(kept):
                    meshes.append(FittedMesh(number, kept, shapes))
            left = measure_left(ramps.read(rotations), whole, own, weights)
            yield FittedSide(bones, functions, shown, meshes, left)

    @cached_property
    def roots(self) -> np.ndarray:
        """Weights of all vertices whose squares count, float32, (V,): areas in squares of the joint's radius there."""
        character = self.character
        points = character.body.points[character.body.vertices]
        areas = [
            vertex_areas(points[character.slice(number)], mesh.triangles)
            for number, mesh in enumerate(character.meshes)
        ]
        radii = character.body.radii[0][[bend.joint for bend in self.limb.bends]]
        nearest = np.max(self.parts, axis=0).argmax(axis=1)
        return (np.sqrt(np.concatenate(areas)) / radii[nearest]).astype(np.float32)

    def weigh(self, rotations: np.ndarray, samples: list[list[np.ndarray]]) -> np.ndarray:
        """Weights of samples: where one joint alone is bent, its small changes count beside those of other joints."""
        turned, roots = measure_angles(rotations) > 0.0, self.roots[:, None]
        sizes = np.array([sum(float(np.square(own * roots).sum()) for own in sides) for sides in samples])
        weights = np.ones(len(samples))
        for number in range(len(self.limb.bends)):
            alone = turned[:, number] & (turned.sum(axis=1) == 1)
            if sizes[alone].any():
                weights[alone] = np.sqrt(sizes.max() / sizes[alone].max())
        return np.minimum(weights, MAX_WEIGHT)


def describe(limbs: Sequence[FittedLimb], millimeters: float) -> Iterator[str]:
    """The corrected joints, with the shape of the skin there and the millimeters by which it moves the bent skin."""
    for limb in limbs:
        for bone, shapes, largest in limb.chosen:
            names = dict.fromkeys(LABELS[shape] for shape in shapes if shape)
            if names:
                yield f"{bone}: {' and '.join(names)}, up to {millimeters * largest:.0f} mm"


def list_unchanged(limbs: Sequence[FittedLimb]) -> list[str]:
    """Bones whose joints keep the skin as it is in all ways."""
    return [bone for limb in limbs for bone, shapes, _ in limb.chosen if not any(shapes)]


def draw_shapes(fitting: Fitting, number: int, size: int, progress: Progress) -> list[np.ndarray]:
    """Pictures of the skin of a joint in each shape, bent as far as it goes in each way: float32, (4, size, size, 4).

    Parameters
    ----------
    number : int
        Of the joint, in its limb.
    """
    character, bend, found = fitting.character, fitting.limb.bends[number], list[np.ndarray]()
    body = character.body
    triangles = character.triangles
    triangles = triangles[~character.loose[triangles].any(axis=1)]
    radius = max(VIEWED * float(body.radii[0][bend.joint]), LEAST_VIEWED * body.height)
    axes = character.frame @ bend.axes
    singles = [each for each in fitting.limb.list_single(np.radians(fitting.quality.step)) if each[0] == number]
    for step, (_, way, rotations) in enumerate(singles):
        needed = fitting.list_needed(MOVED)
        sides = fitting.list_shapes(
            rotations[-1], needed, lambda share, step=step: progress((step + share) / len(singles))
        )
        posed, matrices, shapes = next(sides)
        center = transform_points(matrices[bend.joint], body.joints.centers[bend.joint])
        view = axes @ bend.ways[way]
        outward = center - body.points.mean(axis=0)
        view = view * np.where(view @ outward < 0.0, -1.0, 1.0) + TILT * normalize(outward)
        skins = [posed.move(shapes[BASE]) if BASE in shapes else posed.points]
        skins += [posed.move(shapes[shape]) for shape in MOVED]
        drawn = [draw_skin(skin[character.firsts], triangles, center, radius, view, size) for skin in skins]
        found.append(np.stack(drawn))
    return found
