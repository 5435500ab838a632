"""Heights as the content of image files, made here because Blender does not report half-written files.

Arrays are heights of shape (H, W), row 0 at the bottom.
"""

from __future__ import annotations

import struct
import zlib
from typing import Literal

import numpy as np

from ...deformers.errors import SkinningError

Format = Literal["png16", "exr"]
SUFFIXES: dict[Format, str] = {"png16": ".png", "exr": ".exr"}

STEPS = 65535  # of 16 bits
BLOCK = 64  # rows of a PNG that are made at a time
CHUNK = 16  # rows that are compressed together in an EXR file


def encode_heights(values: np.ndarray, file_format: Format) -> bytes:
    """Heights as the content of a file.

    Raises SkinningError if heights are not finite.

    Parameters
    ----------
    values : ndarray, shape (H, W)
        Heights.
    file_format : str
        ``"png16"``: gray of 16 bits, clipped to 0..1 and rounded to steps of 1/65535. ``"exr"``: float32, as they are,
        alike in red, green and blue.
    """
    check_finite(values, "write a height map")
    return {"png16": _encode_png, "exr": _encode_exr}[file_format](values[::-1])


def check_finite(values: np.ndarray, action: str) -> np.ndarray:
    """The values, of any shape (...). Raises SkinningError if some are not finite."""
    wrong = np.count_nonzero(~np.isfinite(values))
    if wrong:
        raise SkinningError(
            f"Cannot {action}: {wrong} of {values.size} values are not finite numbers: repair the image"
        )
    return values


def _encode_png(values: np.ndarray) -> bytes:
    """By the specification of PNG, with each row as the difference from the one above (filter "Up")."""
    height, width = values.shape
    packer, above, packed = zlib.compressobj(), np.zeros(2 * width, np.uint8), b""
    for start in range(0, height, BLOCK):
        part = values[start : start + BLOCK]
        samples = (
            np.rint(part.clip(0, 1).astype(np.float64) * STEPS).astype(">u2").view(np.uint8).reshape(len(part), -1)
        )
        rows = np.full((len(part), 1 + 2 * width), 2, np.uint8)
        rows[:, 1:] = samples
        rows[0, 1:] -= above
        rows[1:, 1:] -= samples[:-1]
        packed, above = packed + packer.compress(rows.tobytes()), samples[-1]
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 16, 0, 0, 0, 0)),
        (b"IDAT", packed + packer.flush()),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def _encode_exr(values: np.ndarray) -> bytes:
    """By OpenEXR's file layout: a header, where each chunk of rows begins, and the chunks, compressed by "ZIP"."""
    height, width = values.shape
    window = struct.pack("<4i", 0, 0, width - 1, height - 1)
    channels = b"".join(name + b"\0" + struct.pack("<4i", 2, 0, 1, 1) for name in (b"B", b"G", b"R")) + b"\0"
    attributes = [
        (b"channels", b"chlist", channels),
        (b"compression", b"compression", b"\3"),
        (b"dataWindow", b"box2i", window),
        (b"displayWindow", b"box2i", window),
        (b"lineOrder", b"lineOrder", b"\0"),
        (b"pixelAspectRatio", b"float", struct.pack("<f", 1)),
        (b"screenWindowCenter", b"v2f", struct.pack("<2f", 0, 0)),
        (b"screenWindowWidth", b"float", struct.pack("<f", 1)),
    ]
    header = struct.pack("<2I", 20000630, 2)
    for name, kind, data in attributes:
        header += name + b"\0" + kind + b"\0" + struct.pack("<I", len(data)) + data
    header += b"\0"
    starts = range(0, height, CHUNK)
    bodies = [_encode_rows(values[start : start + CHUNK]) for start in starts]
    chunks = [struct.pack("<2i", start, len(body)) + body for start, body in zip(starts, bodies, strict=True)]
    offsets = np.cumsum([len(header) + 8 * len(chunks), *map(len, chunks[:-1])]).astype("<u8")
    return header + offsets.tobytes() + b"".join(chunks)


def _encode_rows(values: np.ndarray) -> bytes:
    """A chunk: the even bytes before the odd ones, each as the difference from the one before it, compressed."""
    plain = np.repeat(values.astype("<f4")[:, None], 3, axis=1).tobytes()
    data = np.frombuffer(plain, np.uint8)
    data = np.concatenate([data[::2], data[1::2]])
    data[1:] = data[1:] - data[:-1] + np.uint8(128)
    packed = zlib.compress(data.tobytes(), 1)
    return packed if len(packed) < len(plain) else plain
