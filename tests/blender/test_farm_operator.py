"""The Write Farm Job button: it writes the job that the command line writes, and says what is in the way."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import bpy
import pytest
from scenes_bake import add_bound, changes, everything

from panels import draw
from scenes import add_twin, bind, save, select
from supple.settings.objects import settings_of
from supple.tasks.farm.commands import FarmJob
from supple.tasks.farm.engines import ENGINES
from supple.tasks.farm.job import write_job


@pytest.fixture
def saved(tmp_path: Path) -> bpy.types.Object:
    """A bound character of eight frames, in a file that is saved."""
    obj, _ = add_bound()
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 8
    save(tmp_path / "hero.blend")
    return obj


def read_job(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}


@pytest.mark.versions
@pytest.mark.parametrize("engine", ENGINES)
def test_it_writes_what_the_task_writes(tmp_path, saved, engine):
    before = everything(saved)
    answer = bpy.ops.supple.send_to_farm(
        engine=engine.upper(), directory="//job", frames="1-3,8,4-6:2", chunk=2, render=False
    )
    assert answer == {"FINISHED"}
    assert changes(before, everything(saved)) == {}
    by_operator = read_job(tmp_path / "job")
    job = FarmJob(
        file=tmp_path / "hero.blend",
        objects=("Tube",),
        frames=(range(1, 4), range(4, 7, 2), range(8, 9)),
        chunk=2,
        choices=(),
        output=tmp_path / "job",
    )
    write_job(job, engine)
    assert read_job(tmp_path / "job") == by_operator
    assert len(by_operator) >= 2


def test_the_scenes_frames_and_a_folder_beside_the_file_if_not_set(tmp_path, saved):
    assert bpy.ops.supple.send_to_farm(engine="OPENJD") == {"FINISHED"}
    template = json.loads((tmp_path / "hero_farm" / "template.json").read_text(encoding="utf-8"))
    defaults = {one["name"]: one.get("default") for one in template["parameterDefinitions"]}
    assert (defaults["Frames"], defaults["FramesPerChunk"]) == ("1-8", 50)


def test_the_panel_says_where_the_job_is_until_that_is_closed(saved):
    assert "supple.close_report" not in draw("VIEW3D_PT_supple_hand_over")
    bpy.ops.supple.send_to_farm(engine="OPENJD")
    shown = draw("VIEW3D_PT_supple_hand_over")
    report, close = shown[shown.index("supple.send_to_farm") + 1 :][:2]
    assert report == (
        "Job for Open Job Description written to '//hero_farm'. README.txt there has the command that submits it"
    )
    assert close == "supple.close_report"
    bpy.ops.supple.close_report(owner="Tube", kind="farm")
    assert report not in draw("VIEW3D_PT_supple_hand_over")


def test_the_whole_character_is_what_is_ticked(tmp_path, saved):
    others = [add_twin(saved) for _ in range(2)]
    bind(*others)
    settings_of(others[0]).is_ticked = False
    select(saved)
    save(tmp_path / "hero.blend")
    bpy.ops.supple.send_to_farm(engine="OPENJD", whole=True)
    text = (tmp_path / "hero_farm" / "template.json").read_text(encoding="utf-8")
    named = {obj.name: f'"--object={obj.name}"' in text for obj in (saved, *others)}
    assert list(named.values()) == [True, False, True], named


def add_camera() -> None:
    bpy.context.scene.camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    bpy.ops.wm.save_mainfile()


def test_what_is_in_the_way_is_said(tmp_path, saved, subtests):
    for settings, message in (
        ({"frames": "1-"}, "'1-' is not a frame range"),
        ({"frames": "1-4,4"}, "Frame 4 is listed twice"),
        ({"render": True}, "The scene has no camera"),
        ({"directory": "//gone/job"}, "No such file or directory"),
        ({"frames": "1-9:2,4", "render": True}, "Frame ranges 1-9:2 and 4 overlap"),
    ):
        if "frames" in settings and "render" in settings:
            add_camera()
        with subtests.test(message):
            with pytest.raises(RuntimeError, match=message):
                bpy.ops.supple.send_to_farm(engine="OPENJD", **settings)
            assert not [path for path in tmp_path.iterdir() if path.is_dir()]


def test_a_file_that_was_never_saved_is_refused():
    add_bound()
    with pytest.raises(RuntimeError, match="The file was never saved, and workers open it from disk: save it first"):
        bpy.ops.supple.send_to_farm()


def test_it_needs_a_mesh_that_is_bound(saved):
    bpy.ops.supple.unbind()
    with pytest.raises(RuntimeError, match="Select a mesh that is bound"):
        bpy.ops.supple.send_to_farm()


COMMANDS = {
    "OPENJD": [["deadline", "bundle", "submit", "{}"], ["openjd", "run", "{}/template.json"]],
    "FLAMENCO": [
        ["cp", "{}/supple-bake.js", "scripts"],
        ["curl", "-H", "Content-Type: application/json", "--data-binary", "@{}/job.json"],
    ],
}
"""What submits a job, by words, with its folder."""


@pytest.mark.skipif(sys.platform == "win32", reason="its shell quotes in another way")
@pytest.mark.parametrize("engine", COMMANDS)
def test_the_folder_has_the_commands_that_submit_the_job(tmp_path, saved, engine):
    folder = tmp_path / "a 'job'"
    bpy.ops.supple.send_to_farm(engine=engine, directory=str(folder))
    text = (folder / "README.txt").read_text(encoding="utf-8")
    found = [shlex.split(line) for line in text.splitlines() if line.startswith("    ")]
    for command in COMMANDS[engine]:
        words = [word.format(folder) for word in command]
        assert words in [line[: len(words)] for line in found]


def test_a_script_may_save_the_file_first(tmp_path, saved):
    saved.name = "Renamed"
    assert bpy.ops.supple.send_to_farm(engine="OPENJD", save=True) == {"FINISHED"}
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "hero.blend"))
    assert "Renamed" in bpy.data.objects
    assert "--object=Renamed" in (tmp_path / "hero_farm" / "template.json").read_text(encoding="utf-8")
