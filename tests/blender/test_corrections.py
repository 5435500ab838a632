"""Correct This Pose: what was sculpted is shown, in its pose, and nowhere else."""

import bpy
import numpy as np
import pytest
from mathutils import Matrix
from scenes_correcting import ELBOW, OFFSET
from scenes_corrections import correct, key_value, sculpt, shown

from scenes import add_face_key, add_tube, add_twin, armature_modifier, bind, distance, rest_points, turn, update
from supple.deformers import SkinningError
from supple.settings.objects import settings_of
from supple.tasks.corrections.edit import edit
from supple.tasks.corrections.keep import keep
from supple.tasks.corrections.keys import remove
from supple.tasks.corrections.posed_copy import begin, discard, find_posed_copy


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


@pytest.mark.parametrize(
    "poses",
    [
        [(1.6, 0.0, 0.0), (0.8, 0.0, 0.0), (2.1, 0.0, 0.0), (-1.0, 0.0, 0.0)],
        [(1.2, 0.0, 0.0), (0.0, 0.0, 1.0), (0.8, 0.5, -0.9), (-1.0, 0.2, 0.1)],
    ],
    ids=["hinge", "radial"],
)
def test_poses_of_a_joint_do_not_disturb_each_other(scene: bpy.types.Scene, poses: list) -> None:
    obj, armature = add_tube()
    bind(obj)
    targets = []
    for number, pose in enumerate(poses):
        turn(armature, "bone.1", pose)
        targets.append(correct(obj, ELBOW, 0.8, OFFSET * (number + 1) / 4))
    for pose, target in zip(poses, targets, strict=True):
        turn(armature, "bone.1", pose)
        assert distance(target, shown(obj)) < 1e-5
    turn(armature, "bone.1")
    corrections = settings_of(obj).corrections
    assert len(corrections) == 4
    assert all(key_value(obj, entry.name) < 1e-6 for entry in corrections)


def test_edited_again(scene: bpy.types.Scene) -> None:
    obj, armature = add_bent()
    first = correct(obj, ELBOW, 0.8, OFFSET)
    (name,) = [entry.name for entry in settings_of(obj).corrections]
    bend(armature, 10.0)
    (copy,), _ = edit(obj, name, bpy.context.view_layer)
    assert np.isclose(armature.pose.bones["bone.1"].rotation_euler.x, np.radians(70.0), atol=1e-5)
    target = sculpt(copy, ELBOW, 0.6, -0.5 * OFFSET)
    keep([copy], bpy.context.view_layer)
    update()
    assert distance(target, shown(obj)) < 1e-5 < distance(first, shown(obj))
    assert len(settings_of(obj).corrections) == 1
    assert len(obj.data.shape_keys.key_blocks) == 2


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


def test_discard_leaves_nothing(scene: bpy.types.Scene) -> None:
    obj, _ = add_bent()
    before = shown(obj), len(bpy.data.objects), len(bpy.data.meshes)
    (copy,), _ = begin([obj], bpy.context.view_layer)
    assert obj.hide_get()
    assert bpy.context.view_layer.objects.active == copy
    sculpt(copy, ELBOW, 0.8, OFFSET)
    discard([copy], bpy.context.view_layer)
    assert not obj.hide_get()
    assert bpy.context.view_layer.objects.active == obj
    assert obj.data.shape_keys is None
    assert (len(bpy.data.objects), len(bpy.data.meshes)) == before[1:]
    assert find_posed_copy(obj) is None
    assert (before[0] == shown(obj)).all()


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
    with pytest.raises(SkinningError, match="No joint is bent"):
        keep([copy], bpy.context.view_layer)
    assert obj.data.shape_keys is None


def test_added_vertices_are_refused(scene: bpy.types.Scene) -> None:
    obj, _ = add_bent()
    (copy,), _ = begin([obj], bpy.context.view_layer)
    copy.data.vertices.add(1)
    with pytest.raises(SkinningError, match="added, deleted or sorted"):
        keep([copy], bpy.context.view_layer)
