"""The table of commands and their arguments. Wrong arguments are refused without Blender."""

from __future__ import annotations

import argparse
from typing import NoReturn

from ..bridge.images.formats import SUFFIXES
from ..deformers import COMPARED, DEFAULT_METHOD, METHODS
from ..deformers.automatic_weights import METHODS as AUTOMATIC_WEIGHTS
from ..deformers.corrections.rotation_choice import ANGLES
from ..options import LOOKS, CopyOptions, FitOptions, MotionOptions, SwingOptions, WeightOptions
from ..tasks.bake.made_from import Inputs
from ..tasks.farm.commands import CHUNK
from ..tasks.farm.engines import ENGINES
from .messages import PROGRESS, tell
from .options import (
    CHOICES,
    Argument,
    Command,
    OneOf,
    read_angle,
    read_list_of_degrees,
    read_names,
    read_pair,
    refusing,
    take_frames,
    take_names,
    take_option,
    take_options,
    take_path,
)  # fmt: skip

USAGE = 2

# Keys of methods by their words, also by those of earlier versions.
WEIGHT_METHODS = {word: method.key for method in AUTOMATIC_WEIGHTS.values() for word in method.words}

FILE = take_path("file", "FILE.blend", "file to open")
NEW_FILE = take_path("--output", "NEW.blend", "file to save", required=True)
REPORT = Argument("--report", choices=("text", "json"), default="text", help="report format; text by default")
ARMATURE = Argument("--armature", metavar="NAME", help="armature; by default the only armature in the scene")
ALL = Argument("--all", action="store_true", help="bake every bound mesh, and every mesh that --method can bind")
BIND_FIRST = Argument("--method", choices=tuple(METHODS), help="method to bind with first; by default the bound method")
CHOSEN = [take_option(option) for option in CHOICES.values()]
EXPECT = Argument(
    "--expect", type=refusing(Inputs.parse), metavar="INPUTS",
    help="continue only if the file, Supple and Blender match those of the farm job",
)  # fmt: skip
SHOWN_PROGRESS = Argument(
    "--progress", choices=tuple(PROGRESS), default="percent",
    help="format of progress and errors, openjd for Open Job Description; percent by default",
)  # fmt: skip

