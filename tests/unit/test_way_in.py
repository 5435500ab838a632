"""What CONTRIBUTING.md and docs/where.md promise, tried: the files that they name are enough, and each is asked for."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from house_rules import RULES, Source, read_product, translations

from . import test_docs

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("deformers", "bridge", "cli", "settings", "tasks", "tests/unit", "tools", "translations")
"""What the tests below import, and what is beside it."""

TABLE = translations.FILE
Edit = Callable[[str], str]


def after(anchor: str, text: str) -> Edit:
    """Put a text behind another, which stands in the file once."""

    def edit(content: str) -> str:
        assert content.count(anchor) == 1, anchor
        return content.replace(anchor, anchor + text)

    return edit


def translate(*texts: str) -> Edit:
    def edit(content: str) -> str:
        table = json.loads(content) | dict.fromkeys(texts, "訳")
        return json.dumps(dict(sorted(table.items())), ensure_ascii=False, indent=2) + "\n"

    return edit


def both(*edits: Edit) -> Edit:
    def edit(content: str) -> str:
        for each in edits:
            content = each(content)
        return content

    return edit


def make_plain(_content: str) -> str:
    """A method of its own: the text of SSD under another name."""
    text = (ROOT / "deformers/skinning/ssd.py").read_text(encoding="utf-8")
    for old, new in (
        ('"SSD"', '"PLAIN"'),
        ("number=0", "number=99"),
        ('"Linear"', '"Plain"'),
        ("bent elbows", "knees"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text.replace("    has_nodes=True,\n", "")


def note_change(content: str) -> str:
    return content.replace("### Added\n\n", "### Added\n\n- Something new.\n", 1)


ROW = "| [Plain](docs/plain.md) | blends | skirts | |\n"


def add_row(content: str) -> str:
    """A method's row, before that of another one with a page in two languages."""
    found = re.search(r"^\| \[[^]]+\]\(docs/particles\.md\)", content, flags=re.MULTILINE)
    assert found is not None
    return content[: found.start()] + ROW + content[found.start() :]


METHOD: dict[str, Edit] = {
    "deformers/skinning/plain.py": make_plain,
    "deformers/__init__.py": both(
        after("from .skinning import centers, dlb, dlbnt, ", "plain, "),
        after("for module in (ssd, dlb, dlbnt, centers, ", "plain, "),
    ),
    TABLE: translate(
        "Plain", "Linear blending (SSD), as Blender's own: fast, but collapses at knees and twisted wrists"
    ),
    "tests/unit/reference.py": after('    "CENTERS": prepare_centers,\n', '    "PLAIN": prepare_ssd,\n'),
    "tests/unit/test_methods.py": after('"PARTICLES_2010": 4, "CENTERS": 5', ', "PLAIN": 99'),
    "docs/plain.md": lambda _content: "# Plain\n",
    "README.md": add_row,
    "README.ja.md": add_row,
    "CHANGELOG.md": note_change,
}
PATTERN: dict[str, Edit] = {
    "deformers/patterns/shapes.py": after("RELIEFS = {\n", '    "FOLDS_ELBOW": partial(draw_folds, folds=WRIST),\n'),
    "deformers/patterns/library.py": both(
        after(
            '"wrist (hand bone)",\n    ),\n',
            '    ("FOLDS_ELBOW", "Elbow Folds", "Creases inside an elbow", "elbow (forearm bone)"),\n',
        ),
        after(
            "NUMBERS: dict[str, tuple[Any, ...]] = {\n",
            '    "FOLDS_ELBOW": ("WRINKLE", 0.036, 0.5, 0.035, "X", 0.2, 1.2),\n',
        ),
    ),
    TABLE: translate("Elbow Folds", "Creases inside an elbow", "elbow (forearm bone)"),
    "tests/unit/patterns/test_library.py": after('("BELLY", "NECK", "WRIST"', ', "ELBOW"'),
    "docs/patterns.md": after("wrist (hand) |\n", "| Elbow Folds | folds | 3.6 % | 3.5 % | elbow (forearm) |\n"),
    "CHANGELOG.md": note_change,
}
FAULT: dict[str, Edit] = {
    "deformers/weight_editing/bone_regions.py": lambda content: content + "\n\nfind_crumbs = find_misplaced\n",
    "tasks/check/faults.py": both(
        after('MISPLACED, UNBLENDED = "MISPLACED", "UNBLENDED"\n', 'CRUMBS = "CRUMBS"\n'),
        after("\nFAULTS = {\n", '    CRUMBS: Fault("in crumbs", lambda _value: "has crumbs of skin"),\n'),
    ),
    "tasks/check/findings.py": both(
        after("weight_editing.bone_regions import ", "find_crumbs, "),
        after("from .faults import ", "CRUMBS, "),
        after("    marked = {\n", "        CRUMBS: find_crumbs(meter.owners, meter.pairs, parents),\n"),
    ),
    TABLE: translate("in crumbs", "has crumbs of skin"),
    "docs/checks.md": after("| no bone moves them |\n", "| crumbs | small regions |\n"),
    "CHANGELOG.md": note_change,
}
COMMAND: dict[str, Edit] = {
    "cli/arguments.py": after("\nCOMMANDS = (\n", '    Command("count", "count", "count", FILE),\n'),
    "cli/commands.py": lambda content: content + "\n\ndef count(arguments: argparse.Namespace) -> None:\n    pass\n",
    "docs/headless.md": lambda content: content.replace("\n### bind\n", "\n### count\n\n### bind\n"),
    "tests/unit/cli/test_wrong_arguments.py": after(
        "COMMANDS: dict[str, tuple[str, ...]] = {\n", '    "count": ("count", "FILE"),\n'
    ),
    "CHANGELOG.md": note_change,
}
ADDITIONS = {"method": METHOD, "pattern": PATTERN, "fault": FAULT, "command": COMMAND}
HEARTS = {"method": 2, "pattern": 2, "fault": 3, "command": 2}
"""How many of these files make each work; the others are what may be forgotten."""

