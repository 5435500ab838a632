"""The public names of deformers and of the bridge say what they take, in which shapes, and what they raise.

Read from the source, as the bridge cannot be imported without Blender.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(
    path.relative_to(ROOT).as_posix() for part in ("deformers", "bridge") for path in (ROOT / part).rglob("*.py")
)
Function = ast.FunctionDef | ast.AsyncFunctionDef

SHAPE = re.compile(r"shapes? \(|shapes? as|\([A-Za-z0-9.]+, ?(?:[A-Za-z0-9.]+(?:, )?)*\)")
"""A shape such as "shape (V, 3)" or "(V,)"."""

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


def problems_of(function: Function) -> Iterator[str]:
    """Yield what is missing in the docstring of a function."""
    sections = sections_of(ast.get_docstring(function) or "")
    parameters, entries = parameters_of(function), entries_of(sections.get("Parameters", ""))
    if len(parameters) >= 3 or entries:
        for argument in parameters:
            if argument.arg not in entries:
                yield f"'{argument.arg}' is not among the Parameters"
    for argument in filter(is_array, parameters):
        if not SHAPE.search(entries.get(argument.arg, "") if entries else sections[""]):
            yield f"no shape is given for '{argument.arg}'"
    if raises_skinning_error(function) and "SkinningError" not in sections.get("Raises", ""):
        yield "no section Raises with SkinningError"


def problems_in(source: str) -> Iterator[str]:
    """Yield, by line, what is missing in the docstrings of a module."""
    tree = ast.parse(source)
    if not ast.get_docstring(tree):
        yield "1: the module has no docstring"
    for name, node in public_definitions(tree):
        if not ast.get_docstring(node):
            yield f"{node.lineno}: {name} has no docstring"
        elif isinstance(node, Function):
            yield from (f"{node.lineno}: {name}: {problem}" for problem in problems_of(node))


@pytest.mark.parametrize("module", MODULES)
def test_public_names_are_documented(module: str) -> None:
    problems = [f"{module}:{text}" for text in problems_in((ROOT / module).read_text(encoding="utf-8"))]
    assert not problems, "\n".join(problems)


GOOD = '''
"""A module."""

def blend(points: np.ndarray, weights: np.ndarray | None, share: float, _unused: int = 0) -> np.ndarray:
    """Blend.

    Parameters
    ----------
    points, weights : float arrays, shape (V, 3)
    share : float

    Raises
    ------
    SkinningError
        Where it cannot.
    """
    raise SkinningError("no")
'''


def test_a_documented_function_has_no_problems() -> None:
    assert list(problems_in(GOOD)) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"""A module."""', "", "1: the module has no docstring"),
        ('    """Blend.', '    x = """Blend.', "4: blend has no docstring"),
        (", weights :", " :", "4: blend: 'weights' is not among the Parameters"),
        ("    share : float\n", "", "4: blend: 'share' is not among the Parameters"),
        (", shape (V, 3)", "", "4: blend: no shape is given for 'points'"),
        ("    SkinningError\n", "    ValueError\n", "4: blend: no section Raises with SkinningError"),
    ],
)
def test_what_is_missing_is_found(old: str, new: str, problem: str) -> None:
    assert old in GOOD
    assert problem in list(problems_in(GOOD.replace(old, new)))


def test_a_function_of_two_parameters_may_say_it_in_its_sentence() -> None:
    start = '"""A module."""\n\ndef move(points: np.ndarray, by: float):\n    """Move points'
    assert list(problems_in(f'{start}, shape (V, 3), along x."""')) == []
    assert list(problems_in(f'{start} along x."""')) == ["3: move: no shape is given for 'points'"]
