"""Values as they are written on the command line: paths, lengths, angles, names."""

from __future__ import annotations

import argparse
import math
import re
from pathlib import Path


def read_degrees(text: str) -> float:
    try:
        angle = float(text)
    except ValueError:
        angle = -1.0
    if not 0.0 <= angle <= 150.0:
        raise argparse.ArgumentTypeError(f"'{text}' is not an angle: give 0 to 150 degrees")
    return angle


def read_angle(text: str) -> float:
    """Degrees as radians."""
    return math.radians(read_degrees(text))


def read_all_degrees(text: str) -> tuple[float, ...]:
    return tuple(map(read_degrees, read_names(text)))


def read_names(text: str) -> tuple[str, ...]:
    return tuple(name for part in text.split(",") if (name := part.strip()))


def read_length(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*(mm|cm|m)?", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not a length: write it as 3mm, 0.3cm or 0.003m")
    return float(match[1]) * {"mm": 1e-3, "cm": 1e-2, "m": 1.0, None: 1.0}[match[2]]


def read_path(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("a path is empty: name a file or folder")
    return Path(text)


def read_number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of bones: give 0 or more")
    return int(text)


def read_pair(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(-?\d{1,7}):(-?\d{1,7})", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"'{text}' are no two frames: write them as 24:10")
    return int(match[1]), int(match[2])


def read_seconds(text: str) -> float:
    match = re.fullmatch(r"\d{1,3}(\.\d*)?|\.\d+", text)
    if match is None or float(text) > 10.0:
        raise argparse.ArgumentTypeError(f"'{text}' are no seconds: give 0 to 10")
    return float(text)
