"""Waits in a rigger's day: actions in a real window, each timed from the click to the window drawn again.

    blender --window-geometry 0 0 1440 900 --python benchmarks/rigger_day.py [-- --only mh_human --pictures FOLDER]

Each action is a click on its button, by `INVOKE_DEFAULT`; what a tool follows is the mouse and the keys of xdotool.
While an action goes on, Blender's own loop is watched: *first* is how long the window stands still after the click,
until it shows what was done, or progress; *longest* is the longest it stands still after that; *CPU* is how long
Blender's main thread has computed, at most, while it stood still without progress. An action is a wait if the window
stands still, without progress, for more than `LIMIT` beyond what the first row takes, where Blender evaluates and draws
the skin and Supple does nothing; and if it computes as long: the rest is other work of the machine, and its graphics.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import bpy
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Vector

from harness import (
    ASSETS,
    ROOT,
    find,
    find_file,
    option,
    parse,
    print_table,
    print_versions,
    select,
    words_after_dashes,
)
from benchmarks.in_window import find_view, in_view, prepare_view, run_in_window, save_picture, xdo

LIMIT = 0.3  # Maximum seconds that nobody takes for a wait
LOOPS = 8  # Minimum rounds of Blender's loop before an action counts as done
IDLE = 0.015  # Maximum seconds of an idle round
LONGEST = 300.0  # Seconds after which an action counts as hung
CHARACTERS = ("mh_human", "human_male", "kaykit_knight", "example")

FOREARM = re.compile(r"lower_?arm(01)?[._]l$", re.IGNORECASE)

PICTURE = "1440x900+0+0"


@dataclass
class Wait:
    """An action: seconds until all is done, until the window moves again after the click, and the longest after."""

    name: str
    seconds: float
    first: float
    longest: float
    computed: float
    has_progress: bool
    drawing: float
    """What the first action took: to evaluate the pose, and to draw the window."""

    @property
    def is_wait(self) -> bool:
        """Whether the window stood still, without progress, for longer than nobody minds."""
        still = self.first if self.has_progress else max(self.first, self.longest)
        return min(still - self.drawing, self.computed) > LIMIT  # the more of both is what other work has taken


@dataclass
class Day:
    """Takes actions on a character, and notes waits."""

    character: str
    pictures: Path | None
    waits: list[Wait] = field(default_factory=list)
    _has_progress: bool = False
    _gaps: list[np.ndarray] = field(default_factory=list)
    _last: np.ndarray = field(default_factory=lambda: _now())

    def __post_init__(self) -> None:
        self._armature = next(obj.name for obj in bpy.context.view_layer.objects if obj.type == "ARMATURE")
        base: Any = find("operators.base").WaitingOperator
        begin = base.__dict__["begin_waiting"]

        def note(operator: Any, *arguments: Any) -> None:
            self._has_progress = True
            getattr(begin, "original", begin)(operator, *arguments)

        note.original = getattr(begin, "original", begin)  # pyright: ignore[reportFunctionMemberAccess]
        base.begin_waiting = note
        bpy.types.SpaceView3D.draw_handler_add(self._beat, (), "WINDOW", "POST_PIXEL")

    def _beat(self) -> None:
        """Note that the window moves: between two events, or when it was drawn."""
        now = _now()
        self._gaps.append(now - self._last)
        self._last = now

    @property
    def armature(self) -> Any:
        return bpy.data.objects[self._armature]

    @property
    def meshes(self) -> list[Any]:
        """Meshes of the armature, the largest first."""
        found = [obj for obj in bpy.context.view_layer.objects if obj.find_armature() == self.armature]
        return sorted(found, key=lambda obj: -len(obj.data.vertices))

    @property
    def arm(self) -> tuple[Any, str]:
        """The mesh that a forearm moves most, and the bone."""
        bone = next(bone.name for bone in self.armature.data.bones if FOREARM.search(bone.name))
        read = find("bridge.meshes.weights").read_weights
        return max(self.meshes, key=lambda mesh: float(read(mesh, [bone]).sum())), bone

    def act(self, name: str, start: Callable[[], object]) -> Iterator[float]:
        """Take an action, and go on until nothing runs and all is drawn."""
        self._has_progress, before, idle = False, len(self.running), 0
        self._gaps.clear()
        self._last = start_of_action = _now()
        find_view()[0].tag_redraw()
        with in_view():
            start()
        if getattr(start, "is_mouse", False):
            self._last = start_of_action = _now()  # what xdotool itself took does not count
        while idle < LOOPS:
            yield 0.0
            self._beat()
            is_going = self._has_progress and len(self.running) > before
            idle = 0 if is_going or self._gaps[-1][0] > IDLE else idle + 1
            if (self._last - start_of_action)[0] > LONGEST:
                raise RuntimeError(f"{name} has not ended after {LONGEST} s")
        gaps = list(self._gaps)
        self.note(name, np.array(gaps[: len(gaps) - idle] or [np.array((0.0, 0.0))]))

    def note(self, name: str, gaps: np.ndarray) -> None:
        """Note an action by the seconds in which the window stood still, and of CPU then: shape (N, 2)."""
        first, later = gaps[:2].max(axis=0), gaps[2:].max(axis=0, initial=0.0)  # an event comes in the second round
        computed = float(max(first[1], 0.0 if self._has_progress else later[1]))
        wait = Wait(name, float(gaps[:, 0].sum()), float(first[0]), float(later[0]), computed, self._has_progress,
                    self.waits[0].first if self.waits else float(first[0]))  # fmt: skip
        self.waits.append(wait)
        times = f"{wait.seconds:.2f} {wait.first:.2f} {wait.longest:.2f} {computed:.2f}"
        print(f"{self.character}: {name}: {times}", file=sys.stderr, flush=True)
        if self.pictures is not None:
            save_picture(self.pictures / f"{self.character}-{len(self.waits):02}.png", PICTURE)

    def click(self, name: str, operator: Any, **options: Any) -> Iterator[float]:
        """Click the button of an operator."""
        yield from self.act(name, lambda: operator("INVOKE_DEFAULT", True, **options))

    def confirm(self, name: str, operator: Any, **options: Any) -> Iterator[float]:
        """Click the button of an operator that opens a dialog, which is not timed, and press Enter there."""
        with in_view():
            operator("INVOKE_DEFAULT", True, **options)
        yield 0.4
        yield from self.act(name, by_mouse("key", "Return"))

    def choose(self, *objects: Any, mode: Any = "OBJECT") -> Iterator[float]:
        """Select objects, the first active, go to a mode, and see all from the front; not timed."""
        with in_view():
            bpy.ops.view3d.view_axis(type="FRONT")
            if bpy.context.mode != "OBJECT":
                bpy.ops.object.mode_set(mode="OBJECT")
            select(objects, objects[0])
            bpy.ops.view3d.view_all()
            bpy.ops.object.mode_set(mode=mode)
            bpy.ops.ed.undo_push(message="Choose")
        yield 0.3

    @property
    def running(self) -> list[Any]:
        return list(bpy.context.window_manager.windows[0].modal_operators)

    def move(self, pixel: np.ndarray) -> None:
        """Take the mouse to a pixel of the 3D View, in two steps, as Blender wants it."""
        x, y = self.locate(pixel)
        xdo("mousemove", x - 2, y - 2, "sleep", 0.02, "mousemove", x, y)

    def locate(self, pixel: np.ndarray) -> tuple[int, int]:
        """Where a pixel of the 3D View is on the screen."""
        _, region = find_view()
        return round(region.x + pixel[0]), round(
            bpy.context.window_manager.windows[0].height - (region.y + pixel[1]) - 1
        )

    def drag_to(self, name: str, pixel: np.ndarray) -> Iterator[float]:
        """Move the mouse, with its button as it is."""
        yield from self.act(name, by_mouse("mousemove", *self.locate(pixel)))

    def project(self, points: Sequence[Any]) -> np.ndarray:
        """Pixels of the 3D View at which points of the world are seen."""
        area, region = find_view()
        view = area.spaces.active.region_3d
        return np.array([location_3d_to_region_2d(region, view, Vector(point)) for point in points])

    def see_arm(self) -> np.ndarray:
        """The pixel where the forearm's skin is."""
        mesh, bone = self.arm
        weights = find("bridge.meshes.weights").read_weights(mesh, [bone])[:, 0]
        evaluated = mesh.evaluated_get(bpy.context.evaluated_depsgraph_get())
        near = np.flatnonzero(weights > 0.9 * weights.max())
        points = np.array([mesh.matrix_world @ evaluated.data.vertices[index].co for index in near.tolist()])
        return self.project([points.mean(axis=0)])[0]


