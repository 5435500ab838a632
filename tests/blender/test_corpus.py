"""The golden corpus: files, steps, and the vertices that they gave, as rows of tests/corpus/corpus.toml.

A row opens its file, takes its steps, and compares frames with its .npz: then, after undo and redo, after the file was
saved and opened, in a Blender that does not have Supple, and for copies of the character as a row's `ways` make them.
Steps are calls: `supple` is ``bpy.ops.supple``, `character` the Character of the first armature, `obj` and `rig` the
objects "Tube" and "Rig", and what `scenes` has can be called by name.

``UPDATE=1`` writes the .npz of each row that runs anew, and the saved files that are missing.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pictures
import pytest
from scenes_patterns import amounts
from scenes_state import find_changes, read_state

import scenes
from supple.api import Character
from supple.settings.objects import settings_of

pytestmark = [pytest.mark.versions, pytest.mark.usefixtures("silent_handlers")]
FOLDER = Path(__file__).resolve().parent.parent / "corpus"
IS_UPDATE = os.environ.get("UPDATE") == "1"

TAG = "row"
"""Custom property of a mesh object: its name, which copies keep."""

Frames = dict[str, np.ndarray]
"""Points (V, 3) by "mesh frame"; for a row's `values`, numbers by "values frame"."""


@dataclass(frozen=True)
class Row:
    """One row of the table.

    Attributes
    ----------
    file : str
        Blender file, relative to the folder of the corpus, without its suffix.
    steps, values : list of str
        Python: statements to execute, and expressions whose numbers are compared in each frame.
    back : list of str
        Steps after which the vertices are again as before `steps`.
    tolerance : float
        Largest distance, in diagonals of the expected points.
    needs_supple : list of str
        Meshes that have another shape in a Blender without Supple.
    is_saved : bool
        Whether the result is also kept as a file, which later versions must open as it is.
    message : str
        What the active object's panel has to say, as a part of the message.
    is_undone : bool
        Whether the steps are one step of undo.
    ways : list of str
        Keys of `WAYS`: copies of the character that must have the same vertices.
    since : list of int
        The first Blender that can do it.
    """

    name: str
    file: str
    steps: list[str] = field(default_factory=list)
    back: list[str] = field(default_factory=list)
    frames: tuple[int, ...] = (1, 4, 7)
    values: list[str] = field(default_factory=list)
    tolerance: float = 1e-5
    needs_supple: list[str] = field(default_factory=list)
    is_saved: bool = False
    message: str = ""
    is_undone: bool = True
    ways: list[str] = field(default_factory=list)
    since: tuple[int, ...] = ()


def read_rows() -> list[Any]:
    """All rows, and one without steps for each saved result."""
    table = tomllib.loads((FOLDER / "corpus.toml").read_text(encoding="utf-8"))
    rows = [Row(name, **values) for name, values in table.items()]
    saved = [Row(row.name, f"saved/{row.name}", **_list_expected(row)) for row in rows if row.is_saved]
    return [
        pytest.param(row, id=f"{row.name}{' saved' * (row in saved)}", marks=_list_marks(row)) for row in rows + saved
    ]


def _list_expected(row: Row) -> dict[str, Any]:
    names = ("frames", "values", "tolerance", "needs_supple", "message", "since")
    return {name: getattr(row, name) for name in names}


def _list_marks(row: Row) -> tuple[pytest.MarkDecorator, ...]:
    since = tuple(row.since)
    return (pytest.mark.skipif(bpy.app.version < since, reason=f"since {since}"),) if since else ()


def read_frames(row: Row, names: dict[str, Any]) -> Frames:
    """Points of all skinned meshes, and the row's values, in its frames."""
    found: Frames = {}
    for frame in row.frames:
        bpy.context.scene.frame_set(frame)
        found |= read_points(scenes.skinned_meshes())
        if row.values:
            values = [np.ravel(eval(value, names)) for value in row.values]
            found[f"values {frame}"] = np.concatenate(values).astype(np.float32)
    return found


