"""What the command line takes: its commands, their options, and which words of a user are numbers or frames."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any, NoReturn

from ..deformers import DEFAULT_METHOD, METHODS
from ..deformers.automatic_weights import METHODS as AUTOMATIC_WEIGHTS
from ..deformers.skinning.dlbnt import ORDER
from ..settings.objects import EVALUATE_ITEMS
from ..tasks.check.run import COMPARED
from ..tasks.corrections.from_source import ANGLES
from ..tasks.engine_copy.copy import TARGETS
from ..tasks.patterns.maps import SUFFIXES
from ..tasks.weights.automatic import MODES
from .commands import (
    WEIGHT_METHODS,
    bake_frames,
    bind_characters,
    compare_methods,
    correct_meshes,
    join_parts,
    make_copy,
    show_info,
    weight_meshes,
    write_patterns,
)
from .messages import tell

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
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for add_command in (
        _add_info,
        _add_bind,
        _add_bake,
        _add_patterns,
        _add_weights,
        _add_compare,
        _add_copy,
        _add_correct,
        _add_join,
    ):
        add_command(commands)
    return parser


def _add_info(commands: Any) -> None:
    info = commands.add_parser("info", help="list the characters of a file and what can be bound")
    info.add_argument("--json", action="store_true", help="print JSON")
    _add_file(info)
    info.set_defaults(run=show_info)


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
    binder.add_argument("--output", type=_path, required=True, metavar="NEW.blend", help="file to save")
    _add_choices(binder)
    _add_file(binder)
    binder.set_defaults(run=bind_characters)


def _add_bake(commands: Any) -> None:
    baker = commands.add_parser("bake", help="bake the frames of a character")
    baker.add_argument("--object", required=True, metavar="NAME", help="mesh to bake")
    baker.add_argument("--method", choices=tuple(METHODS), help="method to bind with first; as bound if not given")
    _add_frames(baker, "frames to bake")
    baker.add_argument(
        "--format", choices=("pc2", "shape-keys"), default="pc2", help="what to bake to; pc2 if not given"
    )
    baker.add_argument(
        "--output", type=_path, required=True, metavar="PATH", help="PC2 file to write; with shape keys the .blend file"
    )
    baker.add_argument(
        "--save", type=_path, metavar="NEW.blend", help="also save the .blend file, set to play the PC2 file"
    )
    _add_choices(baker)
    _add_file(baker)
    baker.set_defaults(run=bake_frames)


def _add_patterns(commands: Any) -> None:
    drawer = commands.add_parser("patterns", help="write height maps of skin patterns, one file for each frame")
    drawer.add_argument(
        "--object", metavar="NAME", help="mesh whose patterns to write; the only mesh with patterns if not given"
    )
    _add_frames(drawer, "frames to write")
    drawer.add_argument("--format", choices=tuple(SUFFIXES), default="png16", help="file format; png16 if not given")
    drawer.add_argument("--width", type=int, default=1024, metavar="PIXELS", help="width and height; 1024 if not given")
    drawer.add_argument("--output", type=_path, required=True, metavar="FOLDER", help="folder for the height maps")
    _add_file(drawer)
    drawer.set_defaults(run=write_patterns)


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
        default="solid",
        help="how weights are computed; solid if not given",
    )
    weigher.add_argument(
        "--mode",
        choices=tuple(mode.lower() for mode in MODES),
        default="replace",
        help="how new weights combine with existing ones; replace if not given",
    )
    weigher.add_argument("--mirror", action="store_true", help="same weights on both sides of the armature")
    weigher.add_argument(
        "--limit", type=_number, default=0, metavar="N", help="most bones per vertex; any if not given"
    )
    weigher.add_argument("--output", type=_path, required=True, metavar="NEW.blend", help="file to save")
    weigher.add_argument("--report", choices=("text", "json"), default="text", help="report form; text if not given")
    _add_file(weigher)
    weigher.set_defaults(run=weight_meshes)


def _add_compare(commands: Any) -> None:
    comparer = commands.add_parser("compare", help="measure what methods make of a character's joints, and find faults")
    comparer.add_argument("--object", action="append", metavar="NAME", help="mesh; all of the scene if not given")
    comparer.add_argument(
        "--methods",
        nargs="+",
        choices=tuple(METHODS),
        default=COMPARED,
        help=f"methods beside the one in use; {' '.join(COMPARED)} if not given",
    )
    _add_frames(comparer, "frames to measure", "all actions")
    comparer.add_argument(
        "--bend",
        type=_angle,
        metavar="DEGREES",
        help="bend and twist each joint so far, too; 60 if no frames are given, else not at all",
    )
    comparer.add_argument("--json", type=_path, metavar="OUT.json", help="file for all that was measured")
    comparer.add_argument("--sheet", type=_path, metavar="OUT.png", help="picture of the worst joints by each method")
    _add_file(comparer)
    comparer.set_defaults(run=compare_methods)


def _add_copy(commands: Any) -> None:
    copier = commands.add_parser("engine-copy", help="write a character for game engines, which blend linearly")
    copier.add_argument("--object", action="append", metavar="NAME", help="mesh; all that are bound if not given")
    copier.add_argument("--target", choices=tuple(TARGETS), default="gltf", help="what it is for; gltf if not given")
    copier.add_argument(
        "--tolerance", type=_length, default=0.003, metavar="LENGTH", help="as 3mm or 0.3cm; 3mm if not given"
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
        "--bend", type=_angle, default=60.0, metavar="DEGREES", help="range of motion; 60 if not given, 0 for none"
    )
    copier.add_argument("--output", type=_path, metavar="HERO.glb", help="file to write; none if not given")
    copier.add_argument("--save", type=_path, metavar="NEW.blend", help="also save the .blend file with the copy")
    copier.add_argument("--report", choices=("text", "json"), default="text", help="report form; text if not given")
    _add_file(copier)
    copier.set_defaults(run=make_copy)


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
        type=_names,
        default=(),
        metavar="BONE,BONE",
        help="bones of the joints; elbows, knees, hips and shoulders if not given",
    )
    corrector.add_argument(
        "--angles",
        type=_angles,
        default=ANGLES,
        metavar="DEGREES,DEGREES",
        help=f"how far joints are bent; {','.join(f'{angle:g}' for angle in ANGLES)} if not given",
    )
    corrector.add_argument("--output", type=_path, required=True, metavar="NEW.blend", help="file to save")
    _add_file(corrector)
    corrector.set_defaults(run=correct_meshes)


def _add_join(commands: Any) -> None:
    joiner = commands.add_parser("join", help="join PC2 files of successive frames into one")
    joiner.add_argument(
        "parts", type=_path, nargs="+", metavar="PART.pc2", help="files to join, in the order of their frames"
    )
    joiner.add_argument("--output", type=_path, required=True, metavar="WHOLE.pc2", help="file to write")
    joiner.set_defaults(run=join_parts)


def _add_file(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", type=_path, metavar="FILE.blend", help="file to open")


def _add_choices(command: argparse.ArgumentParser) -> None:
    """What methods that blend joints let choose."""
    command.add_argument("--order", choices=ORDER.keys, help="what DLBNT applies first: GH stretch, HG rotation")
    share: dict[str, Any] = {"type": float, "metavar": "0..1"}
    command.add_argument("--sharpness", help="how pointed bent joints are, with CENTERS", **share)
    command.add_argument("--bulge-limit", help="how much of what swells at bent joints is drawn back", **share)
    command.add_argument("--contact", help="how much both sides of a bent joint keep apart", **share)


def _add_frames(command: argparse.ArgumentParser, help_start: str, otherwise: str = "those of the scene") -> None:
    command.add_argument(
        "--frames",
        type=_frames,
        metavar="A-B[:STEP]",
        help=f"{help_start}; {otherwise} if not given. Below zero: --frames=-10-20",
    )


def _frames(text: str) -> tuple[int, int, int]:
    match = re.fullmatch(r"(-?\d+)(?:-(-?\d+))?(?::(\d+))?", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not a frame range: write it as 1-250 or 1-250:2")
    start, end, step = match.groups()
    return int(start), int(end or start), int(step or 1)


def _angle(text: str) -> float:
    try:
        angle = float(text)
    except ValueError:
        angle = -1.0
    if not 0.0 <= angle <= 150.0:
        raise argparse.ArgumentTypeError(f"'{text}' is not an angle: give 0 to 150 degrees")
    return angle


def _angles(text: str) -> tuple[float, ...]:
    return tuple(map(_angle, _names(text)))


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for part in text.split(",") if (name := part.strip()))


def _length(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*(mm|cm|m)?", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not a length: write it as 3mm, 0.3cm or 0.003m")
    return float(match[1]) * {"mm": 1e-3, "cm": 1e-2, "m": 1.0, None: 1.0}[match[2]]


def _path(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("a path is empty: name a file or folder")
    return Path(text)


def _number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of bones: give 0 or more")
    return int(text)


ADDED = (_add_info, _add_bind, _add_bake, _add_patterns, _add_weights, _add_compare, _add_copy, _add_correct, _add_join)
"""The commands, in the order of `--help`."""
