"""Files in formats of other programs: written, read again and measured by a Blender in a process of its own.

So the user's file and session are not touched, and a crash of an exporter ends that process alone.
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import bpy

from ...deformers import SkinningError
from .child import end_blender, start_blender
from .temporary import writing_temporary
from .writing import BLOCK

SESSION = Path(__file__).with_name("exchange_session.py")
# Seconds between two looks at how far it is
PAUSE = 0.02

SCENE_FIELDS = (
    "render.fps", "render.fps_base", "unit_settings.system", "unit_settings.scale_length",
    "unit_settings.length_unit",
)  # fmt: skip


def save_objects(path: Path, objects: Sequence[bpy.types.Object]) -> None:
    """Write objects with all that they use into a temporary .blend file, for another Blender of this version.

    Raises SkinningError if it cannot be written.
    """
    with writing_temporary():
        try:
            bpy.data.libraries.write(str(path), set(objects), path_remap="ABSOLUTE", fake_user=False)
        except (OSError, RuntimeError) as error:  # which does not say why
            raise OSError(errno.ENOSPC, "Blender wrote only part of it") from error


def read_scene() -> dict[str, Any]:
    """The settings of the scene that matter to exporters."""
    return {field: bpy.context.scene.path_resolve(field) for field in SCENE_FIELDS}


def run_session(
    command: Sequence[str], folder: Path, job: dict[str, Any]
) -> Generator[float | None, None, dict[str, Any]]:
    """Run a job in a Blender of its own, which ends if this generator is closed.

    Raises SkinningError if it ended without a result.

    Parameters
    ----------
    command : sequence of str
        From `find_command`.
    folder : Path
        Temporary, for the files between the two.

    Yields
    ------
    float or None
        The share that is done; None while there is nothing to do but wait.

    Returns
    -------
    dict
        Results of the session; `lacks` names an exporter that this Blender lacks.
    """
    path, share = folder / "job.json", folder / "share.txt"
    with writing_temporary():
        path.write_text(json.dumps(job | {"share": str(share)}), encoding="utf-8")
        share.write_text("", encoding="ascii")
    process = start_blender(command, SESSION, str(path))
    try:
        while process.poll() is None:
            time.sleep(PAUSE)
            yield read_share(share)
            yield None
    finally:
        end_blender(process)
    with writing_temporary():
        _check_room(folder)
    found = folder / "result.json"
    if not found.is_file():
        raise SkinningError(f"Blender quit while writing the file (code {process.returncode}): try another format")
    result = json.loads(found.read_text(encoding="utf-8"))
    if result["error"]:
        raise SkinningError(f"Blender's exporter failed ({_last_line(result['error'])}): try another format")
    return result


def read_share(path: Path) -> float:
    """The last share in a file of lines, without one that is being written."""
    lines = path.read_text(encoding="ascii").split("\n")[:-1]
    return float(lines[-1]) if lines else 0.0


def _check_room(folder: Path) -> None:
    """Raise OSError if files of a folder, or new ones, cannot get longer: not all exporters say so."""
    files = [path for path in folder.rglob("*") if path.is_file() and os.access(path, os.W_OK)]
    for path in (folder / "room", *files):
        with path.open("ab") as stream:
            size = stream.tell()
            stream.write(bytes(BLOCK))
            stream.truncate(size)


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1]
