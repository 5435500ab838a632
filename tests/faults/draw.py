"""Draw faults by a seed: single changes that cosmic-ray's operators make, spread over all folders of the product.

    python tests/faults/draw.py --seed 34 --count 36 > dist/drawn.toml

It needs cosmic-ray, which `python3 tools/environments.py faults` installs. `run.py plant --table` plants them.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
from pathlib import Path

from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from planting import Fault, name_change

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("deformers", "bridge", "nodes", "settings", "tasks", "viewport", "operators", "cli", "ui")
NOT_A_FAULT = re.compile(r"Bit(Or|And|Xor)|Shift|_Is$|_IsNot$|Variable|Keyword|RemoveDecorator")
"""Operators that change annotations or nothing, or leave what no run survives."""


def rooms() -> list[list[Path]]:
    """Modules by folder: each package of deformers and tasks is a room of its own."""
    found: dict[Path, list[Path]] = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.name != "__init__.py":
                found.setdefault(path.parent, []).append(path)
    return list(found.values())


def change(source: str, choose: random.Random) -> str | None:
    """One change by an operator that has a place in the source; None if there is none."""
    names = [name for name in operator_names() if not NOT_A_FAULT.search(name)]
    for name in choose.sample(names, len(names)):
        operator = get_operator(name)()
        changed = [mutate_code(source, operator, occurrence) for occurrence in choose.sample(range(40), 8)]
        if whole := [text for text in changed if text is not None and is_code(text, source)]:
            return whole[0]
    return None


def is_code(changed: str, source: str) -> bool:
    """Whether a change can be compiled, and is one of what runs."""
    try:
        return ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source))
    except SyntaxError:
        return False


def draw(seed: int, count: int) -> list[Fault]:
    """So many faults, each in another folder as long as there are any."""
    choose = random.Random(seed)
    left: list[list[Path]] = []
    drawn: list[Fault] = []
    while len(drawn) < count:
        left = left or choose.sample(rooms(), len(rooms()))
        path = choose.choice(left.pop())
        source = path.read_text(encoding="utf-8")
        if (changed := change(source, choose)) is not None:
            drawn.append(name_change(f"drawn-{seed}-{len(drawn) + 1:02}", str(path.relative_to(ROOT)), source, changed))
    return drawn


def main() -> None:
    """Print rows of the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=36)
    arguments = parser.parse_args()
    for fault in draw(arguments.seed, arguments.count):
        print(fault.row())


if __name__ == "__main__":
    main()
