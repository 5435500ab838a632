"""Weight lines dragged by the mouse in a real window, and weights as colors on the skin.

Where the mouse went is compared with where the lines then run, by weights read anew from the mesh.
"""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Vector
from window import WAIT, Window, check, count_changed, part, press, press_mouse, take_picture, until, xdo

from scenes import add_tube, bind, distance, evaluated_points, select, turn

NEAR = 6.0
"""Pixels from the mouse at which a handle may be let go."""
CLEARLY = 0.1
"""By how much pixels differ where weights are shown."""


class Stage:
    """A bent tube, its armature in Pose Mode with two bones selected, and the mouse over it."""

    def __init__(self, window: Window, bound: bool = False) -> None:
        self.window = window
        window.clear()
        obj, armature = add_tube(bones=3, rings=61, sides=24, length=4.0, radius=0.5)
        obj.data.flip_normals()
        if bound:
            bind(obj)
        for name, angle in (("bone.1", 0.5), ("bone.2", 0.6)):
            turn(armature, name, (0.0, 0.0, angle))
        window.look_down(armature, "POSE")
        for bone in armature.pose.bones:
            (bone if hasattr(bone, "select") else bone.bone).select = bone.name != "bone.0"
        armature.data.bones.active = armature.data.bones["bone.1"]
        window.space.region_3d.view_perspective = "ORTHO"
        window.space.shading.type = "SOLID"
        window.space.overlay.show_wireframes = False
        bpy.ops.ed.undo_push(message="A bent tube")

    @property
    def obj(self) -> bpy.types.Object:
        return bpy.data.objects["Tube"]

    @property
    def weights(self) -> np.ndarray:
        return part("bridge.meshes.weights").read_weights(self.obj, ["bone.0", "bone.1", "bone.2"])

    @property
    def running(self) -> bool:
        return "SUPPLE_OT_weight_lines" in self.window.running

    def start(self) -> Iterator[float]:
        self.window.call(bpy.ops.supple.weight_lines)
        yield WAIT

    def locate_handles(self, bone: str, line: int = 0) -> np.ndarray:
        """Pixels of the region where the handles of a line are, by the weights as they are: shape (8, 2)."""
        tasks = part("tasks.weights.lines")
        lines = tasks.read_lines(self.obj, bpy.data.objects["Rig"], [bone])
        joint = lines.joints[0]
        posed = tasks.read_posed_points(self.obj, bpy.context.evaluated_depsgraph_get()).astype(float)
        return self.project(lines.locate(joint, joint.levels[line]).interpolate(posed))

    def project(self, points: np.ndarray) -> np.ndarray:
        region, view, matrix = self.window.region("WINDOW"), self.window.space.region_3d, self.obj.matrix_world
        return np.array([location_3d_to_region_2d(region, view, matrix @ Vector(point)) for point in points])

    def measure_gap(self, bone: str, pixel: np.ndarray, line: int = 0) -> float:
        """How far from a pixel a line runs, pixels."""
        tasks = part("tasks.weights.lines")
        lines = tasks.read_lines(self.obj, bpy.data.objects["Rig"], [bone])
        posed = tasks.read_posed_points(self.obj, bpy.context.evaluated_depsgraph_get()).astype(float)
        ends = lines.trace(lines.joints[0], lines.joints[0].levels[line]).interpolate(posed)
        return float(np.linalg.norm(self.project(ends.reshape(-1, 3)) - pixel, axis=1).min())


def edit_weights(window: Window) -> Iterator[float]:
    """Edit weights by lines, and look at them as colors."""
    yield from repeat_automatic_weights(window)
    yield from keep_painted_weights(window)
    for bound in (False, True):
        yield from drag_handles(window, bound)
    yield from confirm_and_undo(window)
    yield from show_weights(window)
    yield from brush_weights(window)


