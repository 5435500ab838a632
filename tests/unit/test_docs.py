"""What the pages say of the repository and of the panels, against both. Read from the source; nothing runs."""

import ast
import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from supple.deformers import DEFAULT_METHOD, METHODS, automatic_weights

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [*ROOT.glob("docs/*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))]
)
JAPANESE = "README.ja.md"
FOLDERS = {path.name for path in ROOT.iterdir() if path.is_dir()} - {"build", "dist"}
INSTALLED_AS = "bl_ext.user_default.supple."


def read_page(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blank(pattern: str, text: str) -> str:
    """A text in which what a pattern matches is spaces, so that lines and columns stay."""
    return re.sub(pattern, lambda found: re.sub(r"[^\n]", " ", found[0]), text, flags=re.DOTALL | re.MULTILINE)


def without_blocks(text: str) -> str:
    return blank(r"^```.*?^```", text)


def numbered(pattern: str, text: str) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield what a pattern finds, with the number of its line."""
    for found in re.finditer(pattern, text, flags=re.MULTILINE):
        yield text.count("\n", 0, found.start()) + 1, found


# What a page names is there


def missing_files(text: str, page: str) -> list[str]:
    """Files that a page names and that are not in the repository: paths of code from its root, links from the page."""
    text = without_blocks(text)
    missing = []
    for line, span in numbered(r"`([^`]*)`", text):
        names = re.findall(r"(?:^|(?<=\s))(?:[\w./*-]+\.py|[a-z]+/[\w./*-]*)(?=$|\s|:)", span[1])
        names = [name for name in names if name.endswith(".py") or name.partition("/")[0] in FOLDERS]
        missing += [f"{page}:{line}: {name}" for name in names if not any(ROOT.glob(name))]
    for line, link in numbered(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        if not (ROOT / page).parent.joinpath(link[1]).exists():
            missing.append(f"{page}:{line}: {link[1]}")
    return missing


def headings(page: Path) -> set[str]:
    """The anchors of a page, as GitHub makes them of its headings."""
    titles = re.findall(r"^#+ (.*)$", without_blocks(page.read_text(encoding="utf-8")), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def find_definitions(module: Path) -> set[str]:
    """Names that a module defines or imports, and the modules beside a package's `__init__`."""
    beside = set()
    if module.is_dir():
        beside = {path.stem for path in module.iterdir()}
        module = module / "__init__.py"
    else:
        module = module.with_suffix(".py")
    names = set()
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            names.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names.update(target.id for target in targets if isinstance(target, ast.Name))
    return names | beside


@pytest.mark.parametrize("page", [*PAGES, JAPANESE])
def test_files_are_there(page: str) -> None:
    assert missing_files(read_page(page), page) == []


@pytest.mark.parametrize("page", [*PAGES, JAPANESE])
def test_sections_are_there(page: str) -> None:
    missing = []
    for line, link in numbered(r"\]\(([^)#:]*)#([^)]+)\)", without_blocks(read_page(page))):
        target = (ROOT / page).parent / link[1] if link[1] else ROOT / page
        if link[2] not in headings(target):
            missing.append(f"{page}:{line}: {link[1]}#{link[2]}")
    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_examples_import_what_is_there(page: str) -> None:
    missing = []
    for block in re.findall(r"^```python\n(.*?)^```", read_page(page), flags=re.DOTALL | re.MULTILINE):
        for node in ast.walk(ast.parse(block)):
            if not isinstance(node, ast.ImportFrom):
                continue
            name = f"{node.module}.".removeprefix(INSTALLED_AS).rstrip(".")
            if f"{node.module}.".startswith(INSTALLED_AS) or name.startswith("deformers"):
                known = find_definitions(ROOT.joinpath(*name.split(".")) if name else ROOT)
                missing += [f"{page}: {name}.{alias.name}" for alias in node.names if alias.name not in known]
    assert missing == []


def test_a_missing_file_is_found() -> None:
    text = (
        "`deformers/skinning/`, `deformers/nothing.py`: [here](nothing.md)\n```\n`a.py`\n```\n`python benchmarks/no.py`"
    )
    assert [found.rpartition(" ")[2] for found in missing_files(text, "README.md")] == [
        "deformers/nothing.py",
        "benchmarks/no.py",
        "nothing.md",
    ]


def test_every_page_is_listed() -> None:
    """In the list of pages, or in the table of methods."""
    listed = re.findall(r"\]\((?:docs/)?([\w./-]+\.md)", read_page("docs/README.md") + read_page("README.md"))
    assert {path.name for path in ROOT.glob("docs/*.md")} - {"README.md"} <= set(listed)


# What a page puts in italics is a label

PANELS = ("settings", "operators", "ui")
OTHERS = ("deformers", "nodes", "bridge", "tasks")
"""Where methods, the library's patterns and the names of modifiers and node groups come from."""

BLENDERS_OWN = {
    *("Edit", "Preferences", "Get Extensions", "Install from Disk", "Auto Run Python Scripts", "Lock Interface"),
    *("Bind To", "Preserve Volume", "Multi Modifier", "With Automatic Weights", "Deform", "Vertex Mapping", "Curved"),
    *("Child Of", "Copy Location", "Non-Color", "Swing and Y Twist", "Solid", "Add Modifier"),
    *("Pose", "Pose Options", "Auto IK", "Item", "Inverse Kinematics", "Only Insert Available"),
}
"""Labels of Blender's that pages name."""

BLENDERS_OWN_IN_JAPANESE = {
    *("編集", "プリファレンス", "エクステンションを入手", "ディスクからインストール", "体積を維持"),
}

NAMING = {"name", "text", "label", "bl_label", "bl_category"}
LABEL_TABLES = {"panel", "button", "kind"}
"""Headings of tables' first columns that hold labels."""


def text_of(node: ast.AST) -> str:
    """What a string says, with `...` for what is filled in; empty for all else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "..." for part in node.values)
    return ""


def texts_of(value: ast.AST) -> list[str]:
    """The same of each of two texts that depend on a condition."""
    return [text_of(value.body), text_of(value.orelse)] if isinstance(value, ast.IfExp) else [text_of(value)]


def labels_of(node: ast.AST) -> Iterator[str]:
    """Yield what a piece of the source names: properties, panels, operators, methods, items of a menu."""
    if isinstance(node, ast.Call):
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        if "HIDDEN" not in ast.dump(keywords.get("options", node.func)):
            yield from (text for key in NAMING & keywords.keys() for text in texts_of(keywords[key]))
        if "Preset" in ast.dump(node.func) and node.args:
            yield text_of(node.args[0])
        if "'Choice'" in ast.dump(node.func) and len(node.args) > 1:
            yield text_of(node.args[1])
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in NAMING:
        yield text_of(node.value)
    if isinstance(node, ast.Tuple | ast.Call):
        items = node.elts if isinstance(node, ast.Tuple) else node.args
        key = (text_of(items[0]) or getattr(items[0], "id", "")) if items else ""
        label, tooltip = [*map(text_of, items), "", "", ""][1:3]
        if (key.isupper() or (isinstance(node, ast.Call) and key.isidentifier())) and " " in tooltip:
            yield label


def find_labels() -> set[str]:
    """Every label of the panels, and of methods; names of modifiers, node groups and other data-blocks."""
    found = set()
    for part in (*PANELS, *OTHERS):
        for path in sorted((ROOT / part).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if part in (*PANELS, "deformers"):
                    found |= {label for label in labels_of(node) if re.match(r"[A-Z]|[+-]", label)}
                if part in OTHERS and text_of(node).startswith("Supple"):
                    found.add(text_of(node))
    return found


def italics(text: str) -> Iterator[tuple[int, str]]:
    """Yield what stands in italics, with its line; labels in the first column of tables count with them."""
    text = blank(r"`[^`]*`", without_blocks(text))
    for line, found in numbered(r"(?<![*\w])\*(?![* ])([^*|]+?)\*(?![*\w])", text):
        yield line, " ".join(found[1].split())
    heading = None
    for line, row in enumerate(text.splitlines(), 1):
        first = row.split("|")[1].strip() if row.startswith("|") else None
        if first is None:
            heading = None
        elif heading is None:
            heading = first
        elif heading in LABEL_TABLES and not set(first) <= set("-:"):
            for label in first.replace("*", "").split(", "):
                yield line, label


def unknown_labels(text: str, page: str, labels: set[str]) -> list[str]:
    """Labels that a page names and that no panel, operator, menu or modifier has. `A > B` and `A: B` name two."""
    return [
        f"{page}:{line}: *{label}*"
        for line, found in italics(text)
        for label in re.split(r" > |: ", found)
        if label not in labels and label.removesuffix("...").rstrip() + " ..." not in labels
    ]


@pytest.fixture(scope="module")
def labels() -> set[str]:
    return find_labels() | BLENDERS_OWN


@pytest.mark.parametrize("page", PAGES)
def test_labels_are_those_of_the_panels(page: str, labels: set[str]) -> None:
    assert unknown_labels(read_page(page), page, labels) == []


def test_labels_are_found(labels: set[str]) -> None:
    assert {"Bind", "Particles", "Linear", "Automatic Weights", "Keep Volume", "Supple", "Belly Folds"} <= labels
    assert not {"Leave Out Below", "SSD kernel", "heads", ""} & labels


def test_an_unknown_label_is_found(labels: set[str]) -> None:
    table = "| panel | |\n|---|---|\n| Show Weights, Nothing | |"
    text = f"Press *Bind*,\nthen *Leave Out\nBelow*.\n\n{table}\n*Supple > Skins*"
    assert unknown_labels(text, "page", labels) == ["page:2: *Leave Out Below*", "page:8: *Skins*", "page:7: *Nothing*"]


# The README in Japanese is the whole of the other


def outline(page: str) -> dict[str, list[str]]:
    """What two languages of a page have in common: links, code, headings, and the figures of each row of a table."""
    text = read_page(page)
    rows = re.findall(r"^\|.*\|$", text, flags=re.MULTILINE)
    bare = without_blocks(text)
    return {
        "links": sorted(
            set(re.findall(r"\]\(([^)]+)\)", text)) - {"README.md", JAPANESE, "docs/images/panel.png"} - NEW
        ),
        "code": sorted(
            {*re.findall(r"^```.*?^```", text, flags=re.DOTALL | re.MULTILINE), *re.findall(r"`[^`\n]+`", bare)}
        ),
        "headings": re.findall(r"^#+", bare, flags=re.MULTILINE),
        "figures": [" ".join(sorted(re.findall(r"\d[\d.]*", row))) for row in rows],
    }


NEW = {"docs/images/panel-ja.png"}
"""A picture of its own."""


def test_the_japanese_readme_is_whole() -> None:
    english, japanese = outline("README.md"), outline(JAPANESE)
    for kind, found in english.items():
        assert japanese[kind] == found, kind


def test_labels_of_the_japanese_readme_are_those_of_the_panels(labels: set[str]) -> None:
    table = json.loads(read_page("translations/ja_JP.json"))
    known = {found for text, found in table.items() if text in labels} | BLENDERS_OWN_IN_JAPANESE
    assert unknown_labels(read_page(JAPANESE), JAPANESE, known) == []


# What a page quotes as a message is one


END = r"(?<!\.)\. "
"""What parts sentences: not the last of three dots."""


def find_messages() -> list[re.Pattern[str]]:
    """Every text of the product, sentence by sentence, with anything where a value is filled in."""
    texts = {
        text_of(node)
        for part in ("deformers", "tasks", "bridge", "operators")
        for path in (ROOT / part).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    }
    sentences = {sentence for text in texts for sentence in re.split(END, text) if " " in sentence}
    return [
        re.compile(re.escape(re.sub(r"(?<!\.)\.$", "", sentence)).replace(r"\.\.\.", ".+")) for sentence in sentences
    ]


def quoted_messages(text: str) -> Iterator[tuple[int, str]]:
    """Yield the messages in a page's tables, a quoted cell that has no other text, with their lines."""
    for line, found in numbered(r'\| "([^"|]+)" (?=\|)', text):
        yield line, found[1]


def unknown_messages(text: str, messages: list[re.Pattern[str]]) -> list[str]:
    return [
        f"{line}: {sentence}"
        for line, message in quoted_messages(text)
        for sentence in re.split(END, message)
        if not any(known.fullmatch(sentence) for known in messages)
    ]


def test_messages_are_those_of_the_product() -> None:
    messages = find_messages()
    assert {page: unknown_messages(read_page(page), messages) for page in PAGES} == {page: [] for page in PAGES}
    assert sum(len(list(quoted_messages(read_page(page)))) for page in PAGES) > 5


def test_an_unknown_message_is_found() -> None:
    messages = [re.compile("Only .+ fit"), re.compile("Close it")]
    assert unknown_messages('| a | "Only 3 fit. Close it" |\n| b | "Only" |', messages) == ["2: Only"]


# The command line


def read_commands() -> tuple[set[str], set[str]]:
    """Commands of the command line, and the options of all of them."""
    commands, options = set(), set()
    modules = [ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "cli").glob("*.py")]
    for node in (node for module in modules for node in ast.walk(module)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            name = text_of(node.args[0])
            if node.func.attr == "add_parser":
                commands.add(name)
            elif node.func.attr == "add_argument" and name.startswith("--"):
                options.add(name)
    return commands, options


def test_commands_and_options_are_described() -> None:
    commands, options = read_commands()
    assert "weights" in commands
    assert "--report" in options
    page = read_page("docs/headless.md")
    assert {name for name in commands if f"\n### {name}\n" not in page} == set()
    assert {name for name in options if f"`{name}" not in page} == set()
    assert set(re.findall(r"(?:\[|`)(--[a-z-]+)", page)) <= options | {"--help", "--factory-startup"}


def test_commands_for_developers_are_listed() -> None:
    targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    listed = re.findall(r"`make ([a-z-]+)", read_page("CONTRIBUTING.md"))
    assert "test" in targets
    assert set(listed) == set(targets) - {"clean"}


# Tables of methods


def rows_of(page: str, section: str, heading: str = "method") -> list[tuple[str, str]]:
    """What the rows of a section's table name by a link, and the page that it leads to."""
    text = read_page(page).partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    table = text.partition(f"\n| {heading} |")[2].partition("\n\n")[0]
    return re.findall(r"^\| \[([^]]+)\]\(([\w/.-]+)[^)]*\) \|", table, flags=re.MULTILINE)


def test_weights_of_the_readme_are_the_methods() -> None:
    rows = rows_of("README.md", "Weights")
    assert [label for label, _ in rows] == [method.label for method in automatic_weights.METHODS.values()]


def test_words_of_the_command_line_are_the_methods() -> None:
    page = read_page("docs/headless.md")
    skinning, weighting = (row for row in page.splitlines() if row.startswith("| `--method` | `"))
    named = re.findall(r"`(\w+)`", skinning)
    assert set(named) <= set(METHODS)  # --help lists all
    assert named[-1] == DEFAULT_METHOD
    words = [word for method in automatic_weights.METHODS.values() for word in method.words]
    assert re.findall(r"`(\w+)`", weighting) == words


# The picture of the packages


@pytest.fixture(scope="module")
def drawing() -> ModuleType:
    spec = importlib.util.spec_from_file_location("draw_packages", ROOT / "tools" / "draw_packages.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_picture_shows_the_table(drawing: ModuleType) -> None:
    drawn = drawing.BOXES.keys() | drawing.NOT_DRAWN
    parts = {name for name in drawn if name not in drawing.read_table()}
    assert drawn - parts == drawing.read_table().keys(), "give each package a box in tools/draw_packages.py"
    assert all(any(name.startswith(f"{part}/") for name in drawn) for part in parts)
    assert drawing.PICTURE.read_text(encoding="utf-8") == drawing.draw(), "run python tools/draw_packages.py"


def test_arrows_of_the_picture_point_down(drawing: ModuleType) -> None:
    boxes = drawing.BOXES
    assert all(boxes[above].bottom < boxes[below].y for above, below in drawing.read_links())


def test_arrows_of_the_picture_reach_all_that_may_be_imported(drawing: ModuleType) -> None:
    links = set(drawing.read_links())
    assert ("operators", "tasks") not in links
    assert {"tasks", "bridge", "settings", "nodes", "deformers"} <= set(drawing.find_reached("operators", links))
    assert set(drawing.find_reached("ui", links)) == {
        "tasks",
        "bridge",
        "nodes",
        "settings",
        "deformers",
        "translations",
    }
    assert set(drawing.find_reached("settings", links)) == {"deformers"}
