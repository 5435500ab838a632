"""Pictures of joints, close, by linear blending, Preserve Volume, DLBNT and Centers.

    python benchmarks/center_pictures.py --character mh_human fox --only elbow knee --set sharpness=0.4 --output DIR

Needs Blender's module bpy. The characters are read from a folder of assets that is not part of the repository
(--assets).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.center_scenes import TITLES, set_stage, shoot_joints, write_page
from benchmarks.pattern_scenes import Studio
from benchmarks.range_of_motion import CHARACTERS, KINDS

ROOT = Path(__file__).resolve().parent.parent
ASSETS = ROOT.parent / "shared" / "assets"
DRAWN = ("mh_human", "human_male", "kaykit_knight")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--assets", type=Path, default=ASSETS)
    parser.add_argument("--character", nargs="+", choices=CHARACTERS, default=DRAWN)
    parser.add_argument("--only", nargs="+", choices=KINDS, default=KINDS, help="kinds of joints")
    parser.add_argument("--methods", nargs="+", choices=tuple(TITLES), default=tuple(TITLES))
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE", help="parameters of Centers")
    parser.add_argument("--samples", type=int, default=24, help="for each pixel")
    parser.add_argument("--size", type=float, default=1.0, help="of the pictures")
    arguments = parser.parse_args()
    folder = arguments.output.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    studio, methods = Studio(arguments.samples, arguments.size), tuple(arguments.methods)
    chosen = {name: float(value) for name, value in (entry.split("=") for entry in arguments.set)}
    for name in arguments.character:
        if not (arguments.assets / name / f"{name}.npz").is_file():
            print(f"{name} is not in {arguments.assets}: its picture is left out")
            continue
        stage = set_stage(arguments.assets, name, methods, chosen)
        write_page(shoot_joints(stage, tuple(arguments.only), studio, 300.0), methods, studio, folder / f"{name}.png")


if __name__ == "__main__":
    main()
