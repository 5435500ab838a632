"""What each command does, by its word on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from .bakes import apply_bakes, bake_frames, join_files
from .commands import (
    bind_characters,
    check_character,
    correct_meshes,
    make_copy,
    show_info,
    weight_meshes,
    write_patterns,
)
from .farm import make_job
from .motion import move

WORK: dict[str, Callable[[argparse.Namespace], None]] = {
    "info": show_info,
    "bind": bind_characters,
    "bake": bake_frames,
    "patterns": write_patterns,
    "weights": weight_meshes,
    "check": check_character,
    "engine-copy": make_copy,
    "correct": correct_meshes,
    "motion": move,
    "join": join_files,
    "apply": apply_bakes,
    "farm": make_job,
}
