"""A job for a render farm: the open file, checked as far as that goes before workers have it, in an engine's words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import bpy

from ...bridge.files.blend_files import save_file
from ...bridge.files.render_frames import are_scripts_allowed
from ...bridge.files.writing import filling
from ...deformers import SkinningError
from ...settings.objects import settings_of
from ..bake.inputs import read_inputs
from ..bake.parts import name_stems
from ..bake.posed_frames import check_bakeable, choose_bakeable, find_meshes
from ..left_out import LeftOut, choose_usable
from ..skin.bind import check_bindable
from ..subject.frames import all_frames, cut_frames, describe_frames
from .assets import find_assets
from .commands import FarmJob
from .engines import ENGINES
from .readme import README, describe_submission


def describe_scripts(job: FarmJob) -> str:
    """Whether workers run Python of the file, and why, in a sentence."""
    if job.runs_python:
        return "Scripts in the file, such as drivers in Python, run on workers: the job allows them (Allow Scripts)"
    if are_scripts_allowed(job.file):
        return "Scripts in the file, such as drivers in Python, run on workers, as they do in this Blender"
    return (
        "Scripts in the file, such as drivers in Python, do not run on workers: if you trust the file, write the job "
        "with Allow Scripts"
    )


def write_job(job: FarmJob, engine: str, saves: bool = False) -> tuple[list[Path], LeftOut]:
    """Write a job of the open file for an engine of `ENGINES`: the written files, and meshes that cannot be baked.

    With `saves`, the file is saved before, unless there is something in the way.

    The job's folder is made if only that is missing. Results of an earlier job stay: whole chunks of the same inputs
    are not baked again. Raises SkinningError if a worker could not run it, as far as that can be seen here, or a file
    cannot be written.
    """
    check_on_disk(job.file)
    if not saves:
        check_saved(job.file)
    job, left_out = check_job(job)
    if saves:
        save_file()
    expect, runs_python = read_inputs(job.file).describe(), job.runs_python or are_scripts_allowed(job.file)
    whole = replace(job, expect=expect, runs_python=runs_python, assets=tuple(find_assets()))
    texts = ENGINES[engine].describe(whole) | {README: describe_submission(whole, engine, describe_scripts(job))}
    with filling(job.output) as folder:
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return [job.output / name for name in texts], left_out


def check_job(job: FarmJob) -> tuple[FarmJob, LeftOut]:
    """A job without the meshes that cannot be baked, and these.

    Raises SkinningError if a worker could not run the job, as far as that can be seen in the open file.
    """
    cut_frames(job.frames, job.chunk)
    if job.render:
        _check_renders(bpy.context.scene)
        _check_apart(job.frames)
    objects = find_objects(job)
    if "--method" in job.choices:
        objects, left_out = choose_usable(objects, check_bindable)
    else:
        objects, left_out = choose_bakeable(objects, bpy.context.scene, all_frames(job.frames), _check_bound)
    name_stems(objects)
    return leave_out(job, objects, left_out), left_out


def leave_out(job: FarmJob, objects: Iterable[bpy.types.Object], left_out: LeftOut) -> FarmJob:
    """A job of these objects alone, where any are left out."""
    return replace(job, objects=tuple(obj.name for obj in objects)) if left_out else job


def _check_bound(obj: bpy.types.Object) -> None:
    if not settings_of(obj).is_bound:
        raise SkinningError(f"'{obj.name}' is not bound: bind it first, or use --method")
    check_bakeable(obj)


def check_on_disk(file: Path) -> None:
    """Raise SkinningError if the open file is not on the disk, in whatever state."""
    if not bpy.data.filepath or not file.is_file():
        raise SkinningError("The file was never saved, and workers open it from disk: save it first")


def check_saved(file: Path) -> None:
    """Raise SkinningError if the open file is not on the disk as it is."""
    if bpy.data.is_dirty and not bpy.app.background:  # without a window Blender says so of saved files, too
        raise SkinningError(f"'{file.name}' has unsaved changes, which workers would not have: save it first")


def find_objects(job: FarmJob) -> list[bpy.types.Object]:
    """The meshes of the open scene that a job names, or all; raises SkinningError if one, or any, is missing."""
    scene = bpy.context.scene
    if not job.objects:
        if found := find_meshes(scene, is_bound="--method" not in job.choices):
            return found
        raise SkinningError("No mesh in the scene is bound: bind the character first, or use --method")
    by_name = {obj.name: obj for obj in find_meshes(scene, is_bound=False)}
    if missing := [name for name in job.objects if name not in by_name]:
        known = f": choose one of {', '.join(by_name)}" if by_name else ", and no other mesh in the scene has one"
        raise SkinningError(f"'{missing[0]}' is not a mesh in the scene with an Armature modifier{known}")
    return [by_name[name] for name in job.objects]


def _check_renders(scene: bpy.types.Scene) -> None:
    """Raise SkinningError for a scene whose frames cannot be rendered one by one."""
    if scene.render.is_movie_format:
        raise SkinningError(
            f"The render output is a movie ({scene.render.image_settings.file_format}), which cannot be rendered in "
            "chunks: choose an image format, such as PNG or OpenEXR"
        )
    has_camera = scene.camera is not None or any(marker.camera for marker in scene.timeline_markers)
    editor = scene.sequence_editor if scene.render.use_sequencer else None
    strips = getattr(editor, "strips", ()) or getattr(editor, "sequences", ())  # their name up to Blender 4.3
    if not (has_camera or strips):
        raise SkinningError("The scene has no camera: add a camera, or do not render")


def _check_apart(frames: tuple[range, ...]) -> None:
    """Raise SkinningError for ranges that interleave: a file plays the caches of ranges one after the other."""
    for before, after in pairwise(frames):
        if before[-1] > after[0]:
            raise SkinningError(
                f"Frame ranges {describe_frames([before])} and {describe_frames([after])} overlap, which a rendered "
                "file cannot play: list ranges in sequence, or do not render"
            )
