"""Skin patterns taken away without a trace, on objects that share data, in files, and on what changes."""

import bpy
import numpy as np
import pytest
from scenes_patterns import add_own, add_skin, amounts, full_snapshot, make_material, moved_by_patterns

from scenes import (
    add_twin,
    bind,
    distance,
    evaluated_points,
    reset,
    rest_points,
    select,
    take_away,
    turn,
)
from supple.settings.objects import settings_of
from supple.tasks.patterns.edit import remove_pattern
from supple.tasks.patterns.node_setup import describe_shared, find_modifier
from supple.tasks.patterns.show import clear

# Removing


@pytest.mark.parametrize("material", ["none", "empty slot", "plain", "with a normal"])
@pytest.mark.parametrize("way", ["remove", "unbind", "clear"])
def test_all_that_patterns_added_is_gone_again(material, way):
    obj, armature = add_skin(uv=True)
    obj.modifiers.new("Subdivision", "SUBSURF")
    if material == "empty slot":
        obj.data.materials.append(None)
    elif material != "none":
        make_material(obj, material == "with a normal")
    if way == "remove":
        obj.driver_add("location", 0)
    before = full_snapshot(obj)
    if way == "unbind":
        bind(obj)
    for preset in ("FOLDS_BELLY", "BULGE_STEEP", "RIBS_L"):
        bpy.ops.supple.pattern_add(preset=preset, bone="bone.1")
    turn(armature, "bone.1", (0.5, 0, 0))
    assert full_snapshot(obj) != before
    turn(armature, "bone.1")
    armature.pose.bones["bone.1"].rotation_mode = "QUATERNION"
    if way == "remove":
        for index in (2, 0, 0):
            bpy.ops.supple.pattern_remove(index=index)
    elif way == "unbind":
        take_away()
    else:
        assert clear(obj) == 3
    assert full_snapshot(obj) == before
    assert not settings_of(obj).patterns


def test_the_material_of_each_copy_is_gone_again():
    obj, _ = add_skin()
    add_own(obj, "WRINKLE")
    copies = [obj, obj.copy()]
    copies[1].data = obj.data.copy()
    bpy.context.scene.collection.objects.link(copies[1])
    for one in copies:
        clear(one)
        assert not one.material_slots
    assert not bpy.data.materials


def test_no_slot_of_the_material_stays_on_another_object_of_the_mesh():
    obj, _ = add_skin()
    add_own(obj, "WRINKLE")
    other = bpy.data.objects.new("Other", obj.data)
    bpy.context.scene.collection.objects.link(other)
    clear(obj)
    assert not other.material_slots


def test_faces_keep_their_material_where_another_was_added():
    obj, _ = add_skin()
    add_own(obj, "WRINKLE")
    own = bpy.data.materials.new("Own")
    obj.data.materials.append(own)
    obj.data.polygons[0].material_index = 1
    clear(obj)
    assert [slot.material for slot in obj.material_slots] == [None, own]
    assert [polygon.material_index for polygon in obj.data.polygons][:2] == [1, 0]


def test_a_linked_copy_holds_nothing_back(tmp_path):
    obj, _ = add_skin()
    add_own(obj, "WRINKLE")
    path = tmp_path / "copy.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True)
    assert [material.name for material in bpy.data.materials] == ["Supple Skin"]
    with bpy.data.libraries.load(str(path), link=True) as (_, wanted):
        wanted.objects = [obj.name]
    clear(obj)
    assert [material for material in bpy.data.materials if material.library is None] == []


def test_what_was_linked_to_the_normal_goes_through_the_bumps():
    obj, _ = add_skin()
    tree = make_material(obj, linked=True).node_tree
    add_own(obj, "WRINKLE")
    shader = next(node for node in tree.nodes if node.type == "BSDF_PRINCIPLED")
    group = shader.inputs["Normal"].links[0].from_node
    assert group.bl_idname == "ShaderNodeGroup"
    assert group.inputs["Normal"].links[0].from_node.bl_idname == "ShaderNodeBump"


