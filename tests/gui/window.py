"""The window that tests run in: its mouse and keys, its pictures, and what was found.

Steps yield how many seconds Blender's own loop is to run before the next one: mostly `WAIT`, as what the mouse and the
keys have done is handled and drawn after `LOOPS` of them, however long these take. What goes on beside the window
is waited for by `until`.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import bpy
import numpy as np

import checkout
from scenes import select

PICTURES = Path(__file__).resolve().parents[2] / "dist" / "gui"
WAIT = 0.05
LOOPS = 6
"""How often Blender's loop goes round, at least, before the next step."""
COMPUTED = 5.0
"""Seconds after which a test goes on with what a click has started, though it is still computed."""
PANEL_OPENS = 0.5
"""Seconds that Blender takes to move the panels below one that is opened or closed."""
RESULTS: list[tuple[str, bool]] = []

LOOK_ROW, FLIP_ROW, CHECK_ROW = 2.55, 4.0, 5.3
"""Where buttons of the first panel are once a character is bound, in rows of buttons below the top of the sidebar.
Before, Check and Side by Side are where Flip is later."""
HEADER_ROW, HEADER_PITCH = {True: 6.9, False: 5.66}, 1.343
"""Where the header of the first panel below is, by whether the character is bound; from one panel to the next."""
PANELS = ("fine_tune", "weights", "patterns", "corrections", "hand_over", "motion")
CHECK, CORRECT, SIDE_BY_SIDE = 0.2, 0.66, 0.62
"""Buttons of the first panel, as shares of the sidebar's width."""

PITCH = 1.1
"""From one row of buttons to the next, in heights of a button."""


