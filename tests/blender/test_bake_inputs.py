"""What a bake is made from: the same on all machines that see the same files, another after any change of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import bpy
import pytest
from scenes_bake import add_bound, add_character, pack
from scenes_state import refuse

from scenes import reset, save
from supple.bridge.files.blend_files import save_copy
from supple.deformers import SkinningError
from supple.tasks.bake import inputs as inputs_module
from supple.tasks.bake.inputs import open_with_inputs, read_inputs
from supple.tasks.manifest import read_manifest


def link(path: Path, name: str) -> bpy.types.Object:
    with bpy.data.libraries.load(str(path), link=True, relative=True) as (_, wanted):
        wanted.objects = [name]
    return wanted.objects[0]


@pytest.fixture(scope="module")
def show(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that links from a library which links from another, and plays a cache; all paths are relative."""
    folder = tmp_path_factory.mktemp("made") / "show"
    reset()
    (folder / "library" / "deep").mkdir(parents=True)
    add_character()
    save(folder / "library" / "deep" / "props.blend")
    reset()
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "library" / "hero.blend"))
    obj, _ = add_character()
    obj.name = "Hero"
    prop = link(folder / "library" / "deep" / "props.blend", "Tube")
    bpy.context.scene.collection.objects.link(prop)
    prop.parent = None
    child = bpy.data.objects.new("Holder", prop.data)
    bpy.context.scene.collection.objects.link(child)
    bpy.ops.wm.save_mainfile()
    reset()
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "shot.blend"))
    for name in ("Hero", "Holder"):
        bpy.context.scene.collection.objects.link(link(folder / "library" / "hero.blend", name))
    (folder / "cage.pc2").write_bytes(pack())
    cage = bpy.data.objects.new("Cage", bpy.data.meshes.new("Cage"))
    bpy.context.scene.collection.objects.link(cage)
    cage.modifiers.new("Cache", "MESH_CACHE").filepath = "//cage.pc2"
    cage.modifiers.new("None", "MESH_CACHE")
    bpy.ops.wm.save_mainfile()
    return folder


@pytest.fixture
def shot(tmp_path: Path, show: Path) -> Path:
    """Such a file, to be changed."""
    return shutil.copytree(show, tmp_path / "show") / "shot.blend"


@pytest.mark.versions
def test_versions_are_those_of_this_machine(shot: Path):
    inputs = open_with_inputs(shot)
    assert inputs.supple == read_manifest()["version"]
    assert bpy.app.version_string.startswith(f"{inputs.blender}.")
    assert inputs.missing == ()
    assert read_inputs(shot) == inputs
    assert open_with_inputs(shot, inputs) == inputs


def test_the_folder_does_not_matter(shot: Path, tmp_path: Path):
    inputs = open_with_inputs(shot)
    shot.parent.rename(tmp_path / "elsewhere")
    assert open_with_inputs(tmp_path / "elsewhere" / "shot.blend") == inputs


def change(path: Path) -> None:
    if path.name == "shot.blend":  # Blender opens none that is longer
        bpy.data.objects["Cage"].location.x += 1.0
        bpy.ops.wm.save_mainfile()
        return
    with path.open("ab") as stream:
        stream.write(b"\0")


def test_a_change_of_any_file_is_one(shot: Path, subtests: pytest.Subtests):
    for name in ("shot.blend", "library/hero.blend", "library/deep/props.blend", "cage.pc2"):
        with subtests.test(name):
            inputs = open_with_inputs(shot)
            change(shot.parent / name)
            with pytest.raises(SkinningError) as caught:
                open_with_inputs(shot, inputs)
            assert str(caught.value) == (
                "The job was made with other versions or files (another state of the file, or of a library or cache "
                "used by it): check that this machine sees the same files, or make the job again"
            )


def test_a_library_that_is_missing_is_named(shot: Path, subtests: pytest.Subtests):
    for name in ("library/hero.blend", "library/deep/props.blend"):
        with subtests.test(name):
            library = (shot.parent / name).rename(shot.parent / "gone")
            with pytest.raises(SkinningError) as caught:
                open_with_inputs(shot)
            assert str(caught.value) == (
                f"Cannot read '{shot.parent / name}', from which 'shot.blend' links, (No such file or directory): "
                "check that it is at this path on this machine"
            )
            library.rename(shot.parent / name)


