"""The asset library: what is in it, how it is registered, and that the open file stays as it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import bpy
import numpy as np
import pytest
from pictures import prepare_pictures, read_picture
from scenes_patterns import add_own, add_skin, make_material

from scenes import clear
from supple.bridge.files.user_folders import find_user_folder
from supple.bridge.files.writing import filling
from supple.bridge.images.data import read_image
from supple.bridge.images.thumbnails import SIZE
from supple.deformers import SkinningError
from supple.tasks.patterns import assets, library


@pytest.fixture(autouse=True)
def _removed() -> Iterator[None]:
    yield
    assets.remove_library()


def list_data() -> list[set]:
    return [set(collection) for collection in (bpy.data.node_groups, bpy.data.images, bpy.data.materials)]


def load(folder: Path) -> dict:
    """The assets of the library by name, appended to the open file."""
    for group in list(bpy.data.node_groups):
        bpy.data.node_groups.remove(group)
    with bpy.data.libraries.load(str(folder / assets.BLEND_FILE), assets_only=True) as (found, wanted):
        wanted.node_groups = found.node_groups
    return {group.name: group for group in wanted.node_groups}


def test_every_pattern_is_an_asset_with_a_thumbnail() -> None:
    before = list_data()
    assert bpy.ops.supple.asset_library_add() == {"FINISHED"}
    assert list_data() == before, "the open file stays as it is"
    registered = assets.find_registered()
    assert registered.name == "Supple"

    found = load(Path(registered.path))
    entries = {entry.label: entry for entry in library.all_entries().values()}
    assert set(found) == set(entries)
    listed = (assets.find_folder() / assets.CATALOG_FILE).read_text(encoding="utf-8")
    for name, group in found.items():
        data = group.asset_data
        assert data.description
        assert f"{data.catalog_id}:Supple/" in listed
        image = next(node.image for node in group.nodes if node.bl_idname == "ShaderNodeTexImage")
        np.testing.assert_allclose(read_image(image), entries[name].draw(library.RESOLUTION), atol=1 / 65535)
        preview = np.array(group.preview.image_pixels_float)
        assert tuple(group.preview.image_size) == (SIZE, SIZE)
        assert preview.std() > 0.02, "something is seen"


def test_with_assets_in_the_file_their_names_stay_and_the_library_s_are_not_numbered() -> None:
    bpy.ops.supple.asset_library_add()
    found = load(assets.find_folder())
    names = sorted(group.name for group in bpy.data.node_groups)
    bpy.ops.supple.asset_library_add()
    assert sorted(group.name for group in bpy.data.node_groups) == names
    assert set(load(assets.find_folder())) == set(found)


def test_added_twice_it_is_registered_once_and_removed_it_is_gone() -> None:
    libraries = bpy.context.preferences.filepaths.asset_libraries
    count = len(libraries)
    for _ in range(2):
        bpy.ops.supple.asset_library_add()
        assert len(libraries) == count + 1
    bpy.ops.supple.asset_library_remove()
    assert len(libraries) == count
    assert not list(assets.find_folder().glob("*"))


def test_a_saved_pattern_is_in_the_library_until_it_is_removed() -> None:
    obj, _ = add_skin()
    add_own(obj, location=(0, 1.5, 0.4)).name = "My Hill"
    bpy.ops.supple.asset_library_add()
    bpy.ops.supple.pattern_save()
    assert "My Hill" in load(assets.find_folder())
    bpy.ops.supple.pattern_forget(preset="USER_My_Hill")
    clear()
    assert "My Hill" not in load(assets.find_folder())


@pytest.mark.versions
def test_a_material_with_an_asset_is_bumped_where_its_heights_change(tmp_path: Path) -> None:
    bpy.ops.supple.asset_library_add()
    group = load(assets.find_folder())["Belly Folds"]
    pictures = [shade(group, amount, tmp_path / f"{amount}.png") for amount in (0.0, 1.0)]
    change = np.abs(pictures[1] - pictures[0]).max(axis=2)
    assert change.max() > 20, "folds are seen"
    assert change[:, :3].max() <= 1, "the rim is flat"


def shade(group: bpy.types.NodeTree, amount: float, path: Path) -> np.ndarray:
    """A picture of a plane from above, as wide as the pattern on a body, with an asset in its material."""
    width = library.find_entry("FOLDS_BELLY").width * assets.HUMAN_HEIGHT
    clear()
    bpy.ops.mesh.primitive_plane_add(size=width)
    tree = make_material(bpy.context.object, linked=False).node_tree
    node = tree.nodes.new("ShaderNodeGroup")
    node.node_tree = group
    node.inputs["Amount"].default_value = amount
    shader = next(one for one in tree.nodes if one.bl_idname == "ShaderNodeBsdfPrincipled")
    tree.links.new(node.outputs["Normal"], shader.inputs["Normal"])
    prepare_pictures("CYCLES")
    camera = bpy.context.scene.camera
    camera.location, camera.rotation_euler = (0, 0, 2), (0, 0, 0)
    camera.data.type, camera.data.ortho_scale = "ORTHO", width
    bpy.context.scene.render.filepath = str(path)
    bpy.ops.render.render(write_still=True)
    return read_picture(path).astype(float)


def test_a_user_folder_that_can_not_be_made_is_said_and_the_current_folder_is_left_alone(tmp_path: Path, monkeypatch):
    root = find_user_folder("patterns").parent
    aside = root.with_name("aside")
    if root.exists():
        root.rename(aside)
    root.parent.mkdir(parents=True, exist_ok=True)
    root.write_text("a file in place of the folder")
    monkeypatch.chdir(tmp_path)
    for name in ("photo.png", assets.BLEND_FILE):
        (tmp_path / name).write_text("the user's own")
    add_own(add_skin()[0]).name = "photo"
    try:
        for operator in (bpy.ops.supple.pattern_save, bpy.ops.supple.asset_library_add):
            with pytest.raises(RuntimeError, match=r"Cannot write '.*' .*Not a directory"):
                operator()
        assert assets.find_registered() is None
        assert library.saved_entries() == {}
        assert {path.read_text() for path in tmp_path.iterdir()} == {"the user's own"}
    finally:
        root.unlink()
        if aside.exists():
            aside.rename(root)


def test_an_error_without_a_number_is_told_in_its_own_words(tmp_path: Path, monkeypatch):
    """As Blender's own when it writes a library on a full disk."""
    with pytest.raises(SkinningError, match="the disk is full"), filling(tmp_path):
        raise OSError("the disk is full")
