"""A pose corrected by mouse: an arm bent, sculpted, kept with its other side, undone, played, edited again, deleted."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Matrix, Vector
from window import CHECK_ROW, CORRECT, WAIT, Window, check, part, press, press_mouse, take_picture, until, xdo

from scenes import add_tube, bind, distance, evaluated_points, rest_points, select

EDIT_ROW = 20.0
"""Where Edit Again is, with two corrections."""
MIRROR = (6.2, -0.7)
"""How far the box of Mirror is from where the mouse was when the dialog opened: to the left and up, in buttons."""
KEEP_ROW, KEEP, DISCARD = 4.1, 0.3, 0.8
ANGLE, RINGS = 80, 81


def add_arms() -> tuple[bpy.types.Object, bpy.types.Object]:
    """A tube along X with an arm to each side, which bends at x = 1 and -1; bound."""
    tube, armature = add_tube(bones=4, rings=RINGS, sides=32, length=4.0, radius=0.4)
    tube.data.transform(Matrix(((0, 1, 0, -2), (-1, 0, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1))))
    tube.data.flip_normals()
    select(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    bones = armature.data.edit_bones
    for number, (name, head) in enumerate({"lower.R": -1, "upper.R": 0, "upper.L": 0, "lower.L": 1}.items()):
        bone = bones[f"bone.{number}"]
        bone.use_connect, bone.parent, bone.name = False, None, name
        bone.head, bone.tail = (head, 0.0, 0.0), (head + (1 if name.endswith("L") else -1), 0.0, 0.0)
    for side in "LR":
        bones[f"lower.{side}"].parent = bones[f"upper.{side}"]
    bpy.ops.object.mode_set(mode="OBJECT")
    bind(tube, method="CENTERS")
    return tube, armature


class Stage:
    """The arms, and where things are for the mouse."""

    def __init__(self, window: Window) -> None:
        self.window = window
        window.clear()
        _, armature = add_arms()
        window.look_down(armature, "POSE")
        with window.override():
            bpy.ops.pose.select_all(action="DESELECT")
        bone = armature.data.bones["lower.L"]
        armature.data.bones.active = bone
        (bone if hasattr(bone, "select") else armature.pose.bones["lower.L"]).select = True
        window.space.shading.type = "SOLID"
        bpy.ops.ed.undo_push(message="Arms")

    @property
    def tube(self) -> bpy.types.Object:
        return bpy.data.objects["Tube"]

    @property
    def armature(self) -> bpy.types.Object:
        return bpy.data.objects["Rig"]

    def press(self, row: float, hint: str = "", share: float = KEEP) -> Iterator[float]:
        """Click a button that is so many rows below the lines of a hint of the panel's."""
        yield from self.window.click_row(row + self.count_lines(hint), share)

    def count_lines(self, hint: str) -> int:
        return self.window.count_lines(getattr(part("ui.corrections"), hint)) if hint else 0

    def keep(self, mirror: bool) -> Iterator[float]:
        """Press Keep in the panel, tick Mirror in the dialog, and confirm."""
        yield from self.press(KEEP_ROW, "TOOLS")
        take_picture("corrections-keep")
        if mirror:
            self.tick_mirror()
            yield WAIT
        take_picture("corrections-ticked")
        yield from press("Return")
        yield from until(lambda: self.tube.supple.posed_copy is None, 10.0)

    def stroke(self, height: float) -> Iterator[float]:
        """Sculpt over the elbow, so far above its middle, world space."""
        region, view = self.window.region("WINDOW"), self.window.space.region_3d
        pixels = [
            location_3d_to_region_2d(region, view, Vector((1.0 + x, height, 0.0))) for x in np.linspace(-0.15, 0.15, 7)
        ]
        self.window.move("WINDOW", *pixels[0])
        yield WAIT
        xdo("mousedown", 1)
        for x, y in pixels:
            self.window.move("WINDOW", x, y)
            yield WAIT
        yield from press_mouse(False)

    def tick_mirror(self) -> None:
        """Click the first line of the dialog, which Blender opens around the mouse."""
        region, unit = self.window.region("UI"), 20.0 * bpy.context.preferences.system.ui_scale
        row = KEEP_ROW + self.count_lines("TOOLS") - MIRROR[1]
        self.window.move("UI", region.width * KEEP - MIRROR[0] * unit, region.height - unit * row)
        xdo("sleep", 0.1, "mousedown", 1, "sleep", 0.05, "mouseup", 1)


