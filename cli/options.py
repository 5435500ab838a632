"""What options take: files, frames, lengths, and the words for them."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from ..deformers import SkinningError
from ..deformers.automatic_weights import METHODS as AUTOMATIC_WEIGHTS
from ..deformers.skinning.dlbnt import ORDER
from ..tasks.bake.made_from import Inputs
from ..tasks.subject.frames import parse_frames
from .messages import PROGRESS

CHOICES = ("method", "order", "sharpness", "bulge_limit", "contact")
"""Options that say by what and how a mesh is bound."""

WEIGHT_METHODS = {word: method.key for method in AUTOMATIC_WEIGHTS.values() for word in method.words}
"""The methods of automatic weights by their words, former ones too."""


def add_file(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", type=read_path, metavar="FILE.blend", help="file to open")


def add_choices(command: argparse.ArgumentParser) -> None:
    """What methods that blend joints let choose."""
    command.add_argument(
        "--order", choices=ORDER.keys, help="what DLBNT applies first: GH for stretch, HG for rotation"
    )
    share: dict[str, Any] = {"type": float, "metavar": "0..1"}
    command.add_argument("--sharpness", help="how sharply joints bend, with CENTERS", **share)
    command.add_argument("--bulge-limit", help="how far to pull back skin that bulges at bent joints", **share)
    command.add_argument("--contact", help="how strongly contact keeps both sides of a bent joint apart", **share)


def words_of_choices(arguments: argparse.Namespace) -> tuple[str, ...]:
    """The method and its choices that are given, as they were written: `("--method", "DLBNT", "--order", "HG")`."""
    given = {name: getattr(arguments, name) for name in CHOICES if getattr(arguments, name) is not None}
    return tuple(word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", str(value)))


def add_frames(command: argparse.ArgumentParser, help_start: str, otherwise: str = "frames of the scene") -> None:
    command.add_argument(
        "--frames",
        type=read_frames,
        metavar="A-B[:STEP]",
        help=f"{help_start}; {otherwise} by default. Negative frames: --frames=-10-20",
    )


def add_expect(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--expect",
        type=read_inputs,
        metavar="INPUTS",
        help="continue only if the file, Supple and Blender match those of the farm job",
    )


def add_progress(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--progress",
        choices=tuple(PROGRESS),
        default="percent",
        help="format of progress and errors, openjd for Open Job Description; percent by default",
    )


def read_frames(text: str) -> tuple[range, ...]:
    try:
        return parse_frames(text)
    except SkinningError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def read_inputs(text: str) -> Inputs:
    try:
        return Inputs.parse(text)
    except SkinningError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def read_angle(text: str) -> float:
    try:
        angle = float(text)
    except ValueError:
        angle = -1.0
    if not 0.0 <= angle <= 150.0:
        raise argparse.ArgumentTypeError(f"'{text}' is not an angle: use 0 to 150 degrees")
    return angle


def read_angles(text: str) -> tuple[float, ...]:
    return tuple(map(read_angle, read_names(text)))


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
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of bones: use 0 or more")
    return int(text)


def read_pair(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(-?\d{1,7}):(-?\d{1,7})", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not a pair of frames: write 24:10")
    return int(match[1]), int(match[2])


def read_seconds(text: str) -> float:
    match = re.fullmatch(r"\d{1,3}(\.\d*)?|\.\d+", text)
    if match is None or float(text) > 10.0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds: use 0 to 10")
    return float(text)
