"""Loops and joins of real actions: how smooth their seams are, how far planted feet slide, what the table costs.

    python benchmarks/motions.py [--only joins loops table] [--assets FOLDER]

needs an interpreter that has bpy. A seam is measured by what it makes of all joints: of speeds and accelerations, the
share within the 95th percentile of what each joint has in the motions themselves. Beside it stand the motions' own
frames about the seam, a hard cut, and Blender's cross-fade of two strips, the second of which lies where Supple has
turned and shifted it to. Lengths are those of a figure 1.8 m tall.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from harness import ASSETS, api, find, new_scene, open_file, parse, print_table, run_sections, take_all, time_call
from deformers.motion.feet import find_planted, measure_slide
from deformers.motion.seams import measure_seam
from deformers.motion.similarity import align_frames, compare_frames

LOOPS = {
    "fox": ("Walk_Armature", "Run_Armature", "Sneak_Armature", "Idle_Armature"),
    "kaykit_knight": ("Running_A_Rig",),
    "khronos_fox": ("Walk_root", "Run_root", "Survey_root"),
    "human_male": ("cmu_02_01_walk", "cmu_05_06_dance"),
    "mh_human": ("cmu_02_01_walk",),
    "cmu_02_01.bvh": ("cmu_02_01",),
    "mh_zombieWalk1.bvh": ("mh_zombieWalk1",),
}
JOINS = {
    "fox": (
        ("Walk_Armature", "Run_Armature"), ("Run_Armature", "Jump_Armature"), ("Walk_Armature", "Sit_Armature"),
        ("Idle_Armature", "Howl_Armature"),
    ),
    "kaykit_knight": (
        ("Running_A_Rig", "Jump_Full_Long_Rig"), ("Sit_Floor_Down_Rig", "Lie_Down_Rig"),
        ("Running_A_Rig", "1H_Melee_Attack_Chop_Rig"),
    ),
    "khronos_fox": (("Walk_root", "Run_root"), ("Survey_root", "Walk_root")),
    "human_male": (("cmu_02_01_walk", "cmu_05_06_dance"), ("cmu_05_06_dance", "cmu_02_01_walk")),
    "mh_human": (("cmu_05_06_dance", "cmu_02_01_walk"),),
    "cmu": (("cmu_02_01", "cmu_05_06"), ("cmu_05_06", "cmu_02_01")),
}  # fmt: skip
HEADER = (
    "character", "action", "seam", "apart, mm", "within: Supple", "own frames", "hard cut", "cross-fade",
    "worst acceleration: Supple", "own frames", "hard cut", "cross-fade", "slide, mm: Supple", "not held", "cross-fade",
)  # fmt: skip


def open_character(assets: Path, name: str) -> Any:
    """Open a character, or captured motions of one skeleton at 120 frames a second; its armature."""
    if name != "cmu" and not name.endswith(".bvh"):
        return open_file(assets, name)
    new_scene()
    for file in ["cmu_02_01.bvh", "cmu_05_06.bvh"] if name == "cmu" else [name]:
        bpy.ops.import_anim.bvh(filepath=str(assets / "bvh" / file), update_scene_fps=True)
    objects = [obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE"]
    bpy.data.objects.remove(objects[1]) if len(objects) > 1 else None
    return next(obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE")


def find_rate() -> float:
    """Frames per second of the scene."""
    render = bpy.context.scene.render
    return render.fps / render.fps_base


def read_points(body: Any, frames: Sequence[int]) -> np.ndarray:
    """Heads and tails of all bones, as the scene plays them, shape (F, 2 B, 3)."""
    channels, parts = find("bridge.animation.channels"), []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        parts.append(channels.read_matrices(body.armature.evaluated_get(depsgraph)))
    return body.place(channels.join_frames(parts))


def play_strips(armature: Any, strips: Sequence[tuple[Any, int, int]]) -> None:
    """Play actions as strips, one above the other; each begins at a frame, and fades in for so many."""
    animation = find("bridge.animation.curves")
    data = armature.animation_data
    data.action = None
    for track in list(data.nla_tracks):
        data.nla_tracks.remove(track)
    for action, start, fade in strips:
        strip = animation.add_track(armature, action.name, action, start, mute=False)
        strip.extrapolation, strip.blend_in = ("HOLD_FORWARD" if fade else "NOTHING"), fade


class Joins:
    """Joins of two actions, by Supple and by other means."""

    def __init__(self, armature: Any, names: Sequence[str]) -> None:
        reading = find("tasks.motion.reading")
        self.rate = find_rate()
        self.report = api().Character(armature).join(*names)
        actions = [bpy.data.actions[name] for name in names]
        self.body, self.layout, carriers, (self.one, self.two) = take_all(
            reading.read_performances(reading.read_body(armature), actions)
        )
        self.pair = [
            frame - each.frames.start for frame, each in zip(self.report.pair, (self.one, self.two), strict=True)
        ]
        reach = find("tasks.motion.compare").find_reach(0.0, self.rate)
        transform = align_frames(self.one.motion, self.two.motion, tuple(self.pair), reach)
        spaces = find("tasks.motion.placing").find_spaces(self.layout, self.body.rest, carriers, self.two.matrices)
        self.moved = spaces.move(self.two.clip, transform)
        self.counted = self.body.weights > 0.0

    @property
    def frames(self) -> range:
        return range(self.report.frames[0], self.report.frames[1] + 1)

    @property
    def blended(self) -> tuple[int, int]:
        return tuple(frame - self.frames.start for frame in self.report.blended)

    def measure(self, points: np.ndarray) -> Any:
        own = [each.motion.points for each in (self.one, self.two)]
        return measure_seam(points[:, self.counted], self.blended, own)

    def measure_own(self) -> list[Any]:
        """The motions' own frames about the seam."""
        before, after = self.sides
        own = [each.motion.points for each in (self.one, self.two)]
        return [
            measure_seam(points, (frame - before, frame + after), own)
            for points, frame in zip(own, self.pair, strict=True)
        ]

    @property
    def sides(self) -> tuple[int, int]:
        at = self.frames.start + self.pair[0]
        return at - self.report.blended[0], self.report.blended[1] - at

    def slide(self, points: np.ndarray) -> float:
        """How far planted feet slide, millimeters."""
        flags = []
        for foot in self.body.feet:
            parts = [
                find_planted(self.body.place(each.matrices)[:, foot.contact], self.body.height, self.rate)
                for each in (self.one, self.two)
            ]
            flags.append(np.concatenate([parts[0][: self.pair[0] + 1], parts[1][self.pair[1] + 1 :]]))
        slides = [
            measure_slide(points[:, foot.contact], planted, self.blended)
            for foot, planted in zip(self.body.feet, flags, strict=True)
        ]
        return self.body.in_millimeters(max(slides, default=0.0))

    def play(self, fades: bool) -> np.ndarray:
        """Points of both actions as strips, faded into each other or cut."""
        before, after = self.sides if fades else (0, -1)
        first, at = bpy.data.actions[self.one.name], self.frames.start + self.pair[0]
        kept = self.moved.cut(self.pair[1] - min(before, self.pair[1]) + (0 if fades else 1), len(self.moved))
        start = at - min(before, self.pair[1]) + (0 if fades else 1)
        second = find("bridge.animation.curves").new_action("Moved", self.layout.list_curves(kept, start))
        play_strips(
            self.body.armature, [(first, self.one.frames.start, 0), (second, start, before + after if fades else 0)]
        )
        self.body.armature.animation_data.nla_tracks[0].strips[0].extrapolation = "HOLD"
        self.body.armature.animation_data.nla_tracks[1].strips[0].extrapolation = "HOLD_FORWARD"
        return read_points(self.body, self.frames)


