"""Pictures of joints, close, by linear blending, Preserve Volume, DLBNT and Centers.

    python benchmarks/center_pictures.py --character mh_human fox --only elbow knee --set sharpness=0.4 --output DIR
    python benchmarks/center_pictures.py --page joints characters worst

The first draws a picture for each character, the second those of docs/centers.md, in 4 minutes on two cores. Needs
Blender's module bpy. The characters are read from a folder of assets that is not part of the repository (--assets).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.bound_characters import PRESERVE_VOLUME
from benchmarks.center_scenes import TITLES, Row, Stage, name_row, set_stage, shoot_joints, shoot_worst, write_page
from benchmarks.pattern_scenes import Studio
from benchmarks.range_of_motion import CHARACTERS, KINDS

ROOT = Path(__file__).resolve().parent.parent
ASSETS = ROOT.parent / "shared" / "assets"
DRAWN = ("mh_human", "human_male", "kaykit_knight")
COLUMNS = ("SSD", PRESERVE_VOLUME, "CENTERS")
"""Methods on the pages of the documents."""
SHOWN = ("elbow", "knee", "hip", "arm up", "wrist", "neck", "finger")
OTHERS = {"human_male": ("elbow", "knee"), "fox": ("knee", "hip")}
HEIGHT = 300.0
PAGES = {"joints": "centers.png", "characters": "centers-characters.png", "worst": "centers-worst.png"}


@dataclass(frozen=True)
class Order:
    """What is asked for: where characters are, parameters of Centers, how to draw, and where to."""

    assets: Path
    chosen: dict[str, float]
    studio: Studio
    folder: Path

    def has(self, name: str) -> bool:
        """Whether a character is there; said if not."""
        is_there = (self.assets / name / f"{name}.npz").is_file()
        if not is_there:
            print(f"{name} is not in {self.assets}: it is left out")
        return is_there

    def set_stage(self, name: str, methods: tuple[str, ...]) -> Stage:
        return set_stage(self.assets, name, methods, self.chosen)

    def write(self, rows: list[Row], methods: tuple[str, ...], name: str) -> None:
        """Save a page, unless there is nothing on it."""
        if rows:
            write_page(rows, [TITLES[method] for method in methods], self.studio, self.folder / name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--assets", type=Path, default=ASSETS)
    parser.add_argument("--page", nargs="+", choices=tuple(PAGES), default=(), help="pictures of the documents instead")
    parser.add_argument("--character", nargs="+", choices=CHARACTERS, default=DRAWN)
    parser.add_argument("--only", nargs="+", choices=KINDS, default=SHOWN, help="kinds of joints")
    parser.add_argument("--methods", nargs="+", choices=tuple(TITLES), default=tuple(TITLES))
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE", help="parameters of Centers")
    parser.add_argument("--samples", type=int, default=24, help="for each pixel")
    parser.add_argument("--size", type=float, default=1.0, help="of the pictures")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    chosen = {name: float(value) for name, value in (entry.split("=") for entry in arguments.set)}
    studio = Studio(arguments.samples, arguments.size)
    order = Order(arguments.assets, chosen, studio, arguments.output.resolve())
    for page in arguments.page:
        order.write(list(draw_page(order, page)), COLUMNS, PAGES[page])
    methods = tuple(arguments.methods)
    for name in filter(order.has, () if arguments.page else arguments.character):
        rows = shoot_joints(order.set_stage(name, methods), tuple(arguments.only), studio, HEIGHT)
        order.write(rows, methods, f"{name}.png")


def draw_page(order: Order, page: str) -> Iterator[Row]:
    """The rows of a page of the documents."""
    if page == "joints" and order.has("mh_human"):
        yield from shoot_joints(order.set_stage("mh_human", COLUMNS), SHOWN, order.studio, HEIGHT)
    elif page == "characters":
        for name in filter(order.has, OTHERS):
            for row in shoot_joints(order.set_stage(name, COLUMNS), OTHERS[name], order.studio, HEIGHT):
                yield replace(row, label=name_row(name, row.label))
    elif page == "worst":
        for name in filter(order.has, DRAWN):
            yield shoot_worst(order.set_stage(name, COLUMNS), order.studio, HEIGHT)


if __name__ == "__main__":
    main()
