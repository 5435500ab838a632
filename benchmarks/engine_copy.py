"""Cost and error of engine copies: real characters by each method, as bones, weights and keys.

    python benchmarks/engine_copy.py [--characters NAME ...] [--methods KEY ...] [--tolerance MM] [--influences 4]

Real characters are measured if available, over their actions and a range of motion; millimeters are those of
a character of 1.8 m.
"""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness import ASSETS, option, parse, print_table
from benchmarks.bound_characters import BoundCharacter, bind_character
from benchmarks.characters import read_character
from benchmarks.range_of_motion import CHARACTERS, list_bends
from deformers import Joints, Weights
from deformers.engine_copy import CopiedSkin, Differences, Examples, FitParams, fit, fit_linear, measure
from deformers.engine_copy.candidates import MIN_BEND
from deformers.engine_copy.motions import measure_angles, split_turns
from deformers.engine_copy.regions import find_blends, relate_to_parents
from deformers.measures.bends import list_bent_poses

HEIGHT = 1800.0  # Millimeters of the longest side of a character
ANGLES = 30.0, 60.0  # Degrees by which each joint is bent and twisted to all sides
METHODS = {"DLBNT": {}, "CENTERS": {"bulge_limit": 1.0}, "PARTICLES": {}}  # Methods and their options
COLUMNS = (
    "character", "method", "vertices", "bones", "frames", "helpers", "helpers a bent joint", "keys", "largest, mm",
    "95 %, mm", "rms, mm", "linear: largest", "95 %", "rms", "fit, s of a core", "targets, s", "peak, MB", "worst",
)  # fmt: skip


@dataclass(frozen=True)
class Subject:
    """A character and its examples."""

    skin: CopiedSkin
    matrices: np.ndarray
    names: tuple[str, ...]
    labels: list[str]
    bound: BoundCharacter
    millimeters: float

    def examples(self, spent: list[float]) -> Examples:
        """Targets as the method computes them; `spent` collects the seconds."""

        def read(frames: np.ndarray) -> np.ndarray:
            start = time.process_time()
            targets = np.stack([np.concatenate(self.bound.deform(self.matrices[f])) for f in frames])
            spent.append(time.process_time() - start)
            return targets.astype(np.float32)

        return Examples(self.matrices, read)


def read_subject(assets: Path, name: str, method: str, step: int) -> Subject:
    """A character by a method, with its actions, every `step`-th frame, and a range of motion."""
    character = read_character(assets, name, step)
    shapes = [part.shape for part in character.parts]
    points = np.concatenate([shape.points for shape in shapes])
    starts = np.cumsum([0] + [len(shape.points) for shape in shapes])
    triangles = np.concatenate([shape.triangles + start for shape, start in zip(shapes, starts, strict=False)])
    weights = Weights.from_dense(np.concatenate([shape.weights for shape in shapes]))
    joints = Joints(shapes[0].heads, shapes[0].parents, shapes[0].tails)
    poses = {f"{action} {n}": pose for action, rows in character.actions.items() for n, pose in enumerate(rows[:, 1])}
    poses |= {f"{kind} {share:g}": pose for kind, share, pose in list_bends(name, shapes[0])}
    everything = np.ones(len(joints.parents), bool)
    for angle in ANGLES:
        bent = list_bent_poses(weights, len(points), joints, np.radians(angle), everything)
        poses |= {f"{p.bends[0].direction} {n} {angle:g}": p.rest_to_pose for n, p in enumerate(bent)}
    skin = CopiedSkin(points, triangles, weights, joints)
    millimeters = HEIGHT / float(np.ptp(points, axis=0).max())
    bound = bind_character(character.parts, method, **METHODS[method])
    return Subject(skin, np.array(list(poses.values())), shapes[0].names, list(poses), bound, millimeters)


def ignore(_: float) -> None:
    """No progress."""


def count_bent(subject: Subject) -> int:
    """Joints that bend skin in the examples."""
    parents = subject.skin.joints.parents
    angles = measure_angles(split_turns(relate_to_parents(subject.matrices, parents))).max(axis=0)
    return int((np.isin(np.arange(len(parents)), find_blends(subject.skin).cuts) & (angles > MIN_BEND)).sum())


def describe(subject: Subject, found: Differences) -> list[float]:
    return [subject.millimeters * value for value in (found.largest, found.most, found.rms)]


def run(subject: Subject, name: str, method: str, params: FitParams) -> tuple:
    """A row under `COLUMNS`."""
    spent: list[float] = []
    examples = subject.examples(spent)
    linear = measure(subject.skin, examples, fit_linear(subject.skin, examples, params.influences), ignore)
    spent.clear()
    start = time.process_time()
    copy = fit(subject.skin, examples, params, ignore)
    seconds, targets = time.process_time() - start, sum(spent)
    found = measure(subject.skin, examples, copy, ignore)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    joint = subject.names[found.joint] if found.joint >= 0 else "-"
    return (
        name, method, len(subject.skin.points), len(subject.names), examples.count, len(copy.helpers),
        len(copy.helpers) / count_bent(subject),
        len(copy.keys), *describe(subject, found), *describe(subject, linear), seconds - targets, targets, peak,
        f"{joint}, {subject.labels[found.frame]}",
    )  # fmt: skip


if __name__ == "__main__":
    arguments = parse(
        __doc__, characters=CHARACTERS, methods=tuple(METHODS), tolerance=option(3.0, "millimeters"), influences=4,
        keys=-1, helpers=-1, step=option(1, "every so many frames of actions"), assets=ASSETS,
    )  # fmt: skip
    rows = []
    for name in arguments.characters:
        for method in arguments.methods:
            subject = read_subject(arguments.assets, name, method, arguments.step)
            tolerance = arguments.tolerance / subject.millimeters
            params = FitParams(tolerance, arguments.influences, arguments.helpers, arguments.keys)
            rows.append(run(subject, name, method, params))
            print(rows[-1], file=sys.stderr, flush=True)
    print_table(COLUMNS, rows)
