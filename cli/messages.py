"""What the command line prints: results to standard output, and what a worker reads; all else to standard error."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TextIO

from ..deformers import SkinningError


def tell(text: str) -> None:
    """Print one line to standard error."""
    _print_line(text, sys.stderr)


def _print_line(text: str, stream: TextIO | None) -> None:
    """Print one line, without characters that would break it; nobody may be there to read it."""
    line = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
    if stream is not None:
        with suppress(OSError, ValueError):  # ValueError: it is closed
            print(line, file=stream, flush=True)


def answer(text: str) -> None:
    """Print a result to standard output; raises SkinningError where it does not get there whole."""
    try:
        print(text, flush=True)
    except (OSError, ValueError) as error:
        with suppress(OSError, ValueError):  # else Python tries once more at its end, and says so
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SkinningError(f"Cannot print the result ({error}): check where standard output goes") from error


def fail_openjd(text: str) -> None:
    """Say why a task fails, to a worker of Open Job Description, which reads standard output."""
    _print_line(f"openjd_fail: {text}", sys.stdout)


PROGRESS = {
    "percent": lambda share: tell(f"Progress: {100.0 * share:.1f}%"),
    "openjd": lambda share: _print_line(f"openjd_progress: {100.0 * share:.1f}", sys.stdout),
}
"""How the share that is done is printed, 0 to 1; each farm reads another form."""

BETWEEN_REPORTS = 1.0
"""Seconds between two lines of progress."""


def report_steps(steps: Iterator[int], count: int, form: str = "percent") -> None:
    """Go through steps that yield how many of `count` are done; print progress about each second, and at the end.

    Parameters
    ----------
    steps : iterator of int
    count : int
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

    def told(share: float) -> None:
        nonlocal following
        if 10.0 * share >= following:
            tell(f"supple: {round(100.0 * share)} % of {what}")
            following = next((tenth for tenth in tenths if tenth > 10.0 * share), 11)

    return told
