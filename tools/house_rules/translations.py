"""Each text that a user reads has its translation, and no translation is without its text."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator

from .sources import ROOT, Source

FILE = "translations/ja_JP.json"
PARTS = ("api", "deformers", "options", "bridge", "settings", "tasks", "viewport", "operators", "ui")
LABELS = {"name", "text", "label", "bl_label", "bl_category", "description", "tooltip", "heading", "bl_description"}
"""What Blender calls the texts of properties, operators, panels and buttons."""

# Functions that make a property: their second argument is its label.
ROWS = {"Option", "row", "setting", "factor", "distance", "group", "own_group"}

NAMES = {"BONE", "Basis", "GeometryNodeTree", "ShaderNodeTree", "Supple {}"}
"""What is called so in the file, not in the interface."""

SENTENCE = re.compile(r"[A-Za-z]{2}.* |[A-Za-z]+ [A-Za-z]|\{\} \(?[a-zA-Z]{2}")
SILENT_CALLS = {
    "ArgumentTypeError",
    "AssertionError",
    "compile",
    "print_line",
    "push_constant",
    "smooth",
    "getattr",
    "RuntimeError",
    "TypeError",
}
"""Calls whose texts no user reads."""

NOT_SHOWN = re.compile(
    r"^(Supple( .*)?|3D View|in slot|with slot|supple_\w+.*|lattice points to test|height = .*|.*\bgl_.*|.*void main.*"
    r"|Base Color|Vertex Group|Shape Changes|Linear Blending|Joint Limits|mmd_\w+|2\*atan2.*|.*\bframe <.*"
    r"|.*primvars:.*|Blender: .*|Saved: .*)$",
    re.DOTALL,
)
"""Names of data-blocks and node sockets, shaders, expressions, what files say, and what only a bug raises."""

END = re.compile(r"(?<!\.)\.$")
SHOWING = {"report": 1, "poll_message_set": 0, "status_text_set": 0, "header_text_set": 0, "label": 0}
"""Functions that show a text as it is, and which of their arguments it is; `label` takes it as `text`."""


def text_of(node: ast.AST) -> str:
    """What a string says, with `{}` for what is filled in; empty for all else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"\{\w*\}", "{}", node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return ""


def texts_of(node: ast.AST) -> Iterator[str]:
    """Yield a text, or each of two that depend on a condition."""
    for value in (node.body, node.orelse) if isinstance(node, ast.IfExp) else (node,):
        yield text_of(value)