def _now() -> np.ndarray:
    """Seconds that have passed, and that Blender's main thread has computed."""
    return np.array((time.perf_counter(), time.thread_time()))


def by_mouse(*words: object) -> Callable[[], None]:
    """Return a step of the mouse or a key."""

    def step() -> None:
        xdo(*words)

    step.is_mouse = True  # pyright: ignore[reportFunctionMemberAccess]
    return step


def live(day: Day) -> Iterator[float]:
    """All actions, in the order of a day."""
    yield from day.choose(day.armature)
    yield from day.act("Nothing: the skin is evaluated and drawn", lambda: [mesh.update_tag() for mesh in day.meshes])
    yield from make_supple(day)
    yield from pose(day)
    yield from check(day)
    yield from drag_skin(day)
    yield from correct(day)
    yield from place_patterns(day)
    yield from edit_weights(day)
    yield from move_lines(day)
    yield from paint(day)
    yield from hand_over(day)


def make_supple(day: Day) -> Iterator[float]:
    operators: Any = bpy.ops.supple
    yield from day.choose(day.armature)
    yield from day.click("Make Supple", operators.make)
    yield from day.click("Flip to Blender", operators.flip)
    yield from day.click("Flip Back", operators.flip)
    yield from day.click("Look: Fast", operators.make, look="FAST")
    yield from day.click("Look: As Blender", operators.make, look="BLENDER")
    yield from day.click("Look: Flesh", operators.make, look="FLESH")


