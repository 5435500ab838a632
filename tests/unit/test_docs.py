"""What the pages say of the repository and of the panels, against both. Read from the source; nothing runs."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [*ROOT.glob("docs/*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))]
)
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


@pytest.mark.parametrize("page", PAGES)
def test_files_are_there(page: str) -> None:
    text = blank(r"^## Add a method.*?(?=^## )", read_page(page))
    assert missing_files(text, page) == []


@pytest.mark.parametrize("page", PAGES)
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
    listed = re.findall(r"\]\(([\w./-]+\.md)", read_page("docs/README.md"))
    assert {path.name for path in ROOT.glob("docs/*.md")} - {"README.md"} <= set(listed)
