"""Send to Farm by mouse: refused while something is not saved, then a dialog, then a job and where it is."""

from __future__ import annotations

import importlib
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from checks import press

import checkout
from scenes import add_tube, animate_tube, bind, select

WAIT = 0.6
SKIN_HEADER, PANEL_HEADER = 2.1, 7.7
"""Where headers of panels are, in rows of buttons below the top of the sidebar; the second with the first closed."""
BUTTON_ROW, CLOSE_ROW = 10.95, 12.45
CLOSE = 0.815
"""Share of the sidebar's width where the report is closed."""


def send_to_farm(
    window: Any, check: Callable[[str, bool], None], look: Callable[[Any, str], np.ndarray]
) -> Iterator[float]:
    """Send a bound tube to a farm from the Bake panel."""
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    bpy.context.view_layer.update()
    tube, armature = add_tube(bones=2, rings=41, sides=24, length=4.0, radius=0.5)
    animate_tube(armature)
    bind(tube, method="CENTERS", evaluate="NODES")
    with bpy.context.temp_override(**window.override()):
        select(tube)
    window.space.show_region_ui = True
    yield WAIT
    window.region("UI").active_panel_category = "Supple"
    window.area.tag_redraw()
    yield 1.0
    yield from press(window, SKIN_HEADER, 0.3)
    yield from press(window, PANEL_HEADER, 0.3)
    with tempfile.TemporaryDirectory() as folder:
        yield from _send(window, Path(folder), check, look)
    yield from press(window, PANEL_HEADER, 0.3)
    yield from press(window, SKIN_HEADER, 0.3)


def _send(
    window: Any, folder: Path, check: Callable[[str, bool], None], look: Callable[[Any, str], np.ndarray]
) -> Iterator[float]:
    with bpy.context.temp_override(**window.override()):
        bpy.ops.wm.save_as_mainfile(filepath=str(folder / "hero.blend"))
    yield WAIT  # Blender notes that later
    with bpy.context.temp_override(**window.override()):
        bpy.ops.ed.undo_push(message="A change")
    check("a change is not saved", bpy.data.is_dirty)
    yield from press(window, BUTTON_ROW)
    look(window, "farm-refused")
    subprocess.run(["xdotool", "key", "Return"], check=True)  # would write the job
    yield 1.0
    check("Send to Farm asks nothing before the file is saved", not (folder / "hero_farm").exists())
    with bpy.context.temp_override(**window.override()):
        bpy.ops.wm.save_mainfile()
    yield WAIT
    yield from press(window, BUTTON_ROW)
    look(window, "farm-dialog")
    subprocess.run(["xdotool", "key", "Return"], check=True)
    yield 1.5
    template = folder / "hero_farm" / "template.json"
    check("the dialog writes a job", template.exists())
    check("... of the mesh", template.exists() and "--object=Tube" in json.dumps(json.loads(template.read_text())))
    check("... and the file has no changes from that", not bpy.data.is_dirty)
    window.area.tag_redraw()
    yield 1.0
    look(window, "farm-report")
    reports = importlib.import_module(f"{checkout.MODULE}.settings.reports").farm_reports
    check("the panel says where the job is", "'//hero_farm'" in "".join(reports.values()))
    yield from press(window, CLOSE_ROW, CLOSE)
    yield 1.0
    check("... until that is closed", not reports)
