"""The pictures of docs/handles.md: a helmet in a cage, and a tail that follows points.

    python benchmarks/handle_pictures.py [--only hat tail] [--output DIR] [--assets DIR] [--size SHARE]

Needs Blender's module bpy. The characters are read from a folder of assets that is not part of the repository; without
it nothing is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness import is_there
from benchmarks import handle_scenes as scenes
from benchmarks.studio import GAP, Drawing, Page, View, draw

PAGE: dict[str, Any] = {"header": 56.0, "label_width": GAP, "sizes": (26.0, 0.0)}  # How pages are laid out
METHOD = "DLBNT"
# Character, function that adds it with handles, view, height of the cells, and poses of the handles
PAGES: dict[str, tuple[str, Callable, View, float, dict[str, Callable | None]]] = {
    "hat": ("kaykit_knight", scenes.add_knight, View((0.0, 0.0, 1.5), 30.0, 8.0, 3.3), 400.0,
            {"plain": None, "its cage": scenes.show_handles, "squashed": scenes.squash,
             "stretched": scenes.stretch, "tipped over": scenes.tip}),
    "tail": ("fox", scenes.add_fox, View((0.0, 1.62, 1.22), 68.0, 18.0, 1.72), 360.0,
             {"plain": None, "its points": scenes.show_handles, "moved and turned": scenes.curl,
              "moved alone": scenes.sway, "scaled, turned": scenes.swell}),
}  # fmt: skip


def draw_row(arguments: Any, name: str) -> None:
    """A row of cells: the plain character, its handles, and poses of these, which are shown, too."""
    character, add, view, height, poses = PAGES[name]
    if not is_there(arguments.assets, character):
        return
    page = Page(Drawing.of(arguments), tuple(poses), ("",), (height,), **PAGE)
    for column, pose in enumerate(poses.values()):
        held = add(arguments.assets, plain=pose is None)
        if pose is not None:
            scenes.bind(held, METHOD)
            pose(held)
            if pose is not scenes.show_handles:
                scenes.show_handles(held)
        page.put(0, column, page.studio.shoot(view, page.width, height))
    page.write(arguments.output / f"handles-{name}.png")


if __name__ == "__main__":
    draw(__doc__, dict.fromkeys(PAGES, draw_row), samples=8)
