"""Tests in a real Blender window, run inside it: `make test-gui BLENDER="/path/to/blender --python"`.

They press Bind in the sidebar, drag a bone with the mouse, undo and play, and compare the mesh on the way: once where
Blender's own modifier deforms it, once by Python. Then they look at particles. The mouse and keys are xdotool's, so
they want an X display. Pictures go to dist/gui/: of what failed, and of all with --pictures. The
last line counts what passed and what failed. After `--` the language of the window may stand: ja_JP.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests" / "blender"), str(ROOT / "tests" / "gui")]

import bpy
import numpy as np
from character import use_character
from checks import check_character
from corrections import correct_poses
from drag import drag_skin
from engine_copy import copy_for_engines
from farm import send_to_farm
from fit import fit_skeleton
from interrupted import interrupt_commands
from layers import keep_outside
from motion import loop_motions
from patterns import place_patterns
from side_by_side import compare_methods
from swing import swing_tail
from weights import edit_weights
from window import LOOPS, RESULTS, WAIT, Window, check, click, count_changed, part, press, press_mouse, until

import checkout
from scenes import add_tube, distance, evaluated_points, rest_points, select, turn

TOLERANCE = 1e-5


def setup_scene(window: Window) -> tuple[bpy.types.Object, bpy.types.Object]:
    window.clear()
    obj, armature = add_tube(bones=2, rings=41, sides=24, length=4.0, radius=0.5)
    obj.shape_key_add(name="Basis")
    armature.show_in_front = True
    window.look_down()
    window.space.overlay.show_wireframes = True
    return obj, armature


def reference(obj: bpy.types.Object, armature: bpy.types.Object) -> np.ndarray:
    """What the deformers make of the pose as it is now, with no live preview in between."""
    prepared = part("tasks.skin.by_python").prepare(part("tasks.subject.stack").resolve(obj), obj.supple.method)
    evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    pose = part("bridge.rigs.armatures").read_pose(evaluated, prepared.skeleton)
    return prepared.pose(pose)


def steps() -> Iterator[float]:
    """The tests, yielding how many seconds Blender's own loop is to run before the next step."""
    window = Window()
    for test in (
        use_character, compare_methods, check_character, copy_for_engines, correct_poses, send_to_farm, place_patterns,
        edit_weights, drag_skin, loop_motions, swing_tail, fit_skeleton,
        keep_outside, interrupt_commands,
    ):  # fmt: skip
        yield from test(window)
    yield from session(window, "DLB", "BLENDER")
    yield from session(window, "CENTERS", "PYTHON")
    yield from press_bind_without_weights(window)
    yield from show_particles(window)


def session(window: Window, method: str, evaluate: str) -> Iterator[float]:
    """A character bound by a method, posed, painted, baked and rendered."""
    obj, armature = setup_scene(window)
    obj.supple.method = method
    yield from window.open_tab()
    yield from window.open_panel("fine_tune", is_bound=False)
    yield from window.click_row(BIND_ROW - MADE + window.method_rows(), BIND)
    check("a click on Bind binds", obj.supple.is_bound)
    check(f"... evaluated by {evaluate.lower()}", obj.supple.evaluate == evaluate)
    check("nothing moves at rest", distance(rest_points(obj), evaluated_points(obj)) <= TOLERANCE)

    select(armature)
    with window.override():
        bpy.ops.object.mode_set(mode="POSE")
        bpy.ops.pose.select_all(action="DESELECT")
    bone = armature.data.bones["bone.1"]
    armature.data.bones.active = bone
    (bone if hasattr(bone, "select") else armature.pose.bones["bone.1"]).select = True
    yield WAIT
    bpy.ops.ed.undo_push(message="Before the drag")
    region = window.region("WINDOW")
    window.move("WINDOW", region.width * 0.6, region.height * 0.5)
    yield WAIT
    yield from press("r")
    window.move("WINDOW", region.width * 0.4, region.height * 0.8)
    yield WAIT
    during = evaluated_points(obj)
    check("the skin follows while a bone is dragged", distance(rest_points(obj), during) > 0.05)
    check("... as the deformer says", distance(reference(obj, armature), during) <= TOLERANCE)
    yield from click()
    after = evaluated_points(obj)
    check("the skin stays when the drag ends", distance(reference(obj, armature), after) <= TOLERANCE)

    yield from press("ctrl+z")
    obj, armature = bpy.data.objects["Tube"], bpy.data.objects["Rig"]
    check("undo takes the skin back", distance(rest_points(obj), evaluated_points(obj)) <= TOLERANCE)
    yield from press("ctrl+shift+z")
    obj, armature = bpy.data.objects["Tube"], bpy.data.objects["Rig"]
    check("redo brings it again", distance(after, evaluated_points(obj)) <= TOLERANCE)

    pose = armature.pose.bones["bone.1"]
    pose.rotation_mode = "XYZ"
    for frame, angle in ((1, 0.0), (20, 1.5)):
        pose.rotation_euler = (0.0, angle, angle)
        pose.keyframe_insert("rotation_euler", frame=frame)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 20
    bpy.context.scene.frame_set(1)
    with window.override():
        bpy.ops.screen.animation_play()
    worst, frames = 0.0, set()
    for _ in range(12):
        yield WAIT
        frames.add(bpy.context.scene.frame_current)
        worst = max(worst, distance(reference(obj, armature), evaluated_points(obj)))
    with window.override():
        bpy.ops.screen.animation_cancel(restore_frame=False)
    check(f"the skin is right on playback ({len(frames)} frames seen)", worst <= TOLERANCE and len(frames) > 3)

    select(obj)
    window.area.tag_redraw()
    yield WAIT
    yield from window.click_row(BIND_ROW + window.method_rows(), BIND)
    check("Bind Again keeps the skin", distance(reference(obj, armature), evaluated_points(obj)) <= TOLERANCE)
    yield from paint_weights(window, obj, armature)
    yield from bake_and_cancel(window, obj)
    yield from render_animation(window, obj, method)
    if evaluate == "BLENDER":
        yield from window.open_panel("fine_tune")


