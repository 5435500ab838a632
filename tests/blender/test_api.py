"""The api does as the tasks behind it, on the human and on small scenes."""

from pathlib import Path

import bpy
import numpy as np
import pytest
from scenes_layers import BODY, SKIRT, TIGHTS, add_dressed
from scenes_swing import TAIL, add_run, add_runner

from scenes import add_tube, animate_tube, diagonal, distance, evaluated_points, rest_points
from supple import api
from supple.settings.objects import settings_of
from supple.tasks.subject.frames import read_frames


@pytest.fixture
def tube():
    obj, armature = add_tube(rings=16, sides=8)
    animate_tube(armature)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 8
    bpy.context.view_layer.update()
    return obj, api.Character(armature)


@pytest.fixture
def human(asset):
    bpy.ops.wm.open_mainfile(filepath=str(asset("human")))
    return api.Character("Rig")


def test_bind_and_unbind(tube):
    obj, character = tube
    before = evaluated_points(obj)
    assert character.bind().meshes == (obj.name,)
    assert settings_of(obj).method == "DLB"
    character.bind("DLBNT", meshes=[obj.name], order="HG")
    assert (settings_of(obj).method, settings_of(obj).order) == ("DLBNT", "HG")
    assert character.unbind().meshes == (obj.name,)
    np.testing.assert_array_equal(evaluated_points(obj), before)
    with pytest.raises(api.SkinningError, match="no option"):
        character.bind("SSD", order="HG")
    with pytest.raises(api.SkinningError) as refused:
        character.unbind()
    assert api.find_code(str(refused.value)).startswith("SUP-")


def test_looks(human):
    assert set(human.bind(look="published").meshes) == {"Body", "Skirt", "Tights"}
    assert settings_of(human.meshes[0]).method == "DLBNT"
    assert human.bind(look="BLENDER").left_out == ()
    assert all(settings_of(obj).is_muted for obj in human.meshes)
    human.bind(look="FAST")
    assert not any(settings_of(obj).is_muted for obj in human.meshes)


def test_objects_and_armatures_that_are_not_there(tube):
    obj, character = tube
    for wrong in ("Nobody", obj):
        with pytest.raises(api.SkinningError, match="There is no armature"):
            api.Character(wrong)
    with pytest.raises(api.SkinningError, match="There is no object 'Nobody'"):
        character.bind(meshes=["Nobody"])
    assert [one.armature for one in api.list_characters()] == [character.armature]
    bpy.data.objects.remove(character.armature)
    with pytest.raises(api.SkinningError, match="deleted"):
        character.bind()


def test_weights(tube):
    obj, character = tube
    obj.vertex_groups.clear()
    shares = []
    report = character.weights(method="solid", limit=2, progress=shares.append)
    assert (report.method, report.parts) == ("SOLID", ((obj.name, len(obj.data.vertices), len(obj.data.vertices)),))
    assert shares[-1] == 1.0
    assert max(len(vertex.groups) for vertex in obj.data.vertices) <= 2
    with pytest.raises(TypeError):
        character.weights(limits=4)


def test_handles(tube):
    _, character = tube
    character.armature.data.pose_position = "REST"
    bpy.ops.object.empty_add(location=(0.0, 1.0, 0.4))
    report = character.weights(handles=[bpy.context.active_object])
    assert report.method == "BIHARMONIC"
    assert len(character.armature.data.bones) == 4
    character.remove("handles")
    assert len(character.armature.data.bones) == 3


def test_corrections_of_a_joint_and_their_removal(tube):
    obj, character = tube
    character.bind()
    report = character.correct(joints=["bone.1"], angles=[np.pi / 2])
    assert {mesh for mesh, _ in report.keys} == {obj.name}
    assert set(settings_of(obj).corrections.keys()) == {key for _, key in report.keys}
    character.remove("flesh")
    assert not settings_of(obj).corrections


def test_layers():
    dressed = add_dressed(rings=31, sides=16)
    character = api.Character("Rig")
    report = character.layers()
    assert report.order == (SKIRT, TIGHTS, BODY)
    assert character.layers(limbs="bone.0, bone.2", mend=True).bones == "bone.0, bone.2"
    character.remove("layers", meshes=[dressed[name] for name in (BODY, TIGHTS, SKIRT)])
    assert [len(dressed[name].modifiers) for name in (BODY, TIGHTS, SKIRT)] == [1, 1, 1]


def test_swing():
    armature = add_runner()
    add_run(armature)
    character = api.Character(armature)
    report = character.swing(TAIL, preset="tail", angle=0.3)
    assert [chain.bones for chain in report.chains] == [TAIL]
    assert character.update_swing().actions == report.actions
    character.remove("swing")
    with pytest.raises(api.SkinningError, match="Nothing of 'Runner' swings"):
        character.update_swing()