def repeat_automatic_weights(window: Window) -> Iterator[float]:
    """Automatic weights run beside the window; repeated, they run in one go."""
    stage = Stage(window)
    window.set_mode("OBJECT")
    select(stage.obj)
    stage.obj.vertex_groups.clear()
    yield WAIT
    window.call(bpy.ops.supple.weights_auto, True, resolution=48)
    check("automatic weights run beside the window", "SUPPLE_OT_weights_auto" in window.running)
    yield from until(lambda: not window.running)
    found = stage.weights
    check("... and come to an end", bool(np.allclose(found.sum(axis=1), 1.0, atol=1e-5)))
    stage.obj.vertex_groups.clear()
    with window.override():
        bpy.ops.screen.repeat_last()
    check("Repeat Last does the same in one go", bool(np.allclose(stage.weights, found, atol=1e-5)))
    yield WAIT
    check("... and leaves nothing running", not window.running)


def keep_painted_weights(window: Window) -> Iterator[float]:
    """No click changes painted weights unasked: automatic weights fill, edits of all vertices open a dialog."""
    stage = Stage(window)
    window.set_mode("OBJECT")
    select(stage.obj)
    stage.obj.vertex_groups["bone.2"].remove([0])
    stage.obj.vertex_groups["bone.0"].remove([0])
    stage.obj.vertex_groups["bone.1"].remove([0])
    before = stage.weights
    yield WAIT
    window.call(bpy.ops.supple.weights_auto, True, resolution=48)
    yield from until(lambda: not window.running)
    check("a click on Automatic Weights fills", bool(np.allclose(stage.weights.sum(axis=1), 1.0, atol=1e-5)))
    check("... and keeps what is painted", bool((stage.weights[1:] == before[1:]).all()))
    before = stage.weights
    for name in ("smooth", "sharpen", "mirror"):
        operator = getattr(bpy.ops.supple, f"weights_{name}")
        window.move("WINDOW", 300, 300)
        yield WAIT
        window.call(operator, True)
        yield 4 * WAIT
        take_picture(f"weights-ask-{name}")
        yield from press("Escape")
        check(f"{name.title()} of all vertices asks, and Esc changes nothing", bool((stage.weights == before).all()))
    window.call(bpy.ops.supple.weights_smooth, True)
    yield 4 * WAIT
    yield from press("Return")
    yield from until(lambda: (stage.weights != before).any(), 5.0)
    check("Enter smooths", bool((stage.weights != before).any()))
    smoothed = stage.weights
    window.set_mode("EDIT")
    with window.override():
        bpy.ops.mesh.select_all(action="SELECT")
    window.call(bpy.ops.supple.weights_smooth, True)
    yield from until(lambda: not window.running)
    window.set_mode("OBJECT")
    check("... and a selection at once", bool((stage.weights != smoothed).any()))