def press_bind_without_weights(window: Window) -> Iterator[float]:
    """A message says what is missing."""
    obj = bpy.data.objects["Tube"]
    obj.vertex_groups.clear()
    yield from window.click_row(BIND_ROW + window.method_rows(), BIND)
    check("bad input leaves the object bound", obj.supple.is_bound)


def paint_weights(window: Window, obj: bpy.types.Object, armature: bpy.types.Object) -> Iterator[float]:
    """A stroke of the weight brush changes the skin when it ends."""
    window.set_mode("WEIGHT_PAINT")
    with window.override():
        bpy.ops.wm.tool_set_by_id(name="builtin.brush")  # another test may have chosen Supple's
    obj.vertex_groups.active_index = 0
    yield WAIT
    before = evaluated_points(obj)
    region = window.region("WINDOW")
    window.move("WINDOW", region.width * 0.35, region.height * 0.62)
    yield from press_mouse(True)
    for share in (0.4, 0.45, 0.5, 0.55):
        window.move("WINDOW", region.width * share, region.height * 0.62)
        yield WAIT
    check("a weight brush stroke is known as such while it goes on", part("bridge.changes").is_dragging())
    yield from press_mouse(False)
    check("... and no longer", not part("bridge.changes").is_dragging())
    after = evaluated_points(obj)
    check("a weight brush stroke is followed", distance(before, after) > 1e-3)
    check("... as the deformer says", distance(reference(obj, armature), after) <= TOLERANCE)
    window.set_mode("OBJECT")
    yield WAIT


def bake_and_cancel(window: Window, obj: bpy.types.Object) -> Iterator[float]:
    """A bake from the dialog runs with progress; Esc takes it back, otherwise it ends in keyed shape keys."""
    keys = len(obj.data.shape_keys.key_blocks)
    for end, cancel in ((5000, True), (20, False)):
        bpy.context.scene.frame_end = end
        window.call(bpy.ops.supple.bake_shape_keys)
        yield WAIT
        yield from press("Return")
        if cancel:
            yield from until(lambda: keys < len(obj.data.shape_keys.key_blocks))
            check("the bake is under way", keys < len(obj.data.shape_keys.key_blocks) < keys + end)
            yield from press("Escape")
            yield from until(lambda: not window.running)
            check("Esc leaves no key behind", len(obj.data.shape_keys.key_blocks) == keys)
            check("... and the skin live", obj.supple.bake == "NONE")
    yield from until(lambda: obj.supple.bake == "SHAPE_KEYS")
    check("a whole bake has a key for each frame", len(obj.data.shape_keys.key_blocks) == keys + 20)
    check("... which deform the skin", obj.supple.bake == "SHAPE_KEYS")
    bpy.ops.supple.clear_bake()
    yield WAIT


def render_animation(window: Window, obj: bpy.types.Object, method: str) -> Iterator[float]:
    """An animation rendered in the window, with motion blur, is what Blender's own modifier gives."""
    scene = bpy.context.scene
    scene.render.engine, scene.cycles.samples, scene.cycles.device = "CYCLES", 1, "CPU"
    scene.render.resolution_x = scene.render.resolution_y = 64
    scene.render.use_motion_blur = True
    scene.frame_start, scene.frame_end, scene.frame_step = 1, 20, 6
    for name, data, place in (
        ("Camera", bpy.data.cameras.new("Camera"), (0.0, 2.0, 10.0)),
        ("Sun", bpy.data.lights.new("Sun", "SUN"), (0.0, 0.0, 5.0)),
    ):
        new = bpy.data.objects.new(name, data)
        new.location = place
        scene.collection.objects.link(new)
    scene.camera = bpy.data.objects["Camera"]
    folder = Path(tempfile.mkdtemp(prefix="supple-render-"))
    pictures = {}
    for name in ("supple", "blender"):
        if name == "supple":
            obj.supple.method = "SSD"
        else:
            bpy.ops.supple.unbind()
        yield WAIT
        scene.render.filepath = str(folder / name)
        bpy.ops.render.render("INVOKE_DEFAULT", animation=True)
        pattern = f"{name}*.png"
        yield from until(lambda p=pattern: len(list(folder.glob(p))) == 4 and not bpy.app.is_job_running("RENDER"))
        paths = sorted(folder.glob(pattern))
        pictures[name] = np.array([bpy.data.images.load(str(path)).pixels[:] for path in paths])
    changed = np.abs(pictures["supple"] - pictures["blender"]) > 3 / 255
    check("an animation rendered in the window moves", len(np.unique(pictures["supple"], axis=0)) == 4)
    check("... as under Blender's own modifier", changed.sum() <= 4 * 10)
    check("Unbind unlocks the interface", not scene.render.use_lock_interface)
    with window.override():
        bpy.ops.supple.bind(method=method)
    yield WAIT


