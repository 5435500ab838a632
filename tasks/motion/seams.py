"""Loops and joins: a motion is read, blended, held on its feet, measured, and written into a new action."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ...bridge.animation.curves import new_action, show_strip
from ...deformers import SkinningError
from ...deformers.motion.blending import Clip, Seam, close, join, plan_seam
from ...deformers.motion.feet import find_ground, find_planted
from ...deformers.motion.similarity import align_frames
from ...deformers.motion.transitions import Transition
from ...options import MotionOptions
from ..steps import Steps
from .chain import MotionChain
from .compare import compare_performances, find_blend, find_join, find_loop, find_reach
from .holding import hold_feet
from .layout import Layout
from .placing import Carriers, find_spaces
from .reading import MAN, Performance, PosedArmature, evaluate, find_action, read_body, read_performances, take_part
from .report import Report

DEFAULTS = MotionOptions()

# Parts of the body's height by which a cycle may get farther, and is closed where it began
STAYS = 0.05

# Radians by which a cycle may turn, and goes straight on: many cycles would go in circles
STRAIGHT = 0.1

# Share of the frames with a foot on the ground in which it must be planted: else the ground itself moves
PLANTED = 0.5

# What the name of a loop ends in
LOOP = "Loop"

# Cycles that a loop plays
REPEATS = 4

# Frames of a loop that travels, whose cycles are keyed one after the other: of long cycles it plays fewer
LONGEST_CLIP = 20_000

# Shares of the whole work: reading the actions, and each of two readings of what is made of them
READ, EVALUATED = 0.6, 0.2


def join_actions(
    armature: bpy.types.Object,
    first: str,
    second: str,
    rate: float,
    options: MotionOptions = DEFAULTS,
    pair: tuple[int, int] | None = None,
) -> Steps[Report]:
    """Join two actions in a new one, which the armature plays as a strip; both stay as they are.

    Raises SkinningError if they cannot be joined. Nothing is changed then.

    Parameters
    ----------
    first, second : str
        Names of actions; "" for the one that the armature plays.
    rate : float
        Frames a second.
    pair : (int, int), optional
        Frame of each at the seam; the most alike if not given.
    """
    whole = read_body(armature)
    actions = [find_action(armature, name) for name in (first, second)]
    reading = read_performances(whole, actions, goes_on=actions[0] != actions[1])
    body, layout, names, (one, two) = yield from take_part(reading, 0.0, READ)
    reach = find_reach(options.blend, rate)
    seam_at = yield from _choose(body, one, two, reach, pair)
    transform = align_frames(one.motion, two.motion, (seam_at.first, seam_at.second), reach)
    moved = find_spaces(layout, body.rest, names, two.matrices).move(two.clip, transform)
    longer = _find_blend(body, options, rate, seam_at, (one, two))
    seam = plan_seam(len(one.clip), len(two.clip), (seam_at.first, seam_at.second), longer)
    clip = join(one.clip, moved, seam)
    chain = MotionChain(len(clip), seam.pair[0], seam.before, seam.after)
    planted = [
        Planted(
            np.concatenate([before.flags[: seam.pair[0] + 1], after.flags[seam.pair[1] + 1 :]]),
            max(before.ground, after.ground),
        )
        for before, after in zip(*(_find_planted(body, each, rate) for each in (one, two)), strict=True)
    ]
    made = yield from _hold(body, layout, clip, one.frames.start, chain, planted, options)
    own = [each.motion.points for each in (one, two)]
    action = _write(body, layout, made.clip, one.frames.start, f"{one.name} + {two.name}")
    start = one.frames.start
    return made.report(body, action, (one, two), seam_at, own, start, 0.0)


def make_loop(
    armature: bpy.types.Object,
    name: str,
    rate: float,
    options: MotionOptions = DEFAULTS,
    frames: tuple[int, int] | None = None,
) -> Steps[Report]:
    """Close an action to a loop in a new one, which the armature plays as a strip; the action stays as it is.

    Raises SkinningError if it cannot be closed. Nothing is changed then.

    Parameters
    ----------
    name : str
        Of the action; "" for the one that the armature plays.
    rate : float
        Frames a second.
    frames : (int, int), optional
        Last frame of the loop, and its first, which takes the place of the last; the most alike if not given.
    """
    reading = read_performances(read_body(armature), [find_action(armature, name)])
    body, layout, names, (one,) = yield from take_part(reading, 0.0, READ)
    reach = find_reach(options.blend, rate)
    seam_at = yield from _choose(body, one, one, reach, frames, rate)
    last, first = seam_at.first, seam_at.second
    longer = _find_blend(body, options, rate, seam_at, (one,))
    seam = plan_seam(len(one.clip), len(one.clip), (last, first), min(longer, (last - first) // 2))
    carriers = find_spaces(layout, body.rest, names, one.matrices)
    transform, step = _find_cycle(body, one, seam, reach)
    back = np.linalg.inv(transform)
    cycle = close(one.clip, carriers.move(one.clip, transform), seam, lambda clip: carriers.move(clip, back))
    chain = MotionChain(len(cycle), last - first, seam.before, seam.after, transform)
    planted = [Planted(each.flags[first : last + 1], each.ground) for each in _find_planted(body, one, rate)]
    start = one.frames.start + first
    made = yield from _hold(body, layout, cycle, start, chain, planted, options)
    clip = _repeat(made.clip, carriers, transform) if step else made.clip
    action = _write(body, layout, clip, start, f"{one.name} {LOOP}", 1 if step else REPEATS)
    return made.report(body, action, (one, one), seam_at, [one.motion.points], start, step)


def _choose(
    body: PosedArmature,
    first: Performance,
    second: Performance,
    reach: int,
    given: tuple[int, int] | None,
    loop_rate: float = 0.0,
) -> Steps[Transition]:
    """The frames of a seam, from 0, and their difference in millimeters; those given are frames of the actions."""
    table = yield from compare_performances(body, first, second, reach)
    if given is None:
        if loop_rate:
            return find_loop(table, first, loop_rate)
        return find_join(table)
    for frame, performance in zip(given, (first, second), strict=True):
        if frame not in performance.frames:
            raise SkinningError(
                f"Frame {frame} is not in action '{performance.name}': choose one from {performance.frames[0]} to "
                f"{performance.frames[-1]}"
            )
    if loop_rate and given[0] - given[1] < 2:
        raise SkinningError(
            f"A loop from frame {given[1]} to {given[0]} is too short: choose frames that are farther apart"
        )
    row, column = given[0] - first.frames.start, given[1] - second.frames.start
    return Transition(row, column, float(table[row, column]))


def _find_blend(
    body: PosedArmature, options: MotionOptions, rate: float, seam: Transition, performances: Sequence[Performance]
) -> int:
    """Frames to each side that are blended."""
    return find_blend(options.blend, rate, seam.difference / body.in_millimeters(1.0), performances)


def _find_cycle(body: PosedArmature, one: Performance, seam: Seam, reach: int) -> tuple[np.ndarray, float]:
    """The transform from a cycle to the next one, and its travel in meters; None if it hardly travels."""
    transform = align_frames(one.motion, one.motion, seam.pair, reach)
    middle = one.motion.weights @ one.motion.points[seam.pair[1]]
    shift = transform[:3, :3] @ middle + transform[:3, 3] - middle
    step = float(np.linalg.norm(shift))
    if abs(np.arctan2(transform[1, 0], transform[0, 0])) < STRAIGHT:
        transform = np.eye(4)
        if step < STAYS * body.height:
            return transform, 0.0
        transform[:3, 3] = shift
    return transform, step * MAN / body.height


@dataclass(frozen=True, eq=False)
class Planted:
    """When a foot is planted.

    Attributes
    ----------
    flags : bool array, shape (F,)
    ground : float
        Height up to which it is on the ground.
    """

    flags: np.ndarray
    ground: float


def _find_planted(body: PosedArmature, performance: Performance, rate: float) -> list[Planted]:
    """For each foot, in which frames of an action it is planted; none is on a treadmill, as in actions of games."""
    points = body.place(performance.matrices)
    paths = [points[:, foot.contact] for foot in body.feet]
    found = [Planted(find_planted(path, body.height, rate), find_ground(path, body.height)) for path in paths]
    low = sum(int((path[:, 2] < each.ground).sum()) for path, each in zip(paths, found, strict=True))
    if sum(int(each.flags.sum()) for each in found) < PLANTED * low:
        return [Planted(np.zeros_like(each.flags), each.ground) for each in found]
    return found


def _repeat(cycle: Clip, carriers: Carriers, transform: np.ndarray) -> Clip:
    """The cycles that are played of one that travels."""
    clip = cycle
    for number in range(1, min(REPEATS, LONGEST_CLIP // len(cycle))):
        moved = carriers.move(cycle, np.linalg.matrix_power(transform, number))
        clip = clip.followed_by(moved.cut(1, len(moved)))
    return clip


@dataclass(frozen=True, eq=False)
class Made:
    """A motion with its seam, held on its feet.

    Attributes
    ----------
    points : float array, shape (n, N, 3)
        Those that count, in all cycles.
    slides : (float, float)
        Before the feet were held, and after, in Blender units.
    planted : int
        Feet that are planted at the seam.
    """

    clip: Clip
    chain: MotionChain
    points: np.ndarray
    slides: tuple[float, float]
    planted: int
    free: list[str]

    def report(
        self,
        body: PosedArmature,
        action: bpy.types.Action,
        joined: Sequence[Performance],
        seam: Transition,
        own: list[np.ndarray],
        start: int,
        step: float,
    ) -> Report:
        """What is said of it."""
        before, after = (body.in_millimeters(slide) for slide in self.slides)
        first, last = (round(frame) for frame in action.frame_range)
        at = start + self.chain.seam
        return Report(
            armature=body.armature.name,
            action=action.name,
            frames=(first, last),
            first=joined[0].name,
            second=joined[1].name,
            pair=(joined[0].frames.start + seam.first, joined[1].frames.start + seam.second),
            blended=(at - self.chain.before, at + self.chain.after),
            difference=seam.difference,
            smoothness=self.chain.measure(self.points, own),
            slide=after,
            slide_before=before,
            planted=self.planted,
            free=tuple(self.free),
            step=step,
        )


def _hold(
    body: PosedArmature,
    layout: Layout,
    clip: Clip,
    start: int,
    chain: MotionChain,
    planted: Sequence[Planted],
    options: MotionOptions,
) -> Generator[float, None, Made]:
    """Hold the planted feet of a motion, and read where its bones are then."""
    matrices = yield from take_part(evaluate(body, layout, clip, start), READ, EVALUATED)
    points = chain.unroll(body.place(matrices))
    paths = [points[:, foot.contact] for foot in body.feet]
    flags = [chain.unroll_flags(each.flags) for each in planted]
    for path, each, flag in zip(paths, planted, flags, strict=True):
        for first, last in chain.all_blended:
            flag[first : last + 1] &= path[first : last + 1, 2] < each.ground
    loose = max(map(chain.measure_slides, paths, flags), default=0.0)
    slide, free, first, last = loose, [], *chain.blended
    count = sum(bool(flag[first : last + 1].any()) for flag in flags)
    if options.holds_feet and loose:
        late = [bool((foot + foot // 2) % 2) for foot in range(len(flags))]
        feet = zip(paths, flags, late, strict=True)
        held = [chain.hold(path, flag, body.height, is_late) for path, flag, is_late in feet]
        clip, free = hold_feet(body, layout, clip, matrices, [each.shifts for each in held])
        matrices = yield from take_part(evaluate(body, layout, clip, start), READ + EVALUATED, EVALUATED)
        points = chain.unroll(body.place(matrices))
        ends = zip(body.feet, held, strict=True)
        slide = max(chain.measure_slides(points[:, foot.contact], each.is_planted) for foot, each in ends)
    return Made(clip, chain, points[:, body.weights > 0.0], (loose, slide), count, free)


def _write(
    body: PosedArmature, layout: Layout, clip: Clip, start: int, name: str, repeats: int = 0
) -> bpy.types.Action:
    """The action of a clip, which the armature plays; `repeats` is for a loop that does."""
    action: Any = new_action(name, layout.list_curves(clip, start))
    strip: Any = show_strip(body.armature, action, start)
    if repeats:
        action.use_frame_range, action.use_cyclic = True, True
        action.frame_start, action.frame_end = start, start + len(clip) - 1
    if repeats > 1:
        strip.repeat = repeats
    return action
