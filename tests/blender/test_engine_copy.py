"""Engine copies: what they are made of, and that files of them are what was measured."""

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import bpy
import numpy as np
import pytest
from scenes_bake import curves_of
from scenes_state import refuse

import scenes
from supple.bridge.animation.curves import remove_curves
from supple.bridge.files import exchange
from supple.bridge.names import name_within
from supple.deformers.algebra.dual_quaternions import quaternions_from_rotations
from supple.deformers.engine_copy import CopiedSkin, CopyFit, Helper, Key, fit_linear, measure, pose_copy
from supple.deformers.engine_copy.bone_motion import without_scale
from supple.deformers.engine_copy.keys import read_angle
from supple.deformers.rig.joint_angles import evaluate_hat
from supple.options import CopyOptions
from supple.settings.objects import settings_of
from supple.tasks.engine_copy.export import write_file
from supple.tasks.engine_copy.plan import Fitted, lay_out, read_examples, write_targets
from supple.tasks.engine_copy.read import read_source
from supple.tasks.engine_copy.write import make_copy
from supple.tasks.installed.feature import Subject
from supple.tasks.steps import take_all


class Made:
    """A copy by linear blending, and what it was made of."""

    def __init__(
        self, tmp_path: Path, *meshes, target: str = "gltf", helpers=False, corrective=False, influences=4
    ) -> None:
        options = CopyOptions(target=target, influences=influences, use_bends=False)
        self.source = source = take_all(read_source(Subject(None, meshes), options, None, tmp_path))
        self.character = source.character
        assert write_targets(source, lambda share: None) == {}
        skin, examples = self.character.skin, read_examples(source)
        self.fit = fit_linear(skin, examples, influences)
        if helpers:
            self.fit = add_helper(self.fit, skin, source.matrices)
        if corrective:
            self.fit = add_corrective(self.fit, skin, source.matrices)
        frames = np.arange(examples.count)
        self.apart = np.linalg.norm(pose_copy(skin, examples, self.fit, frames) - examples.read(frames), axis=2)
        found = measure(skin, examples, self.fit, lambda share: None)
        self.plan = lay_out(source, Fitted({}, self.fit, found, found, None))
        self.copy = make_copy(self.plan, [])

    def export(self, path: Path, folder: Path, progress=lambda share: None):
        folder.mkdir()
        options = self.source.options
        steps = write_file(self.copy, self.source.clips, options.target, path, folder, options.influences, self.plan)
        return take_all(steps, progress)


def add_helper(fit: CopyFit, skin: CopiedSkin, matrices: np.ndarray) -> CopyFit:
    """A helper that all vertices of joint 1 follow by half."""
    helper = Helper(1, 0, skin.joints.centers[1])
    bones = np.concatenate([fit.bones[:, :3], np.full((len(fit.bones), 1), len(skin.joints.parents), np.int32)], axis=1)
    values = np.concatenate([fit.values[:, :3], 0.25 * (fit.bones == 1).any(axis=1)[:, None]], axis=1)
    values /= values.sum(axis=1, keepdims=True)
    turned = matrices[:, 1].copy()
    left, _, right = np.linalg.svd(turned[:, :3, :3])
    turned[:, :3, :3] = left @ right
    return CopyFit((helper,), bones, values.astype(np.float32), turned[:, None], (), fit.key_values)


def add_corrective(fit: CopyFit, skin: CopiedSkin, matrices: np.ndarray) -> CopyFit:
    """A key that is full where joint 1 has bent by half a radian, and pushes all vertices along z."""
    rotations = [without_scale(matrices[:, joint])[:, :3, :3] for joint in (0, 1)]
    turned = rotations[0].transpose(0, 2, 1) @ rotations[1]
    turned = quaternions_from_rotations(turned)
    angles = read_angle(np.where(turned[:, :1] < 0.0, -turned, turned), np.array([1.0, 0.0, 0.0]))
    offsets = np.zeros((len(skin.points), 3), np.float32)
    offsets[:, 2] = 0.1 * np.sin(skin.points[:, 1])
    key = Key(1, np.array([1.0, 0.0, 0.0]), (0.0, 0.5, 1.2), offsets)
    return replace(fit, keys=(key,), key_values=evaluate_hat(angles, key.angles)[:, None])


