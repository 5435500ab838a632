"""Docstrings are in plain English: syntax that only its author can read stays rare, as shares of all words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from .sources import Source

# Each kind by a pattern, with the most per 1,000 words of docstrings that the product may have, and what to write
KINDS: dict[str, tuple[re.Pattern[str], float, str]] = {
    '"what ..." as a noun': (re.compile(r"\b[Ww]hat (?!is said|if)\w+"), 2.0, "name the thing"),
    '"where" for if': (
        re.compile(r"\b[Ww]here (?:it|there|they|that|this|a|the|no|one|some|these|those|files|nothing)\b"),
        2.0,
        "write if, which, or the place",
    ),
    '"from which on"': (re.compile(r"from which on|from there on"), 0.0, "name the constant MIN_ or MAX_"),
    '"is no", "can not"': (re.compile(r"\b(?:is|are|was) no\b|\bcan not\b"), 0.4, "write is not, cannot"),
    '"The same" or "Of" first': (
        re.compile(r"^(?:The same|Of (?!course))\b", re.MULTILINE),
        0.1,
        "begin with the thing itself",
    ),
}


def list_docstrings(source: Source) -> Iterator[tuple[int, str]]:
    """Line and text of every string that stands alone."""
    for node in source.nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def check(sources: list[Source]) -> list[str]:
    """All places of a kind, once there are too many for the number of words."""
    docstrings = [(source.file, line, text) for source in sources for line, text in list_docstrings(source)]
    words = sum(len(text.split()) for _, _, text in docstrings)
    found = []
    for kind, (pattern, ceiling, instead) in KINDS.items():
        places = [f"{file}:{line}" for file, line, text in docstrings for _ in pattern.findall(text)]
        if len(places) > ceiling * words / 1000:
            share = 1000 * len(places) / words
            found += [
                f"{place}: {kind}, {share:.1f} per 1,000 words where {ceiling} may be: {instead}" for place in places
            ]
    return found
