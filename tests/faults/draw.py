"""Draw faults by a seed: single changes that cosmic-ray's operators make, spread over all folders of the product.

    python tests/faults/draw.py --seed 34 --count 36 > tests/faults/drawn.toml

It needs cosmic-ray, which `python3 tools/environments.py faults` installs, and tests nothing: `run.py` does.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
from pathlib import Path

from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

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


def hunk(source: str, changed: str) -> tuple[str, str]:
    """The lines that differ, before and after, with as many lines above as make them unique."""
    old, new = source.splitlines(), changed.splitlines()
    first = next(i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)
    last = next(i for i, (a, b) in enumerate(zip(reversed(old), reversed(new), strict=False)) if a != b)
    while first and source.count("\n".join(old[first : len(old) - last])) > 1:
        first -= 1
    return "\n".join(old[first : len(old) - last]), "\n".join(new[first : len(new) - last])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=36)
    arguments = parser.parse_args()
    choose = random.Random(arguments.seed)
    print(f"# Drawn by: python tests/faults/draw.py --seed {arguments.seed} --count {arguments.count}")
    left, drawn = [], 0
    while drawn < arguments.count:
        left = left or choose.sample(rooms(), len(rooms()))
        path = choose.choice(left.pop())
        source = path.read_text(encoding="utf-8")
        changed = change(source, choose)
        if changed is None:
            continue
        drawn += 1
        before, after = hunk(source, changed)
        print(f"\n[drawn-{drawn:02}]\nfile = '{path.relative_to(ROOT)}'\nold = '''\n{before}'''\nnew = '''\n{after}'''")


if __name__ == "__main__":
    main()
