"""Writes animated WebP files: Blender encodes each frame as a still picture, and they are put into one file here."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import bpy
import numpy as np

NO_BLEND = 0b10  # Flag of a frame: it replaces what was shown before
HAS_ANIMATION = 0b10  # Flag of a file


def write_animation(path: Path, frames: Sequence[np.ndarray], times: Sequence[int], quality: int) -> None:
    """Write an animation that repeats for ever.

    Parameters
    ----------
    frames : sequence of float arrays, shape (H, W, 3)
        Top row first, sRGB from 0 to 1. A frame that is given several times is encoded once.
    times : sequence of int, as long as `frames`
        How long each is shown, in milliseconds.
    quality : int
        From 1 to 100.
    """
    height, width = frames[0].shape[:2]
    pictures: dict[int, bytes] = {}
    for frame in frames:
        if id(frame) not in pictures:
            pictures[id(frame)] = _encode(frame, quality)
    size = _pack_24(width - 1) + _pack_24(height - 1)
    body = _chunk(b"VP8X", struct.pack("<I", HAS_ANIMATION) + size)
    body += _chunk(b"ANIM", struct.pack("<IH", 0xFFFFFFFF, 0))  # white behind the frames, without end
    for frame, time in zip(frames, times, strict=True):
        head = _pack_24(0) + _pack_24(0) + size + _pack_24(time) + bytes([NO_BLEND])
        body += _chunk(b"ANMF", head + pictures[id(frame)])
    path.write_bytes(_chunk(b"RIFF", b"WEBP" + body))
    print(f"{path}: {len(frames)} frames, {path.stat().st_size / 1000:.0f} kB", flush=True)


def _encode(frame: np.ndarray, quality: int) -> bytes:
    """The chunks of a still picture that hold its pixels."""
    height, width = frame.shape[:2]
    pixels = np.ones((height, width, 4), np.float32)
    pixels[..., :3] = np.clip(frame[::-1], 0.0, 1.0)
    image = bpy.data.images.new("Frame", width, height, alpha=False)
    image.pixels.foreach_set(pixels.ravel())
    image.file_format = "WEBP"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "frame.webp")
        image.save(filepath=str(path), quality=quality)
        data = path.read_bytes()
    bpy.data.images.remove(image)
    return b"".join(_chunk(name, body) for name, body in _read_chunks(data[12:]) if name in (b"VP8 ", b"VP8L"))


def _read_chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield name and body of each chunk."""
    start = 0
    while start < len(data):
        name, length = struct.unpack_from("<4sI", data, start)
        yield name, data[start + 8 : start + 8 + length]
        start += 8 + length + length % 2


def _chunk(name: bytes, body: bytes) -> bytes:
    return name + struct.pack("<I", len(body)) + body + bytes(len(body) % 2)


def _pack_24(value: int) -> bytes:
    return struct.pack("<I", value)[:3]