def read_points(objects: Iterable[bpy.types.Object]) -> Frames:
    """Points of meshes in the current frame, by the names that they had before they were copied."""
    frame = bpy.context.scene.frame_current
    return {f"{obj.get(TAG, obj.name)} {frame}": scenes.evaluated_points(obj) for obj in objects}


def points_of(frames: Frames) -> Frames:
    """Frames without values."""
    return {key: points for key, points in frames.items() if not key.startswith("values ")}


def assert_same(expected: Frames, found: Frames, row: Row) -> None:
    assert found.keys() == expected.keys()
    apart = {key: measure(expected[key], found[key]) for key in expected}
    wrong = {key: f"{value:.2g}" for key, value in apart.items() if not value <= row.tolerance}
    assert not wrong, wrong


def measure(expected: np.ndarray, found: np.ndarray) -> float:
    """Largest distance of points in diagonals, or of numbers relative to the largest of them."""
    if expected.shape != found.shape:
        return math.inf
    if expected.ndim == 1:
        return float(np.abs(expected - found).max(initial=0.0)) / max(1.0, float(np.abs(expected).max(initial=0.0)))
    return scenes.distance(expected, found)


def find_names(folder: Path) -> dict[str, Any]:
    """The names that steps use; objects are found again each time, as undo and files replace them."""
    names = vars(scenes) | STEPS
    objects = bpy.data.objects
    named = {"obj": objects.get(("Tube", None)), "rig": objects.get(("Rig", None)), "objects": objects}
    armature = next(each for each in bpy.context.scene.objects if each.type == "ARMATURE")
    named["character"] = Character(armature)
    return {**names, **named, "folder": folder, "scene": bpy.context.scene, "supple": bpy.ops.supple, "data": bpy.data}


def take(steps: list[str], folder: Path) -> None:
    named: dict[str, Any] = {}
    for step in steps:
        exec(step, named := {**named, **find_names(folder)})
        scenes.update()


def bind_by_python(*objects: bpy.types.Object, method: str = "DLB") -> None:
    scenes.bind(*objects, method=method, evaluate="PYTHON")


def bind(*objects: bpy.types.Object, method: str = "DLB") -> None:
    scenes.bind(*objects, method=method, evaluate="BLENDER")


def link(file: str, *names: str) -> None:
    """Link objects of another file of the corpus, and override them."""
    with bpy.data.libraries.load(str(FOLDER / f"{file}.blend"), link=True) as (_, wanted):
        wanted.objects = list(names)
    overrides = {name: bpy.data.objects[name].override_create(remap_local_usages=True) for name in names}
    for obj in overrides.values():
        bpy.context.scene.collection.objects.link(obj)
        for modifier in (each for each in obj.modifiers if each.type == "ARMATURE"):
            modifier.object = overrides.get(modifier.object.name, modifier.object)


def append(file: str, *names: str) -> None:
    """Append objects of another file of the corpus, with what they refer to."""
    with bpy.data.libraries.load(str(FOLDER / f"{file}.blend")) as (_, wanted):
        wanted.objects = list(names)
    for obj in wanted.objects:
        bpy.context.scene.collection.objects.link(obj)


def duplicate(*objects: bpy.types.Object, linked: bool = False) -> None:
    scenes.select(*objects)
    bpy.ops.object.duplicate(linked=linked)


STEPS = {
    "amounts": amounts, "math": math, "radians": math.radians, "settings_of": settings_of,
    "bind": bind, "bind_by_python": bind_by_python, "link": link, "append": append, "duplicate": duplicate,
}  # fmt: skip

# Copies of a character


