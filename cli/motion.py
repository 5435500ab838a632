"""Motions from the command line: what `motion` does."""

from __future__ import annotations

import argparse

import bpy

from ..bridge.files.blend_files import open_file, save_copy
from ..bridge.files.writing import check_writable
from ..deformers import SkinningError
from ..options import MotionOptions
from ..tasks.motion.compare import Comparison, compare_actions
from ..tasks.motion.report import Report
from ..tasks.motion.seams import join_actions, make_loop
from ..tasks.steps import take_all
from ..tasks.subject.actions import find_rate
from .messages import answer, answer_json, tell_shares
from .options import read_options


def move(arguments: argparse.Namespace) -> None:
    names = arguments.action or [""]
    _check(arguments, names)
    open_file(arguments.file)
    armature, rate = find_armature(arguments.armature), find_rate(bpy.context.scene)
    options = read_options(MotionOptions, arguments)
    if arguments.what == "compare":
        steps = compare_actions(armature, names[0], names[-1], options.blend, rate)
    elif arguments.what == "join":
        steps = join_actions(armature, names[0], names[1], rate, options, arguments.pair)
    else:
        steps = make_loop(armature, names[0], rate, options, arguments.pair and arguments.pair[::-1])
    report: Comparison | Report = take_all(steps, tell_shares("the motion"))
    if isinstance(report, Report):
        save_copy(arguments.output)
    if arguments.report == "json":
        answer_json(report.as_json())
    else:
        answer(report.describe())


def _check(arguments: argparse.Namespace, names: list[str]) -> None:
    """Raise SkinningError for what does not go together."""
    if arguments.what == "join" and len(names) != 2:
        raise SkinningError("Join needs two actions: use --action twice")
    if len(names) > (1 if arguments.what == "loop" else 2):
        raise SkinningError(f"{len(names)} actions are too many: use --action once for a loop, otherwise once or twice")
    if arguments.what == "compare" and arguments.output:
        raise SkinningError("A comparison changes nothing to save: leave out --output")
    if arguments.what != "compare" and not arguments.output:
        raise SkinningError("The file with the new action needs a name: use --output")
    if arguments.output:
        check_writable(arguments.output)


def find_armature(name: str | None) -> bpy.types.Object:
    """The armature of a name, or the scene's only one; raises SkinningError where there is none, or several."""
    found = [obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE"]
    chosen = [obj for obj in found if name in (None, obj.name)]
    known = ", ".join(f"'{obj.name}'" for obj in found)
    if len(chosen) == 1:
        return chosen[0]
    if not found:
        raise SkinningError("The scene has no armature: open a file with an animated character")
    if name is not None:
        raise SkinningError(f"There is no armature '{name}': choose one of {known}")
    raise SkinningError(f"The scene has {len(found)} armatures: use --armature with one of {known}")