def name_called(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def find_hidden(nodes: list[ast.AST]) -> set[ast.AST]:
    """Strings that are no texts of their own: docstrings, parts of f-strings, arguments of calls that show nothing."""
    hidden: set[ast.AST] = set()
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            hidden.add(node.value)
        elif isinstance(node, ast.JoinedStr):
            hidden.update(part for part in node.values if isinstance(part, ast.Constant))
            for part in node.values:
                if isinstance(part, ast.FormattedValue) and part.format_spec is not None:
                    hidden.update(ast.walk(part.format_spec))
        elif isinstance(node, ast.Call) and name_called(node) in SILENT_CALLS:
            hidden.update(inner for argument in node.args for inner in ast.walk(argument))
        elif isinstance(node, ast.Call):  # what the command line says, which is in English
            hidden.update(keyword.value for keyword in node.keywords if keyword.arg == "help")
    return hidden


def labels_of(node: ast.AST, keys: set[str] = LABELS) -> Iterator[str]:
    """Yield what a piece of the source names, and what it says in a tooltip; `keys` are some of LABELS."""
    if isinstance(node, ast.Call):
        keywords = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        if "options" not in keywords or "HIDDEN" not in ast.dump(keywords["options"]):
            for key in keys & keywords.keys():
                yield from (text for text in texts_of(keywords[key]) if not text.islower() or " " in text)
        if "Preset" in name_called(node) and node.args:
            yield text_of(node.args[0])
        if name_called(node) in ROWS and len(node.args) > 1:
            yield text_of(node.args[1])
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in keys:
        yield text_of(node.value)
    if isinstance(node, ast.Tuple | ast.Call):  # an item of a menu
        items = node.elts if isinstance(node, ast.Tuple) else node.args
        key, label, tooltip = [*map(text_of, items), "", "", ""][:3]
        key = key or getattr(items[0], "id", "") if items else ""
        if (key.isupper() or (isinstance(node, ast.Call) and key.isidentifier())) and " " in tooltip:
            yield label
    if isinstance(node, ast.ClassDef) and "bl_description" in keys:
        targets = [getattr(part.targets[0], "id", "") for part in node.body if isinstance(part, ast.Assign)]
        if "bl_label" in targets and "bl_description" not in targets:
            yield (ast.get_docstring(node) or "").replace("\n", " ")


def find_texts(source: Source) -> tuple[dict[str, int], set[str]]:
    """What a user reads of a module, with its lines, and all its strings: texts without a full stop at the end."""
    hidden = find_hidden(source.nodes)
    shown: dict[str, int] = {}
    strings = set()
    for node in source.nodes:
        texts = [label for label in labels_of(node) if re.search(r"[A-Za-z]", label) and label not in NAMES]
        if node not in hidden and (text := text_of(node)):
            strings.add(END.sub("", text))
            texts += [text] if SENTENCE.search(text) and not NOT_SHOWN.match(text) else []
        for text in texts:
            if "void main" not in text:
                lines = END.sub("", text).split("\n")
                lines = [part for part in lines if SENTENCE.search(part)] if len(lines) > 1 else lines
                shown |= dict.fromkeys(lines, getattr(node, "lineno", 1))
    return shown, strings | shown.keys()


def is_untranslated(node: ast.AST) -> bool:
    """Whether a call shows a text with values, or one not known before it runs, and does not translate it."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in SHOWING:
        return False
    name = node.func.attr
    keywords = {keyword.arg: keyword.value for keyword in node.keywords}
    labels = [keywords["text"]] if "text" in keywords else []
    given = labels if name == "label" else node.args[SHOWING[name] :]
    is_plain = not given or (isinstance(given[0], ast.Constant) and (name == "label" or given[0].value is None))
    return not is_plain and "'translate'" not in ast.dump(given[0]) and "translate" not in keywords


def check_translation(text: str, translation: str) -> Iterator[str]:
    """Yield what is wrong with a translation of a text."""
    count, unnamed = text.count("{}"), translation.count("{}")
    named = {int(number) for number in re.findall(r"\{(\d+)\}", translation)}
    if (named and (unnamed or max(named) >= count)) or (not named and unnamed != count):
        yield f"has other values than its text: {count} of {{}}, or each as {{0}}, {{1}}"
    # Names, signs and abbreviations stay as they are.
    if not re.search(r"[\u3040-\u30ff\u4e00-\u9fff]", translation) and len(re.findall(r"[A-Za-z]{3,}", text)) > 1:
        yield "is not Japanese: translate it"
    if not translation or translation.endswith("。"):
        yield "is empty or ends with a full stop: Blender adds one"


def check_table(content: str, shown: dict[str, str], strings: set[str]) -> Iterator[str]:
    """Yield what is wrong with the file of translations; `shown` has where each text is."""
    table: dict[str, str] = json.loads(content)
    for text, where in shown.items():
        if text not in table:
            entry = json.dumps(text, ensure_ascii=False)
            yield f'{where}: translate this, and add it to {FILE} in its order:  {entry}: "",'
    for text, translation in table.items():
        entry = json.dumps(text, ensure_ascii=False)
        line = f"{FILE}:{content[: content.find(f'  {entry}: ')].count(chr(10)) + 1}"
        if text not in strings:
            yield f"{line}: {entry} is in no source: take it out"
        yield from (f"{line}: {entry} {problem}" for problem in check_translation(text, translation))
    if content != json.dumps(dict(sorted(table.items())), ensure_ascii=False, indent=2) + "\n":
        yield f"{FILE}:1: is out of order: sort the entries, one a line"


def check(sources: list[Source]) -> list[str]:
    found, shown, strings = [], {}, set()
    for source in sources:
        if source.part in PARTS:
            texts, others = find_texts(source)
            shown |= {text: f"{source.file}:{line}" for text, line in texts.items()}
            strings |= others
        if source.part in ("operators", "ui"):
            lines = [node.lineno for node in source.nodes if isinstance(node, ast.expr) and is_untranslated(node)]
            found += [f"{source.file}:{line}: wrap this text in translate(...)" for line in lines]
    return [*found, *check_table((ROOT / FILE).read_text(encoding="utf-8"), shown, strings)]
