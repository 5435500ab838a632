"""Write PNG files with NumPy alone."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np


def write_png(path: Path, pixels: np.ndarray, palette: np.ndarray | None = None) -> None:
    """Write pixels, uint8, top row first: colors (H, W, 3), or indices (H, W) of the colors of a palette (N, 3)."""
    height, width = pixels.shape[:2]
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2 if palette is None else 3, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b"")]
    if palette is not None:
        chunks.insert(1, (b"PLTE", palette.tobytes()))
    parts = (
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))


def as_bytes(colors: np.ndarray) -> np.ndarray:
    """Round colors from 0 to 1 to uint8."""
    return np.rint(255.0 * np.clip(colors, 0.0, 1.0)).astype(np.uint8)
