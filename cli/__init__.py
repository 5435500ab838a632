"""Headless: `blender --command supple ...`, and `main(argv)` for Python on the bpy wheel.

`arguments.py` has the table of commands and `options.py` their arguments: wrong arguments are refused without Blender.
`commands.py` and `bakes.py` run them, and `messages.py` prints.
"""

from __future__ import annotations

import argparse
import re
import traceback
from collections.abc import Sequence

from ..deformers import SkinningError
from .arguments import USAGE, build_parser
from .messages import fail_openjd, guarding_output, tell

DONE, FAILED, LEFT_OUT, INTERRUPTED = 0, 1, 3, 130


def main(argv: Sequence[str]) -> int:
    """Run one command.

    `argv`: arguments after `blender --command supple`, such as `["info", "hero.blend", "--json"]`. The command opens
    its file in this Blender: unsaved changes are lost.

    Returns
    -------
    int
        0 done, 1 failed (the reason is on stderr), 2 wrong usage, 3 done but for objects that were left out (stderr
        names them), 130 interrupted from the keyboard.
    """
    try:
        arguments = _parse(argv)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else USAGE
    with guarding_output():
        return _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    try:
        from . import bakes, commands

        has_left_out = vars(commands).get(arguments.run, vars(bakes).get(arguments.run))(arguments)
    except SkinningError as error:
        return _fail(str(error), arguments)
    except MemoryError:
        return _fail("Not enough memory: choose a smaller --width, or a machine with more memory", arguments)
    except KeyboardInterrupt:
        tell("supple: error: Interrupted: nothing was written")
        return INTERRUPTED
    except Exception:  # noqa: BLE001 - a bug: its traceback is printed, escaped
        for line in traceback.format_exc().splitlines():
            tell(line)
        return FAILED
    return LEFT_OUT if has_left_out else DONE


def _fail(message: str, arguments: argparse.Namespace) -> int:
    from ..translations import find_code

    code = find_code(message)
    tell(f"supple: error: {message} ({code})" if code else f"supple: error: {message}")
    if getattr(arguments, "progress", "") == "openjd":
        fail_openjd(message)
    return FAILED


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = build_parser()
    for text in argv:
        if any(sign == "\0" or "\ud800" <= sign <= "\udfff" for sign in text):
            parser.error(f"'{text}' is not valid Unicode: rename the file")
        if re.fullmatch("--[a-z]+=--", text):  # Python 3.11 takes it for no value
            parser.error(f"'{text}' has no value: add a value, or leave out the option")
    arguments = parser.parse_args(list(argv))
    if getattr(arguments, "save", None) and getattr(arguments, "format", "") == "shape-keys":
        parser.error("--save needs --format pc2: shape keys are saved to --output")
    if getattr(arguments, "part", False) and (arguments.save or arguments.format != "pc2"):
        parser.error("--part needs --format pc2, without --save: join the parts first")
    return arguments


_command = None


def register() -> None:
    global _command
    import bpy

    _command = bpy.utils.register_cli_command("supple", main)


def unregister() -> None:
    global _command
    import bpy

    bpy.utils.unregister_cli_command(_command)
    _command = None
