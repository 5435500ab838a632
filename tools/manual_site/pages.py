"""Which pages the site has, and where: for MkDocs, and for what checks them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from house_rules import read_product
from house_rules.translations import text_of

ROOT = Path(__file__).resolve().parents[2]
MANIFEST: dict[str, Any] = tomllib.loads((ROOT / "blender_manifest.toml").read_text(encoding="utf-8"))
PAGES = {
    "README.md": "overview.md",
    "README.ja.md": "ja/overview.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "LICENSE": "license.md",
    "benchmarks/rankings/README.md": "rankings.md",
    "demo/human/README.md": "human.md",
    "demo/human/CC0-1.0.md": "human-license.md",
}
"""Pages that are not in docs/, and their names on the site."""


def short_version(manifest: dict[str, Any] = MANIFEST) -> str:
    """Major and minor: the folder of the site that holds the pages of a version."""
    return "{}.{}".format(*manifest["version"].split("."))


def name_on_site(path: str) -> str | None:
    """The name that a file of the project has on the site; None for one that is not there."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return PAGES.get(path)


def name_in_project(name: str) -> str:
    """The other way round."""
    return next((path for path, known in PAGES.items() if known == name), f"docs/{name}")


def list_panel_pages() -> Iterator[str]:
    """The pages, with their sections, that the question marks of the panels and F1 lead to: "weights.html#mirror"."""
    for source in read_product():
        if source.part == "ui":
            texts = map(text_of, source.nodes)
            yield from (text for text in texts if re.fullmatch(r"[\w-]+\.html(#[\w-]+)?", text))
