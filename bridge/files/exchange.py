"""Files in formats of other programs: written, read again and measured by a Blender in a process of its own.

So the user's file and session are not touched, and a crash of an exporter ends that process alone.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bpy

from ...deformers import SkinningError
from .writing import BLOCK, folder_in

SESSION = Path(__file__).with_name("exchange_session.py")
PAUSE = 0.1
"""Seconds between two looks at how far it is."""

SCENE_FIELDS = (
    "render.fps", "render.fps_base", "unit_settings.system", "unit_settings.scale_length",
    "unit_settings.length_unit",
)  # fmt: skip


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Give a folder among temporary files, which is gone afterwards, also after a kill.

    Raises
    ------
    SkinningError
        Where it can not be made.
    """
    with writing_temporary(), folder_in(Path(bpy.app.tempdir).parent) as folder:
        yield folder


@contextmanager
def writing_temporary() -> Iterator[None]:
    """Say what to do where a temporary file can not be written.

    Raises
    ------
    SkinningError
        In place of an OSError.
    """
    try:
        yield
    except OSError as error:
        raise SkinningError(
            f"Cannot write a temporary file ({error.strerror}): free space in '{Path(bpy.app.tempdir).parent}', or "
            "choose another folder in Preferences > File Paths > Temporary Files"
        ) from error


def save_objects(path: Path, objects: Sequence[bpy.types.Object]) -> None:
    """Write objects with all that they use into a temporary .blend file, for another Blender of this version.

    Raises
    ------
    SkinningError
        Where it can not be written.
    """
    with writing_temporary():
        try:
            bpy.data.libraries.write(str(path), set(objects), path_remap="ABSOLUTE", fake_user=False)
        except (OSError, RuntimeError) as error:  # which does not say why
            raise OSError(errno.ENOSPC, "Blender wrote only part of it") from error


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
        Temporary, for what the two tell each other.
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
    path, share = folder / "job.json", folder / "share.txt"
    with writing_temporary():
        path.write_text(json.dumps(job | {"share": str(share)}), encoding="utf-8")
        share.write_text("", encoding="ascii")
    between = ["--"] if len(command) > 1 else []
    process = subprocess.Popen(
        [*command, str(SESSION), *between, str(path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # whatever Blender prints, also names of the file
        stderr=subprocess.DEVNULL,
    )
    try:
        while process.poll() is None:
            time.sleep(PAUSE)
            progress(read_share(share))
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
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
    """Raise OSError where files of a folder, or new ones, can not get longer: not all exporters say so."""
    files = [path for path in folder.rglob("*") if path.is_file() and os.access(path, os.W_OK)]
    for path in (folder / "room", *files):
        with path.open("ab") as stream:
            size = stream.tell()
            stream.write(bytes(BLOCK))
            stream.truncate(size)


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1]