def read_duplicate(row: Row, _path: Path) -> Frames:
    """Duplicate all objects, as Shift D does."""
    scenes.select(*bpy.context.view_layer.objects)
    bpy.ops.object.duplicate()
    found = {}
    for frame in row.frames:
        bpy.context.scene.frame_set(frame)
        found |= read_points(obj for obj in scenes.skinned_meshes() if obj.select_get())
    return found


def read_appended(row: Row, path: Path) -> Frames:
    """Append the objects of the saved file to an empty one."""
    scenes.reset()
    with bpy.data.libraries.load(str(path)) as (there, wanted):
        wanted.collections = list(there.collections)
    for collection in wanted.collections:
        bpy.context.scene.collection.children.link(collection)
    return read_frames(replace(row, values=[]), {})


def read_overridden(row: Row, path: Path) -> Frames:
    """Link the character into an empty file, override it, save that, and open it again."""
    scenes.reset()
    with bpy.data.libraries.load(str(path), link=True) as (there, wanted):
        wanted.collections = list(there.collections)
    scene, layer = bpy.context.scene, bpy.context.view_layer
    for collection in wanted.collections:
        scene.collection.children.link(collection)
        collection.override_hierarchy_create(scene, layer, do_fully_editable=True)
        scene.collection.children.unlink(collection)
    bpy.ops.wm.open_mainfile(filepath=str(scenes.save(path.with_name("shot.blend"))))
    assert all(obj.override_library for obj in scenes.skinned_meshes())
    return read_frames(replace(row, values=[]), {})


def read_rendered(row: Row, path: Path) -> Frames:
    """Render the frames as an animation, and read what the engine of a render gets."""
    scene = bpy.context.scene
    bpy.utils.register_class(pictures.PointsEngine)
    try:
        pictures.use_points_engine(scene)
        scene.frame_start, scene.frame_end = min(row.frames), max(row.frames)
        seen = pictures.render_points(path.parent)
    finally:
        bpy.utils.unregister_class(pictures.PointsEngine)
    return {f"{obj.name} {frame}": seen[obj.name, frame] for obj in scenes.skinned_meshes() for frame in row.frames}


WAYS = {
    "duplicate": read_duplicate, "append": read_appended, "override": read_overridden, "render": read_rendered,
}  # fmt: skip

# A Blender without Supple

WITHOUT_SUPPLE = """
import sys
sys.path[:0] = sys.argv[1:]
import bpy, numpy as np
import scenes
assert not hasattr(bpy.types.Object, "supple")
for line in sys.stdin:
    path, frames, result = line.rstrip("\\n").split("\\t")
    bpy.ops.wm.open_mainfile(filepath=path)
    found = {}
    for frame in map(int, frames.split()):
        bpy.context.scene.frame_set(frame)
        for obj in scenes.skinned_meshes():
            found[f"{obj.get('row', obj.name)} {frame}"] = scenes.evaluated_points(obj)
    np.savez(result, **found)
    print("done " + result, flush=True)
"""


@pytest.fixture(scope="module")
def read_without_supple(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Path, Row], Frames]]:
    """Read a file's points in another Blender, which does not have Supple and goes on for all rows."""
    folder = tmp_path_factory.mktemp("without")
    environment: dict[str, str] = {**os.environ, "BLENDER_USER_RESOURCES": str(folder)}
    command = [sys.executable, "-c", WITHOUT_SUPPLE, str(Path(scenes.__file__).parent)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env=environment, text=True, encoding="utf-8", **pipes) as process:

        def read(path: Path, row: Row) -> Frames:
            result = folder / "points.npz"
            process.stdin.write(f"{path}\t{' '.join(map(str, row.frames))}\t{result}\n")
            process.stdin.flush()
            assert any(line == f"done {result}\n" for line in process.stdout), "the other Blender has ended"
            with np.load(result) as found:
                return dict(found)

        yield read
        process.stdin.close()


