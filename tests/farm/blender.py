"""A stand-in for the program `blender`: Blender as a Python module, with the checkout as its extension.

    python blender.py --command supple bake hero.blend ...
    python blender.py --background --python-exit-code 1 --python script.py -- words

It understands these two, also with `SWITCHES` before them, and ends with the exit code that Blender would. The second
runs without Supple.
"""

from __future__ import annotations

import importlib
import os
import runpy
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))


SWITCHES = {"--background": None, "-b": None, "-y": True, "--enable-autoexec": True, "--disable-autoexec": False}
"""Whether they let scripts of files run. There is no window."""


def main(words: list[str]) -> int:
    runs_scripts = False
    while words[:1] and words[0] in SWITCHES:
        runs_scripts = SWITCHES[words[0]] if SWITCHES[words[0]] is not None else runs_scripts
        words = words[1:]
    with tempfile.TemporaryDirectory(prefix="supple-farm-") as folder:
        os.environ["BLENDER_USER_RESOURCES"] = folder  # read once, by the import of bpy
        os.environ.pop("OCIO", None)
        import bpy

        bpy.context.preferences.filepaths.use_scripts_auto_execute = runs_scripts
        if words[:2] == ["--command", "supple"]:
            return run_command(words[2:], Path(folder))
        if words[:3:2] == ["--python-exit-code", "--python"]:
            return run_script(words)
    raise SystemExit(f"The stand-in for Blender does not understand {words}")


def run_command(words: list[str], folder: Path) -> int:
    import checkout

    checkout.enable(folder / "checkout")
    try:
        return importlib.import_module(checkout.MODULE + ".cli").main(words)
    finally:
        checkout.disable()


def run_script(words: list[str]) -> int:
    sys.argv = ["blender", *words]
    runpy.run_path(words[3], run_name="__main__")  # what fails ends Python with 1, the exit code that jobs ask for
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush(), sys.stderr.flush()
    os._exit(code)  # the module of 4.2 frees drivers in Python once Python has ended, and crashes