def test_patterns(human):
    report = human.patterns("ARMS")
    assert [len(names) for names in report.added.values()] == [len(settings_of(bpy.data.objects["Body"]).patterns)]
    name = human.pattern("Body", "FOLDS_WRIST", "hand_l", location=(0.5, 0.0, 1.4))
    assert settings_of(bpy.data.objects["Body"]).patterns[-1].name == name
    human.remove("patterns")
    assert not settings_of(bpy.data.objects["Body"]).patterns


def test_heights(animated_body, tmp_path):
    character = api.Character("Rig")
    bpy.context.scene.frame_set(4)
    heights = character.heights(animated_body, 64)
    assert heights.shape == (64, 64)
    assert heights.any()
    character.write_heights(animated_body, tmp_path / "maps", "1-2", file_format="exr", width=32)
    assert len(list((tmp_path / "maps").glob("*.exr"))) == 2


def test_check(tube, tmp_path):
    obj, character = tube
    report = character.check(methods=("SSD", "DLB"), frames="1-8")
    assert report.poses == 8
    assert report.as_json()["armature"] == "Rig"
    assert {fault.mesh for fault in report.faults} <= {obj.name}
    assert character.check(angle=1.0, use_actions=False).poses > 0
    assert set(character.fix(report).reasons) <= {fault.key for fault in report.faults}


def test_bake_to_files_and_to_keys(tube, tmp_path):
    obj, character = tube
    character.bind()
    report = character.bake(tmp_path / "caches", "1-8")
    assert report.notes == (str(tmp_path / "caches" / "Tube.pc2"),)
    assert settings_of(obj).bake == "PC2"
    character.remove("bake")
    assert settings_of(obj).bake == "NONE"
    character.bake(tmp_path / "tube.pc2", range(1, 9, 2), plays=False)
    assert settings_of(obj).bake == "NONE"
    character.bake(frames=(1, 4))
    assert settings_of(obj).bake == "SHAPE_KEYS"
    with pytest.raises(api.SkinningError, match="one step"):
        character.bake(tmp_path / "tube.pc2", (1, 2, 5))


def test_engine_copy(tube):
    _, character = tube
    character.bind()
    report = character.copy(target="GLTF", tolerance=0.05, use_bends=False)
    assert (report.character, report.target) == ("Rig", "gltf")
    assert character.remove("copy").notes
    assert not bpy.data.collections


def test_remove_of_all_takes_back_what_was_made(tube, tmp_path):
    obj, character = tube
    modifiers, bones = list(obj.modifiers.keys()), list(character.armature.data.bones.keys())
    character.bind()
    character.bake(tmp_path / "tube.pc2")
    character.copy(use_bends=False, tolerance=0.05)
    character.remove()
    assert (list(obj.modifiers.keys()), list(character.armature.data.bones.keys())) == (modifiers, bones)
    assert character.remove().notes == ()
    with pytest.raises(api.SkinningError, match="There is no feature 'hat'"):
        character.remove("hat")


def test_points_by_numpy(tube):
    obj, character = tube
    bpy.context.scene.frame_set(4)
    assert distance(character.deform(obj), evaluated_points(obj)) < 1e-5
    character.bind("DLBNT")
    assert distance(character.deform("Tube"), evaluated_points(obj)) < 1e-5
    assert distance(character.deform("Tube", "SSD"), rest_points(obj)) > 0.01 * diagonal(rest_points(obj))


def test_motions(tube):
    _, character = tube
    action = character.armature.animation_data.action.name
    assert character.compare(action).describe()
    assert character.loop(action, (1, 8)).action in bpy.data.actions


def test_fit(human, asset):
    meshes = human.meshes
    for obj in meshes:
        obj.modifiers.clear()
        obj.parent = None
    bpy.data.objects.remove(human.armature)
    report = api.fit(meshes, rig="mixamo")
    assert "pelvis" in report.joints or report.joints
    assert report.describe()
    assert report.character.armature.select_get()


def test_frames_are_read_as_scripts_write_them(scene):
    scene.frame_start, scene.frame_end = 3, 5
    assert [list(read_frames(each, scene)) for each in (None, 7, "1-5:2", "1,2,9", (4, 2), range(2))] == [
        [3, 4, 5], [7], [1, 3, 5], [1, 2, 9], [4, 2], [0, 1],
    ]  # fmt: skip


def test_paths_may_be_words(tube, tmp_path, monkeypatch):
    _, character = tube
    character.bind()
    monkeypatch.chdir(tmp_path)
    character.bake("tube.pc2", 1)
    assert Path("tube.pc2").is_file()
