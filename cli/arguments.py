"""The commands of the command line, and what they take. Wrong arguments are refused without Blender."""

from __future__ import annotations

import argparse
from typing import NoReturn

from ..bridge.images.formats import SUFFIXES
from ..deformers import COMPARED, DEFAULT_METHOD, METHODS
from ..deformers.automatic_weights import METHODS as AUTOMATIC_WEIGHTS
from ..deformers.corrections.rotation_choice import ANGLES
from ..deformers.method import EVALUATE_ITEMS
from ..options import CopyOptions, MotionOptions, WeightOptions
from ..tasks.farm.commands import CHUNK
from ..tasks.farm.engines import ENGINES
from .messages import PROGRESS, tell
from .options import (
    CHOICES,
    Command,
    OneOf,
    read_angle,
    read_inputs,
    read_list_of_degrees,
    read_names,
    read_pair,
    take,
    take_frames,
    take_names,
    take_option,
    take_options,
    take_path,
)  # fmt: skip

USAGE = 2

WEIGHT_METHODS = {word: method.key for method in AUTOMATIC_WEIGHTS.values() for word in method.words}
"""The methods of automatic weights by their words, former ones too."""

FILE = take_path("file", "FILE.blend", "file to open")
NEW_FILE = take_path("--output", "NEW.blend", "file to save", required=True)
REPORT = take("--report", choices=("text", "json"), default="text", help="report form; text if not given")
ALL = take("--all", action="store_true", help="bake every mesh that is bound, or that --method can bind")
BIND_FIRST = take("--method", choices=tuple(METHODS), help="method to bind with first; as bound if not given")
CHOSEN = [take_option(option) for option in CHOICES.values()]
EXPECT = take(
    "--expect", type=read_inputs, metavar="INPUTS",
    help="go on only if the file, Supple and Blender are those that a farm's job was made with",
)  # fmt: skip
SHOWN_PROGRESS = take(
    "--progress", choices=tuple(PROGRESS), default="percent",
    help="how what is done, or why it fails, is printed: for people, or for Open Job Description, too; percent if not "
    "given",
)  # fmt: skip

