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
    binder.add_argument("--object", action="append", metavar="NAME", help="mesh to bind; all characters if not set")
    binder.add_argument(
        "--method",
        choices=tuple(METHODS),
        default=DEFAULT_METHOD,
        help=f"skinning method; {DEFAULT_METHOD} by default",
    )
    binder.add_argument(
        "--evaluate",
        type=str.upper,
        choices=tuple(key for key, *_ in EVALUATE_ITEMS),
        help="compute the deformation with nodes or Python; nodes by default, or Python if nodes cannot",
    )
    binder.add_argument("--output", type=read_path, required=True, metavar="NEW.blend", help="file to save")
    add_choices(binder)
    add_file(binder)


def _add_patterns(commands: Any) -> None:
    drawer = commands.add_parser("patterns", help="write height maps of skin patterns, one file for each frame")
    drawer.add_argument(
        "--object", metavar="NAME", help="mesh with the patterns to write; by default the only mesh with patterns"
    )
    add_frames(drawer, "frames to write")
    drawer.add_argument("--format", choices=tuple(SUFFIXES), default="png16", help="file format; png16 by default")
    drawer.add_argument("--width", type=int, default=1024, metavar="PIXELS", help="width and height; 1024 by default")
    drawer.add_argument("--output", type=read_path, required=True, metavar="FOLDER", help="folder for the height maps")
    add_file(drawer)


def _add_weights(commands: Any) -> None:
    weigher = commands.add_parser("weights", help="give meshes automatic weights and save the file")
    weigher.add_argument(
        "--object", action="append", metavar="NAME", help="mesh to weight; by default all rigged meshes"
    )
    weigher.add_argument(
        "--armature", metavar="NAME", help="armature for meshes without one; by default the only armature in the scene"
    )
    weigher.add_argument(
        "--method",
        choices=tuple(WEIGHT_METHODS),
        metavar=f"{{{','.join(method.words[0] for method in AUTOMATIC_WEIGHTS.values())}}}",
        help="method for the weights; solid by default, or biharmonic with handles",
    )
    weigher.add_argument(
        "--handle", action="append", metavar="NAME", help="empty to add as a point, or mesh to add as a cage"
    )
    weigher.add_argument(
        "--mode",
        choices=tuple(mode.lower() for mode in get_args(Mode)),
        default="replace",
        help="how to combine new weights with existing weights; replace by default",
    )
    weigher.add_argument("--mirror", action="store_true", help="give both sides of the armature the same weights")
    weigher.add_argument(
        "--limit",
        type=read_number,
        default=0,
        metavar="N",
        help="maximum number of bones per vertex; no limit by default",
    )
    weigher.add_argument("--output", type=read_path, required=True, metavar="NEW.blend", help="file to save")
    weigher.add_argument("--report", choices=("text", "json"), default="text", help="report format; text by default")
    add_file(weigher)


def _add_check(commands: Any) -> None:
    checker = commands.add_parser(
        "check", aliases=["compare"], help="measure how each method deforms a character's joints, and find faults"
    )
    checker.set_defaults(command="check")  # whichever word was typed
    checker.add_argument("--object", action="append", metavar="NAME", help="mesh; by default all meshes in the scene")
    checker.add_argument(
        "--methods",
        nargs="+",
        choices=tuple(METHODS),
        default=COMPARED,
        help=f"methods to compare with the current method; {' '.join(COMPARED)} by default",
    )
    add_frames(checker, "frames to measure", "all actions")
    checker.add_argument(
        "--bend",
        type=read_angle,
        metavar="DEGREES",
        help="also bend and twist each joint by this angle; by default 60 without --frames, and 0 with --frames",
    )
    checker.add_argument("--json", type=read_path, metavar="OUT.json", help="file for all measured values")
    checker.add_argument(
        "--sheet", type=read_path, metavar="OUT.png", help="image of the worst joints with each method"
    )
    add_file(checker)


def _add_copy(commands: Any) -> None:
    copier = commands.add_parser("engine-copy", help="write a character for game engines, which blend linearly")
    copier.add_argument("--object", action="append", metavar="NAME", help="mesh; by default all bound meshes")
    copier.add_argument("--target", choices=tuple(TARGETS), default="gltf", help="target format; gltf by default")
    copier.add_argument(
        "--tolerance",
        type=read_length,
        default=0.003,
        metavar="LENGTH",
        help="maximum error, such as 3mm or 0.3cm; 3mm by default",
    )
    copier.add_argument("--influences", type=int, default=4, metavar="N", help="bones per vertex, 4 or 8; 4 by default")
    copier.add_argument(
        "--helpers",
        type=int,
        default=-1,
        metavar="N",
        help="maximum number of bones to add at a joint; -1 for as needed",
    )
    copier.add_argument(
        "--keys", type=int, default=-1, metavar="N", help="maximum number of corrective shape keys; -1 for as needed"
    )
    copier.add_argument("--action", action="append", metavar="NAME", help="action to copy; all actions by default")
    copier.add_argument(
        "--bend", type=read_angle, default=60.0, metavar="DEGREES", help="range of motion; 60 by default, 0 for none"
    )
    copier.add_argument("--output", type=read_path, metavar="HERO.glb", help="file to write; none by default")
    copier.add_argument("--save", type=read_path, metavar="NEW.blend", help="also save the .blend file with the copy")
    copier.add_argument("--report", choices=("text", "json"), default="text", help="report format; text by default")
    add_file(copier)


def _add_correct(commands: Any) -> None:
    corrector = commands.add_parser("correct", help="make corrective shape keys from another method or mesh")
    corrector.add_argument(
        "--object", action="append", metavar="NAME", help="mesh; by default all meshes that have an Armature modifier"
    )
    corrector.add_argument(
        "--from",
        dest="source",
        default="PARTICLES",
        metavar="SOURCE",
        help="a method, or a mesh with the same vertices as the shape of the current pose; particles by default",
    )
    corrector.add_argument(
        "--joints",
        type=read_names,
        default=(),
        metavar="BONE,BONE",
        help="bones of the joints; elbows, knees, hips and shoulders by default",
    )
    corrector.add_argument(
        "--angles",
        type=read_angles,
        default=ANGLES,
        metavar="DEGREES,DEGREES",
        help=f"angles to bend joints by; {','.join(f'{angle:g}' for angle in ANGLES)} by default",
    )
    corrector.add_argument("--output", type=read_path, required=True, metavar="NEW.blend", help="file to save")
    add_file(corrector)


def _add_motion(commands: Any) -> None:
    mover = commands.add_parser("motion", help="compare actions frame by frame, make them loop, or join them")
    mover.add_argument("what", choices=("compare", "loop", "join"), help="what to do")
    add_file(mover)
    mover.add_argument(
        "--action",
        action="append",
        metavar="NAME",
        help="action; use twice for two actions. By default the active action of the armature",
    )
    mover.add_argument("--armature", metavar="NAME", help="armature; by default the only armature in the scene")
    mover.add_argument(
        "--pair",
        type=read_pair,
        metavar="A:B",
        help="join: frame of each action at the seam. loop: first and last frame. By default the most similar frames. "
        "Negative frames: --pair=-10:20",
    )
    mover.add_argument(
        "--blend",
        type=read_seconds,
        default=DEFAULTS.blend,
        metavar="SECONDS",
        help="length of the blend; by default as long as the motions need",
    )
    mover.add_argument("--no-hold", action="store_true", help="do not keep planted feet in place at the seam")
    mover.add_argument("--output", type=read_path, metavar="NEW.blend", help="loop and join: file to save")
    mover.add_argument("--report", choices=("text", "json"), default="text", help="report format; text by default")


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
