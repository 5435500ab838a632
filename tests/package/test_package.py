"""The zip that users install: built by Blender's own builder, holding the product and nothing else, and working."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

from builder import run_builder

ROOT = Path(__file__).resolve().parents[2]
SESSION = Path(__file__).with_name("installed_session.py")
FILES = {"__init__", "api", "live", "options", "registration"}
FOLDERS = {"deformers", "nodes", "bridge", "settings", "tasks", "viewport", "operators", "ui", "cli", "translations"}
TRANSLATIONS = {"translations/ja_JP.json"}
PRESETS = {path.relative_to(ROOT).as_posix() for path in (ROOT / "presets").rglob("*.json")}
JOB_FILES = {"tasks/farm/supple-bake.js", "tasks/farm/readme-openjd.txt", "tasks/farm/readme-flamenco.txt"}
EXAMPLE = {f"demo/human/{name}" for name in ("human.blend", "README.md", "CC0-1.0.md")}
DOCUMENTS = {"blender_manifest.toml", "LICENSE"}


def names_in(package: Path) -> set[str]:
    with zipfile.ZipFile(package) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


def test_the_package_holds_the_product_and_nothing_else(package: Path) -> None:
    modules = {f"{name}.py" for name in FILES}
    modules |= {path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}
    assert {Path(name).parts[0] for name in modules} == {f"{name}.py" for name in FILES} | FOLDERS
    assert PRESETS
    assert names_in(package) == modules | PRESETS | TRANSLATIONS | JOB_FILES | EXAMPLE | DOCUMENTS


def test_the_package_is_valid(package: Path) -> None:
    answer = run_builder("validate", package)
    assert answer.returncode == 0, answer.stdout


def test_a_broken_manifest_is_refused(tmp_path: Path) -> None:
    manifest = (ROOT / "blender_manifest.toml").read_text(encoding="utf-8")
    (tmp_path / "blender_manifest.toml").write_text(
        manifest.replace('type = "add-on"', 'type = "toy"'), encoding="utf-8"
    )
    (tmp_path / "__init__.py").touch()
    assert run_builder("validate", tmp_path).returncode != 0


def test_the_installed_extension_works_and_leaves_nothing_behind(package: Path, tmp_path: Path) -> None:
    answer = subprocess.run(
        [sys.executable, SESSION, package],
        env={**os.environ, "BLENDER_USER_RESOURCES": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "Traceback" not in answer.stderr, answer.stderr