def measure_joins(arguments: argparse.Namespace) -> None:
    """Joins: the share of speeds and accelerations at the seam within 95 % of the motions' own"""
    rows = []
    for character, pairs in JOINS.items():
        for names in pairs:
            joins = Joins(open_character(arguments.assets, character), names)
            smooth = [joins.measure(read_points(joins.body, joins.frames)), *joins.measure_own()]
            cut, faded = joins.play(fades=False), joins.play(fades=True)
            own = min(each.inside for each in smooth[1:]), max(each.acceleration for each in smooth[1:])
            others = [joins.measure(points) for points in (cut, faded)]
            report = joins.report
            rows.append((
                character, " + ".join(names), f"{report.pair[0]} to {report.pair[1]}", report.difference,
                smooth[0].inside, own[0], *(each.inside for each in others),
                smooth[0].acceleration, own[1], *(each.acceleration for each in others),
                report.slide, report.slide_before, joins.slide(faded),
            ))  # fmt: skip
    print_table(HEADER, rows)
    print_summary(rows)


def print_summary(rows: Sequence[tuple]) -> None:
    """Print a summary of all rows."""
    within = [row[4] for row in rows]
    print(
        f"\nWithin: least {min(within):.3f}, median {statistics.median(within):.3f}. Planted feet slide by at most "
        f"{max(row[12] for row in rows):.2f} mm."
    )


