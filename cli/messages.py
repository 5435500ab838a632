"""What the command line prints: results to standard output, all else to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress

from ..deformers import SkinningError


def tell(text: str) -> None:
    """Print one line to standard error, without characters that would break it; nobody may be there to read it."""
    line = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
    if sys.stderr is not None:
        with suppress(OSError, ValueError):  # ValueError: it is closed
            print(line, file=sys.stderr, flush=True)


def answer(text: str) -> None:
    """Print a result to standard output; raises SkinningError where it does not get there whole."""
    try:
        print(text, flush=True)
    except (OSError, ValueError) as error:
        with suppress(OSError, ValueError):  # else Python tries once more at its end, and says so
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SkinningError(f"Cannot print the result ({error}): check where standard output goes") from error


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
