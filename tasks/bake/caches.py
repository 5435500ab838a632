"""Bakes to PC2 point caches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

import bpy

from ...bridge.files.point_caches import CacheHeader, Writer, write_sample
from ...bridge.files.writing import open_replacing
from ...bridge.rigs.actions import check_remapping
from .posed_frames import check_bakeable, posed_frames


def bake_cache(obj: bpy.types.Object, scene: bpy.types.Scene, path: Path, frames: range) -> Iterator[int]:
    """Write a PC2 file, frame by frame, and yield how many frames are done; see `bake_caches`."""
    return bake_caches({obj: path}, scene, frames)


def bake_caches(paths: Mapping[bpy.types.Object, Path], scene: bpy.types.Scene, frames: range) -> Iterator[int]:
    """Write a PC2 file for each object, frame by frame, and yield how many frames are done.

    The files appear under their names only when all are whole. The same frames give the same bytes, in one run or
    several, of objects together or one by one. Raises SkinningError if an object cannot be deformed, or a file not be
    written.
    """
    with ExitStack() as files:
        yield from write_caches({obj: files.enter_context(open_replacing(paths[obj])) for obj in paths}, scene, frames)


def write_caches(streams: Mapping[bpy.types.Object, Writer], scene: bpy.types.Scene, frames: range) -> Iterator[int]:
    """Write the content of a PC2 file for each object, and yield how many frames are done.

    Raises SkinningError if an object cannot be deformed.
    """
    check_remapping(scene)
    for obj, stream in streams.items():
        check_bakeable(obj)
        stream.write(CacheHeader.of(len(obj.data.vertices), frames).pack())
    with closing(posed_frames(list(streams), scene, frames)) as posed:
        for done, _, points in posed:
            for obj, own in points.items():
                write_sample(streams[obj], own)
            yield done
