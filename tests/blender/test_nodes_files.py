"""A character evaluated by nodes through undo and files, and made independent of Supple."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import bpy
import numpy as np
import pytest
from scenes_nodes import assert_alike, assert_tube_alike, bend, bound_tube

from scenes import (
    TOLERANCE,
    add_tube,
    add_twin,
    animate_tube,
    armature_modifier,
    bind,
    distance,
    evaluated_points,
    points_at,
    push,
    redo,
    reset,
    save,
    select,
    snapshot,
    supple_modifier,
    turn,
    undo,
    update,
)
from supple.bridge.modifiers import AS_BOUND_NAME
from supple.bridge.rigs.joints import is_joints_object
from supple.deformers import DEFAULT_METHOD, SkinningError
from supple.nodes.groups import is_deformation
from supple.settings.objects import settings_of
from supple.tasks.skin.bind import make_independent, unbind
from supple.tasks.subject.stack import list_own_armatures

pytestmark = pytest.mark.usefixtures("silent_handlers")
built_groups = pytest.mark.usefixtures("built_groups")


# Undo


@pytest.mark.versions
def test_undo_and_redo_of_bind_and_unbind():
    obj, armature = add_tube()
    bind(add_twin(obj), evaluate="PYTHON")
    bend(armature, 60)
    push("built")
    before = snapshot(obj)
    bind(obj, evaluate="NODES")
    push("bind")
    for _ in range(2):
        undo()
        assert not settings_of(bpy.data.objects["Tube"]).is_bound
        assert snapshot(bpy.data.objects["Tube"]) == before
        redo()
        assert settings_of(bpy.data.objects["Tube"]).is_bound
        assert_tube_alike(twin="Tube.001")
        assert len([one for one in bpy.data.objects if is_joints_object(one)]) == 1
    unbind([bpy.data.objects["Tube"]])
    push("unbind")
    undo()
    assert_tube_alike(twin="Tube.001")
    bend(bpy.data.objects["Rig"], 90)
    assert_tube_alike(twin="Tube.001")


@pytest.mark.versions
@built_groups
def test_undo_and_redo_of_a_setting(subtests: pytest.Subtests):
    bend(bound_tube()[1], 60)
    for name, value in (("order", "HG"), ("linear_group", "bone.1"), ("evaluate", "PYTHON"), ("method", "SSD")):
        push("before")
        for one in ("Tube", "Twin"):
            setattr(settings_of(bpy.data.objects[one]), name, value)
        update()
        push("after")
        changed = evaluated_points(bpy.data.objects["Tube"])
        for _ in range(2):
            with subtests.test(name):
                undo()
                assert getattr(settings_of(bpy.data.objects["Tube"]), name) != value
                assert_tube_alike()
                redo()
                assert getattr(settings_of(bpy.data.objects["Tube"]), name) == value
                assert np.array_equal(evaluated_points(bpy.data.objects["Tube"]), changed)
                assert_tube_alike()
    bend(bpy.data.objects["Rig"], 100)
    assert_tube_alike()


@built_groups
def test_undo_and_redo_of_what_nodes_cannot_follow():
    obj, armature, _ = bound_tube()
    bend(armature, 60)
    push("before")
    armature.data.bones["bone.2"].use_deform = False
    update()
    assert "no longer deform" in settings_of(obj).message
    push("after")
    undo()
    assert_tube_alike()
    redo()
    bpy.context.scene.frame_set(2)
    assert "no longer deform" in settings_of(bpy.data.objects["Tube"]).message
    undo()
    bend(bpy.data.objects["Rig"], 90)
    assert_tube_alike()


# Files


@pytest.mark.versions
def test_saved_and_opened_again(tmp_path: Path):
    _, armature, _ = bound_tube()
    bend(armature, 60)
    save(tmp_path / "bound.blend")
    reset()
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "bound.blend"))
    assert_tube_alike()
    obj, armature = bpy.data.objects["Tube"], bpy.data.objects["Rig"]
    assert is_deformation(supple_modifier(obj).node_group)
    assert not armature_modifier(obj).show_viewport
    bend(armature, 100)
    assert_tube_alike()
    for name in ("Tube", "Twin"):
        settings_of(bpy.data.objects[name]).method = "DLB"
    assert_tube_alike()
    unbind([obj])
    assert not [attribute.name for attribute in obj.data.attributes if attribute.name.startswith("supple")]


@pytest.mark.parametrize("already", [False, True], ids=["into an empty file", "beside another bound object"])
def test_appended(tmp_path: Path, already: bool):
    bound_tube()
    save(tmp_path / "bound.blend")
    reset()
    if already:
        for one in bound_tube():
            one.name = f"Own {one.name}"
    with bpy.data.libraries.load(str(tmp_path / "bound.blend"), link=False) as (_, wanted):
        wanted.objects = ["Tube", "Twin", "Rig"]
    for obj in wanted.objects:
        bpy.context.scene.collection.objects.link(obj)
    obj, twin, armature = wanted.objects
    update()
    bend(armature, 80)
    assert_alike(obj, twin)
    bind(obj, method="DLB", evaluate="NODES")
    settings_of(twin).method = "DLB"
    assert_alike(obj, twin)
    if already:
        bend(bpy.data.objects["Own Rig"], 40)
        assert_tube_alike("Own Tube", "Own Twin")
    unbind([obj, twin])
    assert already or not bpy.data.node_groups
    if already:
        assert_tube_alike("Own Tube", "Own Twin")


def save_character(path: Path, animated: bool = False) -> dict[float, np.ndarray]:
    """Save a collection of a tube that nodes deform and its rig, and start anew: the tube's shapes by angle or frame.

    The rig is posed at 40 degrees, or animated.
    """
    obj, armature, twin = bound_tube()
    if animated:
        animate_tube(armature)
        shapes = {frame: points_at(twin, frame) for frame in (1, 4, 8)}
    else:
        shapes = {}
        for angle in (80, 40):
            bend(armature, angle)
            shapes[angle] = evaluated_points(twin)
    bpy.data.objects.remove(twin)
    collection = bpy.data.collections.new("Character")
    for one in (obj, armature):
        collection.objects.link(one)
        bpy.context.scene.collection.objects.unlink(one)
    bpy.context.scene.collection.children.link(collection)
    save(path)
    reset()
    return shapes


def link_character(path: Path) -> bpy.types.Collection:
    with bpy.data.libraries.load(str(path), link=True) as (_, wanted):
        wanted.collections = ["Character"]
    bpy.context.scene.collection.children.link(wanted.collections[0])
    update()
    return wanted.collections[0]


@pytest.mark.versions
@built_groups
def test_linked(tmp_path: Path):
    shapes = save_character(tmp_path / "library.blend", animated=True)
    obj = link_character(tmp_path / "library.blend").objects["Tube"]
    assert obj.library is not None
    for frame in (8, 1, 4):
        assert distance(shapes[frame], points_at(obj, frame)) <= TOLERANCE
    assert distance(shapes[1], shapes[4]) > 0.1
    with pytest.raises(RuntimeError, match="is linked from another file"):
        bind(obj, evaluate="NODES")


@pytest.mark.versions
@built_groups
def test_an_override_has_a_pose_of_its_own(tmp_path: Path):
    shapes = save_character(tmp_path / "library.blend")
    collection = link_character(tmp_path / "library.blend")
    linked = collection.objects["Tube"]
    override = collection.override_hierarchy_create(bpy.context.scene, bpy.context.view_layer, do_fully_editable=True)
    obj, armature = (override.objects[name] for name in ("Tube", "Rig"))
    assert obj.library is None
    assert obj.data.library is not None
    assert linked in bpy.context.scene.objects.values()
    for angle in (80, 40, 80):
        bend(armature, angle)
        assert settings_of(obj).message == ""
        assert distance(shapes[angle], evaluated_points(obj)) <= TOLERANCE
        assert distance(shapes[40], evaluated_points(linked)) <= TOLERANCE
    assert distance(evaluated_points(linked), evaluated_points(obj)) > 0.05
    settings_of(obj).evaluate = "PYTHON"
    update()
    assert settings_of(obj).message == ""
    assert distance(shapes[80], evaluated_points(obj)) <= TOLERANCE


# Independent of Supple


@pytest.mark.versions
@built_groups
def test_made_independent_it_goes_on_without_supple():
    obj, armature, twin = bound_tube()
    settings_of(obj).linear_group = settings_of(twin).linear_group = "bone.1"
    bend(armature, 60)
    stack = [(modifier.name, modifier.type, modifier.show_viewport, modifier.show_render) for modifier in obj.modifiers]
    select(obj)
    assert bpy.ops.supple.make_independent() == {"FINISHED"}
    settings = settings_of(obj)
    names = set(settings.bl_rna.properties.keys()) - {"rna_type"}
    assert not [name for name in names if settings.is_property_set(name)]
    assert (settings.is_bound, settings.method, settings.armature_modifier) == (False, DEFAULT_METHOD, "")
    found = [(modifier.name, modifier.type, modifier.show_viewport, modifier.show_render) for modifier in obj.modifiers]
    assert found == stack
    for angle in (90, 20):
        bend(armature, angle)
        assert_alike(obj, twin)
    with pytest.raises(RuntimeError, match="Nothing to unbind"):
        bpy.ops.supple.unbind()


def test_an_independent_object_can_be_bound_again_and_unbound():
    obj, armature = add_tube()
    twin = add_twin(obj)
    armature_modifier(obj).show_render = False
    before = snapshot(obj, twin)
    bind(obj, method="DLB", evaluate="NODES")
    make_independent([obj])
    bind(obj, method="SSD", evaluate="NODES")
    assert settings_of(obj).is_bound
    assert [each.type for each in obj.modifiers if each not in list_own_armatures(obj)] == ["NODES", "ARMATURE"]
    bend(armature, 70)
    assert_alike(obj, twin)
    unbind([obj])
    assert snapshot(obj, twin) == before
    assert_alike(obj, twin)


@built_groups
def test_an_independent_object_that_loses_its_vertex_group_is_deformed_all_over():
    obj, armature, twin = bound_tube("DLB")
    for one in (obj, twin):
        one.vertex_groups.new(name="upper half").add(list(range(248, 496)), 1.0, "REPLACE")
        armature_modifier(one).vertex_group = "upper half"
    bend(armature, 60)
    assert_alike(obj, twin)
    half = evaluated_points(obj)
    make_independent([obj])
    for one in (obj, twin):
        one.vertex_groups.remove(one.vertex_groups["upper half"])
        one.data.update_tag()  # Blender 4.2 does not do so
    assert_alike(obj, twin)
    assert distance(half, evaluated_points(obj)) > 0.01


@built_groups
def test_undo_of_make_independent():
    obj, armature, _ = bound_tube()
    bend(armature, 70)
    push("bound")
    select(obj)
    bpy.ops.supple.make_independent()
    push("independent")
    assert_tube_alike()
    undo()
    assert settings_of(bpy.data.objects["Tube"]).is_bound
    assert_tube_alike()
    redo()
    assert not settings_of(bpy.data.objects["Tube"]).is_bound
    bend(bpy.data.objects["Rig"], 100)
    assert_tube_alike()


@built_groups
def test_what_cannot_be_made_independent(tmp_path: Path):
    obj, _, twin = bound_tube()
    with pytest.raises(
        SkinningError, match="'Twin' is deformed by Python, which needs Supple: choose Deform With: Nodes"
    ):
        make_independent([obj, twin])
    assert settings_of(obj).is_bound
    select(twin)
    assert not bpy.ops.supple.make_independent.poll()
    unbind([twin])
    with pytest.raises(SkinningError, match="Nothing to make independent: select a mesh that is bound"):
        make_independent([twin])
    select(obj)
    bpy.ops.supple.bake_cache(filepath=str(tmp_path / "a.pc2"), frame_start=1, frame_end=2)
    with pytest.raises(RuntimeError, match="'Tube' is deformed by a bake: go back to live first"):
        bpy.ops.supple.make_independent()


PAINT = """
import sys
import bpy, numpy as np
assert not hasattr(bpy.types.Object, "supple")
bpy.ops.wm.open_mainfile(filepath=sys.argv[1])
obj = bpy.data.objects["Tube"]
def read():
    mesh = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    return np.array([vertex.co[:] for vertex in mesh.vertices])