def show_particles(window: Window) -> Iterator[float]:
    """The particles are drawn in front of the skin, at rest and posed, in two colorings, and not without overlays."""
    obj, armature = setup_scene(window)
    window.space.overlay.show_wireframes = False
    select(obj)
    with window.override():
        bpy.ops.object.mode_set(mode="EDIT")
        bpy.ops.mesh.select_all(action="SELECT")
        bpy.ops.mesh.fill_holes(sides=0)
        bpy.ops.mesh.normals_make_consistent()
        bpy.ops.object.mode_set(mode="OBJECT")
        bpy.ops.view3d.view_orbit(angle=0.5, type="ORBITUP")
    bpy.ops.supple.bind(method="PARTICLES")
    yield WAIT
    hidden = window.look("particles-1-hidden")
    obj.supple.particles.show = True
    yield WAIT
    by_bone = window.look("particles-2-by-bone")
    check("particles are shown", count_changed(hidden, by_bone) > 0.02)
    obj.supple.particles.color = "RADIUS"
    yield WAIT
    check("... in other colors by radius", count_changed(by_bone, window.look("particles-3-by-radius")) > 0.02)
    obj.supple.particles.color = "BONE"
    turn(armature, "bone.1", (0.0, 0.0, 1.2))
    yield WAIT
    posed = window.look("particles-4-posed")
    check("... where the pose takes them", count_changed(by_bone, posed) > 0.02)
    obj.supple.particles.show_rest = True
    yield WAIT
    check("... or where they are at rest", count_changed(posed, window.look("particles-5-at-rest")) > 0.02)
    turn(armature, "bone.1")
    obj.supple.particles.show_rest = False
    yield WAIT
    check("... and back with the pose", count_changed(by_bone, window.look("particles-6-back")) < 0.01)
    window.space.overlay.show_overlays = False
    yield WAIT
    without = window.look("particles-7-without-overlays")
    obj.supple.particles.show = False
    yield WAIT
    check("they are an overlay", count_changed(without, window.look("particles-8-without-any")) < 0.01)
    window.space.overlay.show_overlays = True


BIND_ROW, MADE, BIND = 15.26, 1.25, 0.2
"""Where Bind is once the mesh is bound, in rows of buttons below the top of the sidebar; how much higher before; where
it is as a share of the width."""


def run() -> None:
    bpy.context.preferences.view.show_splash = False
    if language := next((word for word in sys.argv if word.endswith("_JP")), ""):
        bpy.context.preferences.view.language = language
    bpy.context.preferences.view.render_display_type = "NONE"  # a second window would take the keys
    bpy.context.preferences.system.viewport_aa = "OFF"  # with it, each view is drawn eight times
    bpy.context.preferences.inputs.mouse_double_click_time = 1  # two clicks are two, however quick
    checkout.enable(Path(tempfile.mkdtemp(prefix="supple-gui-")))
    running = steps()

    def advance() -> float | None:
        try:
            return next(running)
        except StopIteration:
            pass
        except Exception:  # whatever a step raises is a failure of it, and Blender must still quit
            traceback.print_exc()
            check("no step raises", False)
        finish()
        return None

    bpy.app.timers.register(pace(advance), first_interval=1.5, persistent=True)


def pace(advance: Callable[[], float | None]) -> Callable[[], float | None]:
    """Run steps with the main window as context, which timers have none of, when what was done before is drawn."""
    due, loops = 0.0, 0

    def go_round() -> float | None:
        nonlocal due, loops
        loops -= 1
        if loops > 0 or time.monotonic() < due:
            return 0.0
        with bpy.context.temp_override(window=bpy.context.window_manager.windows[0]):
            wait = advance()
        if wait is None:
            return None
        due, loops = time.monotonic() + wait, LOOPS
        return 0.0

    return go_round


def finish() -> None:
    failed = sum(1 for _, passed in RESULTS if not passed)
    checkout.disable()
    print(f"{len(RESULTS) - failed} passed, {failed} failed", flush=True)
    sys.stdout.flush()
    os._exit(1 if failed else 0)


run()
