"""The commands of the command line, and what they take. Wrong arguments are refused without Blender."""

from __future__ import annotations

import argparse
from math import radians
from typing import NoReturn

from ..bridge.images.formats import SUFFIXES
from ..deformers import COMPARED, DEFAULT_METHOD, METHODS
from ..deformers.automatic_weights import METHODS as AUTOMATIC_WEIGHTS
from ..deformers.corrections.rotation_choice import ANGLES
from ..deformers.method import EVALUATE_ITEMS
from ..options.engine_copy import CopyOptions
from ..options.motion import MotionOptions
from ..options.reading import read_all_degrees, read_angle, read_names, read_pair
from ..options.weights import WeightOptions
from ..tasks.farm.commands import CHUNK
from ..tasks.farm.engines import ENGINES
from .messages import tell
from .options import (
    ALL,
    BIND_FIRST,
    CHOSEN,
    EXPECT,
    FILE,
    NEW_FILE,
    REPORT,
    SHOWN_PROGRESS,
    WEIGHT_METHODS,
    Command,
    OneOf,
    argument,
    arguments_of,
    frames,
    names,
    output,
    path,
)

USAGE = 2

COMMANDS = (
    Command(
        "info",
        "list the characters of a file and what can be bound",
        "show_info",
        (argument("--json", action="store_true", help="print JSON"), EXPECT, SHOWN_PROGRESS, FILE),
    ),
    Command(
        "bind",
        "bind characters and save the file",
        "bind_characters",
        (
            names("--object", "mesh to bind; all characters if not given"),
            argument(
                "--method",
                choices=tuple(METHODS),
                default=DEFAULT_METHOD,
                help=f"how the skin is deformed; {DEFAULT_METHOD} if not given",
            ),
            argument(
                "--evaluate",
                type=str.upper,
                choices=tuple(key for key, *_ in EVALUATE_ITEMS),
                help="what computes the deformation; nodes if not given, and Python where nodes cannot",
            ),
            NEW_FILE,
            *CHOSEN,
            FILE,
        ),
    ),
    Command(
        "bake",
        "bake the frames of characters",
        "bake_frames",
        (
            OneOf((names("--object", "mesh to bake; the only one that is bound if not given"), ALL)),
            BIND_FIRST,
            frames("frames to bake"),
            argument(
                "--format", choices=("pc2", "shape-keys"), default="pc2", help="what to bake to; pc2 if not given"
            ),
            output(
                "PATH",
                "PC2 file to write; a folder for several meshes or ranges of frames; with shape keys the .blend file",
            ),
            path("--save", "NEW.blend", "also save the .blend file, set to play the PC2 files"),
            SHOWN_PROGRESS,
            argument(
                "--part",
                action="store_true",
                help="bake one of several parts to a folder, if it is not there already; supple join joins them",
            ),
            EXPECT,
            *CHOSEN,
            FILE,
        ),
    ),
    Command(
        "patterns",
        "write height maps of skin patterns, one file for each frame",
        "write_patterns",
        (
            argument(
                "--object",
                metavar="NAME",
                help="mesh whose patterns to write; the only mesh with patterns if not given",
            ),
            frames("frames to write"),
            argument("--format", choices=tuple(SUFFIXES), default="png16", help="file format; png16 if not given"),
            argument("--width", type=int, default=1024, metavar="PIXELS", help="width and height; 1024 if not given"),
            output("FOLDER", "folder for the height maps"),
            FILE,
        ),
    ),
    Command(
        "weights",
        "give meshes automatic weights and save the file",
        "weight_meshes",
        (
            names("--object", "mesh to weight; all rigged if not given"),
            argument(
                "--armature",
                metavar="NAME",
                help="armature for meshes without one; the scene's only armature if not given",
            ),
            argument(
                "--method",
                choices=tuple(WEIGHT_METHODS),
                metavar=f"{{{','.join(method.words[0] for method in AUTOMATIC_WEIGHTS.values())}}}",
                help="how weights are computed; solid if not given, biharmonic where there are handles",
            ),
            names("--handle", "empty or mesh to add as a point or a cage of the meshes"),
            *arguments_of(WeightOptions),
            NEW_FILE,
            REPORT,
            FILE,
        ),
    ),
    Command(
        "check",
        "measure what methods make of a character's joints, and find faults",
        "check_character",
        (
            names("--object", "mesh; all of the scene if not given"),
            argument(
                "--methods",
                nargs="+",
                choices=tuple(METHODS),
                default=COMPARED,
                help=f"methods beside the one in use; {' '.join(COMPARED)} if not given",
            ),
            frames("frames to measure", "all actions"),
            argument(
                "--bend",
                type=read_angle,
                metavar="DEGREES",
                help="bend and twist each joint so far, too; 60 if no frames are given, else not at all",
            ),
            path("--json", "OUT.json", "file for all that was measured"),
            path("--sheet", "OUT.png", "picture of the worst joints by each method"),
            FILE,
        ),
        former=("compare",),
    ),
    Command(
        "engine-copy",
        "write a character for game engines, which blend linearly",
        "make_copy",
        (
            names("--object", "mesh; all that are bound if not given"),
            *arguments_of(CopyOptions),
            names("--action", "action to copy; all if not given"),
            argument(
                "--bend",
                type=read_angle,
                default=radians(60.0),
                metavar="DEGREES",
                help="range of motion; 60 if not given, 0 for none",
            ),
            path("--output", "HERO.glb", "file to write; none if not given"),
            path("--save", "NEW.blend", "also save the .blend file with the copy"),
            REPORT,
            FILE,
        ),
    ),
    Command(
        "correct",
        "make shape keys that correct poses, after another method or mesh",
        "correct_meshes",
        (
            names("--object", "mesh; all that have an Armature modifier if not given"),
            argument(
                "--from",
                dest="source",
                default="PARTICLES",
                metavar="SOURCE",
                help="a method, or a mesh of the same vertices, for the present pose; particles if not given",
            ),
            argument(
                "--joints",
                type=read_names,
                default=(),
                metavar="BONE,BONE",
                help="bones of the joints; elbows, knees, hips and shoulders if not given",
            ),
            argument(
                "--angles",
                type=read_all_degrees,
                default=ANGLES,
                metavar="DEGREES,DEGREES",
                help=f"how far joints are bent; {','.join(f'{angle:g}' for angle in ANGLES)} if not given",
            ),
            NEW_FILE,
            FILE,
        ),
    ),
    Command(
        "motion",
        "compare actions frame by frame, close them to loops, join them",
        "move",
        (
            argument("what", choices=("compare", "loop", "join"), help="what to do"),
            FILE,
            names("--action", "action; give it twice for two of them. What the armature plays if not given"),
            argument("--armature", metavar="NAME", help="armature; the scene's only one if not given"),
            argument(
                "--pair",
                type=read_pair,
                metavar="A:B",
                help="join: frame of each action at the seam. loop: its first and last frame. The most alike if not "
                "given. Below zero: --pair=-10:20",
            ),
            *arguments_of(MotionOptions),
            path("--output", "NEW.blend", "loop and join: file to save"),
            REPORT,
        ),
    ),
    Command(
        "join",
        "join PC2 files of successive frames into one",
        "join_files",
        (
            path(
                "parts",
                "PART.pc2",
                "files to join, in the order of their frames; or one folder of parts, as bake --part writes them",
                nargs="+",
            ),
            frames("frames to join from a folder", "an error"),
            EXPECT,
            SHOWN_PROGRESS,
            output("PATH", "PC2 file to write; from a folder, a folder"),
        ),
    ),
    Command(
        "apply",
        "have a file play baked point caches, so that it needs no Supple",
        "apply_bakes",
        (
            path("--cache", "FOLDER", "folder of PC2 files with their JSON files", required=True),
            names("--object", "mesh to play its cache; all that have one if not given"),
            NEW_FILE,
            path(
                "--render-script",
                "SCRIPT",
                "also write what renders single frames of NEW.blend in a Blender without Supple",
            ),
            SHOWN_PROGRESS,
            FILE,
        ),
    ),
    Command(
        "farm",
        "write a job that bakes characters on a farm",
        "make_job",
        (
            OneOf((names("--object", "mesh to bake; may be given several times"), ALL), required=True),
            BIND_FIRST,
            frames("frames to bake"),
            argument(
                "--chunk",
                type=int,
                default=CHUNK,
                metavar="N",
                help=f"frames that are baked at a time; {CHUNK} if not given",
            ),
            argument("--engine", choices=tuple(ENGINES), required=True, help="what runs the job"),
            argument("--render", action="store_true", help="also render the frames, from the bake"),
            argument(
                "--no-task-chunking",
                action="store_true",
                help="with openjd: list the chunks in the job, for farms without its extension TASK_CHUNKING",
            ),
            output("DIR", "folder of the job"),
            *CHOSEN,
            FILE,
        ),
    ),
)
"""In the order of `--help`."""


class _Parser(argparse.ArgumentParser):
    """Reports wrong usage in the form of Supple's other messages."""

    def error(self, message: str) -> NoReturn:
        for line in self.format_usage().splitlines():
            tell(line)
        tell(f"supple: error: {message}")
        raise SystemExit(USAGE)


def build_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="supple", description="Deform and weight characters with Supple, without a window")
    commands = parser.add_subparsers(title="commands", required=True, dest="command", metavar="COMMAND")
    for command in COMMANDS:
        command.add_to(commands)
    return parser