@pytest.mark.parametrize("row", read_rows())
def test_row(row: Row, tmp_path: Path, read_without_supple: Callable[[Path, Row], Frames], subtests: pytest.Subtests):
    bpy.ops.wm.open_mainfile(filepath=str(FOLDER / f"{row.file}.blend"))
    read = lambda: read_frames(row, find_names(tmp_path))  # noqa: E731
    before = read_frames(replace(row, values=[]), {}) if row.steps else {}
    bpy.context.scene.frame_set(1)
    state = read_state() if row.steps and (row.is_undone or row.back) else {}
    scenes.push("before")
    take(row.steps, tmp_path)
    scenes.push("steps")
    found = read()
    is_own = row.file != f"saved/{row.name}"
    expected = update_expected(row, found) if IS_UPDATE and is_own else read_expected(row)
    assert_same(expected, found, row)
    messages = [settings_of(obj).message for obj in scenes.skinned_meshes()]
    assert any(row.message in message for message in messages) if row.message else not any(messages), messages

    if row.steps and row.is_undone:
        with subtests.test("undo and redo"):
            scenes.undo()
            changes = find_changes(state)
            assert not changes, changes[:9]
            assert_same(before, read_frames(replace(row, values=[]), {}), row)
            scenes.redo()
            assert_same(expected, read(), row)
    for obj in scenes.skinned_meshes():
        obj[TAG] = obj.name
    path = scenes.save(tmp_path / "again.blend")
    points = points_of(expected)
    with subtests.test("saved and opened"):
        bpy.ops.wm.open_mainfile(filepath=str(path))
        backward = replace(row, frames=row.frames[::-1])
        assert_same(expected, read_frames(backward, find_names(tmp_path)), row)
    with subtests.test("without Supple"):
        shown = read_without_supple(path, row)
        assert shown.keys() == points.keys()
        apart = {key: measure(points[key], shown[key]) for key in points}
        other = [key for key in apart if apart[key] > row.tolerance]
        assert {key.rpartition(" ")[0] for key in other} == set(row.needs_supple), apart
        if row.back:  # Blender's own modifiers deform it as they did before Bind
            assert_same({key: before[key] for key in other}, {key: shown[key] for key in other}, row)
    for way in row.ways:
        with subtests.test(way):
            bpy.ops.wm.open_mainfile(filepath=str(path))
            assert_same(points, WAYS[way](row, gather(tmp_path / "character.blend")), row)
    if row.back:
        with subtests.test("and back"):
            bpy.ops.wm.open_mainfile(filepath=str(path))
            take(row.back, tmp_path)
            bpy.context.scene.frame_set(1)
            changes = [each for each in find_changes(state) if f"[{TAG}]: " not in each and ".supple." not in each]
            assert not changes, changes[:9]  # settings apart
            assert_same(before, read_frames(replace(row, values=[]), {}), row)


def gather(path: Path) -> Path:
    """Save the file with all of its objects in one collection."""
    scene, collection = bpy.context.scene, bpy.data.collections.new("Character")
    scene.collection.children.link(collection)
    for obj in list(scene.collection.objects):
        collection.objects.link(obj)
        scene.collection.objects.unlink(obj)
    return scenes.save(path)


def read_expected(row: Row) -> Frames:
    with np.load(FOLDER / "expected" / f"{row.name}.npz") as stored:
        return dict(stored)


def update_expected(row: Row, found: Frames) -> Frames:
    """Store what a row has given, and its file if that is missing: what is published stays as it is."""
    (FOLDER / "expected").mkdir(exist_ok=True)
    np.savez_compressed(FOLDER / "expected" / f"{row.name}.npz", **found)
    path = FOLDER / "saved" / f"{row.name}.blend"
    if row.is_saved and not path.exists():
        path.parent.mkdir(exist_ok=True)
        plain = scenes.save(path.with_suffix(".plain"), copy=True, compress=False)
        subprocess.run(["zstd", "-19", "--quiet", str(plain), "-o", str(path)], check=True)
        plain.unlink()
    return found
