"""Every place that reads a file, or text that a file stores, and every place that prints: and the test that tries it.

A new one has no row, and fails here: give it a row and the values to try.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("bridge", "cli", "deformers", "nodes", "operators", "settings", "tasks", "translations", "ui", "viewport")

READING = {"open", "open_regular", "read_text", "read_bytes", "load", "memmap", "fromfile", "fdopen", "loads"}
READING |= {"open_mainfile", "parse_json", "read_json"}
PRINTING = {"print_line"}

OWN = "comes with Supple, or is written and read by one process"
FILES = partial("tests/blender/bad_input/test_files_read.py::{}".format)
CORRECTIONS = partial("tests/blender/bad_input/test_stored_corrections.py::{}".format)
ORDERS = "tests/farm/test_openjd.py::test_a_file_gives_no_orders_to_the_engine"
PRINTED = "tests/blender/bad_input/test_hostile_files.py::test_what_is_printed_stays_in_its_line"
NAMES = "tests/blender/bad_input/test_hostile_files.py::test_names_are_only_names"

TRIED = {
    "bridge/files/blend_files.py open_file": FILES("test_files_that_are_no_blend_files"),
    "bridge/files/blend_files.py save_copy": "tests/blender/test_full_disk.py::test_a_full_disk_loses_nothing",
    "bridge/files/child.py Child.share": OWN,
    "bridge/files/child.py Child.take": OWN,
    "bridge/files/child.py answer_orders": OWN,
    "bridge/files/child.py unpack": OWN,
    "bridge/files/exchange.py run_session": NAMES,
    "bridge/files/exchange.py read_share": OWN,
    "bridge/files/exchange.py _check_room": OWN,
    "bridge/files/exchange_session.py main": OWN,
    "bridge/files/exchange_session.py _report": OWN,
    "bridge/files/exchange_session.py _export": OWN,
    "bridge/files/exchange_session.py _measure": OWN,
    "bridge/files/exchange_session.py _read_target": OWN,
    "bridge/images/pictures.py Page.render": OWN,
    "bridge/files/writing.py open_replacing": "tests/unit/bridge/test_files.py",
    "bridge/files/writing.py open_regular": "tests/unit/bridge/test_files.py",
    "bridge/files/writing.py digest_file": FILES("test_a_part_that_changes_or_goes_meanwhile"),
    "bridge/files/writing.py parse_json": CORRECTIONS("test_a_correction"),
    "bridge/files/writing.py read_json": FILES("test_saved_patterns"),
    "bridge/files/writing.py _flush": "tests/unit/bridge/test_files.py",
    "bridge/files/writing.py name_machine": OWN,
    "bridge/images/data.py load_image": "tests/blender/test_images.py::test_unreadable_file_is_told_with_its_path",
    "bridge/files/point_caches.py open_cache": FILES("test_caches_to_join"),
    "cli/bakes.py apply_bakes": OWN,
    "cli/messages.py _print_line": ORDERS,
    "cli/messages.py answer": ORDERS,
    "tasks/manifest.py read_manifest": OWN,
    "tasks/bake/parts.py Part.read": "tests/blender/test_bake_parts.py::test_only_what_is_whole_counts",
    "tasks/subject/corrected.py _read_rows": CORRECTIONS("test_a_correction"),
    "tasks/corrections/posed_copy.py State._unpack": CORRECTIONS("test_a_posed_copy"),
    "tasks/corrections/poses.py parse_bone_pose": CORRECTIONS("test_a_correction"),
    "tasks/engine_copy/export.py write_file": OWN,
    "tasks/engine_copy/plan.py read_examples": OWN,
    "tasks/engine_copy/plan.py write_targets": OWN,
    "tasks/engine_copy/report.py Report.from_json": "test_a_report_that_was_tampered_with_is_none",
    "tasks/example.py add_example": OWN,
    "tasks/farm/flamenco.py describe": OWN,
    "tasks/farm/openjd.py _render_step": OWN,
    "tasks/farm/readme.py describe_submission": OWN,
    "bridge/files/render_frames.py _copy_stream": OWN,
    "bridge/files/render_frames.py guarded_output": OWN,
    "bridge/files/render_frames.py _redirect": OWN,
    "bridge/files/render_frames.py main": ORDERS,
    "tasks/patterns/library.py saved_entries": FILES("test_saved_patterns"),
    "tasks/patterns/maps.py _write_sidecar": FILES("test_descriptions_of_height_maps"),
    "tasks/skin/live.py _show": PRINTED,
    "tasks/subject/rig_presets.py _read_changed": (
        "tests/blender/test_rig_presets.py::test_files_that_are_none_block_no_others"
    ),
    "translations/__init__.py read_phrases": OWN,
}
"""By file and function, the test that tries odd values there; or why nobody else can have written what is read."""


def find_places() -> Iterator[str]:
    """File and function of each call that reads or prints."""
    for path in (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))):
        file = path.relative_to(ROOT).as_posix()
        yield from (f"{file} {name}" for name in _find_in(ast.parse(path.read_text(encoding="utf-8")), ""))


def _find_in(node: ast.AST, function: str) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        name = function
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            name = f"{function}.{child.name}".lstrip(".")
        elif isinstance(child, ast.Call):
            called = getattr(child.func, "id", "") or getattr(child.func, "attr", "")
            if called in READING | PRINTING:
                yield function
        yield from _find_in(child, name)


def test_all_that_is_read_and_printed_is_tried() -> None:
    assert sorted(set(find_places())) == sorted(TRIED)


def test_what_tries_it_is_there() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in Path(ROOT, "tests").rglob("test_*.py")}
    for tried in set(TRIED.values()) - {OWN}:
        file, _, test = tried.rpartition("::") if "::" in tried or not tried.endswith(".py") else (tried, "", "")
        texts = [text for path, text in sources.items() if path.as_posix().endswith(file)]
        assert any(re.search(rf"^def {test}\(" if test else "^def test_", text, re.MULTILINE) for text in texts), tried
