"""A job for Flamenco 3, Blender's own farm: the job type `supple-bake.js`, and the settings of a job of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ..subject.frames import describe_frames
from .commands import FarmJob

JOB_TYPE = Path(__file__).with_name("supple-bake.js")
"""What the Manager has in its folder `scripts`; the job's type is the name of the file."""

PLATFORMS = {"win32": "windows", "darwin": "darwin"}
"""Flamenco's names of where a job is submitted."""

JOB = "job.json"

PRIORITY = 50
"""What Flamenco's own panel begins with."""


def describe(job: FarmJob) -> dict[str, str]:
    """The files of a job: names with their texts. `job.json` is what `POST /api/v3/jobs` of the Manager takes."""
    submitted = {
        "name": f"Supple {job.file.stem}",
        "type": JOB_TYPE.stem,
        "priority": PRIORITY,
        "submitter_platform": PLATFORMS.get(sys.platform, "linux"),
        "settings": _settings(job),
        "metadata": {"made_by": "supple"},
    }
    return {
        JOB_TYPE.name: JOB_TYPE.read_text(encoding="utf-8"),
        JOB: json.dumps(submitted, indent=2, ensure_ascii=False) + "\n",
    }


def _settings(job: FarmJob) -> dict[str, Any]:
    """What the job type reads; what it leaves out has the default of the job type."""
    words = list(job.choices)
    method = {}
    if "--method" in words:
        at = words.index("--method")
        method = {"method": words[at + 1]}
        del words[at : at + 2]
    return {
        "blendfile": str(job.file),
        "frames": describe_frames(job.frames),
        "chunk_size": job.chunk,
        "objects": json.dumps(list(job.objects), ensure_ascii=False) if job.objects else "",
        **method,
        "options": " ".join(words),
        "output": str(job.output),
        "render": job.render,
        "scripts": job.runs_python,
        "expect": job.expect,
    }
