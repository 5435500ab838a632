"""Files in formats of other programs: written, read again and measured by a Blender in a process of its own.

So the user's file and session are not touched, and a crash of an exporter ends that process alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import bpy

from ..deformers import SkinningError

SESSION = Path(__file__).with_name("exchange_session.py")
PAUSE = 0.1
"""Seconds between two looks at how far it is."""

SCENE_FIELDS = (
    "render.fps", "render.fps_base", "unit_settings.system", "unit_settings.scale_length",
    "unit_settings.length_unit",
)  # fmt: skip


def save_objects(path: Path, objects: Sequence[bpy.types.Object]) -> None:
    """Write objects with all that they use into a .blend file, for another Blender of this version."""
    bpy.data.libraries.write(str(path), set(objects), path_remap="ABSOLUTE", fake_user=False)


def read_scene() -> dict[str, Any]:
    """What of the scene matters to exporters."""
    return {field: bpy.context.scene.path_resolve(field) for field in SCENE_FIELDS}


def find_command() -> list[str]:
    """What starts a Blender without window that runs a script, but for the script's path and what it is given."""
    if bpy.app.binary_path:
        return [bpy.app.binary_path, "--background", "--factory-startup", "--python-exit-code", "1", "--python"]
    return [sys.executable]  # Blender as a module of Python


def run_session(
    command: Sequence[str], folder: Path, job: dict[str, Any], progress: Callable[[float], None]
) -> dict[str, Any]:
    """Run a job in a Blender of its own; touches nothing of this one's, so that it may be called in a thread.

    Parameters
    ----------
    command : sequence of str
        From `find_command`.
    folder : Path
        For what the two tell each other.
    job : dict
    progress : callable
        Told the share that is done. What it raises ends that Blender.

    Returns
    -------
    dict
        What the session found; `lacks` says what the exporter is missing from this Blender.

    Raises
    ------
    SkinningError
        Where it ended without a result.
    """
    path = folder / "job.json"
    path.write_text(json.dumps(job), encoding="utf-8")
    between = ["--"] if len(command) > 1 else []
    with (folder / "told.txt").open("w+b") as told, (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            [*command, str(SESSION), *between, str(path)], stdin=subprocess.DEVNULL, stdout=told.fileno(), stderr=log
        )
        try:
            while process.poll() is None:
                time.sleep(PAUSE)
                progress(_read_share(folder / "told.txt"))
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    found = folder / "result.json"
    if not found.is_file():
        raise SkinningError(f"Blender ended while it wrote the file (code {process.returncode}): try another format")
    result = json.loads(found.read_text(encoding="utf-8"))
    if result["error"]:
        raise SkinningError(f"Blender's exporter failed ({_last_line(result['error'])}): try another format")
    return result


def _read_share(path: Path) -> float:
    """The share that is done, by the last whole line about it."""
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]
    return next((float(line.split()[1]) for line in reversed(lines) if line.split()[:1] == ["progress"]), 0.0)


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1]
