"""Scripts that use a Blender with a window: step by step, by the mouse of xdotool, with pictures of the screen."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from math import radians
from pathlib import Path
from typing import Any

import bpy
from mathutils import Euler, Vector

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


class Window:
    """The 3D View of the window, prepared for pictures, with the file's armature."""

    def __init__(self) -> None:
        self.armature: Any = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
        self.area, self.region = find_view()
        self.sidebar = prepare_view(self.area)["UI"]
        self.space: Any = self.area.spaces.active

    def override(self) -> Any:
        """The context of the 3D View, as under the mouse."""
        return bpy.context.temp_override(area=self.area, region=self.region)

    def look(
        self,
        angles: tuple[float, float],
        middle: Vector,
        distance: float,
        right: float = 0.0,
        projection: str = "ORTHO",
    ) -> None:
        """Look from angles about X and Z, degrees, at a point that is `right` of `middle`, as seen."""
        view = self.space.region_3d
        x, z = map(radians, angles)
        view.view_perspective, view.view_rotation = projection, Euler((x, 0.0, z)).to_quaternion()
        view.view_location = middle + right * (view.view_rotation @ Vector((1.0, 0.0, 0.0)))
        view.view_distance = distance

    def hide_bones(self) -> None:
        self.space.overlay.show_bones = self.space.overlay.show_outline_selected = False

    def show_tab(self) -> None:
        """Show the tab of Supple in the sidebar."""
        self.sidebar.active_panel_category = "Supple"
        self.area.tag_redraw()

    def press(self, x: float, row: float) -> None:
        """Click in the sidebar, so many rows of buttons below its top."""
        move(self.sidebar, x, self.sidebar.height - 20.0 * bpy.context.preferences.system.ui_scale * row)
        click()


def click() -> None:
    xdo("mousedown", 1, "sleep", 0.1, "mouseup", 1)


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
