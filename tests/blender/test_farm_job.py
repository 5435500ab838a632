"""Jobs for farms as they are written: what is refused before a worker has it, and what stands in a job bundle.

That engines run them is shown in tests/farm.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import bpy
import pytest
from scenes_cli import DONE, add_character, assert_refused, main

from scenes import bind, save
from supple.deformers import SkinningError
from supple.tasks.farm.assets import find_assets
from supple.tasks.farm.commands import FarmJob
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


REFUSED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("--all", "--method", "DLB", "--chunk", "0"): ("Chunks of 0 frames", "choose 1 to 1,048,574"),
    ("--object", "Rig"): ("'Rig'",),
    ("--object", "Tub"): ("'Tub'", "Tube"),
    ("--all",): ("No mesh in the scene is bound", "--method"),
    ("--object", "Tube"): ("'Tube' is not bound", "--method"),
    ("--all", "--method", "DLBNT", "--render"): ("no camera",),
    ("--all", "--method", "DLB", "--order", "GH"): ("DLB has no option for order",),
    ("--all", "--method", "DLB", "--chunk", "1", "--frames", "1-2000", "--no-task-chunking"): ("2,000", "1,024"),
    ("--all", "--method", "DLB", "--frames", ",".join(map(str, range(1, 900, 2)))): ("--no-task-chunking",),
}


def test_what_no_worker_could_run_is_refused(tmp_path, plain_file, subtests, capfd):
    for words, parts in REFUSED.items():
        with subtests.test(" ".join(words)[:80]):
            capfd.readouterr()
            code = main("farm", plain_file, *words, "--engine", "openjd", "--output", tmp_path / "job")
            assert_refused(code, capfd.readouterr(), *parts)
            assert not (tmp_path / "job").exists()


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


def test_a_file_that_was_never_saved_is_refused(tmp_path, bound_tube):
    job = FarmJob(tmp_path / "none.blend", (), (range(1, 9),), 4, (), tmp_path / "job")
    with pytest.raises(SkinningError, match="save it first"):
        write_job(job, "openjd")


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
    bpy.context.scene.collection.objects.link(twin)
    bound_tube.name, twin.name = "a/b", "a:b"
    file = save(tmp_path / "file.blend")
    with pytest.raises(SkinningError, match="would share the file"):
        write_job(FarmJob(file, (), (range(1, 9),), 4, (), tmp_path / "job"), "openjd")


def test_a_name_with_a_control_character_is_refused(tmp_path, bound_tube):
    bound_tube.name = "a\tb"
    file = save(tmp_path / "file.blend")
    job = FarmJob(file, ("a\tb",), (range(1, 9),), 4, (), tmp_path / "job")
    with pytest.raises(SkinningError, match="control character"):
        write_job(job, "openjd")


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
