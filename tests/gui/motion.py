"""Motions in a window: compared with progress, canceled by Esc, closed to a loop, and undone by a key."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
from scenes_motion import add_walk, add_walker
from window import WAIT, Window, check, press, take_picture, until

from scenes import select


def loop_motions(window: Window) -> Iterator[float]:
    """A walker's long walk: compared, a loop that is canceled, and one that is made."""
    window.clear()
    armature = add_walker()
    add_walk(armature, "Walk", range(1, 601))
    with window.override():
        select(armature)
        bpy.ops.ed.undo_push(message="Walker")
    yield WAIT
    settings = bpy.context.scene.supple_motion
    window.call(bpy.ops.supple.motion_compare)
    yield from until(lambda: len(settings.transitions) > 0 and not window.running)
    check("Compare Actions lists loops", abs(settings.transitions[0].first - settings.transitions[0].second) > 5)
    take_picture("motion-compared")
    before = bpy.data.actions.keys()
    window.call(bpy.ops.supple.motion_loop)
    check("Make Loop runs beside the window", window.running)
    yield from press("Escape")
    yield from until(lambda: not window.running)
    check("Esc leaves no action behind", bpy.data.actions.keys() == before)
    check("... and the armature plays what it did", armature.animation_data.action == bpy.data.actions["Walk"])
    window.call(bpy.ops.supple.motion_loop)
    yield from until(lambda: "Walk Loop" in bpy.data.actions and settings.report and not window.running)
    check("Make Loop makes an action", "Walk Loop" in bpy.data.actions)
    check("... that a strip plays", armature.animation_data.nla_tracks[-1].strips[0].name == "Walk Loop")
    take_picture("motion-looped")
    with window.override():
        bpy.ops.ed.undo()
    yield WAIT
    armature = bpy.data.objects["Walker"]
    check("undo takes the loop back", not armature.animation_data.nla_tracks and "Walk Loop" not in bpy.data.actions)