def test_removing_one_leaves_the_others_as_they_are():
    obj, armature = add_skin()
    add_own(obj, location=(0, 0.6, 0.4))
    add_own(obj, location=(0, 2.4, 0.4))
    turn(armature, "bone.1", (1.5, 0, 0))
    both = evaluated_points(obj)
    remove_pattern(obj, 0)
    one = evaluated_points(obj)
    assert distance(both, one) > 0.001
    far = rest_points(obj)[:, 1] > 1.8
    assert np.abs(both - one)[far].max() <= 1e-6
    assert [pattern.name for pattern in settings_of(obj).patterns] == ["Hill.001"]


def test_unbind_keeps_patterns():
    obj, armature = add_skin()
    add_own(obj, "BULGE")
    bind(obj)
    turn(armature, "bone.1", (0.5, 0, 0))
    select(obj)
    bpy.ops.supple.unbind()
    assert not settings_of(obj).is_bound
    assert len(settings_of(obj).patterns) == 1
    assert max(amounts(obj)) > 0.1
    assert moved_by_patterns(obj) > 1e-3
    bpy.ops.supple.pattern_remove_all()
    assert not settings_of(obj).patterns


def lose_faces(obj):
    obj.data.clear_geometry()


def enter_edit_mode(obj):
    select(obj)
    bpy.ops.object.mode_set(mode="EDIT")


def delete_first_layer(obj):
    obj.data.attributes.remove(next(one for one in obj.data.attributes if one.name.startswith("supple_")))


@pytest.mark.parametrize("spoil", [lose_faces, enter_edit_mode, delete_first_layer], ids=lambda spoil: spoil.__name__)
def test_patterns_are_removed_from_any_mesh(spoil):
    obj, _ = add_skin()
    make_material(obj, linked=True)
    before = full_snapshot(obj)
    bind(obj, evaluate="PYTHON")
    for kind in ("WRINKLE", "BULGE", "BULGE"):
        add_own(obj, kind, location=(0, 1.5, 0.4))
    spoil(obj)
    select(obj)
    take_away()
    bpy.ops.object.mode_set(mode="OBJECT")
    for image in list(bpy.data.images):
        bpy.data.images.remove(image)
    if spoil is not delete_first_layer:  # Edit Mode itself adds and removes attributes
        before = {name: value for name, value in before.items() if " drivers" in name or "Skin " in name}
    after = full_snapshot(obj)
    assert {name: after[name] for name in before} == before
    assert not settings_of(obj).patterns
    assert not [one.name for one in obj.data.attributes if one.name.startswith("supple_")]


def test_no_charts_stay_that_came_with_a_copied_mesh():
    obj, _ = add_skin()
    plain = {one.name for one in obj.data.attributes}
    add_own(obj)
    copy = obj.copy()
    bpy.context.scene.collection.objects.link(copy)
    settings_of(copy).patterns[0].location = (0, 2.5, 0.4)  # it has charts of its own from here, on the same mesh
    copy.data = copy.data.copy()
    for one in (obj, copy):
        select(one)
        bpy.ops.supple.pattern_remove_all()
        assert {attribute.name for attribute in one.data.attributes} == plain


def test_no_charts_stay_on_a_mesh_that_the_object_had_before():
    obj, _ = add_skin()
    plain = {one.name for one in obj.data.attributes}
    add_own(obj)
    former, obj.data = obj.data, obj.data.copy()
    clear(obj)
    assert [{one.name for one in mesh.attributes} for mesh in (former, obj.data)] == [plain, plain]


def test_unbind_of_an_override_whose_mesh_is_linked(tmp_path):
    obj, _ = add_skin()
    bind(obj, evaluate="PYTHON")
    add_own(obj)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "file.blend"))
    reset()
    with bpy.data.libraries.load(str(tmp_path / "file.blend"), link=True) as (_, wanted):
        wanted.objects = ["Tube", "Rig"]
    linked, rig = wanted.objects
    for one in (linked, rig):
        bpy.context.scene.collection.objects.link(one)
    select(linked)
    for operator in (bpy.ops.supple.unbind, bpy.ops.supple.pattern_remove_all):
        with pytest.raises(RuntimeError, match="'Tube' is linked from another file: make a library override of it"):
            operator()
    override = linked.override_create(remap_local_usages=True)
    select(override)
    take_away()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "user.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "user.blend"))
    override = next(obj for obj in bpy.context.scene.objects if obj.override_library is not None)
    assert not settings_of(override).is_bound
    shown = [one.type for one in override.modifiers if one.show_viewport or one.show_render]
    assert shown == ["ARMATURE"]


