"""What MkDocs asks while it makes the site: pages from outside docs/, links among them, sizes of pictures, version."""

from __future__ import annotations

import logging
import posixpath
import re
from html import escape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from list_messages import write_page
from manual_site.pages import MANIFEST, PAGES, ROOT, name_in_project, name_on_site, short_version
from mkdocs.structure.files import File, Files  # pyright: ignore[reportMissingImports]
from mkdocs.structure.pages import Page  # pyright: ignore[reportMissingImports]

ASSETS = Path(__file__).resolve().parent / "assets"
WIDE = ("README.md", "ja/README.md", "gallery.md", "errors.md")
"""Pages without lists of pages and sections beside them."""

ALONE = ("choose.md", "overview.md", "ja/overview.md")
"""Pages with a tab of their own."""

UNSEARCHED = (
    *("changelog.md", "contributing.md", "conventions.md", "where.md", "blender-bugs.md"),
    *("license.md", "human.md", "human-license.md", "rankings.md"),
)
"""Pages that the search leaves out: users look for nothing there, and each visitor loads all that the search knows."""

EAGER = 1
"""Pictures of a page that are loaded before one scrolls to them."""

LINK = re.compile(r"(?<=\]\()([^)#:\s]+)(?=[)#])")
log = logging.getLogger("mkdocs.hooks")


def write_gallery(files: Files) -> str:
    """A page with every picture of the pages for riggers, once, with what it shows and where that is explained."""
    figures: dict[str, str] = {}
    for file in files.documentation_pages():
        if file.src_uri in ("README.md", "how-it-works.md", *PAGES.values()) or file.src_uri.startswith("ja/"):
            continue
        title = re.search("^# ([^:\n]*)", file.content_string, flags=re.MULTILINE)
        link = f'<a href="{file.url}">{escape(title[1] if title else file.name)}</a>'
        for text, picture in re.findall(r"!\[([^\]]+)\]\(([^)]+)\)", file.content_string):
            caption = f"{escape(' '.join(text.split()))}. {link}"
            figures.setdefault(
                picture, f'<figure><img src="{picture}" alt=""><figcaption>{caption}</figcaption></figure>'
            )
    return '# Gallery\n\n<div class="gallery">\n' + "\n".join(figures.values()) + "\n</div>\n"


# MkDocs calls these by their names


def on_config(config: Any) -> None:
    config.site_name = MANIFEST["name"]
    config.site_description = MANIFEST["tagline"]
    config.site_url = f"{MANIFEST['website']}{short_version()}/"
    config.copyright = f"{MANIFEST['name']} {MANIFEST['version']}, GPL-3.0-or-later"
    config.extra["repository"] = f"{MANIFEST['website']}extensions/index.json"


def on_files(files: Files, config: Any) -> None:
    for path, name in PAGES.items():
        text = (ROOT / path).read_text(encoding="utf-8")
        if not path.endswith(".md"):
            text = f"# {path.capitalize()}\n\n```\n{text}```\n"
        files.append(File.generated(config, name, content=text))
    files.append(File.generated(config, "errors.md", content=write_page()))
    files.append(File.generated(config, "gallery.md", content=write_gallery(files)))
    for path in ASSETS.iterdir():
        files.append(File.generated(config, f"assets/{path.name}", abs_src_path=str(path)))


def on_page_markdown(markdown: str, page: Page, **_others: Any) -> str:
    """Links as they are on the site, and nested lists as Python-Markdown wants them."""
    name = page.file.src_uri
    if name in (*WIDE, *ALONE):
        page.meta["hide"] = ["navigation", "toc"] if name in WIDE else ["navigation"]
    if name in UNSEARCHED:
        page.meta["search"] = {"exclude": True}
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