def pose(day: Day) -> Iterator[float]:
    """A bone rotated by the mouse, alone and beside ghosts; undo, another frame, heat."""
    operators: Any = bpy.ops.supple
    yield from day.choose(day.armature, mode="POSE")
    choose_bone(day)
    start = day.see_arm() + np.array((0.0, -80.0))
    day.move(start)
    yield 0.2
    yield from day.act("Rotate a bone: R", by_mouse("key", "r"))
    yield from day.drag_to("Rotate a bone: a move", start + np.array((60.0, 30.0)))
    yield from day.act("Rotate a bone: click", by_mouse("click", 1))
    yield from day.act("Undo", by_mouse("key", "ctrl+z"))
    yield from day.act("Another frame", lambda: bpy.context.scene.frame_set(bpy.context.scene.frame_current + 5))
    yield from day.click("Side by Side", operators.side_by_side)
    day.move(start)
    xdo("key", "r")
    yield 0.4
    yield from day.drag_to("Rotate a bone beside ghosts: a move", start + np.array((60.0, 30.0)))
    xdo("key", "Escape")
    yield 0.4
    yield from day.click("Side by Side, off", operators.side_by_side)


def choose_bone(day: Day) -> None:
    """Select the forearm alone."""
    _, name = day.arm
    for bone in day.armature.pose.bones:
        (bone if hasattr(bone, "select") else bone.bone).select = bone.name == name
    day.armature.data.bones.active = day.armature.data.bones[name]
    bpy.ops.ed.undo_push(message="Choose")


def check(day: Day) -> Iterator[float]:
    operators: Any = bpy.ops.supple
    yield from day.choose(day.armature)
    yield from day.click("Measure", operators.measure)
    yield from day.click("Check Character", operators.check)
    if operators.check_show.poll():
        yield from day.click("Show Fault", operators.check_show, number=0)
        yield from day.click("Fix", operators.check_fix)
        if any(line.can_fix and not line.is_mended for line in bpy.context.window_manager.supple_check.findings):
            yield from day.click("Fix All", operators.check_fix_all)
        yield from day.click("Close List", operators.check_close)


def drag_skin(day: Day) -> Iterator[float]:
    """The skin dragged by the mouse."""
    yield from day.choose(day.armature, mode="POSE")
    with in_view():
        bpy.ops.wm.tool_set_by_id(name="supple.drag_skin")
    yield 0.3
    start = day.see_arm()
    day.move(start)
    xdo("mousedown", 1)
    yield 0.3
    yield from day.drag_to("Drag Skin: first move", start + np.array((25.0, 25.0)))
    yield from day.drag_to("Drag Skin: next move", start + np.array((40.0, 50.0)))
    yield from day.act("Drag Skin: release", by_mouse("mouseup", 1))
    with in_view():
        bpy.ops.wm.tool_set_by_id(name="builtin.select_box")