# Objects that share things


def test_bumps_of_a_deleted_object_are_taken_out_of_materials_until_undo():
    obj, _ = add_skin()
    tree = make_material(obj, linked=True).node_tree
    add_twin(obj)
    links = sorted((link.from_node.name, link.to_node.name) for link in tree.links)
    add_own(obj, "WRINKLE")
    bumped = sorted((link.from_node.name, link.to_node.name) for link in tree.links)
    bpy.ops.ed.undo_push(message="Pattern")
    select(obj)
    bpy.ops.object.delete()
    bpy.context.view_layer.update()
    bpy.ops.ed.undo_push(message="Deleted")
    for step, expected in ((None, links), (bpy.ops.ed.undo, bumped), (bpy.ops.ed.redo, links)):
        if step is not None:
            step()
        tree = bpy.data.materials["Skin"].node_tree
        assert sorted((link.from_node.name, link.to_node.name) for link in tree.links) == expected
    assert not bpy.data.node_groups


def test_objects_that_share_a_material_have_their_own_bumps():
    first, _ = add_skin()
    material = make_material(first, linked=True)
    before = full_snapshot(first)
    second = add_twin(first)
    for obj in (first, second):
        add_own(obj, "WRINKLE")
    groups = [node for node in material.node_tree.nodes if node.bl_idname == "ShaderNodeGroup"]
    assert len(groups) == 2
    clear(first)
    groups = [node for node in material.node_tree.nodes if node.bl_idname == "ShaderNodeGroup"]
    assert [node.node_tree.name for node in groups] == [f".Supple Bump {second.name}"]
    clear(second)
    for image in list(bpy.data.images):
        bpy.data.images.remove(image)
    bpy.data.objects.remove(second)
    bpy.data.meshes.remove(next(mesh for mesh in bpy.data.meshes if not mesh.users))
    assert full_snapshot(first) == before


def test_a_shared_material_is_reported():
    first, _ = add_skin()
    make_material(first, linked=False)
    assert describe_shared(first) == ""
    add_own(first, "WRINKLE")
    assert describe_shared(first) == ""
    add_twin(first)
    assert describe_shared(first).startswith("Shared material 'Skin' looks unchanged on 1 other objects")


def test_uv_islands_that_lie_on_one_another_are_told_and_only_one_has_the_pattern():
    obj, armature = add_skin(uv=True)
    for polygon in obj.data.polygons:
        loops = [obj.data.uv_layers[0].data[index] for index in polygon.loop_indices]
        if sum(loop.uv[0] for loop in loops) / len(loops) > 0.5:
            for loop in loops:
                loop.uv[0] -= 0.5
    pattern = add_own(obj, uv=(0.25, 0.5), size=(0.1, 0.1))
    assert pattern.note.startswith("1 other UV islands overlap it")
    turn(armature, "bone.1", (1.5, 0, 0))
    modifier = find_modifier(obj)
    shown = evaluated_points(obj)
    modifier.show_viewport = False
    moved = np.linalg.norm(shown - evaluated_points(obj), axis=1) > 1e-4
    sides = np.sign(rest_points(obj)[moved, 2])
    assert len(sides) > 5
    assert abs(sides.sum()) == len(sides)


@pytest.mark.parametrize("shares_mesh", [False, True])
def test_a_copy_is_edited_without_touching_the_original(shares_mesh):
    obj, armature = add_skin()
    add_own(obj, location=(0, 1.5, 0.4))
    add_own(obj, "WRINKLE", location=(0, 1.5, -0.4))
    settings_of(obj).pattern_display = "DISPLACEMENT"
    turn(armature, "bone.1", (1.5, 0, 0))
    copy = obj.copy()
    if not shares_mesh:
        copy.data = obj.data.copy()
    bpy.context.scene.collection.objects.link(copy)
    before = evaluated_points(obj)
    assert distance(before, evaluated_points(copy)) <= 1e-6
    settings_of(copy).patterns[0].location = (0, 2.5, 0.4)
    assert distance(before, evaluated_points(copy)) > 0.004
    assert distance(before, evaluated_points(obj)) <= 1e-6
    clear(copy)
    assert distance(before, evaluated_points(obj)) <= 1e-6
    assert settings_of(obj).patterns[0].note == ""


