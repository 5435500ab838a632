"""Modifiers above that change weights: Blender's own modifier follows them, and all else reads those of the mesh."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import pytest

from scenes import TOLERANCE, add_tube, armature_modifier, bind, distance, evaluated_points, select, turn, update
from supple.deformers import SkinningError
from supple.settings.objects import settings_of
from supple.tasks.skin.bind import bind_each
from supple.tasks.subject.character import check_modifiers_above, find_skinned, modifiers_above

pytestmark = pytest.mark.usefixtures("silent_handlers")

BONE = "bone.1"


def mix(obj: bpy.types.Object, group: str) -> None:
    made = obj.modifiers.new("Weights", "VERTEX_WEIGHT_MIX")
    made.vertex_group_a, made.default_weight_b, made.mix_mode, made.mix_set = group, 0.6, "ADD", "ALL"


def edit(obj: bpy.types.Object, group: str) -> None:
    made = obj.modifiers.new("Weights", "VERTEX_WEIGHT_EDIT")
    made.vertex_group, made.falloff_type, made.use_add, made.add_threshold = group, "STEP", True, 0.0
    made.default_weight = 0.5


def proximity(obj: bpy.types.Object, group: str) -> None:
    target = bpy.data.objects.new("Target", None)
    bpy.context.scene.collection.objects.link(target)
    made = obj.modifiers.new("Weights", "VERTEX_WEIGHT_PROXIMITY")
    made.vertex_group, made.target, made.proximity_mode, made.max_dist = group, target, "OBJECT", 3.0


def transfer(obj: bpy.types.Object, group: str) -> None:
    source = obj.copy()
    source.data = obj.data.copy()
    bpy.context.scene.collection.objects.link(source)
    source.modifiers.clear()
    source.vertex_groups[0].add(range(len(source.data.vertices)), 0.5, "REPLACE")
    made = obj.modifiers.new("Weights", "DATA_TRANSFER")
    made.object, made.vert_mapping = source, "TOPOLOGY"
    made.use_vert_data, made.data_types_verts = True, {"VGROUP_WEIGHTS"} if group == BONE else set()


def add_nodes(obj: bpy.types.Object) -> tuple:
    tree = bpy.data.node_groups.new("Weights", "GeometryNodeTree")
    tree.is_modifier = True
    for direction in ("INPUT", "OUTPUT"):
        tree.interface.new_socket("Geometry", in_out=direction, socket_type="NodeSocketGeometry")
    start, end = tree.nodes.new("NodeGroupInput"), tree.nodes.new("NodeGroupOutput")
    made = obj.modifiers.new("Weights", "NODES")
    return tree, start, end, made


def add_store(tree: bpy.types.NodeTree, start: bpy.types.Node, end: bpy.types.Node) -> bpy.types.Node:
    store = tree.nodes.new("GeometryNodeStoreNamedAttribute")
    next(socket for socket in store.inputs if socket.name == "Value" and socket.enabled).default_value = 0.7
    tree.links.new(start.outputs["Geometry"], store.inputs["Geometry"])
    tree.links.new(store.outputs["Geometry"], end.inputs["Geometry"])
    return store


def nodes(obj: bpy.types.Object, group: str) -> None:
    tree, start, end, made = add_nodes(obj)
    add_store(tree, start, end).inputs["Name"].default_value = group
    made.node_group = tree


def nodes_by_name(obj: bpy.types.Object, group: str) -> None:
    """The name is an input of the modifier."""
    tree, start, end, made = add_nodes(obj)
    socket = tree.interface.new_socket("Group", in_out="INPUT", socket_type="NodeSocketString")
    socket.default_value = group
    tree.links.new(start.outputs["Group"], add_store(tree, start, end).inputs["Name"])
    made.node_group = tree


def nodes_by_output(obj: bpy.types.Object, group: str) -> None:
    tree, start, end, made = add_nodes(obj)
    socket = tree.interface.new_socket("Value", in_out="OUTPUT", socket_type="NodeSocketFloat")
    socket.default_attribute_name, socket.default_value = group, 0.7
    value = tree.nodes.new("ShaderNodeValue")
    value.outputs[0].default_value = 0.7
    tree.links.new(start.outputs["Geometry"], end.inputs["Geometry"])
    tree.links.new(value.outputs[0], end.inputs["Value"])
    made.node_group = tree
    if hasattr(made, "properties"):
        getattr(made.properties.outputs, socket.identifier).attribute_name = group
    else:
        made[f"{socket.identifier}_attribute_name"] = group


KINDS = (mix, edit, proximity, transfer, nodes, nodes_by_name, nodes_by_output)


def add_changed(kind: Callable, group: str = BONE) -> tuple[bpy.types.Object, float]:
    """A posed tube below such a modifier, and how far that moves its vertices."""
    obj, armature = add_tube()
    obj.vertex_groups.new(name="other")
    turn(armature, "bone.1", (0.9, 0.6, 0.2))
    turn(armature, "bone.2", (0.7, 0.2, 0.3))
    plain = evaluated_points(obj)
    kind(obj, group)
    obj.modifiers.move(1, 0)
    update()
    return obj, distance(plain, evaluated_points(obj))


@pytest.mark.versions
@pytest.mark.parametrize("kind", KINDS)
def test_blenders_modifiers_follow_and_python_names_the_modifier(kind: Callable, subtests: pytest.Subtests):
    obj, moved = add_changed(kind)
    linear = evaluated_points(obj)
    assert moved > 0.05
    armature_modifier(obj).use_deform_preserve_volume = True
    preserved = evaluated_points(obj)
    for method, wanted in (("SSD", linear), ("DLB", preserved)):
        with subtests.test(method):
            bind(obj, method=method, evaluate="BLENDER")
            assert distance(evaluated_points(obj), wanted) < TOLERANCE
            assert settings_of(obj).message == ""
    select(obj)
    bpy.ops.supple.unbind()
    other, _ = add_tube()
    for method in ("SSD", "DLBNT"):
        with subtests.test(f"{method}, Python"):
            bound, left_out = bind_each([obj, other], method, "PYTHON")
            assert bound == [other]
            assert "Modifier 'Weights' of 'Tube' is above 'Armature' and changes weights" in str(left_out[0][1])
            assert distance(evaluated_points(obj), preserved) < TOLERANCE
    with subtests.test("what reads weights itself"):
        skinned = find_skinned(obj)
        with pytest.raises(SkinningError, match="changes weights"):
            check_modifiers_above(skinned, modifiers_above(obj, skinned.deforming))


@pytest.mark.parametrize("kind", KINDS)
def test_groups_that_deform_nothing_may_change(kind: Callable):
    obj, moved = add_changed(kind, "other")
    assert moved < TOLERANCE
    for method, evaluate in (("SSD", "PYTHON"), ("CENTERS", "PYTHON"), ("DLB", "BLENDER")):
        bind(obj, method=method, evaluate=evaluate)
        assert settings_of(obj).message == ""


def test_the_group_of_the_modifier_counts():
    obj, _ = add_changed(mix, "other")
    armature_modifier(obj).vertex_group = "other"
    _, left_out = bind_each([obj, add_tube()[0]], "SSD", "PYTHON")
    assert "changes weights" in str(left_out[0][1])


def test_one_added_once_bound_is_told():
    obj, armature = add_tube()
    turn(armature, "bone.1", (0.9, 0.6, 0.2))
    bind(obj, method="CENTERS", evaluate="PYTHON")
    mix(obj, "nothing")
    obj.modifiers.move(obj.modifiers.find("Weights"), 0)
    update()
    assert settings_of(obj).message == ""
    obj.modifiers["Weights"].vertex_group_a = BONE
    update()
    assert "changes weights" in settings_of(obj).message
    obj.modifiers.remove(obj.modifiers["Weights"])
    update()
    assert settings_of(obj).message == ""
