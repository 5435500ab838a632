"""Plant faults into a copy of the product, one at a time, and see whether a test finds each.

    python tests/faults/run.py record                run all tests once: which lines does each reach, in what time
    python tests/faults/run.py plant                 plant each fault; print which test finds it
    python tests/faults/run.py plant --only inputs-not-cleared drawn-07

``--checkout FOLDER`` does so with the product and the tests of another checkout, to compare two sets of tests.
Faults come from `faults.toml` beside this file, or from a ``--table`` that `draw.py` has written. A fault that a
Blender older than the newest has to find says ``blender = "4.2"``: the tests marked `versions` are tried there.

The tests that reach a changed line are run, quick ones first, up to the first that fails; where the line runs only as
its module is imported, those that reach most of the module. Coverage makes that seconds for each fault.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from coverage import CoverageData
from planting import NEWEST, TABLE, Fault, read_faults

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PARTS = ("unit", "blender")
WORKERS = 2
TIMEOUT = 600


def pytest_command(blender: str, *arguments: str | Path) -> list[str | Path]:
    python = ROOT / ".venv" / f"bpy-{blender}" / "bin" / "python"
    return [python, "-m", "pytest", "-c", "tests/pytest.ini", "--rootdir", "tests", *arguments]


def one_thread() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


# What each test reaches


def record(checkout: Path, records: Path) -> None:
    """Run all tests of a checkout on the newest Blender, with coverage."""
    records.mkdir(parents=True, exist_ok=True)
    settings = records / "coverage.ini"
    settings.write_text(f"[run]\nsource = {checkout}\nomit = */tests/*,*/benchmarks/*,*/demo/*,*/tools/*\n")
    for part in PARTS:
        command = pytest_command(
            NEWEST, f"tests/{part}", "-n", str(WORKERS), "--dist", "loadfile", "--no-loadscope-reorder", "--cov",
            f"--cov-config={settings}", "--cov-context=test", "--cov-report=", f"--junitxml={records / part}.xml",
        )  # fmt: skip
        environment = {**one_thread(), "COVERAGE_FILE": str(records / f"{part}.cov")}
        subprocess.run(command, cwd=checkout, env=environment, check=False)


def lines_of_named(source: str, lines: range) -> list[int]:
    """Lines of the functions and classes of a module that some of its lines name, as tables do."""
    text = "\n".join(source.splitlines()[lines.start - 1 : lines.stop - 1])
    names = set(re.findall(r"\w+", text))
    defined = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return [line for node in defined if node.name in names for line in range(node.lineno, (node.end_lineno or 0) + 1)]


class Record:
    """What `record` has found of one part of the tests."""

    def __init__(self, records: Path, part: str, checkout: Path) -> None:
        self.checkout = checkout
        self.data = CoverageData(str(records / f"{part}.cov"))
        self.data.read()
        self.seconds: Counter[str] = Counter()
        for case in xml.etree.ElementTree.parse(records / f"{part}.xml").iter("testcase"):
            module = case.get("classname", "").replace(".", "/")
            self.seconds[f"{module}.py::{case.get('name')}"] += float(case.get("time", 0))

    def tests_of(self, file: str, lines: range) -> list[str]:
        """Tests that reach the lines, in turns; else the functions that are named there; else most of the file."""
        found = self.data.contexts_by_lineno(str(self.checkout / file))
        source = (self.checkout / file).read_text(encoding="utf-8")
        for choice in (lines, lines_of_named(source, lines)):
            reached = {context for line in choice for context in found.get(line, ()) if context}
            if reached:
                break
        if not reached:
            counts = Counter(context.rpartition("|")[0] for contexts in found.values() for context in contexts)
            counts.pop("", None)
            return [name for name, _ in counts.most_common(20)]
        names = {context.rpartition("|")[0] for context in reached}
        return self.in_turns(name for name in names if name.isprintable())

    def in_turns(self, tests: Iterable[str]) -> list[str]:
        """The quickest case of each function first, the quickest of them in front; then their second cases; ..."""
        cases: Counter[str] = Counter()
        places = {}
        for test in sorted(tests, key=self.seconds.__getitem__):
            function = test.partition("[")[0]
            cases[function] += 1
            places[test] = cases[function], self.seconds[test]
        return sorted(places, key=places.__getitem__)

    def first_of(self, tests: list[str], limit: float) -> Iterator[str]:
        """As many as took no longer than the limit, in seconds, but for the last."""
        for test in tests:
            limit -= self.seconds[test]
            yield test
            if limit < 0:
                return


# Planting


def copy_checkout(checkout: Path, folder: Path) -> Path:
    """The files that git knows, beside the real characters where there are any."""
    copy = folder / "supple"
    files = subprocess.run(["git", "ls-files", "-z"], cwd=checkout, capture_output=True, text=True, check=True).stdout
    for file in filter(None, files.split("\0")):
        if (checkout / file).is_file():
            (copy / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(checkout / file, copy / file)
    if (ROOT.parent / "shared").is_dir():
        (folder / "shared").symlink_to(ROOT.parent / "shared")
    return copy


def find(fault: Fault, copy: Path, records: dict[str, Record], limit: float) -> str:
    """Run the tests that may find a planted fault: the first that fails, or nothing."""
    lines = fault.lines((copy / fault.file).read_text(encoding="utf-8"))
    fault.plant(copy)
    for part in PARTS:
        if fault.blender != NEWEST:
            chosen = ["tests/blender", "-m", "versions"] if part == "blender" else []
        else:
            record = records[part]
            chosen = [f"tests/{test}" for test in record.first_of(record.tests_of(fault.file, lines), limit)]
        if not chosen:
            continue
        listed = copy.parent / "tests.txt"
        listed.write_text("\n".join(chosen), encoding="utf-8")
        command = pytest_command(fault.blender, "-x", "-q", f"@{listed}")
        try:
            answer = subprocess.run(
                command, cwd=copy, env=one_thread(), capture_output=True, text=True, timeout=TIMEOUT, check=False
            )
        except subprocess.TimeoutExpired:
            return f"{part}: no end after {TIMEOUT} s"
        if answer.returncode == 4 and "not found: " in answer.stderr:
            raise ValueError(f"{fault.name}: {answer.stderr[-300:]}")
        if answer.returncode not in (0, 5):  # 5: no tests were collected
            failed = [line for line in answer.stdout.splitlines() if line.startswith(("FAILED", "ERROR", "SUBFAILED"))]
            return failed[0][:160] if failed else f"{part}: exit code {answer.returncode}: {answer.stdout[-200:]!r}"
    return ""


def plant_all(faults: list[Fault], checkout: Path, records: Path, limit: float) -> None:
    """Plant each fault, two at a time in two copies; write and print what finds it. What was found before stays."""
    results = records / "found.json"
    recorded = {part: Record(records, part, checkout) for part in PARTS}
    copies: SimpleQueue[Path] = SimpleQueue()
    found: dict[str, str] = json.loads(results.read_text()) if results.is_file() else {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(WORKERS):
            copies.put(copy_checkout(checkout, Path(folder, str(number))))

        def try_one(fault: Fault) -> None:
            copy = copies.get()
            source = (copy / fault.file).read_text(encoding="utf-8")
            try:
                found[fault.name] = find(fault, copy, recorded, limit)
            except ValueError as error:
                found[fault.name] = f"NOT PLANTED: {error}"
            finally:
                (copy / fault.file).write_text(source, encoding="utf-8")
                copies.put(copy)
            print(f"{'found' if found[fault.name] else 'LOST':<6} {fault.name:<32} {found[fault.name]}", flush=True)

        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(try_one, faults))
            results.write_text(json.dumps(found, indent=1) + "\n")
    print(f"{sum(map(bool, found.values()))} of {len(found)} found")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("record", "plant"))
    parser.add_argument("--checkout", type=Path, default=ROOT, help="whose product and tests; default: this one")
    parser.add_argument("--records", type=Path, default=ROOT / "dist" / "faults", help="folder of what was recorded")
    parser.add_argument("--table", type=Path, default=TABLE, help="faults to plant")
    parser.add_argument("--only", nargs="*", help="names of faults")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of tests, as recorded, for one fault; 120")
    arguments = parser.parse_args()
    checkout, records = arguments.checkout.resolve(), arguments.records.resolve()
    if arguments.action == "record":
        record(checkout, records)
        return 0
    faults = [fault for fault in read_faults(arguments.table) if arguments.only is None or fault.name in arguments.only]
    plant_all(faults, checkout, records, arguments.limit)
    return 0


if __name__ == "__main__":
    sys.exit(main())
