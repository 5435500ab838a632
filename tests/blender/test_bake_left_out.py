"""A mesh that cannot be baked holds up none of the others: it is left out by name, with the reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import bpy
import pytest
from scenes_cli import DONE, LEFT_OUT, add_character, main, own_errors

from scenes import add_twin, bind, execute, open_file, save, select, update

GOOD, BAD = "Tube", "Sleeve"


CLEAR, BREAK, HIDE = "bad.data.clear_geometry()", "bad.data.vertices[3].co.x = float('nan')", "bad.hide_viewport = True"
CLEAR_GROUPS = "bad.vertex_groups.clear()"
ANY = (CLEAR, BREAK, HIDE, "bad.modifiers.new('Finer', 'SUBSURF'); bad.modifiers.move(len(bad.modifiers) - 1, 0)")
"""What no bake takes, of a mesh that was bound before."""
KEYS = ("add_object('Other', bad.data)", "bad.shape_key_add(name='Basis'); bad.data.shape_keys.use_relative = False")
"""What shape keys cannot be baked to."""


def spoil(how: str, is_bound: bool = True) -> None:
    """Two meshes on an armature, of which one is spoiled."""
    good = add_character()
    bad = add_twin(good)
    good.name, bad.name = GOOD, BAD
    good.shape_key_clear()
    bad.shape_key_clear()
    if is_bound:
        bind(good, bad)
    execute(how, bad=bad)
    update()
    select(good)


def list_parts(folder: Path) -> list[str]:
    """The caches of a folder; each says which were baked with it."""
    for path in folder.glob("*.json"):
        assert json.loads(path.read_text())["objects"] == [GOOD]
    return sorted(path.name for path in folder.glob("*.pc2"))


@pytest.mark.parametrize("how", [*ANY, *KEYS])
def test_operators_bake_the_others(tmp_path, how, subtests, capfd):
    spoil(how)
    good, bad = bpy.data.objects[GOOD], bpy.data.objects[BAD]
    range_ = {"frame_start": 1, "frame_end": 2}
    bakes = {"SHAPE_KEYS": lambda: bpy.ops.supple.bake_shape_keys(whole=True, **range_)}
    if how in ANY:
        bakes["PC2"] = lambda: bpy.ops.supple.bake_cache(whole=True, filepath=str(tmp_path / "hero.pc2"), **range_)
    for kind, call in bakes.items():
        with subtests.test(kind):
            capfd.readouterr()
            assert call() == {"FINISHED"}
            assert f"Warning: '{BAD}' was left out. " in capfd.readouterr().out
            assert (good.supple.bake, bad.supple.bake) == (kind, "NONE")
            bpy.ops.supple.clear_bake()
    select(bad)
    with subtests.test("alone"), pytest.raises(RuntimeError, match="Error: "):
        bpy.ops.supple.bake_shape_keys(**range_)


@pytest.mark.parametrize("how", [*ANY, *KEYS])
def test_commands_bake_the_others(tmp_path, how, subtests, capfd):
    spoil(how)
    file = save(tmp_path / "file.blend")

    def leave_out(*words: str | Path) -> bool:
        capfd.readouterr()
        code = main(*words, "--frames", "1-2")
        assert code == LEFT_OUT
        return any(line.startswith(f"supple: '{BAD}' was left out. ") for line in own_errors(capfd.readouterr().err))

    with subtests.test("shape keys"):
        new = tmp_path / "keys.blend"
        assert leave_out("bake", file, "--all", "--format", "shape-keys", "--output", new)
        open_file(new)
        assert [bpy.data.objects[name].supple.bake for name in (GOOD, BAD)] == ["SHAPE_KEYS", "NONE"]
    if how not in ANY:
        return
    with subtests.test("caches"):
        assert leave_out("bake", file, "--all", "--output", tmp_path / "caches", "--save", tmp_path / "plays.blend")
        assert list_parts(tmp_path / "caches") == [f"{GOOD}.pc2"]
    with subtests.test("parts"):
        for _ in range(2):  # the second time it is there
            assert leave_out("bake", file, "--all", "--part", "--output", tmp_path / "parts")
            assert list_parts(tmp_path / "parts") == [f"{GOOD}_1-2.pc2"]
    with subtests.test("farm"):
        assert_job_is_of_the_other(leave_out, tmp_path, file)


@pytest.mark.parametrize("how", [CLEAR, HIDE, CLEAR_GROUPS, BREAK])
def test_commands_bind_and_bake_the_others(tmp_path, how, subtests, capfd):
    spoil(how, is_bound=False)
    file = save(tmp_path / "file.blend")

    def leave_out(*words: str | Path) -> bool:
        capfd.readouterr()
        assert main(*words, "--frames", "1-2", "--method", "DLB") == LEFT_OUT
        return any(line.startswith(f"supple: '{BAD}' was left out. ") for line in own_errors(capfd.readouterr().err))

    with subtests.test("parts"):
        for _ in range(2):
            assert leave_out("bake", file, "--all", "--part", "--output", tmp_path / "parts")
            assert list_parts(tmp_path / "parts") == [f"{GOOD}_1-2.pc2"]
    with subtests.test("farm"):
        assert_job_is_of_the_other(leave_out, tmp_path, file, "--method", "DLB")


def assert_job_is_of_the_other(leave_out: Callable[..., bool], folder: Path, file: Path, *words: str) -> None:
    """A job names the mesh that can be baked, and workers, which are given no other, end with success."""
    job = folder / "job"
    assert leave_out("farm", file, "--all", "--engine", "openjd", "--output", job)
    steps = json.loads((job / "template.json").read_text())["steps"]
    bake = next(step for step in steps if step["name"] == "Bake")["script"]["actions"]["onRun"]["args"]
    assert [word for word in bake if word.startswith(("--object", "--all"))] == [f"--object={GOOD}"]
    expect = bake[bake.index("--expect") + 1]
    worker = ("bake", file, f"--object={GOOD}", *words, "--part", "--frames=1-2", "--output", job / "chunks")
    assert main(*worker, "--expect", expect) == DONE
    assert list_parts(job / "chunks") == [f"{GOOD}_1-2.pc2"]


def test_check_measures_the_others(tmp_path, capfd):
    spoil(CLEAR)
    assert main("check", save(tmp_path / "file.blend"), "--json", tmp_path / "check.json") == LEFT_OUT
    assert f"supple: '{BAD}' was left out. '{BAD}' has no " in capfd.readouterr().err
    assert list(json.loads((tmp_path / "check.json").read_text())["refused"]) == [BAD]
