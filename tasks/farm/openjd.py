"""Job bundles of Open Job Description, specification jobtemplate-2023-09, for AWS Deadline Cloud and `openjd`."""

from __future__ import annotations

import json
import re
from typing import Any

from ...deformers import SkinningError
from ..subject.frames import cut_frames, describe_frames
from .commands import RENDER_SCRIPT, FarmJob

# Characters of a parameter and of a job's name, and values of a list, in the specification
LONGEST_TEXT, LONGEST_NAME, MOST_CHUNKS = 1024, 128, 1024

TEMPLATE = "template.json"
FILE, FOLDER, CHUNK = "{{Param.SceneFile}}", "{{Param.OutputFolder}}", "{{Task.Param.Chunk}}"
# Parameters that stand for braces in names: the specification has no other way to write them
BRACES = {"{": "OpeningBrace", "}": "ClosingBrace"}

DOUBLE, CONTROL = re.compile(r"\{\{|\}\}"), re.compile(r"[\x00-\x1f\x7f-\x9f]")


def describe(job: FarmJob) -> dict[str, str]:
    """The files of a job bundle: names with their texts.

    Raises
    ------
    SkinningError
        For what the specification has no room for.
    """
    values = [{"name": "SceneFile", "value": str(job.file)}, {"name": "OutputFolder", "value": str(job.output)}]
    assets = {
        "inputs": {"filenames": list(job.assets), "directories": []},
        "outputs": {"directories": []},
        "referencedPaths": [],
    }
    contents = {
        TEMPLATE: _template(job),
        "parameter_values.json": {"parameterValues": values},
        "asset_references.json": {"assetReferences": assets},
    }
    return {name: json.dumps(content, indent=2, ensure_ascii=False) + "\n" for name, content in contents.items()}


def _template(job: FarmJob) -> dict[str, Any]:
    steps = [_check_step(job), _bake_step(job), _join_step(job)]
    if job.render:
        steps += [_apply_step(job), _render_step(job)]
    template: dict[str, Any] = {
        "specificationVersion": "jobtemplate-2023-09",
        "extensions": ["TASK_CHUNKING"],
        "name": _literal(f"Supple {job.file.stem}"[:LONGEST_NAME]),
        "parameterDefinitions": _parameters(job),
        "steps": steps,
    }
    if not _cuts_itself(job):
        del template["extensions"]
    text = json.dumps(steps) + template["name"]
    for brace, name in BRACES.items():
        if f"{{{{Param.{name}}}}}" in text:
            template["parameterDefinitions"].append(
                {"name": name, "type": "STRING", "default": brace, "userInterface": {"control": "HIDDEN"}}
            )
    return template


def _parameters(job: FarmJob) -> list[dict[str, Any]]:
    """Parameters that can be changed on submission; the frames only if the engine cuts them."""
    parameters: list[dict[str, Any]] = [
        {
            "name": "SceneFile",
            "type": "PATH",
            "objectType": "FILE",
            "dataFlow": "IN",
            "description": "The .blend file, unchanged since the job was made.",
            "userInterface": {"control": "CHOOSE_INPUT_FILE", "label": "Scene File"},
        },
        {
            "name": "OutputFolder",
            "type": "PATH",
            "objectType": "DIRECTORY",
            "dataFlow": "OUT",
            "description": "The folder for chunks, caches and rendered frames.",
            "userInterface": {"control": "CHOOSE_DIRECTORY", "label": "Output Folder"},
        },
        {
            "name": "Blender",
            "type": "STRING",
            "default": "blender",
            "description": "The command that starts Blender, with Supple installed, on a worker.",
        },
    ]
    if not _cuts_itself(job):
        return parameters
    frames = describe_frames(job.frames)
    if len(frames) > LONGEST_TEXT:
        raise SkinningError(
            f"The list of frames has {len(frames):,} characters, but Open Job Description allows {LONGEST_TEXT:,}: "
            "use fewer ranges, or list the chunks with --no-task-chunking"
        )
    return [
        *parameters,
        {
            "name": "Frames",
            "type": "STRING",
            "default": frames,
            "description": "Frames such as 1-250 or 1-50,60,100-200.",
        },
        {
            "name": "FramesPerChunk",
            "type": "INT",
            "default": job.chunk,
            "minValue": 1,
            "description": "Maximum number of frames that a worker bakes or renders at a time.",
            "userInterface": {"control": "SPIN_BOX", "label": "Frames per Chunk"},
        },
    ]


