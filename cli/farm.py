"""Jobs for farms from the command line: what `farm` does."""

from __future__ import annotations

import argparse

import bpy

from ..bridge.files.blend_files import open_file
from ..tasks.farm.commands import FarmJob
from ..tasks.farm.job import describe_scripts, find_objects, leave_out, write_job
from ..tasks.left_out import describe_left_out
from ..tasks.subject.frames import all_frames
from .bakes import bind_bakeable, warn_of_scripts
from .commands import choose_frames, choose_settings
from .messages import answer, tell, tell_left_out
from .options import words_of_choices


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
