"""What the open file needs beside it on another machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import bpy

TILE, NUMBER = re.compile("<UDIM>|<UVTILE>"), re.compile(r"\d+(?=\D*$)")


def find_assets() -> tuple[list[str], list[str]]:
    """Files and folders that the open file reads: libraries, and also through these images, caches, sounds, fonts.

    What is packed is left out, and what is not there.
    """
    sequences = {bpy.path.abspath(data.filepath, library=data.library) for data in _find_sequences()}
    files, folders = set(), set()
    for path in map(Path, bpy.utils.blend_paths(absolute=True, packed=False, local=False)):
        counted = TILE.search(path.name) or (NUMBER.search(path.name) if str(path) in sequences else None)
        if counted and path.parent.is_dir():
            start, end = path.name[: counted.start()], path.name[counted.end() :]
            files |= {one for one in path.parent.iterdir() if one.name.startswith(start) and one.name.endswith(end)}
        elif path.is_dir():
            folders.add(path)
        elif path.is_file():
            files.add(path)
    return sorted(map(str, files)), sorted(map(str, folders))


def _find_sequences() -> Iterator[bpy.types.Image | bpy.types.MovieClip | bpy.types.CacheFile | bpy.types.Volume]:
    """Data-blocks that read a file for each frame, of which they name one."""
    yield from (data for data in (*bpy.data.images, *bpy.data.movieclips) if data.source == "SEQUENCE")
    yield from (data for data in (*bpy.data.cache_files, *bpy.data.volumes) if data.is_sequence)
