"""Stay Outside in a window: the dressed example, its skirt, skin and limbs kept apart with progress, and undo."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
from window import WAIT, Window, check, part, press, take_picture, until


def keep_outside(window: Window) -> Iterator[float]:
    """The example walks in a skirt; Stay Outside, the dialog of a second press, undo, and Keep Limbs Apart."""
    window.clear()
    with window.override():
        bpy.ops.supple.example_add()
        bpy.ops.ed.undo_push(message="A dressed human")
        bpy.ops.view3d.view_axis(type="FRONT")
        bpy.ops.view3d.view_selected()
    bpy.context.scene.frame_set(20)
    yield from window.open_tab()
    take_picture("layers-1-posed")

    def list_kept() -> list[str]:
        return [obj.name for obj in part("tasks.layers.present").list_layered(bpy.data.objects)]

    window.call(bpy.ops.supple.layers_add, True)
    check("Stay Outside shows progress first", window.is_computing and not list_kept())
    yield from until(lambda: list_kept() and not window.running)
    take_picture("layers-2-kept")
    check("Stay Outside keeps the clothes outside", len(list_kept()) > 1)
    window.move("WINDOW", 300, 300)
    yield WAIT
    window.call(bpy.ops.supple.layers_add, True)
    yield 0.5
    take_picture("layers-3-dialog")
    yield from press("Escape")
    yield WAIT
    with window.override():
        bpy.ops.ed.undo()
    yield WAIT
    check("undo takes it off", not list_kept())
    window.call(bpy.ops.supple.layers_limbs)
    check("Keep Limbs Apart shows progress first", window.is_computing and not list_kept())
    yield from until(lambda: list_kept() and not window.running)
    take_picture("layers-4-limbs")
    settings_of = part("settings.objects").settings_of
    settings = [settings_of(obj) for obj in bpy.data.objects if obj.name in list_kept()]
    check("Keep Limbs Apart is remembered", all(each.layer_limbs for each in settings))
    with window.override():
        bpy.ops.ed.undo()
    yield WAIT
    check("undo takes that off, too", not list_kept())
    armature = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
    window.look_down(armature, "POSE")
    for bone in armature.pose.bones:
        (bone if hasattr(bone, "select") else bone.bone).select = bone.name in ("thigh_l", "thigh_r")
    window.move("WINDOW", 300, 300)
    yield WAIT
    window.call(bpy.ops.supple.layers_limbs)
    yield 0.5
    take_picture("layers-5-bones")
    check("in Pose Mode it asks first", not window.is_computing and not list_kept())
    yield from press("Return")
    yield from until(lambda: list_kept() and not window.running)
    check("... for the selected bones", settings_of(armature).limb_bones == "thigh_l, thigh_r")
