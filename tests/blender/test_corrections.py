"""Correct This Pose: what was sculpted is shown, in its pose, and nowhere else."""

import bpy
import numpy as np
import pytest
from mathutils import Matrix
from scenes_corrections import ELBOW, OFFSET, add_arms, correct, key_value, sculpt, shown
from scenes_state import refuse

from scenes import add_face_key, add_tube, add_twin, armature_modifier, bind, distance, rest_points, turn, update
from supple.settings.objects import settings_of
from supple.tasks.corrections.edit import edit
from supple.tasks.corrections.keep import keep
from supple.tasks.corrections.keys import remove
from supple.tasks.corrections.mirror import mirror_bone_pose
from supple.tasks.corrections.posed_copy import begin
from supple.tasks.corrections.poses import read_bone_pose, show_bone_pose


def bend(armature: bpy.types.Object, degrees: float = 70.0, name: str = "bone.1") -> None:
    turn(armature, name, (np.radians(degrees), 0.0, 0.0))


def add_bent() -> tuple[bpy.types.Object, bpy.types.Object]:
    """A bound tube that is bent; and its armature."""
    obj, armature = add_tube()
    bind(obj)
    bend(armature)
    return obj, armature


def without_limits(obj: bpy.types.Object) -> None:
    settings_of(obj).bulge_limit = 0.0


@pytest.mark.versions
@pytest.mark.usefixtures("evaluator")
def test_sculpted_is_shown(subtests) -> None:
    for method in ("SSD", "DLB", "DLBNT", "CENTERS"):
        with subtests.test(method):
            obj, armature = add_tube()
            bind(obj, method=method)
            without_limits(obj)
            bend(armature)
            target = correct(obj, ELBOW, 0.8, OFFSET)
            assert distance(target, shown(obj)) < 1e-5
            assert distance(target, rest_points(obj)) > 0.01
            bend(armature, 0.0)
            assert distance(rest_points(obj).astype(float), shown(obj)) < 1e-6