def measure_loops(arguments: argparse.Namespace) -> None:
    """Loops: the same; a hard cut is the frames repeated as they are"""
    rows = []
    for character, names in LOOPS.items():
        for name in names:
            armature = open_character(arguments.assets, character)
            report = api().Character(armature).loop(name)
            rows.append((character, name, *list_loop(armature, report)))
    names = ("character", "action", "cycle", "apart, mm", "within: Supple", "own frames", "hard cut")
    worst = ("worst acceleration: Supple", "own frames", "hard cut", "step, m", "feet planted", "slide, mm: Supple")
    print_table((*names, *worst, "not held"), rows)
    print_summary(rows)


def list_loop(armature: Any, report: Any) -> Iterator[Any]:
    """Figures of a loop."""
    reading = find("tasks.motion.reading")
    *_, (one,) = take_all(reading.read_performances(reading.read_body(armature), [bpy.data.actions[report.first]]))
    last, first = (frame - one.frames.start for frame in report.pair)
    points = one.motion.points[first : last + 1]
    transform = align_frames(one.motion, one.motion, (last, first), 1)
    side = (report.blended[1] - report.blended[0]) // 2
    chain = find("tasks.motion.chain").MotionChain(len(points), last - first, side, side, transform)
    cut = chain.measure(chain.unroll(points), [one.motion.points])
    own = [
        measure_seam(one.motion.points, (frame - side, frame + side), [one.motion.points]) for frame in (first, last)
    ]
    yield from (f"{report.pair[1]} to {report.pair[0]}", report.difference)
    yield from (report.smoothness.inside, min(each.inside for each in own), cut.inside)
    yield from (report.smoothness.acceleration, max(each.acceleration for each in own), cut.acceleration)
    yield from (report.step, report.planted, report.slide, report.slide_before)


def measure_table(arguments: argparse.Namespace) -> None:
    """The table of two captured motions, 885 x 343 frames: seconds"""
    armature = open_character(arguments.assets, "cmu")
    reading = find("tasks.motion.reading")
    whole, found = time_call(lambda: api().Character(armature).compare("cmu_05_06", "cmu_02_01", 0.4))
    actions = [bpy.data.actions[name] for name in ("cmu_05_06", "cmu_02_01")]
    _, _, _, (one, two) = take_all(reading.read_performances(reading.read_body(armature), actions))
    reach = find("tasks.motion.compare").find_reach(0.4, find_rate())
    table, _ = time_call(lambda: compare_frames(one.motion, two.motion, reach))
    steps = time_call(lambda: [bpy.context.scene.frame_set(frame) for frame in range(1, 101)])[0] / 100
    rows = [(f"{found.table.shape[0]} x {found.table.shape[1]}", len(one.motion.weights), table, whole, whole / steps)]
    print_table(("frames", "points", "table, s", "with reading, s", "in steps of Blender's"), rows)


SECTIONS = {"joins": measure_joins, "loops": measure_loops, "table": measure_table}


if __name__ == "__main__":
    run_sections(SECTIONS, parse(__doc__, SECTIONS, assets=ASSETS))
