"""A job for Flamenco 3, Blender's own farm: the job type `supple-bake.js`, and the settings of a job of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ..subject.frames import describe_frames
from .commands import FarmJob

# Belongs into the Manager's folder `scripts`; the job's type is the name of the file
JOB_TYPE = Path(__file__).with_name("supple-bake.js")

# Flamenco's names of the submitting platform
PLATFORMS = {"win32": "windows", "darwin": "darwin"}

JOB = "job.json"

# The default of Flamenco's own panel
PRIORITY = 50


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
    """Settings that the job type reads; omitted ones have its defaults."""
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