def test_scaled_bones(subtests) -> None:
    for method in ("SSD", "DLB", "DLBNT", "CENTERS", "LINEAR", "PRESERVE_VOLUME"):
        with subtests.test(method):
            obj, armature = add_tube()
            if method in ("LINEAR", "PRESERVE_VOLUME"):
                armature_modifier(obj).use_deform_preserve_volume = method == "PRESERVE_VOLUME"
            else:
                bind(obj, method=method)
                without_limits(obj)
            turn(armature, "bone.0", scale=(1.4, 0.7, 1.1))
            turn(armature, "bone.1", (1.2, 0.3, 0.2), (0.8, 1.5, 1.0))
            before = shown(obj)
            target = correct(obj, before[len(before) // 2], 0.8, OFFSET)
            assert distance(target, before) > 0.01
            assert distance(target, shown(obj)) < 1e-5


NOT_AFFINE = [("CENTERS", {"bulge_limit": 1.0}), ("DLBNT", {"linear_group": "Linear"})]


@pytest.mark.parametrize(("method", "limits"), NOT_AFFINE)
def test_what_is_not_affine(scene: bpy.types.Scene, method: str, limits: dict) -> None:
    obj, armature = add_tube()
    group = obj.vertex_groups.new(name="Linear")
    group.add(range(0, len(obj.data.vertices), 3), 0.6, "REPLACE")
    settings_of(obj).method = method
    for name, value in limits.items():
        setattr(settings_of(obj), name, value)
    bind(obj, method=method)
    bend(armature, 80.0)
    target = correct(obj, ELBOW, 0.8, OFFSET)
    assert distance(target, shown(obj)) < 1e-4


def test_collapsed_vertices_are_counted(scene: bpy.types.Scene) -> None:
    obj, armature = add_tube()
    bind(obj, method="SSD")
    turn(armature, "bone.1", (0.0, np.radians(179.0), 0.0))
    target = correct(obj, ELBOW, 1.0, OFFSET)
    assert correct.kept.damped > 0
    assert str(correct.kept.damped) in correct.kept.describe()
    assert np.isfinite(shown(obj)).all()
    assert distance(target, shown(obj)) > 1e-4
    turn(armature, "bone.1", (0.0, np.radians(90.0), 0.0))
    assert distance(shown(obj), rest_points(obj).astype(float)) < 0.3  # nothing is thrown far away


def test_on_top_of_face_keys(scene: bpy.types.Scene) -> None:
    obj, armature = add_tube()
    face = add_face_key(obj)
    bind(obj)
    face.value = 0.7
    bend(armature)
    target = correct(obj, ELBOW, 0.8, OFFSET)
    assert distance(target, shown(obj)) < 1e-5
    face.value = 0.0
    update()
    assert distance(target, shown(obj)) > 1e-3


def test_several_meshes(scene: bpy.types.Scene) -> None:
    obj, armature = add_tube()
    coat = add_twin(obj)
    coat.data.transform(Matrix.Scale(1.1, 4))
    odd = add_twin(obj)
    odd.shape_key_add(name="Basis")
    odd.data.shape_keys.use_relative = False
    bind(obj, coat)
    bend(armature)
    copies, left_out = begin([obj, odd, coat], bpy.context.view_layer)
    assert [one for one, _ in left_out] == [odd]
    targets = [sculpt(copy, ELBOW, 0.8, OFFSET) for copy in copies]
    keep(copies, bpy.context.view_layer)
    update()
    for one, target in zip((obj, coat), targets, strict=True):
        assert distance(target, shown(one)) < 1e-5
    assert settings_of(obj).corrections[0].name == settings_of(coat).corrections[0].name


def test_removed(scene: bpy.types.Scene) -> None:
    obj, armature = add_tube()
    bind(obj)
    targets = {}
    for degrees in (40.0, 80.0):
        bend(armature, degrees)
        targets[degrees] = correct(obj, ELBOW, 0.8, OFFSET)
    remove(obj, armature, settings_of(obj).corrections[0].name)
    update()
    assert distance(targets[80.0], shown(obj)) < 1e-5
    remove(obj, armature, settings_of(obj).corrections[0].name)
    assert obj.data.shape_keys is None
    assert not settings_of(obj).corrections


def test_rest_pose_is_refused(scene: bpy.types.Scene) -> None:
    obj, _ = add_tube()
    bind(obj)
    (copy,), _ = begin([obj], bpy.context.view_layer)
    sculpt(copy, ELBOW, 0.8, OFFSET)
    refuse("No joint is bent", keep, [copy], bpy.context.view_layer)
    assert obj.data.shape_keys is None


def test_added_vertices_are_refused(scene: bpy.types.Scene) -> None:
    obj, _ = add_bent()
    (copy,), _ = begin([obj], bpy.context.view_layer)
    copy.data.vertices.add(1)
    refuse("added, deleted or sorted", keep, [copy], bpy.context.view_layer)


# Both sides of a character


ARM_ELBOW = np.array([1.5, 1.0, 0.0])
POSE = (1.1, 0.2, 0.3)
MIRROR = (-1.0, 1.0, 1.0)


def mirrored(points: np.ndarray) -> np.ndarray:
    """Points of the arms, each in the place of its partner, at x mirrored."""
    half = len(points) // 2
    return np.concatenate([points[half:], points[:half]]) * MIRROR


def show_right(obj: bpy.types.Object, armature: bpy.types.Object) -> np.ndarray:
    """Pose the right arm as the left one is, and the other way around; what is shown then, of the left one's place."""
    show_bone_pose(armature, mirror_bone_pose(armature, read_bone_pose(armature)))
    update()
    return mirrored(shown(obj))


@pytest.fixture
def arms(scene: bpy.types.Scene) -> tuple:
    obj, armature = add_arms()
    bind(obj)
    turn(armature, "bone.1.L", POSE)
    return obj, armature


def test_the_other_side_is_the_mirror_image(arms: tuple) -> None:
    obj, armature = arms
    target = correct(obj, ARM_ELBOW, 0.8, OFFSET, mirror=True)
    assert sorted(entry.bones for entry in settings_of(obj).corrections) == ["bone.1.L", "bone.1.R"]
    assert distance(target, shown(obj)) < 1e-5
    assert distance(target, show_right(obj, armature)) < 1e-5


def test_mirrored_when_it_is_edited_again(arms: tuple) -> None:
    obj, armature = arms
    correct(obj, ARM_ELBOW, 0.8, OFFSET)
    (copy,), _ = edit(obj, settings_of(obj).corrections[0].name, bpy.context.view_layer)
    target = sculpt(copy, ARM_ELBOW, 0.5, -0.4 * OFFSET)
    keep([copy], bpy.context.view_layer, mirror=True)
    update()
    assert distance(target, show_right(obj, armature)) < 1e-5


def test_mirrored_over_what_is_there(arms: tuple) -> None:
    obj, armature = arms
    show_right(obj, armature)
    correct(obj, ARM_ELBOW * MIRROR, 0.6, -OFFSET, name="Right")
    show_right(obj, armature)
    target = correct(obj, ARM_ELBOW, 0.8, OFFSET, name="Left", mirror=True)
    assert {entry.name for entry in settings_of(obj).corrections} == {"Left", "Right"}
    assert distance(target, show_right(obj, armature)) < 1e-5


def test_between_poses_of_the_other_side(arms: tuple) -> None:
    obj, armature = arms
    show_right(obj, armature)
    turn(armature, "bone.1.R", (2.0, 0.0, 0.0))
    correct(obj, ARM_ELBOW * MIRROR, 0.6, -OFFSET)
    turn(armature, "bone.1.R")
    turn(armature, "bone.1.L", POSE)
    target = correct(obj, ARM_ELBOW, 0.8, OFFSET, mirror=True)
    assert distance(target, show_right(obj, armature)) < 1e-5


def test_both_sides_sculpted_at_once(arms: tuple) -> None:
    obj, armature = arms
    turn(armature, "bone.1.R", (0.9, 0.0, 0.0))
    (copy,), _ = begin([obj], bpy.context.view_layer)
    sculpt(copy, ARM_ELBOW, 0.8, OFFSET)
    target = sculpt(copy, ARM_ELBOW * MIRROR, 0.8, OFFSET)
    keep([copy], bpy.context.view_layer)
    update()
    assert distance(target, shown(obj)) < 1e-5
    left, right = sorted(settings_of(obj).corrections, key=lambda entry: entry.bones)
    assert (left.bones, right.bones) == ("bone.1.L", "bone.1.R")
    turn(armature, "bone.1.R")
    half = len(target) // 2
    assert np.abs(shown(obj)[:half] - target[:half]).max() < 1e-5
    assert key_value(obj, left.name) == 1.0
    assert key_value(obj, right.name) == 0.0
