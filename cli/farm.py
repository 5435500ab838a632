"""Jobs for farms from the command line: `farm`, what it takes and what it does."""

from __future__ import annotations

import argparse
from typing import Any

import bpy

from ..bridge.blend_files import open_file
from ..deformers import METHODS
from ..tasks.farm.commands import CHUNK
from ..tasks.farm.job import ENGINES, FarmJob, find_objects, write_job
from .bakes import warn_of_scripts
from .commands import choose_frames, choose_settings
from .messages import answer
from .options import add_choices, add_file, add_frames, read_path, words_of_choices


def add_farm(commands: Any) -> None:
    farmer = commands.add_parser("farm", help="write a job that bakes characters on a farm")
    chosen = farmer.add_mutually_exclusive_group(required=True)
    chosen.add_argument("--object", action="append", metavar="NAME", help="mesh to bake; may be given several times")
    chosen.add_argument("--all", action="store_true", help="bake every mesh that is bound, or that --method can bind")
    farmer.add_argument("--method", choices=tuple(METHODS), help="method to bind with first; as bound if not given")
    add_frames(farmer, "frames to bake")
    farmer.add_argument(
        "--chunk", type=int, default=CHUNK, metavar="N", help=f"frames that are baked at a time; {CHUNK} if not given"
    )
    farmer.add_argument("--engine", choices=tuple(ENGINES), required=True, help="what runs the job")
    farmer.add_argument("--render", action="store_true", help="also render the frames, from the bake")
    farmer.add_argument(
        "--no-task-chunking",
        action="store_true",
        help="with openjd: list the chunks in the job, for farms without its extension TASK_CHUNKING",
    )
    farmer.add_argument("--output", type=read_path, required=True, metavar="DIR", help="folder of the job")
    add_choices(farmer)
    add_file(farmer)
    farmer.set_defaults(run=make_job)


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
    )
    choose_settings(find_objects(job), arguments)  # here to find what is wrong with them
    warn_of_scripts()
    answer("\n".join(map(str, write_job(job, arguments.engine))))
