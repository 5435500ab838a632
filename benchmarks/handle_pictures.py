"""The pictures of docs/handles.md: a helmet in a cage, and a tail that follows points.

    python benchmarks/handle_pictures.py [--only hat tail] [--output DIR] [--assets DIR] [--size SHARE]

Needs Blender's module bpy. The characters are read from a folder of assets that is not part of the repository; without
it nothing is drawn.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from demo.enable import supple_enabled

if TYPE_CHECKING:
    from benchmarks.pattern_scenes import View
    from benchmarks.weight_scenes import Drawing

ROOT = Path(__file__).resolve().parent.parent
ASSETS = ROOT.parent / "shared" / "assets"
CHARACTERS = {"hat": "kaykit_knight", "tail": "fox"}
WIDTH, GAP, HEADER, TITLE_SIZE = 1500.0, 10.0, 56.0, 26.0
HEIGHTS = {"hat": 400.0, "tail": 360.0}
METHOD = "DLBNT"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=tuple(CHARACTERS), default=tuple(CHARACTERS))
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--assets", type=Path, default=ASSETS)
    parser.add_argument("--size", type=float, default=1.0, help="of the pictures, to look at small ones first")
    arguments = parser.parse_args()
    with supple_enabled():
        from benchmarks import handle_scenes as scenes
        from benchmarks.pattern_scenes import View
        from benchmarks.weight_scenes import Drawing

        pages = {
            "hat": (scenes.add_knight, View((0.0, 0.0, 1.5), 30.0, 8.0, 3.3),
                    {"plain": None, "its cage": scenes.show_handles, "squashed": scenes.squash,
                     "stretched": scenes.stretch, "tipped over": scenes.tip}),
            "tail": (scenes.add_fox, View((0.0, 1.62, 1.22), 68.0, 18.0, 1.72),
                     {"plain": None, "its points": scenes.show_handles, "moved and turned": scenes.curl,
                      "moved alone": scenes.sway, "scaled, turned": scenes.swell}),
        }  # fmt: skip
        for name in arguments.only:
            if not (arguments.assets / CHARACTERS[name]).is_dir():
                print(f"{CHARACTERS[name]} is not in {arguments.assets}: it is not drawn")
                continue
            draw(
                arguments.output / f"handles-{name}.png",
                arguments.assets,
                Drawing(8, arguments.size),
                HEIGHTS[name],
                *pages[name],
            )


def draw(
    path: Path, assets: Path, studio: Drawing, height: float, add: Callable, view: View, poses: dict[str, Callable]
) -> None:
    """A row of cells: the plain character, its handles, and poses of these, which are shown, too."""
    from benchmarks import handle_scenes as scenes

    width = (WIDTH - GAP * (len(poses) + 1)) / len(poses)
    page = studio.new_page(WIDTH, HEADER + height + GAP)
    texts = []
    for column, (title, pose) in enumerate(poses.items()):
        held = add(assets, plain=pose is None)
        if held is not None:
            scenes.bind(held, METHOD)
            pose(held)
            if pose is not scenes.show_handles:
                scenes.show_handles(held)
        left = GAP + column * (width + GAP)
        studio.put(page, studio.shoot(view, width, height), left, HEADER)
        texts.append((title, left + 0.5 * width, 0.5 * HEADER, TITLE_SIZE))
    studio.write(page, texts, path)


if __name__ == "__main__":
    main()