def xdo(*arguments: object) -> None:
    """Move the mouse and press keys; that it asks for the mouse's place at the end has the display do so before."""
    command = ["xdotool", *map(str, arguments), "getmouselocation"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def press(*keys: str) -> Iterator[float]:
    """Press keys, one after the other, such as "r" and "ctrl+z"."""
    for key in keys:
        xdo("key", key)
        yield WAIT


def press_mouse(is_down: bool) -> Iterator[float]:
    """Press the left button, or let it go."""
    xdo("mousedown" if is_down else "mouseup", 1)
    yield WAIT


def click() -> Iterator[float]:
    xdo("mousedown", 1, "sleep", 0.05, "mouseup", 1)
    yield WAIT


def until(is_done: Callable[[], object], seconds: float = 60.0) -> Iterator[float]:
    """Wait for something; where it does not come, what is checked next fails."""
    end = time.monotonic() + seconds
    while not is_done() and time.monotonic() < end:
        yield WAIT
    yield WAIT


def part(name: str) -> ModuleType:
    """A module of the extension."""
    return importlib.import_module(f"{checkout.MODULE}.{name}")


def check(name: str, condition: object) -> None:
    """Note whether something holds; where it does not, with a picture."""
    RESULTS.append((name, bool(condition)))
    print(f"{'ok    ' if condition else 'FAILED'} {name}", flush=True)
    if not condition:
        save_screen(f"failed-{len(RESULTS)}")


def take_picture(name: str) -> None:
    """A picture for whoever wants to see how it looks: only with --pictures."""
    if "--pictures" in sys.argv:
        save_screen(name)


def save_screen(name: str) -> Path:
    """A picture of the whole screen as it is drawn now (Blender's own is black on a display of software)."""
    bpy.ops.wm.redraw_timer(type="DRAW_WIN_SWAP", iterations=1)
    PICTURES.mkdir(parents=True, exist_ok=True)
    path = PICTURES / f"{name}.png"
    subprocess.run(["import", "-window", "root", "-define", "png:compression-level=1", str(path)], check=True)
    return path


def count_changed(first: np.ndarray, second: np.ndarray, least: float = 3 / 255) -> float:
    """Share of the pixels that differ, by more than what a picture is rounded to."""
    return float((np.abs(first - second).max(axis=2) > least).mean())


def count_colored(pixels: np.ndarray) -> int:
    """Pixels, shape (H, W, 3), that are far from gray."""
    return int((np.ptp(pixels, axis=2) > 0.15).sum())


class Window:
    """The 3D View of the main window and its sidebar, in the coordinates of xdotool."""

    def __init__(self) -> None:
        self.window = bpy.context.window_manager.windows[0]
        self.area = next(area for area in self.window.screen.areas if area.type == "VIEW_3D")
        self.space = self.area.spaces.active

    def region(self, kind: str) -> bpy.types.Region:
        return next(region for region in self.area.regions if region.type == kind)

    def override(self, kind: str = "WINDOW") -> bpy.types.ContextTempOverride:
        """Have operators run in this view."""
        return bpy.context.temp_override(window=self.window, area=self.area, region=self.region(kind))

    @property
    def running(self) -> list[str]:
        """Operators that go on until they are confirmed or canceled, or done."""
        return [operator.bl_idname for operator in self.window.modal_operators]

    @property
    def is_computing(self) -> bool:
        """Whether an operator goes on that ends by itself."""
        computing = part("operators.computing").ComputingOperator
        return any(issubclass(getattr(bpy.types, name, object), computing) for name in self.running)

    def move(self, kind: str, x: float, y: float) -> None:
        """Move the mouse to a place in a region, from its lower left corner; in two steps, as Blender wants it."""
        region = self.region(kind)
        left, top = round(region.x + x), round(self.window.height - (region.y + y))
        xdo("mousemove", left - 3, top - 3, "sleep", 0.02, "mousemove", left, top)

    def go(self, *pixels: np.ndarray) -> Iterator[float]:
        """Take the mouse to places in the view, one after the other."""
        for pixel in pixels:
            self.move("WINDOW", pixel[0], pixel[1] + 1)  # a screen's lowest row is one less than its height
            yield WAIT

    def drag(self, *pixels: np.ndarray) -> Iterator[float]:
        """Press the left button at the first of some places, and go to the others; it stays down."""
        yield from self.go(pixels[0])
        yield from press_mouse(True)
        yield from self.go(*pixels[1:])

    def count_lines(self, text: str) -> int:
        """Lines that a hint takes in the sidebar, in the language of the window."""
        with self.override("UI"):
            return len(part("ui.reports").fit(bpy.context, text))

    def method_rows(self) -> float:
        """How many rows a panel has for what the method says and lets choose, beside those of three choices."""
        with self.override("UI"):
            obj = part("settings.character").find_shown(bpy.context)
        method = part("deformers").METHODS[obj.supple.method]
        return self.count_lines(method.tooltip) + PITCH * (len(method.choices) - 3)

    def click_row(self, row: float, share: float = 0.45) -> Iterator[float]:
        """Click in the sidebar, `row` rows of buttons below its top, at a share of its width.

        The mouse comes from the view: Blender highlights what it enters, and a button takes no click before. What has
        changed in the sidebar is drawn before that.
        """
        self.move("WINDOW", 300, 100)
        self.area.tag_redraw()
        yield WAIT
        region, unit = self.region("UI"), 20.0 * bpy.context.preferences.system.ui_scale
        self.move("UI", region.width * share, region.height - unit * row)
        yield WAIT
        yield from click()
        yield from until(lambda: not self.is_computing, COMPUTED)

    def open_panel(self, name: str, is_bound: bool = True) -> Iterator[float]:
        """Open a panel, or close it, while all above it are closed."""
        yield from self.press_header(HEADER_ROW[is_bound] + HEADER_PITCH * PANELS.index(name))

    def press_header(self, *rows: float) -> Iterator[float]:
        """Open or close panels."""
        for row in rows:
            yield from self.click_row(row, 0.3)
            yield PANEL_OPENS

    def call(self, operator: Callable[..., set[str]], *is_undone: bool, **options: object) -> None:
        """Start an operator as a button does."""
        with self.override():
            operator("INVOKE_DEFAULT", *is_undone, **options)

    def clear(self) -> None:
        """Take all objects away."""
        for obj in list(bpy.data.objects):
            bpy.data.objects.remove(obj)
        bpy.context.view_layer.update()

    def look_down(self, active: bpy.types.Object | None = None, mode: str = "OBJECT") -> None:
        """See all from above; select an object, and put it into a mode."""
        with self.override():
            bpy.ops.view3d.view_axis(type="TOP")
            bpy.ops.view3d.view_all()
            if active is not None:
                select(active)
                bpy.ops.object.mode_set(mode=mode)
        self.space.show_region_ui = True

    def set_mode(self, mode: str) -> None:
        with self.override():
            bpy.ops.object.mode_set(mode=mode)

    def open_tab(self) -> Iterator[float]:
        """Show the Supple tab."""
        self.space.show_region_ui = True
        yield WAIT
        self.region("UI").active_panel_category = "Supple"
        self.area.tag_redraw()
        yield 4 * WAIT

    def look(self, name: str) -> np.ndarray:
        """Take a picture; the pixels of the 3D View beside the sidebar, shape (height, width, 3)."""
        image = bpy.data.images.load(str(save_screen(name)))
        pixels = np.empty(len(image.pixels), np.float32)
        image.pixels.foreach_get(pixels)
        width, height = image.size
        bpy.data.images.remove(image)
        region = self.region("WINDOW")
        rows, columns = slice(region.y, region.y + region.height), slice(region.x, self.region("UI").x)
        return pixels.reshape(height, width, 4)[rows, columns, :3]