FORMATS = pytest.mark.parametrize(("target", "name"), [("gltf", "tube.glb"), ("fbx", "tube.fbx")])


def assert_same_in_file(made: Made, tmp_path: Path, name: str, within: float = 5e-5) -> None:
    """The file that is read again is as far from its targets as the copy, vertex by vertex, in meters."""
    found = made.export(tmp_path / name, tmp_path / "between")
    assert (tmp_path / name).is_file()
    assert found["missing"] == 0
    assert set(found["animations"]) == {clip.action for clip in made.source.clips}
    meters = made.character.millimeters / 1000.0
    assert np.ptp(made.apart) > 1e-3 / meters  # linear blending is far from the method
    assert found["apart"] == pytest.approx(made.apart * meters, abs=within)


def add_moving_tube(scaled: bool = False, **shape):
    """A tube that moves, not bound, and its armature."""
    obj, armature = scenes.add_tube(rings=12, sides=8, **shape)
    scenes.animate_tube(armature)
    if not scaled:
        remove_curves(armature, {bone.path_from_id("scale") for bone in armature.pose.bones})
        for bone in armature.pose.bones:
            bone.scale = (1, 1, 1)
    return obj, armature


@pytest.fixture
def tube():
    """A tube that is bound, and moves without scale."""
    obj, armature = add_moving_tube()
    scenes.bind(obj)
    return obj, armature


@pytest.mark.parametrize(("target", "name"), [("gltf", "tube.gltf"), ("fbx", "tube.fbx")])
def test_scaled_bones(tmp_path, target, name):
    obj, _ = add_moving_tube(scaled=True)
    scenes.bind(obj)
    made = Made(tmp_path, obj, target=target)
    scales = np.linalg.norm(made.source.matrices[:, :, :3, :3], axis=2)
    assert np.ptp(scales) > 0.3
    assert_same_in_file(made, tmp_path, name)
    assert (tmp_path / "tube.bin").is_file() == (target == "gltf")  # separate files are all there


@FORMATS
def test_objects_with_transforms(tmp_path, target, name):
    """A character modeled in centimeters, its armature a child of an object that stands elsewhere."""
    obj, armature = add_moving_tube()
    holder = scenes.add_object("Holder")
    holder.location, holder.rotation_euler = (3, -2, 1), (0.3, -0.5, 0.7)
    armature.parent, armature.scale = holder, (0.01, 0.01, 0.01)
    obj.parent = armature
    obj.location, obj.rotation_euler, obj.scale = (0, 0, 0), (0.0, 0.1, 0.0), (1.0, 1.2, 1.0)
    bpy.context.view_layer.update()
    scenes.bind(obj)
    made = Made(tmp_path, obj, target=target)
    copy = made.copy.meshes[0]
    bpy.context.view_layer.update()
    world = np.array(obj.matrix_world)
    expected = scenes.rest_points(obj) @ world[:3, :3].T + world[:3, 3]
    space = np.array(copy.matrix_world)
    assert scenes.rest_points(copy) @ space[:3, :3].T + space[:3, 3] == pytest.approx(expected, abs=1e-5)
    assert made.copy.armature.matrix_world.to_scale()[:] == pytest.approx((1, 1, 1), abs=1e-6)
    assert made.character.millimeters == pytest.approx(10.0, rel=1e-4)
    found = made.export(tmp_path / name, tmp_path / "between")
    assert found["apart"] == pytest.approx(made.apart / 100.0, abs=5e-5 / 10.0)
    assert found["apart"].max() > 5e-4