before = read()
for group in obj.vertex_groups:
    group.add(range(len(obj.data.vertices)), float(group.name == "bone.1"), "REPLACE")
obj.data.update()
print(np.abs(read() - before).max() > 0.01, "|".join(each.name for each in obj.modifiers))
bpy.ops.wm.save_mainfile()
"""
"""A colleague without Supple gives all weight to a bone: whether the mesh moves, and what the stack says."""


@pytest.mark.parametrize(
    ("options", "follows"),
    [
        ({"method": "CENTERS", "evaluate": "NODES"}, False),
        ({"method": "DLB", "evaluate": "NODES"}, True),
        ({"method": "CENTERS", "evaluate": "PYTHON"}, True),
    ],
)
def test_weights_painted_without_supple_move_the_mesh_or_the_stack_says_why(tmp_path, options, follows):
    obj, armature = add_tube()
    turn(armature, "bone.1", (0.8, 0.0, 0.0))
    bind(obj, **options)
    shape = evaluated_points(obj)
    save(tmp_path / "shared.blend")
    run = subprocess.run(
        [sys.executable, "-c", PAINT, str(tmp_path / "shared.blend")],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    (line,) = [line for line in run.stdout.splitlines() if line.startswith(("True", "False"))]
    moved, _, names = line.partition(" ")
    assert moved == str(follows)
    assert (AS_BOUND_NAME in names.split("|")) != follows
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shared.blend"))
    obj = bpy.data.objects["Tube"]
    obj.update_tag()  # as it is in a window, right after the file is opened
    bpy.context.view_layer.update()
    followed = evaluated_points(obj)
    bind(obj, **options)
    assert distance(followed, evaluated_points(obj)) < 1e-5
    assert distance(followed, shape) > 0.01


def test_the_name_of_the_modifier_goes_with_the_evaluation_and_a_users_stays():
    obj, _armature = add_tube()
    names = []
    for options in ({"method": "CENTERS"}, {"method": "DLB"}, {"method": "CENTERS"}, {"evaluate": "PYTHON"}):
        bind(obj, **{"evaluate": "NODES", **options})
        names.append(obj.modifiers[0].name)
    assert names == [AS_BOUND_NAME, "Supple", AS_BOUND_NAME, "Supple"]
    obj.modifiers[0].name = "Mine"
    bind(obj, method="CENTERS", evaluate="NODES")
    assert obj.modifiers[0].name == "Mine"
