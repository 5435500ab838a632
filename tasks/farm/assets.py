"""Files that the open file needs on another machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import bpy

TILE, NUMBER = re.compile("<UDIM>|<UVTILE>"), re.compile(r"\d+(?=\D*$)")

# Files of oceans and fluids that Blender writes into a folder; other files in it do not belong to the job
CACHES = (
    *(f"{name}_*.exr" for name in ("disp", "foam", "normal", "spray")),
    *(f"{name}/*.uni" for name in ("config", "data", "guiding", "mesh", "noise", "particles")),
    *(f"{name}/*.vdb" for name in ("config", "data", "guiding", "noise", "particles")),
    *("mesh/*.bobj.gz", "mesh/*.obj"),
)


def find_assets() -> list[str]:
    """Files that the open file reads: libraries, and also through these images, caches, sounds, fonts.

    Packed and missing files are left out. A folder gives the caches in it alone, for a file may name any.
    """
    sequences = {bpy.path.abspath(data.filepath, library=data.library) for data in _find_sequences()}
    files: set[Path] = set()
    for path in map(Path, bpy.utils.blend_paths(absolute=True, packed=False, local=False)):
        counted = TILE.search(path.name) or (NUMBER.search(path.name) if str(path) in sequences else None)
        if counted and path.parent.is_dir():
            start, end = map(re.escape, (path.name[: counted.start()], path.name[counted.end() :]))
            name = re.compile(rf"{start}(\d+|u\d+_v\d+){end}")
            files |= {one for one in path.parent.iterdir() if name.fullmatch(one.name)}
        elif path.is_dir():
            files |= {file for pattern in CACHES for file in path.glob(pattern)}
        else:
            files.add(path)
    return sorted(str(path) for path in files if path.is_file())


def _find_sequences() -> Iterator[bpy.types.Image | bpy.types.MovieClip | bpy.types.CacheFile | bpy.types.Volume]:
    """Data-blocks that read a file for each frame, of which they name one."""
    yield from (data for data in (*bpy.data.images, *bpy.data.movieclips) if data.source == "SEQUENCE")
    yield from (data for data in (*bpy.data.cache_files, *bpy.data.volumes) if data.is_sequence)
