"""Engine Copy by mouse: canceled with Esc, made, shown beside the character in colors of its distance, hidden again."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import bpy
import numpy as np
from checks import count_colored, press

from scenes import add_tube, animate_tube, bind, select

WAIT = 0.6
SKIN_HEADER, PANEL_HEADER = 2.1, 8.9
"""Where headers of panels are, in rows of buttons below the top of the sidebar; the second with the first closed."""
MAKE_ROW, BUTTON_ROW = 23.8, 25.2
MAKE, SHOW, GO = 0.4, 0.3, 0.7
"""Buttons of a row, as shares of the sidebar's width."""


def copy_for_engines(
    window: Any, check: Callable[[str, bool], None], look: Callable[[Any, str], np.ndarray]
) -> Iterator[float]:
    """Make an engine copy of a tube that bends and twists, and look at it."""
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    bpy.context.view_layer.update()
    tube, armature = add_tube(bones=3, rings=61, sides=24, length=3.0, radius=0.4)
    animate_tube(armature)
    bind(tube, method="CENTERS", evaluate="NODES")
    with bpy.context.temp_override(**window.override()):
        bpy.ops.view3d.view_axis(type="TOP")
        bpy.ops.view3d.view_all()
        select(armature)
    window.space.show_region_ui = True
    yield WAIT
    window.region("UI").active_panel_category = "Supple"
    window.area.tag_redraw()
    yield 1.0
    yield from press(window, SKIN_HEADER, 0.3)
    yield from press(window, PANEL_HEADER, 0.3)
    look(window, "copy-panel")
    settings = armature.supple_engine_copy
    before = len(bpy.data.objects)
    yield from press(window, MAKE_ROW, MAKE)
    subprocess.run(["xdotool", "key", "Escape"], check=True)
    yield 2.0
    check("Esc cancels an engine copy and leaves nothing", not settings.report and len(bpy.data.objects) == before)
    yield from press(window, MAKE_ROW, MAKE)
    for _ in range(120):
        yield 0.5
        if settings.report:
            break
    yield WAIT
    look(window, "copy-made")
    check("Make Engine Copy reports how close it is", "Largest difference" in settings.report)
    copy = bpy.data.objects.get("Tube for glTF")
    check("... and hides the copy", copy is not None and not copy.visible_get())
    yield from press(window, BUTTON_ROW, GO)
    check("Go to Frame goes there", f"frame {bpy.context.scene.frame_current})" in settings.report)
    plain = count_colored(look(window, "copy-frame"))
    yield from press(window, BUTTON_ROW, SHOW)
    with bpy.context.temp_override(**window.override()):
        bpy.ops.view3d.view_all()
    yield 1.0
    colored = count_colored(look(window, "copy-shown"))
    check("Show Difference colors the copy", copy.visible_get() and colored > plain + 10000)
    yield from press(window, BUTTON_ROW, SHOW)
    check("... and hides it again", not copy.visible_get())
    yield from press(window, PANEL_HEADER, 0.3)
    yield from press(window, SKIN_HEADER, 0.3)
