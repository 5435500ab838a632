"""The public names of deformers and of the bridge say what they take, in which shapes, and what they raise."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from .sources import Source

PARTS = ("deformers", "bridge")
Function = ast.FunctionDef | ast.AsyncFunctionDef

SHAPE = re.compile(r"shapes? \(|shapes? as|\([A-Za-z0-9.]+, ?(?:[A-Za-z0-9.]+(?:, )?)*\)")
"""A shape such as "shape (V, 3)" or "(V,)"."""

BARE = re.compile(r"(?:(?:list|tuple|sequence|set|iterable|iterator) of )?[A-Za-z_][\w.]*(?: or None|, optional)?")
"""A type that says no more than an annotation does."""

HEADING = re.compile(r"^(\w+)\n-{3,}\n", re.MULTILINE)


def public_definitions(tree: ast.Module) -> Iterator[tuple[str, Function | ast.ClassDef]]:
    """Yield the public functions and classes of a module, and the public methods of these classes."""
    for node in tree.body:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
            yield node.name, node
            if isinstance(node, ast.ClassDef):
                for method in node.body:
                    if isinstance(method, Function) and not method.name.startswith("_"):
                        yield f"{node.name}.{method.name}", method


def sections_of(docstring: str) -> dict[str, str]:
    """The parts of a docstring by their headings; what stands before the first is under ""."""
    pieces = HEADING.split(docstring)
    return {"": pieces[0], **dict(zip(pieces[1::2], pieces[2::2], strict=True))}


def entries_of(section: str) -> dict[str, str]:
    """What a section says of each name; `first, second : type` counts for both."""
    entries: dict[str, str] = {}
    names: list[str] = []
    for line in section.splitlines():
        if line and not line.startswith(" "):
            names = [name.strip(" *") for name in line.partition(" : ")[0].split(",")]
        for name in names:
            entries[name] = entries.get(name, "") + line + "\n"
    return entries


def parameters_of(function: Function) -> list[ast.arg]:
    given = function.args
    found = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return [argument for argument in found if argument.arg not in ("self", "cls") and not argument.arg.startswith("_")]


def is_array(argument: ast.arg) -> bool:
    return argument.annotation is not None and "ndarray" in ast.unparse(argument.annotation).partition("[")[0]


def raises_skinning_error(function: Function) -> bool:
    """Whether a function raises it itself, not in one that is defined within."""
    inner = {id(node) for part in ast.walk(function) if isinstance(part, Function) and part is not function
             for node in ast.walk(part)}  # fmt: skip
    return any(
        isinstance(node, ast.Raise) and node.exc is not None and "SkinningError(" in ast.unparse(node.exc)
        for node in ast.walk(function)
        if id(node) not in inner
    )


def bare_entries(docstring: str) -> Iterator[str]:
    """Yield the names of entries that only repeat an annotation: no shape, space, unit or rule is said of them."""
    sections = sections_of(docstring)
    for heading in ("Parameters", "Attributes"):
        for name, entry in entries_of(sections.get(heading, "")).items():
            first, *said = entry.strip().splitlines()
            kind = first.partition(" : ")[2]
            if not said and not re.search("array|callable", kind) and (not kind or BARE.fullmatch(kind)):
                yield name


def problems_of(function: Function) -> Iterator[str]:
    """Yield what is missing in the docstring of a function."""
    sections = sections_of(ast.get_docstring(function) or "")
    parameters, entries = parameters_of(function), entries_of(sections.get("Parameters", ""))
    for argument in filter(is_array, parameters):
        if not SHAPE.search(entries.get(argument.arg, "") or sections[""]):
            yield f"no shape is given for '{argument.arg}'"
    if raises_skinning_error(function) and "SkinningError" not in sections[""] + sections.get("Raises", ""):
        yield "it is not said when it raises SkinningError"


def check_source(source: Source) -> Iterator[str]:
    """Yield, by line, what is missing in the docstrings of a module."""
    if not ast.get_docstring(source.tree):
        yield f"{source.file}:1: the module has no docstring"
    for name, node in public_definitions(source.tree):
        where = f"{source.file}:{node.lineno}: {name}"
        if not ast.get_docstring(node):
            yield f"{where} has no docstring"
        elif isinstance(node, Function):
            yield from (f"{where}: {problem}" for problem in problems_of(node))
        for entry in bare_entries(ast.get_docstring(node) or ""):
            yield f"{where}: the entry '{entry}' only repeats the annotation: say its shape, space, unit or rule"


def check(sources: list[Source]) -> list[str]:
    return [found for source in sources if source.part in PARTS for found in check_source(source)]
