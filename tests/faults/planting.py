"""Faults: small changes of the product, named by function and tokens, so that no row of the table stands on a line."""

from __future__ import annotations

import ast
import io
import tokenize
import tomllib
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

TABLE = Path(__file__).with_name("faults.toml")
NEWEST = "5.2"
SILENT = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.COMMENT}


@dataclass(frozen=True)
class Token:
    """A token of a source: its text, and where it begins and ends, in characters from the start."""

    text: str
    start: int
    end: int


def read_tokens(source: str) -> list[Token]:
    """Tokens of a source or of a part of one, without comments, line ends and indentation."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: list[Token] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type not in SILENT:
                (line, column), (last, end) = token.start, token.end
                found.append(Token(token.string, starts[line - 1] + column, starts[last - 1] + end))
    except tokenize.TokenError:  # a part of an expression may leave a parenthesis open
        pass
    return found


def find_function(source: str, name: str) -> tuple[int, int]:
    """First and last character of a function or class, by its qualified name; "": the whole module.

    Raises ValueError where there is none.
    """
    body, node = ast.parse(source).body, None
    for part in filter(None, name.split(".")):
        inside = (found for item in body for found in ast.walk(item))
        node = next((n for n in inside if isinstance(n, ast.FunctionDef | ast.ClassDef) and n.name == part), None)
        if node is None:
            raise ValueError(f"there is no {name}")
        body = node.body
    if node is None:
        return 0, len(source)
    lines = source.splitlines(keepends=True)
    return len("".join(lines[: node.lineno - 1])), len("".join(lines[: node.end_lineno]))


@dataclass(frozen=True)
class Fault:
    """In the function `at`, "path of the module:qualified name", the tokens `find` become `becomes`.

    They are there once. The tests of the version `blender` have to find it.
    """

    name: str
    at: str
    find: str
    becomes: str = ""
    blender: str = NEWEST

    @property
    def file(self) -> str:
        """Path of the module, from the root of the checkout."""
        return self.at.partition(":")[0]

    def span(self, source: str) -> tuple[int, int]:
        """First and last character of what changes; ValueError where it is missing or not there once."""
        first, last = find_function(source, self.at.partition(":")[2])
        tokens = [token for token in read_tokens(source) if first <= token.start < last]
        wanted = [token.text for token in read_tokens(self.find)]
        texts = [token.text for token in tokens]
        places = [i for i in range(len(texts)) if texts[i : i + len(wanted)] == wanted]
        if len(places) != 1:
            raise ValueError(f"{self.name}: {self.find!r} is {len(places)} times in {self.at}")
        return tokens[places[0]].start, tokens[places[0] + len(wanted) - 1].end

    def lines(self, source: str) -> range:
        """Numbers of the lines that change."""
        start, end = self.span(source)
        return range(source.count("\n", 0, start) + 1, source.count("\n", 0, end) + 2)

    def plant(self, checkout: Path) -> None:
        """Change the module in a checkout; ValueError where it can not be."""
        path = checkout / self.file
        source = path.read_text(encoding="utf-8")
        start, end = self.span(source)
        path.write_text(source[:start] + self.becomes + source[end:], encoding="utf-8")

    def row(self) -> str:
        """The fault as a line of the table."""
        values = {"at": self.at, "find": self.find, "becomes": self.becomes}
        values |= {"blender": self.blender} if self.blender != NEWEST else {}
        return f"{self.name} = {{ {', '.join(f'{key} = {quote(value)}' for key, value in values.items())} }}"


def quote(text: str) -> str:
    """A string of TOML."""
    return f"'{text}'" if "'" not in text else f"'''{text}'''"


def read_faults(table: Path = TABLE) -> list[Fault]:
    """Those of a table."""
    return [Fault(name, **fault) for name, fault in tomllib.loads(table.read_text(encoding="utf-8")).items()]


def name_change(name: str, file: str, source: str, changed: str) -> Fault:
    """A changed source as a fault: the tokens that differ, with neighbors until they are unique in their function."""
    old, new = read_tokens(source), read_tokens(changed)
    first = len(list(takewhile(lambda pair: pair[0].text == pair[1].text, zip(old, new, strict=False))))
    behind = zip(reversed(old[first:]), reversed(new[first:]), strict=False)
    same = len(list(takewhile(lambda pair: pair[0].text == pair[1].text, behind)))
    start, end, stop = first, len(old) - same, len(new) - same
    line = source.count("\n", 0, old[min(start, len(old) - 1)].start) + 1
    function = innermost(source, line)
    low, high = find_function(source, function)
    texts = [token.text for token in old if low <= token.start < high]
    before = sum(token.start < low for token in old)
    while (
        start == end
        or sum(texts[i : i + end - start] == [t.text for t in old[start:end]] for i in range(len(texts))) > 1
    ):
        # not over the end of a line: one space would stand for it
        if start > before and "\n" not in source[old[start - 1].end : old[min(start, len(old) - 1)].start]:
            start -= 1
        elif end - before < len(texts):
            end, stop = end + 1, stop + 1
        else:
            start -= 1
    replaced = changed[new[start].start : new[stop - 1].end] if start < stop else ""
    return Fault(
        name,
        f"{file}:{function}",
        " ".join(source[old[start].start : old[end - 1].end].split()),
        " ".join(replaced.split()),
    )


def innermost(source: str, line: int) -> str:
    """Qualified name of the function or class that a line is in; "" for the module."""
    names: list[str] = []
    body: list[ast.stmt] = ast.parse(source).body
    while body:
        inside = [
            found for item in body for found in ast.walk(item) if isinstance(found, ast.FunctionDef | ast.ClassDef)
        ]
        node = next((n for n in inside if n.lineno <= line <= (n.end_lineno or 0)), None)
        if node is None:
            break
        names.append(node.name)
        body = node.body
    return ".".join(names)
