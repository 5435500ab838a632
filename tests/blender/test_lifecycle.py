"""A bound character duplicated, renamed, deleted, and through the extension's own end."""

import bpy
import addon_utils
import numpy as np
import pytest
from scenes_twins import TOLERANCE, animate, assert_follows, bend, bound_tube

import checkout
from scenes import (
    add_chain,
    add_tube,
    add_twin,
    armature_modifier,
    assert_own_carriers,
    bind,
    diagonal,
    distance,
    edit_bones,
    evaluated_points,
    rest_points,
    select,
    turn,
    update,
)
from supple.settings.character import list_meshes
from supple.settings.objects import settings_of
from supple.tasks.patterns.edit import find_set_meshes
from supple.tasks.patterns.placing import find_patterned
from supple.tasks.skin import bind as tasks_bind
from supple.tasks.subject.chosen_bones import find_deformed_meshes
from supple.tasks.subject.stack import find_bound_objects, find_supple_modifier

pytestmark = pytest.mark.usefixtures("silent_handlers")
EVALUATED = pytest.mark.usefixtures("evaluator")


def test_what_a_script_has_just_removed_is_not_asked(subtests):
    """Until Blender next looks at the view layer, None stands in its place."""
    layer, collection = bpy.context.view_layer, bpy.context.scene.collection
    empties = [bpy.data.objects.new("Removed", None) for _ in range(4)]
    for empty in empties:
        collection.objects.link(empty)
    obj, armature = add_tube()
    obj.supple.patterns.add()
    finders = {
        "set": lambda: find_set_meshes(armature, (), armature, layer),
        "patterns": lambda: find_patterned(armature, layer),
        "weights": lambda: find_deformed_meshes(armature, layer),
        "character": lambda: list_meshes(bpy.context, armature),
    }
    for (name, find), empty in zip(finders.items(), empties, strict=True):
        update()
        bpy.data.objects.remove(empty)
        assert None in list(layer.objects)
        with subtests.test(name):
            assert find() == [obj]


# Copies


def duplicate_by_hand(obj: bpy.types.Object, name: str) -> bpy.types.Object:
    copy = obj.copy()
    copy.data = obj.data.copy()
    copy.name = name
    bpy.context.scene.collection.objects.link(copy)
    return copy


def duplicate_by_operator(obj: bpy.types.Object, name: str, linked: bool = False) -> bpy.types.Object:
    select(obj)
    bpy.ops.object.duplicate(linked=linked)
    bpy.context.active_object.name = name
    return bpy.context.active_object


def duplicate_linked(obj: bpy.types.Object, name: str) -> bpy.types.Object:
    return duplicate_by_operator(obj, name, linked=True)


@EVALUATED
@pytest.mark.parametrize(
    ("duplicate", "name"),
    [
        (duplicate_by_hand, "A copy"), (duplicate_by_hand, "Zcopy"), (duplicate_by_operator, "Zcopy"),
        (duplicate_linked, "A copy"),
    ],
    ids=["by hand, named before", "by hand, named after", "by operator", "linked"],
)  # fmt: skip
def test_a_duplicate_has_its_own_pose(duplicate, name):
    obj, armature, twin = bound_tube()
    bend(armature, 60)
    copy = duplicate(obj, name)
    other_twin = duplicate_by_hand(twin, "Other Twin")
    update()
    assert_follows(obj, twin)
    assert_follows(copy, twin)
    assert_own_carriers(copy, obj)

    other = bpy.data.objects.new("Other", bpy.data.armatures.new("Other"))
    bpy.context.scene.collection.objects.link(other)
    add_chain(other, 3, 3.0)
    for one in (copy, other_twin):
        armature_modifier(one).object = other
    turn(other, "bone.1", (0, 0, 1.0))
    for first, second in ((obj, twin), (copy, other_twin)):
        assert_follows(first, second)
    assert distance(evaluated_points(obj), evaluated_points(copy)) > 0.1

    select(copy)
    bpy.ops.supple.unbind()
    bend(armature, 30)
    assert_follows(obj, twin)
    select(obj)
    bpy.ops.supple.unbind()
    assert_follows(obj, twin)
    assert not [data.name for data in bpy.data.objects if data.name.startswith("Supple")]


@EVALUATED
@pytest.mark.parametrize("operator", ["unbind", "bind"])
def test_a_duplicate_is_told_apart_before_blender_has_evaluated_it(evaluator, operator):
    obj, armature, twin = bound_tube()
    bend(armature, 60)
    copy = obj.copy()
    copy.data = obj.data.copy()
    bpy.context.scene.collection.objects.link(copy)
    if operator == "unbind":
        tasks_bind.unbind([copy])
    else:
        tasks_bind.bind_each([copy], "DLB", evaluator)
        update()
        assert_own_carriers(copy, obj)
    bend(armature, 90)
    assert_own_carriers(obj)
    assert_follows(obj, twin)


def test_armatures_with_the_same_names_of_bones():
    first, armature = add_tube()
    second, _ = add_tube()
    bind(first, second, method="SSD")
    update()
    edit_bones(armature, lambda bones: bones["bone.1"].head.__setitem__(0, 0.2))
    update()
    for obj in (second, first):
        select(obj)
        update()
        assert distance(rest_points(first), evaluated_points(first)) <= TOLERANCE


# Names


