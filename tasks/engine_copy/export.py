"""A copy as a file of a game engine's: written, read again by Blender's own importer, and measured."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...bridge.files.child import find_command
from ...bridge.files.exchange import read_scene, run_session, save_objects
from ...bridge.files.writing import check_writable, filling, replacing
from ...deformers import SkinningError
from ...deformers.engine_copy import Tally
from ...deformers.engine_copy.bone_motion import without_scale
from ..steps import Steps, within
from .copies import Copy
from .plan import CopyPlan, find_apart
from .report import Report
from .source import Clip
from .targets import SUFFIXES, TARGETS

# Formats that Blender's own importer reads with all that a copy has
MEASURED = {"gltf", "fbx"}

# Share of all that is done when a copy is made
COPIED = 0.84


def check_path(path: Path, target: str) -> None:
    """Raise SkinningError if a file of a target cannot be written under a name: now, not after minutes."""
    check_writable(path)
    if target not in SUFFIXES:
        raise SkinningError(
            f"Only the VRM add-on can write {TARGETS[target]} files: make the copy without a file, select it, and "
            "export it with File > Export > VRM"
        )
    if path.suffix.lower() not in SUFFIXES[target]:
        endings = " or ".join(SUFFIXES[target])
        raise SkinningError(
            f"'{path.name}' is not a valid name for this file type: choose a name that ends in {endings}"
        )


def export_measured(plan: CopyPlan, copy: Copy) -> Steps[Report]:
    """Write the file of a new copy, which goes with the temporary files if none is wanted; returns its report."""
    source, report, target = plan.source, plan.report, plan.source.options.target
    between = source.folder / "export"
    between.mkdir()
    path = source.output or between / f"copy{SUFFIXES[target][0]}"
    steps = write_file(copy, source.clips, target, path, between, source.options.influences, plan)
    found = yield from within(steps, COPIED, 1.0 - COPIED)
    if "lacks" in found:  # the copy is there, and may be written elsewhere
        note = f"No file was written, because this Blender lacks {found['lacks']}: export the copy from another Blender"
        return replace(report, notes=(*report.notes, note))
    report = replace(report, path=str(source.output or ""))
    return measure_file(plan, found, report) if "missing" in found else report


def write_file(
    copy: Copy,
    clips: Sequence[Clip],
    target: str,
    path: Path,
    folder: Path,
    influences: int,
    plan: CopyPlan | None = None,
) -> Steps[dict[str, Any]]:
    """Write a copy into a file; if closed early, nothing is left behind.

    Raises SkinningError if it cannot be written.

    Parameters
    ----------
    target : str
        Key of `SUFFIXES`.
    folder : Path
        Empty, for temporary files.
    influences : int
        4 or 8.
    plan : CopyPlan, optional
        The file is measured against its targets, if Blender's importer reads the format.

    Returns
    -------
    dict
        If the format is measured: `apart`, float32, (F, V), the distance of each vertex from its target in each frame
        of the clips, in units of the world, a memory map; `missing`, how many vertices are of no face, so that the
        file lacks them; `animations` and `found_keys`, the names that the importer gives. If this Blender lacks an
        exporter, `lacks` names it, and no file was written.
    """
    check_path(path, target)
    library, written, apart = folder / "copy.blend", folder / "written", folder / "apart"
    written.mkdir()
    save_objects(library, copy.objects)
    job = {
        "format": target,
        "library": str(library),
        "objects": [obj.name for obj in copy.objects],
        "names": copy.originals,
        "scene": read_scene(),
        "output": str(written / path.with_suffix(path.suffix.lower()).name),
        "influences": influences,
        "clips": [
            {
                "name": clip.action,
                "start": clip.frames.start,
                "end": clip.frames.start + len(clip.frames) - 1,
                "first": clip.first,
                "worlds": [] if clip.worlds is None else without_scale(clip.worlds).tolist(),
            }
            for clip in clips
        ],
        "measured": plan is not None and target in MEASURED,
        "correctives": [],
        "apart": str(apart),
    }
    if plan is not None:
        character = plan.source.character
        job |= {"targets": str(plan.source.targets), "scale": character.scale, "world": character.world.tolist()}
        job["correctives"] = plan.correctives
    command = find_command()
    yield 0.0  # from here on the copy itself is not needed
    found = yield from run_session(command, folder, job)
    if "lacks" not in found:
        _put(Path(job["output"]), path)
    if "missing" in found:
        frames = sum(len(clip.frames) for clip in clips)
        found["apart"] = np.memmap(apart, np.float32, "r").reshape(frames, -1)
    return found


def measure_file(plan: CopyPlan, found: Mapping[str, Any], report: Report) -> Report:
    """Complete the report on a copy by the measures of its file, as `write_file` found them."""
    character = plan.source.character
    tally = Tally(character.skin)
    for frame, apart in enumerate(found["apart"]):
        tally.add(np.array([frame]), np.asarray(apart)[None] / character.scale)
    notes = report.notes
    if found["missing"]:
        notes = (*notes, f"{found['missing']} vertices are not in any face, so the file does not contain them")
    return replace(report, apart=find_apart(plan.source, tally.sum_up()), measured="file", notes=notes)


def _put(written: Path, path: Path) -> None:
    """Move the written files into place: textures and the like first, so that the main file is whole when it
    appears."""
    for other in sorted(written.parent.iterdir()):
        if other.is_dir():
            with filling(path.parent / other.name) as folder:
                for file in other.iterdir():
                    shutil.copyfile(file, folder / file.name)
        elif other != written:
            with replacing(path.parent / other.name) as beside:
                shutil.copyfile(other, beside)
    with replacing(path) as beside:
        shutil.copyfile(written, beside)
