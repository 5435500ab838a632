"""Side by Side by mouse: its button, a bone that is dragged, playback, renders of the view, and the pie menu."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import bpy
import numpy as np
from window import FLIP_ROW, SIDE_BY_SIDE, WAIT, Window, check, click, press, take_picture

from scenes import add_tube, turn

UP_LEFT = (-110, 60)
"""From the middle of the pie menu to Side by Side, pixels."""
EDGE = 0.31
"""Share of the view's width that the character keeps to, but for its bone that is dragged."""
SLIGHT = 0.002
"""Share of the pixels of a view that may differ where nothing is to be seen."""


def differ(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Which pixels differ, shape (height, width)."""
    return np.abs(first - second).max(axis=2) > 3 / 255


def beside(changed: np.ndarray) -> np.ndarray:
    """The part of the view at the right of the character."""
    return changed[:, round(EDGE * changed.shape[1]) :]


def share_beside(changed: np.ndarray) -> float:
    """Which share of the pixels that differ is there."""
    return float(beside(changed).sum() / max(changed.sum(), 1))


def set_up(window: Window) -> bpy.types.Object:
    """A posed tube at the left of the view, its armature in Pose Mode."""
    window.clear()
    _, armature = add_tube(bones=2, rings=41, sides=24, length=2.0, radius=0.25)
    turn(armature, "bone.1", (0.0, 0.0, 0.8))
    armature.show_in_front = True
    window.look_down(armature, "POSE")
    view = window.space.region_3d
    view.view_perspective, view.view_location, view.view_distance = "ORTHO", (3.0, 1.0, 0.0), 7.0
    window.space.overlay.show_floor = window.space.overlay.show_text = False
    return armature


def click_side_by_side(window: Window) -> Iterator[float]:
    yield from window.click_row(FLIP_ROW, SIDE_BY_SIDE)
    window.move("WINDOW", 300, 100)
    yield WAIT


def compare_methods(window: Window) -> Iterator[float]:
    """Ghosts on, a bone dragged, ghosts off; then by the pie menu, in playback and in renders."""
    armature = set_up(window)
    bpy.context.window_manager.supple_ghosts = {"PRESERVE_VOLUME", "CENTERS"}
    yield from window.open_tab()
    window.move("WINDOW", 300, 100)
    yield WAIT
    without = window.look("side-1-without")
    yield from click_side_by_side(window)
    shown = window.look("side-2-shown")
    changed = differ(without, shown)
    check("a click on Side by Side shows ghosts", changed.mean() > 0.02)
    check("... beside the character", share_beside(changed) > 0.9)
    yield from drag_bone(window, shown)
    posed = window.look("side-4-dragged")
    yield from click_side_by_side(window)
    gone = window.look("side-5-gone")
    check("one click and they are gone", share_beside(differ(posed, gone)) > 0.9)
    check("... all of them", beside(differ(without, gone))[:, 100:].mean() < SLIGHT)
    yield from open_pie(window)
    again = window.look("side-7-by-pie")
    check("the pie menu shows them again", beside(differ(posed, again))[:, 100:].mean() < SLIGHT)
    yield from play(window, armature)
    yield from render_view(window)
    window.space.overlay.show_overlays = False
    yield WAIT
    hidden = window.look("side-9-no-overlays")
    yield from click_side_by_side(window)
    check("they are an overlay", differ(hidden, window.look("side-10-off")).mean() < SLIGHT)
    window.space.overlay.show_overlays = window.space.overlay.show_floor = window.space.overlay.show_text = True
    window.set_mode("OBJECT")


def drag_bone(window: Window, shown: np.ndarray) -> Iterator[float]:
    """Rotate a bone with the mouse."""
    armature = bpy.data.objects["Rig"]
    with window.override():
        bpy.ops.pose.select_all(action="DESELECT")
    bone = armature.data.bones["bone.1"]
    armature.data.bones.active = bone
    (bone if hasattr(bone, "select") else armature.pose.bones["bone.1"]).select = True
    region = window.region("WINDOW")
    window.move("WINDOW", region.width * 0.3, region.height * 0.6)
    yield WAIT
    yield from press("r")
    window.move("WINDOW", region.width * 0.2, region.height * 0.3)
    yield WAIT
    during = window.look("side-3-dragging")
    check("ghosts follow while a bone is dragged", beside(differ(shown, during)).mean() > 0.01)
    yield from click()


def open_pie(window: Window) -> Iterator[float]:
    """Choose Side by Side in the pie menu."""
    region = window.region("WINDOW")
    x, y = region.width * 0.5, region.height * 0.4
    window.move("WINDOW", x, y)
    yield WAIT
    with window.override():
        bpy.ops.wm.call_menu_pie("INVOKE_DEFAULT", name="VIEW3D_MT_supple_pie")
    yield 0.4  # it opens by and by
    take_picture("side-6-pie")
    window.move("WINDOW", x + UP_LEFT[0], y + UP_LEFT[1])
    yield WAIT
    yield from click()
    window.move("WINDOW", 300, 100)
    yield WAIT


def play(window: Window, armature: bpy.types.Object) -> Iterator[float]:
    """Ghosts move in playback."""
    scene, bone = bpy.context.scene, armature.pose.bones["bone.1"]
    for frame, angle in ((1, 0.0), (20, 1.5)):
        bone.rotation_euler = (0.0, 0.0, angle)
        bone.keyframe_insert("rotation_euler", frame=frame)
    scene.frame_start, scene.frame_end = 1, 20
    scene.frame_set(1)
    yield WAIT
    first = window.look("side-8-first-frame")
    with window.override():
        bpy.ops.screen.animation_play()
    most = 0.0
    for _ in range(5):
        yield 0.1
        most = max(most, float(beside(differ(first, window.look("side-8-playing"))).mean()))
    with window.override():
        bpy.ops.screen.animation_cancel(restore_frame=False)
    check("ghosts move in playback", most > 0.01)
    scene.frame_set(10)
    yield WAIT


def render_view(window: Window) -> Iterator[float]:
    """A render, and a render of the view, are the same with ghosts and without."""
    scene = bpy.context.scene
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(camera)
    camera.location = (2.0, 1.0, 12.0)
    scene.camera = camera
    scene.render.engine = "BLENDER_WORKBENCH"
    scene.render.resolution_x, scene.render.resolution_y = 200, 120
    pictures: dict[tuple[str, int], np.ndarray] = {}
    for turn_on in (1, 0):
        for kind in ("render", "view"):
            scene.render.filepath = str(Path(tempfile.mkdtemp(), "picture.png"))
            with window.override():
                if kind == "view":
                    bpy.ops.render.opengl(write_still=True, view_context=True)
                else:
                    bpy.ops.render.render(write_still=True)
            image = bpy.data.images.load(scene.render.filepath)
            pictures[kind, turn_on] = np.array(image.pixels[:])
            bpy.data.images.remove(image)
        bpy.ops.supple.side_by_side()
        yield WAIT
    check("a render shows the character", np.ptp(pictures["render", 0]) > 0.1)
    for kind in ("render", "view"):
        others = np.abs(pictures[kind, 0] - pictures[kind, 1]) > 3 / 255
        check(f"no ghost is in a {kind} that is rendered", others.mean() < SLIGHT)
    bpy.data.objects.remove(camera)