def correct(day: Day) -> Iterator[float]:
    """A pose corrected on a copy, and kept."""
    operators: Any = bpy.ops.supple
    yield from day.choose(day.armature, mode="POSE")
    name = day.arm[1]
    bone = day.armature.pose.bones[name]
    bone.rotation_mode, bone.rotation_euler = "XYZ", (1.0, 0.0, 0.0)
    yield 0.3
    yield from day.click("Correct Pose", operators.correct_pose)
    with in_view():
        bpy.ops.object.mode_set(mode="OBJECT")
    for obj in bpy.context.selected_objects:
        for vertex in obj.data.vertices:
            vertex.co += 0.002 * vertex.normal
    yield 0.3
    yield from day.confirm("Keep a correction", operators.correction_keep)


def place_patterns(day: Day) -> Iterator[float]:
    """Patterns added, drawn and removed."""
    operators: Any = bpy.ops.supple
    mesh, bone = day.arm
    if mesh.data.uv_layers:
        yield from day.choose(mesh)
        yield from day.click("Add Set of Patterns", operators.pattern_set_add)
        yield from day.confirm("Add Pattern", operators.pattern_add, bone=bone)
        with in_view():
            operators.pattern_stroke("INVOKE_DEFAULT", True)
        start = day.see_arm()
        day.move(start - np.array((8.0, 0.0)))
        yield 0.3
        yield from day.act("Draw Pattern: press", by_mouse("mousedown", 1))
        yield from day.drag_to("Draw Pattern: a move", start + np.array((8.0, 2.0)))
        yield from day.act("Draw Pattern: release", by_mouse("mouseup", 1))
        for _ in day.running:
            xdo("key", "Escape")
            yield 0.3
        yield from day.click("Remove All Patterns", operators.pattern_remove_all)


def edit_weights(day: Day) -> Iterator[float]:
    """The buttons of Weights, on the largest mesh that is bound."""
    operators: Any = bpy.ops.supple
    mesh = day.meshes[0]
    yield from day.choose(mesh)
    yield from day.confirm("Smooth Surface", operators.weights_smooth, method="SURFACE")
    yield from day.confirm("Smooth Solid", operators.weights_smooth, method="SOLID")
    yield from day.confirm("Sharpen", operators.weights_sharpen)
    yield from day.click("Limit", operators.weights_limit)
    yield from day.click("Stiffen", operators.weights_stiffen)
    yield from day.confirm("Mirror", operators.weights_mirror)
    yield from day.click("Check Weights", operators.weights_check)
    yield from day.choose(mesh, *copy_others(day))
    yield from day.confirm("Transfer", operators.weights_transfer)
    yield from day.choose(mesh)
    yield from day.click("Automatic Weights", operators.weights_auto, mode="REPLACE")
    day.move(day.see_arm())
    yield 0.2
    yield from day.act("Undo of weights", by_mouse("key", "ctrl+z"))


def copy_others(day: Day) -> list[Any]:
    """The meshes to transfer weights to: the character's clothes, or a copy of its only mesh."""
    if others := day.meshes[1:]:
        return others
    mesh = day.meshes[0]
    copy = bpy.data.objects.new("Clothes", mesh.data.copy())
    copy.parent, copy.matrix_world = mesh.parent, mesh.matrix_world
    bpy.context.collection.objects.link(copy)
    return [copy]


def move_lines(day: Day) -> Iterator[float]:
    """A weight line dragged by the mouse."""
    yield from day.choose(day.armature, mode="POSE")
    choose_bone(day)
    yield 0.3
    yield from day.click("Weight Lines", bpy.ops.supple.weight_lines)
    start, ahead = find_handle(day)
    day.move(start)
    yield 0.3
    yield from day.act("Weight Lines: press", by_mouse("mousedown", 1))
    yield from day.drag_to("Weight Lines: first move", start + 8.0 * ahead)
    yield from day.drag_to("Weight Lines: next move", start + 14.0 * ahead)
    yield from day.act("Weight Lines: release", by_mouse("mouseup", 1))
    yield from day.act("Weight Lines: Enter", by_mouse("key", "Return"))


