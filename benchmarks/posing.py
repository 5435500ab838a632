"""Posing by dragging the skin: time of an event, exactness, flips, and targets reached by chains.

    python benchmarks/posing.py [--only SECTION ...] [--characters NAME ...] [--drags N] [--targets N] [--assets FOLDER]

needs an interpreter that has bpy. Drags begin in poses of the characters' actions and at rest, at random points of the
skin, with up to four pins, along random paths; every bone may rotate but for its limits, which are random, too.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from harness import ASSETS, note_time, option, parse, print_table, run_sections
from benchmarks.characters import fill_matrices
from deformers.posing.bones import DragHandle, PosedBones, remove_scale
from deformers.posing.chain import begin_chain
from deformers.posing.energy import Drag, begin_drag
from deformers.posing.limits import RotationLimits, angles_within, rotations_from_angles
from deformers.posing.skin import SkinEnergy, prepare_skin
from deformers.rig.rest import Weights, normalize_weights

CHARACTERS = ("mh_human", "fox", "kaykit_knight", "human_male", "mh_human_game", "cesium_man", "khronos_fox")

EVENTS = 24  # Number in a drag
STEP = 0.02  # Motion of the target in an event, as a share of the character's size
FLIP = 90.0  # Maximum degrees of a joint in an event


@dataclass(frozen=True)
class Subject:
    """A character: its skin at rest and its poses."""

    points: np.ndarray  # shape (V, 3)
    triangles: np.ndarray  # shape (T, 3)
    weights: Weights
    rest: np.ndarray  # shape (B, 4, 4)
    bones: PosedBones  # At rest, without limits
    poses: np.ndarray  # shape (P, B, 4, 4)

    @property
    def height(self) -> float:
        return float(np.ptp(self.points, axis=0).max())

    def prepare(self, clusters: int = 32) -> SkinEnergy:
        return prepare_skin(self.points, self.triangles, self.weights, self.rest, clusters)

    def pose_skin(self, posed: np.ndarray) -> np.ndarray:
        """The points by linear blending."""
        own = normalize_weights(self.weights, len(self.points), len(self.rest))
        moved = np.concatenate([posed @ np.linalg.inv(self.rest), np.eye(4)[None]])[own.joints]
        each = (moved[:, :3, :3] @ self.points[own.vertices][:, :, None])[:, :, 0] + moved[:, :3, 3]
        return np.stack([np.bincount(own.vertices, own.values * each[:, axis]) for axis in range(3)], axis=1)

    def hold(self, posed_points: np.ndarray, vertex: int, is_pin: bool = False) -> DragHandle:
        chosen = self.weights.vertices == vertex
        return DragHandle(self.weights.joints[chosen], self.weights.values[chosen], posed_points[vertex], is_pin)


def read_subject(assets: Path, name: str) -> Subject:
    data = np.load(assets / name / f"{name}.npz")
    rest, parents = data["bone_rest"].astype(float), data["bone_parent"]
    rotations = remove_scale(rest[:, :3, :3])
    above = np.concatenate([rotations, np.eye(3)[None]])[parents]
    yes = np.ones(len(parents), bool)
    limits = RotationLimits.none(len(parents))
    bones = PosedBones(parents, rest, above.transpose(0, 2, 1) @ rotations, yes, yes, parents < 0, limits)
    poses = np.concatenate([rest[None], *(fill_matrices(data[f"pose_{action}"])[::5] for action in data["actions"])])
    weights = Weights(data["w_vert"], data["w_bone"], data["w_val"]).by_vertex()
    return Subject(data["V"].astype(float), data["tris"], weights, rest, bones, poses)


def draw_limits(bones: PosedBones, random: np.random.Generator) -> RotationLimits:
    """Limits around the bones' rotations as they are: half of the bones have some, a fifth of these axes are locked."""
    count = len(bones.parents)
    orders = random.permuted(np.tile(np.arange(3), (count, 1)), axis=1)
    free = RotationLimits(orders, np.full((count, 3), -np.inf), np.full((count, 3), np.inf))
    angles = angles_within(bones.local, free)
    below, above = np.radians(random.uniform(5.0, 90.0, (2, count, 3)))
    locked = random.random((count, 3)) < 0.2
    has = random.random(count)[:, None] < 0.5
    lowest = np.where(has, angles - np.where(locked, 0.0, below), -np.inf)
    return RotationLimits(orders, lowest, np.where(has, angles + np.where(locked, 0.0, above), np.inf))


