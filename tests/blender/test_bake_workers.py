"""Workers that bake chunks: killed, two at once, with another file or version, on disks that fail; then the job again.

`make test-files` kills 30.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from pathlib import Path

import bpy
import pytest
from scenes_cli import DONE, FAILED, main, own_errors, start
from scenes_files import find_litter

from scenes import add_tube, animate_tube, bind, open_file, reset, save
from supple.bridge.files import writing as files
from supple.bridge.files.writing import make_folder
from supple.deformers import SkinningError
from supple.tasks.bake import inputs as inputs_module
from supple.tasks.bake.inputs import open_with_inputs
from supple.tasks.bake.made_from import Inputs
from supple.tasks.bake.parts import Part, bake_parts, plan_parts
from supple.tasks.subject.frames import describe_frames

FRAMES = range(1, 61)
CHUNKS = [FRAMES[start : start + 25] for start in range(0, 60, 25)]
NAMES = ("Body", "Skirt")

LONGEST = 2.0
"""Seconds to a kill: what a worker takes."""

LONGEST_WRITE = 0.3


@pytest.fixture(scope="module")
def hero(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with two bound characters, and nothing of the tests before."""
    reset()
    tubes = []
    for name in NAMES:
        obj, armature = add_tube(rings=100, sides=50)
        animate_tube(armature)
        obj.name = name
        tubes.append(obj)
    bind(*tubes)
    return save(tmp_path_factory.mktemp("hero") / "hero.blend")


@pytest.fixture(scope="module")
def whole(hero: Path) -> dict[str, bytes]:
    """The files of one bake, by their names."""
    folder = hero.with_name("whole")
    assert main("bake", hero, "--all", "--frames", "1-60", "--output", folder) == DONE
    return read(folder)


def read(folder: Path, pattern: str = "*.pc2") -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob(pattern)}


def bake_words(hero: Path, chunk: range, output: Path, *more: str) -> tuple[str | Path, ...]:
    return ("bake", hero, "--all", "--part", f"--frames={describe_frames([chunk])}", "--output", output, *more)


def bake_all(hero: Path, output: Path) -> None:
    for chunk in CHUNKS:
        assert main(*bake_words(hero, chunk, output)) == DONE


def join_all(output: Path) -> dict[str, bytes]:
    joined = output.with_name("joined")
    shutil.rmtree(joined, ignore_errors=True)
    assert main("join", output, "--frames", "1-60", "--output", joined) == DONE
    return read(joined)


def test_a_chunk_is_baked_once(tmp_path: Path, hero: Path, whole: dict[str, bytes], capsys: pytest.CaptureFixture[str]):
    bake_all(hero, tmp_path / "chunks")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "chunks").iterdir()}
    assert len(before) == 12
    capsys.readouterr()
    assert main(*bake_words(hero, CHUNKS[0], tmp_path / "chunks")) == DONE
    told = own_errors(capsys.readouterr().err)
    assert told == ["supple: Body 1-25 already exists", "supple: Skirt 1-25 already exists"]
    (tmp_path / "chunks" / "Skirt_26-50.pc2").unlink()
    bake_all(hero, tmp_path / "chunks")
    changed = {path.name for path, modified in before.items() if path.stat().st_mtime_ns != modified}
    assert changed == {"Skirt_26-50.pc2", "Skirt_26-50.json"}
    assert join_all(tmp_path / "chunks") == whole


def test_a_kill_costs_a_chunk(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hero: Path, whole: dict[str, bytes]
) -> None:
    monkeypatch.setattr(files, "BETWEEN_LOOKS", 0.0)  # this process writes after each kill
    kills = 30 if request.config.getoption("thorough") else 2
    output = tmp_path / "chunks"
    bake_all(hero, output)
    first = read(output, "*")
    seed = random.randrange(2**32)
    moments, counts = random.Random(seed), {"nothing": 0, "something": 0, "all": 0, "litter": 0}
    for kill in range(kills):
        chunk = moments.choice(CHUNKS)
        lost = [name for name in first if f"_{chunk[0]}-{chunk[-1]}." in name]
        for name in lost:
            (output / name).unlink()
        worker = start(tmp_path / "settings", *bake_words(hero, chunk, output))
        if kill % 2:  # in the midst of it, which takes a small part of the time
            while not find_litter(output) and worker.poll() is None:
                pass
            time.sleep(moments.uniform(0, LONGEST_WRITE))
        else:
            time.sleep(moments.uniform(0, LONGEST))
        worker.kill()
        worker.communicate()
        left = {name for name in lost if (output / name).exists()}
        counts["all" if len(left) == len(lost) else "something" if left else "nothing"] += 1
        counts["litter"] += bool(find_litter(output))
        kept = {path: path.stat().st_mtime_ns for path in output.iterdir() if path.name in first}
        bake_all(hero, output)
        anew = {path.name for path, modified in kept.items() if path.stat().st_mtime_ns != modified}
        assert (read(output, "*"), find_litter(output)) == (first, []), f"kill {kill}, seed {seed}"
        assert anew <= {name for name in left if name.replace("json", "pc2") in left and name.endswith("pc2")}
        assert join_all(output) == whole
    print(f"{kills} kills, seed {seed}: of the chunk's files was left: {counts}")


