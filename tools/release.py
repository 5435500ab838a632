"""Make a release in dist/release, and check that version, changelog and tag agree: python tools/release.py [--untagged]

    extensions/supple-1.0.0.zip   what users install
    extensions/index.json         the repository that Blender subscribes to
    extensions/index.html         the same to read, with links that can be dragged into Blender
    SHA256SUMS                    digests of these, as `sha256sum --check` reads them
    notes.md                      what the changelog says of this version

Runs in a Python that has Blender as a module, whose builder makes the first three.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from builder import run_builder

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "dist" / "release"
TEMPLATE = ROOT / "tools" / "manual_site" / "extensions.html"
RESERVED = ".example/"
"""The end of an address that nobody can have."""


def read_section(changelog: str, version: str) -> str | None:
    """What a changelog says of a version, without its heading; None where it has no section of it."""
    found = re.search(
        rf"^## \[{re.escape(version)}\](?: - \d{{4}}-\d\d-\d\d)?\n(.*?)(?=^## |\Z)", changelog, re.DOTALL | re.MULTILINE
    )
    return found[1].strip() if found else None


def find_disagreements(manifest: dict[str, Any], changelog: str, tags: list[str] | None) -> Iterator[str]:
    """Yield what does not agree.

    Parameters
    ----------
    tags : list of str or None
        Of the commit that is released; None where it need not have one.
    """
    version, newest = manifest["version"], re.search(r"^## \[(\d[^]]*)\](.*)", changelog, re.MULTILINE)
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        yield f"blender_manifest.toml: version {version} is not of the form 1.0.0"
    if newest is None or newest[1] != version:
        yield f"CHANGELOG.md: its newest version is {newest and newest[1]}, not {version} as in blender_manifest.toml"
    elif not re.fullmatch(r" - \d{4}-\d\d-\d\d", newest[2]):
        yield f"CHANGELOG.md: version {version} has no date: ## [{version}] - 2026-12-31"
    if read_section(changelog, version) == "":
        yield f"CHANGELOG.md: version {version} is empty"
    if read_section(changelog, "Unreleased"):
        yield f"CHANGELOG.md: what is under [Unreleased] belongs under [{version}], or into a later release"
    if tags is not None and f"v{version}" not in tags:
        yield f"The commit has no tag v{version} (its tags: {', '.join(tags) or 'none'}): git tag v{version}"
    if tags is not None and manifest["website"].endswith(RESERVED):
        yield f"blender_manifest.toml: website is still {manifest['website']}: write where the site will be"


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, encoding="utf-8", check=True).stdout


def run(*arguments: str | Path) -> None:
    """Run the builder; raises SystemExit with what it says where it fails."""
    answer = run_builder(*arguments)
    if answer.returncode:
        raise SystemExit(f"{' '.join(map(str, arguments))} failed:\n{answer.stdout}")


def make_repository(folder: Path, source: Path) -> Path:
    """Build the zip of a checkout, and the repository of it alone; returns the zip."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run("build", "--source-dir", source, "--output-dir", folder)
    (package,) = folder.glob("*.zip")
    run("validate", package)
    run("server-generate", "--repo-dir", folder, "--html", "--html-template", TEMPLATE)
    return package


def write_digests(folder: Path) -> None:
    """Write the digests of all files of a folder into its SHA256SUMS."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}" for path in files
    ]
    (folder / "SHA256SUMS").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--untagged", action="store_true", help="to try it: no tag, no address, changes not committed")
    is_tried = parser.parse_args().untagged
    manifest = tomllib.loads((ROOT / "blender_manifest.toml").read_text(encoding="utf-8"))
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    wrong = [*find_disagreements(manifest, changelog, None if is_tried else git("tag", "--points-at", "HEAD").split())]
    if not is_tried and git("status", "--porcelain"):
        wrong.append("There are changes that are not committed: commit them, or put them away")
    if wrong:
        sys.stderr.write("\n".join(wrong) + "\n")
        return 1
    shutil.rmtree(FOLDER, ignore_errors=True)
    package = make_repository(FOLDER / "extensions", ROOT)
    write_digests(FOLDER)
    notes = f"{read_section(changelog, manifest['version'])}\n"
    (FOLDER / "notes.md").write_text(notes, encoding="utf-8", newline="\n")
    sys.stdout.write(f"{package}: {package.stat().st_size:,} bytes\n{FOLDER / 'notes.md'}: {len(notes):,} letters\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
