"""What the command line takes: its commands and their options. Wrong ones are refused without Blender."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn, get_args

from ..bridge.images.formats import SUFFIXES
from ..deformers import COMPARED, DEFAULT_METHOD, METHODS
from ..deformers.automatic_weights import METHODS as AUTOMATIC_WEIGHTS
from ..deformers.corrections.rotation_choice import ANGLES
from ..deformers.method import EVALUATE_ITEMS
from ..deformers.weight_editing.edits import Mode
from ..tasks.engine_copy.targets import TARGETS
from ..tasks.motion.options import DEFAULTS
from .bake_arguments import add_apply, add_bake, add_farm, add_join
from .messages import tell
from .options import (
    WEIGHT_METHODS,
    add_choices,
    add_expect,
    add_file,
    add_frames,
    add_progress,
    read_angle,
    read_angles,
    read_length,
    read_names,
    read_number,
    read_pair,
    read_path,
    read_seconds,
)

USAGE = 2


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
    for add_command in ADDED:
        add_command(commands)
    return parser


def _add_info(commands: Any) -> None:
    info = commands.add_parser("info", help="list the characters of a file and what can be bound")
    info.add_argument("--json", action="store_true", help="print JSON")
    add_expect(info)
    add_progress(info)
    add_file(info)


def _add_bind(commands: Any) -> None:
    binder = commands.add_parser("bind", help="bind characters and save the file")
    binder.add_argument("--object", action="append", metavar="NAME", help="mesh to bind; all characters if not given")
    binder.add_argument(
        "--method",
        choices=tuple(METHODS),
        default=DEFAULT_METHOD,
        help=f"how the skin is deformed; {DEFAULT_METHOD} if not given",
    )
    binder.add_argument(
        "--evaluate",
        type=str.upper,
        choices=tuple(key for key, *_ in EVALUATE_ITEMS),
        help="what computes the deformation; nodes if not given, and Python where nodes cannot",
    )
    binder.add_argument("--output", type=read_path, required=True, metavar="NEW.blend", help="file to save")
    add_choices(binder)
    add_file(binder)


def _add_patterns(commands: Any) -> None:
    drawer = commands.add_parser("patterns", help="write height maps of skin patterns, one file for each frame")
    drawer.add_argument(
        "--object", metavar="NAME", help="mesh whose patterns to write; the only mesh with patterns if not given"
    )
    add_frames(drawer, "frames to write")
    drawer.add_argument("--format", choices=tuple(SUFFIXES), default="png16", help="file format; png16 if not given")
    drawer.add_argument("--width", type=int, default=1024, metavar="PIXELS", help="width and height; 1024 if not given")
    drawer.add_argument("--output", type=read_path, required=True, metavar="FOLDER", help="folder for the height maps")
    add_file(drawer)


def _add_weights(commands: Any) -> None:
    weigher = commands.add_parser("weights", help="give meshes automatic weights and save the file")
    weigher.add_argument("--object", action="append", metavar="NAME", help="mesh to weight; all rigged if not given")
    weigher.add_argument(
        "--armature", metavar="NAME", help="armature for meshes without one; the scene's only armature if not given"
    )
    weigher.add_argument(
        "--method",
        choices=tuple(WEIGHT_METHODS),
        metavar=f"{{{','.join(method.words[0] for method in AUTOMATIC_WEIGHTS.values())}}}",
        help="how weights are computed; solid if not given, biharmonic where there are handles",
    )
    weigher.add_argument(
        "--handle", action="append", metavar="NAME", help="empty or mesh to add as a point or a cage of the meshes"
    )
    weigher.add_argument(
        "--mode",
        choices=tuple(mode.lower() for mode in get_args(Mode)),
        default="replace",
        help="how new weights combine with existing ones; replace if not given",
    )
    weigher.add_argument("--mirror", action="store_true", help="same weights on both sides of the armature")
    weigher.add_argument(
        "--limit", type=read_number, default=0, metavar="N", help="most bones per vertex; any if not given"
    )
    weigher.add_argument("--output", type=read_path, required=True, metavar="NEW.blend", help="file to save")
    weigher.add_argument("--report", choices=("text", "json"), default="text", help="report form; text if not given")
    add_file(weigher)


def _add_check(commands: Any) -> None:
    checker = commands.add_parser(
        "check", aliases=["compare"], help="measure what methods make of a character's joints, and find faults"
    )
    checker.set_defaults(command="check")  # whichever word was typed
    checker.add_argument("--object", action="append", metavar="NAME", help="mesh; all of the scene if not given")
    checker.add_argument(
        "--methods",
        nargs="+",
        choices=tuple(METHODS),
        default=COMPARED,
        help=f"methods beside the one in use; {' '.join(COMPARED)} if not given",
    )
    add_frames(checker, "frames to measure", "all actions")
    checker.add_argument(
        "--bend",
        type=read_angle,
        metavar="DEGREES",
        help="bend and twist each joint so far, too; 60 if no frames are given, else not at all",
    )
    checker.add_argument("--json", type=read_path, metavar="OUT.json", help="file for all that was measured")
    checker.add_argument(
        "--sheet", type=read_path, metavar="OUT.png", help="picture of the worst joints by each method"
    )
    add_file(checker)


def _add_copy(commands: Any) -> None:
    copier = commands.add_parser("engine-copy", help="write a character for game engines, which blend linearly")
    copier.add_argument("--object", action="append", metavar="NAME", help="mesh; all that are bound if not given")
    copier.add_argument("--target", choices=tuple(TARGETS), default="gltf", help="what it is for; gltf if not given")
    copier.add_argument(
        "--tolerance", type=read_length, default=0.003, metavar="LENGTH", help="as 3mm or 0.3cm; 3mm if not given"
    )
    copier.add_argument(
        "--influences", type=int, default=4, metavar="N", help="bones per vertex, 4 or 8; 4 if not given"
    )
    copier.add_argument(
        "--helpers", type=int, default=-1, metavar="N", help="most bones added to a joint; -1 as needed"
    )
    copier.add_argument("--keys", type=int, default=-1, metavar="N", help="most corrective keys; -1 as needed")
    copier.add_argument("--action", action="append", metavar="NAME", help="action to copy; all if not given")
    copier.add_argument(
        "--bend", type=read_angle, default=60.0, metavar="DEGREES", help="range of motion; 60 if not given, 0 for none"
    )
    copier.add_argument("--output", type=read_path, metavar="HERO.glb", help="file to write; none if not given")
    copier.add_argument("--save", type=read_path, metavar="NEW.blend", help="also save the .blend file with the copy")
    copier.add_argument("--report", choices=("text", "json"), default="text", help="report form; text if not given")
    add_file(copier)


def _add_correct(commands: Any) -> None:
    corrector = commands.add_parser("correct", help="make shape keys that correct poses, after another method or mesh")
    corrector.add_argument(
        "--object", action="append", metavar="NAME", help="mesh; all that have an Armature modifier if not given"
    )
    corrector.add_argument(
        "--from",
        dest="source",
        default="PARTICLES",
        metavar="SOURCE",
        help="a method, or a mesh of the same vertices, for the present pose; particles if not given",
    )
    corrector.add_argument(
        "--joints",
        type=read_names,
        default=(),
        metavar="BONE,BONE",
        help="bones of the joints; elbows, knees, hips and shoulders if not given",
    )
    corrector.add_argument(
        "--angles",
        type=read_angles,
        default=ANGLES,
        metavar="DEGREES,DEGREES",
        help=f"how far joints are bent; {','.join(f'{angle:g}' for angle in ANGLES)} if not given",
    )
    corrector.add_argument("--output", type=read_path, required=True, metavar="NEW.blend", help="file to save")
    add_file(corrector)


def _add_motion(commands: Any) -> None:
    mover = commands.add_parser("motion", help="compare actions frame by frame, close them to loops, join them")
    mover.add_argument("what", choices=("compare", "loop", "join"), help="what to do")
    add_file(mover)
    mover.add_argument(
        "--action",
        action="append",
        metavar="NAME",
        help="action; give it twice for two of them. What the armature plays if not given",
    )
    mover.add_argument("--armature", metavar="NAME", help="armature; the scene's only one if not given")
    mover.add_argument(
        "--pair",
        type=read_pair,
        metavar="A:B",
        help="join: frame of each action at the seam. loop: its first and last frame. The most alike if not given. "
        "Below zero: --pair=-10:20",
    )
    mover.add_argument(
        "--blend",
        type=read_seconds,
        default=DEFAULTS.blend,
        metavar="SECONDS",
        help="how long both motions are blended; as long as they need if not given",
    )
    mover.add_argument("--no-hold", action="store_true", help="do not hold feet that are planted at the seam")
    mover.add_argument("--output", type=read_path, metavar="NEW.blend", help="loop and join: file to save")
    mover.add_argument("--report", choices=("text", "json"), default="text", help="report form; text if not given")


ADDED = (
    _add_info,
    _add_bind,
    add_bake,
    _add_patterns,
    _add_weights,
    _add_check,
    _add_copy,
    _add_correct,
    _add_motion,
    add_join,
    add_apply,
    add_farm,
)
"""The commands, in the order of `--help`."""
