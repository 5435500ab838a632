"""Meshes on one armature: its pose is read once for all, and those whose bones did not move are left alone."""

from collections.abc import Callable

import bpy
import numpy as np
import pytest

from scenes import add_face_key, add_tube, bind, evaluated_points, push, redo, reset, turn, undo, update
from supple.bridge.per_object import forget_all
from supple.bridge.rigs import carriers
from supple.deformers.algebra import polar
from supple.deformers.skinning import dlbnt
from supple.tasks.skin import by_python, poses

pytestmark = pytest.mark.usefixtures("silent_handlers")

BONES = 4


def add_parts(method: str = "DLBNT") -> tuple[bpy.types.Object, bpy.types.Object, bpy.types.Object, bpy.types.Object]:
    """Three bound tubes on one armature, and that: one follows all bones, one the first bone, one the last."""
    whole, armature = add_tube(bones=BONES)
    parts = [whole]
    for name, kept in (("First", "bone.0"), ("Last", f"bone.{BONES - 1}")):
        part = whole.copy()
        part.name, part.data = name, whole.data.copy()
        bpy.context.scene.collection.objects.link(part)
        for group in part.vertex_groups:
            group.add(range(len(part.data.vertices)), float(group.name == kept), "REPLACE")
        parts.append(part)
    bind(*parts, method=method, evaluate="PYTHON")
    pose(armature, 0, 0.3)
    return (*parts, armature)


def pose(armature: bpy.types.Object, bone: int, angle: float) -> None:
    """Rotate and stretch a bone."""
    turn(armature, f"bone.{bone}", (angle, 0, 0), (1.0, 1.0 + 0.2 * angle, 1.0))
    update()


def find_parts() -> list[bpy.types.Object]:
    """By name: undo makes new Python objects of all data."""
    return [bpy.data.objects[name] for name in ("Tube", "First", "Last")]


@pytest.fixture
def written(monkeypatch) -> list[str]:
    """Grows by the name of each carrier that is written."""
    names = []
    for function in ("write_points", "write_transforms"):
        write = getattr(carriers, function)
        monkeypatch.setattr(
            carriers, function, lambda mesh, values, write=write: names.append(mesh.name) or write(mesh, values)
        )
    return names


def assert_fresh() -> None:
    """What is shown is what a step that knows nothing shows."""
    shown = [evaluated_points(part) for part in find_parts()]
    forget_all()
    for part in find_parts():
        part.update_tag()
    update()
    for part, points in zip(find_parts(), shown, strict=True):
        np.testing.assert_array_equal(evaluated_points(part), points)


def test_three_meshes_on_one_armature_share_its_pose(monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests):
    *_, armature = add_parts()
    counts = {}

    def count(name: str, function: Callable) -> Callable:
        def counting(*arguments):
            counts[name] += 1
            return function(*arguments)

        return counting

    for frame, pitch, stretch in ((1, 0.0, 1.0), (10, 1.0, 2.0)):
        turn(armature, "bone.1", (pitch, 0, 0), (1, stretch, 1))
        for name in ("rotation_euler", "scale"):
            armature.pose.bones["bone.1"].keyframe_insert(name, frame=frame)
    bpy.context.scene.frame_set(2)
    for change in (lambda: pose(armature, 2, 0.5), lambda: bpy.context.scene.frame_set(5)):
        with subtests.test(), monkeypatch.context() as patch:
            counts |= {"read": 0, "split": 0}
            patch.setattr(poses, "read_pose", count("read", poses.read_pose))
            patch.setattr(dlbnt, "decompose_polar", count("split", polar.decompose_polar))
            change()
            assert counts == {"read": 1, "split": 1}
            assert_fresh()


def test_meshes_whose_bones_stay_are_not_written(written: list[str], subtests: pytest.Subtests):
    for method in ("SSD", "DLB", "DLBNT"):
        with subtests.test(method):
            reset()
            *_, armature = add_parts(method)
            written.clear()
            pose(armature, BONES - 1, 0.8)
            assert sorted(written) == ["Supple Last", "Supple Tube"]
            assert_fresh()
            written.clear()
            pose(armature, 0, 0.6)
            assert sorted(written) == ["Supple First", "Supple Last", "Supple Tube"]
            assert_fresh()


def test_a_pose_and_back_is_written_twice(written):
    _, _, last, armature = add_parts()
    before = evaluated_points(last)
    pose(armature, BONES - 1, 0.8)
    assert np.abs(evaluated_points(last) - before).max() > 0.1
    written.clear()
    pose(armature, BONES - 1, 0.0)
    turn(armature, f"bone.{BONES - 1}", (0, 0, 0), (1, 1, 1))
    update()
    assert written
    np.testing.assert_allclose(evaluated_points(last), before, atol=1e-6)


def test_transforms_and_points_in_turn():
    """In Edit Mode's stead: a modifier above asks for transforms, without it points do; bones move in between."""
    whole, first, _, armature = add_parts()
    for angle in (0.2, 0.4):
        for part in (whole, first):
            above = part.modifiers.new("Smooth", "SMOOTH")
            part.modifiers.move(len(part.modifiers) - 1, 0)
            above.factor = 0.0
        pose(armature, BONES - 1, angle)
        assert_fresh()
        for part in (whole, first):
            part.modifiers.remove(part.modifiers["Smooth"])
        pose(armature, BONES - 1, -angle)
        assert_fresh()


def test_face_keys_of_a_mesh_whose_bones_stay(written):
    _, first, _, armature = add_parts()
    key = add_face_key(first)
    update()
    pose(armature, BONES - 1, 0.8)
    before = evaluated_points(first)
    for value in (0.5, 1.0):
        written.clear()
        key.value = value
        pose(armature, BONES - 1, value)
        assert "Supple First" in written
        assert np.abs(evaluated_points(first) - before).max() > 0.01
        assert_fresh()


@pytest.mark.parametrize("moved", [0, BONES - 1], ids=["all meshes", "two meshes"])
def test_undo_and_redo(moved):
    """Undo takes carriers back to an earlier pose, even those that a step left alone.

    As with Blender's own operators, the step is pushed before handlers have written its pose.
    """
    add_parts()
    push("bound")
    shapes = []
    for bone, angle in ((moved, 0.4), (BONES - 1, 0.9), (moved, 0.8)):
        followers = bpy.app.handlers.depsgraph_update_post[:]
        bpy.app.handlers.depsgraph_update_post.clear()
        pose(bpy.data.objects["Rig"], bone, angle)
        push(f"{bone} {angle}")
        bpy.app.handlers.depsgraph_update_post.extend(followers)
        bpy.data.objects["Rig"].update_tag()
        update()
        shapes.append([evaluated_points(part) for part in find_parts()])
    for step, expected in ((undo, 1), (undo, 0), (redo, 1), (redo, 2)):
        step()
        update()
        for part, points in zip(find_parts(), shapes[expected], strict=True):
            np.testing.assert_array_equal(evaluated_points(part), points)


def test_another_armature_pose_after_the_same_bones_were_edited():
    """Bones that change their rest are read anew for all meshes, in one step."""
    *_, armature = add_parts()
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    armature.data.edit_bones["bone.2"].roll += 0.5
    bpy.ops.object.mode_set(mode="OBJECT")
    pose(armature, 2, 0.7)
    kept = [by_python.find(part) for part in find_parts()]
    assert len({id(found.bound.skeleton) for found in kept if found is not None}) == 1
    assert_fresh()
