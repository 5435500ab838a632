"""Motions in a window: compared with progress, canceled by Esc, closed to a loop, and undone by a key."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import bpy
from scenes_motion import add_walk, add_walker

from scenes import select

WAIT = 0.6


def loop_motions(window: Any, check: Callable[[str, bool], None], look: Callable[[Any, str], Any]) -> Iterator[float]:
    """A walker's long walk: its table, a loop that is canceled, and one that is made."""
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    bpy.context.view_layer.update()
    armature = add_walker()
    add_walk(armature, "Walk", range(1, 601))
    with bpy.context.temp_override(**window.override()):
        select(armature)
        bpy.ops.ed.undo_push(message="Walker")
    yield WAIT
    settings = bpy.context.scene.supple_motion
    call(window, bpy.ops.supple.motion_compare)
    yield from wait_until(lambda: len(settings.transitions) > 0)
    check("Compare Actions lists loops", abs(settings.transitions[0].first - settings.transitions[0].second) > 5)
    check("... and draws the table", tuple(settings.image.size) == (600, 600))
    look(window, "motion-compared")
    before = bpy.data.actions.keys()
    call(window, bpy.ops.supple.motion_loop)
    yield 0.1
    subprocess.run(["xdotool", "key", "Escape"], check=True)
    yield 2.0
    check("Esc leaves no action behind", bpy.data.actions.keys() == before)
    check("... and the armature plays what it did", armature.animation_data.action == bpy.data.actions["Walk"])
    call(window, bpy.ops.supple.motion_loop)
    yield from wait_until(lambda: "Walk Loop" in bpy.data.actions and bool(settings.report))
    check("Make Loop makes an action", "Walk Loop" in bpy.data.actions)
    check("... that a strip plays", armature.animation_data.nla_tracks[-1].strips[0].name == "Walk Loop")
    look(window, "motion-looped")
    with bpy.context.temp_override(**window.override()):
        bpy.ops.ed.undo()
    yield 1.0
    armature = bpy.data.objects["Walker"]
    check("undo takes the loop back", not armature.animation_data.nla_tracks and "Walk Loop" not in bpy.data.actions)


def call(window: Any, operator: Callable[..., set[str]]) -> None:
    """Start an operator as a button does."""
    with bpy.context.temp_override(**window.override()):
        operator("INVOKE_DEFAULT")


def wait_until(is_done: Callable[[], bool]) -> Iterator[float]:
    for _ in range(120):
        if is_done():
            break
        yield 0.5
    yield 0.5
