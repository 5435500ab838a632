"""Printing: results, and lines for workers, go to standard output; all other lines go to standard error.

Engines of farms read both, and a name in a file may imitate their lines: each line is escaped.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from ..bridge.files.render_frames import guarded_output, print_line
from ..deformers import SkinningError

# Standard output and error while a command runs: other code cannot print to them then.
_guarded: tuple[TextIO | None, TextIO | None] | None = None


@contextmanager
def guarding_output() -> Iterator[None]:
    """Let only the lines of this module reach standard output; other lines go to standard error, marked."""
    global _guarded
    with guarded_output() as _guarded:
        try:
            yield
        finally:
            _guarded = None


def _streams() -> tuple[TextIO | None, TextIO | None]:
    return _guarded or (sys.stdout, sys.stderr)


def tell(text: str) -> None:
    """Print one line to standard error."""
    _print_line(text, _streams()[1])


def tell_left_out(lines: Iterable[str]) -> bool:
    """Print a line on each object that was left out to standard error; whether there are any."""
    lines = list(lines)
    for line in lines:
        tell(f"supple: {line}")
    return bool(lines)


def _print_line(text: str, stream: TextIO | None) -> None:
    """Print one line, unless the stream is closed."""
    with suppress(OSError, ValueError):  # ValueError: the stream is closed; OSError: its reader has ended
        print_line(text, stream)


def answer(lines: Iterable[str]) -> None:
    """Print the lines of a result to standard output; SkinningError if not all of them can be written."""
    stream = _streams()[0]
    try:
        for line in lines:
            print_line(line, stream)
    except (OSError, ValueError) as error:
        with suppress(AttributeError, OSError, ValueError):  # otherwise Python flushes again at exit, and complains
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise SkinningError(f"Cannot print the result ({error}): check where standard output goes") from error


def answer_json(described: object) -> None:
    """Print a result as JSON to standard output; raises as `answer`."""
    answer(json.dumps(described, indent=2).splitlines())


def fail_openjd(text: str) -> None:
    """Print the reason of a failure for a worker of Open Job Description, which reads standard output."""
    _print_line(f"openjd_fail: {text}", _streams()[0])


# By the word of `--progress`, each called with the share that is done, 0 to 1.
PROGRESS = {
    "percent": lambda share: tell(f"Progress: {100.0 * share:.1f}%"),
    "openjd": lambda share: _print_line(f"openjd_progress: {100.0 * share:.1f}", _streams()[0]),
}
REPORT_INTERVAL = 1.0  # seconds: farms store each line in the log of a task


def report_steps(steps: Iterator[int], count: int, form: str = "percent") -> None:
    """Take steps that yield the number of `count` that are done, and print progress in a form of `PROGRESS`."""
    following = time.monotonic() + REPORT_INTERVAL
    for done in steps:
        if time.monotonic() >= following and done < count:
            PROGRESS[form](done / count)
            following = time.monotonic() + REPORT_INTERVAL
    PROGRESS[form](1.0)


def tell_shares(subject: str) -> Callable[[float], None]:
    """Make a function of the share that is done, which prints each tenth of the subject to standard error."""
    told = 0

    def progress(share: float) -> None:
        nonlocal told
        if int(10.0 * share) > told:
            tell(f"supple: {round(100.0 * share)} % of {subject}")
            told = int(10.0 * share)

    return progress
