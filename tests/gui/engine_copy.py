"""Engine Copy by mouse: canceled with Esc, made, shown beside the character in colors of its distance, hidden again."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
from window import WAIT, Window, check, count_colored, part, press, take_picture, until

from scenes import add_tube, animate_tube, bind

MAKE_ROW = 16.26
"""Where Engine Copy is, in rows of buttons below the top of the sidebar, without the lines of the hint."""
MAKE, SHOW, GO = 0.3, 0.77, 0.84
"""Buttons of a row, as shares of the sidebar's width."""


def copy_for_engines(window: Window) -> Iterator[float]:
    """Make an engine copy of a tube that bends and twists, and look at it."""
    window.clear()
    tube, armature = add_tube(bones=3, rings=61, sides=24, length=3.0, radius=0.4)
    animate_tube(armature)
    bind(tube, method="CENTERS")
    window.look_down(armature)
    yield from window.open_tab()
    yield from window.open_panel("hand_over")
    row = MAKE_ROW + window.count_lines(part("ui.hand_over").HINT)
    take_picture("copy-panel")
    settings = armature.supple_engine_copy
    before = len(bpy.data.objects)
    yield from window.click_row(row, MAKE)
    take_picture("copy-asks")
    check("Make Engine Copy asks first", not window.running)
    yield from press("Return")
    check("... and runs beside the window", window.running)
    yield from press("Escape")
    yield from until(lambda: not window.running)
    check("Esc cancels an engine copy and leaves nothing", not settings.report and len(bpy.data.objects) == before)
    yield from window.click_row(row, MAKE)
    yield from press("Return")
    yield from until(lambda: settings.report and not window.running)
    take_picture("copy-made")
    check("Make Engine Copy reports how close it is", "Largest difference" in settings.report)
    copy = bpy.data.objects.get("Tube for glTF")
    check("... and hides the copy", copy is not None and not copy.visible_get())
    yield from window.click_row(row, GO)
    check("Go to Frame goes there", f"frame {bpy.context.scene.frame_current})" in settings.report)
    plain = count_colored(window.look("copy-frame"))
    yield from window.click_row(row, SHOW)
    window.look_down()
    yield WAIT
    colored = count_colored(window.look("copy-shown"))
    check("Show Difference colors the copy", copy.visible_get() and colored > plain + 10000)
    yield from window.click_row(row, SHOW)
    check("... and hides it again", not copy.visible_get())
    yield from window.open_panel("hand_over")
