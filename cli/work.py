"""What commands do, by the names that `arguments.COMMANDS` has for it."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from . import bakes, commands, farm, fit, layers, motion, swing

MODULES = (commands, bakes, motion, swing, layers, fit, farm)


def find_work(name: str) -> Callable[[argparse.Namespace], bool | None]:
    """The function of this name in one of `MODULES`; what it returns tells whether some objects were left out."""
    return next(getattr(module, name) for module in MODULES if hasattr(module, name))
