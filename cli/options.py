"""What commands consist of: their arguments, those of a task's options among them, and what several commands take."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any, TypeVar

from ..deformers import METHODS, SkinningError
from ..deformers.automatic_weights import METHODS as AUTOMATIC_WEIGHTS
from ..deformers.option import Option, TaskOptions, options_of
from ..options.reading import read_path
from ..tasks.bake.made_from import Inputs
from ..tasks.subject.frames import parse_frames
from .messages import PROGRESS

WEIGHT_METHODS = {word: method.key for method in AUTOMATIC_WEIGHTS.values() for word in method.words}
"""The methods of automatic weights by their words, former ones too."""

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


@dataclass(frozen=True)
class Command:
    """A command of the command line.

    Attributes
    ----------
    run : str
        Name of the function that does it, in a module of `work.MODULES`: these need Blender.
    former : tuple of str
        Words of earlier versions, which go on working.
    """

    word: str
    help: str
    run: str
    arguments: tuple[Argument | OneOf, ...]
    former: tuple[str, ...] = ()

    def add_to(self, commands: Any) -> None:
        """Add its parser to those of other commands."""
        parser = commands.add_parser(self.word, aliases=self.former, help=self.help)
        parser.set_defaults(command=self.word, run=self.run)  # whichever word was typed
        for part in self.arguments:
            several = isinstance(part, OneOf)
            group = parser.add_mutually_exclusive_group(required=part.required) if several else parser
            for each in part.arguments if several else (part,):
                group.add_argument(*each.names, **each.settings)


def argument(*names: str, **settings: Any) -> Argument:
    return Argument(names, settings)


def argument_of(option: Option) -> Argument:
    """The argument of an option; words are keys in small letters, but for options of methods as they are."""
    settings: dict[str, Any] = {"dest": option.name, "default": option.default, "help": option.help}
    if isinstance(option.default, bool):
        settings["action"] = "store_false" if option.default else "store_true"
    elif option.items and isinstance(option.default, str):
        settings |= {"choices": tuple(map(str.lower, option.keys)), "default": option.default.lower()}
    elif option.items:
        settings |= {"choices": option.keys, "type": type(option.keys[0]), "metavar": option.metavar}
    else:
        settings |= {"type": option.read or type(option.default), "metavar": option.metavar}
    return argument(option.flag or f"--{option.name.replace('_', '-')}", **settings)


def arguments_of(kind: type[TaskOptions]) -> tuple[Argument, ...]:
    """The arguments of a task's options."""
    return tuple(argument_of(option) for option in options_of(kind) if option.help)


def read_arguments(kind: type[Chosen], arguments: argparse.Namespace, **others: Any) -> Chosen:
    """A task's options as they are given, and others that are no rows of the command line."""
    chosen = {option.name: getattr(arguments, option.name) for option in options_of(kind) if option.help}
    for option in options_of(kind):
        if option.help and isinstance(option.default, str):
            chosen[option.name] = next(key for key in option.keys if key.lower() == chosen[option.name])
    return kind(**(chosen | others))


CHOICES = {option.name: option for method in METHODS.values() for option in method.choices if option.help}
"""What methods let choose on the command line."""


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


def path(flag: str, metavar: str, help: str, **settings: Any) -> Argument:  # noqa: A002 - as argparse calls it
    return argument(flag, type=read_path, metavar=metavar, help=help, **settings)


def output(metavar: str, help: str) -> Argument:  # noqa: A002
    return path("--output", metavar, help, required=True)


def names(flag: str, help: str) -> Argument:  # noqa: A002
    return argument(flag, action="append", metavar="NAME", help=help)


def frames(start: str, otherwise: str = "those of the scene") -> Argument:
    text = f"{start}; {otherwise} if not given. Below zero: --frames=-10-20"
    return argument("--frames", type=read_frames, metavar="A-B[:STEP]", help=text)


FILE = path("file", "FILE.blend", "file to open")
NEW_FILE = output("NEW.blend", "file to save")
REPORT = argument("--report", choices=("text", "json"), default="text", help="report form; text if not given")
ALL = argument("--all", action="store_true", help="bake every mesh that is bound, or that --method can bind")
BIND_FIRST = argument("--method", choices=tuple(METHODS), help="method to bind with first; as bound if not given")
EXPECT = argument(
    "--expect",
    type=read_inputs,
    metavar="INPUTS",
    help="go on only if the file, Supple and Blender are those that a farm's job was made with",
)
SHOWN_PROGRESS = argument(
    "--progress",
    choices=tuple(PROGRESS),
    default="percent",
    help="how what is done, or why it fails, is printed: for people, or for Open Job Description, too; percent if not "
    "given",
)
CHOSEN = tuple(map(argument_of, CHOICES.values()))
"""What methods let choose."""
