"""PC2 point cache files, which Blender's Mesh Cache modifier and most other programs read."""

from __future__ import annotations

import hashlib
import math
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np

from ...deformers.errors import SkinningError
from .writing import open_regular, open_replacing

HEADER = struct.Struct("<12siiffi")
SIGNATURE = b"POINTCACHE2\0"
VERSION = 1
CHANGED = "The parts were changed while they were joined: join them again"
MOST_SAMPLES = 2**31 - 1


@dataclass(frozen=True)
class CacheHeader:
    """Attributes: points per frame, first frame, frames from one sample to the next, samples."""

    point_count: int
    frame_start: float
    frame_step: float
    sample_count: int

    @classmethod
    def of(cls, point_count: int, frames: range) -> CacheHeader:
        """The header of a file with one sample for each of these frames."""
        return cls(point_count, frames.start, frames.step, len(frames))

    @property
    def frame_end(self) -> float:
        """Last frame."""
        return self.frame_start + (self.sample_count - 1) * self.frame_step

    def pack(self) -> bytes:
        """The 32 bytes at the start of the file."""
        return HEADER.pack(SIGNATURE, VERSION, self.point_count, self.frame_start, self.frame_step, self.sample_count)

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return HEADER.size + self.sample_count * self.point_count * 12


@dataclass(frozen=True)
class Piece:
    """Samples of a PC2 file that become part of another, and the SHA-256 of the file: "" for all of an unknown one."""

    path: Path
    samples: range
    sha256: str = ""


class DamagedError(SkinningError):
    """A PC2 file has changed since it was written."""


class Writer(Protocol):
    """A stream for samples."""

    def write(self, data: bytes, /) -> object:
        """Take the next bytes."""


class HashedStream:
    """A file written from start to end, with its size and digest."""

    def __init__(self, stream: Writer) -> None:
        self._stream = stream
        self._digest = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> None:
        """Write the next bytes."""
        self._stream.write(data)
        self._digest.update(data)
        self.size += len(data)

    @property
    def sha256(self) -> str:
        """Digest of the written bytes, 64 hexadecimal digits."""
        return self._digest.hexdigest()


def _read_header(stream: BinaryIO, name: str) -> CacheHeader:
    """Read the header of a PC2 file, and compare it with the file's size: all that it announces is there."""
    data = stream.read(HEADER.size)
    if len(data) < HEADER.size or not data.startswith(SIGNATURE):
        raise SkinningError(f"'{name}' is not a PC2 file: choose a file baked by Supple")
    _, version, *fields = HEADER.unpack(data)
    if version != VERSION:
        raise SkinningError(f"'{name}' is PC2 version {version}, not {VERSION}: bake it again")
    header = CacheHeader(*fields)
    if header.point_count < 1 or header.sample_count < 1:
        raise SkinningError(
            f"'{name}' has {header.point_count} points and {header.sample_count} frames, but needs at least 1 of "
            "each: bake it again"
        )
    if not (math.isfinite(header.frame_start) and 0 < header.frame_step < math.inf):
        raise SkinningError(
            f"'{name}' starts at frame {header.frame_start:g} with a frame step of {header.frame_step:g}: bake it again"
        )
    surplus = os.fstat(stream.fileno()).st_size - header.size
    if surplus < 0:
        last = header.sample_count + surplus // (header.point_count * 12) + 1
        raise SkinningError(f"'{name}' ends inside frame {last} of {header.sample_count}: bake it again")
    if surplus > 0:
        raise SkinningError(f"'{name}' has {surplus:,} extra bytes after its last frame: bake it again")
    return header


@contextmanager
def open_cache(path: Path) -> Iterator[tuple[CacheHeader, BinaryIO]]:
    """Open a PC2 file to read, after its header.

    Raises SkinningError if the file cannot be read, or is not a whole PC2 file of version 1.
    """
    try:
        with open_regular(path) as stream:
            yield _read_header(stream, path.name), stream
    except OSError as error:
        raise SkinningError(f"Cannot read '{path}' ({error.strerror}): check the path") from error


def write_sample(stream: Writer, points: np.ndarray) -> None:
    """Write one frame's points, shape (V, 3)."""
    stream.write(np.ascontiguousarray(points, "<f4").tobytes())


def _read_data(path: Path, header: CacheHeader, stream: BinaryIO) -> Iterator[bytes]:
    for number in range(header.sample_count):
        data = stream.read(header.point_count * 12)
        if len(data) < header.point_count * 12:
            raise SkinningError(f"'{path.name}' ends inside frame {number + 1}: it was truncated while being read")
        yield data


def join_caches(parts: Sequence[Path], path: Path) -> None:
    """Join PC2 files of successive frame ranges into one: the same bytes as one bake of the whole range.

    Raises SkinningError if they do not follow on each other, or cannot be read or written.
    """
    headers = []
    for part in parts:
        with open_cache(part) as (header, _):
            headers.append(header)
    first, expected = headers[0], headers[0].frame_start
    for part, header in zip(parts, headers, strict=True):
        if (header.point_count, header.frame_step) != (first.point_count, first.frame_step):
            raise SkinningError(f"'{part.name}' differs in points or frame step from '{parts[0].name}': bake it again")
        if header.frame_start != expected:
            raise SkinningError(
                f"'{part.name}' starts at frame {header.frame_start:g}, not {expected:g}: list all parts in order"
            )
        expected += header.sample_count * header.frame_step
    whole = replace(first, sample_count=sum(header.sample_count for header in headers))
    if whole.sample_count > MOST_SAMPLES:
        raise SkinningError(f"A PC2 file cannot contain {whole.sample_count:,} frames: join fewer parts")
    join_pieces(
        [Piece(part, range(header.sample_count)) for part, header in zip(parts, headers, strict=True)], whole, path
    )


def join_pieces(pieces: Sequence[Piece], whole: CacheHeader, path: Path) -> HashedStream:
    """Write samples of PC2 files, in order, into one of a given header; one sample at a time is in memory.

    Parameters
    ----------
    whole : CacheHeader
        Of the file to write.
    path : Path
        Where it is written.

    Returns
    -------
    HashedStream
        Size and SHA-256 of the file.

    Raises
    ------
    SkinningError
        If one cannot be read or written; DamagedError if it is not what its piece says.
    """
    with open_replacing(path) as stream:
        hashed = HashedStream(stream)
        hashed.write(whole.pack())
        for piece in pieces:
            for data in _read_piece(piece):
                hashed.write(data)
        if hashed.size != whole.size:
            raise SkinningError(CHANGED)
    return hashed


def _read_piece(piece: Piece) -> Iterator[bytes]:
    """Yield the samples of a piece; raises DamagedError at the end of a file that does not match the piece."""
    with open_cache(piece.path) as (header, stream):
        if not piece.sha256 and len(piece.samples) != header.sample_count:
            raise SkinningError(CHANGED)
        digest = hashlib.sha256(header.pack())
        for number, data in enumerate(_read_data(piece.path, header, stream)):
            digest.update(data)
            if number in piece.samples:
                yield data
    if piece.sha256 not in ("", digest.hexdigest()):
        raise DamagedError(f"'{piece.path.name}' has changed since it was baked: bake it again")