def drag_handles(window: Window, bound: bool) -> Iterator[float]:
    """A line goes where the mouse takes it, there only, and the skin with it; Esc gives all back."""
    kind = "bound" if bound else "plain"
    stage = Stage(window, bound)
    yield WAIT
    before, shape = stage.weights, evaluated_points(stage.obj)
    yield from stage.start()
    check(f"the tool runs on a {kind} skin", stage.running)
    take_picture(f"weights-{kind}-1-started")
    handle, other = stage.locate_handles("bone.1")[0], stage.locate_handles("bone.1")[4]
    ahead = stage.locate_handles("bone.1", 2)[0] - handle
    target = handle + 60.0 * ahead / np.linalg.norm(ahead)
    yield from window.drag(handle, handle + 0.3 * (target - handle), handle + 0.7 * (target - handle), target)
    take_picture(f"weights-{kind}-2-dragging")
    check("weights change while a handle is dragged", bool((stage.weights != before).any()))
    check("... and the skin follows", distance(shape, evaluated_points(stage.obj)) > 1e-3)
    yield from press_mouse(False)
    away = stage.measure_gap("bone.1", target)
    check(f"the line runs where it was let go ({away:.1f} pixels)", away <= NEAR)
    heights = np.array([vertex.co.z for vertex in stage.obj.data.vertices])
    change = np.abs(stage.weights - before).max(axis=1)
    check("... and stays on the other side", change[heights < -0.3].max() < 0.2 * change[heights > 0.3].max())
    check("weights still sum to 1", bool(np.allclose(stage.weights.sum(axis=1), 1.0, atol=1e-5)))
    check("the other end of the handle's ring is where it was", stage.measure_gap("bone.1", other) <= NEAR)

    once = stage.weights
    middle, red = stage.locate_handles("bone.2")[0], stage.locate_handles("bone.2", 2)[0]
    yield from window.drag(middle, middle)  # the joint under the mouse shows its falloff
    yield from press_mouse(False)
    yield from window.drag(red, 0.5 * (red + middle))
    yield from press_mouse(False)
    take_picture(f"weights-{kind}-3-falloff")
    closer = np.linalg.norm(stage.locate_handles("bone.2", 2)[0] - stage.locate_handles("bone.2")[0]) / np.linalg.norm(
        red - middle
    )
    check(f"a red handle changes the falloff ({closer:.2f})", 0.35 < closer < 0.7)
    check("... and leaves the line", stage.measure_gap("bone.2", middle) <= NEAR)
    yield from press("ctrl+z")
    check("Ctrl Z takes back the latest drag alone", bool(np.allclose(stage.weights, once, atol=1e-6)))

    yield from press("Escape")
    yield from until(lambda: not stage.running)
    check("Esc gives all weights back", bool((stage.weights == before).all()))
    check("... and the skin", distance(shape, evaluated_points(stage.obj)) < 1e-6)
    check("... and ends the tool", not stage.running)


def confirm_and_undo(window: Window) -> Iterator[float]:
    """Enter keeps all as one step of undo; whole lines; the wheel zooms; Esc while dragging goes back one drag."""
    stage = Stage(window)
    yield WAIT
    before = stage.weights
    yield from stage.start()
    first = stage.locate_handles("bone.1")
    between = 0.5 * (first[0] + first[1])
    ahead = stage.locate_handles("bone.1", 2)[0] - first[0]
    target = between + 40.0 * ahead / np.linalg.norm(ahead)
    yield from window.drag(between, 0.5 * (between + target), target)
    take_picture("weights-4-whole-line")
    yield from press_mouse(False)
    away = max(stage.measure_gap("bone.1", first[handle] + target - between) for handle in (0, 1, 7))
    check(f"a line that is dragged goes as a whole ({away:.1f} pixels)", away <= 2 * NEAR)
    whole = stage.weights
    yield from window.drag(stage.locate_handles("bone.1")[0], stage.locate_handles("bone.1")[0] + (20, 20))
    yield from press("Escape")
    yield from press_mouse(False)
    check("Esc while dragging takes back this drag alone", stage.running and bool((stage.weights == whole).all()))
    zoom = window.space.region_3d.view_distance
    yield from stage.window.go(np.array((100.0, 100.0)))
    xdo("click", 4)
    yield WAIT
    check("the wheel zooms", window.space.region_3d.view_distance != zoom)
    check("... and changes no weight", bool((stage.weights == whole).all()))
    xdo("keydown", "ctrl", "click", 4, "click", 4, "keyup", "ctrl")
    yield WAIT
    check("Ctrl and the wheel change the falloff", bool((stage.weights != whole).any()))
    done = stage.weights
    yield from press("Return")
    yield from until(lambda: not stage.running)
    check("Enter ends the tool and keeps the weights", not stage.running and bool((stage.weights == done).all()))
    take_picture("weights-5-confirmed")
    moves = [
        {"name": "", "bone": move.bone, "line": move.line, "offsets": list(move.offsets), "widths": list(move.widths)}
        for move in bpy.context.window_manager.operators[-1].properties.moves
    ]
    yield from press("ctrl+z")
    check("one undo takes it all back", bool((stage.weights == before).all()))
    repeated = part("tasks.weights.lines").read_lines(stage.obj, bpy.data.objects["Rig"], ["bone.1", "bone.2"])
    part("tasks.weights.lines").set_moves(
        repeated, {(move["bone"], move["line"]): (move["offsets"], move["widths"]) for move in moves}
    )
    repeated.write()
    check("what the operator remembers does the same", bool(np.allclose(stage.weights, done, atol=1e-5)))
    repeated.restore()
    yield from press("ctrl+shift+z")
    check("redo brings it again", bool(np.allclose(stage.weights, done, atol=1e-6)))
    window.set_mode("OBJECT")


