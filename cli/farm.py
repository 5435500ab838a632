"""Jobs for farms from the command line: what `farm` does."""

from __future__ import annotations

import argparse

import bpy

from ..bridge.files.blend_files import open_file
from ..tasks.farm.commands import FarmJob
from ..tasks.farm.job import describe_scripts, find_objects, write_job
from .bakes import warn_of_scripts
from .commands import choose_frames, choose_settings
from .messages import answer, tell
from .options import words_of_choices


def make_job(arguments: argparse.Namespace) -> None:
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
    choose_settings(find_objects(job), arguments)  # here to find what is wrong with them
    written = write_job(job, arguments.engine)
    warn_of_scripts()
    tell(f"supple: {describe_scripts(job)}")
    answer(map(str, written))