def test_renamed_parts_of_what_python_deforms(subtests):
    """test_follows.py renames objects, meshes and the user's modifiers."""
    obj, armature = add_tube()
    twin = add_twin(obj)
    for what in ("modifier", "node group", "carrier"):
        with subtests.test(what):
            bind(obj, method="SSD", evaluate="PYTHON")
            supple = find_supple_modifier(obj)
            named = {"modifier": supple, "node group": supple.node_group, "carrier": settings_of(obj).carrier}
            named[what].name = f"Renamed {what}"
            bend(armature, 80)
            bpy.context.scene.frame_set(bpy.context.scene.frame_current + 1)
            assert_follows(obj, twin)
            bpy.ops.supple.unbind()
            assert [modifier.type for modifier in obj.modifiers] == ["ARMATURE"]
            assert not bpy.data.node_groups


# Ends


@pytest.mark.versions
def test_a_deleted_object_leaves_only_orphans():
    obj, armature, _ = bound_tube()
    other, _, other_twin = bound_tube("SSD")
    bend(armature, 40)
    left = settings_of(obj).carrier
    name = left.name
    bpy.data.objects.remove(obj)
    bend(armature, 60)
    bpy.context.scene.frame_set(4)
    assert left.users == 0, "so that it is gone when the file is saved and opened"
    bpy.ops.outliner.orphans_purge(do_recursive=True)
    assert not [
        one for data in (bpy.data.objects, bpy.data.meshes, bpy.data.node_groups) for one in data if one.name == name
    ]
    assert find_bound_objects() == [other]
    settings_of(other).method = "SSD"
    bend(armature_modifier(other).object, 70)
    assert_follows(other, other_twin)


@EVALUATED
def test_deleted_and_copied_between_two_updates():
    """As many objects as before, but not the same."""
    obj, armature, twin = bound_tube()
    bystander = bpy.data.objects.new("Bystander", None)
    bpy.context.scene.collection.objects.link(bystander)
    bend(armature, 40)
    update()
    bpy.data.objects.remove(bystander)
    copy = duplicate_by_hand(obj, "Copy")
    bend(armature, 90)
    assert_follows(obj, twin)
    settings_of(copy).method = "DLB"
    update()
    assert_follows(obj, twin)
    assert distance(evaluated_points(obj), evaluated_points(copy)) > 1e-3


@EVALUATED
@pytest.mark.versions
def test_an_object_in_two_scenes():
    obj, armature, twin = bound_tube()
    animate(armature)
    first, second = bpy.context.scene, bpy.data.scenes.new("Second")
    for one in (obj, armature, twin):
        second.collection.objects.link(one)
    shapes = {}
    for scene, frame in ((first, 5), (second, 10), (first, 15), (second, 3)):
        scene.frame_set(frame)
        depsgraph = scene.view_layers[0].depsgraph
        points = []
        for one in (obj, twin):
            mesh = one.evaluated_get(depsgraph).data
            points.append(np.array([vertex.co for vertex in mesh.vertices], np.float32))
        assert np.abs(points[0] - points[1]).max() <= TOLERANCE * diagonal(points[1]), (scene.name, frame)
        shapes[frame] = points[0]
    assert distance(shapes[5], shapes[10]) > 0.01


def test_an_object_in_a_scene_without_its_armature():
    obj, armature, twin = bound_tube()
    second = bpy.data.scenes.new("Second")
    second.collection.objects.link(obj)
    second.frame_set(4)
    bend(armature, 60)
    assert_follows(obj, twin)


@EVALUATED
@pytest.mark.versions
def test_disabling_and_enabling_the_extension(evaluator, subtests):
    obj, armature, twin = bound_tube("SSD")
    for hidden in (False, True):
        with subtests.test("hidden in renders" if hidden else "shown in renders"):
            bind(obj, method="SSD")
            find_supple_modifier(obj).show_render = not hidden
            bend(armature, 60)
            manager = bpy.context.window_manager
            manager.supple_check.heat, manager.supple_show_weights = "STRETCH", True
            addon_utils.disable(checkout.MODULE, default_set=True)
            try:
                assert not hasattr(bpy.types.Object, "supple")
                toggles = [(modifier.type, modifier.show_viewport, modifier.show_render) for modifier in obj.modifiers]
                bend(armature, 90)
                assert np.array_equal(evaluated_points(obj), evaluated_points(twin)), "Blender deforms"
                assert toggles[-1] == ("ARMATURE", True, not hidden)
                assert toggles[:-1] == [("NODES", False, False)] * (evaluator == "PYTHON")
                for tube in (obj, twin):
                    tube.vertex_groups["bone.1"].add(range(100), 0.5, "REPLACE")
                update()
            finally:
                assert addon_utils.enable(checkout.MODULE, default_set=True) is not None
            assert armature_modifier(obj).show_viewport == (evaluator == "BLENDER")
            assert (manager.supple_check.heat, manager.supple_show_weights) == ("NONE", False)
            assert_follows(obj, twin)
            bend(armature, 100)
            assert settings_of(obj).is_bound
            supple = find_supple_modifier(obj)
            assert (supple.show_viewport, supple.show_render) == (True, not hidden)
            assert armature_modifier(obj).show_viewport == (evaluator == "BLENDER")
            settings_of(obj).method = "DLBNT"
            update()
            assert distance(evaluated_points(twin), evaluated_points(obj)) > 1e-3, "Supple deforms again"
            settings_of(obj).method = "SSD"
            assert_follows(obj, twin)
    select(obj)
    bpy.ops.supple.unbind()
    assert_follows(obj, twin)
