"""The commands of bakes: `bake`, `join`, `apply`, and `farm`, which has a farm run the others."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

import bpy

from ..bridge.files.blend_files import open_file, save_copy
from ..bridge.files.point_caches import CacheHeader, join_caches
from ..bridge.files.writing import check_writable, filling, make_folder, open_replacing
from ..deformers import SkinningError
from ..settings.objects import settings_of
from ..tasks.bake.apply import apply_caches
from ..tasks.bake.caches import write_caches
from ..tasks.bake.inputs import open_with_inputs
from ..tasks.bake.joining import join_parts
from ..tasks.bake.made_from import Inputs
from ..tasks.bake.parts import Part, bake_parts, plan_parts
from ..tasks.bake.posed_frames import check_bakeable, choose_bakeable, find_meshes
from ..tasks.bake.shape_keys import bake_shape_keys, check_keys_can_hold
from ..tasks.farm.commands import RENDER_SCRIPT, FarmJob
from ..tasks.farm.job import describe_scripts, find_objects, leave_out, write_job
from ..tasks.left_out import LeftOut, choose_usable, describe_left_out
from ..tasks.skin.baked import show_caches
from ..tasks.skin.bind import bind_each, check_bindable
from ..tasks.subject.frames import all_frames, describe_frames
from .commands import choose_frames, choose_settings, find_object, report_particles
from .messages import answer, report_steps, tell, tell_left_out
from .options import words_of_choices


def bake_frames(arguments: argparse.Namespace) -> bool:
    _check_outputs(arguments)
    inputs = None
    if arguments.expect or _fills_folder(arguments):
        inputs = open_with_inputs(arguments.file, arguments.expect)
    else:
        open_file(arguments.file)
    warn_of_scripts()
    scene = bpy.context.scene
    ranges = choose_frames(scene, arguments.frames)
    check = check_keys_can_hold if arguments.format == "shape-keys" else check_bakeable
    objects, left_out = choose_usable(_list_meshes(arguments), check_bindable if arguments.method else check)
    plans = _plan_folder(arguments, inputs, objects, ranges)
    if plans or not arguments.part:
        choose_settings(objects, arguments)
        objects, more = bind_bakeable(objects, arguments.method, all_frames(ranges), check)
        left_out += more
        report_particles(objects)
        plans = _plan_folder(arguments, inputs, objects, ranges) if more else plans
    told = tell_left_out(describe_left_out(left_out))
    if arguments.part and not plans:
        return told
    count = sum(map(len, ranges))
    if arguments.format == "shape-keys":
        report_steps(bake_shape_keys(objects, scene, all_frames(ranges)), count, arguments.progress)
        save_copy(arguments.output)
    elif arguments.part:
        make_folder(arguments.output)
        count = sum(len(frames) for frames, _ in plans)
        report_steps(_bake_plans(plans, arguments.output), count, arguments.progress)
    elif plans:
        with filling(arguments.output) as folder:
            report_steps(_bake_plans(plans, folder), count, arguments.progress)
            _save_playing(
                {obj: [(plan[obj].cache_in(arguments.output), frames) for frames, plan in plans] for obj in objects},
                arguments.save,
            )
    else:
        (obj,), (frames,) = objects, ranges
        with open_replacing(arguments.output) as stream:
            report_steps(write_caches({obj: stream}, scene, frames), count, arguments.progress)
            _save_playing({obj: [(arguments.output, frames)]}, arguments.save)
    return told


def bind_bakeable(
    objects: list[bpy.types.Object],
    method: str | None,
    frames: Sequence[int],
    check: Callable[[bpy.types.Object], object] = check_bakeable,
) -> tuple[list[bpy.types.Object], LeftOut]:
    """Bind objects if there is a method: those that can be baked, as `choose_bakeable` finds them, and the others."""
    objects, unbound = bind_each(objects, method) if method else (objects, [])
    objects, left_out = choose_bakeable(objects, bpy.context.scene, frames, check)
    return objects, unbound + left_out


def _plan_folder(
    arguments: argparse.Namespace, inputs: Inputs | None, objects: list[bpy.types.Object], ranges: tuple[range, ...]
) -> list[tuple[range, dict[bpy.types.Object, Part]]]:
    """The files to bake into a folder, for each range of frames, without complete parts that exist already."""
    if inputs is None or not _fills_folder(arguments):
        return []
    plans, choices = [], words_of_choices(arguments)
    for frames in ranges:
        plan = plan_parts(objects, frames, inputs, choices, is_part=arguments.part or len(ranges) > 1)
        there = [obj for obj, part in plan.items() if arguments.part and part.is_there(arguments.output)]
        for obj in there:
            tell(f"supple: {obj.name} {describe_frames([frames])} already exists")
        if missing := {obj: part for obj, part in plan.items() if obj not in there}:
            plans.append((frames, missing))
    return plans


def _bake_plans(plans: list[tuple[range, dict[bpy.types.Object, Part]]], folder: Path) -> Iterator[int]:
    """Bake the files of each range of frames, and yield the number of finished frames."""
    before = 0
    for frames, parts in plans:
        for done in bake_parts(parts, bpy.context.scene, folder):
            yield before + done
        before += len(frames)


def _save_playing(caches: dict[bpy.types.Object, list[tuple[Path, range]]], path: Path | None) -> None:
    """Save the open file, set to play caches that do not exist yet: all files appear, or none."""
    if path is None:
        return
    for obj, own in caches.items():
        count = len(obj.data.vertices)
        show_caches(obj, [(cache.resolve(), CacheHeader.of(count, frames)) for cache, frames in own])
    save_copy(path)


def _list_meshes(arguments: argparse.Namespace) -> list[bpy.types.Object]:
    """The meshes of `--object`, or all that are bound or, with `--method`, can be bound, sorted by name."""
    if arguments.object:
        objects = [find_object(name) for name in dict.fromkeys(arguments.object)]
        for obj in objects:
            if not arguments.method and not settings_of(obj).is_bound:
                raise SkinningError(f"'{obj.name}' is not bound: use --method to bind it for this bake")
        return objects
    found = find_meshes(bpy.context.scene, is_bound=not arguments.method)
    if not found and arguments.method:
        raise SkinningError("No mesh in the scene has an Armature modifier: there is nothing to bake")
    if not found:
        raise SkinningError("No mesh in the scene is bound: use --method to bind meshes for this bake")
    if len(found) > 1 and not arguments.all:
        names = ", ".join(obj.name for obj in found)
        raise SkinningError(f"{len(found)} meshes can be baked ({names}): use --all, or --object with one of them")
    return found


def warn_of_scripts() -> None:
    """Warn if Blender has not run the file's Python, such as drivers: driven values stay as they were saved."""
    if bpy.app.autoexec_fail:
        tell(
            f"supple: warning: Blender has not run the file's Python ({bpy.app.autoexec_fail_message}), so bones or "
            "shape keys that depend on it do not move: if you trust the file, put --enable-autoexec before --command"
        )