def test_a_cache_that_is_missing_is_named(shot: Path):
    inputs = open_with_inputs(shot)
    (shot.parent / "cage.pc2").unlink()
    refuse(f"used by it, '{shot.parent / 'cage.pc2'}' missing", open_with_inputs, shot, inputs)
    without = open_with_inputs(shot)  # nobody has it: the same everywhere
    assert open_with_inputs(shot, without) == without


def test_what_no_scene_uses_does_not_count(shot: Path):
    """It is in memory until the file is opened anew; workers have never seen it."""
    inputs = open_with_inputs(shot)
    for name in ("Cage", "Hero", "Holder"):
        bpy.data.objects.remove(bpy.data.objects[name])
    bpy.ops.wm.save_mainfile()
    here = read_inputs(shot)
    assert len(bpy.data.libraries) == 2
    assert open_with_inputs(shot) == here != inputs
    assert len(bpy.data.libraries) == 0


@pytest.mark.versions
def test_a_library_of_overrides_counts(tmp_path: Path):
    bpy.context.scene.collection.objects.link(bpy.data.objects.new("Root", None))
    save(tmp_path / "rig.blend")
    reset()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    override = link(tmp_path / "rig.blend", "Root").override_create()
    bpy.context.scene.collection.objects.link(override)
    bpy.ops.wm.save_mainfile()
    inputs = open_with_inputs(tmp_path / "shot.blend")
    change(tmp_path / "rig.blend")
    assert open_with_inputs(tmp_path / "shot.blend") != inputs


def test_a_bake_below_supple_is_not_read_for_the_next(tmp_path: Path):
    obj, _ = add_bound()
    obj.modifiers.new("Bake", "MESH_CACHE").filepath = "//body.pc2"
    path = save(tmp_path / "hero.blend")
    inputs = open_with_inputs(path)
    assert inputs.missing == ()
    (tmp_path / "body.pc2").write_bytes(pack())
    assert open_with_inputs(path) == inputs


@pytest.mark.versions
def test_an_alembic_file_counts_and_all_of_a_sequence(tmp_path: Path):
    add_character()
    for frame in (1, 2):
        bpy.ops.wm.alembic_export(filepath=str(tmp_path / f"sea_{frame:04}.abc"), end=2)
    reset()
    bpy.ops.wm.alembic_import(filepath=str(tmp_path / "sea_0001.abc"))
    for is_sequence in (False, True):
        bpy.data.cache_files[0].is_sequence = is_sequence
        path = save(tmp_path / "plays.blend")
        for name, counts in (("sea_0001.abc", True), ("sea_0002.abc", is_sequence), ("sea_storm.abc", False)):
            inputs = open_with_inputs(path)
            change(tmp_path / name)
            assert (open_with_inputs(path) != inputs) == counts
    assert open_with_inputs(path).missing == ()
    (tmp_path / "sea_0001.abc").unlink()
    (tmp_path / "sea_0002.abc").unlink()
    assert open_with_inputs(path).missing == (str(tmp_path / "sea_0001.abc"),)


def test_a_file_that_is_saved_while_it_is_opened_is_refused(shot: Path, monkeypatch: pytest.MonkeyPatch):
    opened = inputs_module.open_file

    def open_and_change(path: Path) -> None:
        opened(path)
        change(path)

    monkeypatch.setattr(inputs_module, "open_file", open_and_change)
    with pytest.raises(SkinningError, match="changed while it was being opened: try again when it is not being saved"):
        open_with_inputs(shot)


def test_what_can_not_be_read_is_named(tmp_path: Path):
    (tmp_path / "folder.blend").mkdir()
    for name in ("nothing.blend", "folder.blend"):
        with pytest.raises(SkinningError, match=rf"Cannot read '.+{name}' \(.+\): check that it is at this path"):
            open_with_inputs(tmp_path / name)


def test_a_library_is_not_saved_over(shot: Path):
    bpy.ops.wm.open_mainfile(filepath=str(shot))
    for name in ("library/hero.blend", "library/deep/props.blend"):
        refuse("the open file links data from it", save_copy, shot.parent / name)
