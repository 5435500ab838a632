"""Make the site of this version in build/site, and check it: python tools/make_site.py

    build/site/index.html      leads to the newest version
    build/site/versions.json   the versions there are, for the menu of the pages
    build/site/1.0/            the pages

Folders of other versions in build/site stay. Prints what is broken, one line each, and then exits with 1: links,
sections, pictures that lack a file, a size or a text, pages that Supple's panels name, a start page that is too large.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

from manual_site.pages import MANIFEST, ROOT, list_panel_pages, short_version

SETTINGS = ROOT / "tools" / "manual_site" / "mkdocs.yml"
SITE = ROOT / "build" / "site"
START_PAGES = ("index.html", "ja/index.html")
LARGEST = 2_000_000
"""Bytes of a start page with all that it loads."""

LOADING = {("link", "href"), ("script", "src"), ("img", "src"), ("source", "src")}
REDIRECT = """<!doctype html>
<meta charset="utf-8">
<title>{name}</title>
<meta http-equiv="refresh" content="0; url={version}/">
<link rel="canonical" href="{version}/">
<a href="{version}/">{name} {version}</a>
"""


@dataclass
class Read(HTMLParser):
    """What a page links, loads and shows."""

    text: str
    names: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    pictures: list[dict[str, str | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.names.update(name for name in (given.get("id"), given.get("name")) if name)
        if tag == "img":
            self.pictures.append(given)
        for key in ("href", "src"):
            if address := given.get(key):
                is_loaded = (tag, key) in LOADING and given.get("rel") not in ("canonical", "alternate", "prev", "next")
                (self.loads if is_loaded else self.links).append(address)


def build(folder: Path) -> None:
    """Let MkDocs make the pages; raises SystemExit with what it warns of."""
    shutil.rmtree(folder, ignore_errors=True)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tools"), "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--config-file", SETTINGS, "--site-dir", folder]
    if subprocess.run(command, check=False, env=environment).returncode:
        raise SystemExit("The site was not made: see the lines above")


def write_versions(site: Path) -> None:
    """Write which versions there are, and lead the start of the site to the newest."""
    found = [path.name for path in site.iterdir() if re.fullmatch(r"\d+\.\d+", path.name)]
    versions = sorted(found, key=lambda name: [*map(int, name.split("."))], reverse=True)
    described = [{"version": name, "title": name, "aliases": ["latest"] * (name == versions[0])} for name in versions]
    (site / "versions.json").write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")
    start = REDIRECT.format(name=MANIFEST["name"], version=versions[0])
    (site / "index.html").write_text(start, encoding="utf-8")
    (site / ".nojekyll").touch()  # GitHub's pages are to be served as they are


def check(folder: Path, base: str) -> Iterator[str]:
    """Yield what is broken in the pages of a folder, whose address is `base`."""
    pages = {path: Read(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    counts = {"links": 0, "to other sites": 0, "pictures": 0, "from panels": 0}
    for path, page in pages.items():
        name, here = path.relative_to(folder).as_posix(), urljoin(base, path.relative_to(folder).as_posix())
        for link in (*page.links, *page.loads):
            address, section = urldefrag(urljoin(here, link))
            if not address.startswith(base):
                counts["to other sites"] += 1
                continue
            counts["links"] += 1
            target = find_file(folder, address.removeprefix(base))
            if target is None:
                yield f"{name}: {link} is not there"
            elif section and name != "404.html" and unquote(section) not in pages[target].names:
                yield f"{name}: {link}: there is no such section"
        for picture in page.pictures:
            counts["pictures"] += 1
            lacking = [key for key in ("src", "width", "height") if not picture.get(key)]
            lacking += ["alt"] if "alt" not in picture else []
            yield from (f"{name}: {picture.get('src')}: the picture has no {key}" for key in lacking)
    for page in list_panel_pages():
        counts["from panels"] += 1
        address, section = urldefrag(page)
        if folder / address not in pages:
            yield f"panels: {page} is not there"
        elif section and section not in pages[folder / address].names:
            yield f"panels: {page}: there is no such section"
    for start in START_PAGES:
        size = measure(folder, start, pages[folder / start])
        sys.stdout.write(f"{start}: {size:,} bytes with all that it loads\n")
        if size > LARGEST:
            yield f"{start}: {size:,} bytes are more than {LARGEST:,}"
    sys.stdout.write(f"{len(pages)} pages, {', '.join(f'{count} {what}' for what, count in counts.items())}\n")


def find_file(folder: Path, address: str) -> Path | None:
    path = folder / unquote(address).partition("?")[0]
    path = path / "index.html" if path.is_dir() else path
    return path if path.is_file() else None


def measure(folder: Path, name: str, page: Read) -> int:
    """Bytes of a page and all that it loads, with text compressed as servers send it."""
    loaded = {find_file(folder, urljoin(name, address)) for address in page.loads if ":" not in address}
    loaded |= {folder / name, *folder.glob("search/*.js*"), *folder.glob("assets/javascripts/workers/*.js")}
    return sum(len(gzip.compress(path.read_bytes())) for path in loaded if path)


def main() -> int:
    version = short_version()
    build(SITE / version)
    write_versions(SITE)
    found = [*check(SITE / version, f"{MANIFEST['website']}{version}/")]
    sys.stdout.write("".join(f"{line}\n" for line in found) or "0 broken, 0 missing\n")
    sys.stdout.write(f"{SITE / 'index.html'}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
