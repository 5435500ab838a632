"""The pictures of docs/patterns.md: a human in poses that bring patterns out, how they are shown, and the library.

    python benchmarks/pattern_pictures.py [--output DIR] [--samples COUNT] [--only NAME ...]

Needs Blender's module bpy; takes 8 minutes on two cores. The human is read from a folder of assets that
is not part of the repository (--assets); without it only the library is drawn.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from demo.enable import supple_enabled

ROOT = Path(__file__).resolve().parent.parent
ASSETS = ROOT.parent / "shared" / "assets"
PICTURES = ("library", "poses", "details", "displacement", "compression")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--assets", type=Path, default=ASSETS)
    parser.add_argument("--samples", type=int, default=48, help="for each pixel")
    parser.add_argument("--size", type=float, default=1.0, help="of the pictures, to look at small ones first")
    parser.add_argument("--only", nargs="+", choices=PICTURES, default=PICTURES)
    arguments = parser.parse_args()
    folder = arguments.output.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with supple_enabled():
        from benchmarks.compression_pages import draw_compression
        from benchmarks.pattern_pages import DRAW
        from benchmarks.pattern_scenes import Studio

        drawers = {**DRAW, "compression": draw_compression}
        for name in arguments.only:
            if name != "library" and not (arguments.assets / "mh_human" / "mh_human.blend").is_file():
                print(f"mh_human is not in {arguments.assets}: the picture of {name} is left out")
                continue
            drawers[name](folder / f"patterns-{name}.png", arguments.assets, Studio(arguments.samples, arguments.size))


if __name__ == "__main__":
    main()
