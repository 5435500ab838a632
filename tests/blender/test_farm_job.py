"""Jobs for farms as they are written: what is refused before a worker has it, and what stands in a job bundle.

That engines run them is shown in tests/farm.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import bpy
import pytest
from scenes_bake import add_bound, changes, everything
from scenes_cli import DONE, add_character, assert_refused, main
from scenes_state import refuse

from panels import draw
from scenes import add_twin, bind, link, open_file, save, select
from supple.settings.objects import settings_of
from supple.tasks.farm.assets import find_assets
from supple.tasks.farm.commands import FarmJob
from supple.tasks.farm.engines import ENGINES
from supple.tasks.farm.job import write_job

NAMES = ["template.json", "parameter_values.json", "asset_references.json", "README.txt"]


def add_camera() -> None:
    scene = bpy.context.scene
    scene.camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(scene.camera)


def read(folder: Path, name: str = "template.json") -> Any:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def write(file: Path, folder: Path, *words: str) -> dict[str, Any]:
    """A job of all characters of a file: its template."""
    assert main("farm", file, "--all", "--engine", "openjd", "--output", folder, *words) == DONE
    return read(folder)


def words_of(template: dict[str, Any], step: str) -> list[str]:
    """What a step's tasks start, in one list."""
    (found,) = (each for each in template["steps"] if each["name"] == step)
    action = found["script"]["actions"]["onRun"]
    return [action["command"], *action["args"]]


@pytest.mark.versions
def test_the_steps_of_a_job(tmp_path, bound_file):
    template = write(bound_file, tmp_path / "job", "--frames=-3-19")
    assert [step["name"] for step in template["steps"]] == ["Check", "Bake", "Join"]
    assert template["extensions"] == ["TASK_CHUNKING"]
    bake = words_of(template, "Bake")
    start = ["{{Param.Blender}}", "--disable-autoexec", "--command", "supple"]
    assert bake[:6] == [*start, "bake", "{{Param.SceneFile}}"]
    assert "--all" in bake
    assert "--frames={{Task.Param.Chunk}}" in bake
    assert "--frames={{Param.Frames}}" in words_of(template, "Join")
    expect = bake[bake.index("--expect") + 1]
    assert expect in words_of(template, "Check")
    assert all("stepEnvironments" not in step for step in template["steps"])  # what these print sets variables
    values = {one["name"]: one["value"] for one in read(tmp_path / "job", "parameter_values.json")["parameterValues"]}
    assert values == {"SceneFile": str(bound_file), "OutputFolder": str(tmp_path / "job")}
    defaults = {one["name"]: one.get("default") for one in template["parameterDefinitions"]}
    assert defaults["Frames"] == "-3-19"
    assert defaults["FramesPerChunk"] == 50