def find_handle(day: Day) -> tuple[np.ndarray, np.ndarray]:
    """The pixel of the handle of the forearm's line nearest to the eye, and the direction along the limb."""
    tasks, layer = find("tasks.weights.lines"), bpy.context.view_layer
    _, bone = day.arm
    lines = tasks.read_first_lines(
        find("tasks.subject.chosen_bones").find_deformed_meshes(day.armature, layer, [bone]), day.armature, [bone]
    )
    posed = tasks.read_posed_points(lines.obj, bpy.context.evaluated_depsgraph_get()).astype(float)
    matrix = np.array(lines.obj.matrix_world)
    joint = lines.joints[0]
    rows = [
        lines.locate(joint, joint.levels[row]).interpolate(posed) @ matrix[:3, :3].T + matrix[:3, 3] for row in (0, 2)
    ]
    eye = np.array(find_view()[0].spaces.active.region_3d.view_matrix)[2, :3]
    nearest = int((rows[0] @ eye).argmax())
    start, end = day.project([rows[0][nearest], rows[1][nearest]])
    return start, (end - start) / np.linalg.norm(end - start)


def paint(day: Day) -> Iterator[float]:
    """A stroke of Smooth Through Body, and a dab of Blender's own brush."""
    mesh, bone = day.arm
    yield from day.choose(mesh, mode="WEIGHT_PAINT")
    mesh.vertex_groups.active_index = mesh.vertex_groups[bone].index
    start = day.see_arm()
    day.move(start)
    yield 0.3
    yield from day.act("Blender's weight brush: a dab", by_mouse("click", 1))
    with in_view():
        bpy.ops.wm.tool_set_by_id(name="supple.smooth_through_body")
    yield 0.3
    yield from day.act("Smooth Through Body: press", by_mouse("mousedown", 1))
    yield from day.drag_to("Smooth Through Body: a move", start + np.array((8.0, 0.0)))
    yield from day.act("Smooth Through Body: release", by_mouse("mouseup", 1))


def hand_over(day: Day) -> Iterator[float]:
    """Save, a loop, an engine copy, unbind and bind."""
    operators: Any = bpy.ops.supple
    yield from day.choose(day.armature)
    yield from day.act("Save", lambda: bpy.ops.wm.save_mainfile("EXEC_DEFAULT"))
    yield from day.click("Make Loop", operators.motion_loop)
    for action in bpy.data.actions:
        action.supple_is_copied = False
    yield from day.confirm("Engine Copy", operators.engine_copy)
    yield from day.choose(day.armature)
    yield from day.click("Unbind", operators.unbind, whole=True)
    yield from day.click("Bind", operators.bind, whole=True)


def measure(folder: Path, arguments: Any) -> Iterator[float]:
    """A day with each character."""
    days = []
    for name in arguments.only:
        path = ROOT / "demo" / "human" / "human.blend" if name == "example" else find_file(arguments.assets, name)
        bpy.ops.wm.open_mainfile(filepath=str(path), load_ui=False)
        bpy.ops.wm.save_as_mainfile(filepath=str(folder / f"{name}.blend"))
        yield 1.5
        area, _ = find_view()
        with in_view():
            prepare_view(area)
        yield 0.5
        day = Day(name, arguments.pictures)
        next(region for region in area.regions if region.type == "UI").active_panel_category = "Supple"
        area.tag_redraw()
        yield 0.5
        days.append(day)
        yield from live(day)
    print_versions()
    for day in days:
        print(f"\n## {day.character}: {sum(wait.is_wait for wait in day.waits)} of {len(day.waits)} are waits\n")
        print_table(
            ("action", "seconds", "progress", "first, s", "longest, s", "CPU, s", ""),
            [
                (wait.name, wait.seconds, "yes" if wait.has_progress else "no", wait.first, wait.longest, wait.computed,
                 "wait" if wait.is_wait else "")
                for wait in day.waits
            ],
            2,
        )  # fmt: skip


if __name__ == "__main__":
    arguments = parse(
        __doc__, CHARACTERS, words_after_dashes(), assets=ASSETS,
        pictures=option(None, "folder for pictures", type=Path),
    )  # fmt: skip
    bpy.context.preferences.system.viewport_aa = (
        "OFF"  # else a change is drawn eight times, perhaps into the next action
    )
    bpy.context.preferences.view.show_splash = False
    run_in_window(lambda folder: measure(folder, arguments), 1.5)
