"""Bakes from the command line: `bake`, `join` and `apply`, what they take and what they do."""

from __future__ import annotations

import argparse
import os
from typing import Any

import bpy

from ..bridge.blend_files import open_file, save_copy
from ..bridge.files import check_writable, open_replacing
from ..bridge.point_caches import join_caches
from ..deformers import METHODS, SkinningError
from ..settings.objects import settings_of
from ..tasks.bake.apply import apply_caches
from ..tasks.bake.caches import write_caches
from ..tasks.bake.joining import join_parts
from ..tasks.bake.shape_keys import bake_shape_keys
from ..tasks.farm.commands import RENDER_SCRIPT
from ..tasks.frames import all_frames, describe_frames
from ..tasks.skin.baked import show_cache
from ..tasks.skin.bind import bind
from .commands import choose_frames, choose_settings, find_object, report_particles, run_frames
from .messages import answer, tell
from .options import add_choices, add_expect, add_file, add_frames, read_path


def add_bake(commands: Any) -> None:
    baker = commands.add_parser("bake", help="bake the frames of a character")
    baker.add_argument("--object", required=True, metavar="NAME", help="mesh to bake")
    baker.add_argument("--method", choices=tuple(METHODS), help="method to bind with first; as bound if not given")
    add_frames(baker, "frames to bake")
    baker.add_argument(
        "--format", choices=("pc2", "shape-keys"), default="pc2", help="what to bake to; pc2 if not given"
    )
    baker.add_argument(
        "--output",
        type=read_path,
        required=True,
        metavar="PATH",
        help="PC2 file to write; with shape keys the .blend file",
    )
    baker.add_argument(
        "--save", type=read_path, metavar="NEW.blend", help="also save the .blend file, set to play the PC2 file"
    )
    add_choices(baker)
    add_file(baker)
    baker.set_defaults(run=bake_frames)


def add_join(commands: Any) -> None:
    joiner = commands.add_parser("join", help="join PC2 files of successive frames into one")
    joiner.add_argument(
        "parts",
        type=read_path,
        nargs="+",
        metavar="PART.pc2",
        help="files to join, in the order of their frames; or one folder of parts, as bake --part writes them",
    )
    add_frames(joiner, "frames to join from a folder", "an error")
    add_expect(joiner)
    joiner.add_argument(
        "--output", type=read_path, required=True, metavar="PATH", help="PC2 file to write; from a folder, a folder"
    )
    joiner.set_defaults(run=join_files)


def add_apply(commands: Any) -> None:
    applier = commands.add_parser("apply", help="have a file play baked point caches, so that it needs no Supple")
    applier.add_argument(
        "--cache", type=read_path, required=True, metavar="FOLDER", help="folder of PC2 files with their JSON files"
    )
    applier.add_argument(
        "--object", action="append", metavar="NAME", help="mesh to play its cache; all that have one if not given"
    )
    applier.add_argument("--output", type=read_path, required=True, metavar="NEW.blend", help="file to save")
    applier.add_argument(
        "--render-script",
        type=read_path,
        metavar="SCRIPT",
        help="also write what renders single frames of NEW.blend in a Blender without Supple",
    )
    add_file(applier)
    applier.set_defaults(run=apply_bakes)


def bake_frames(arguments: argparse.Namespace) -> None:
    _check_outputs(arguments)
    open_file(arguments.file)
    scene, obj = bpy.context.scene, find_object(arguments.object)
    frames = choose_frames(scene, arguments.frames)
    choose_settings([obj], arguments)
    if arguments.method:
        bind([obj], arguments.method)
        report_particles([obj])
    elif not settings_of(obj).is_bound:
        raise SkinningError(f"'{obj.name}' is not bound: give --method to bind it for this bake")
    if arguments.format == "shape-keys":
        listed = all_frames(frames)
        run_frames(bake_shape_keys(obj, scene, listed), len(listed))
        save_copy(arguments.output)
        return
    chosen, *others = frames
    if others:
        raise SkinningError(f"A PC2 file holds one range of frames, not {describe_frames(frames)}: bake each by itself")
    with open_replacing(arguments.output) as stream:
        run_frames(write_caches({obj: stream}, scene, chosen), len(chosen))
        if arguments.save:  # before the PC2 file is there: both are, or none
            show_cache(obj, arguments.output.resolve(), chosen)
            save_copy(arguments.save)


def _check_outputs(arguments: argparse.Namespace) -> None:
    """Raise SkinningError where a bake can not be written, or would take the place of what it is made from or for."""
    for path in filter(None, (arguments.output, arguments.save)):
        check_writable(path)
    others = [] if arguments.format == "shape-keys" else filter(None, (arguments.file, arguments.save))
    for path in others:
        if os.path.realpath(path) == os.path.realpath(arguments.output):
            raise SkinningError(f"'{path}' is a .blend file, and the bake would replace it: choose another --output")


def join_files(arguments: argparse.Namespace) -> None:
    first, *others = arguments.parts
    if arguments.frames and not others:
        for part in join_parts(first, arguments.frames, arguments.output, arguments.expect):
            tell(f"supple: {part.cache_in(arguments.output)}: {len(part.frames)} frames of {part.points:,} points")
    elif arguments.frames or arguments.expect or first.is_dir():
        raise SkinningError(
            "A folder of parts is joined by itself, with --frames: give both, or PC2 files without them"
        )
    else:
        join_caches(arguments.parts, arguments.output)


def apply_bakes(arguments: argparse.Namespace) -> None:
    for path in filter(None, (arguments.output, arguments.render_script)):
        check_writable(path)
    open_file(arguments.file)
    applied = apply_caches(arguments.object, arguments.cache)
    if arguments.render_script:
        with open_replacing(arguments.render_script) as stream:
            stream.write(RENDER_SCRIPT.read_bytes())
            save_copy(arguments.output)
    else:
        save_copy(arguments.output)
    for line in applied.describe_missing():
        tell(f"supple: {line}")
    answer("\n".join(applied.describe()))
