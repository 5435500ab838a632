"""Swing in a window: a dialog, its keys, progress, and undo."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
from scenes_swing import add_run, add_runner
from window import HEADER_ROW, WAIT, Window, check, press, take_picture, until

from scenes import select


def swing_tail(window: Window) -> Iterator[float]:
    """A runner's tail, by the dialog of Add Swing; Esc first."""
    window.clear()
    armature = add_runner()
    add_run(armature)
    with window.override():
        select(armature)
        bpy.ops.ed.undo_push(message="Runner")
    yield from window.open_tab()
    yield from window.press_header(HEADER_ROW[False])  # there is no mesh, so that Motion is the first panel below
    take_picture("swing-panel")
    for key, is_made in (("Escape", False), ("Return", True)):
        window.move("WINDOW", 300, 300)
        yield WAIT
        window.call(bpy.ops.supple.swing_add, True)
        yield 0.5
        take_picture("swing-dialog")
        yield from press(key)
        if is_made:
            yield from until(lambda: "tail.1.swing" in bpy.data.objects["Runner"].data.bones and not window.running)
        yield WAIT
        made = "tail.1.swing" in bpy.data.objects["Runner"].data.bones
        check(f"{key} in the dialog of Add Swing {'adds it' if is_made else 'changes nothing'}", made == is_made)
    bpy.data.actions["Run"].name = "Sprint"
    bpy.context.scene.render.fps = 30
    window.area.tag_redraw()
    yield 0.3
    take_picture("swing-changed")
    bpy.context.scene.render.fps = 24
    with window.override():
        bpy.ops.ed.undo()
    yield WAIT
    check("undo takes the swing back", not any(b.supple.is_lag for b in bpy.data.objects["Runner"].data.bones))