def _check_step(job: FarmJob) -> dict[str, Any]:
    """A step that fails before all bakes; each bake checks the same.

    It is not an environment of the bakes, because the engine reads variables from an environment's output.
    """
    return {
        "name": "Check",
        "description": "Check that workers have the same versions of Supple, Blender and the file as the job",
        "script": {"actions": {"onRun": _supple(job, "info", FILE, "--expect", job.expect)}},
    }


def _bake_step(job: FarmJob) -> dict[str, Any]:
    bake = _supple(
        job,
        *("bake", FILE, *map(_literal, job.chosen), "--part", f"--frames={CHUNK}", "--output", f"{FOLDER}/chunks"),
        *("--expect", job.expect),
    )
    return {"name": "Bake", **_after("Check"), "parameterSpace": _chunks(job), "script": {"actions": {"onRun": bake}}}


def _join_step(job: FarmJob) -> dict[str, Any]:
    frames = "{{Param.Frames}}" if _cuts_itself(job) else describe_frames(job.frames)
    join = _supple(
        job, "join", f"{FOLDER}/chunks", f"--frames={frames}", "--expect", job.expect, "--output", f"{FOLDER}/caches"
    )
    return {"name": "Join", **_after("Bake"), "script": {"actions": {"onRun": join}}}


def _apply_step(job: FarmJob) -> dict[str, Any]:
    objects = [_literal(word) for word in job.chosen if word.startswith("--object=")]
    apply = _supple(job, "apply", FILE, *objects, "--cache", f"{FOLDER}/caches", "--output", _baked_file(job))
    return {"name": "Apply", **_after("Join"), "script": {"actions": {"onRun": apply}}}


def _render_step(job: FarmJob) -> dict[str, Any]:
    text = RENDER_SCRIPT.read_text(encoding="utf-8")
    script = {"name": "RenderFrames", "type": "TEXT", "filename": RENDER_SCRIPT.name, "data": text}
    render = _blender(
        job,
        *("--background", "--python-exit-code", "1", "--python", "{{Task.File.RenderFrames}}", "--"),
        *(_baked_file(job), f"--frames={CHUNK}", "--output", f"{FOLDER}/frames", "--progress", "openjd"),
    )
    return {
        "name": "Render",
        **_after("Apply", "Join"),  # both: an engine may bring a step what those before it made, and no more
        "parameterSpace": _chunks(job),
        "script": {"embeddedFiles": [script], "actions": {"onRun": render}},
    }


def _chunks(job: FarmJob) -> dict[str, Any]:
    """The parameter whose values are chunks of frames: made by the engine, or listed where that cannot cut them."""
    if _cuts_itself(job):
        chunks = {"defaultTaskCount": "{{Param.FramesPerChunk}}", "rangeConstraint": "CONTIGUOUS"}
        chunk = {"name": "Chunk", "type": "CHUNK[INT]", "range": "{{Param.Frames}}", "chunks": chunks}
    else:
        listed = [describe_frames([frames]) for frames in cut_frames(job.frames, job.chunk)]
        if len(listed) > MOST_CHUNKS:
            raise SkinningError(
                f"The job has {len(listed):,} chunks, but Open Job Description allows at most {MOST_CHUNKS:,}: "
                "choose more frames for each chunk, or make several jobs"
            )
        chunk = {"name": "Chunk", "type": "STRING", "range": listed}
    return {"taskParameterDefinitions": [chunk]}


def _cuts_itself(job: FarmJob) -> bool:
    """Whether the engine cuts the frames into chunks; it would make one of each frame where these do not touch."""
    return job.task_chunking and all(frames.step == 1 for frames in job.frames)


def _supple(job: FarmJob, *words: str) -> dict[str, Any]:
    return _blender(job, "--command", "supple", *words, "--progress", "openjd")


def _blender(job: FarmJob, *words: str) -> dict[str, Any]:
    return {"command": "{{Param.Blender}}", "args": [job.switch, *words]}


def _after(*steps: str) -> dict[str, Any]:
    return {"dependencies": [{"dependsOn": step} for step in steps]}


def _baked_file(job: FarmJob) -> str:
    return f"{FOLDER}/{_literal(job.baked_name)}"


def _literal(text: str) -> str:
    """A text in which braces are not read as names; raises SkinningError for characters that the specification
    refuses."""
    if CONTROL.search(text):
        raise SkinningError(
            f"{text!r} contains a control character, which Open Job Description does not allow: choose another name"
        )
    return re.sub("[{}]", lambda match: f"{{{{Param.{BRACES[match[0]]}}}}}", text) if DOUBLE.search(text) else text
