"""Motions from the command line: `motion`, what it takes and what it does."""

from __future__ import annotations

import argparse
import json
import re
from typing import Any

import bpy

from ..bridge.blend_files import open_file, save_copy
from ..bridge.files import check_writable
from ..bridge.images import save_picture
from ..deformers import SkinningError
from ..tasks.motion.compare import Comparison, compare_actions, find_rate
from ..tasks.motion.picture import show_table
from ..tasks.motion.report import Report
from ..tasks.motion.seams import LoopOptions, Options, join_actions, make_loop
from ..tasks.steps import take_all
from .messages import answer, tell_shares
from .options import add_file, read_path

LOOP_DEFAULTS = LoopOptions()


def add_motion(commands: Any) -> None:
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
        default=LOOP_DEFAULTS.blend,
        metavar="SECONDS",
        help="how long both motions are blended; as long as they need if not given",
    )
    mover.add_argument("--no-hold", action="store_true", help="do not hold feet that are planted at the seam")
    mover.add_argument("--in-place", action="store_true", help="loop: the body stays in its place")
    mover.add_argument(
        "--repeats",
        type=read_count,
        default=LOOP_DEFAULTS.repeats,
        metavar="N",
        help=f"loop: cycles that are played; {LOOP_DEFAULTS.repeats} if not given",
    )
    mover.add_argument("--image", type=read_path, metavar="OUT.png", help="compare: picture of the table")
    mover.add_argument("--output", type=read_path, metavar="NEW.blend", help="loop and join: file to save")
    mover.add_argument("--report", choices=("text", "json"), default="text", help="report form; text if not given")
    mover.set_defaults(run=move)


def read_pair(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(-?\d{1,7}):(-?\d{1,7})", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"'{text}' are no two frames: write them as 24:10")
    return int(match[1]), int(match[2])


def read_seconds(text: str) -> float:
    match = re.fullmatch(r"\d{1,3}(\.\d*)?|\.\d+", text)
    if match is None or float(text) > 10.0:
        raise argparse.ArgumentTypeError(f"'{text}' are no seconds: give 0 to 10")
    return float(text)


def read_count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of cycles: give 1 to 1000")
    return int(text)


def move(arguments: argparse.Namespace) -> None:
    names = arguments.action or [""]
    _check(arguments, names)
    open_file(arguments.file)
    armature, rate = find_armature(arguments.armature), find_rate(bpy.context.scene)
    if arguments.what == "compare":
        steps = compare_actions(armature, names[0], names[-1], arguments.blend, rate)
    elif arguments.what == "join":
        options = Options(arguments.blend, not arguments.no_hold)
        steps = join_actions(armature, names[0], names[1], rate, options, arguments.pair)
    else:
        loop = LoopOptions(arguments.blend, not arguments.no_hold, not arguments.in_place, arguments.repeats)
        steps = make_loop(armature, names[0], rate, loop, arguments.pair and arguments.pair[::-1])
    report: Comparison | Report = take_all(steps, tell_shares("the motion"))
    if isinstance(report, Comparison) and arguments.image:
        save_picture(show_table(report), arguments.image)
    elif isinstance(report, Report):
        save_copy(arguments.output)
    answer(json.dumps(report.as_json(), indent=2) if arguments.report == "json" else "\n".join(report.describe()))


def _check(arguments: argparse.Namespace, names: list[str]) -> None:
    """Raise SkinningError for what does not go together."""
    if arguments.what == "join" and len(names) != 2:
        raise SkinningError("Two actions are joined: give --action twice")
    if len(names) > (1 if arguments.what == "loop" else 2):
        raise SkinningError(f"{len(names)} actions are too many: give --action once for a loop, else once or twice")
    if arguments.what == "compare" and arguments.output:
        raise SkinningError("A comparison changes nothing that could be saved: leave --output out")
    if arguments.what != "compare" and not arguments.output:
        raise SkinningError("The file with the new action needs a name: give --output")
    for path in filter(None, (arguments.image, arguments.output)):
        check_writable(path)


def find_armature(name: str | None) -> bpy.types.Object:
    """The armature of a name, or the scene's only one; raises SkinningError where there is none, or several."""
    found = [obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE"]
    chosen = [obj for obj in found if name in (None, obj.name)]
    known = ", ".join(f"'{obj.name}'" for obj in found)
    if len(chosen) == 1:
        return chosen[0]
    if not found:
        raise SkinningError("The scene has no armature: there is no motion to compare")
    if name is not None:
        raise SkinningError(f"There is no armature '{name}': choose one of {known}")
    raise SkinningError(f"The scene has {len(found)} armatures: give --armature, one of {known}")
