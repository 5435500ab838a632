"""Swing in a window: a dialog, its keys, progress, and undo."""

from __future__ import annotations

import math
from collections.abc import Iterator

import bpy
from scenes_swing import add_run, add_runner
from window import HEADER_ROW, WAIT, Window, check, part, press, take_picture, until

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
    yield from adjust(window)
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


def adjust(window: Window) -> Iterator[float]:
    """Another angle in *Adjust Last Operation*: the actions are not read again."""
    reading, read, before = part("tasks.swing.read"), [], read_amount()
    known = reading.read_action
    reading.read_action = lambda *given: read.append(given) or known(*given)
    try:
        with window.override():
            bpy.context.window_manager.operators[-1].properties.angle = math.radians(24.0)
            bpy.ops.ed.undo_redo()
            bpy.ops.ed.undo_push(message="Add Swing")  # as the window does, and not scripts
        yield WAIT
    finally:
        reading.read_action = known
    check("adjusted to another angle, the swing has another amount", abs(read_amount() / before - 1.0) > 0.1)
    check("... and the actions are not read again", not read)


def read_amount() -> float:
    return bpy.data.objects["Runner"].data.bones["tail.1.swing"].supple.swing.amount
