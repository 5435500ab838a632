"""Headless: `blender --command supple ...`, and `main(argv)` for Python on the bpy wheel."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import bpy

from .deformers import DEFAULT_METHOD, METHODS, SkinningError
from .deformers.automatic_weights import METHODS as AUTOMATIC_WEIGHTS
from .deformers.skinning.dlbnt import ORDER
from .settings.objects import EVALUATE_ITEMS, settings_of
from .tasks.character import has_armature_modifier
from .tasks.patterns.maps import SUFFIXES, write_maps
from .tasks.patterns.show import describe
from .tasks.skin import bake
from .tasks.skin.bind import bind, describe_particles
from .tasks.skin.inspect import describe_file
from .tasks.weights.automatic import MODES, Options, assign_weights

DONE, FAILED, USAGE = 0, 1, 2

WEIGHT_METHODS = {word: method.key for method in AUTOMATIC_WEIGHTS.values() for word in method.words}
"""The methods of automatic weights by their words, former ones too."""


class _Parser(argparse.ArgumentParser):
    """Reports wrong usage in the form of Supple's other messages."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        print(f"supple: error: {message}", file=sys.stderr)
        raise SystemExit(USAGE)


def main(argv: Sequence[str]) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str
        What follows `blender --command supple`, for instance `["info", "hero.blend", "--json"]`. The command opens its
        file in this Blender: unsaved changes are lost.

    Returns
    -------
    int
        0 done, 1 failed (the reason is on stderr), 2 wrong usage.
    """
    try:
        parser = _build_parser()
        arguments = parser.parse_args(list(argv))
        if getattr(arguments, "save", None) and arguments.format == "shape-keys":
            parser.error("--save goes with --format pc2: shape keys are saved to --output")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else USAGE
    try:
        arguments.run(arguments)
    except SkinningError as error:
        print(f"supple: error: {error}", file=sys.stderr)
        return FAILED
    return DONE


def _build_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="supple", description="Deform and weight characters with Supple, without a window")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for add_command in (_add_info, _add_bind, _add_bake, _add_patterns, _add_weights, _add_join):
        add_command(commands)
    return parser


def _add_info(commands: Any) -> None:
    info = commands.add_parser("info", help="list the characters of a file and what can be bound")
    info.add_argument("--json", action="store_true", help="print JSON")
    _add_file(info)
    info.set_defaults(run=_info)


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
    binder.add_argument("--output", type=Path, required=True, metavar="NEW.blend", help="file to save")
    _add_order(binder)
    _add_file(binder)
    binder.set_defaults(run=_bind)


def _add_bake(commands: Any) -> None:
    baker = commands.add_parser("bake", help="bake the frames of a character")
    baker.add_argument("--object", required=True, metavar="NAME", help="mesh to bake")
    baker.add_argument("--method", choices=tuple(METHODS), help="method to bind with first; as bound if not given")
    _add_frames(baker, "frames to bake")
    baker.add_argument(
        "--format", choices=("pc2", "shape-keys"), default="pc2", help="what to bake to; pc2 if not given"
    )
    baker.add_argument(
        "--output", type=Path, required=True, metavar="PATH", help="PC2 file to write; with shape keys the .blend file"
    )
    baker.add_argument(
        "--save", type=Path, metavar="NEW.blend", help="also save the .blend file, set to play the PC2 file"
    )
    _add_order(baker)
    _add_file(baker)
    baker.set_defaults(run=_bake)


def _add_patterns(commands: Any) -> None:
    drawer = commands.add_parser("patterns", help="write height maps of skin patterns, one file for each frame")
    drawer.add_argument(
        "--object", metavar="NAME", help="mesh whose patterns to write; the only mesh with patterns if not given"
    )
    _add_frames(drawer, "frames to write")
    drawer.add_argument("--format", choices=tuple(SUFFIXES), default="png16", help="file format; png16 if not given")
    drawer.add_argument("--width", type=int, default=1024, metavar="PIXELS", help="width and height; 1024 if not given")
    drawer.add_argument("--output", type=Path, required=True, metavar="FOLDER", help="folder for the height maps")
    _add_file(drawer)
    drawer.set_defaults(run=_patterns)


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
    weigher.add_argument("--output", type=Path, required=True, metavar="NEW.blend", help="file to save")
    weigher.add_argument("--report", choices=("text", "json"), default="text", help="report form; text if not given")
    _add_file(weigher)
    weigher.set_defaults(run=_weights)


def _add_join(commands: Any) -> None:
    joiner = commands.add_parser("join", help="join PC2 files of successive frames into one")
    joiner.add_argument(
        "parts", type=Path, nargs="+", metavar="PART.pc2", help="files to join, in the order of their frames"
    )
    joiner.add_argument("--output", type=Path, required=True, metavar="WHOLE.pc2", help="file to write")
    joiner.set_defaults(run=lambda arguments: bake.join_caches(arguments.parts, arguments.output))


def _add_file(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE.blend", help="file to open")


def _add_order(command: argparse.ArgumentParser) -> None:
    command.add_argument("--order", choices=ORDER.keys, help="what DLBNT applies first: GH stretch, HG rotation")


def _add_frames(command: argparse.ArgumentParser, help_start: str) -> None:
    command.add_argument(
        "--frames",
        type=_frames,
        metavar="A-B[:STEP]",
        help=f"{help_start}; those of the scene if not given. Below zero: --frames=-10-20",
    )


def _frames(text: str) -> tuple[int, int, int]:
    match = re.fullmatch(r"(-?\d+)(?:-(-?\d+))?(?::(\d+))?", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not a frame range: write it as 1-250 or 1-250:2")
    start, end, step = match.groups()
    return int(start), int(end or start), int(step or 1)


def _number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of bones: give 0 or more")
    return int(text)


def _open(file: str) -> None:
    """Open a .blend file; raises SkinningError where that is not possible."""
    if not Path(file).is_file():
        raise SkinningError(f"There is no file '{file}': check the path")
    try:
        bpy.ops.wm.open_mainfile(filepath=str(Path(file).resolve()), load_ui=False)
    except RuntimeError as error:
        raise SkinningError(f"Cannot open '{file}' ({_reason(error)}): is it a whole .blend file?") from error


def _save(path: Path) -> None:
    """Save the file; raises SkinningError where that is not possible."""
    if path.is_dir():
        raise SkinningError(f"Cannot write '{path}' (it is a folder): name a file, in a folder that can be written to")
    try:
        bpy.ops.wm.save_as_mainfile(filepath=str(path.resolve()), check_existing=False)
    except RuntimeError as error:
        raise SkinningError(
            f"Cannot write '{path}' ({_reason(error)}): choose a folder that can be written to"
        ) from error


def _reason(error: RuntimeError) -> str:
    return " ".join(str(error).removeprefix("Error:").split())


def _find_object(name: str) -> bpy.types.Object:
    """The object of this name, of whatever kind; raises SkinningError where there is none."""
    return bpy.data.objects.get(name) or _find_among(
        name, [obj for obj in bpy.context.scene.objects if has_armature_modifier(obj)], "has no Armature modifier"
    )


def _find_among(name: str, choice: list[bpy.types.Object], lack: str) -> bpy.types.Object:
    """The object of this name; raises SkinningError where there is none, or it lacks what the others have."""
    for obj in choice:
        if obj.name == name:
            return obj
    wrong = f"'{name}' {lack}" if name in bpy.data.objects else f"There is no object '{name}'"
    known = ", ".join(obj.name for obj in choice)
    raise SkinningError(f"{wrong}: choose one of {known}" if choice else f"{wrong}, and no other object can be chosen")


def _info(arguments: argparse.Namespace) -> None:
    _open(arguments.file)
    described = describe_file(bpy.context.scene)
    if arguments.json:
        print(json.dumps(described, indent=2))
        return
    print(f"{arguments.file}: frames {described['frame_start']}-{described['frame_end']}")
    for obj in described["objects"]:
        state = f"bound by {obj['method']}" if obj["bound"] else obj["problem"] or "can be bound"
        size = f"{obj['vertices']} vertices, {obj['deforming_bones']} bones of '{obj['armature']}'"
        patterns = f", {obj['patterns']} patterns" if obj["patterns"] else ""
        print(f"  {obj['name']}: {size}, {state}{patterns}")


def _bind(arguments: argparse.Namespace) -> None:
    _open(arguments.file)
    if arguments.object:
        objects = [_find_object(name) for name in arguments.object]
    else:
        objects = [obj for obj in bpy.context.scene.objects if has_armature_modifier(obj)]
    _choose_order(objects, arguments.order)
    bind(objects, arguments.method, arguments.evaluate)
    _report_particles(objects)
    _save(arguments.output)


def _report_particles(objects: list[bpy.types.Object]) -> None:
    """Print, to stderr, what the objects were filled with, where their method uses particles."""
    for obj in objects:
        if report := describe_particles(obj):
            print(f"supple: {obj.name}: {report}", file=sys.stderr)


def _choose_order(objects: list[bpy.types.Object], order: str | None) -> None:
    for obj in objects:
        if order is not None:
            settings_of(obj).order = order


def _bake(arguments: argparse.Namespace) -> None:
    _open(arguments.file)
    scene, obj = bpy.context.scene, _find_object(arguments.object)
    frames = _choose_frames(scene, arguments.frames)
    _choose_order([obj], arguments.order)
    if arguments.method:
        bind([obj], arguments.method)
        _report_particles([obj])
    elif not settings_of(obj).is_bound:
        raise SkinningError(f"'{obj.name}' is not bound: give --method to bind it for this bake")
    if arguments.format == "pc2":
        steps = bake.bake_cache(obj, scene, arguments.output, frames)
    else:
        steps = bake.bake_shape_keys(obj, scene, frames)
    _run(steps, len(frames))
    if arguments.format == "shape-keys":
        _save(arguments.output)
    elif arguments.save:
        bake.show_cache(obj, arguments.output.resolve())
        _save(arguments.save)


def _choose_frames(scene: bpy.types.Scene, given: tuple[int, int, int] | None) -> range:
    return bake.frame_range(*(given or (scene.frame_start, scene.frame_end, 1)))


def _run(steps: Iterator[int], count: int) -> None:
    """Go through all frames and print progress to stderr."""
    for done in steps:
        if done % 25 == 0 or done == count:
            print(f"supple: {done} of {count} frames", file=sys.stderr)


def _patterns(arguments: argparse.Namespace) -> None:
    _open(arguments.file)
    scene = bpy.context.scene
    obj = _find_patterned(arguments.object)
    frames = _choose_frames(scene, arguments.frames)
    _run(write_maps(obj, scene, frames, arguments.output, arguments.format, arguments.width), len(frames))
    if notes := " ".join(describe(obj)):
        print(f"supple: {obj.name}: {notes}", file=sys.stderr)


def _find_patterned(name: str | None) -> bpy.types.Object:
    """The mesh of this name, or the only one of the scene that has patterns."""
    found = [obj for obj in bpy.context.scene.objects if settings_of(obj).patterns]
    if not found:
        raise SkinningError("No object of the scene has patterns: add some first")
    if name is not None:
        return bpy.data.objects.get(name) or _find_among(name, found, "has no patterns")
    if len(found) > 1:
        known = ", ".join(obj.name for obj in found)
        raise SkinningError(f"{len(found)} objects have patterns: give --object, one of {known}")
    return found[0]


def _weights(arguments: argparse.Namespace) -> None:
    _open(arguments.file)
    scene = bpy.context.scene
    meshes = [obj for obj in scene.objects if obj.type == "MESH"]
    armatures = [obj for obj in scene.objects if obj.type == "ARMATURE"]
    armature = armatures[0] if len(armatures) == 1 else None
    if arguments.armature:
        armature = _find_among(arguments.armature, armatures, "is not an armature of the scene")
    if arguments.object:
        objects = [_find_among(name, meshes, "is not a mesh of the scene") for name in arguments.object]
    else:
        objects = [obj for obj in meshes if has_armature_modifier(obj)]
    _check_deformed(objects, armature)
    options = Options(
        method=WEIGHT_METHODS[arguments.method],
        mode=arguments.mode.upper(),
        mirror=arguments.mirror,
        limit=arguments.limit,
    )
    reports = assign_weights(objects, options, armature)
    _save(arguments.output)
    if arguments.report == "json":
        chosen = {"file": str(arguments.output), "method": arguments.method, "mode": arguments.mode}
        print(json.dumps(chosen | {"armatures": [report.as_json() for report in reports]}, indent=2))
        return
    for report in reports:
        print("\n".join(report.describe()))


def _check_deformed(objects: list[bpy.types.Object], armature: bpy.types.Object | None) -> None:
    """Raise SkinningError for meshes without an armature, naming the option that gives them one."""
    if not objects:
        raise SkinningError(
            "No mesh has an Armature modifier: name the meshes to weight with --object, and their armature with "
            "--armature"
        )
    for obj in objects:
        is_child = obj.parent is not None and obj.parent.type == "ARMATURE"
        if armature is None and not has_armature_modifier(obj) and not is_child:
            raise SkinningError(f"No armature deforms '{obj.name}': name one with --armature")


_command = None


def register() -> None:
    global _command
    _command = bpy.utils.register_cli_command("supple", main)


def unregister() -> None:
    global _command
    bpy.utils.unregister_cli_command(_command)
    _command = None
