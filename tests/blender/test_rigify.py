"""A generated Rigify human: deforming bones that hang on control bones, 52 of them B-Bones."""

import bpy
import numpy as np
import pytest
from scenes_corrections import correct, key_value

from benchmarks.generated import open_rigify
from scenes import armature_modifier, bind, distance, evaluated_points
from supple.bridge.rigs.armatures import read_skeleton
from supple.deformers.anatomy.presets import LEFT, MIDDLE
from supple.settings.objects import settings_of
from supple.tasks.subject.rig_presets import find_rig_of

TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def rigify_file(tmp_path_factory):
    """A file with the generated rig and a body of points around its bones."""
    path = tmp_path_factory.mktemp("rigify") / "human.blend"
    add_body(open_rigify(path))
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return path


def add_body(rig: bpy.types.Object) -> bpy.types.Object:
    """A ring of points around each deforming bone at several places along it, weighted to its two nearest bones."""
    bones = [bone for bone in rig.data.bones if bone.use_deform]
    heads = np.array([bone.head_local for bone in bones])
    tails = np.array([bone.tail_local for bone in bones])
    rng = np.random.default_rng(7)
    steps = np.linspace(-0.1, 1.1, 9)
    points = (heads[:, None] + steps[:, None] * (tails - heads)[:, None]).repeat(4, axis=1).reshape(-1, 3)
    points += rng.normal(scale=0.01, size=points.shape)
    mesh = bpy.data.meshes.new("Body")
    mesh.from_pydata(points.tolist(), [], np.arange(len(points)).reshape(-1, 4).tolist())
    obj = bpy.data.objects.new("Body", mesh)
    bpy.context.scene.collection.objects.link(obj)
    groups = [obj.vertex_groups.new(name=bone.name) for bone in bones]
    middles = 0.5 * (heads + tails)
    nearest = np.argsort(np.linalg.norm(points[:, None] - middles, axis=2), axis=1)[:, :2]
    for vertex, (first, second) in enumerate(nearest):
        share = rng.uniform(0.5, 1.0)
        groups[first].add([vertex], share, "REPLACE")
        groups[second].add([vertex], 1.0 - share, "REPLACE")
    obj.modifiers.new("Armature", "ARMATURE").object = rig
    return obj


def open_rig(path) -> tuple[bpy.types.Object, bpy.types.Object]:
    bpy.ops.wm.open_mainfile(filepath=str(path))
    obj = bpy.data.objects["Body"]
    return obj, armature_modifier(obj).object


def pose(rig: bpy.types.Object, amount: float) -> None:
    """Move controls of spine, arms, hands and face."""
    for name, rotation in (
        ("chest", (0.5, 0.4, 0.2)), ("head", (0.3, 0.6, 0.0)), ("upper_arm_fk.L", (0.3, 0.8, 0.9)),
        ("forearm_fk.L", (1.4, 0.3, 0.0)), ("f_index.01_master.L", (0.0, 0.0, 0.0)), ("jaw_master", (0.3, 0.0, 0.1)),
    ):  # fmt: skip
        bone = rig.pose.bones[name]
        bone.rotation_mode = "XYZ"
        bone.rotation_euler = [amount * angle for angle in rotation]
    for name in ("upper_arm_parent.L", "upper_arm_parent.R"):
        rig.pose.bones[name]["IK_FK"] = 1.0
    rig.pose.bones["f_index.01_master.L"].scale = (1.0, 1.0 - 0.3 * amount, 1.0)
    rig.pose.bones["lips.L"].location = (0.01 * amount, 0.0, 0.02 * amount)
    rig.update_tag()
    bpy.context.view_layer.update()