def _fills_folder(arguments: argparse.Namespace) -> bool:
    """Whether a bake has several files, which go to a folder."""
    several = arguments.all or arguments.part or len(arguments.object or ()) > 1 or len(arguments.frames or ()) > 1
    return arguments.format == "pc2" and several


def _check_outputs(arguments: argparse.Namespace) -> None:
    """Raise SkinningError if a bake cannot be written, or would replace the .blend file that it is made from or for."""
    if _fills_folder(arguments) and os.path.exists(arguments.output):
        make_folder(arguments.output)
    else:
        check_writable(arguments.output)
    if arguments.save:
        check_writable(arguments.save)
    for path in filter(None, (arguments.file, arguments.save)) if arguments.format == "pc2" else ():
        if _is_same_file(path, arguments.output):
            raise SkinningError(f"'{path}' is a .blend file, and the bake would replace it: choose another --output")


def _is_same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, which need not exist."""
    if os.path.exists(one) and os.path.exists(other):
        return os.path.samefile(one, other)  # some systems take "A" and "a" for one name
    return os.path.realpath(one) == os.path.realpath(other)


def join_files(arguments: argparse.Namespace) -> None:
    first, *others = arguments.parts
    if arguments.frames and not others:
        for part in join_parts(first, arguments.frames, arguments.output, arguments.expect):
            tell(f"supple: {part.cache_in(arguments.output)}: {len(part.frames)} frames of {part.points:,} points")
    elif arguments.frames or arguments.expect or os.path.isdir(first):
        raise SkinningError(
            "A folder of parts needs --frames and must be the only input: use both, or PC2 files without --frames"
        )
    else:
        join_caches(arguments.parts, arguments.output)


def apply_bakes(arguments: argparse.Namespace) -> None:
    for path in filter(None, (arguments.output, arguments.render_script)):
        check_writable(path)
    open_file(arguments.file)
    applied = apply_caches(arguments.object, arguments.cache)
    with open_replacing(arguments.render_script) if arguments.render_script else nullcontext() as stream:
        if stream is not None:
            stream.write(RENDER_SCRIPT.read_bytes())
        save_copy(arguments.output)
    for line in applied.describe_missing():
        tell(f"supple: {line}")
    answer(applied.describe())


def make_job(arguments: argparse.Namespace) -> bool:
    open_file(arguments.file)
    job = FarmJob(
        file=arguments.file.absolute(),
        objects=tuple(dict.fromkeys(arguments.object or ())),
        frames=choose_frames(bpy.context.scene, arguments.frames),
        chunk=arguments.chunk,
        choices=words_of_choices(arguments),
        output=arguments.output.absolute(),
        render=arguments.render,
        task_chunking=not arguments.no_task_chunking,
        runs_python=arguments.allow_scripts,
    )
    objects = find_objects(job)
    choose_settings(objects, arguments)  # here to find what is wrong with them
    lines: tuple[str, ...] = ()
    if arguments.method:
        objects, left_out = bind_bakeable(objects, arguments.method, all_frames(job.frames))
        lines = describe_left_out(left_out)
        job = leave_out(job, objects, left_out)
        open_file(job.file)  # as it is, and workers read it
    written, left_out = write_job(job, arguments.engine)
    warn_of_scripts()
    tell(f"supple: {describe_scripts(job)}")
    answer(map(str, written))
    return tell_left_out((*lines, *describe_left_out(left_out)))
