"""Write docs/api.md, the page of api.py: its docstrings, and the rows of options that its methods take.

python tools/write_api.py
"""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from collections.abc import Iterator
from typing import Any

from house_rules.sources import ROOT

PAGE = ROOT / "docs" / "api.md"
UNDERLINE = re.compile(r"^-{3,}$")
IMPORT = "from bl_ext.user_default.supple import api"  # not in the docstring: the platform lets no module name its own
HEAD = """# Supple in Python

{intro}

[Without a window](headless.md#python) says how to enable Supple in a Python that has Blender as a module.
`python tools/write_api.py` writes this page from `api.py`.
"""


def split_sections(docstring: str) -> dict[str, list[str]]:
    """The lines of a docstring by the titles of its sections; those before the first are of ""."""
    sections: dict[str, list[str]] = {"": []}
    title = ""
    for line in docstring.splitlines():
        if UNDERLINE.match(line):
            title = sections[title].pop().strip()
            sections[title] = []
        else:
            sections[title].append(line)
    return sections


def join_paragraphs(lines: list[str]) -> str:
    """Paragraphs with each on a line; indented lines become a block of Python."""
    paragraphs = []
    for part in re.split(r"\n\s*\n(?!    )", "\n".join(lines).strip()):
        text, _, block = part.partition("\n\n    ")
        paragraphs.append(" ".join(text.split()))
        if block:
            paragraphs.append("```python\n" + re.sub(r"^ {4}", "", block, flags=re.MULTILINE) + "\n```")
    return "\n\n".join(paragraphs)


def list_entries(lines: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield name, type and text of each entry of a section."""
    for entry in re.split(r"\n(?=\S)", "\n".join(lines).strip()):
        head, _, text = entry.partition("\n")
        name, _, kind = head.partition(" : ")
        yield name.strip(), kind.strip(), " ".join(text.split())


def describe_default(option: Any) -> str:
    """The default of an option as a script writes it."""
    return f"{option.default:.6g}" if isinstance(option.default, float) else repr(option.default)


def list_options(kind: type, rows_of: Any) -> Iterator[str]:
    """Yield a row of a table for each option."""
    for option in rows_of(kind):
        keys = ", ".join(f'"{key}"' if isinstance(key, str) else str(key) for key in option.keys)
        text = option.tooltip or option.help
        text = f"{text[:1].upper()}{text[1:]}{', radians' if option.unit == 'ANGLE' else ''}"
        yield f"| `{option.name}` | `{describe_default(option)}` | {text}{f': {keys}' if keys else ''} |"


def write_function(node: ast.FunctionDef, level: str, options: Any) -> Iterator[str]:
    """Yield the section of a function: call, text, arguments, options, results and errors."""
    arguments = ast.parse(ast.unparse(node)).body[0].args  # type: ignore[attr-defined]
    for argument in (*arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if argument is not None:
            argument.annotation = None
    arguments.args = [argument for argument in arguments.args if argument.arg != "self"]
    sections = split_sections(ast.get_docstring(node) or "")
    yield f"{level} {node.name}\n"
    result = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    yield f"```\n{node.name}({ast.unparse(arguments)}){result}\n```\n"
    yield f"{join_paragraphs(sections[''])}\n"
    rows = [f"| `{name}` | {kind} | {text} |" for name, kind, text in list_entries(sections.get("Parameters", []))]
    if rows and sections.get("Parameters"):
        yield (
            "| argument | type | |\n|---|---|---|\n" + "\n".join(row for row in rows if "| Fields of" not in row) + "\n"
        )
    for name in re.findall(r"[Ff]ields of `(\w+)`", ast.get_docstring(node) or ""):
        yield "| option | default | |\n|---|---|---|"
        yield "\n".join(list_options(getattr(options, name), options.rows_of)) + "\n"
    for title in ("Returns", "Raises"):
        for name, _, text in list_entries(sections[title]) if title in sections else ():
            yield f"**{title}** {name}. {text}".rstrip() + "\n"


def write_page(options: Any) -> str:
    """The page, as Markdown; `options` is the module of that name."""
    tree = ast.parse((ROOT / "api.py").read_text(encoding="utf-8"))
    public = next(node.value for node in tree.body if isinstance(node, ast.Assign) and "__all__" in ast.unparse(node))
    names = ast.literal_eval(public)
    intro = join_paragraphs((ast.get_docstring(tree) or "").splitlines())
    parts = [HEAD.format(intro=intro.replace("```python\n", f"```python\n{IMPORT}\n\n", 1))]
    nodes = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in (nodes[name] for name in names if name in nodes):
        if isinstance(node, ast.FunctionDef):
            parts += write_function(node, "##", options)
            continue
        sections = split_sections(ast.get_docstring(node) or "")
        parts += [f"## {node.name}\n", f"{join_paragraphs(sections[''])}\n"]
        for title in ("Parameters", "Attributes"):
            if title in sections:
                rows = (f"| `{name}` | {kind} | {text} |" for name, kind, text in list_entries(sections[title]))
                parts.append(f"| {title.lower()[:-1]} | type | |\n|---|---|---|\n" + "\n".join(rows) + "\n")
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
                parts += write_method(method, options)
    return "\n".join(parts)


def write_method(method: ast.FunctionDef, options: Any) -> Iterator[str]:
    """Yield the section of a method, or of a property."""
    if method.decorator_list:
        yield f"### {method.name}\n\n{join_paragraphs((ast.get_docstring(method) or '').splitlines())}\n"
    else:
        yield from write_function(method, "###", options)


def load_options() -> Any:
    """The module `options` of this checkout, which needs no Blender."""
    spec = importlib.util.spec_from_file_location(
        "supple", ROOT / "__init__.py", submodule_search_locations=[str(ROOT)]
    )
    assert spec is not None
    assert spec.loader is not None
    sys.modules["supple"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["supple"])
    return importlib.import_module("supple.options")


if __name__ == "__main__":
    PAGE.write_text(write_page(load_options()), encoding="utf-8")
    print(PAGE.relative_to(ROOT))