@pytest.mark.versions
def test_workers_run_no_python_that_was_not_run_here(tmp_path, bound_file, capsys):
    armature = next(obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE")
    armature.driver_add("location", 0).driver.expression = "somewhere(frame)"
    save(bound_file)
    template = write(bound_file, tmp_path / "job")
    assert words_of(template, "Bake")[1] == "--disable-autoexec"
    assert "has not run the file's Python" in capsys.readouterr().err


def test_a_job_that_renders(tmp_path, bound_file):
    add_camera()
    save(bound_file)
    template = write(bound_file, tmp_path / "job", "--render")
    assert [step["name"] for step in template["steps"]] == ["Check", "Bake", "Join", "Apply", "Render"]
    after = [step.get("dependencies", [{"dependsOn": ""}])[0]["dependsOn"] for step in template["steps"]]
    assert after == ["", "Check", "Bake", "Join", "Apply"]
    baked = "{{Param.OutputFolder}}/bound_baked.blend"
    assert baked in words_of(template, "Apply")
    assert words_of(template, "Render")[1:3] == ["--disable-autoexec", "--background"]
    assert words_of(template, "Render")[7:9] == ["--", baked]
    (script,) = template["steps"][-1]["script"]["embeddedFiles"]
    assert not re.search(r"\{\{|\}\}", script["data"])  # the engine would read a name there


def test_chunks_are_listed_where_the_engine_can_not_cut(tmp_path, bound_file):
    for words in (("--no-task-chunking",), ()):  # of frames that do not touch it would cut each off
        template = write(bound_file, tmp_path / "job", "--chunk", "4", "--frames=-3-6:2,9,20-24", *words)
        assert "extensions" not in template
        (chunk,) = template["steps"][1]["parameterSpace"]["taskParameterDefinitions"]
        assert chunk == {"name": "Chunk", "type": "STRING", "range": ["-3-3:2", "5-5:2", "9", "20-23", "24"]}
        assert "--frames=-3-5:2,9,20-24" in words_of(template, "Join")
        assert {"Frames", "FramesPerChunk"}.isdisjoint(one["name"] for one in template["parameterDefinitions"])


def test_options_of_the_bake_are_passed_on(tmp_path, plain_file):
    template = write(plain_file, tmp_path / "job", "--method", "CENTERS", "--sharpness", "0.25", "--bulge-limit", "1")
    bake = words_of(template, "Bake")
    start = bake.index("--method")
    assert bake[start : start + 6] == ["--method", "CENTERS", "--sharpness", "0.25", "--bulge-limit", "1.0"]


def test_the_folder_may_be_there_and_hold_an_earlier_job(tmp_path, bound_file):
    write(bound_file, tmp_path / "job", "--chunk", "7")
    (tmp_path / "job" / "chunks").mkdir()
    write(bound_file, tmp_path / "job", "--chunk", "8")
    assert sorted(path.name for path in (tmp_path / "job").iterdir()) == sorted([*NAMES, "chunks"])


@pytest.mark.versions
def test_strips_are_rendered_without_a_camera(tmp_path, bound_file):
    editor = bpy.context.scene.sequence_editor_create()
    strips = editor.sequences if bpy.app.version < (4, 4) else editor.strips
    length = {"frame_end": 9} if bpy.app.version < (5, 0) else {"length": 8}
    strips.new_effect("Color", "COLOR", channel=1, frame_start=1, **length)
    save(bound_file)
    assert len(write(bound_file, tmp_path / "job", "--render")["steps"]) == 5


@pytest.mark.versions
def test_movies_are_not_rendered_in_chunks(tmp_path, bound_file, capfd):
    add_camera()
    image = bpy.context.scene.render.image_settings
    if hasattr(image, "media_type"):
        image.media_type = "VIDEO"
    image.file_format = "FFMPEG"
    save(bound_file)
    capfd.readouterr()
    words = ("--all", "--render", "--engine", "openjd", "--output", tmp_path / "job")
    assert_refused(main("farm", bound_file, *words), capfd.readouterr(), "FFMPEG", "image format")


def test_names_that_would_be_read_as_names_of_parameters(tmp_path, scene):
    obj, name = add_character(), "-{{a}}}"
    obj.name = name
    bind(obj, method="DLB")
    file = save(tmp_path / "{{x}}.blend")
    assert main("farm", file, f"--object={name}", "--engine", "openjd", "--output", tmp_path / "job") == DONE
    template = read(tmp_path / "job")
    (word,) = (word for word in words_of(template, "Bake") if word.startswith("--object="))
    title = template["name"]
    assert not re.search(r"\{\{(?!Param\.\w+\}\})|(?<!Brace)\}\}", word + title)
    for one in template["parameterDefinitions"]:
        word, title = (text.replace(f"{{{{Param.{one['name']}}}}}", str(one.get("default"))) for text in (word, title))
    assert word == f"--object={name}"
    assert title == "Supple {{x}}"


def test_names_that_would_share_a_file(tmp_path, bound_tube):
    twin = bound_tube.copy()
    link(twin)
    bound_tube.name, twin.name = "a/b", "a:b"
    file = save(tmp_path / "file.blend")
    refuse(
        "would share the file", lambda: write_job(FarmJob(file, (), (range(1, 9),), 4, (), tmp_path / "job"), "openjd")
    )


def test_a_name_with_a_control_character_is_refused(tmp_path, bound_tube):
    bound_tube.name = "a\tb"
    file = save(tmp_path / "file.blend")
    job = FarmJob(file, ("a\tb",), (range(1, 9),), 4, (), tmp_path / "job")
    refuse("control character", write_job, job, "openjd")


@pytest.mark.versions
def test_what_the_file_reads_is_named(tmp_path, bound_tube):
    there = {"one_1.png", "seq_1.png", "seq_2.png", "tile.1001.png", "tile.1002.png"}
    cached = {"folder/data/fluid_data_0001.vdb", "folder/disp_0001.exr"}
    (tmp_path / "folder" / "data").mkdir(parents=True)
    for name in (*there, *cached, "seq.txt", "seq_note.png", "one_2.png", "folder/secret", "folder/data/secret"):
        (tmp_path / name).write_bytes(b"x")
    for name, source in (
        ("one_1.png", "FILE"),
        ("seq_1.png", "SEQUENCE"),
        ("tile.<UDIM>.png", "TILED"),
        ("no.png", "FILE"),
        ("folder", "FILE"),
    ):
        image = bpy.data.images.new(name, 4, 4, tiled=source == "TILED")
        image.source, image.filepath = source, f"//{name}"
        image.use_fake_user = True
    save(tmp_path / "file.blend")
    assert {Path(name).relative_to(tmp_path).as_posix() for name in find_assets()} == {*there, *cached}


# The Write Farm Job button


@pytest.fixture
def saved(tmp_path: Path) -> bpy.types.Object:
    """A bound character of eight frames, in a file that is saved."""
    obj, _ = add_bound()
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 8
    save(tmp_path / "hero.blend")
    return obj


def read_folder(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("engine", ENGINES)
def test_it_writes_what_the_task_writes(tmp_path, saved, engine):
    before = everything(saved)
    answer = bpy.ops.supple.send_to_farm(
        engine=engine.upper(), directory="//job", frames="1-3,8,4-6:2", chunk=2, render=False
    )
    assert answer == {"FINISHED"}
    assert changes(before, everything(saved)) == {}
    by_operator = read_folder(tmp_path / "job")
    job = FarmJob(
        file=tmp_path / "hero.blend",
        objects=("Tube",),
        frames=(range(1, 4), range(4, 7, 2), range(8, 9)),
        chunk=2,
        choices=(),
        output=tmp_path / "job",
    )
    write_job(job, engine)
    assert read_folder(tmp_path / "job") == by_operator
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


def save_camera() -> None:
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
            save_camera()
        with subtests.test(message):
            refuse(message, bpy.ops.supple.send_to_farm, engine="OPENJD", **settings)
            assert not [path for path in tmp_path.iterdir() if path.is_dir()]


def test_a_file_that_was_never_saved_is_refused():
    add_bound()
    refuse("The file was never saved, and workers open it from disk: save it first", bpy.ops.supple.send_to_farm)


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
    open_file(tmp_path / "hero.blend")
    assert "Renamed" in bpy.data.objects
    assert "--object=Renamed" in (tmp_path / "hero_farm" / "template.json").read_text(encoding="utf-8")
