"""Blender's own builder of extensions: python tools/builder.py build --source-dir . --output-dir dist

It comes with the Blender that is installed as a module of this Python, which is not started.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path


def find_builder() -> Path:
    spec = importlib.util.find_spec("bpy")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("This Python has no Blender as a module: run .venv/default/bin/python, after 'make setup'")
    (builder,) = Path(spec.submodule_search_locations[0]).glob("*/scripts/addons_core/bl_pkg/cli/blender_ext.py")
    return builder


def run_builder(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the builder with arguments, and return what it says, standard error included, and its exit code."""
    return subprocess.run(
        [sys.executable, find_builder(), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
        timeout=120,
    )


if __name__ == "__main__":
    answer = run_builder(*sys.argv[1:])
    sys.stdout.write(answer.stdout)
    sys.exit(answer.returncode)