COMMANDS = (
    Command(
        "info", "list the characters of a file and what can be bound", "show_info",
        take("--json", action="store_true", help="print JSON"),
        EXPECT, SHOWN_PROGRESS, FILE,
    ),
    Command(
        "bind", "bind characters and save the file", "bind_characters",
        take_names("--object", "mesh to bind; all characters if not given"),
        take("--method", choices=tuple(METHODS), default=DEFAULT_METHOD,
             help=f"how the skin is deformed; {DEFAULT_METHOD} if not given"),
        take("--evaluate", type=str.upper, choices=tuple(key for key, *_ in EVALUATE_ITEMS),
             help="what computes the deformation; nodes if not given, and Python where nodes cannot"),
        NEW_FILE, *CHOSEN, FILE,
    ),
    Command(
        "bake", "bake the frames of characters", "bake_frames",
        OneOf((take_names("--object", "mesh to bake; the only one that is bound if not given"), ALL)),
        BIND_FIRST,
        take_frames("frames to bake"),
        take("--format", choices=("pc2", "shape-keys"), default="pc2", help="what to bake to; pc2 if not given"),
        take_path("--output", "PATH", required=True, text="PC2 file to write; a folder for several meshes or ranges of "
                  "frames; with shape keys the .blend file"),
        take_path("--save", "NEW.blend", "also save the .blend file, set to play the PC2 files"),
        SHOWN_PROGRESS,
        take("--part", action="store_true",
             help="bake one of several parts to a folder, if it is not there already; supple join joins them"),
        EXPECT, *CHOSEN, FILE,
    ),
    Command(
        "patterns", "write height maps of skin patterns, one file for each frame", "write_patterns",
        take("--object", metavar="NAME", help="mesh whose patterns to write; the only mesh with patterns if not given"),
        take_frames("frames to write"),
        take("--format", choices=tuple(SUFFIXES), default="png16", help="file format; png16 if not given"),
        take("--width", type=int, default=1024, metavar="PIXELS", help="width and height; 1024 if not given"),
        take_path("--output", "FOLDER", "folder for the height maps", required=True),
        FILE,
    ),
    Command(
        "weights", "give meshes automatic weights and save the file", "weight_meshes",
        take_names("--object", "mesh to weight; all rigged if not given"),
        take("--armature", metavar="NAME",
             help="armature for meshes without one; the scene's only armature if not given"),
        take("--method", choices=tuple(WEIGHT_METHODS),
             metavar=f"{{{','.join(method.words[0] for method in AUTOMATIC_WEIGHTS.values())}}}",
             help="how weights are computed; solid if not given, biharmonic where there are handles"),
        take_names("--handle", "empty or mesh to add as a point or a cage of the meshes"),
        *take_options(WeightOptions), NEW_FILE, REPORT, FILE,
    ),
    Command(
        "check", "measure what methods make of a character's joints, and find faults", "check_character",
        take_names("--object", "mesh; all of the scene if not given"),
        take("--methods", nargs="+", choices=tuple(METHODS), default=COMPARED,
             help=f"methods beside the one in use; {' '.join(COMPARED)} if not given"),
        take_frames("frames to measure", "all actions"),
        take("--bend", type=read_angle, metavar="DEGREES",
             help="bend and twist each joint so far, too; 60 if no frames are given, else not at all"),
        take_path("--json", "OUT.json", "file for all that was measured"),
        take_path("--sheet", "OUT.png", "picture of the worst joints by each method"),
        FILE,
        former="compare",
    ),
    Command(
        "engine-copy", "write a character for game engines, which blend linearly", "make_copy",
        take_names("--object", "mesh; all that are bound if not given"),
        *take_options(CopyOptions),
        take_names("--action", "action to copy; all if not given"),
        take("--bend", dest="angle", type=read_angle, default=CopyOptions.angle, metavar="DEGREES",
             help="range of motion; 60 if not given, 0 for none"),
        take_path("--output", "HERO.glb", "file to write; none if not given"),
        take_path("--save", "NEW.blend", "also save the .blend file with the copy"),
        REPORT, FILE,
    ),
    Command(
        "correct", "make shape keys that correct poses, after another method or mesh", "correct_meshes",
        take_names("--object", "mesh; all that have an Armature modifier if not given"),
        take("--from", dest="source", default="PARTICLES", metavar="SOURCE",
             help="a method, or a mesh of the same vertices, for the present pose; particles if not given"),
        take("--joints", type=read_names, default=(), metavar="BONE,BONE",
             help="bones of the joints; elbows, knees, hips and shoulders if not given"),
        take("--angles", type=read_list_of_degrees, default=ANGLES, metavar="DEGREES,DEGREES",
             help=f"how far joints are bent; {','.join(f'{angle:g}' for angle in ANGLES)} if not given"),
        NEW_FILE, FILE,
    ),
    Command(
        "motion", "compare actions frame by frame, close them to loops, join them", "move",
        take("what", choices=("compare", "loop", "join"), help="what to do"),
        FILE,
        take_names("--action", "action; give it twice for two of them. What the armature plays if not given"),
        take("--armature", metavar="NAME", help="armature; the scene's only one if not given"),
        take("--pair", type=read_pair, metavar="A:B",
             help="join: frame of each action at the seam. loop: its first and last frame. The most alike if not "
             "given. Below zero: --pair=-10:20"),
        *take_options(MotionOptions),
        take_path("--output", "NEW.blend", "loop and join: file to save"),
        REPORT,
    ),
    Command(
        "join", "join PC2 files of successive frames into one", "join_files",
        take_path("parts", "PART.pc2", nargs="+", text="files to join, in the order of their frames; or one folder of "
                  "parts, as bake --part writes them"),
        take_frames("frames to join from a folder", "an error"),
        EXPECT, SHOWN_PROGRESS,
        take_path("--output", "PATH", "PC2 file to write; from a folder, a folder", required=True),
    ),
    Command(
        "apply", "have a file play baked point caches, so that it needs no Supple", "apply_bakes",
        take_path("--cache", "FOLDER", "folder of PC2 files with their JSON files", required=True),
        take_names("--object", "mesh to play its cache; all that have one if not given"),
        NEW_FILE,
        take_path("--render-script", "SCRIPT",
                  "also write what renders single frames of NEW.blend in a Blender without Supple"),
        SHOWN_PROGRESS, FILE,
    ),
    Command(
        "farm", "write a job that bakes characters on a farm", "make_job",
        OneOf((take_names("--object", "mesh to bake; may be given several times"), ALL), required=True),
        BIND_FIRST,
        take_frames("frames to bake"),
        take("--chunk", type=int, default=CHUNK, metavar="N",
             help=f"frames that are baked at a time; {CHUNK} if not given"),
        take("--engine", choices=tuple(ENGINES), required=True, help="what runs the job"),
        take("--render", action="store_true", help="also render the frames, from the bake"),
        take("--no-task-chunking", action="store_true",
             help="with openjd: list the chunks in the job, for farms without its extension TASK_CHUNKING"),
        take_path("--output", "DIR", "folder of the job", required=True),
        *CHOSEN, FILE,
    ),
)  # fmt: skip
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
