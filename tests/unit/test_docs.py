"""What the pages say of the repository and of the panels, against both. Read from the source; nothing runs."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from manual_site.pages import list_panel_pages, name_in_project

import draw_packages as drawing
import write_api
import write_map
from house_rules import Source, read_product
from house_rules.translations import labels_of, text_of
from supple import options
from supple.cli.arguments import COMMANDS
from supple.cli.options import Command, OneOf
from supple.deformers import DEFAULT_METHOD, METHODS, automatic_weights

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [*ROOT.glob("docs/*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))]
)
JAPANESE = "README.ja.md"
START_IN_JAPANESE = "docs/ja/README.md"
FOLDERS = {path.name for path in ROOT.iterdir() if path.is_dir()} - {"build", "dist"}


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


def missing_sections(page: str) -> Iterator[str]:
    for line, link in numbered(r"\]\(([^)#:]*)#([^)]+)\)", without_blocks(read_page(page))):
        target = (ROOT / page).parent / link[1] if link[1] else ROOT / page
        if link[2] not in headings(target):
            yield f"{page}:{line}: {link[1]}#{link[2]}"


def test_files_are_there() -> None:
    assert [
        missing for page in (*PAGES, JAPANESE, START_IN_JAPANESE) for missing in missing_files(read_page(page), page)
    ] == []


def test_sections_are_there() -> None:
    assert [missing for page in (*PAGES, JAPANESE, START_IN_JAPANESE) for missing in missing_sections(page)] == []


def test_pages_of_the_panels_are_there() -> None:
    """Those of question marks and F1, with their sections, by the names that the site gives them."""
    pages = set(list_panel_pages())
    assert len(pages) > 20
    for name in pages:
        address, _, section = name.partition("#")
        path = ROOT / name_in_project(address.removesuffix("html") + "md")
        assert path.is_file(), name
        assert section in {"", *headings(path)}, name


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

PANELS = ("options", "settings", "operators", "ui")
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
    *("編集", "プリファレンス", "エクステンションを入手", "ディスクからインストール", "体積を維持")
}

NAMING = {"name", "text", "label", "bl_label", "bl_category"}
LABEL_TABLES = {"panel", "button", "kind"}
"""Headings of tables' first columns that hold labels."""


def shown_text(text: str) -> str:
    """A text as pages quote it, with `...` for what is filled in."""
    return text.replace("{}", "...")


def find_labels(product: list[Source]) -> set[str]:
    """Every label of the panels, and of methods; names of modifiers, node groups and other data-blocks."""
    found = set()
    for source in product:
        for node in source.nodes:
            if source.part in (*PANELS, "deformers"):
                labels = labels_of(node, NAMING)
                found |= {shown_text(label) for label in labels if re.match(r"[A-Z]|[+-]", label)}
            if source.part in OTHERS and text_of(node).startswith("Supple"):
                found.add(shown_text(text_of(node)))
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
def product() -> list[Source]:
    return read_product()


@pytest.fixture(scope="module")
def labels(product: list[Source]) -> set[str]:
    return find_labels(product) | BLENDERS_OWN


def test_labels_are_those_of_the_panels(labels: set[str]) -> None:
    assert [unknown for page in PAGES for unknown in unknown_labels(read_page(page), page, labels)] == []


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
    for page in (JAPANESE, START_IN_JAPANESE):
        assert unknown_labels(read_page(page), page, known) == []


def test_the_japanese_start_page_shows_what_the_other_does() -> None:
    english, japanese = (
        re.findall(r"\bimages/([\w-]+)", read_page(page)) for page in ("docs/README.md", START_IN_JAPANESE)
    )
    assert [name.removesuffix("-ja") for name in japanese] == english


# What a page quotes as a message is one


VALUE = r"\.\.\.|'[^']*'|\d[\d.,-]*|[()]|[.:] |$"
"""What parts the pieces of a message that are the same each time: values that are filled in, and sentences."""


def unknown_messages(text: str, known: str) -> list[str]:
    """Pieces of messages in a page's tables, quoted cells with no other text, that no text of the product has."""
    return [
        f"{line}: {piece.strip()}"
        for line, message in numbered(r'\| "([^"|]+)" (?=\|)', text)
        for piece in re.split(VALUE, message[1])
        if piece.strip() not in known
    ]


def test_messages_are_those_of_the_product(product: list[Source]) -> None:
    parts = ("deformers", "tasks", "bridge", "operators")
    known = "\n".join(text_of(node) for source in product if source.part in parts for node in source.nodes)
    known += "\nNo space left on device"  # the system's own
    assert [f"{page}:{unknown}" for page in PAGES for unknown in unknown_messages(read_page(page), known)] == []
    assert unknown_messages('| "Fill the moon" |', known)
    assert sum(read_page(page).count('| "') for page in PAGES) > 5


