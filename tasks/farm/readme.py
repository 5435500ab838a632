"""The file in a job's folder that has the commands which submit the job, to be copied."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import bpy

from ..subject.frames import describe_frames
from .commands import FarmJob
from .flamenco import JOB, JOB_TYPE
from .openjd import TEMPLATE

README = "README.txt"

# Where Flamenco Manager is reached on its own machine
MANAGER = "http://localhost:8080"


def describe_submission(job: FarmJob, engine: str, scripts: str) -> str:
    """The text for a job of an engine of `ENGINES`: commands for the shell of this machine, with full paths.

    `scripts`: a sentence on Python of the file.
    """
    words = {
        "file": job.file,
        "folder": job.output,
        "template": job.output / TEMPLATE,
        "scene_file": f"SceneFile={job.file}",
        "output_folder": f"OutputFolder={job.output}",
        "script": job.output / JOB_TYPE.name,
        "data": f"@{job.output / JOB}",
        "address": f"{find_manager()}/api/v3/jobs",
    }
    text = Path(__file__).with_name(f"readme-{engine}.txt").read_text(encoding="utf-8")
    return text.format(
        frames=describe_frames(job.frames),
        scripts=scripts,
        last_step="Render" if job.render else "Join",
        copy="copy" if sys.platform == "win32" else "cp",
        **{name: _quote(str(word)) for name, word in words.items()},
    )


def _quote(word: str) -> str:
    return f'"{word}"' if sys.platform == "win32" else shlex.quote(word)


def find_manager() -> str:
    """The address of Flamenco Manager: as Flamenco's add-on has it, if that is enabled."""
    for addon in bpy.context.preferences.addons:
        if addon.module.rpartition(".")[2] == "flamenco" and getattr(addon.preferences, "manager_url", ""):
            return addon.preferences.manager_url.rstrip("/")
    return MANAGER