SAID = {
    "method": ("CONTRIBUTING.md", "## Add a method", "**Choices.**"),
    "pattern": ("docs/where.md", "**A pattern", "**A fault"),
    "fault": ("docs/where.md", "**A fault", "**A command"),
    "command": ("docs/where.md", "**A command", None),
}
"""Where it is said: a page, and between what."""

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


class Copy:
    """A copy of the tree to which things are added."""

    def __init__(self, root: Path, parsed: list[Source], whole: bool) -> None:
        self.root, changed = root, {}
        for name in COPIED:
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
        for pattern in ("*.md", "docs/**/*.md", "*.toml", "*.py", "tests/*.*"):
            for path in ROOT.glob(pattern):
                target = root / path.relative_to(ROOT)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
        for name, edits in ADDITIONS.items():
            for file, edit in list(edits.items())[: None if whole else HEARTS[name]]:
                path = root / file
                former = path.read_text(encoding="utf-8") if path.exists() else ""
                text = changed[file] = edit(former)
                assert text != former, file
                path.write_text(text, encoding="utf-8")
        new = [Source(file, text) for file, text in changed.items() if file.endswith(".py") and "tests/" not in file]
        self.sources = [source for source in parsed if source.file not in changed] + new
        command = [sys.executable, "-m", "pytest", "-c", "tests/pytest.ini", "--rootdir", "tests", "-q", "-k", CHOSEN]
        self.process = subprocess.Popen([*command, *TESTS], cwd=root, stdout=subprocess.PIPE, text=True)

    def find_failures(self) -> tuple[set[str], str]:
        """The tests that fail in the copy, and all that pytest has said."""
        output, _ = self.process.communicate(timeout=60)
        return set(re.findall(r"^(?:FAILED|ERROR|SUBFAILED\S*) \S+::(\w+)", output, flags=re.MULTILINE)), output

    def check_rules(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        monkeypatch.setattr(translations, "ROOT", self.root)
        return [line for check in RULES for line in check(self.sources)]

    def check_pages(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
        """Yield the tests of pages that fail in the copy, of those that read nothing but pages and sources."""
        monkeypatch.setattr(test_docs, "ROOT", self.root)
        for test, *given in (
            (test_docs.test_every_page_is_listed,),
            (test_docs.test_the_japanese_readme_is_whole,),
            (test_docs.test_faults_are_described, self.sources),
        ):
            try:
                test(*given)
            except AssertionError:
                yield test.__name__


TESTS = (
    "tests/unit/test_methods.py",
    "tests/unit/skinning/test_against_reference.py",
    "tests/unit/patterns/test_library.py",
    "tests/unit/cli/test_wrong_arguments.py",
    "tests/unit/test_docs.py",
)
CHOSEN = " or ".join(
    ("test_methods", "transforms_carry", "of_the_paper", "_table_", "fits_a_body", "right_arguments", "and_options_are")
)
"""What of them is quick, and would meet what is added."""


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Copy]]:
    parsed = read_product()
    made = {name: Copy(tmp_path_factory.mktemp(name), parsed, name == "whole") for name in ("whole", "hearts")}
    yield made
    for copy in made.values():
        copy.process.kill()
        copy.process.communicate()


def test_what_the_pages_name_is_enough(copies: dict[str, Copy], monkeypatch: pytest.MonkeyPatch) -> None:
    copy = copies["whole"]
    assert copy.check_rules(monkeypatch) == []
    assert list(copy.check_pages(monkeypatch)) == []
    failures, output = copy.find_failures()
    assert copy.process.returncode == 0, (failures, output)


def test_what_is_forgotten_is_asked_for(copies: dict[str, Copy], monkeypatch: pytest.MonkeyPatch) -> None:
    """All but a line in the changelog."""
    copy = copies["hearts"]
    asked = copy.check_rules(monkeypatch)
    texts = len(json.loads((copies["whole"].root / TABLE).read_text(encoding="utf-8")))
    texts -= len(json.loads((ROOT / TABLE).read_text(encoding="utf-8")))
    assert ["translate this" in line for line in asked] == [True] * texts
    assert list(copy.check_pages(monkeypatch)) == ["test_faults_are_described"]
    failures, output = copy.find_failures()
    assert failures == {
        "test_every_blend_has_a_reference",
        "test_methods_keep_their_numbers",
        "test_readme_lists_the_methods_with_their_pages",
        "test_transforms_carry_other_positions",
        "test_library_is_that_of_the_paper",
        "test_library_is_in_the_table_of_its_page",
        "test_right_arguments_are_taken",
        "test_commands_and_options_are_described",
    }, output


@pytest.mark.parametrize("name", ADDITIONS)
def test_pages_name_the_files_that_it_takes(name: str) -> None:
    """At the head of each step, and their number before; tests in Blender, and what measures, come on top."""
    page, start, end = SAID[name]
    text = (ROOT / page).read_text(encoding="utf-8").partition(start)[2]
    text = text.partition(end)[0] if end else text
    heads = re.findall(r"^\d+\. (.*?):(?:\s|$)", text, flags=re.MULTILINE | re.DOTALL)
    named = {file for head in heads for file in re.findall(r"`([\w/.<>-]+\.(?:py|md|json))`", head)}
    named = {file.replace("<name>", "plain") for file in named}
    assert {file for file in named if not file.startswith(("tests/blender", "benchmarks"))} == set(ADDITIONS[name])
    assert f"{NUMBERS[len(ADDITIONS[name])]} files" in text
