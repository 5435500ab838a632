"""Each text that a user reads has its translation, and no translation is without its text. Nothing of Blender runs."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "translations" / "ja_JP.json"
PARTS = ("deformers", "bridge", "settings", "tasks", "viewport", "operators", "ui")
LABELS = {"name", "text", "label", "bl_label", "bl_category", "description", "tooltip", "heading", "bl_description"}
"""What Blender calls the texts of properties, operators, panels and buttons."""

NAMES = {"BONE", "Basis", "GeometryNodeTree", "ShaderNodeTree", "Supple {}"}
"""What is called so in the file, not in the interface."""

SENTENCE = re.compile(r"[A-Za-z]{2}.* |[A-Za-z]+ [A-Za-z]|\{\} \(?[a-zA-Z]{2}")
SILENT_CALLS = {"AssertionError", "compile", "print", "push_constant", "smooth", "getattr", "RuntimeError", "TypeError"}
"""Calls whose texts no user reads."""

NOT_SHOWN = re.compile(
    r"^(Supple( .*)?|in slot|with slot|supple_\w+.*|lattice points to test|height = .*|.*\bgl_.*|.*void main.*"
    r"|Base Color|Vertex Group|Shape Changes|Linear Blending|Joint Limits|mmd_\w+|2\*atan2.*|.*\bframe <.*"
    r"|.*primvars:.*)$",
    re.DOTALL,
)
"""Names of data-blocks and node sockets, shaders, expressions, what files say, and what only a bug raises."""


def text_of(node: ast.AST) -> str:
    """What a string says, with `{}` for what is filled in; empty for all else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"\{\w*\}", "{}", node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return ""


def texts_of(node: ast.AST) -> Iterator[str]:
    """Yield a text, or each of two that depend on a condition."""
    for value in (node.body, node.orelse) if isinstance(node, ast.IfExp) else (node,):
        yield text_of(value)


def find_hidden(tree: ast.Module) -> set[ast.AST]:
    """Strings that are no texts of their own: docstrings, parts of f-strings, arguments of calls that show nothing."""
    hidden: set[ast.AST] = set()
    for node in ast.walk(tree):
        for statement in getattr(node, "body", []) if isinstance(getattr(node, "body", None), list) else []:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                hidden.add(statement.value)
        if isinstance(node, ast.JoinedStr):
            hidden.update(part for part in node.values if isinstance(part, ast.Constant))
            for part in node.values:
                if isinstance(part, ast.FormattedValue) and part.format_spec is not None:
                    hidden.update(ast.walk(part.format_spec))
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in SILENT_CALLS:
                hidden.update(inner for argument in node.args for inner in ast.walk(argument))
    return hidden


def labels_of(node: ast.AST) -> Iterator[str]:
    """Yield what a piece of the source names, and what it says in a tooltip."""
    if isinstance(node, ast.Call):
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        if "HIDDEN" not in ast.dump(keywords.get("options", node.func)):
            for key in LABELS & keywords.keys():
                yield from (text for text in texts_of(keywords[key]) if not text.islower() or " " in text)
        if "Preset" in ast.dump(node.func) and node.args:
            yield text_of(node.args[0])
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in LABELS:
        yield text_of(node.value)
    if isinstance(node, ast.Tuple | ast.Call):  # an item of a menu
        items = node.elts if isinstance(node, ast.Tuple) else node.args
        key, label, tooltip = [*map(text_of, items), "", "", ""][:3]
        key = key or getattr(items[0], "id", "") if items else ""
        if (key.isupper() or (isinstance(node, ast.Call) and key.isidentifier())) and " " in tooltip:
            yield label
    targets = [text_of_target(part) for part in node.body] if isinstance(node, ast.ClassDef) else []
    if "bl_label" in targets and "bl_description" not in targets:
        yield (ast.get_docstring(node) or "").replace("\n", " ")


def text_of_target(node: ast.stmt) -> str:
    return getattr(node.targets[0], "id", "") if isinstance(node, ast.Assign) else ""


def find_texts(source: str) -> tuple[set[str], set[str]]:
    """What a user reads of a module, and all its strings: texts without a full stop at the end."""
    tree = ast.parse(source)
    hidden = find_hidden(tree)
    shown, strings = set(), set()
    for node in ast.walk(tree):
        shown |= {label for label in labels_of(node) if re.search(r"[A-Za-z]", label) and label not in NAMES}
        if node not in hidden and (text := text_of(node)):
            strings.add(text)
            if SENTENCE.search(text) and not NOT_SHOWN.match(text):
                shown.add(text)
    end = re.compile(r"(?<!\.)\.$")
    shown, strings = ({end.sub("", text) for text in texts} for texts in (shown, strings | shown))
    shown = {text for text in shown if "void main" not in text}
    lines = {line for text in shown if "\n" in text for line in text.split("\n") if SENTENCE.search(line)}
    return {text for text in shown if "\n" not in text} | lines, strings | lines


