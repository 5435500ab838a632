"""Times of steps in Blender: taken in turn in one process, so that noise hits all alike, and compared as ratios."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from io import StringIO

import bpy

from harness import note_time

BARE, LINEAR, VOLUME = "no deformation", "linear", "Preserve Volume"
# Steps without Supple: whether Armature modifiers are on, and whether they preserve volume
BLENDERS = {BARE: (False, False), LINEAR: (True, False), VOLUME: (True, True)}

FAST, PUBLISHED, PYTHON = "Fast", "As Published", "Centers by Python"
WAYS = {FAST: "DLB", PUBLISHED: "DLBNT", PYTHON: "CENTERS"}  # Steps with Supple: the method
WARM = 4  # Steps after a change that do not count by default
# Minimum and maximum number of steps in a round, and seconds after which a round may end
FEWEST, MOST, LONG = 8, 48, 0.5


def interleave(steps: Mapping[str, Callable[[], object]], rounds: int = 40) -> dict[str, float]:
    """Median milliseconds of each step, run in turn."""
    times: dict[str, list[float]] = {}
    for _ in range(3 + rounds):
        for name, step in steps.items():
            note_time(times, name, step)
    return {name: statistics.median(values[3:]) for name, values in times.items()}


@dataclass(frozen=True)
class Character:
    """All meshes that an armature of the scene deforms, and frames of its action."""

    meshes: list[bpy.types.Object]
    armature: bpy.types.Object
    frames: list[int]

    @property
    def modifiers(self) -> list[bpy.types.Modifier]:
        return [modifier for obj in self.meshes for modifier in obj.modifiers if modifier.type == "ARMATURE"]

    def describe(self) -> tuple[int, int, str]:
        """Meshes, vertices, and bones: those that deform, and all."""
        bones = self.armature.data.bones
        vertices = sum(len(obj.data.vertices) for obj in self.meshes)
        return len(self.meshes), vertices, f"{sum(bone.use_deform for bone in bones)} of {len(bones)}"

    def set_modifiers(self) -> Iterator[str]:
        """Set the Armature modifiers as each of `BLENDERS` has them, one after the other; yields the names."""
        for name, (is_shown, has_volume) in BLENDERS.items():
            for modifier in self.modifiers:
                modifier.show_viewport = modifier.show_render = is_shown
                modifier.use_deform_preserve_volume = has_volume
            yield name

    def play(self) -> list[Callable[[], object]]:
        """Steps to frames of the action."""
        return [partial(bpy.context.scene.frame_set, frame) for frame in self.frames]


def find_character(armature: bpy.types.Object | None = None) -> Character:
    """The scene's character, ready to be bound: its armature is active, and has an action."""
    bpy.context.view_layer.update()  # it learns of new objects
    objects = bpy.context.view_layer.objects
    armature = armature or next(obj for obj in objects if obj.type == "ARMATURE")
    meshes = [
        obj for obj in objects if any(getattr(modifier, "object", None) == armature for modifier in obj.modifiers)
    ]
    bpy.context.view_layer.objects.active = armature
    if not armature.animation_data.action:
        armature.animation_data.action = bpy.data.actions[0]
    first, last = (int(frame) for frame in armature.animation_data.action.frame_range[:])
    return Character(meshes, armature, [first + step * 7 % (last - first) for step in range(WARM + MOST)])


@dataclass(frozen=True)
class Times:
    """Times of steps.

    Attributes
    ----------
    steps : dict from a name to list of float
        Milliseconds: the median of each round.
    binds : dict from a name to list of float
        Seconds of each Bind, the first of which has all to build.
    """

    steps: dict[str, list[float]] = field(default_factory=dict)
    binds: dict[str, list[float]] = field(default_factory=dict)

    def median(self, name: str) -> float:
        """Milliseconds of a step."""
        return statistics.median(self.steps[name])

    def least(self, name: str) -> float:
        """Milliseconds of a step in the quickest of the rounds."""
        return min(self.steps[name])

    def compare_least(self, name: str) -> float:
        """Time of a step over no deformation, relative to Preserve Volume's: each in its quickest round."""
        bare = self.least(BARE)
        return (self.least(name) - bare) / (self.least(VOLUME) - bare)

    def compare(self, name: str) -> str:
        """Time of a step over no deformation, relative to Preserve Volume's: median, least and most of the rounds."""
        rounds = zip(self.steps[name], self.steps[VOLUME], self.steps[BARE], strict=True)
        ratios = [(step - bare) / (volume - bare) for step, volume, bare in rounds]
        return f"{statistics.median(ratios):.2g} ({min(ratios):.2g} to {max(ratios):.2g})"


def bind(method: str) -> float:
    """Bind the active or selected objects without the operator's report; returns seconds."""
    start = time.perf_counter()
    with redirect_stdout(StringIO()):
        bpy.ops.supple.bind(method=method)
    return time.perf_counter() - start


def make(look: str) -> float:
    """Make the active or selected objects supple without the operator's report; returns seconds."""
    start = time.perf_counter()
    with redirect_stdout(StringIO()):
        bpy.ops.supple.make(look=look)
    return time.perf_counter() - start


def time_steps(
    character: Character,
    steps: list[Callable[[], object]],
    ways: dict[str, str] = WAYS,
    rounds: int = 3,
    warm: int = WARM,
    begin: Callable[[str], float] = bind,
) -> Times:
    """Time the same steps with Blender's own modifier and with Supple, some rounds of all.

    `warm`: how many steps after a change are not counted. `begin`: function that binds, by a value of `ways`.
    """
    times = Times()

    def measure(name: str) -> None:
        taken: dict[str, list[float]] = {name: []}
        for step in steps:
            note_time(taken, name, step)
            if len(taken[name]) >= warm + FEWEST and sum(taken[name]) > 1e3 * LONG:
                break
        times.steps.setdefault(name, []).append(statistics.median(taken[name][warm:]))

    for _ in range(rounds):
        for name in character.set_modifiers():
            measure(name)
        for modifier in character.modifiers:
            modifier.use_deform_preserve_volume = False
        for name, way in ways.items():
            times.binds.setdefault(name, []).append(begin(way))
            measure(name)
            bpy.ops.supple.unbind()
    return times
