"""The manual: the page of each panel, behind a question mark in its header, and of each button, behind F1."""

from __future__ import annotations

from pathlib import Path

import bpy

MANUAL = (Path(__file__).resolve().parents[1] / "docs").as_uri()
"""Where the pages are: their names follow a slash."""

PAGES = (
    ("supple.weight*", "weights.md"),
    ("supple.handles*", "handles.md"),
    ("supple.pattern*", "patterns.md"),
    ("supple.correct*", "corrections.md"),
    ("supple.flesh*", "corrections.md"),
    ("supple.check*", "checks.md"),
    ("supple.side_by_side*", "side-by-side.md"),
    ("supple.engine_copy*", "engine-copy.md"),
    ("supple.send_to_farm*", "farms.md"),
    ("supple.make_independent*", "nodes.md"),
    ("supple.motion*", "motions.md"),
    ("supple.swing*", "swing.md"),
    ("supple.drag_skin*", "posing.md"),
    ("supple.clear_pins*", "posing.md"),
    ("supple.*", "README.md"),
)
"""Operators and their pages; the first that fits counts."""


def find_page(page: str) -> str:
    """The address of a page."""
    return f"{MANUAL}/{page}"


def list_addresses() -> tuple[str, tuple[tuple[str, str], ...]]:
    """What Blender looks up at F1."""
    return f"{MANUAL}/", tuple((f"bpy.ops.{pattern}", page) for pattern, page in PAGES)


def register() -> None:
    bpy.utils.register_manual_map(list_addresses)


def unregister() -> None:
    bpy.utils.unregister_manual_map(list_addresses)
