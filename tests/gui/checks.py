"""Check Character by mouse: a vertex that strays is found, shown in colors, mended, and gone at the next check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import bpy
import numpy as np

from scenes import add_tube, select, turn

WAIT = 0.6
SKIN_HEADER, CHECK_HEADER = 2.1, 3.5
"""Where headers of panels are, in rows of buttons below the top of the sidebar; the second with the first closed."""
RUN_ROW, LINE_ROW, BUTTON_ROW = 7.3, 10.2, 18.9
LINE, FIX, DISMISS = 0.5, 0.55, 0.8
"""Buttons of a row, as shares of the sidebar's width."""


def check_character(
    window: Any, check: Callable[[str, bool], None], look: Callable[[Any, str], np.ndarray]
) -> Iterator[float]:
    """Check a tube of which one vertex follows the wrong bone, and do what its line offers."""
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    bpy.context.view_layer.update()
    tube, armature = add_tube(bones=2, rings=41, sides=24, length=4.0, radius=0.5)
    stray = min(tube.data.vertices, key=lambda vertex: abs(vertex.co.x - 0.6)).index
    for group in tube.vertex_groups:
        group.remove([stray])
    tube.vertex_groups[-1].add([stray], 1.0, "REPLACE")
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
    yield WAIT
    yield from press(window, CHECK_HEADER, 0.3)
    yield WAIT
    settings = bpy.context.window_manager.supple_check
    yield from press(window, RUN_ROW)
    yield from wait_for(settings)
    look(window, "check-found")
    check("Check Character lists the stray vertex", settings.findings[0].text == "far: 1")
    yield from press(window, LINE_ROW, LINE)
    yield 1.0
    look(window, "check-shown")
    check("A click on the line puts heat on the skin", settings.heat == "STRETCH")
    check("... and selects the vertex", [vertex.index for vertex in tube.data.vertices if vertex.select] == [stray])
    yield from press(window, BUTTON_ROW, DISMISS)
    yield WAIT
    check("Dismiss takes the line off the list", armature.supple.dismissed == settings.findings[0].key)
    look(window, "check-dismissed")
    yield from press(window, BUTTON_ROW, DISMISS)
    yield WAIT
    check("... and puts it back", not armature.supple.dismissed)
    yield from press(window, BUTTON_ROW, FIX)
    yield 1.0
    check("Fix gives the vertex the weights around it", follows_first(tube, stray))
    settings.armature = ""
    yield from press(window, RUN_ROW)
    yield from wait_for(settings)
    look(window, "check-mended")
    check("... and the next check finds nothing", not settings.findings)
    turn(armature, "bone.1", (0.0, 0.0, 1.2))
    yield WAIT
    colored = count_colored(look(window, "check-heat"))
    settings.heat = "NONE"
    yield WAIT
    plain = count_colored(look(window, "check-plain"))
    check("Heat colors the bent joint, and is gone when it is off", colored > plain + 5000)
    yield from press(window, CHECK_HEADER, 0.3)
    yield WAIT
    yield from press(window, SKIN_HEADER, 0.3)
    yield WAIT


def press(window: Any, row: float, share: float = 0.45) -> Iterator[float]:
    """Click a button of the sidebar, coming from the view: Blender highlights what the mouse enters."""
    window.move("WINDOW", 300, 300)
    yield WAIT
    window.click_button(row, share)
    yield WAIT


def wait_for(settings: Any) -> Iterator[float]:
    """Until the check is done."""
    for _ in range(120):
        yield 0.5
        if settings.armature:
            break
    yield 0.5


def count_colored(pixels: np.ndarray) -> int:
    """Pixels, shape (H, W, 3), that are far from gray."""
    return int((np.ptp(pixels, axis=2) > 0.15).sum())


def follows_first(tube: bpy.types.Object, vertex: int) -> bool:
    weights = {tube.vertex_groups[entry.group].name: entry.weight for entry in tube.data.vertices[vertex].groups}
    return weights.get(tube.vertex_groups[0].name, 0.0) > 0.5
