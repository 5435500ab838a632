"""What commands consist of: their arguments, those of a task's options among them, and what several commands take."""

from __future__ import annotations

import argparse
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ..deformers import METHODS, SkinningError
from ..deformers.option import Option
from ..options import TaskOptions, rows_of
from ..tasks.bake.made_from import Inputs
from ..tasks.subject.frames import parse_frames

_ALL = [option for method in METHODS.values() for option in method.choices if option.help]
CHOICES = {option.name: option for option in sorted(_ALL, key=_ALL.count)}
"""What methods let choose on the command line, that of single methods first: baked parts keep it in this order."""

Chosen = TypeVar("Chosen", bound=TaskOptions)


@dataclass(frozen=True)
class Argument:
    """An argument of a command: what `add_argument` takes."""

    names: tuple[str, ...]
    settings: dict[str, Any]


@dataclass(frozen=True)
class OneOf:
    """Arguments of which one is given, or none unless `required`."""

    arguments: tuple[Argument, ...]
    required: bool = False


class Command:
    """A command: its word, what `--help` says, the name of the function that does it, and what it takes.

    The function is in a module of `work.MODULES`, as it needs Blender. `former` is a word of earlier versions.
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


def take(*names: str, **settings: Any) -> Argument:
    return Argument(names, settings)


def take_option(option: Option) -> Argument:
    settings: dict[str, Any] = {"dest": option.name, "default": option.default, "help": option.help}
    if isinstance(option.default, bool):
        settings["action"] = "store_false" if option.default else "store_true"
    elif option.items:
        default = next((word for word, key in option.words.items() if key == option.default), None)
        settings |= {"choices": tuple(option.words), "default": default, "metavar": option.metavar}
    else:
        settings |= {"type": option.read or type(option.default), "metavar": option.metavar}
    return take(option.flag or f"--{option.name.replace('_', '-')}", **settings)


def take_options(kind: type[TaskOptions]) -> list[Argument]:
    """The arguments of a task's options."""
    return [take_option(option) for option in rows_of(kind) if option.help]


def take_path(flag: str, metavar: str, text: str, **settings: Any) -> Argument:
    return take(flag, type=read_path, metavar=metavar, help=text, **settings)


def take_names(flag: str, text: str) -> Argument:
    return take(flag, action="append", metavar="NAME", help=text)


def take_frames(text: str, otherwise: str = "frames of the scene") -> Argument:
    text = f"{text}; {otherwise} if not given. Below zero: --frames=-10-20"
    return take("--frames", type=read_frames, metavar="A-B[:STEP]", help=text)


def read_options(kind: type[Chosen], arguments: argparse.Namespace, **others: Any) -> Chosen:
    """A task's options as they are given, and others that are no rows of the command line."""
    given = {option: getattr(arguments, option.name) for option in rows_of(kind) if option.help}
    return kind(**({option.name: option.words.get(value, value) for option, value in given.items()} | others))


def words_of_choices(arguments: argparse.Namespace) -> tuple[str, ...]:
    """The method and its choices that are given, as they were written: `("--method", "DLBNT", "--order", "HG")`."""
    given = {name: value for name in ("method", *CHOICES) if (value := getattr(arguments, name)) is not None}
    return tuple(word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", str(value)))


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