def test_patterns_survive_saving_and_opening(tmp_path):
    obj, armature = add_skin()
    add_own(obj, location=(0, 1.5, 0.4))
    turn(armature, "bone.1", (1.5, 0, 0))
    before = evaluated_points(obj)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "file.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "file.blend"))
    obj = bpy.data.objects["Tube"]
    assert distance(before, evaluated_points(obj)) <= 1e-6
    settings_of(obj).patterns[0].strength *= 2.0
    assert distance(before, evaluated_points(obj)) > 0.004
    clear(obj)
    assert find_modifier(obj) is None


def test_an_appended_object_brings_its_patterns(tmp_path):
    obj, armature = add_skin()
    add_own(obj, location=(0, 1.5, 0.4))
    add_own(obj, "WRINKLE")
    turn(armature, "bone.1", (1.5, 0, 0))
    before = evaluated_points(obj)
    path = str(tmp_path / "file.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    reset()
    found = []
    for _ in range(2):
        with bpy.data.libraries.load(path) as (_, wanted):
            wanted.objects = ["Tube", "Rig"]
        for one in wanted.objects:
            bpy.context.scene.collection.objects.link(one)
        found.append(wanted.objects[0])
    for one in found:
        assert distance(before, evaluated_points(one)) <= 1e-6
    settings_of(found[1]).patterns[0].strength = 0.2
    assert distance(before, evaluated_points(found[0])) <= 1e-6
    assert distance(before, evaluated_points(found[1])) > 0.01


def test_undo_takes_back_what_was_added():
    bpy.ops.ed.undo_push(message="Before")
    obj, armature = add_skin()
    bpy.ops.ed.undo_push(message="Tube")
    before = full_snapshot(obj)
    bpy.ops.supple.pattern_add(preset="BULGE_STEEP", bone="bone.1")
    bpy.ops.ed.undo_push(message="Pattern")
    assert bpy.ops.ed.undo() == {"FINISHED"}
    obj, armature = bpy.data.objects["Tube"], bpy.data.objects["Rig"]
    assert full_snapshot(obj) == before
    bpy.ops.ed.redo()
    obj, armature = bpy.data.objects["Tube"], bpy.data.objects["Rig"]
    turn(armature, "bone.1", (2.3, 0, 0))
    assert moved_by_patterns(obj) > 0.01


# Following changes


def test_a_changed_mesh_has_its_patterns_laid_anew():
    obj, armature = add_skin()
    pattern = add_own(obj, location=(0, 1.5, 0.4))
    turn(armature, "bone.1", (1.5, 0, 0))
    state = settings_of(obj).pattern_state
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.mesh.subdivide(number_cuts=1)
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.update()
    assert settings_of(obj).pattern_state != state
    assert pattern.note == ""
    assert moved_by_patterns(obj) > 0.5 * pattern.strength


def test_a_renamed_bone_goes_on_driving():
    obj, armature = add_skin()
    add_own(obj)
    armature.data.bones["bone.1"].name = "Elbow"
    bpy.context.view_layer.update()
    turn(armature, "Elbow", (1.5, 0, 0))
    assert amounts(obj)[0] == 1.0
    assert (settings_of(obj).patterns[0].bone, settings_of(obj).patterns[0].note) == ("Elbow", "")
    assert moved_by_patterns(obj) > 0.001


def test_a_deleted_bone_is_noted_and_the_others_stay():
    obj, armature = add_skin()
    add_own(obj)
    add_own(obj, bone="bone.2")
    select(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    armature.data.edit_bones.remove(armature.data.edit_bones["bone.1"])
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.update()
    notes = [pattern.note for pattern in settings_of(obj).patterns]
    assert notes == ["'Rig' has no bone 'bone.1': choose another bone", ""]
    turn(armature, "bone.2", (1.5, 0, 0))
    assert amounts(obj)[0] == 1.0
