"""A process that does all that Supple writes, where the disk is full or until it is killed.

    python write_session.py full SOURCE OUTPUT WRITES POINTS [DISK]    each on a disk that is full at so many points
    python write_session.py go-on SOURCE OUTPUT WRITES                 all, over and over

SOURCE holds what `scenes_files.make_sources` has made, WRITES are names with commas between. A full disk is a limit of
how long files may get (RLIMIT_FSIZE); with DISK, which OUTPUT is on, a file that fills it. Prints for each write, as
JSON, what is not as it must be.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import bpy

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import checkout

BODY = ("--object", "Tube")
BY_PYTHON = ("--evaluate", "python")  # quicker: no node groups are built
CHECKED = ("--frames", "1-2", "--methods", "SSD")
COPIED = ("--target", "usd", "--keys", "0", "--bend", "0")
COMMANDS = {
    "bake pc2": ("bake", "SOURCE/bound.blend", *BODY, "--output", "OUTPUT/body.pc2"),
    "bake shape keys": ("bake", "SOURCE/bound.blend", *BODY, "--format", "shape-keys", "--output", "OUTPUT/keys.blend"),
    "bake --save": ("bake", "SOURCE/bound.blend", *BODY, "--output", "OUTPUT/b.pc2", "--save", "OUTPUT/plays.blend"),
    "bind": ("bind", "SOURCE/plain.blend", *BY_PYTHON, "--output", "OUTPUT/bound.blend"),
    "bind compressed": ("bind", "SOURCE/compressed.blend", *BY_PYTHON, "--output", "OUTPUT/small.blend"),
    "weights": ("weights", "SOURCE/plain.blend", "--output", "OUTPUT/weights.blend"),
    "weights compressed": ("weights", "SOURCE/compressed.blend", "--output", "OUTPUT/small-weights.blend"),
    "patterns png16": ("patterns", "SOURCE/bound.blend", "--width", "64", "--output", "OUTPUT/png"),
    "patterns exr": ("patterns", "SOURCE/bound.blend", "--width", "64", "--format", "exr", "--output", "OUTPUT/exr"),
    "join": ("join", "SOURCE/early.pc2", "SOURCE/late.pc2", "--output", "OUTPUT/joined.pc2"),
    "bake --all": ("bake", "SOURCE/bound.blend", "--all", "--output", "OUTPUT/all"),
    "bake --part": ("bake", "SOURCE/bound.blend", "--all", "--part", "--frames=1-2", "--output", "OUTPUT/parts"),
    "join folder": ("join", "SOURCE/parts", "--frames=1-4", "--output", "OUTPUT/joined"),
    "apply": ("apply", "SOURCE/bound.blend", "--cache", "SOURCE/whole", "--output", "OUTPUT/applied.blend"),
    "apply --render-script": (
        "apply",
        "SOURCE/bound.blend",
        "--cache",
        "SOURCE/whole",
        "--output",
        "OUTPUT/applied-2.blend",
        "--render-script",
        "OUTPUT/render.py",
    ),
    "check json": ("check", "SOURCE/bound.blend", *CHECKED, "--json", "OUTPUT/check.json"),
    "check sheet": ("check", "SOURCE/bound.blend", *CHECKED, "--sheet", "OUTPUT/sheet.png"),
    "correct": ("correct", "SOURCE/bound.blend", "--from", "ssd", "--joints", "bone.1", "--output", "OUTPUT/ssd.blend"),
    "engine-copy": ("engine-copy", "SOURCE/bound.blend", *COPIED, "--output", "OUTPUT/copy.usda"),
    "engine-copy --save": ("engine-copy", "SOURCE/bound.blend", *COPIED, "--save", "OUTPUT/copied.blend"),
    "motion loop": ("motion", "loop", "SOURCE/bound.blend", "--pair", "1:8", "--output", "OUTPUT/loop.blend"),
    "farm openjd": ("farm", "SOURCE/bound.blend", "--all", "--engine", "openjd", "--output", "OUTPUT/openjd"),
    "farm flamenco": ("farm", "SOURCE/bound.blend", "--all", "--engine", "flamenco", "--output", "OUTPUT/flamenco"),
}
SLOW = ("check sheet", "engine-copy", "engine-copy --save")
"""Commands that take seconds, and whose files are not the same twice."""

BAKED = {"bake --part": "parts/Tube_1-2.json"}
"""What has to be gone for a part to be baked again."""


def export_copy(folder: Path) -> set[str]:
    """Export the character's engine copy, which is made the first time."""
    if "Rig for USD" not in bpy.data.collections:
        bpy.ops.supple.engine_copy(target="USD", keys=0, use_bends=False)
    return bpy.ops.supple.engine_copy_export(filepath=f"{folder}/exported.usda")


