"""The inputs of a bake: the open file, and the files that it reads."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator
from pathlib import Path

import bpy

from ...bridge.files.blend_files import find_libraries, find_used, locate, open_file
from ...bridge.files.writing import digest_file
from ...bridge.modifiers import is_supple_modifier
from ...deformers import SkinningError
from ..manifest import read_manifest
from .made_from import Inputs


def open_with_inputs(path: Path, expected: Inputs | None = None) -> Inputs:
    """Open a .blend file to bake it.

    Raises SkinningError if it cannot be opened, changes meanwhile, lacks a library, or is not what is expected.
    """
    if expected is not None:  # before hours of opening
        Inputs(read_manifest()["version"], _read_blender_version(), expected.file).check(expected)
    before = _digest(path)
    open_file(path)
    if _digest(path) != before:
        raise SkinningError(f"'{path}' changed while it was being opened: try again when it is not being saved")
    inputs = _read_inputs(path, before)
    if expected is not None:
        inputs.check(expected)
    return inputs


def read_inputs(path: Path) -> Inputs:
    """The inputs of a bake of the open file; raises SkinningError if it or one of its libraries cannot be read.

    `path`: path at which the open file is saved, unchanged.
    """
    return _read_inputs(path, _digest(path))


def _read_inputs(path: Path, digest: str) -> Inputs:
    found: dict[Path, str] = {}
    missing: list[str] = []
    used = find_used()
    for library in find_libraries({block.library for block in used if block.library is not None}):
        found[library] = _digest(library, f", from which '{path.name}' links,")
    for cache in _find_caches(used):
        if cache.exists():
            found[cache] = _digest(cache)
        else:
            found[cache] = "missing"
            missing.append(str(cache))
    lines = [digest, *sorted(f"{read.name} {own}" for read, own in found.items())]
    whole = hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()
    return Inputs(read_manifest()["version"], _read_blender_version(), whole, tuple(missing))


def _digest(path: Path, role: str = "") -> str:
    try:
        return digest_file(path)
    except OSError as error:
        raise SkinningError(
            f"Cannot read '{path}'{role} ({error.strerror}): check that it is at this path on this machine"
        ) from error


def _read_blender_version() -> str:
    """Major and minor: releases that mend bugs compute the same."""
    return "{}.{}".format(*bpy.app.version)


# What the open file reads


def _find_caches(used: Collection[bpy.types.ID]) -> Iterator[Path]:
    """Point caches that move the used objects, except those below Supple, which are its bakes."""
    for cache in bpy.data.cache_files:
        if cache not in used:
            continue
        for path in (cache.filepath, *(layer.filepath for layer in cache.layers)):
            located = locate(path, cache.library)
            yield from _find_sequence(located) if cache.is_sequence else [located]
    for obj in bpy.data.objects:
        for modifier in obj.modifiers if obj in used else ():
            if is_supple_modifier(modifier):
                break
            if modifier.type == "MESH_CACHE" and modifier.filepath:
                yield locate(modifier.filepath, obj.library)


def _find_sequence(path: Path) -> list[Path]:
    """The files of a cache that has one for each frame: their names differ in the last number only."""
    numbered = re.compile(re.escape(path.stem.rstrip("0123456789")) + r"\d*" + re.escape(path.suffix))
    if not path.parent.is_dir():
        return [path]
    return [each for each in path.parent.iterdir() if numbered.fullmatch(each.name)] or [path]
