"""The pictures of docs/weights.md and its methods: weights in colors, in poses, of fingers, and given to clothes.

    python benchmarks/weight_pictures.py [--output DIR] [--size SHARE] [--only NAME ...]

Needs Blender's module bpy; takes 8 minutes on two cores. The characters are read from a folder of assets that is not
part of the repository (--assets); without it nothing is drawn.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from demo.enable import supple_enabled

ROOT = Path(__file__).resolve().parent.parent
ASSETS = ROOT.parent / "shared" / "assets"
PICTURES = ("methods", "posed", "fingers", "transfer")
CHARACTERS = ("mh_human", "kaykit_knight")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--assets", type=Path, default=ASSETS)
    parser.add_argument("--size", type=float, default=1.0, help="of the pictures, to look at small ones first")
    parser.add_argument("--only", nargs="+", choices=PICTURES, default=PICTURES)
    arguments = parser.parse_args()
    missing = [name for name in CHARACTERS if not (arguments.assets / name / f"{name}.blend").is_file()]
    if missing:
        print(f"{' and '.join(missing)} not in {arguments.assets}: no picture is drawn")
        return
    folder = arguments.output.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with supple_enabled():
        from benchmarks.weight_pages import DRAW
        from benchmarks.weight_scenes import Drawing

        for name in arguments.only:
            DRAW[name](folder / f"weights-{name}.png", arguments.assets, Drawing(8, arguments.size))


if __name__ == "__main__":
    main()
