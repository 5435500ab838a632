"""The zip that users install: built by Blender's own builder, holding the product and nothing else, and working."""

import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SESSION = Path(__file__).with_name("installed_session.py")
FILES = {"__init__", "options", "registration", "preview"}
FOLDERS = {"deformers", "nodes", "bridge", "settings", "tasks", "viewport", "operators", "ui", "cli", "translations"}
TRANSLATIONS = {"translations/ja_JP.json"}
PRESETS = {path.relative_to(ROOT).as_posix() for path in (ROOT / "presets").rglob("*.json")}
JOB_FILES = {"tasks/farm/supple-bake.js", "tasks/farm/readme-openjd.txt", "tasks/farm/readme-flamenco.txt"}
EXAMPLE = {f"demo/human/{name}" for name in ("human.blend", "README.md", "CC0-1.0.md")}
PAGES = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md")}
DOCUMENTS = {"blender_manifest.toml", "LICENSE", "README.md", "README.ja.md", "CHANGELOG.md"}


def blender_ext(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command line of Blender's extension builder, which comes with bpy and does not import it."""
    spec = importlib.util.find_spec("bpy")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    (builder,) = Path(spec.submodule_search_locations[0]).glob("*/scripts/addons_core/bl_pkg/cli/blender_ext.py")
    return subprocess.run(
        [sys.executable, builder, *arguments], capture_output=True, text=True, check=False, timeout=120
    )


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    answer = blender_ext("build", "--source-dir", ROOT, "--output-dir", folder)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    (path,) = folder.glob("supple-*.zip")
    return path


def names_in(package: Path) -> set[str]:
    with zipfile.ZipFile(package) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


def test_the_package_holds_the_product_and_nothing_else(package: Path) -> None:
    modules = {f"{name}.py" for name in FILES}
    modules |= {path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}
    assert {Path(name).parts[0] for name in modules} == {f"{name}.py" for name in FILES} | FOLDERS
    assert PRESETS
    assert names_in(package) == modules | PRESETS | TRANSLATIONS | JOB_FILES | EXAMPLE | PAGES | DOCUMENTS


def test_the_package_is_valid(package: Path) -> None:
    answer = blender_ext("validate", package)
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_a_broken_manifest_is_refused(tmp_path: Path) -> None:
    manifest = (ROOT / "blender_manifest.toml").read_text(encoding="utf-8")
    (tmp_path / "blender_manifest.toml").write_text(
        manifest.replace('type = "add-on"', 'type = "toy"'), encoding="utf-8"
    )
    (tmp_path / "__init__.py").touch()
    assert blender_ext("validate", tmp_path).returncode != 0


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
