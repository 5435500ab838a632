"""The animations of the README, one for each of the five main things, with the arm of the demonstration.

    python benchmarks/animations.py [--output DIR] [--samples COUNT] [--size SHARE] [--only NAME ...]

Needs Blender's module bpy, and nothing else; takes 5 minutes on two cores.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from demo.enable import supple_enabled

ROOT = Path(__file__).resolve().parent.parent
NAMES = ("methods", "particles", "patterns", "weights", "check")
VERTICES = 10_000
"""About how many the arm has."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--samples", type=int, default=12, help="for each pixel")
    parser.add_argument("--size", type=float, default=1.0, help="of the frames, to look at small ones first")
    parser.add_argument("--frames", type=int, default=16, help="from rest to the pose; the way back has the same")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES)
    arguments = parser.parse_args()
    folder = arguments.output.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with supple_enabled():
        from benchmarks.animation_scenes import SHOW, play
        from benchmarks.pattern_scenes import Studio
        from demo.arm import build_arm

        arm, studio = build_arm(VERTICES), Studio(arguments.samples, arguments.size)
        for name in arguments.only:
            start = time.perf_counter()
            play(SHOW[name](arm), studio, arguments.frames, folder / f"animated-{name}.webp")
            print(f"  {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