@FORMATS
def test_an_armature_object_that_moves_and_corrective_keys(tmp_path, tube, target, name):
    """Keys are driven by an angle of their bone, without Python, and the file plays them."""
    _, armature = tube
    armature.rotation_mode = "XYZ"
    for frame, value in ((1, 0.0), (8, 1.0)):
        armature.location.z = value
        armature.rotation_euler.x = 0.5 * value
        armature.keyframe_insert("location", frame=frame)
        armature.keyframe_insert("rotation_euler", frame=frame)
    made = Made(tmp_path, tube[0], target=target, corrective=True)
    assert np.ptp(made.source.clips[0].worlds[:, 2, 3]) > 0.9
    (key,) = [key for key in made.copy.meshes[0].data.shape_keys.key_blocks if "corrective" in key.name]
    driver = made.copy.meshes[0].data.shape_keys.animation_data.drivers[0].driver
    assert key.name == "bone.1_corrective_1"
    assert driver.is_simple_expression
    assert driver.is_valid
    assert made.fit.key_values.max() > 0.5
    assert_same_in_file(made, tmp_path, name)


@FORMATS
def test_bendy_bones_and_eight_influences(tmp_path, target, name):
    obj, armature = add_moving_tube(bones=7)
    armature.data.bones["bone.1"].bbone_segments = 3
    for group in obj.vertex_groups:
        group.add(range(len(obj.data.vertices)), 0.2, "ADD")
    scenes.bind(obj)
    made = Made(tmp_path, obj, target=target, influences=8)
    names = {bone.name for bone in made.copy.armature.data.bones}
    assert names == {f"bone.{number}" for number in range(7)} | {f"bone.1_bend_{number}" for number in (1, 2, 3)}
    assert (made.fit.values > 0).sum(axis=1).max() == 8
    assert_same_in_file(made, tmp_path, name)


@pytest.mark.versions
@FORMATS
def test_several_actions_and_meshes(tmp_path, tube, target, name):
    """Animations are called as the actions are; other armatures' actions stay out."""
    obj, armature = tube
    other = scenes.add_twin(obj)
    other.name = "Sleeve"
    scenes.bind(other)
    wave = armature.animation_data.action
    wave.name = "Wave"
    nod = wave.copy()
    nod.name = "Nod"
    nod.use_fake_user = True
    curves_of(nod)[0].keyframe_points[1].co.y += 0.7
    nod.update_tag()
    stranger = bpy.data.actions.new("Stranger")
    stranger.use_fake_user = True
    made = Made(tmp_path, obj, other, target=target, helpers=True)
    assert {clip.action for clip in made.source.clips} == {"Wave", "Nod"}
    both = made.source.matrices.reshape(2, 8, -1)
    assert np.abs(both[0] - both[1]).max() > 0.3
    for clip in made.source.clips:
        scenes.play(armature, bpy.data.actions[clip.action])
        for frame in clip.frames:
            bpy.context.scene.frame_set(frame)
            posed = np.array(
                armature.pose.bones["bone.1"].matrix @ armature.data.bones["bone.1"].matrix_local.inverted()
            )
            assert made.source.matrices[clip.first + frame - 1, 1] == pytest.approx(posed, abs=1e-5)
    assert made.copy.originals == ["Rig", "Tube", "Sleeve"]
    assert_same_in_file(made, tmp_path, name)


