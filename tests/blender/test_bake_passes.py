"""Bakes of several objects in one pass over the frames: the same bytes as one by one, whatever refers to what."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import bpy
import numpy as np
import pytest
from scenes_bake import FRAMES, KINDS, add_bound, add_character, changes, everything, live_points, remove_characters
from scenes_state import refuse

from scenes import add_face_key, add_object, add_tube, add_twin, animate_tube, bind, evaluated_points, select
from supple.bridge.files import writing as files
from supple.deformers import SkinningError
from supple.tasks.bake.caches import bake_cache, bake_caches, write_caches
from supple.tasks.bake.passes import list_passes
from supple.tasks.bake.shape_keys import bake_shape_keys
from supple.tasks.skin import by_blender
from supple.tasks.skin.model import PosableSkin

EVALUATED = pytest.mark.usefixtures("evaluator")


def add_set(method: str = "DLBNT") -> list[bpy.types.Object]:
    """A body with a face key, a sleeve and a shoe, of one armature, all bound."""
    body, _ = add_character("keyed")
    objects = [body]
    for name, size in (("Sleeve", 1.2), ("Shoe", 0.7)):
        other = add_twin(body)
        other.name = name
        other.shape_key_clear()
        points = np.empty(3 * len(other.data.vertices), np.float32)
        other.data.vertices.foreach_get("co", points)
        other.data.vertices.foreach_set("co", points * size)
        objects.append(other)
    bind(*objects, method=method, evaluate="PYTHON" if method == "PARTICLES" else "")
    return objects


def bake(*objects: bpy.types.Object, frames: range = FRAMES) -> list[bytes]:
    """The PC2 files of objects that are baked together."""
    streams = {obj: io.BytesIO() for obj in objects}
    done = list(write_caches(streams, bpy.context.scene, frames))
    assert done[-1] == len(frames)
    assert done == sorted(done)
    return [stream.getvalue() for stream in streams.values()]


def assert_same_bytes(objects: list[bpy.types.Object]) -> None:
    alone = [bake(obj)[0] for obj in objects]
    assert len(set(alone)) == len(objects)
    together = bake(*objects)
    assert [one == other for one, other in zip(together, alone, strict=True)] == [True] * len(objects)
    backward = bake(*reversed(objects))[::-1]
    assert [one == other for one, other in zip(backward, alone, strict=True)] == [True] * len(objects)


def names(passes: list[list[bpy.types.Object]]) -> list[list[str]]:
    return [[obj.name for obj in objects] for objects in passes]


@EVALUATED
def test_together_as_one_by_one(subtests):
    for method in ("SSD", "CENTERS"):
        with subtests.test(method):
            assert_same_bytes(add_set(method))
        remove_characters()


def test_together_as_one_by_one_with_particles():
    assert_same_bytes(add_set("PARTICLES"))


# What depends on another object of the set


def put_above(obj: bpy.types.Object, kind: str) -> bpy.types.Modifier:
    modifier = obj.modifiers.new(kind, kind)
    obj.modifiers.move(obj.modifiers.find(modifier.name), 0)
    return modifier


def shrink_wrap_above(obj: bpy.types.Object, target: bpy.types.Object) -> None:
    modifier = put_above(obj, "SHRINKWRAP")
    modifier.target, modifier.offset = target, 0.05


def shrink_wrap_below(obj: bpy.types.Object, target: bpy.types.Object) -> None:
    obj.modifiers.new("Below", "SHRINKWRAP").target = target


def add_nodes_above(
    obj: bpy.types.Object, source: str
) -> tuple[bpy.types.NodesModifier, bpy.types.NodeTree, bpy.types.Node]:
    """Nodes above Supple that move all points by the size of what a node gives: modifier, group, node."""
    group = bpy.data.node_groups.new("Look", "GeometryNodeTree")
    for way in ("INPUT", "OUTPUT"):
        group.interface.new_socket("Geometry", in_out=way, socket_type="NodeSocketGeometry")
    start, end = group.nodes.new("NodeGroupInput"), group.nodes.new("NodeGroupOutput")
    info, box = group.nodes.new(source), group.nodes.new("GeometryNodeBoundBox")
    real, move = group.nodes.new("GeometryNodeRealizeInstances"), group.nodes.new("GeometryNodeSetPosition")
    group.links.new(info.outputs[-1], real.inputs["Geometry"])
    group.links.new(real.outputs["Geometry"], box.inputs["Geometry"])
    group.links.new(box.outputs["Max"], move.inputs["Offset"])
    group.links.new(start.outputs["Geometry"], move.inputs["Geometry"])
    group.links.new(move.outputs["Geometry"], end.inputs["Geometry"])
    modifier = put_above(obj, "NODES")
    modifier.node_group = group
    return modifier, group, info


def wrap_to_a_collection_by_nodes(obj: bpy.types.Object, target: bpy.types.Object) -> None:
    collection = bpy.data.collections.new("Others")
    collection.objects.link(target)
    add_nodes_above(obj, "GeometryNodeCollectionInfo")[2].inputs["Collection"].default_value = collection


def wrap_to_what_is_chosen_in_a_modifier(obj: bpy.types.Object, target: bpy.types.Object) -> None:
    """By nodes, where what lies below, and is off meanwhile, refers to the same object."""
    modifier, group, info = add_nodes_above(obj, "GeometryNodeObjectInfo")
    socket = group.interface.new_socket("Target", in_out="INPUT", socket_type="NodeSocketObject")
    (start,) = (node for node in group.nodes if node.type == "GROUP_INPUT")
    group.links.new(start.outputs["Target"], info.inputs["Object"])
    if bpy.app.version >= (5, 2, 0):
        getattr(modifier.properties.inputs, socket.identifier).value = target
    else:
        modifier[socket.identifier] = target
    shrink_wrap_below(obj, target)


def drive_a_key_by(obj: bpy.types.Object, target: bpy.types.Object) -> None:
    """A driver of a shape key that follows where an empty is that follows a vertex of the target."""
    empty = add_object("Empty")
    empty.parent, empty.parent_type, empty.parent_vertices = target, "VERTEX", (95, 0, 0)
    variable = (driver := add_face_key(obj).driver_add("value").driver).variables.new()
    variable.type = "TRANSFORMS"
    variable.targets[0].id, variable.targets[0].transform_type = empty, "LOC_Y"
    driver.expression = variable.name


def parent_to(obj: bpy.types.Object, target: bpy.types.Object) -> None:
    obj.parent = target


def parent_to_a_vertex(obj: bpy.types.Object, target: bpy.types.Object) -> None:
    obj.parent, obj.parent_type, obj.parent_vertices = target, "VERTEX", (95, 0, 0)


def give_other_modifiers_below(obj: bpy.types.Object) -> None:
    """What is off while the object itself is baked, and on while another one is."""
    modifier = obj.modifiers.new("Swell", "DISPLACE")
    modifier.strength = 0.3
    modifier.mid_level = 0.0


APART, TOGETHER = [["Tube", "Shoe"], ["Sleeve"]], [["Tube", "Sleeve", "Shoe"]]


def assert_passes(refer: Callable, passes: list[list[str]]) -> None:
    body, sleeve, _ = objects = add_set()
    refer(sleeve, body)
    give_other_modifiers_below(body)
    bpy.context.view_layer.update()
    assert names(list_passes(objects)) == passes
    assert_same_bytes(objects)


def test_what_refers_to_another_object_has_its_own_pass(subtests):
    for refer, passes in (
        (shrink_wrap_above, APART),
        (wrap_to_a_collection_by_nodes, APART),
        (drive_a_key_by, APART),
        (parent_to_a_vertex, APART),
        (shrink_wrap_below, TOGETHER),
        (parent_to, TOGETHER),
    ):
        with subtests.test(refer.__name__):
            assert_passes(refer, passes)
        remove_characters()


@pytest.mark.versions
def test_what_is_chosen_in_a_modifier_has_its_own_pass():
    assert_passes(wrap_to_what_is_chosen_in_a_modifier, APART)


@EVALUATED
def test_a_chain_of_references_has_a_pass_each():
    body, sleeve, shoe = objects = add_set()
    shrink_wrap_above(sleeve, body)
    shrink_wrap_above(shoe, sleeve)
    give_other_modifiers_below(body)
    give_other_modifiers_below(sleeve)
    assert names(list_passes(objects)) == [["Tube"], ["Sleeve"], ["Shoe"]]
    assert_same_bytes(objects)


def test_cloth_above_may_take_in_any_object():
    _, sleeve, _ = objects = add_set()
    put_above(sleeve, "CLOTH")
    assert names(list_passes(objects)) == [["Tube", "Shoe"], ["Sleeve"]]


def test_all_is_as_before_after_a_bake_that_ends_early():
    objects = add_set()
    scene = bpy.context.scene
    scene.frame_set(6, subframe=0.25)
    before = [[modifier.show_viewport for modifier in obj.modifiers] for obj in objects]
    steps = write_caches({obj: io.BytesIO() for obj in objects}, scene, FRAMES)
    next(steps)
    steps.close()
    assert [[modifier.show_viewport for modifier in obj.modifiers] for obj in objects] == before
    assert (scene.frame_current, scene.frame_subframe) == (6, 0.25)


def test_an_object_that_fails_is_named_with_its_frame():
    objects = add_set()
    scene = bpy.context.scene
    bpy.context.view_layer.layer_collection.collection.objects.unlink(objects[1])
    other = bpy.data.collections.new("Off")
    scene.collection.children.link(other)
    other.objects.link(objects[1])
    bpy.context.view_layer.layer_collection.children["Off"].exclude = True
    refuse("Frame 1: 'Sleeve' is disabled in this view layer", bake, *objects)


def test_objects_of_two_armatures(subtests):
    for is_constrained in (False, True):
        with subtests.test("constrained" if is_constrained else "apart"):
            first, _ = add_character()
            second, armature = add_tube(rings=9, sides=8)
            armature.location.x = 3.0
            animate_tube(armature)
            bind(first, second)
            if is_constrained:  # a bone that stays on the skin of the other
                give_other_modifiers_below(first)
                constraint = armature.pose.bones["bone.1"].constraints.new("SHRINKWRAP")
                constraint.target, constraint.distance = first, 0.2
            assert len(list_passes([first, second])) == 1 + is_constrained
            assert_same_bytes([first, second])
        remove_characters()


@EVALUATED
def test_meshes_are_prepared_once(monkeypatch, evaluator):
    first, _ = add_character()
    second = add_twin(first)
    bind(first, second)
    prepared = []
    for owner, name in ((by_blender, "prepare"), (PosableSkin, "of")):
        original = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *given, _own=original: prepared.append(given) or _own(*given))
    bake(first, second)
    bpy.context.scene.frame_set(3)
    bpy.context.view_layer.update()
    assert len(prepared) == (2 if evaluator == "PYTHON" else 0)


def test_changes_after_a_bake_are_followed():
    obj, _ = add_bound()
    bake(obj)
    bpy.context.scene.frame_set(4)
    before = evaluated_points(obj)
    obj.vertex_groups["bone.2"].add(range(len(obj.data.vertices)), 1.0, "REPLACE")
    bpy.context.view_layer.update()
    assert np.abs(evaluated_points(obj) - before).max() > 0.1


# A whole character: all of it, in one pass, or nothing of it


@pytest.fixture
def meshes() -> list[bpy.types.Object]:
    """Two bound meshes of an armature, of which one has keyed shape keys."""
    first, _ = add_character("keyed")
    second = add_twin(first)
    second.name = "Sleeve"
    second.active_shape_key_index = 0
    second.shape_key_clear()
    bind(first, second)
    return [first, second]


def steps_of(kind: str, meshes: list[bpy.types.Object], folder: Path, frames: range = FRAMES) -> Iterator[int]:
    if kind == "PC2":
        return bake_caches({obj: folder / f"{obj.name}.pc2" for obj in meshes}, bpy.context.scene, frames)
    return bake_shape_keys(meshes, bpy.context.scene, frames)


def call(kind: str, path: Path, **settings: int) -> set[str]:
    """Run the operator of a kind of bake on the whole character."""
    if kind == "PC2":
        return bpy.ops.supple.bake_cache(filepath=str(path), whole=True, **settings)
    return bpy.ops.supple.bake_shape_keys(whole=True, **settings)


def test_a_canceled_bake_leaves_nothing_of_any_mesh(tmp_path, meshes, subtests):
    before, points = [everything(obj) for obj in meshes], [evaluated_points(obj) for obj in meshes]
    for kind, done in product(KINDS, (0, 1, 4)):
        with subtests.test(f"{kind}, after {done} frames"):
            steps = steps_of(kind, meshes, tmp_path)
            assert [next(steps) for _ in range(done)] == list(range(1, done + 1))
            steps.close()
            assert os.listdir(tmp_path) == []
            assert [changes(one, everything(obj)) for one, obj in zip(before, meshes, strict=True)] == [{}, {}]
            for obj, own in zip(meshes, points, strict=True):
                assert obj.supple.baked_keys == ""
                assert np.array_equal(evaluated_points(obj), own)


def test_the_operator_bakes_all_in_one_pass(tmp_path, meshes, subtests):
    live = [live_points(obj, range(2, 6)) for obj in meshes]
    for obj in meshes:
        list(bake_cache(obj, bpy.context.scene, tmp_path / f"alone_{obj.name}.pc2", range(2, 6)))
    for kind in KINDS:
        with subtests.test(kind):
            frames = []
            bpy.app.handlers.frame_change_pre.append(
                note := lambda scene, *_, to=frames: to.append(scene.frame_current)
            )
            try:
                assert call(kind, tmp_path / "hero.pc2", frame_start=2, frame_end=5) == {"FINISHED"}
            finally:
                bpy.app.handlers.frame_change_pre.remove(note)
            own = bpy.context.scene.frame_current
            assert frames[:6] == [2, own, 2, 3, 4, 5]  # the first is tried
            assert len(frames) <= 8  # the scene's own frame, once or twice
            for obj, points in zip(meshes, live, strict=True):
                assert obj.supple.bake == kind
                np.testing.assert_allclose(live_points(obj, range(2, 6)), points, rtol=0, atol=1e-5)
                if kind == "PC2":
                    alone = (tmp_path / f"alone_{obj.name}.pc2").read_bytes()
                    assert (tmp_path / f"hero_{obj.name}.pc2").read_bytes() == alone
        bpy.ops.supple.clear_bake(whole=True)


def test_a_mesh_that_fails_takes_the_others_back(tmp_path, meshes, subtests):
    meshes[1].hide_viewport = True
    select(meshes[0])
    before = [everything(obj) for obj in meshes]
    for kind in KINDS:
        with subtests.test(kind):
            refuse("Frame 1: 'Sleeve' is disabled in this view layer", list, steps_of(kind, meshes, tmp_path))
            assert os.listdir(tmp_path) == []
            assert [changes(one, everything(obj)) for one, obj in zip(before, meshes, strict=True)] == [{}, {}]


def test_a_file_that_cannot_be_put_in_its_place_takes_the_message(tmp_path, meshes, monkeypatch):
    def put(path: Path, target: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files, "_put", put)
    refuse(r"Cannot write '.*\.pc2' \(Permission denied\)", list, steps_of("PC2", meshes, tmp_path, range(1, 3)))
    assert os.listdir(tmp_path) == []


def test_two_meshes_that_would_share_a_file(tmp_path, meshes):
    meshes[0].name, meshes[1].name = "a/b", "a_b"
    refuse("would share the file 'a_b': rename one", call, "PC2", tmp_path / "hero.pc2", frame_start=1, frame_end=2)
    assert os.listdir(tmp_path) == []
    assert [obj.supple.bake for obj in meshes] == ["NONE", "NONE"]


def test_a_bake_to_shape_keys_counts_all_meshes(meshes, monkeypatch):
    size = 10 * 12 * len(meshes[0].data.vertices)
    for most, is_refused in ((size, True), (2 * size, False)):
        monkeypatch.setattr("supple.tasks.bake.shape_keys.LARGEST_KEYS", most)
        steps = bake_shape_keys(meshes, bpy.context.scene, FRAMES)
        if is_refused:
            with pytest.raises(SkinningError, match="10 frames of 'Tube', 'Sleeve' need"):
                next(steps)
        else:
            assert next(steps) == 1
            steps.close()
