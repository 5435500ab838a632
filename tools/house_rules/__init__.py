"""Rules of the source that no other tool knows; `check_house_rules.py` beside this folder checks them all."""

from __future__ import annotations

from collections.abc import Callable

from . import docstrings, layers, marks, nothing_executed, translations, words
from .sources import Source, read_product

__all__ = ["RULES", "Source", "read_product"]

RULES: tuple[Callable[[list[Source]], list[str]], ...] = (
    layers.check,
    marks.check,
    nothing_executed.check,
    docstrings.check,
    translations.check,
    words.check,
)
"""Each takes the sources of the product and returns lines "file:line: what is wrong and what to do"."""