def test_a_copy_is_plain(tmp_path, tube):
    """Materials, UVs, colors and normals stay; nothing is left that exporters can get wrong."""
    obj, _ = tube
    red, blue = (bpy.data.materials.new(name) for name in ("Red", "Blue"))
    obj.data.materials.append(red)
    obj.data.materials.append(None)
    obj.material_slots[1].link = "OBJECT"
    obj.material_slots[1].material = blue
    obj.data.polygons.foreach_set("material_index", np.arange(len(obj.data.polygons)) % 2)
    layer = obj.data.uv_layers.new(name="Map")
    layer.data.foreach_set("uv", np.random.default_rng(0).random(2 * len(obj.data.loops)))
    obj.data.color_attributes.new("Tint", "BYTE_COLOR", "POINT")
    obj.vertex_groups.new(name="mask")
    normals = np.random.default_rng(1).normal(size=(len(obj.data.vertices), 3)) + np.array([0, 0, 2.0])
    obj.data.normals_split_custom_set_from_vertices(normals.tolist())
    obj.modifiers.new("Subdivision", "SUBSURF")
    before = scenes.snapshot(obj)
    made = Made(tmp_path, obj)
    copy = made.copy.meshes[0]
    after = scenes.snapshot(obj)
    assert {name: value for name, value in after.items() if name.startswith(obj.name)} == {
        name: value for name, value in before.items() if name.startswith(obj.name)
    }
    assert [material.name for material in copy.data.materials] == ["Red", "Blue"]
    assert copy.data.uv_layers.keys() == ["Map"]
    assert "Tint" in copy.data.color_attributes
    assert not any(attribute.name.startswith("supple") for attribute in copy.data.attributes)
    corners = [np.array([corner.vector for corner in mesh.corner_normals]) for mesh in (obj.data, copy.data)]
    assert corners[1] == pytest.approx(corners[0], abs=1e-4)
    assert [modifier.type for modifier in copy.modifiers] == ["ARMATURE"]
    assert not copy.modifiers[0].use_deform_preserve_volume
    assert copy.parent == made.copy.armature
    assert {group.name for group in copy.vertex_groups} <= set(made.copy.armature.data.bones.keys())
    assert max(len(vertex.groups) for vertex in copy.data.vertices) <= 4
    assert made.character.parts[0].lost == ("Tube: Subdivision",)
    assert not settings_of(copy).is_bound


def test_mode_and_selection_stay(tmp_path, tube, subtests):
    for mode in ("POSE", "WEIGHT_PAINT", "OBJECT", ""):
        with subtests.test(mode):
            active = tube[1] if mode == "POSE" else tube[0]
            bpy.ops.object.mode_set(mode="OBJECT")
            if mode:
                scenes.select(active)
                bpy.ops.object.mode_set(mode=mode)
            else:
                bpy.context.view_layer.objects.active = None
            selected = list(bpy.context.selected_objects)
            Made(tmp_path, tube[0])
            assert bpy.context.view_layer.objects.active == (active if mode else None)
            assert bpy.context.selected_objects == selected
            assert active.mode == (mode or "OBJECT")


def test_an_export_that_ends_early_leaves_no_file(tmp_path, tube):
    """Refused, canceled, or ended by what an exporter says, which is passed on."""

    class CancelledError(Exception):
        pass

    def cancel(share):
        raise CancelledError

    made, path = Made(tmp_path, tube[0]), tmp_path / "tube.glb"
    refuse("ends in", made.export, tmp_path / "tube.obj", tmp_path / "a")
    refuse("Cannot write", made.export, tmp_path / "nowhere" / "tube.glb", tmp_path / "b")
    with pytest.raises(CancelledError):
        made.export(path, tmp_path / "c", cancel)
    assert not path.exists()
    with session_with(tmp_path, "def _export_gltf(job: dict[str, Any]) -> None:", "def _export_gltf(_):\n    Nobody"):
        refuse("Nobody", made.export, path, tmp_path / "d")
    assert not path.exists()


def test_names_are_only_names(tmp_path, tube):
    """What Blender prints of them is no progress, and an ending in capitals is no other format."""
    tube[0].name = tube[0].data.name = "\nprogress x\nprogress 7\n"
    made, plain, shouted = Made(tmp_path, tube[0]), tmp_path / "a.glb", tmp_path / "B.GLB"
    shares = []
    for path in (plain, shouted):
        made.export(path, tmp_path / path.stem, shares.append)
    assert shouted.read_bytes() == plain.read_bytes()
    assert 0.0 < max(shares) <= 1.0


