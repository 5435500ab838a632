"""What the command line prints: results to standard output, and what a worker reads; all else to standard error.

Engines of farms read both, and names in files may be made for them: each line is escaped.
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

_guarded: tuple[TextIO | None, TextIO | None] | None = None
"""Standard output and error while a command runs, when what others print is kept from them."""


@contextmanager
def guarding_output() -> Iterator[None]:
    """Let nothing but this module's lines get to standard output, nor as it is to standard error."""
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
    """Print which objects were left out, a line on each, to standard error; whether there are any."""
    lines = list(lines)
    for line in lines:
        tell(f"supple: {line}")
    return bool(lines)


def _print_line(text: str, stream: TextIO | None) -> None:
    """Print one line; nobody may be there to read it."""
    with suppress(OSError, ValueError):  # ValueError: it is closed
        print_line(text, stream)


def answer(lines: Iterable[str]) -> None:
    """Print the lines of a result to standard output; raises SkinningError where it does not get there whole."""
    stream = _streams()[0]
    try:
        for line in lines:
            print_line(line, stream)
    except (OSError, ValueError) as error:
        with suppress(AttributeError, OSError, ValueError):  # else Python tries once more at its end, and says so
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise SkinningError(f"Cannot print the result ({error}): check where standard output goes") from error


def answer_json(described: object) -> None:
    """Print a result as JSON to standard output; raises SkinningError where it does not get there whole."""
    answer(json.dumps(described, indent=2).splitlines())


def fail_openjd(text: str) -> None:
    """Say why a task fails, to a worker of Open Job Description, which reads standard output."""
    _print_line(f"openjd_fail: {text}", _streams()[0])


PROGRESS = {
    "percent": lambda share: tell(f"Progress: {100.0 * share:.1f}%"),
    "openjd": lambda share: _print_line(f"openjd_progress: {100.0 * share:.1f}", _streams()[0]),
}
"""How the share that is done is printed, 0 to 1; each farm reads another form."""

BETWEEN_REPORTS = 1.0
"""Seconds between two lines of progress."""


def report_steps(steps: Iterator[int], count: int, form: str = "percent") -> None:
    """Go through steps that yield how many of `count` are done; print progress about each second, and at the end.

    Parameters
    ----------
    form : str
        Key of `PROGRESS`.
    """
    following = time.monotonic() + BETWEEN_REPORTS
    for done in steps:
        if time.monotonic() >= following and done < count:
            PROGRESS[form](done / count)
            following = time.monotonic() + BETWEEN_REPORTS
    PROGRESS[form](1.0)


def tell_shares(what: str) -> Callable[[float], None]:
    """What is told the share that is done, and prints each tenth of it to standard error."""
    tenths = iter(range(1, 11))
    following = next(tenths)

    def progress(share: float) -> None:
        nonlocal following
        if 10.0 * share >= following:
            tell(f"supple: {round(100.0 * share)} % of {what}")
            following = next((tenth for tenth in tenths if tenth > 10.0 * share), 11)

    return progress