@pytest.fixture(scope="module")
def texts() -> tuple[set[str], set[str]]:
    shown, strings = set(), set()
    for part in PARTS:
        for path in sorted((ROOT / part).rglob("*.py")):
            found = find_texts(path.read_text(encoding="utf-8"))
            shown, strings = shown | found[0], strings | found[1]
    return shown, strings


@pytest.fixture(scope="module")
def table() -> dict[str, str]:
    return json.loads(TABLE.read_text(encoding="utf-8"))


def test_each_text_has_a_translation(texts: tuple[set[str], set[str]], table: dict[str, str]) -> None:
    missing = sorted(texts[0] - table.keys())
    lines = "\n".join(f'  {json.dumps(text, ensure_ascii=False)}: "",' for text in missing)
    assert not missing, f"translate these, and add them to {TABLE.name} in their order:\n{lines}"


def test_no_translation_is_without_its_text(texts: tuple[set[str], set[str]], table: dict[str, str]) -> None:
    stale = sorted(table.keys() - texts[0] - texts[1])
    assert not stale, f"take these out of {TABLE.name}: {stale}"


def test_the_table_is_in_order(table: dict[str, str]) -> None:
    text = json.dumps(dict(sorted(table.items())), ensure_ascii=False, indent=2) + "\n"
    assert TABLE.read_text(encoding="utf-8") == text, "sort the entries, one a line"


def test_translations_have_the_values_of_their_texts(table: dict[str, str]) -> None:
    wrong = []
    for text, found in table.items():
        count = text.count("{}")
        named = {int(number) for number in re.findall(r"\{(\d+)\}", found)}
        unnamed = found.count("{}")
        if (named and (unnamed or max(named) >= count)) or (not named and unnamed != count):
            wrong.append(text)
    assert wrong == []


def test_translations_are_japanese(table: dict[str, str]) -> None:
    """Or names, signs and abbreviations that Japanese leaves as they are."""
    same = [text for text, found in table.items() if not re.search(r"[\u3040-\u30ff\u4e00-\u9fff]", found)]
    assert [text for text in same if len(re.findall(r"[A-Za-z]{3,}", text)) > 1] == []
    assert not [found for found in table.values() if not found or found.endswith("。")]


SHOWING = {"report": 1, "poll_message_set": 0, "status_text_set": 0, "header_text_set": 0, "label": 0}
"""Functions that show a text as it is, and which of their arguments it is; `label` takes it as `text`."""


def untranslated(source: str) -> list[int]:
    """Lines that show a text with values in it, or one that is not known before it runs, and do not translate it."""
    found = []
    for node in ast.walk(ast.parse(source)):
        name = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
        if name not in SHOWING:
            continue
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        labels = [keywords["text"]] if "text" in keywords else []
        given = labels if name == "label" else node.args[SHOWING[name] :]
        is_plain = not given or (isinstance(given[0], ast.Constant) and (name == "label" or given[0].value is None))
        if not is_plain and "'translate'" not in ast.dump(given[0]) and "translate" not in keywords:
            found.append(node.lineno)
    return found


@pytest.mark.parametrize("file", sorted(path for part in ("operators", "ui") for path in (ROOT / part).rglob("*.py")))
def test_what_is_shown_is_translated(file: Path) -> None:
    assert untranslated(file.read_text(encoding="utf-8")) == [], f"{file.name}: wrap these texts in translate(...)"


def test_what_is_not_translated_is_found() -> None:
    calls = [
        "self.report({'INFO'}, 'a')",
        "layout.label(text=name)",
        "cls.poll_message_set(SELECT)",
        "a.label(text='b')",
    ]
    calls += ["self.report({'INFO'}, translate(name))", "layout.label(text=name, translate=False)"]
    assert untranslated("\n".join(calls)) == [1, 2, 3]


def test_texts_are_found_in_a_source() -> None:
    source = '''
class SUPPLE_OT_a(Operator):
    """Do it"""
    bl_idname = "supple.a"
    bl_label = "A"
    size: FloatProperty(name="Size", description="How large it is")
    kept: FloatProperty(name="Kept", options={"HIDDEN"})
    def run(self):
        """No text."""
        raise SkinningError(f"'{self.name}' has {count} eyes: give it {2 - count:.1f} more.")
ITEMS = (("ONE", "One", "The first one"),)
KEYS = ("one", "two")
'''
    shown, strings = find_texts(source)
    said = "'{}' has {} eyes: give it {} more"
    assert shown == {"Do it", "A", "Size", "How large it is", said, "One", "The first one"}
    assert "two" in strings