def draw_drag(
    subject: Subject, skin: SkinEnergy, random: np.random.Generator, is_limited: bool
) -> tuple[PosedBones, Drag, np.ndarray]:
    """A random drag that has just begun, and the targets of its events, shape (EVENTS, H, 3)."""
    bones = replace(subject.bones, posed=subject.poses[random.integers(len(subject.poses))])
    if is_limited:
        bones = replace(bones, limits=draw_limits(bones, random))
    points = subject.pose_skin(bones.posed)
    vertices = random.choice(np.unique(subject.weights.vertices), 1 + random.integers(5), replace=False)
    handles = [subject.hold(points, vertex, index > 0) for index, vertex in enumerate(vertices)]
    direction = random.normal(size=3)
    targets = np.tile([handle.position for handle in handles], (EVENTS, 1, 1))
    for event in range(EVENTS):
        direction = direction / np.linalg.norm(direction) + 0.2 * random.normal(size=3)
        targets[event:, 0] += STEP * skin.size * direction / np.linalg.norm(direction)
    return bones, begin_drag(skin, bones, handles), targets


def draw_drags(subject: Subject, skin: SkinEnergy, count: int) -> Iterator[tuple[PosedBones, Drag, np.ndarray]]:
    random = np.random.default_rng(1)
    for number in range(count):
        yield draw_drag(subject, skin, random, number % 2 == 0)


def measure_times(arguments: argparse.Namespace) -> None:
    """Milliseconds: preparing a skin (once), beginning a drag, and an event with its iterations"""
    rows = []
    for name in arguments.characters:
        subject = read_subject(arguments.assets, name)
        for clusters in (20, 32, 50):
            times: dict[str, list[float]] = {}
            skin, *_ = (note_time(times, "prepare", partial(subject.prepare, clusters)) for _ in range(3))
            joints = 0
            for bones, drag, targets in draw_drags(subject, skin, 30):
                drag = note_time(times, "begin", partial(begin_drag, skin, bones, drag.handles))
                joints = max(joints, len(drag.linkage.joints))
                for target in targets:
                    note_time(times, "event", partial(drag.move, target))
            prepare, begin, event = (statistics.median(times[name]) for name in ("prepare", "begin", "event"))
            slowest = float(np.percentile(times["event"], 95)), max(times["event"])
            counts = len(subject.rest), len(subject.points), clusters
            rows.append((name, *counts, prepare, begin, joints, event, *slowest))
    print_table(
        ("character", "bones", "vertices", "clusters", "prepare", "begin", "joints", "event", "95 %", "longest"), rows
    )


def measure_flips(arguments: argparse.Namespace) -> None:
    """Random drags: joints that flip in an event, pins that move, limits that break, poses that do not come back"""
    rows = []
    for name in arguments.characters:
        subject = read_subject(arguments.assets, name)
        skin = subject.prepare()
        largest, flips, pins, broken, back = [], 0, [0.0], 0.0, []
        for bones, drag, targets in draw_drags(subject, skin, arguments.drags):
            before, most = bones.posed, 0.0
            for target in targets:
                posed = drag.move(target)
                most = max(most, measure_turns(bones, before, posed).max())
                before = posed
                pins += list(drag.residuals[1:])
                broken = max(broken, measure_excess(bones, drag))
            largest.append(most)
            flips += most > FLIP
            for target in [*targets[::-1], *[drag.begun] * 10]:
                drag.move(target)
            back.append(measure_turns(bones, bones.posed, drag.posed).max())
        turns = statistics.median(largest), float(np.percentile(largest, 99)), max(largest), int(flips)
        missed = 100.0 * max(pins) / subject.height, float(np.degrees(broken))
        rows.append((name, arguments.drags, *turns, *missed, float(np.mean(np.array(back) > 1.0)) * 100.0))
    header = "character", "drags", "most degrees in an event: median", "99 %", "largest", f"above {FLIP:.0f}"
    print_table((*header, "pins, % of height", "limits broken by, degrees", "not back at the start, %"), rows)


