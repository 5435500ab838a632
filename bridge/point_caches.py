"""PC2 point cache files, which Blender's Mesh Cache modifier and most other programs read."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ..deformers.errors import SkinningError

HEADER = struct.Struct("<12siiffi")
SIGNATURE = b"POINTCACHE2\0"
VERSION = 1


@dataclass(frozen=True)
class CacheHeader:
    """Attributes: points per frame, first frame, frames from one sample to the next, samples."""

    point_count: int
    frame_start: float
    frame_step: float
    sample_count: int

    def pack(self) -> bytes:
        """The 32 bytes at the start of the file."""
        return HEADER.pack(SIGNATURE, VERSION, self.point_count, self.frame_start, self.frame_step, self.sample_count)


def read_header(stream: BinaryIO, name: str) -> CacheHeader:
    """Read the header of a PC2 file.

    Raises
    ------
    SkinningError
        Where the file is not a PC2 file of version 1.
    """
    data = stream.read(HEADER.size)
    if len(data) < HEADER.size or not data.startswith(SIGNATURE):
        raise SkinningError(f"'{name}' is not a PC2 file: choose one that Supple has baked")
    _, version, *fields = HEADER.unpack(data)
    if version != VERSION:
        raise SkinningError(f"'{name}' is PC2 version {version}, not {VERSION}: bake it again")
    return CacheHeader(*fields)


@contextmanager
def open_replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file to write that appears under its name only when it is whole; on any error nothing is left behind.

    Raises
    ------
    SkinningError
        Where the file can not be written.
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        if path.is_dir():  # reported now, not after hours
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with partial.open("wb") as stream:
            yield stream
        partial.replace(path)
    except OSError as error:
        raise SkinningError(
            f"Cannot write '{path}' ({error.strerror}): choose a folder that can be written to"
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


@contextmanager
def open_cache(path: Path) -> Iterator[tuple[CacheHeader, BinaryIO]]:
    """Open a PC2 file to read, after its header.

    Raises
    ------
    SkinningError
        Where the file can not be read, or is not a PC2 file of version 1.
    """
    try:
        stream = path.open("rb")
    except OSError as error:
        raise SkinningError(f"Cannot read '{path}' ({error.strerror}): check the path") from error
    with stream:
        yield read_header(stream, path.name), stream


def write_sample(stream: BinaryIO, points: np.ndarray) -> None:
    """Write one frame's points, shape (V, 3)."""
    stream.write(np.ascontiguousarray(points, "<f4").tobytes())


def read_samples(path: Path) -> Iterator[np.ndarray]:
    """Yield the points of each frame, float32, shape (V, 3).

    Raises
    ------
    SkinningError
        Where the file can not be read, is not a PC2 file of version 1, or ends early.
    """
    with open_cache(path) as (header, stream):
        size = header.point_count * 12
        for number in range(header.sample_count):
            data = stream.read(size)
            if len(data) < size:
                raise SkinningError(
                    f"'{path.name}' ends within frame {number + 1} of {header.sample_count}: bake it again"
                )
            yield np.frombuffer(data, "<f4").reshape(-1, 3)