def test_two_workers_with_one_chunk_do_no_harm(tmp_path: Path, hero: Path, whole: dict[str, bytes]):
    words = bake_words(hero, CHUNKS[0], tmp_path / "chunks")
    workers = [start(tmp_path / name, *words) for name in ("first", "second")]
    for worker in workers:
        _, errors = worker.communicate()
        assert worker.returncode == DONE, errors
    assert find_litter(tmp_path) == []
    bake_all(hero, tmp_path / "chunks")
    assert join_all(tmp_path / "chunks") == whole


# What is not as it was


def refusal(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    """The one message of a command that fails."""
    capsys.readouterr()
    assert main(*words) == FAILED
    errors = [line for line in capsys.readouterr().err.splitlines() if line.startswith("supple: error: ")]
    (error,) = errors
    return error.removeprefix("supple: error: ")


def test_a_file_that_changes_between_chunks_is_noticed(tmp_path: Path, hero: Path, capsys: pytest.CaptureFixture[str]):
    hero = Path(shutil.copy(hero, tmp_path))
    expected = open_with_inputs(hero).describe()
    output = tmp_path / "chunks"
    for chunk in CHUNKS[:2]:
        assert main(*bake_words(hero, chunk, output, "--expect", expected)) == DONE
    before = read(output, "*")
    bpy.data.objects["Body"].location.x += 1.0
    bpy.ops.wm.save_mainfile()
    said = refusal(capsys, *bake_words(hero, CHUNKS[2], output, "--expect", expected))
    assert said.startswith(
        "The job was made with other versions or files (another state of the file, or of a library or cache"
    )
    assert refusal(capsys, "info", hero, "--expect", expected) == said
    assert read(output, "*") == before

    assert main(*bake_words(hero, CHUNKS[2], output)) == DONE  # who does not say what to expect finds out at the end
    said = refusal(capsys, "join", output, "--frames", "1-60", "--output", tmp_path / "joined")
    assert "'Body' 51-60; 'Skirt' 51-60; made with another file, Supple or Blender: Body_51-60, Skirt_51-60." in said
    assert read(tmp_path / "joined", "*") == {}
    assert main(*bake_words(hero, CHUNKS[0], output)) == DONE
    assert {name for name, data in read(output, "*").items() if before.get(name, data) != data} >= {"Body_1-25.json"}


def test_another_version_on_a_worker_is_refused(
    tmp_path: Path, hero: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    expected = open_with_inputs(hero).describe()
    for name, read_value, message in (
        ("read_manifest", {"version": "9.9"}, "Supple 9.9 instead"),
        ("_read_blender_version", "9.9", "Blender 9.9 inst"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(inputs_module, name, lambda value=read_value: value)
            for words in (
                bake_words(hero, CHUNKS[0], tmp_path / "out"),
                ("bake", hero, "--object", "Body", "--output", tmp_path / "out.pc2"),
                ("info", hero),
            ):
                assert message in refusal(capsys, *words, "--expect", expected)
    assert read(tmp_path, "**/*.*") == {}


# Folders


def open_plan(hero: Path) -> dict:
    open_file(hero)
    objects = [bpy.data.objects[name] for name in NAMES]
    return plan_parts(objects, CHUNKS[0], Inputs("0.1.0", "5.2", "ab" * 32), (), is_part=True)


def test_a_folder_that_goes_in_the_middle_is_named(tmp_path: Path, hero: Path, subtests: pytest.Subtests):
    for happens in ("renamed", "removed", "replaced"):
        with subtests.test(happens):
            folder, elsewhere = tmp_path / happens / "chunks", tmp_path / happens / "elsewhere"
            folder.parent.mkdir()
            make_folder(folder)
            steps = bake_parts(open_plan(hero), bpy.context.scene, folder)
            for _ in range(10):
                next(steps)
            if happens == "removed":
                shutil.rmtree(folder)
            else:
                folder.rename(elsewhere)
            if happens == "replaced":
                folder.mkdir()
            named = rf"^Cannot write '{folder}/\w+_1-25\.pc2' \(No such file or directory\): choose"
            with pytest.raises(SkinningError, match=named):
                list(steps)
            found = [path for path in folder.parent.rglob("*") if path.suffix in (".pc2", ".json")]
            assert found == []
            make_folder(elsewhere)
            for _ in bake_parts(open_plan(hero), bpy.context.scene, elsewhere):
                pass
            assert find_litter(elsewhere) == []
            assert len(os.listdir(elsewhere)) == 4


def test_a_disk_that_fails_between_both_files_leaves_none_that_counts(
    tmp_path: Path, hero: Path, monkeypatch: pytest.MonkeyPatch
):
    plan = open_plan(hero)

    def fail(_part: Part, _folder: Path) -> None:
        raise RuntimeError("Cannot write")

    with monkeypatch.context() as patch:
        patch.setattr(Part, "write", fail)
        with pytest.raises(RuntimeError, match="Cannot write"):
            list(bake_parts(plan, bpy.context.scene, tmp_path))
    assert sorted(os.listdir(tmp_path)) == ["Body_1-25.pc2", "Skirt_1-25.pc2"]
    assert not any(part.is_there(tmp_path) for part in plan.values())