def show_weights(window: Window) -> Iterator[float]:
    """Weights are colors on the posed skin, follow it, and are an overlay."""
    stage = Stage(window)
    yield from stage.window.go(np.array((60.0, 60.0)))
    manager = bpy.context.window_manager
    yield WAIT
    bare = window.look("weights-6-bare")
    manager.supple_show_weights = True
    yield WAIT
    shown = window.look("weights-7-shown")
    check("weights are shown in Pose Mode", count_changed(bare, shown, CLEARLY) > 0.02)
    turn(bpy.data.objects["Rig"], "bone.1", (0.0, 0.0, -0.5))
    yield WAIT
    posed = window.look("weights-8-posed")
    check("... where the pose takes them", count_changed(shown, posed, CLEARLY) > 0.02)
    turn(bpy.data.objects["Rig"], "bone.1", (0.0, 0.0, 0.5))
    bpy.ops.supple.weight_lines(bone="bone.1", offset=0.4)
    yield WAIT
    check("... and where the weights went", count_changed(shown, window.look("weights-9-changed"), CLEARLY) > 0.002)
    with window.override():
        bpy.ops.object.mode_set(mode="OBJECT")
        select(stage.obj)
    stage.obj.vertex_groups.active_index = 2
    yield WAIT
    one = window.look("weights-10-object-mode")
    check("... in Object Mode too", count_changed(bare, one, CLEARLY) > 0.02)
    manager.supple_weight_colors = "BONES"
    yield WAIT
    check("... each bone in its color", count_changed(one, window.look("weights-11-by-bone"), CLEARLY) > 0.02)
    window.space.overlay.show_overlays = False
    yield WAIT
    without = window.look("weights-12-without-overlays")
    manager.supple_show_weights = False
    yield WAIT
    check("they are an overlay", count_changed(without, window.look("weights-13-without-any"), CLEARLY) < 0.005)
    window.space.overlay.show_overlays = True
    manager.supple_weight_colors = "CHOSEN"


def brush_weights(window: Window) -> Iterator[float]:
    """A stroke of the tool in Weight Paint's toolbar smooths under the brush; one undo takes it back, Esc at once."""
    stage = Stage(window)
    with window.override():
        bpy.ops.object.mode_set(mode="OBJECT")
        select(stage.obj)
        bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
        bpy.ops.wm.tool_set_by_id(name="supple.smooth_through_body")
    yield WAIT
    bpy.ops.ed.undo_push(message="Before the brush")
    before = stage.weights
    middle = stage.locate_handles("bone.1").mean(axis=0)
    for key in (None, "Escape"):
        window.move("WINDOW", *middle)
        yield WAIT
        yield from press_mouse(True)
        for step in range(1, 6):
            window.move("WINDOW", middle[0] + 12.0 * step, middle[1])
            yield WAIT
        if key is None:
            yield from until(lambda: (stage.weights != before).any(), 20.0)  # smooth weights are computed meanwhile
            take_picture("weights-14-brush")
            check("the brush smooths while the mouse is down", bool((stage.weights != before).any()))
        else:
            yield from press(key)
            check("Esc takes the stroke back", bool(np.allclose(stage.weights, before, atol=1e-6)))
        yield from press_mouse(False)
        yield from until(lambda: not window.running)
        if key is None:
            check("... and weights sum to 1", bool(np.allclose(stage.weights.sum(axis=1), 1.0, atol=1e-5)))
            yield from press("ctrl+z")
            check("one undo takes the stroke back", bool(np.allclose(stage.weights, before, atol=1e-6)))
    window.set_mode("OBJECT")
