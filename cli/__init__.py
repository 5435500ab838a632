"""Headless: `blender --command supple ...`, and `main(argv)` for Python on the bpy wheel.

`arguments.py` has the commands' options, `commands.py` what they do.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import bpy

from ..deformers import SkinningError
from .arguments import USAGE, build_parser

DONE, FAILED = 0, 1


def main(argv: Sequence[str]) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str
        What follows `blender --command supple`, for instance `["info", "hero.blend", "--json"]`. The command opens its
        file in this Blender: unsaved changes are lost.

    Returns
    -------
    int
        0 done, 1 failed (the reason is on stderr), 2 wrong usage.
    """
    try:
        parser = build_parser()
        arguments = parser.parse_args(list(argv))
        if getattr(arguments, "save", None) and arguments.format == "shape-keys":
            parser.error("--save goes with --format pc2: shape keys are saved to --output")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else USAGE
    try:
        arguments.run(arguments)
    except SkinningError as error:
        print(f"supple: error: {error}", file=sys.stderr)
        return FAILED
    return DONE


_command = None


def register() -> None:
    global _command
    _command = bpy.utils.register_cli_command("supple", main)


def unregister() -> None:
    global _command
    bpy.utils.unregister_cli_command(_command)
    _command = None
