"""Whole .blend files: opened, and saved so that a file appears under its name only when all of it is on the disk."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import bpy
import numpy as np

from ...deformers.errors import SkinningError
from .writing import open_regular, replacing

HEADER = re.compile(rb"BLENDER(?:([_-])([vV])\d{3}|17-01(v)\d{4})")
# Code and size of a block by the sign for 32 or 64 bits, up to 4.5; from 5.0 on all have 64
BLOCKS = {b"_": "4si8xi", b"-": "4si12xi", None: "4s4x8xq8x"}

ZSTD = b"\x28\xb5\x2f\xfd"
TABLE_MARK, END_MARK = b"\x5e\x2a\x4d\x18", 0x8F92EAB1
# Around the table that Blender appends to a compressed file: of the sizes of its parts, before and after
TABLE_END = struct.Struct("<IBI")

# Bytes; of a part of a megabyte it has eight
LONGEST_TABLE = 1 << 20


def open_file(path: Path) -> None:
    """Open a .blend file. Raises SkinningError if that is not possible, or its end is missing."""
    try:
        with open_regular(path) as stream:
            is_cut = find_end(stream) is False
    except FileNotFoundError as error:
        raise SkinningError(f"There is no file '{path}': check the path") from error
    except OSError as error:
        raise SkinningError(f"Cannot open '{path}' ({error.strerror}): check the path") from error
    if is_cut:
        raise SkinningError(f"Cannot open '{path}' (its end is missing): check that it is a complete .blend file")
    try:
        bpy.ops.wm.open_mainfile(filepath=str(path.resolve()), load_ui=False)
    except RuntimeError as error:
        raise SkinningError(
            f"Cannot open '{path}' ({_reason(error)}): check that it is a complete .blend file"
        ) from error


def save_copy(path: Path) -> None:
    """Save a copy of the open file, which replaces another only when it is whole.

    Blender 4.2 to 5.2 report a compressed file as saved even if the disk is full. Raises SkinningError if the file
    cannot be written, or holds data that is linked into the open one.
    """
    for linked in find_libraries(bpy.data.libraries):
        if path.exists() and linked.exists() and path.samefile(linked):
            raise SkinningError(f"Cannot write '{path}' (the open file links data from it): choose another name")
    with replacing(path) as beside:
        try:
            bpy.ops.wm.save_as_mainfile(filepath=str(beside), copy=True, check_existing=False)
            with beside.open("rb") as stream:
                reason = "" if find_end(stream) else "Blender wrote only part of it"
        except RuntimeError as error:
            reason = _reason(error)
        if reason:
            raise SkinningError(f"Cannot write '{path}' ({reason}): choose another folder, or free some space")


def save_file() -> None:
    """Save the open file under its name, as Blender's own Save does. Raises SkinningError if it cannot be written."""
    try:
        bpy.ops.wm.save_mainfile(check_existing=False)
    except RuntimeError as error:
        raise SkinningError(f"Cannot write '{bpy.data.filepath}' ({_reason(error)}): save it elsewhere") from error


def find_libraries(libraries: Iterable[bpy.types.Library]) -> Iterator[Path]:
    """The files that libraries of the open file are, but for those that are packed into it."""
    for library in libraries:
        if library.packed_file is None and not getattr(library, "is_archive", False):
            yield locate(library.filepath)  # Blender makes all relative to the open file


def find_uses() -> dict[bpy.types.ID, set[bpy.types.ID]]:
    """The data-blocks that each data-block of the file refers to directly."""
    uses: dict[bpy.types.ID, set[bpy.types.ID]] = {}
    for data, users in cast(Any, bpy.data).user_map().items():  # each argument may be left out
        for user in users:
            uses.setdefault(user, set()).add(data)
    return uses


def find_used() -> set[bpy.types.ID]:
    """The data-blocks that scenes use, by any way, but for brushes: a window links those from files of Blender's."""
    uses, found = find_uses(), set()
    following: set[bpy.types.ID] = set(bpy.data.scenes)
    while following:
        data = following.pop()
        if data.id_type != "BRUSH":
            found.add(data)
            following |= uses.get(data, set()) - found
    return found


def locate(path: str, library: bpy.types.Library | None = None) -> Path:
    """Resolve a path of Blender's; paths in a library's data are relative to the library."""
    return Path(bpy.path.native_pathsep(bpy.path.abspath(path, library=library)))


def _reason(error: RuntimeError) -> str:
    return " ".join(str(error).removeprefix("Error:").split())


def find_end(stream: BinaryIO) -> bool | None:
    """Whether a .blend file is complete; None if only Blender can tell, as with other compression."""
    size = os.fstat(stream.fileno()).st_size
    start = stream.read(17)
    if header := HEADER.match(start):
        return _find_last_block(stream, size, header)
    return _find_last_part(stream, size) if start.startswith(ZSTD) else None


def _find_last_block(stream: BinaryIO, size: int, header: re.Match[bytes]) -> bool:
    block = struct.Struct((">" if header[2] == b"V" else "<") + BLOCKS[header[1]])
    position, code = header.end(), b""
    while code != b"ENDB":
        stream.seek(position)
        data = stream.read(block.size)
        if len(data) < block.size:
            return False
        code, length = block.unpack(data)[:2]
        if length < 0:
            return False
        position += block.size + length
    return position <= size


def _find_last_part(stream: BinaryIO, size: int) -> bool | None:
    """Whether the parts of a compressed file are as long as the table at its end says; None if there is none."""
    stream.seek(max(0, size - LONGEST_TABLE))
    data = stream.read()
    if len(data) < TABLE_END.size:
        return False
    count, has_checksums, mark = TABLE_END.unpack(data[-TABLE_END.size :])
    if mark != END_MARK or has_checksums:
        return False if TABLE_MARK in data else None
    length = 8 + 8 * count + TABLE_END.size
    table = data[-length : -TABLE_END.size]
    if len(table) < 8 + 8 * count or not table.startswith(TABLE_MARK):
        return False
    sizes = np.frombuffer(table, "<u4")
    return bool(sizes[1] == length - 8 and sizes[2::2].sum(dtype=np.int64) == size - length)
