"""What another Blender computes: the same as this one would, told of as it goes on, ended at once."""

import sys
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from computed_beside import SOON, take_beside
from mathutils import Matrix, Quaternion, Vector
from scenes_child import count_forever, die, may_run_scripts, multiply_forever, raise_error, return_first, tell_and_wait
from scenes_particles import add_body
from scenes_weights import add_small_tube, weights_of

from scenes import add_tube, reset
from supple.bridge.files import child, exchange
from supple.bridge.files.child import Child
from supple.bridge.files.temporary import temporary_folder
from supple.deformers import SkinningError
from supple.options import CheckOptions, FleshOptions, WeightOptions
from supple.tasks.check.run import check_character
from supple.tasks.corrections.from_source import correct_from
from supple.tasks.corrections.keys import read_offsets
from supple.tasks.flesh.add import add_flesh
from supple.tasks.skin.bind import bind_each
from supple.tasks.steps import take_all, within
from supple.tasks.weights import automatic as weights


def list_left() -> list[str]:
    """Temporary folders of this process."""
    with temporary_folder() as own:
        pattern = f"{own.name.rpartition('-')[0]}-*"
        return [path.name for path in own.parent.glob(pattern) if path != own]


@pytest.fixture(autouse=True)
def _functions_are_found(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


@pytest.fixture
def started():
    beside = Child()
    yield beside
    beside.end()
    assert not list_left()


def wait_for(beside: Child):
    until = time.monotonic() + SOON
    while not beside.is_done and time.monotonic() < until:
        time.sleep(0.01)
    return beside.take()


def test_what_is_computed_is_the_same():
    tube, _ = add_tube(rings=24, sides=12)
    small, _ = add_small_tube()

    def compute():
        jobs = weights.prepare([small], WeightOptions())
        (result,) = yield partial(weights.compute_all, jobs)
        checked = yield from check_character([tube], CheckOptions(use_actions=False))
        return result, checked

    (here, checked_here), (there, checked_there) = take_all(compute()), take_beside(compute())[0]
    np.testing.assert_array_equal(here.weights, there.weights)
    assert here.notes == there.notes
    first, second = (each.meshes[0] for each in (checked_here, checked_there))
    assert first.extremes.keys() == second.extremes.keys()
    for method, extremes in first.extremes.items():
        np.testing.assert_array_equal(extremes.drawn, second.extremes[method].drawn)
    pose = checked_here.poses[0]
    np.testing.assert_array_equal(first.deform("DLB", pose), second.deform("DLB", pose))
    assert not list_left()


def test_flesh_is_the_same():
    """Its steps change what they are given: all that goes on from there must have come back."""
    found = []
    for take in (take_all, lambda steps: take_beside(steps)[0]):
        reset()
        obj, _ = add_body()
        bind_each([obj], "DLBNT")
        take(add_flesh([obj], FleshOptions("QUICK")))
        found.append({key.name: read_offsets(obj, key.name) for key in obj.data.shape_keys.key_blocks[1:]})
    here, there = found
    assert here.keys() == there.keys() != set()
    for name, offsets in here.items():
        assert there[name] == pytest.approx(offsets, abs=1e-6)


@pytest.mark.versions
def test_blenders_data_stays_here_and_comes_back(started):
    tube, armature = add_tube(rings=6, sides=6)
    matrix, turned = Matrix.Rotation(0.3, 4, "X"), Quaternion((0.5, 0.5, 0.5, 0.5))
    started.order(partial(return_first, [tube, armature.data, tube.modifiers[0], matrix, turned, Vector((1, 2, 3))]))
    assert wait_for(started) == [tube, armature.data, tube.modifiers[0], matrix, turned, Vector((1, 2, 3))]


SCRIPTED = (
    "import bpy, os, runpy, sys; files = bpy.context.preferences.filepaths; files.use_scripts_auto_execute = True; "
    "runpy.run_path(sys.argv[1], run_name='__main__'); os._exit(files.use_scripts_auto_execute)"
)
"""A Blender as a module that would run scripts of files; code 1 where it still would when the session is over."""


def test_the_other_blender_runs_no_scripts_of_files(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(child, "bpy", SimpleNamespace(app=SimpleNamespace(binary_path="blender")))
        assert "--disable-autoexec" in child.find_command()[:-1]
    command = [sys.executable, "-c", SCRIPTED]
    monkeypatch.setattr(child, "find_command", lambda: command)
    beside = Child()
    try:
        beside.order(may_run_scripts)
        assert wait_for(beside) is False
    finally:
        beside.end()
    (tmp_path / "job.json").write_text("{}")
    session = child.start_blender(command, exchange.SESSION, str(tmp_path / "job.json"))
    assert session.wait(SOON) == 0
    child.end_blender(session)
    assert "KeyError" in (tmp_path / "result.json").read_text()


def test_it_computes_order_after_order_and_says_how_far(started):
    started.order(partial(tell_and_wait, 0.25))
    until = time.monotonic() + SOON
    while started.share != 0.25 and time.monotonic() < until:
        time.sleep(0.01)
    assert started.share == 0.25
    assert wait_for(started) == 0.25
    started.order(partial(return_first, "again"))
    assert started.share == 0.0
    assert wait_for(started) == "again"


def test_what_is_wrong_is_raised_where_the_steps_are(started):
    started.order(partial(raise_error, SkinningError("Nothing is right: begin again", "WEIGHTS")))
    with pytest.raises(SkinningError, match="Nothing is right") as caught:
        wait_for(started)
    assert caught.value.remedy == "WEIGHTS"
    started.order(partial(raise_error, KeyError("a mistake of ours")))
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        wait_for(started)

    def go_on():
        try:
            yield partial(raise_error, SkinningError("Nothing is right"))
        except SkinningError as error:
            yield 0.5
            return str(error)

    assert take_all(go_on()) == take_all(within(go_on(), 0.2, 0.5)) == "Nothing is right"
    found, shares = take_beside(within(go_on(), 0.2, 0.5))
    assert found == "Nothing is right"
    assert shares[-1] in (0.0, pytest.approx(0.45))


def test_one_that_dies_is_told_of(started):
    started.order(partial(die))
    with pytest.raises(SkinningError, match=r"stopped early \(code 7\): close other programs to free memory"):
        wait_for(started)


def test_it_ends_at_once_when_told():
    beside = Child()
    beside.order(partial(tell_and_wait, 1000.0))
    start = time.monotonic()
    beside.end()
    assert time.monotonic() - start < 1.0
    assert not list_left()


@pytest.mark.parametrize("keep_busy", [count_forever, multiply_forever])
def test_it_ends_with_who_orders_however_busy_it_is(started, keep_busy):
    started.order(partial(keep_busy))
    until = time.monotonic() + SOON
    while started.share != 0.5 and time.monotonic() < until:
        time.sleep(0.01)
    assert started.share == 0.5
    started.process.stdin.close()  # as where the one that orders was killed
    assert started.process.wait(2.0) == 0


def test_where_none_can_be_started_it_is_computed_here(monkeypatch):
    monkeypatch.setattr(child, "find_command", lambda: ["no such program"])
    assert take_beside(_one(partial(return_first, 3)))[0] == 3


def test_flesh_and_corrections_are_the_same():
    keys = []
    for take in (take_all, lambda steps: take_beside(steps)[0]):
        obj, _ = add_tube(rings=24, sides=12)
        bind_each([obj], "DLBNT")
        report = take(correct_from([obj], source="PARTICLES", joints=["bone.1"], angles=[60.0]))
        assert report.keys
        points = np.empty(3 * len(obj.data.vertices), np.float32)
        obj.data.shape_keys.key_blocks[-1].points.foreach_get("co", points)
        keys.append(points)
        assert len(weights_of(obj)) == len(obj.data.vertices)
    np.testing.assert_array_equal(*keys)


def _one(function):
    return (yield function)
