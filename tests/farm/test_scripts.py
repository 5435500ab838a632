"""A .blend file that runs Python: no worker does so unless the job allows it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import bpy
import pytest
from scenes_cli import DONE, main
from scenes_farm import STAND_IN, add_two, run

from scenes import save
from supple.bridge.files.render_frames import are_scripts_allowed

Attack = Callable[[str], None]
"""Has a file run an expression."""


def drive(owner: bpy.types.ID, expression: str, path: str = "location", index: int = 0) -> None:
    owner.driver_add(path, index).driver.expression = expression


def drive_hidden(expression: str) -> None:
    """Hidden in the viewport, not in the render."""
    obj = bpy.data.objects.new("Hidden", None)
    bpy.context.scene.collection.objects.link(obj)
    obj.hide_viewport = True
    drive(obj, expression)


def drive_excluded(expression: str) -> None:
    collection, obj = bpy.data.collections.new("Excluded"), bpy.data.objects.new("Excluded", None)
    collection.objects.link(obj)
    bpy.context.scene.collection.children.link(collection)
    bpy.context.view_layer.layer_collection.children["Excluded"].exclude = True
    drive(obj, expression)


def drive_other_scene(expression: str) -> None:
    obj = bpy.data.objects.new("Other", None)
    bpy.data.scenes.new("Other").collection.objects.link(obj)
    drive(obj, expression)


def drive_body(expression: str) -> None:
    drive(next(obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE"), expression)


def drive_key(expression: str) -> None:
    obj = next(obj for obj in bpy.context.scene.objects if obj.type == "MESH")
    obj.shape_key_add(name="Basis")
    drive(obj.shape_key_add(name="Key").id_data, expression, 'key_blocks["Key"].value', -1)


def drive_scene(expression: str) -> None:
    drive(bpy.context.scene, expression, "gravity")


def register_text(expression: str) -> None:
    text = bpy.data.texts.new("register.py")
    text.write(expression)
    text.use_module = True


def add_handler(expression: str) -> None:
    text = bpy.data.texts.new("handler.py")
    text.write(f"import bpy\nbpy.app.handlers.frame_change_post.append(lambda *_: {expression})")
    text.use_module = True


def draw_lines(expression: str) -> None:
    """A style module of Freestyle, which Blender runs with scripts disabled, too."""
    text = bpy.data.texts.new("style.py")
    text.write(expression)
    bpy.context.scene.render.use_freestyle = True
    settings = bpy.context.view_layer.freestyle_settings
    settings.mode = "SCRIPT"
    settings.modules.new().script = text


ATTACKS: tuple[Attack, ...] = (
    drive_hidden, drive_excluded, drive_other_scene, drive_body, drive_key, drive_scene, register_text, add_handler,
    draw_lines,
)  # fmt: skip
ALWAYS_RUN = {"drive_hidden", "drive_body", "drive_key", "register_text", "add_handler", "draw_lines"}
"""Those that do run where that is allowed, in one of the steps."""


def list_commands(job: Path, folder: Path) -> Iterator[list[str]]:
    """What workers run for each step, with one chunk each."""
    values = json.loads((job / "parameter_values.json").read_text(encoding="utf-8"))["parameterValues"]
    template = json.loads((job / "template.json").read_text(encoding="utf-8"))
    names = {f"Param.{one['name']}": str(one.get("default", "")) for one in template["parameterDefinitions"]}
    names |= {f"Param.{one['name']}": one["value"] for one in values} | {"Task.Param.Chunk": "1-2"}
    for step in template["steps"]:
        script = step["script"]
        for file in script.get("embeddedFiles", ()):
            (folder / file["name"]).write_text(file["data"], encoding="utf-8")
            names[f"Task.File.{file['name']}"] = str(folder / file["name"])
        words = script["actions"]["onRun"]["args"]
        for name, value in names.items():
            words = [word.replace(f"{{{{{name}}}}}", value) for word in words]
        yield words


@pytest.mark.parametrize("words", [(), ("--allow-scripts",)])
def test_workers_run_python_of_the_file_only_if_the_job_allows_it(tmp_path, words):
    add_two(("First", "Second"))
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 2
    for attack in ATTACKS:
        attack(f"open({str(tmp_path / attack.__name__)!r}, 'w').close() or 0.0")
    file, job = save(tmp_path / "hostile.blend"), tmp_path / "job"
    words = ("--all", "--method", "DLBNT", "--render", *words)
    assert main("farm", file, *words, "--engine", "openjd", "--output", job) == DONE
    commands = list(list_commands(job, tmp_path))
    assert len(commands) == 5
    said = ""
    for command in commands:
        done = run(sys.executable, STAND_IN, *command)
        assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        said += done.stderr
    ran = {attack.__name__ for attack in ATTACKS if (tmp_path / attack.__name__).exists()}
    readme = (job / "README.txt").read_text(encoding="utf-8")
    if "--allow-scripts" in words:
        assert ran >= ALWAYS_RUN
        assert "run on workers: the job allows them" in readme
    else:
        assert ran == set()
        assert "do not run on workers" in readme
    assert ("style modules are off" in said) == ("--allow-scripts" not in words)


def test_this_blender_may_have_been_told_to(tmp_path, monkeypatch):
    preferences, file = bpy.context.preferences, tmp_path / "hero.blend"
    assert not are_scripts_allowed(file)
    monkeypatch.setattr(preferences.filepaths, "use_scripts_auto_execute", True)
    assert are_scripts_allowed(file)
    excluded = preferences.autoexec_paths.new()
    excluded.path = str(tmp_path)
    try:
        assert not are_scripts_allowed(file)
    finally:
        preferences.autoexec_paths.remove(excluded)