def measure_turns(bones: PosedBones, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Degrees that each bone has rotated against its parent, shape (B,)."""
    one, other = (replace(bones, posed=posed).local for posed in (before, after))
    cosines = 0.5 * (np.einsum("bij,bij->b", one, other) - 1.0)
    return np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0)))


def measure_excess(bones: PosedBones, drag: Drag) -> float:
    """Radians by which a joint is outside its limits."""
    joints = drag.linkage.joints
    limits = bones.limits.take(joints)
    angles = angles_within(replace(bones, posed=drag.posed).local[joints], limits)
    return float(np.abs(angles - np.clip(angles, limits.lowest, limits.highest)).max(initial=0.0))


def make_chain(random: np.random.Generator, count: int = 5) -> PosedBones:
    """A chain of a meter, straight along y, with random limits about every axis."""
    posed = np.tile(np.eye(4), (count, 1, 1))
    posed[:, 1, 3] = np.arange(count) / count
    orders = random.permuted(np.tile(np.arange(3), (count, 1)), axis=1)
    below, above = (np.radians(random.uniform(0.0, 90.0, (count, 3))) for _ in range(2))
    yes = np.ones(count, bool)
    limits = RotationLimits(orders, -below, above)
    return PosedBones(np.arange(count) - 1, posed, np.tile(np.eye(3), (count, 1, 1)), yes, yes, ~yes, limits)


def measure_chains(arguments: argparse.Namespace) -> None:
    """Chains of five bones, a meter long, with limits about every axis: targets that random poses within them reach"""
    rows = []
    for most in (10, 30):
        random = np.random.default_rng(2)
        distances, times, broken = [], {}, 0.0
        for _ in range(arguments.targets):
            bones = make_chain(random)
            angles = random.uniform(bones.limits.lowest, bones.limits.highest)
            turns = rotations_from_angles(angles, bones.limits.orders)
            target, turned = np.zeros(3), np.eye(3)
            for turn in turns:
                turned = turned @ turn
                target = target + turned @ np.array([0.0, 1.0 / len(turns), 0.0])
            chain = begin_chain(bones, np.arange(len(turns))[::-1], np.array([0.0, 1.0, 0.0]))
            posed = note_time(times, "", partial(chain.move, target, most, 1e-3))
            distances.append(chain.distance)
            found = angles_within(replace(bones, posed=posed).local, bones.limits)
            broken = max(broken, float(np.abs(found - np.clip(found, bones.limits.lowest, bones.limits.highest)).max()))
        near = np.array(distances)
        figures = 1e3 * float(np.percentile(near, 99)), 1e3 * max(distances), float(np.degrees(broken))
        within = f"{100.0 * float(np.mean(near <= 1e-3)):.1f} %"
        rows.append((most, arguments.targets, within, *figures, statistics.median(times[""])))
    print_table(("rounds", "targets", "within 1 mm", "99 %, mm", "farthest, mm", "limits broken, degrees", "ms"), rows)


SECTIONS = {"times": measure_times, "flips": measure_flips, "chains": measure_chains}


if __name__ == "__main__":
    arguments = parse(
        __doc__, SECTIONS, characters=CHARACTERS, drags=option(500, "of each character, for flips"),
        targets=option(1000, "of chains"), assets=ASSETS,
    )  # fmt: skip
    run_sections(SECTIONS, arguments)
