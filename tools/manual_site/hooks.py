"""What MkDocs asks while it makes the site: pages from outside docs/, links among them, sizes of pictures, the version."""

from __future__ import annotations

import logging
import posixpath
import re
import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
ASSETS = Path(__file__).resolve().parent / "assets"
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

EAGER = 1
"""Pictures of a page that are loaded before one scrolls to them."""

LINK = re.compile(r"(?<=\]\()([^)#:\s]+)(?=[)#])")
MANIFEST: dict[str, Any] = tomllib.loads((ROOT / "blender_manifest.toml").read_text(encoding="utf-8"))
log = logging.getLogger("mkdocs.hooks")


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


# MkDocs calls these by their names


def on_config(config: Any) -> None:
    config.site_name = MANIFEST["name"]
    config.site_description = MANIFEST["tagline"]
    config.site_url = f"{MANIFEST['website']}{short_version()}/"
    config.copyright = f"{MANIFEST['name']} {MANIFEST['version']}, GPL-3.0-or-later"
    config.extra["repository"] = f"{MANIFEST['website']}extensions/index.json"
    config.extra["extensions"] = f"{MANIFEST['website']}extensions/"


def on_files(files: Files, config: Any) -> None:
    for path, name in PAGES.items():
        text = (ROOT / path).read_text(encoding="utf-8")
        if not path.endswith(".md"):
            text = f"# {path.capitalize()}\n\n```\n{text}```\n"
        files.append(File.generated(config, name, content=text))
    for path in ASSETS.iterdir():
        files.append(File.generated(config, f"assets/{path.name}", abs_src_path=str(path)))


def on_page_markdown(markdown: str, page: Page, **_others: Any) -> str:
    """Links as they are on the site, and nested lists as Python-Markdown wants them."""
    name = page.file.src_uri
    folder = posixpath.dirname(name_in_project(name))

    def replace(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, found[0]))
        there = name_on_site(target)
        if there is None:
            log.warning("'%s' links '%s', which is not on the site", name, target)
            return found[0]
        return posixpath.relpath(there, posixpath.dirname(name) or ".")

    blocks = re.split(r"(^```.*?^```)", markdown, flags=re.DOTALL | re.MULTILINE)
    blocks[::2] = [re.sub(r"^   (?=\S)", "    ", LINK.sub(replace, block), flags=re.MULTILINE) for block in blocks[::2]]
    return "".join(blocks)


def on_page_content(html: str, page: Page, files: Files, **_others: Any) -> str:
    """Give pictures their sizes, so that nothing moves while they load."""
    count = 0

    def replace(found: re.Match[str]) -> str:
        nonlocal count
        count += 1
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page.file.src_uri), found["src"]))
        file = files.get_file_from_path(target)
        if file is None:
            log.warning("'%s' shows '%s', which is not there", page.file.src_uri, target)
            return found[0]
        width, height = read_size(Path(file.abs_src_path))
        loading = "eager" if count <= EAGER else "lazy"
        return f'<img width="{width}" height="{height}" loading="{loading}" decoding="async" {found["rest"]}'

    return re.sub(r'<img (?P<rest>[^>]*?src="(?P<src>[^":]+)")', replace, html)


def on_post_page(output: str, page: Page, **_others: Any) -> str:
    if page.file.src_uri.startswith("ja/"):
        return output.replace('<html lang="en"', '<html lang="ja"', 1)
    return output


def read_size(path: Path) -> tuple[int, int]:
    """Width and height of a PNG, WebP or SVG picture, in pixels; raises ValueError for another."""
    data = path.read_bytes()
    if data.startswith(b"\x89PNG"):
        return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    if data[8:16] == b"WEBPVP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    if path.suffix == ".svg":
        attributes = ElementTree.fromstring(data).attrib
        return int(attributes["width"]), int(attributes["height"])
    raise ValueError(f"{path}: neither PNG, WebP (extended) nor SVG")
