"""The parts of commands: arguments, those of a task's options among them, and readers of their values."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..deformers import METHODS, SkinningError
from ..deformers.option import Option
from ..options import TaskOptions, rows_of
from ..tasks.subject.frames import parse_frames

_ALL = [option for method in METHODS.values() for option in method.choices if option.help]
# Choices of methods, those of single methods first: the files of baked parts list them in this order.
CHOICES = {option.name: option for option in sorted(_ALL, key=_ALL.count)}


class Argument:
    """Names and settings of an argument, as for `add_argument`."""

    def __init__(self, *names: str, **settings: Any) -> None:
        self.names, self.settings = names, settings


@dataclass(frozen=True)
class OneOf:
    """Arguments that exclude each other; one is needed if `required`."""

    arguments: tuple[Argument, ...]
    required: bool = False


class Command:
    """A command: its word, its line of `--help`, the name of its function, and its arguments.

    The function is in `commands` or `bakes`, which need Blender. `former` is a word of earlier versions.
    """

    def __init__(self, word: str, help: str, run: str, *arguments: Argument | OneOf, former: str = "") -> None:  # noqa: A002
        self.word, self.help, self.run, self.arguments, self.former = word, help, run, arguments, former

    def add_to(self, commands: Any) -> None:
        """Add its parser to those of other commands."""
        parser = commands.add_parser(self.word, aliases=[self.former] * bool(self.former), help=self.help)
        parser.set_defaults(command=self.word, run=self.run)  # whichever word was typed
        for part in self.arguments:
            one_of = isinstance(part, OneOf)
            group = parser.add_mutually_exclusive_group(required=part.required) if one_of else parser
            for argument in part.arguments if one_of else (part,):
                group.add_argument(*argument.names, **argument.settings)


def take_option(option: Option) -> Argument:
    settings: dict[str, Any] = {"dest": option.name, "default": option.default, "help": option.help}
    if isinstance(option.default, bool):
        settings["action"] = "store_false" if option.default else "store_true"
    elif option.items:
        default = next((word for word, key in option.words.items() if key == option.default), None)
        settings |= {"choices": tuple(option.words), "default": default, "metavar": option.metavar}
    else:
        settings |= {"type": option.read or type(option.default), "metavar": option.metavar}
    return Argument(option.flag or f"--{option.name.replace('_', '-')}", **settings)


def take_options(kind: type[TaskOptions]) -> list[Argument]:
    """The arguments of a task's options."""
    return [take_option(option) for option in rows_of(kind) if option.help]


def take_path(flag: str, metavar: str, text: str, **settings: Any) -> Argument:
    return Argument(flag, type=read_path, metavar=metavar, help=text, **settings)


def take_names(flag: str, text: str) -> Argument:
    return Argument(flag, action="append", metavar="NAME", help=text)


def take_frames(text: str, otherwise: str = "frames of the scene") -> Argument:
    text = f"{text}; {otherwise} if not given. Below zero: --frames=-10-20"
    return Argument("--frames", type=refusing(parse_frames), metavar="A-B[:STEP]", help=text)


def read_options(kind: type[TaskOptions], arguments: argparse.Namespace) -> dict[str, Any]:
    """The options of a task as they are written, by name."""
    return {option.name: getattr(arguments, option.name) for option in rows_of(kind) if option.help}


def words_of_choices(arguments: argparse.Namespace) -> tuple[str, ...]:
    """The given method and choices, as they were written: `("--method", "DLBNT", "--order", "HG")`."""
    given = {name: value for name in ("method", *CHOICES) if (value := getattr(arguments, name)) is not None}
    return tuple(word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", str(value)))


def refusing(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """A reader for argparse: it reports what the given reader raises as wrong usage."""

    def read_argument(text: str) -> Any:
        try:
            return read(text)
        except SkinningError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return read_argument


def read_degrees(text: str) -> float:
    try:
        angle = float(text)
    except ValueError:
        angle = -1.0
    if not 0.0 <= angle <= 150.0:
        raise argparse.ArgumentTypeError(f"'{text}' is not an angle: use 0 to 150 degrees")
    return angle


def read_angle(text: str) -> float:
    """Degrees as radians."""
    return math.radians(read_degrees(text))


def read_list_of_degrees(text: str) -> tuple[float, ...]:
    return tuple(map(read_degrees, read_names(text)))


def read_names(text: str) -> tuple[str, ...]:
    return tuple(name for part in text.split(",") if (name := part.strip()))


def read_path(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("a path is empty: name a file or folder")
    return Path(text)


def read_pair(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(-?\d{1,7}):(-?\d{1,7})", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not a pair of frames: write 24:10")
    return int(match[1]), int(match[2])