OPERATORS = {
    "operator bake_cache": lambda folder: bpy.ops.supple.bake_cache(filepath=f"{folder}/operator.pc2"),
    "operator pattern_maps": lambda folder: bpy.ops.supple.pattern_maps(
        directory=f"{folder}/operator", frame_start=1, frame_end=2, width=64
    ),
    "operator pattern_save": lambda folder: bpy.ops.supple.pattern_save(),
    "operator engine_copy": lambda folder: bpy.ops.supple.engine_copy(
        target="USD", keys=0, use_bends=False, filepath=f"{folder}/operator.usda"
    ),
    "operator engine_copy_export": export_copy,
}
WRITES = (*COMMANDS, *OPERATORS)
FEW = ("bake pc2", "bind compressed", "bake --part")
"""Of each kind of file one: as a stream, by Blender, and text."""


def forget(name: str, output: Path) -> None:
    """Have a write do its work again."""
    if name in BAKED:
        (output / BAKED[name]).unlink(missing_ok=True)


def run(name: str, source: Path, output: Path) -> tuple[int, str]:
    """Exit code and message of a write."""
    forget(name, output)
    if name in OPERATORS:
        try:
            OPERATORS[name](output)
        except RuntimeError as error:
            return 1, str(error)
        return 0, ""
    main = importlib.import_module(f"{checkout.MODULE}.cli").main
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        code = main([text.replace("SOURCE", str(source)).replace("OUTPUT", str(output)) for text in COMMANDS[name]])
    own = [line for line in errors.getvalue().splitlines() if not line.startswith("Blender: ")]
    return code, (own or [""])[-1]


def read_files(*folders: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() if path.is_file() else b"" for folder in folders for path in folder.rglob("*")}


@contextlib.contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    import resource  # which Windows lacks

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextlib.contextmanager
def room_for(disk: Path, size: int) -> Iterator[None]:
    free = os.statvfs(disk)
    pages = free.f_bavail - max(0, size // free.f_frsize - 3)  # less than the size, in whole pages
    ballast = disk / "ballast"
    try:
        with ballast.open("wb") as stream:
            os.posix_fallocate(stream.fileno(), 0, pages * free.f_frsize)
        yield
    finally:
        ballast.unlink()


def write_on_full_disks(
    name: str, source: Path, output: Path, points: int, limit: Callable, library: Path
) -> Iterator[str]:
    """Yield what is wrong after a write on a disk that was full at some points of it, over files of an earlier run."""
    if name in OPERATORS:
        bpy.ops.wm.open_mainfile(filepath=str(source / "bound.blend"))
    folders = output, library, Path(bpy.app.tempdir).parent
    before = read_files(*folders)
    code, message = run(name, source, output)
    made = {path: data for path, data in read_files(*folders).items() if before.get(path) != data}
    if code or not made:
        yield f"{name}: code {code}, {message}"
        return
    forget(name, output)
    before = read_files(*folders)
    for point in range(points):
        size = max(map(len, made.values())) * point // points
        with limit(size):
            code, message = run(name, source, output)
        after = read_files(*folders)
        kept = all(after.get(path) == data for path, data in before.items())
        litter = [path.name for path in after.keys() - before.keys()]
        if code != 1 or "Cannot write" not in message or not kept or litter:
            yield f"{name} at {size} bytes: code {code}, {message!r}, old files whole: {kept}, left: {litter}"


def main() -> None:
    task, source, output, writes = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4].split(",")
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    checkout.enable(Path(os.environ["BLENDER_USER_RESOURCES"]) / "checkout")
    library = importlib.import_module(f"{checkout.MODULE}.tasks.patterns.library").find_folder(create=True)
    try:
        if task == "full":
            points, disk = int(sys.argv[5]), Path(sys.argv[6]) if len(sys.argv) > 6 else None
            limit = (lambda size: room_for(disk, size)) if disk else files_of_at_most
            for name in writes:
                wrong = list(write_on_full_disks(name, source, output, points, limit, library))
                print(json.dumps({"write": name, "points": points, "wrong": wrong}), flush=True)
        else:
            bpy.ops.wm.open_mainfile(filepath=str(source / "bound.blend"))
            while True:
                for name in writes:
                    print(f"start {name}", flush=True)
                    run(name, source, output)
    finally:
        checkout.disable()


if __name__ == "__main__":
    main()
