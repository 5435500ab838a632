"""The skin dragged by the mouse in a real window: where the mouse goes, the skin goes; pins, limits, keys and undo."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Vector
from window import WAIT, Window, check, click, press, press_mouse, take_picture

from scenes import add_tube, distance, evaluated_points

NEAR = 4.0
"""Pixels from the mouse at which the dragged point may be let go."""


class Stage:
    """A tube with a chain of four bones, seen from above in Pose Mode, with the tool chosen."""

    def __init__(self, window: Window) -> None:
        self.window = window
        window.clear()
        obj, armature = add_tube(bones=4, rings=61, sides=24, length=4.0, radius=0.35)
        obj.data.flip_normals()
        armature.show_in_front = False
        window.look_down(armature, "POSE")
        with window.override():
            bpy.ops.wm.tool_set_by_id(name="supple.drag_skin")
        window.space.region_3d.view_perspective = "ORTHO"
        window.space.region_3d.view_distance *= 1.6
        window.space.shading.type = "SOLID"
        window.space.overlay.show_wireframes = False
        bpy.ops.ed.undo_push(message="A tube")

    @property
    def obj(self) -> bpy.types.Object:
        return bpy.data.objects["Tube"]

    @property
    def armature(self) -> bpy.types.Object:
        return bpy.data.objects["Rig"]

    @property
    def pins(self) -> int:
        return len(self.armature.supple.pins)

    def pose(self) -> np.ndarray:
        """Rotations and locations of all bones as their channels have them, shape (4, 7)."""
        return np.array([[*bone.rotation_quaternion, *bone.location] for bone in self.armature.pose.bones])

    def find_vertex(self, along: float) -> int:
        """The vertex on top of the tube that is nearest to a position along it at rest."""
        offsets = [(vertex.co - Vector((0.0, along, 0.35))).length for vertex in self.obj.data.vertices]
        return int(np.argmin(offsets))

    def see(self, vertex: int) -> np.ndarray:
        """Pixels of the region, shape (2,), at which a vertex is seen now."""
        point = self.obj.matrix_world @ Vector(evaluated_points(self.obj)[vertex].tolist())
        return np.array(location_3d_to_region_2d(self.window.region("WINDOW"), self.window.space.region_3d, point))

    def drag(self, vertex: int, offset: tuple[float, float], key: str = "") -> Iterator[float]:
        """Drag a vertex by so many pixels, pressing a key before the button is released."""
        start = self.see(vertex)
        yield from self.window.drag(
            *(start + share * np.array(offset) for share in (0.0, 0.1, 0.3, 0.5, 0.7, 0.85, 1.0))
        )
        if key:
            yield from press(key)
        yield from press_mouse(False)

    def click(self, vertex: int) -> Iterator[float]:
        yield from self.window.go(self.see(vertex))
        yield from click()


def drag_skin(window: Window) -> Iterator[float]:
    """Pose a tube by its skin."""
    stage = Stage(window)
    yield WAIT
    yield from drag_and_undo(stage)
    yield from hold_pins(stage)
    yield from cancel_drag(stage)
    yield from respect_limits(stage)
    yield from key_drag(stage)
    yield from drag_chain(stage)
    with window.override():
        bpy.ops.wm.tool_set_by_id(name="builtin.select_box")
        bpy.ops.object.mode_set(mode="OBJECT")


def drag_and_undo(stage: Stage) -> Iterator[float]:
    """The skin follows the mouse; one undo takes a drag back."""
    tip, rest, before = stage.find_vertex(3.9), evaluated_points(stage.obj), stage.pose()
    target = stage.see(tip) + np.array((-150, -60))
    yield from stage.drag(tip, (-150, -60))
    take_picture("drag-1-dragged")
    away = float(np.linalg.norm(stage.see(tip) - target))
    check(f"the skin is where the mouse let it go ({away:.1f} pixels)", away <= NEAR)
    once = stage.pose()
    yield from stage.drag(tip, (60, -90))
    check("a second drag goes on", bool(np.abs(stage.pose() - once).max() > 1e-3))
    yield from press("ctrl+z")
    check("one undo takes one drag back", bool(np.allclose(stage.pose(), once, atol=1e-6)))
    yield from press("ctrl+z")
    check("... and the next the other", bool(np.allclose(stage.pose(), before, atol=1e-6)))
    check("... and the skin", distance(rest, evaluated_points(stage.obj)) < 1e-5)


def hold_pins(stage: Stage) -> Iterator[float]:
    """A click pins a point, which then stays; another takes the pin off; beside the skin nothing is pinned."""
    tip, middle, root = stage.find_vertex(3.9), stage.find_vertex(2.5), stage.find_vertex(0.3)
    yield from stage.click(middle)
    check("a click on the skin pins a point", stage.pins == 1)
    yield from stage.click(root)
    check("... and another", stage.pins == 2)
    fixed = [stage.see(middle), stage.see(root)]
    yield from stage.drag(tip, (-90, -40))
    take_picture("drag-2-pinned")
    away = [
        float(np.linalg.norm(stage.see(vertex) - pixel)) for vertex, pixel in zip((middle, root), fixed, strict=True)
    ]
    check(f"pinned points stay ({max(away):.2f} pixels)", max(away) <= 2.0)
    yield from stage.click(middle)
    check("a click on a pin takes it off", stage.pins == 1)
    yield from press("ctrl+z")
    check("undo brings the pin back", stage.pins == 2)
    yield from stage.window.go(stage.see(tip) + np.array((250, 0)))
    yield from click()
    check("a click beside the skin pins nothing", stage.pins == 2)
    selected = [bone for bone in stage.armature.pose.bones if (bone if hasattr(bone, "select") else bone.bone).select]
    check("... and is Blender's own: no bone is selected", not selected)
    with stage.window.override():
        bpy.ops.supple.clear_pins()
    check("Clear Pins takes all pins off", stage.pins == 0)


def cancel_drag(stage: Stage) -> Iterator[float]:
    """Esc and the right button put all back."""
    before, tip = stage.pose(), stage.find_vertex(3.9)
    yield from stage.drag(tip, (90, -90), "Escape")
    check("Esc puts the pose back", bool(np.allclose(stage.pose(), before, atol=1e-6)))
    check("... and ends the tool", not stage.window.running)


def respect_limits(stage: Stage) -> Iterator[float]:
    """Limit Rotation and locks are kept."""
    stage = Stage(stage.window)
    bones = stage.armature.pose.bones
    limit = bones["bone.2"].constraints.new("LIMIT_ROTATION")
    limit.owner_space = "LOCAL"
    for axis in "xyz":
        setattr(limit, f"use_limit_{axis}", True)
        setattr(limit, f"min_{axis}", -0.2)
        setattr(limit, f"max_{axis}", 0.2)
    bones["bone.1"].lock_rotation = (True, True, True)
    yield WAIT
    yield from stage.drag(stage.find_vertex(3.9), (-200, -150))
    take_picture("drag-3-limited")
    angles = np.abs(bones["bone.2"].rotation_quaternion.to_euler())
    check(f"a limited bone stays within its limits ({max(angles):.3f})", 0.15 < max(angles) <= 0.2 + 1e-4)
    check("a locked bone does not rotate", bones["bone.1"].rotation_quaternion.angle < 1e-6)


def key_drag(stage: Stage) -> Iterator[float]:
    """Auto keying keys the bones that have changed, and no others."""
    tools = bpy.context.scene.tool_settings
    stage = Stage(stage.window)
    for bone in stage.armature.pose.bones:
        bone.keyframe_insert("rotation_quaternion", frame=1)
    stage.armature.pose.bones["bone.0"].lock_rotation = (True, True, True)
    tools.use_keyframe_insert_auto = True
    bpy.context.scene.frame_set(7)
    yield WAIT
    yield from stage.drag(stage.find_vertex(3.9), (-120, -40))
    tools.use_keyframe_insert_auto = False
    bag = stage.armature.animation_data.action.layers[0].strips[0].channelbags[0]
    keyed = {curve.data_path for curve in bag.fcurves if any(key.co[0] == 7.0 for key in curve.keyframe_points)}
    wanted = {f'pose.bones["bone.{bone}"].rotation_quaternion' for bone in (1, 2, 3)}
    check("auto keying keys the bones that have changed, at this frame", keyed == wanted)
    after = stage.pose()
    bpy.context.scene.frame_set(1)
    check("... which were elsewhere before", bool(np.abs(stage.pose() - after).max() > 0.01))
    bpy.context.scene.frame_set(7)
    check("... and are there again", bool(np.allclose(stage.pose(), after, atol=1e-5)))
    bpy.context.scene.frame_set(1)


def drag_chain(stage: Stage) -> Iterator[float]:
    """The other solver brings the end of a chain to the mouse, too."""
    stage = Stage(stage.window)
    settings = bpy.context.scene.supple_drag
    settings.solver, settings.chain_length = "CHAIN", 2
    yield WAIT
    tip = stage.find_vertex(3.9)
    target = stage.see(tip) + np.array((-100, -60))
    yield from stage.drag(tip, (-100, -60))
    settings.solver = "ENERGY"
    away = float(np.linalg.norm(stage.see(tip) - target))
    check(f"a chain of two bones reaches the mouse ({away:.1f} pixels)", away <= NEAR)
    changed = np.abs(stage.pose() - (1, 0, 0, 0, 0, 0, 0)).max(axis=1) > 1e-3
    check("... and other bones do not move", changed.tolist() == [False, False, True, True])
