"""Check Character by mouse: a vertex that strays is found, shown in colors, mended, and gone at the next check."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d
from window import CHECK, FLIP_ROW, WAIT, Window, check, count_colored, part, press, take_picture, until

from scenes import add_tube, turn

LINE_ROW, BUTTON_ROW = 5.73, 14.75
LINE, FIX, DISMISS = 0.5, 0.25, 0.65
"""Buttons of a row, as shares of the sidebar's width."""


def check_character(window: Window) -> Iterator[float]:
    """Check a tube of which one vertex follows the wrong bone, and do what its line offers."""
    window.clear()
    tube, armature = add_tube(bones=2, rings=41, sides=24, length=4.0, radius=0.5)
    stray = min(tube.data.vertices, key=lambda vertex: abs(vertex.co.x - 0.6)).index
    for group in tube.vertex_groups:
        group.remove([stray])
    tube.vertex_groups[-1].add([stray], 1.0, "REPLACE")
    window.look_down(armature)
    yield from window.open_tab()
    settings = bpy.context.window_manager.supple_check
    yield from window.click_row(FLIP_ROW, CHECK)
    yield from until(lambda: settings.armature)
    yield WAIT
    check("The list of faults is closed at first", not settings.is_open)
    yield from window.click_row(FLIP_ROW, CHECK)
    check("... and opens by a click on their number", settings.is_open)
    take_picture("check-found")
    check("Check Character lists the stray vertex", settings.findings[0].text == "1 vertex far away")
    yield from window.click_row(LINE_ROW, LINE)
    take_picture("check-shown")
    check("A click on the line puts heat on the skin", settings.heat == "STRETCH")
    pixel = location_3d_to_region_2d(window.region("WINDOW"), window.space.region_3d, tube.data.vertices[stray].co)
    left, bottom, right, top = part("viewport.framing").find_free_part(window.area)
    away = np.array(pixel) - (0.5 * (left + right), 0.5 * (bottom + top))
    check("... the fault is in the middle of what the sidebar leaves of the view", np.abs(away).max() < 3.0)
    check("... and selects the vertex", [vertex.index for vertex in tube.data.vertices if vertex.select] == [stray])
    yield from window.click_row(BUTTON_ROW, DISMISS)
    check("Dismiss takes the line off the list", armature.supple.dismissed == settings.findings[0].key)
    check("... and heat off the skin", settings.heat == "NONE")
    take_picture("check-dismissed")
    yield from window.click_row(BUTTON_ROW, DISMISS)
    check("... and puts it back", not armature.supple.dismissed)
    yield from window.click_row(BUTTON_ROW, FIX)
    yield from until(lambda: not window.running)
    check("Fix gives the vertex the weights around it", follows_first(tube, stray))
    settings.armature = ""
    yield from window.click_row(FLIP_ROW, CHECK)
    yield from until(lambda: settings.armature)
    take_picture("check-mended")
    check("... and the next check finds nothing", not settings.findings)
    yield from fix_all(window, tube, stray)
    tube, armature = bpy.data.objects["Tube"], bpy.data.objects["Rig"]
    turn(armature, "bone.1", (0.0, 0.0, 1.2))
    settings.heat = "STRETCH"
    window.look_down(armature)
    yield WAIT
    colored = count_colored(window.look("check-heat"))
    settings.heat = "NONE"
    yield WAIT
    plain = count_colored(window.look("check-plain"))
    check("Heat colors the bent joint, and is gone when it is off", colored > plain + 5000)
    settings.is_open = False


def fix_all(window: Window, tube: bpy.types.Object, stray: int) -> Iterator[float]:
    """Fix All is one step of undo, which brings the faults back into the list; Esc keeps what is fixed until then."""
    settings = bpy.context.window_manager.supple_check
    for group in tube.vertex_groups:
        group.remove([stray])
    tube.vertex_groups[-1].add([stray], 1.0, "REPLACE")
    settings.armature = ""
    window.call(bpy.ops.supple.check, False)
    yield from until(lambda: settings.armature)
    bpy.ops.ed.undo_push(message="Before the fixes")
    for key in ("", "Escape"):
        window.move("WINDOW", 300, 300)
        yield WAIT
        window.call(bpy.ops.supple.check_fix_all, True)
        if key:
            yield from press(key)
        yield from until(lambda: not window.running)
        tube = bpy.data.objects["Tube"]
        fixed = [line.is_mended for line in settings.findings]
        if not key:
            check("Fix All fixes the fault", all(fixed) and follows_first(tube, stray))
        else:
            check("Esc stops Fix All, and the list says what is fixed", any(fixed) == follows_first(tube, stray))
        if any(fixed):
            yield from press("ctrl+z")
        tube = bpy.data.objects["Tube"]
        check("... one undo brings the fault back", not follows_first(tube, stray))
        check("... also into the list", not any(line.is_mended for line in settings.findings))


def follows_first(tube: bpy.types.Object, vertex: int) -> bool:
    weights = {tube.vertex_groups[entry.group].name: entry.weight for entry in tube.data.vertices[vertex].groups}
    return weights.get(tube.vertex_groups[0].name, 0.0) > 0.5