def test_joint_hierarchy(rigify_file):
    _, rig = open_rig(rigify_file)
    skeleton = read_skeleton(rig)
    owner = np.repeat(
        np.arange(len(skeleton.names)), np.where(skeleton.segment_counts > 1, skeleton.segment_counts + 1, 1)
    )
    parents = {
        name: skeleton.names[owner[skeleton.joints.parents[first]]] if skeleton.joints.parents[first] >= 0 else None
        for name, first in zip(skeleton.names, skeleton.first_joints, strict=True)
    }
    assert [name for name, parent in parents.items() if parent is None] == ["DEF-spine"]
    for side in "LR":
        chain = (
            "DEF-spine.003", "DEF-shoulder.#", "DEF-upper_arm.#", "DEF-upper_arm.#.001", "DEF-forearm.#",
            "DEF-forearm.#.001", "DEF-hand.#", "DEF-palm.01.#", "DEF-f_index.01.#", "DEF-f_index.02.#",
            "DEF-f_index.03.#",
        )  # fmt: skip
        names = [name.replace("#", side) for name in chain]
        assert [parents[name] for name in names[1:]] == names[:-1]
        legs = ["DEF-spine", *(f"DEF-{part}.{side}" for part in ("thigh", "thigh.#.001", "shin", "shin.#.001", "foot"))]
        legs = [name.replace(f"#.001.{side}", f"{side}.001").replace("#", side) for name in legs]
        assert [parents[name] for name in legs[1:]] == legs[:-1]
        assert parents[f"DEF-pelvis.{side}"] == "DEF-spine"
        assert parents[f"DEF-lip.T.{side}.001"] == f"DEF-lip.T.{side}"


def test_rig_preset(rigify_file):
    """The deforming bones are found."""
    _, armature = open_rig(rigify_file)
    rig = find_rig_of(armature)
    assert rig is not None
    assert rig.preset.key == "rigify"
    assert rig.bones["spine", MIDDLE] == ("DEF-spine.001", "DEF-spine.002", "DEF-spine.003")
    assert rig.drivers["forearm", LEFT] == ("DEF-forearm.L",)
    assert all(armature.data.bones[name].use_deform for bones in rig.bones.values() for name in bones)
    assert rig.bones["head", MIDDLE] == ("DEF-spine.006",)


def test_ssd_is_the_armature_modifier(evaluator, rigify_file):
    obj, rig = open_rig(rigify_file)
    for amount in (0.0, 0.5, 1.0):
        pose(rig, amount)
        expected = evaluated_points(obj)
        bind(obj, method="SSD")
        assert distance(expected, evaluated_points(obj)) <= TOLERANCE
        pose(rig, 0.7 * amount)
        moved = evaluated_points(obj)
        bpy.ops.supple.unbind()
        assert distance(evaluated_points(obj), moved) <= TOLERANCE
        if amount:
            assert distance(expected, moved) > 1e-3


def test_gentle_pose_is_near_preserve_volume(evaluator, rigify_file):
    """Rigify stretches its bones, so the poses are not rigid: alike, not equal."""
    obj, rig = open_rig(rigify_file)
    pose(rig, 0.4)
    armature_modifier(obj).use_deform_preserve_volume = True
    expected = evaluated_points(obj)
    for method in ("DLB", "DLBNT"):
        bind(obj, method=method)
        points = evaluated_points(obj)
        assert np.isfinite(points).all()
        assert distance(expected, points) <= 5e-3
        assert not np.array_equal(expected, points)


@pytest.mark.parametrize("method", ["SSD", "DLBNT"])
def test_an_elbow_is_corrected(rigify_file, method):
    """What is sculpted at an elbow comes in by the bone that bends there, though deforming bones follow controls."""
    obj, rig = open_rig(rigify_file)
    bind(obj, method=method)
    pose(rig, 0.0)
    rest = evaluated_points(obj)
    pose(rig, 0.8)
    elbow = evaluated_points(obj)[np.linalg.norm(rest - rig.data.bones["DEF-forearm.L"].head_local, axis=1).argmin()]
    target = correct(obj, elbow, 0.15, np.array([0.0, 0.02, 0.03]))
    (entry,) = settings_of(obj).corrections
    assert entry.bones == "DEF-forearm.L"
    assert distance(target.astype(np.float32), evaluated_points(obj)) <= TOLERANCE
    pose(rig, 0.0)
    assert key_value(obj, entry.name) == 0.0
    assert distance(rest, evaluated_points(obj)) <= 1e-6
    assert bpy.ops.supple.correction_edit(key=entry.name, mode="OBJECT") == {"FINISHED"}
    assert bpy.ops.supple.correction_discard() == {"FINISHED"}
    assert distance(target.astype(np.float32), evaluated_points(obj)) <= TOLERANCE
