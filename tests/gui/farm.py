"""Write Farm Job by mouse: a dialog, which saves what is not saved, then a job and where it is."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import bpy
from window import WAIT, Window, check, part, press, take_picture, until

from scenes import add_tube, animate_tube, bind

BUTTON_ROW, CLOSE_ROW = 14.96, 16.46
"""Where buttons are, in rows of buttons below the top of the sidebar, without the lines of the hint."""
CLOSE = 0.815
"""Share of the sidebar's width where the report is closed."""


def send_to_farm(window: Window) -> Iterator[float]:
    """Send a bound tube to a farm from the panel Hand Over."""
    window.clear()
    tube, armature = add_tube(bones=2, rings=41, sides=24, length=4.0, radius=0.5)
    animate_tube(armature)
    bind(tube, method="CENTERS")
    window.look_down(tube)
    yield from window.open_tab()
    yield from window.open_panel("hand_over")
    with tempfile.TemporaryDirectory() as folder:
        yield from _send(window, Path(folder))
    yield from window.open_panel("hand_over")


def _send(window: Window, folder: Path) -> Iterator[float]:
    with window.override():
        bpy.ops.wm.save_as_mainfile(filepath=str(folder / "hero.blend"))
    yield WAIT  # Blender notes that later
    with window.override():
        bpy.ops.ed.undo_push(message="A change")
    check("a change is not saved", bpy.data.is_dirty)
    before = (folder / "hero.blend").stat().st_mtime_ns
    yield from window.click_row(BUTTON_ROW + window.count_lines(part("ui.hand_over").HINT))
    take_picture("farm-dialog")
    check("Write Farm Job writes nothing before it has asked", not (folder / "hero_farm").exists())
    yield from press("Return")
    reports, template = part("tasks.reports").farm_reports, folder / "hero_farm" / "template.json"
    yield from until(lambda: template.exists() and reports, 10.0)
    check("Save and Write saves the file", (folder / "hero.blend").stat().st_mtime_ns > before)
    check("... and writes a job", template.exists())
    check(
        "... with the command that submits it", "deadline bundle" in (folder / "hero_farm" / "README.txt").read_text()
    )
    check("... of the mesh", template.exists() and "--object=Tube" in json.dumps(json.loads(template.read_text())))
    check("... and the file has no changes from that", not bpy.data.is_dirty)
    window.area.tag_redraw()
    yield WAIT
    take_picture("farm-report")
    check("the panel says where the job is", "'//hero_farm'" in "".join(reports.values()))
    yield from window.click_row(CLOSE_ROW + window.count_lines(part("ui.hand_over").HINT), CLOSE)
    check("... until that is closed", not reports)