# In the order of `--help`.
COMMANDS = (
    Command(
        "info", "list the characters of a file and what can be bound", "show_info",
        Argument("--json", action="store_true", help="print JSON"),
        EXPECT, SHOWN_PROGRESS, FILE,
    ),
    Command(
        "bind", "bind characters and save the file", "bind_characters",
        take_names("--object", "mesh to bind; all characters if not set"),
        Argument("--method", choices=tuple(METHODS),
             help=f"skinning method; {DEFAULT_METHOD} by default"),
        Argument("--evaluate", help=argparse.SUPPRESS),
        Argument("--look", choices=tuple(key.lower() for key, look in LOOKS.items() if look.method),
             help="flesh: also make the skin look like flesh, by corrective shape keys at the joints that gain most; "
                  "fast: mute these; published: DLBNT as the paper has it"),
        NEW_FILE, *CHOSEN, FILE,
    ),
    Command(
        "update", "bring characters of an earlier version up to this one, and save the file", "update_characters",
        take_names("--object", "mesh to update; all of an earlier version if not set"),
        NEW_FILE, FILE,
    ),
    Command(
        "bake", "bake the frames of characters", "bake_frames",
        OneOf((take_names("--object", "mesh to bake; by default the only bound mesh"), ALL)),
        BIND_FIRST,
        take_frames("frames to bake"),
        Argument("--format", choices=("pc2", "shape-keys"), default="pc2", help="format of the bake; pc2 by default"),
        take_path("--output", "PATH", required=True,
                  text="PC2 file to write; a folder for several meshes or frame ranges; the .blend for shape keys"),
        take_path("--save", "NEW.blend", "also save a .blend file that plays the PC2 files"),
        SHOWN_PROGRESS,
        Argument("--part", action="store_true",
             help="bake one of several parts to a folder unless it exists there; join the parts with supple join"),
        EXPECT, *CHOSEN, FILE,
    ),
    Command(
        "patterns", "write height maps of skin patterns, one file for each frame", "write_patterns",
        Argument("--object", metavar="NAME", help="mesh with the patterns; by default the only mesh that has any"),
        take_frames("frames to write"),
        Argument("--format", choices=tuple(SUFFIXES), default="png16", help="file format; png16 by default"),
        Argument("--width", type=int, default=1024, metavar="PIXELS", help="width and height; 1024 by default"),
        take_path("--output", "FOLDER", "folder for the height maps", required=True),
        FILE,
    ),
    Command(
        "weights", "give meshes automatic weights and save the file", "weight_meshes",
        take_names("--object", "mesh to weight; by default all rigged meshes"),
        Argument("--armature", metavar="NAME",
             help="armature for meshes without one; by default the only armature in the scene"),
        Argument("--method", choices=tuple(WEIGHT_METHODS),
             metavar=f"{{{','.join(method.words[0] for method in AUTOMATIC_WEIGHTS.values())}}}",
             help="method for the weights; solid by default, or biharmonic with handles"),
        take_names("--handle", "empty to add as a point, or mesh to add as a cage"),
        *take_options(WeightOptions), NEW_FILE, REPORT, FILE,
    ),
    Command(
        "check", "measure how each method deforms a character's joints, and find faults", "check_character",
        take_names("--object", "mesh; by default all meshes in the scene"),
        Argument("--methods", nargs="+", choices=tuple(METHODS), default=COMPARED,
             help=f"methods to compare with the current method; {' '.join(COMPARED)} by default"),
        take_frames("frames to measure", "all actions"),
        Argument("--bend", type=read_angle, metavar="DEGREES",
             help="also bend and twist each joint by this angle; by default 60 without --frames, and 0 with --frames"),
        take_path("--json", "OUT.json", "file for all measured values"),
        take_path("--sheet", "OUT.png", "image of the worst joints with each method"),
        FILE,
        former="compare",
    ),
    Command(
        "engine-copy", "write a character for game engines, which blend linearly", "make_copy",
        take_names("--object", "mesh; by default all bound meshes"),
        *take_options(CopyOptions),
        take_names("--action", "action to copy; all actions by default"),
        Argument("--bend", dest="angle", type=read_angle, default=CopyOptions.angle, metavar="DEGREES",
             help="range of motion; 60 by default, 0 for none"),
        take_path("--output", "HERO.glb", "file to write; none by default"),
        take_path("--save", "NEW.blend", "also save the .blend file with the copy"),
        REPORT, FILE,
    ),
    Command(
        "correct", "make corrective shape keys from another method or mesh", "correct_meshes",
        take_names("--object", "mesh; by default all meshes that have an Armature modifier"),
        Argument("--from", dest="source", default="PARTICLES", metavar="SOURCE",
             help="a method, or a mesh with the same vertices as the shape of the current pose; particles by default"),
        Argument("--joints", type=read_names, default=(), metavar="BONE,BONE",
             help="bones of the joints; those that gain most by default"),
        Argument("--angles", type=read_list_of_degrees, default=ANGLES, metavar="DEGREES,DEGREES",
             help=f"angles to bend joints by; {','.join(f'{angle:g}' for angle in ANGLES)} if not given"),
        NEW_FILE, FILE,
    ),
    Command(
        "motion", "compare actions frame by frame, make them loop, or join them", "move",
        Argument("what", choices=("compare", "loop", "join"), help="what to do"),
        FILE,
        take_names("--action", "action; use twice for two actions. By default the active action of the armature"),
        ARMATURE,
        Argument("--pair", type=read_pair, metavar="A:B",
             help="join: frame of each action at the seam. loop: first and last frame. By default "
                  "the most similar frames. Negative frames: --pair=-10:20"),
        *take_options(MotionOptions),
        take_path("--output", "NEW.blend", "loop and join: file to save"),
        REPORT,
    ),
    Command(
        "swing", "make tails, ears and hair lag behind the actions and swing", "swing",
        Argument("--bones", type=read_names, default=(), metavar="BONE,BONE",
             help="bones that swing; by default those that have the name of the part"),
        Argument("--region", metavar="GROUP", help="vertex group of a mesh that swings as flesh, instead of bones"),
        ARMATURE,
        *take_options(SwingOptions),
        OneOf((
            Argument("--update", action="store_true", help="compute the swing of the file again, by its own settings"),
            Argument("--remove", action="store_true", help="remove the swing; with --bones, that of these bones"),
        )),
        NEW_FILE, REPORT, FILE,
    ),
    Command(
        "fit", "fit a skeleton into the meshes of one character", "fit_skeleton",
        take_names("--object", "mesh of the character; by default all visible meshes without an armature"),
        *take_options(FitOptions),
        Argument("--make", action="store_true", help="also add weights, and bind the meshes"),
        NEW_FILE, REPORT, FILE,
    ),
    Command(
        "layers", "keep clothes outside of the body, and of each other", "keep_outside",
        ARMATURE,
        OneOf((
            Argument("--mend", action="store_true", help="move what sticks out of clothes at rest beneath them, first"),
            Argument("--remove", action="store_true", help="take all of it off"),
        )),
        Argument("--limbs", action="store_true", help="keep limbs out of each other, too"),
        Argument("--bones", metavar="A,B", default="",
                 help="the same, of these bones only; groups of bones by semicolons"),
        NEW_FILE, REPORT, FILE,
    ),
    Command(
        "join", "join PC2 files of consecutive frames into one file", "join_files",
        take_path("parts", "PART.pc2", nargs="+",
                  text="files to join, in frame order; or a folder of parts written by bake --part"),
        take_frames("frames to join, required with a folder", "none"),
        EXPECT, SHOWN_PROGRESS,
        take_path("--output", "PATH", "PC2 file to write; from a folder, a folder", required=True),
    ),
    Command(
        "apply", "make a file play baked point caches, so that it does not need Supple", "apply_bakes",
        take_path("--cache", "FOLDER", "folder of PC2 files with their JSON files", required=True),
        take_names("--object", "mesh to play its cache; by default all meshes with a cache"),
        NEW_FILE,
        take_path("--render-script", "SCRIPT",
                  "also write a script that renders single frames of NEW.blend in Blender without Supple"),
        SHOWN_PROGRESS, FILE,
    ),
    Command(
        "farm", "write a job that bakes characters on a farm", "make_job",
        OneOf((take_names("--object", "mesh to bake; may be used several times"), ALL), required=True),
        BIND_FIRST,
        take_frames("frames to bake"),
        Argument("--chunk", type=int, default=CHUNK, metavar="N",
             help=f"frames to bake at a time; {CHUNK} by default"),
        Argument("--engine", choices=tuple(ENGINES), required=True, help="render farm manager that runs the job"),
        Argument("--render", action="store_true", help="also render the frames, from the bake"),
        Argument("--allow-scripts", action="store_true",
             help="let workers run scripts in the file, such as drivers in Python, even if this Blender does not"),
        Argument("--no-task-chunking", action="store_true",
             help="with openjd: list the chunks in the job, for farms without the TASK_CHUNKING extension"),
        take_path("--output", "DIR", "folder of the job", required=True),
        *CHOSEN, FILE,
    ),
)  # fmt: skip


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
