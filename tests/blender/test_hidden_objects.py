"""What Supple hides stays hidden wherever a character goes, and nobody takes it for a character."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import bpy
import pytest
from scenes_twins import bend

from scenes import (
    add_tube,
    armature_modifier,
    bind,
    distance,
    evaluated_points,
    reset,
    rest_points,
    save,
    select,
    update,
)
from supple.bridge.owned import Tag, unmark
from supple.bridge.rigs.carriers import is_hidden_object, remove_hidden
from supple.settings.objects import settings_of
from supple.tasks.skin.inspect import describe_file
from supple.tasks.subject.character import has_armature_modifier

pytestmark = pytest.mark.usefixtures("silent_handlers")


@pytest.fixture(scope="module", params=["CENTERS", "DLBNT"])
def character(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file with a collection of a tube that is bound by what needs hidden objects, and its rig."""
    path = tmp_path_factory.mktemp("character") / f"{request.param}.blend"
    reset()
    obj, armature = add_tube(rings=10, sides=6)
    collection = bpy.data.collections.new("Character")
    bpy.context.scene.collection.children.link(collection)
    for one in (obj, armature):
        bpy.context.scene.collection.objects.unlink(one)
        collection.objects.link(one)
    bind(obj, method=request.param, evaluate="BLENDER")
    save(path)
    bpy.ops.wm.open_mainfile(filepath=str(path))
    select(bpy.data.objects["Tube"], bpy.data.objects["Rig"])
    bpy.context.preferences.filepaths.temporary_directory = str(path.parent)  # where the clipboard is a file
    with bpy.context.temp_override(selected_objects=[bpy.data.objects["Tube"], bpy.data.objects["Rig"]]):
        bpy.ops.view3d.copybuffer()
    yield path
    bpy.context.preferences.filepaths.temporary_directory = ""


def bring(operator: Callable, path: Path, kind: str, name: str, **options: bool) -> None:
    operator(filepath=f"{path}/{kind}/{name}", directory=f"{path}/{kind}/", filename=name, **options)


def append_object(path: Path) -> None:
    bring(bpy.ops.wm.append, path, "Object", "Tube")


def append_collection(path: Path) -> None:
    bring(bpy.ops.wm.append, path, "Collection", "Character")


def append_instance(path: Path) -> None:
    bring(bpy.ops.wm.append, path, "Collection", "Character", instance_collections=True)


def append_scene(path: Path) -> None:
    bring(bpy.ops.wm.append, path, "Scene", "Scene")
    bpy.context.window.scene = next(scene for scene in bpy.data.scenes if scene.objects)


def link_and_make_local(path: Path) -> None:
    bring(bpy.ops.wm.link, path, "Collection", "Character", instance_collections=False)
    select(*bpy.context.scene.objects)
    bpy.ops.object.make_local(type="ALL")


def link_and_make_object_local(path: Path) -> None:
    bring(bpy.ops.wm.link, path, "Object", "Tube")
    select(bpy.data.objects["Tube", str(path)])
    bpy.ops.object.make_local(type="SELECT_OBJECT")


def paste(path: Path) -> None:
    bpy.ops.view3d.pastebuffer()


def show_by_hand(path: Path) -> None:
    append_object(path)
    update()
    for obj in bpy.data.objects:
        if is_hidden_object(obj):
            bpy.context.scene.collection.objects.link(obj)
    bpy.data.objects.new("Added", None)


WAYS = (
    append_object, append_collection, append_instance, append_scene, link_and_make_local, link_and_make_object_local,
    paste, show_by_hand,
)  # fmt: skip


@pytest.mark.versions
def test_they_stay_hidden(character: Path, subtests: pytest.Subtests):
    for way in WAYS:
        with subtests.test(way.__name__):
            reset()
            way(character)
            update()
            hidden = [obj for obj in bpy.data.objects if is_hidden_object(obj)]
            assert hidden
            assert [obj.name for obj in hidden if obj.users_collection or obj.users_scene or obj.select_get()] == []
            obj = next(obj for obj in bpy.data.objects if obj.name.startswith("Tube") and obj.library is None)
            assert settings_of(obj).message == ""
            assert settings_of(obj).is_bound
            if way is not append_instance and armature_modifier(obj).object.library is None:
                bend(armature_modifier(obj).object)
                assert distance(rest_points(obj), evaluated_points(obj)) > 0.1


@pytest.mark.parametrize("is_seen", [False, True], ids=["at once", "after an update"])
def test_they_are_not_bound(character: Path, is_seen: bool):
    append_object(character)
    obj, armature = bpy.data.objects["Tube"], bpy.data.objects["Rig"]
    if is_seen:
        update()
    select(armature)
    assert bpy.ops.supple.bind(method="SSD") == {"FINISHED"}
    assert [one.name for one in bpy.data.objects if settings_of(one).is_bound] == ["Tube"]
    assert [one["name"] for one in describe_file(bpy.context.scene)["objects"]] == ["Tube"]
    for one in bpy.context.view_layer.objects:
        one.select_set(True)
    assert bpy.ops.supple.weights_auto() == {"FINISHED"}
    bpy.context.view_layer.objects.active = obj
    assert bpy.ops.supple.bind(method="SSD") == {"FINISHED"}
    assert [one.name for one in bpy.data.objects if settings_of(one).is_bound] == ["Tube"]
    assert bpy.ops.supple.unbind() == {"FINISHED"}
    bpy.ops.outliner.orphans_purge(do_recursive=True)
    assert {one.name for one in bpy.data.objects} == {"Tube", "Rig"}


def test_one_that_is_selected_is_refused(character: Path):
    bpy.ops.wm.open_mainfile(filepath=str(character))
    hidden = next((obj for obj in bpy.data.objects if is_hidden_object(obj) and obj.type == "MESH"), None)
    if hidden is None:
        pytest.skip("armatures alone")
    bpy.context.scene.collection.objects.link(hidden)
    assert not has_armature_modifier(hidden)
    select(hidden)
    assert not bpy.ops.supple.bind.poll()


def test_those_of_an_older_supple_are_marked(tmp_path: Path):
    obj, _ = add_tube(rings=10, sides=6)
    bind(obj, evaluate="PYTHON")
    for hidden in (settings_of(obj).carrier, settings_of(obj).watcher):
        unmark(hidden, Tag.HIDDEN)
    settings_of(obj).version = 2
    path = save(tmp_path / "older.blend")
    for bring_it in (append_object, lambda path: bpy.ops.wm.open_mainfile(filepath=str(path))):
        reset()
        bring_it(path)
        update()
        obj = bpy.data.objects["Tube"]
        assert all(is_hidden_object(hidden) for hidden in (settings_of(obj).carrier, settings_of(obj).watcher))
        assert {one.name for one in bpy.context.scene.objects} == {"Tube", "Rig"}
        select(obj)
        bpy.ops.supple.unbind()
        assert {one.name for one in bpy.data.objects} == {"Tube", "Rig"}


def test_an_object_that_is_not_hidden_by_supple_is_not_removed():
    reset()
    obj, _ = add_tube(rings=10, sides=6)
    remove_hidden(obj.session_uid)
    assert obj.name in bpy.data.objects