def test_an_unknown_message_is_found() -> None:
    known = "{} of '{}' do not fit: close it\nOnly {} fit"
    said = """| a | "Only 3 fit. 2 of 'Eye' do not fit: close it" |\n| b | "Only ... fit: open it" |"""
    assert unknown_messages(said, known) == ["2: open it"]


# The command line


def flags_of(command: Command) -> set[str]:
    parts = [each for part in command.arguments for each in (part.arguments if isinstance(part, OneOf) else (part,))]
    return {name for part in parts for name in part.names if name.startswith("--")}


def test_commands_and_options_are_described() -> None:
    page = read_page("docs/headless.md")
    sections = dict(re.findall(r"^### ([a-z-]+)\n(.*?)(?=^##)", page, flags=re.DOTALL | re.MULTILINE))
    for command in COMMANDS:
        described = set(re.findall(r"--[a-z-]+", sections[command.word]))
        assert flags_of(command) - described == set(), f"options of {command.word} that headless.md lacks"
    known = {"--help", "--factory-startup"}.union(*map(flags_of, COMMANDS))
    assert set(re.findall(r"(?:\[|`)(--[a-z-]+)", page)) <= known


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
    return re.findall(r"\| \[([^]]+)\]\(([\w/.-]+)[^)]*\) \|", table)


def test_weights_of_the_page_are_the_methods() -> None:
    rows = rows_of("docs/weights.md", "Which method", "the character")
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


def test_the_picture_shows_the_table() -> None:
    drawn = drawing.BOXES.keys() | drawing.NOT_DRAWN
    parts = {name for name in drawn if name not in drawing.MAY_IMPORT}
    assert drawn - parts == drawing.MAY_IMPORT.keys(), "give each package a box in tools/draw_packages.py"
    assert all(any(name.startswith(f"{part}/") for name in drawn) for part in parts)
    assert drawing.PICTURE.read_text(encoding="utf-8") == drawing.draw(), "run python tools/draw_packages.py"


def test_arrows_of_the_picture_point_down() -> None:
    boxes = drawing.BOXES
    assert all(boxes[above].bottom < boxes[below].y for above, below in drawing.read_links())


def test_arrows_of_the_picture_reach_all_that_may_be_imported() -> None:
    links = set(drawing.read_links())
    assert ("operators", "tasks") not in links
    assert {"tasks", "bridge", "settings", "nodes", "deformers"} <= set(drawing.find_reached("operators", links))
    assert set(drawing.find_reached("ui", links)) == {
        "tasks",
        "bridge",
        "nodes",
        "settings",
        "options",
        "deformers",
        "translations",
    }
    assert set(drawing.find_reached("settings", links)) == {"options", "deformers"}


# What Check Character finds


def test_faults_are_described(product: list[Source]) -> None:
    """Each kind has a row in one of the two tables."""
    (source,) = (source for source in product if source.module == "tasks/check/faults")
    tables = [
        node.value for node in source.nodes if isinstance(node, ast.Assign) and "FAULTS" in ast.dump(node.targets[0])
    ]
    measures = read_page("docs/checks.md").partition("\n## The measures\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (?!-)", measures, flags=re.MULTILINE)
    assert len(rows) - 2 == len(tables[0].keys), "without the two heads"


# The map of features


def test_the_map_is_what_the_tool_writes() -> None:
    page = write_map.PAGE.read_text(encoding="utf-8")
    assert write_map.replace_map(page) == page, "run python tools/write_map.py"


def test_the_page_of_the_api_is_that_of_its_docstrings() -> None:
    assert write_api.write_page(options) == write_api.PAGE.read_text(encoding="utf-8"), "run python tools/write_api.py"


def test_the_map_names_whole_folders_and_other_modules() -> None:
    modules = ["tasks/farm/job", "tasks/farm/more/engines", "cli/farm", "cli/bakes", "live"]
    assert write_map.find_rooms("farm|live", modules) == {
        "cli": "`cli/farm.py`",
        "live": "`live.py`",
        "tasks": "`tasks/farm/`",
    }


def test_every_task_is_in_the_map(product: list[Source]) -> None:
    shared = {"tasks/subject"}
    folders = {source.module for source in product if source.file.endswith("__init__.py")} - shared
    tasks = {folder for folder in folders if re.fullmatch("tasks/[a-z_]+", folder)}
    assert {folder for folder in tasks if f"`{folder}/" not in write_map.write_map()} == set(), "see FEATURES"
