"""Bakes to PC2 point caches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

import bpy

from ...bridge.files import open_replacing
from ...bridge.point_caches import CacheHeader, write_sample
from .posed_frames import check_bakeable, posed_frames, without_baked_keys


def bake_cache(obj: bpy.types.Object, scene: bpy.types.Scene, path: Path, frames: range) -> Iterator[int]:
    """Write a PC2 file, frame by frame, and yield how many frames are done.

    The file appears under its name only when it is whole. The same frames give the same bytes, in one run or several.

    Raises
    ------
    SkinningError
        Where the object can not be deformed, or the file not be written.
    """
    with open_replacing(path) as stream:
        yield from write_frames(stream, obj, scene, frames)


def write_frames(stream: BinaryIO, obj: bpy.types.Object, scene: bpy.types.Scene, frames: range) -> Iterator[int]:
    """Write the content of a PC2 file, frame by frame, and yield how many frames are done.

    Raises
    ------
    SkinningError
        Where the object can not be deformed.
    """
    supple = check_bakeable(obj)
    with without_baked_keys(obj), closing(posed_frames(obj, supple, scene, frames)) as posed:
        stream.write(CacheHeader.of(len(obj.data.vertices), frames).pack())
        for done, (_, points) in enumerate(posed, start=1):
            write_sample(stream, points)
            yield done