@pytest.mark.parametrize("is_joined", [True, False])
@FORMATS
def test_pieces_that_touch_at_rest_and_part_in_one_frame_are_told_apart(tmp_path, tube, target, name, is_joined):
    """A hatch that has vertices of the body's, of its own mesh or of the same; both have a corrective key."""
    obj, armature = tube
    scenes.add_bones(armature, ("hatch", "bone.0", (0.5, 0, 0), (0.5, 1, 0)))
    hatch = scenes.add_twin(obj)
    hatch.vertex_groups.clear()
    hatch.vertex_groups.new(name="hatch").add(range(len(hatch.data.vertices)), 1, "REPLACE")
    for frame, x in ((1, 0.0), (2, 1.0), (3, 0.0)):
        armature.pose.bones["hatch"].location.x = x
        armature.pose.bones["hatch"].keyframe_insert("location", frame=frame)
    if is_joined:
        bpy.ops.supple.unbind()
        scenes.select(obj, hatch)
        bpy.ops.object.join()
        scenes.bind(obj)
    made = Made(tmp_path, *([obj] if is_joined else [obj, hatch]), target=target, corrective=True)
    assert_same_in_file(made, tmp_path, name)


LONG = "全ての親の名前です" * 2 + "とて"
"""60 bytes, which names of a character begin with."""


@pytest.mark.versions
@FORMATS
def test_names_that_fill_what_blender_keeps(tmp_path, tube, target, name):
    """Bones, correctives, keys, actions and objects that begin alike are told apart, in the copy and in its file."""
    obj, armature = tube
    for number, bone in enumerate(armature.data.bones):
        bone.name = f"{LONG}{number:03d}"
    other = scenes.add_twin(obj)
    walk = armature.animation_data.action
    nod = walk.copy()
    nod.use_fake_user = True
    curves_of(nod)[0].keyframe_points[1].co.y += 0.7
    for number, part in enumerate((obj, other, armature, walk, nod)):
        part.name = f"{LONG}{number:03d}"
    for number, mesh in enumerate((obj, other), 1):
        key = scenes.add_face_key(mesh, f"{LONG}_up")
        scenes.add_face_key(mesh, name_within(armature.data.bones[1].name, "_corrective_1"))
        for frame in (1, 8):
            key.value = 0.05 * number * frame
            key.keyframe_insert("value", frame=frame)
        scenes.bind(mesh)
    made = Made(tmp_path, obj, other, target=target, helpers=True, corrective=True)
    assert_same_in_file(made, tmp_path, name)
    bpy.context.scene.frame_set(made.source.clips[0].frames[-1])
    values = [mesh.data.shape_keys.key_blocks[1].value for mesh in made.copy.meshes]
    assert values == pytest.approx([0.4, 0.8], abs=1e-4)


def test_a_share_that_is_being_written_does_not_count(tmp_path):
    path = tmp_path / "share.txt"
    for text, share in (("", 0.0), ("0.2", 0.0), ("0.2500\n", 0.25), ("0.2500\n0.5000\n0", 0.5)):
        path.write_text(text, encoding="ascii")
        assert exchange.read_share(path) == share


@contextmanager
def session_with(folder: Path, text: str, other: str):
    """The other Blender runs a session with one text in place of another."""
    session = folder / "session.py"
    session.write_text(exchange.SESSION.read_text().replace(text, other))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange, "SESSION", session)
        yield


def test_what_this_blender_lacks_is_said(tmp_path, tube):
    made = Made(tmp_path, tube[0])
    with session_with(tmp_path, '"io_scene_gltf2"', '"no_such_add_on"'):
        found = made.export(tmp_path / "tube.glb", tmp_path / "between")
    assert found["lacks"] == "no_such_add_on"
    assert not (tmp_path / "tube.glb").exists()


@pytest.mark.characters("cesium_man")
def test_real_characters_come_back_from_a_file(tmp_path, asset, character):
    """All vertices, all frames: at 1.8 m, the file is as far from its targets as the copy, to .05 mm."""
    scenes.open_file(asset(character))
    meshes = scenes.skinned_meshes()
    scenes.bind(*meshes)
    made = Made(tmp_path, *meshes, helpers=True)
    found = made.export(tmp_path / "character.glb", tmp_path / "between")
    assert found["missing"] == 0
    frames = sum(len(clip.frames) for clip in made.source.clips)
    size = 1.8 / float(np.ptp(made.character.skin.points, axis=0).max())
    meters = made.character.millimeters / 1000.0
    assert size * found["apart"] / meters == pytest.approx(size * made.apart[:frames], abs=5e-5)
    assert found["apart"].max() > 1e-3 / size * meters
