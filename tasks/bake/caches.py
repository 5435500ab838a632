"""Bakes to PC2 point caches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import bpy

from ...bridge.files import open_replacing
from ...bridge.point_caches import CacheHeader, Writer, write_sample
from .posed_frames import check_bakeable, posed_frames


def bake_cache(obj: bpy.types.Object, scene: bpy.types.Scene, path: Path, frames: range) -> Iterator[int]:
    """Write a PC2 file, frame by frame, and yield how many frames are done.

    The file appears under its name only when it is whole. The same frames give the same bytes, in one run or several.

    Raises
    ------
    SkinningError
        Where the object can not be deformed, or the file not be written.
    """
    with open_replacing(path) as stream:
        yield from write_caches({obj: stream}, scene, frames)


def write_caches(streams: Mapping[bpy.types.Object, Writer], scene: bpy.types.Scene, frames: range) -> Iterator[int]:
    """Write the content of a PC2 file for each object, going through the frames once; yield how many are done.

    Each object gets the same bytes as if it were baked alone.

    Raises
    ------
    SkinningError
        Where an object can not be deformed.
    """
    for obj in streams:
        check_bakeable(obj)
    with closing(posed_frames(list(streams), scene, frames)) as posed:
        for obj, stream in streams.items():
            stream.write(CacheHeader.of(len(obj.data.vertices), frames).pack())
        for done, (_, points) in enumerate(posed, start=1):
            for stream, own in zip(streams.values(), points, strict=True):
                write_sample(stream, own)
            yield done
