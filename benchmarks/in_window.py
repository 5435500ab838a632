"""Scripts that use a Blender with a window: step by step, by the mouse of xdotool, with pictures of the screen."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bpy

from tools import checkout


def xdo(*arguments: object) -> None:
    """Do something with mouse or keys."""
    subprocess.run(["xdotool", *map(str, arguments)], check=True)


def move(region: bpy.types.Region, x: float, y: float) -> None:
    """Move the mouse to a position in a region, from its lower left corner."""
    left, top = region.x + x, bpy.context.window.height - (region.y + y)
    xdo("mousemove", round(left) - 3, round(top) - 3, "sleep", 0.2, "mousemove", round(left), round(top), "sleep", 0.2)


def prepare_view(area: bpy.types.Area) -> dict[str, bpy.types.Region]:
    """Show the sidebar, and no more over the view than needed; its regions."""
    space: Any = area.spaces.active
    space.show_region_ui, space.show_region_toolbar, space.show_gizmo = True, False, False
    space.overlay.show_floor = space.overlay.show_axis_x = space.overlay.show_axis_y = False
    space.overlay.show_text = space.overlay.show_cursor = False
    return {region.type: region for region in area.regions}


def find_view() -> tuple[bpy.types.Area, bpy.types.Region]:
    """The 3D View of the main window."""
    area = next(area for area in bpy.context.window_manager.windows[0].screen.areas if area.type == "VIEW_3D")
    return area, next(region for region in area.regions if region.type == "WINDOW")


def in_view() -> Any:
    """The context of the 3D View, as under the mouse."""
    area, region = find_view()
    return bpy.context.temp_override(window=bpy.context.window_manager.windows[0], area=area, region=region)


def save_picture(image: Path, crop: str) -> None:
    """Save a part of the screen, such as "640x480+10+20"."""
    bpy.ops.wm.redraw_timer(type="DRAW_WIN_SWAP", iterations=1)
    subprocess.run(["import", "-window", "root", "-crop", crop, "+repage", str(image)], check=True)


def run_in_window(make_steps: Callable[[Path], Iterator[float]], first: float = 2.0) -> None:
    """Enable the checkout, take the steps that a function makes of a folder for files, and quit."""
    bpy.context.preferences.view.show_splash = False
    folder = Path(tempfile.mkdtemp())
    checkout.enable(folder / "extension")
    run_steps(make_steps(folder), first)


def run_steps(steps: Iterator[float], first: float = 2.0) -> None:
    """Take steps, each of which yields seconds to wait, once Blender runs; then quit, which no window asks about."""

    def step() -> float:
        status = 1
        try:
            with bpy.context.temp_override(window=bpy.context.window_manager.windows[0]):
                return next(steps)
        except StopIteration:
            status = 0
        except Exception:  # noqa: BLE001 - whatever is raised, Blender would go on, and never quit
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(status)

    bpy.app.timers.register(step, first_interval=first, persistent=True)
