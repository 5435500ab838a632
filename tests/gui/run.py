"""Tests in a real Blender window, run inside it: `make test-gui BLENDER="/path/to/blender --python"`.

They press Bind in the sidebar, drag a bone with the mouse, undo and play, and compare the mesh on the way: once with
the deformation evaluated by nodes, where this Blender can, once by Python. Then they look at particles. The mouse and
keys are xdotool's, so they want an X display. Pictures go to dist/gui/. The last line counts what passed and what
failed. After `--` the language of the window may stand: ja_JP.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
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
from motion import loop_motions
from patterns import place_patterns
from side_by_side import compare_methods
from weights import edit_weights

import checkout
from scenes import add_tube, distance, evaluated_points, rest_points, select, turn

PICTURES = ROOT / "dist" / "gui"
prefix = ""
"""Begins the names of the pictures."""

WAIT = 0.4
TOLERANCE = 1e-5


def xdo(*arguments: object) -> None:
    subprocess.run(["xdotool", *map(str, arguments)], check=True)


def take_picture(name: str) -> None:
    """A picture of the whole screen as it is drawn now (Blender's own is black on a display of software)."""
    bpy.ops.wm.redraw_timer(type="DRAW_WIN_SWAP", iterations=1)
    PICTURES.mkdir(parents=True, exist_ok=True)
    subprocess.run(["import", "-window", "root", str(PICTURES / f"{prefix}{name}.png")], check=True)


class Window:
    """The 3D View of the main window and its sidebar, in the coordinates of xdotool."""

    def __init__(self) -> None:
        self.window = bpy.context.window_manager.windows[0]
        self.area = next(area for area in self.window.screen.areas if area.type == "VIEW_3D")
        self.space = self.area.spaces.active

    def region(self, kind: str) -> bpy.types.Region:
        return next(region for region in self.area.regions if region.type == kind)

    def override(self) -> dict:
        return {"window": self.window, "area": self.area, "region": self.region("WINDOW")}

    def move(self, kind: str, x: float, y: float) -> None:
        """Move the mouse to a place in a region, from its lower left corner; in two steps, as Blender wants it."""
        region = self.region(kind)
        left, top = region.x + x, self.window.height - (region.y + y)
        xdo("mousemove", round(left) - 3, round(top) - 3)
        xdo("sleep", 0.1, "mousemove", round(left), round(top))

    def hint_rows(self) -> float:
        """How many rows more a panel has by the lines that say what the method does, in the language of the window."""
        reports, character = (
            importlib.import_module(f"{checkout.MODULE}.{name}") for name in ("ui.reports", "settings.character")
        )
        methods = importlib.import_module(f"{checkout.MODULE}.deformers").METHODS
        with bpy.context.temp_override(window=self.window, area=self.area, region=self.region("UI")):
            obj = character.find_shown(bpy.context)
            return len(reports.fit(bpy.context, methods[obj.supple.method].tooltip))

    def click_button(self, from_top: float, share: float = 0.45) -> None:
        """Click in the sidebar, `from_top` rows of buttons below its top, at a share of its width."""
        region = self.region("UI")
        unit = 20.0 * bpy.context.preferences.system.ui_scale
        self.move("UI", region.width * share, region.height - unit * from_top)
        xdo("sleep", 0.2, "mousedown", 1, "sleep", 0.1, "mouseup", 1)


def setup_scene(window: Window) -> tuple[bpy.types.Object, bpy.types.Object]:
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    bpy.context.view_layer.update()
    obj, armature = add_tube(bones=2, rings=41, sides=24, length=4.0, radius=0.5)
    obj.shape_key_add(name="Basis")
    armature.show_in_front = True
    with bpy.context.temp_override(**window.override()):
        bpy.ops.view3d.view_axis(type="TOP")
        bpy.ops.view3d.view_all()
    window.space.show_region_ui = True
    window.space.overlay.show_wireframes = True
    return obj, armature


def reference(obj: bpy.types.Object, armature: bpy.types.Object) -> np.ndarray:
    """What the deformers make of the pose as it is now, with no live preview in between."""
    package = checkout.MODULE
    by_python = importlib.import_module(f"{package}.tasks.skin.by_python")
    stack = importlib.import_module(f"{package}.tasks.stack")
    bridge = importlib.import_module(f"{package}.bridge.armatures")
    prepared = by_python.prepare(stack.resolve(obj), obj.supple.method)
    evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return prepared.deformer.deform(prepared.binding, bridge.read_pose(evaluated, prepared.skeleton))


def check(name: str, condition: bool) -> None:
    RESULTS.append((name, bool(condition)))
    print(f"{'ok    ' if condition else 'FAILED'} {name}", flush=True)


RESULTS: list[tuple[str, bool]] = []


def steps() -> Iterator[float]:
    """The tests, yielding how many seconds Blender's own loop is to run before the next step."""
    window = Window()
    yield from use_character(window, check, take_picture)
    yield from compare_methods(window, check, look)
    yield from check_character(window, check, look)
    yield from copy_for_engines(window, check, look)
    yield from correct_poses(window, check, look)
    yield from send_to_farm(window, check, look)
    yield from place_patterns(window, check, look)
    yield from edit_weights(window, check, look)
    yield from drag_skin(window, check, look)
    yield from loop_motions(window, check, look)
    yield from session(window, "NODES")
    yield from session(window, "PYTHON")
    yield from press_bind_without_weights(window)
    yield from show_particles(window)


def session(window: Window, evaluate: str) -> Iterator[float]:
    """A character bound, posed, painted, baked and rendered."""
    global prefix
    prefix = f"{evaluate.lower()}-"
    obj, armature = setup_scene(window)
    obj.supple.evaluate = evaluate
    yield WAIT
    window.region("UI").active_panel_category = "Supple"
    window.area.tag_redraw()
    yield 1.0
    take_picture("1-panel")
    window.click_button(BIND_ROW + window.hint_rows())
    yield 1.0
    check("a click on Bind binds", obj.supple.is_bound)
    check(f"... evaluated by {evaluate.lower()}", obj.supple.evaluate == evaluate)
    take_picture("2-bound")
    check("nothing moves at rest", distance(rest_points(obj), evaluated_points(obj)) <= TOLERANCE)

    select(armature)
    with bpy.context.temp_override(**window.override()):
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
    xdo("key", "r")
    yield WAIT
    window.move("WINDOW", region.width * 0.4, region.height * 0.8)
    yield WAIT
    during = evaluated_points(obj)
    check("the skin follows while a bone is dragged", distance(rest_points(obj), during) > 0.05)
    check("... as the deformer says", distance(reference(obj, armature), during) <= TOLERANCE)
    take_picture("3-dragging")
    xdo("click", 1)
    yield WAIT
    after = evaluated_points(obj)
    check("the skin stays when the drag ends", distance(reference(obj, armature), after) <= TOLERANCE)
    take_picture("4-dragged")

    xdo("key", "ctrl+z")
    yield 1.0
    obj, armature = bpy.data.objects["Tube"], bpy.data.objects["Rig"]
    check("undo takes the skin back", distance(rest_points(obj), evaluated_points(obj)) <= TOLERANCE)
    xdo("key", "ctrl+shift+z")
    yield 1.0
    obj, armature = bpy.data.objects["Tube"], bpy.data.objects["Rig"]
    check("redo brings it again", distance(after, evaluated_points(obj)) <= TOLERANCE)
    take_picture("5-redone")

    pose = armature.pose.bones["bone.1"]
    pose.rotation_mode = "XYZ"
    for frame, angle in ((1, 0.0), (20, 1.5)):
        pose.rotation_euler = (0.0, angle, angle)
        pose.keyframe_insert("rotation_euler", frame=frame)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 20
    bpy.context.scene.frame_set(1)
    with bpy.context.temp_override(**window.override()):
        bpy.ops.screen.animation_play()
    worst, frames = 0.0, set()
    for _ in range(15):
        yield 0.07
        frames.add(bpy.context.scene.frame_current)
        worst = max(worst, distance(reference(obj, armature), evaluated_points(obj)))
    with bpy.context.temp_override(**window.override()):
        bpy.ops.screen.animation_cancel(restore_frame=False)
    check(f"the skin is right on playback ({len(frames)} frames seen)", worst <= TOLERANCE and len(frames) > 3)

    select(obj)
    yield WAIT
    window.area.tag_redraw()
    yield WAIT
    window.click_button(BIND_ROW + window.hint_rows())
    yield 1.0
    check("Bind Again keeps the skin", distance(reference(obj, armature), evaluated_points(obj)) <= TOLERANCE)
    if evaluate == "NODES":
        yield from switch_and_show_nodes(window, obj)
    yield from paint_weights(window, obj, armature)
    yield from bake_and_cancel(window, obj)
    yield from render_animation(obj, evaluate)


def press_bind_without_weights(window: Window) -> Iterator[float]:
    """A message says what is missing."""
    obj = bpy.data.objects["Tube"]
    obj.vertex_groups.clear()
    window.click_button(BIND_ROW + window.hint_rows())
    yield 1.0
    take_picture("8-message")
    check("bad input leaves the object bound", obj.supple.is_bound)


def switch_and_show_nodes(window: Window, obj: bpy.types.Object) -> Iterator[float]:
    """A click on Python and back on Nodes keeps the skin; the node editor shows the groups."""
    before = evaluated_points(obj)
    for evaluate, share in (("PYTHON", 0.73), ("NODES", 0.5)):
        window.move("WINDOW", 300, 300)
        yield WAIT
        window.click_button(EVALUATE_ROW + window.hint_rows(), share)
        yield 1.0
        check(f"a click on {evaluate.title()} switches", obj.supple.evaluate == evaluate)
        check("... and the skin stays", distance(before, evaluated_points(obj)) <= TOLERANCE)
    group = obj.modifiers[0].node_group
    window.area.type = "NODE_EDITOR"
    window.area.ui_type = "GeometryNodeTree"
    space = window.area.spaces.active
    space.pin, space.node_tree, space.show_region_ui = True, group, False
    parts = [group, *(node.node_tree for node in group.nodes if node.bl_idname == "GeometryNodeGroup")]
    for number, part in enumerate(parts):
        space.node_tree = part
        yield WAIT
        with bpy.context.temp_override(window=window.window, area=window.area, region=window.region("WINDOW")):
            bpy.ops.node.view_all()
        yield 1.0
        take_picture(f"nodes-{number}")
    space.pin, space.show_region_ui = False, True
    window.area.type = "VIEW_3D"
    yield 1.0
    window.region("UI").active_panel_category = "Supple"
    yield WAIT


def paint_weights(window: Window, obj: bpy.types.Object, armature: bpy.types.Object) -> Iterator[float]:
    """A stroke of the weight brush changes the skin when it ends."""
    with bpy.context.temp_override(**window.override()):
        bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
    obj.vertex_groups.active_index = 0
    yield WAIT
    before = evaluated_points(obj)
    region = window.region("WINDOW")
    window.move("WINDOW", region.width * 0.35, region.height * 0.62)
    xdo("mousedown", 1)
    yield WAIT
    for share in (0.4, 0.45, 0.5, 0.55):
        window.move("WINDOW", region.width * share, region.height * 0.62)
        yield 0.15
    xdo("mouseup", 1)
    yield WAIT
    take_picture("6-painted")
    after = evaluated_points(obj)
    check("a weight brush stroke is followed", distance(before, after) > 1e-3)
    check("... as the deformer says", distance(reference(obj, armature), after) <= TOLERANCE)
    with bpy.context.temp_override(**window.override()):
        bpy.ops.object.mode_set(mode="OBJECT")
    yield WAIT


def bake_and_cancel(window: Window, obj: bpy.types.Object) -> Iterator[float]:
    """A bake from the dialog runs with progress; Esc takes it back, otherwise it ends in keyed shape keys."""
    keys = len(obj.data.shape_keys.key_blocks)
    for end, cancel in ((5000, True), (20, False)):
        bpy.context.scene.frame_end = end
        with bpy.context.temp_override(**window.override()):
            bpy.ops.supple.bake_shape_keys("INVOKE_DEFAULT")
        yield WAIT
        xdo("key", "Return")
        yield 1.0
        if cancel:
            take_picture("7-baking")
            check("the bake is under way", keys < len(obj.data.shape_keys.key_blocks) < keys + end)
            xdo("key", "Escape")
            yield 1.0
            check("Esc leaves no key behind", len(obj.data.shape_keys.key_blocks) == keys)
            check("... and the skin live", obj.supple.bake == "NONE")
    for _ in range(40):
        if obj.supple.bake == "SHAPE_KEYS":
            break
        yield 0.5
    check("a whole bake has a key for each frame", len(obj.data.shape_keys.key_blocks) == keys + 20)
    check("... which deform the skin", obj.supple.bake == "SHAPE_KEYS")
    bpy.ops.supple.clear_bake()
    yield WAIT


def render_animation(obj: bpy.types.Object, evaluate: str) -> Iterator[float]:
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
        for _ in range(80):
            yield 0.25
            if len(list(folder.glob(f"{name}*.png"))) == 4 and not bpy.app.is_job_running("RENDER"):
                break
        paths = sorted(folder.glob(f"{name}*.png"))
        pictures[name] = np.array([bpy.data.images.load(str(path)).pixels[:] for path in paths])
    changed = np.abs(pictures["supple"] - pictures["blender"]) > 3 / 255
    check("an animation rendered in the window moves", len(np.unique(pictures["supple"], axis=0)) == 4)
    check("... as under Blender's own modifier", changed.sum() <= 4 * 10)
    check("Unbind unlocks the interface", not scene.render.use_lock_interface)
    with bpy.context.temp_override(window=bpy.context.window_manager.windows[0]):
        bpy.ops.supple.bind(method="DLBNT", evaluate=evaluate)
    yield WAIT


def show_particles(window: Window) -> Iterator[float]:
    """The particles are drawn in front of the skin, at rest and posed, in two colorings, and not without overlays."""
    global prefix
    prefix = "particles-"
    obj, armature = setup_scene(window)
    window.space.overlay.show_wireframes = False
    select(obj)
    with bpy.context.temp_override(**window.override()):
        bpy.ops.object.mode_set(mode="EDIT")
        bpy.ops.mesh.select_all(action="SELECT")
        bpy.ops.mesh.fill_holes(sides=0)
        bpy.ops.mesh.normals_make_consistent()
        bpy.ops.object.mode_set(mode="OBJECT")
        bpy.ops.view3d.view_orbit(angle=0.5, type="ORBITUP")
    bpy.ops.supple.bind(method="PARTICLES", evaluate="PYTHON")
    yield WAIT
    hidden = look(window, "1-hidden")
    obj.supple.particles.show = True
    yield WAIT
    by_bone = look(window, "2-by-bone")
    check("particles are shown", count_changed(hidden, by_bone) > 0.02)
    obj.supple.particles.color = "RADIUS"
    yield WAIT
    check("... in other colors by radius", count_changed(by_bone, look(window, "3-by-radius")) > 0.02)
    obj.supple.particles.color = "BONE"
    turn(armature, "bone.1", (0.0, 0.0, 1.2))
    yield WAIT
    posed = look(window, "4-posed")
    check("... where the pose takes them", count_changed(by_bone, posed) > 0.02)
    obj.supple.particles.show_rest = True
    yield WAIT
    check("... or where they are at rest", count_changed(posed, look(window, "5-at-rest")) > 0.02)
    turn(armature, "bone.1")
    obj.supple.particles.show_rest = False
    yield WAIT
    check("... and back with the pose", count_changed(by_bone, look(window, "6-back")) < 0.01)
    window.space.overlay.show_overlays = False
    yield WAIT
    without = look(window, "7-without-overlays")
    obj.supple.particles.show = False
    yield WAIT
    check("they are an overlay", count_changed(without, look(window, "8-without-any")) < 0.01)
    window.space.overlay.show_overlays = True


def look(window: Window, name: str) -> np.ndarray:
    """Take a picture; the pixels of its 3D View beside the sidebar, shape (height, width, 3)."""
    take_picture(name)
    image = bpy.data.images.load(str(PICTURES / f"{prefix}{name}.png"))
    pixels = np.empty(len(image.pixels), np.float32)
    image.pixels.foreach_get(pixels)
    width, height = image.size
    bpy.data.images.remove(image)
    region = window.region("WINDOW")
    rows, columns = slice(region.y, region.y + region.height), slice(region.x, window.region("UI").x)
    return pixels.reshape(height, width, 4)[rows, columns, :3]


def count_changed(first: np.ndarray, second: np.ndarray) -> float:
    """Share of the pixels that differ, by more than what a picture is rounded to."""
    return float((np.abs(first - second).max(axis=2) > 3 / 255).mean())


EVALUATE_ROW, BIND_ROW = 9.1, 11.6
"""Where buttons are, in rows of buttons below the top of the sidebar."""


def run() -> None:
    bpy.context.preferences.view.show_splash = False
    if language := next((word for word in sys.argv if word.endswith("_JP")), ""):
        bpy.context.preferences.view.language = language
    bpy.context.preferences.view.render_display_type = "NONE"  # a second window would take the keys
    checkout.enable(Path(tempfile.mkdtemp(prefix="supple-gui-")))
    running = steps()

    def advance() -> float | None:
        try:
            return next(running)
        except StopIteration:
            pass
        except Exception:  # whatever a step raises is a failure of it, and Blender must still quit
            traceback.print_exc()
            take_picture("failed")
            RESULTS.append(("no step raises", False))
        finish()
        return None

    bpy.app.timers.register(guard(advance), first_interval=1.5)


def guard(advance: Callable[[], float | None]) -> Callable[[], float | None]:
    """Run a step with the main window as context: timers have none."""

    def step() -> float | None:
        with bpy.context.temp_override(window=bpy.context.window_manager.windows[0]):
            return advance()

    return step


def finish() -> None:
    failed = sum(1 for _, passed in RESULTS if not passed)
    checkout.disable()
    print(f"{len(RESULTS) - failed} passed, {failed} failed", flush=True)
    sys.stdout.flush()
    os._exit(1 if failed else 0)


run()