def correct_poses(window: Window) -> Iterator[float]:
    """Correct a bent arm, and use what was kept."""
    stage = Stage(window)
    yield from window.open_tab()
    yield from window.open_panel("corrections")
    window.move("WINDOW", 300, 300)
    for key in ("r", *str(ANGLE), "Return"):
        yield from press(key)
    before = evaluated_points(stage.tube)
    take_picture("corrections-posed")
    yield from window.click_row(CHECK_ROW, CORRECT)
    copy = bpy.context.active_object
    check("Correct This Pose puts a copy into Sculpt Mode", copy.mode == "SCULPT" and copy != stage.tube)
    check("... in place of the mesh", not stage.tube.visible_get())
    check("... in its pose", distance(before, rest_points(copy)) <= 1e-6)
    take_picture("corrections-begun")
    yield from stage.stroke(0.25)
    target = rest_points(copy)  # in Sculpt Mode nothing is evaluated
    check("a stroke of the mouse sculpts it", distance(before, target) > 0.005)
    take_picture("corrections-sculpted")
    yield from stage.keep(mirror=True)
    keys = [correction.name for correction in stage.tube.supple.corrections]
    check("Keep makes a shape key, and one of the other side", keys == [f"lower.L {ANGLE}", f"lower.R {ANGLE}"])
    check("... and shows the mesh as it was sculpted", distance(target, evaluated_points(stage.tube)) <= 1e-4)
    check("... and goes back to posing", (bpy.context.mode, bpy.context.active_object) == ("POSE", stage.armature))
    take_picture("corrections-kept")
    yield from undo_and_redo(stage, target)
    yield from play(stage)
    yield from edit_again(stage)


def undo_and_redo(stage: Stage, target: np.ndarray) -> Iterator[float]:
    """One undo takes back Keep, in Object Mode; one redo brings it again."""
    stage.window.move("WINDOW", 300, 300)
    yield WAIT
    yield from press("ctrl+z")
    copy = stage.tube.supple.posed_copy
    check("undo brings back what was sculpted", copy is not None and distance(target, rest_points(copy)) <= 1e-6)
    check("... and nothing of what was kept", not stage.tube.supple.corrections)
    yield from press("ctrl+shift+z")
    check("redo keeps it again", distance(target, evaluated_points(stage.tube)) <= 1e-4)


def play(stage: Stage) -> Iterator[float]:
    """In playback the key comes in with the angle; the other arm is the mirror image."""
    scene, bones = bpy.context.scene, stage.armature.pose.bones
    scene.frame_start, scene.frame_end = 1, 20
    with stage.window.override():
        bpy.ops.pose.copy()
        bpy.ops.pose.paste(flipped=True)
        for name in ("lower.L", "lower.R"):
            bones[name].keyframe_insert("rotation_quaternion", frame=20)
            bones[name].rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
            bones[name].keyframe_insert("rotation_quaternion", frame=1)
        scene.frame_set(1)
        bpy.ops.screen.animation_play()
    angles, values = [], []
    for _ in range(12):
        yield WAIT
        angles.append(np.degrees(bones["lower.L"].matrix_basis.to_quaternion().angle))
        values.append(stage.tube.data.shape_keys.key_blocks[f"lower.L {ANGLE}"].value)
    with stage.window.override():
        bpy.ops.screen.animation_cancel(restore_frame=False)
    check(
        f"in playback the key comes in with the angle ({len(set(angles))} seen)",
        len(set(angles)) > 3 and np.allclose(np.array(angles) / ANGLE, values, atol=2e-3),
    )
    scene.frame_set(20)
    yield WAIT
    points = evaluated_points(stage.tube).reshape(RINGS, -1, 3)
    check(
        "the other arm is its mirror image",
        distance(points[::-1].reshape(-1, 3) * (-1, 1, 1), points.reshape(-1, 3)) <= 1e-4,
    )
    scene.frame_set(1)
    yield WAIT


def edit_again(stage: Stage) -> Iterator[float]:
    """Edit Again goes back to the pose, Discard leaves all as it was."""
    before = evaluated_points(stage.tube)
    yield from stage.press(EDIT_ROW)
    take_picture("corrections-again")
    copy = stage.tube.supple.posed_copy
    check("Edit Again goes to the pose", copy is not None and distance(before, rest_points(copy)) > 0.1)
    yield from stage.press(KEEP_ROW, "TOOLS", DISCARD)
    take_picture("corrections-discarded")
    check("Discard shows the mesh", stage.tube.visible_get() and stage.tube.supple.posed_copy is None)
    yield from pick_flesh(stage)
    yield from stage.window.open_panel("corrections")


def pick_flesh(stage: Stage) -> Iterator[float]:
    """The shapes of a joint as pictures in the panel: one is taken, and taken back."""
    window, shown = stage.window, part("tasks.subject.shown_joint")
    window.call(bpy.ops.supple.flesh_pick, False, bone="lower.R", quality="QUICK")
    yield from until(lambda: shown.find_shown(stage.armature) and not window.running)
    take_picture("corrections-shapes")
    check("Pick Flesh shows the shapes of the joint", shown.find_shown(stage.armature) is not None)
    keys = len(stage.tube.supple.corrections)
    window.call(bpy.ops.supple.flesh_take, True, bone="lower.R", shape="SOLID", quality="QUICK")
    yield from until(lambda: len(stage.tube.supple.corrections) > keys and not window.running)
    check("... and one is taken", set(shown.find_shown(stage.armature).chosen) == {2})
    take_picture("corrections-taken")
    yield from press("ctrl+z")
    yield WAIT
    check("... and undone", len(stage.tube.supple.corrections) == keys)
    window.call(bpy.ops.supple.flesh_close, False)
