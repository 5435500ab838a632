"""Patterns that a limb brings out by pressing into the skin: by nodes as by NumPy, and what follows."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from scenes_maps import evaluate
from scenes_patterns import add_own, forget_images
from scenes_state import refuse

from scenes import add_tube, bind, evaluated_points, snapshot, turn
from supple.bridge.rigs.armatures import read_pose, read_skeleton
from supple.bridge.rigs.carriers import is_hidden_object
from supple.deformers.layers.limb_depths import measure_depth
from supple.settings.objects import settings_of
from supple.tasks.patterns.edit import mirror_pattern
from supple.tasks.patterns.maps import bind_points, read_amounts
from supple.tasks.patterns.read import describe_visibility
from supple.tasks.patterns.write import clear, describe, update


@pytest.fixture
def folded():
    """A tube of three bones with folds on the first, which the last presses when the tube is folded up."""
    obj, armature = add_tube(bones=3, rings=61, sides=24)
    obj.data.flip_normals()  # outward
    pattern = add_own(obj, "WRINKLE", "bone.2", location=(0.0, 0.6, -0.4), size=(0.6, 0.6), driver="DEPTH")
    pattern.compression_start, pattern.compression_full = 0.0, 60.0
    update(obj)
    assert describe(obj) == []
    return obj, armature, pattern


def fold(armature, share):
    turn(armature, "bone.1", (-1.4 * share, 0.05 * share, 0.0))
    turn(armature, "bone.2", (-2.3 * share, 0.0, 0.05 * share))


def measure(obj, armature):
    """The depth by nodes, which is one for all vertices, and by NumPy."""
    (skin,) = (laid := bind_points(obj)).measured.pressed.values()
    depsgraph = evaluate()
    name = laid.measured.name_attributes(settings_of(obj).pattern_key)[0]
    values = np.array([each.value for each in obj.evaluated_get(depsgraph).data.attributes[name].data])
    assert np.ptp(values) == 0.0
    matrices = read_pose(armature.evaluated_get(depsgraph), read_skeleton(armature)).rest_to_pose
    return float(values[0]), measure_depth(skin, np.concatenate([matrices, np.eye(4)[None]]))


@pytest.mark.versions
def test_nodes_measure_as_numpy_does_under_any_method(folded):
    obj, armature, _ = folded
    expected = []
    for evaluation in ("", "NODES", "PYTHON"):
        if evaluation:
            bind(obj, method="CENTERS", evaluate=evaluation)
        for share in (0.0, 0.6, 0.93, 0.96, 1.0):
            fold(armature, share)
            nodes, numpy = measure(obj, armature)
            assert nodes == pytest.approx(numpy, abs=2e-6)
            expected.append(numpy)
    assert expected[:5] == expected[5:10] == expected[10:]
    assert expected[:2] == [0.0, 0.0]
    assert 0.0 < expected[2] < expected[3] < expected[4]
    assert expected[4] > 0.3


def test_folds_appear_with_the_depth(folded):
    obj, armature, pattern = folded
    settings_of(obj).pattern_display = "DISPLACEMENT"
    fold(armature, 1.0)
    bpy.context.view_layer.update()
    with_folds = evaluated_points(obj)
    amount = np.max(read_amounts(obj, bind_points(obj), evaluate())[0])
    assert 0.2 < amount <= 1.0
    pattern.strength = 0.0
    bpy.context.view_layer.update()
    assert np.abs(evaluated_points(obj) - with_folds).max() > 1e-3
    assert "while the limb presses into the skin" in " ".join(describe_visibility(obj, pattern, "MATERIAL"))


def test_all_is_given_back_and_nothing_is_made_twice():
    obj, _ = add_tube(bones=3, rings=61, sides=24)
    obj.data.flip_normals()
    before, objects = snapshot(obj), len(bpy.data.objects)
    groups = len(bpy.data.node_groups)
    pattern = add_own(obj, "WRINKLE", "bone.2", location=(0.0, 0.6, -0.4), size=(0.6, 0.6), driver="DEPTH")
    hidden = {each.session_uid for each in bpy.data.objects if is_hidden_object(each)}
    assert len(hidden) == 3
    pattern.compression_full = 50.0
    assert {each.session_uid for each in bpy.data.objects if is_hidden_object(each)} == hidden
    pattern.location.y = 0.7
    pattern.other_bone = "bone.1"
    assert sum(map(is_hidden_object, bpy.data.objects)) == 3
    assert "bone.1" in {obj.supple.patterns[0].other_bone}
    pattern.driver = "COMPRESSION"
    assert sum(map(is_hidden_object, bpy.data.objects)) == 0
    pattern.driver = "DEPTH"
    clear(obj)
    forget_images()
    assert snapshot(obj) == before
    assert (len(bpy.data.objects), len(bpy.data.node_groups)) == (objects, groups)


def test_what_cannot_be_measured_is_said(folded):
    obj, armature, pattern = folded
    for values, said in (
        ({"bone": ""}, "No bone drives the pattern"),
        ({"bone": "none"}, "has no bone 'none'"),
        ({"bone": "bone.0", "first_bone": "bone.2"}, "'bone.2' is not above 'bone.0'"),
    ):
        for name in ("bone", "first_bone"):
            setattr(pattern, name, values.get(name, ""))
        assert said in " ".join(describe(obj))
    pattern.bone, pattern.first_bone = "bone.2", ""
    assert describe(obj) == []
    armature.data.bones["bone.2"].use_deform = False
    update(obj)
    assert "Bone 'bone.2' does not deform" in " ".join(describe(obj))


def test_the_other_side_is_pressed_by_the_opposite_bone():
    obj, armature = add_tube(bones=3, rings=61, sides=24)
    armature.data.bones["bone.2"].name = "bone.L"
    obj.data.flip_normals()
    add_own(obj, "WRINKLE", "bone.L", location=(0.4, 0.6, 0.0), size=(0.3, 0.3), driver="DEPTH")
    refuse(r"no bone 'bone\.R'", mirror_pattern, obj, 0)
    assert len(obj.supple.patterns) == 1
