"""What others do to the file, the window and the extension while a long command is under way in a window."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import bpy
from window import WAIT, Window, check, until

import checkout

COMMANDS = {"make": 0.3, "flesh_add": 1.5, "check": 0.7}
"""By operator: seconds from its start to what others do, while it reads, the other Blender starts, or computes."""
SOON = 4.0
"""Seconds within which the other Blender has ended: a timer, and redraws before it of up to a second each."""


def delete_meshes(_window: Window) -> None:
    bpy.data.batch_remove([obj for obj in bpy.data.objects if obj.type == "MESH"])


def delete_all(_window: Window) -> None:
    bpy.data.batch_remove([*bpy.data.objects, *bpy.data.meshes, *bpy.data.armatures, *bpy.data.actions])


def add_vertices(_window: Window) -> None:
    for mesh in bpy.data.meshes:
        mesh.vertices.add(3)


def undo(window: Window) -> None:
    with window.override():
        bpy.ops.ed.undo()


def disable(_window: Window) -> None:
    checkout.disable()


def open_file(window: Window) -> None:
    with window.override(), tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "other.blend")
        bpy.data.libraries.write(path, set(), fake_user=False)
        bpy.ops.wm.open_mainfile(filepath=path, load_ui=False)


def close_window(window: Window) -> None:
    """Close the second window, where the command was started."""
    with bpy.context.temp_override(window=find_second(window)):
        bpy.ops.wm.window_close()


EDITS = (delete_meshes, delete_all, add_vertices, undo, disable, open_file, close_window)


def interrupt_commands(window: Window) -> Iterator[float]:
    """Each command meets each of what others do."""
    raised: list[str] = []
    former = sys.excepthook

    def note(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        raised.append(f"{kind.__name__}: {error}")
        former(kind, error, trace)

    sys.excepthook = note
    for command, wait in COMMANDS.items():
        for edit in EDITS:
            raised.clear()
            yield from _interrupt(window, command, edit, wait)
            check(f"{command}: {edit.__name__} ends in no traceback {raised}", not raised)
    sys.excepthook = former


def find_second(window: Window) -> bpy.types.Window:
    return next(each for each in bpy.context.window_manager.windows if each != window.window)


def count_children() -> int:
    """Other Blenders that compute for this one."""
    found = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            words, status = (folder / "cmdline").read_bytes(), (folder / "status").read_text()
            found += b"child_session.py" in words and f"PPid:\t{os.getpid()}\n" in status
    return found


def _interrupt(window: Window, command: str, edit: Callable[[Window], None], wait: float) -> Iterator[float]:
    """Start a command on the example, do something else, and wait until it has ended."""
    window.clear()
    with window.override():
        bpy.ops.supple.example_add()
        if command != "make":
            bpy.ops.supple.make(look="FAST")
        bpy.ops.ed.undo_push(message="A dressed human")
        bpy.context.object.location.x += 1.0
        bpy.ops.ed.undo_push(message="A change")
    started = window.window
    if edit is close_window:
        with window.override():
            bpy.ops.wm.window_new()
        yield 0.5
        started = find_second(window)
    area = max(started.screen.areas, key=lambda area: (area.type == "VIEW_3D", area.width))
    region = next(region for region in area.regions if region.type == "WINDOW")
    with bpy.context.temp_override(window=started, area=area, region=region):
        getattr(bpy.ops.supple, command)("INVOKE_DEFAULT")
    yield from until(lambda: started.modal_operators or count_children(), 10 * SOON)
    yield wait
    check(f"{command} is under way", any(each.bl_idname.startswith("SUPPLE_OT") for each in started.modal_operators))
    edit(window)
    start = time.monotonic()
    yield from until(lambda: not count_children(), 10 * SOON)
    took = time.monotonic() - start
    check(f"{command}: after {edit.__name__} nothing is computed any more ({took:.1f} s)", took < SOON)
    if edit is disable:
        checkout.enable(Path(tempfile.mkdtemp(prefix="supple-gui-")))
    yield WAIT
