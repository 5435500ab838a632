"""The demonstration: an arm posed by four methods, farther than linear skinning can take, and a dressed human.

Run it in a Python that has Blender's module bpy: python -m demo.run --output build/demo
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # for `python demo/run.py`

from demo.enable import supple_enabled


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="demo", description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "demo", help="folder for pictures and files")
    parser.add_argument("--vertices", type=int, default=22_000, help="about how many vertices the arm has")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    start = time.perf_counter()
    with supple_enabled():
        from demo.show import show

        show(arguments.output.resolve(), arguments.vertices)
    print(f"Done in {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
