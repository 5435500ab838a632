"""Skin patterns taken away without a trace, on objects that share data, in files, and on what changes."""

import bpy
import numpy as np
import pytest
from scenes_patterns import add_own, add_skin, amounts, forget_images, full_snapshot, make_material, moved_by_patterns

import scenes
from scenes import add_twin, bind, distance, evaluated_points, link, rest_points, select, turn
from supple.nodes.groups import remove_unused_groups
from supple.settings.objects import settings_of
from supple.tasks.patterns.edit import remove_pattern
from supple.tasks.patterns.write import clear, describe_shared, find_modifier

# Removing


@pytest.mark.parametrize(
    ("way", "material"),
    (
        pytest.param("remove", "none", marks=pytest.mark.versions), ("remove", "with a normal"),
        pytest.param("unbind", "plain", marks=pytest.mark.versions), ("unbind", "empty slot"),
        ("clear", "with a normal"), ("clear", "empty slot"),
    ),
)  # fmt: skip
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
    if way == "remove":
        for index in (2, 0, 0):
            bpy.ops.supple.pattern_remove(index=index)
    elif way == "unbind":
        scenes.take_away()
    else:
        assert clear(obj) == 3
    assert full_snapshot(obj) == before
    assert not settings_of(obj).patterns


@pytest.mark.versions
def test_all_is_gone_again_where_a_user_has_removed_the_modifier():
    obj, _ = add_skin()
    before = full_snapshot(obj)
    select(obj)
    bpy.ops.supple.pattern_add(preset="BULGE_STEEP", bone="bone.1")
    modifier = find_modifier(obj)
    assert modifier is not None
    obj.modifiers.remove(modifier)  # Blender 4.2 leaves its drivers
    clear(obj)
    assert full_snapshot(obj) == before


def test_the_material_of_each_copy_is_gone_again():
    obj, _ = add_skin()
    add_own(obj, "WRINKLE")
    copy = obj.copy()
    copy.data = obj.data.copy()
    other = bpy.data.objects.new("Other", obj.data)
    for one in (copy, other):
        link(one)
    for one in (obj, copy):
        clear(one)
        assert not one.material_slots
    assert not other.material_slots  # which has the mesh of the first
    assert not bpy.data.materials


def test_a_material_stays_while_another_object_with_the_mesh_shows_patterns_of_its_own():
    obj, _ = add_skin()
    other = obj.copy()
    link(other)
    for one in (obj, other):
        add_own(one, "WRINKLE")
    (material,) = bpy.data.materials
    clear(obj)
    assert [slot.material for slot in other.material_slots] == [material]
    clear(other)
    assert not bpy.data.materials


def test_faces_keep_their_material_where_another_was_added():
    obj, _ = add_skin()
    add_own(obj, "WRINKLE")
    own = bpy.data.materials.new("Own")
    obj.data.materials.append(own)
    obj.data.polygons[0].material_index = 1
    clear(obj)
    assert [slot.material for slot in obj.material_slots] == [None, own]
    assert [polygon.material_index for polygon in obj.data.polygons][:2] == [1, 0]


@pytest.mark.versions
def test_a_linked_copy_holds_nothing_back(tmp_path):
    obj, _ = add_skin()
    add_own(obj, "WRINKLE")
    path = scenes.save(tmp_path / "copy.blend", copy=True)
    assert [material.name for material in bpy.data.materials] == ["Supple Skin"]
    with bpy.data.libraries.load(str(path), link=True) as (_, wanted):
        wanted.objects = [obj.name]
    clear(obj)
    assert [material for material in bpy.data.materials if material.library is None] == []


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


@pytest.mark.versions
@pytest.mark.usefixtures("evaluator")
def test_unbind_keeps_patterns():
    obj, armature = add_skin()
    add_own(obj, "BULGE")
    bind(obj)
    turn(armature, "bone.1", (0.5, 0, 0))
    bpy.ops.supple.unbind()
    assert not settings_of(obj).is_bound
    assert len(settings_of(obj).patterns) == 1
    assert max(amounts(obj)) > 0.1
    assert moved_by_patterns(obj) > 1e-3


LOSE_FACES, EDIT = "obj.data.clear_geometry()", "set_mode('EDIT', obj)"
LOSE_LAYER = "own = [one for one in obj.data.attributes if 'supple_' in one.name]; obj.data.attributes.remove(own[0])"


@pytest.mark.parametrize("spoil", [LOSE_FACES, EDIT, LOSE_LAYER])
def test_patterns_are_removed_from_any_mesh(spoil):
    obj, _ = add_skin()
    make_material(obj, linked=True)
    before = full_snapshot(obj)
    bind(obj)
    for kind in ("WRINKLE", "BULGE", "BULGE"):
        add_own(obj, kind, location=(0, 1.5, 0.4))
    scenes.execute(spoil, obj=obj)
    select(obj)
    scenes.take_away()
    bpy.ops.object.mode_set(mode="OBJECT")
    forget_images()
    if spoil != LOSE_LAYER:  # Edit Mode itself adds and removes attributes
        before = {name: value for name, value in before.items() if " drivers" in name or "Skin " in name}
    after = full_snapshot(obj)
    assert {name: after[name] for name in before} == before
    assert not settings_of(obj).patterns
    assert not [one.name for one in obj.data.attributes if one.name.startswith("supple_")]


def test_no_charts_stay_on_copies_of_the_mesh():
    def attributes(*meshes: bpy.types.Mesh) -> list[set[str]]:
        return [{attribute.name for attribute in mesh.attributes} for mesh in meshes]

    obj, _ = add_skin()
    plain = attributes(obj.data)
    add_own(obj)
    former, obj.data = obj.data, obj.data.copy()
    copy = obj.copy()
    link(copy)
    settings_of(copy).patterns[0].location = (0, 2.5, 0.4)  # it has charts of its own from here, on the same mesh
    copy.data = copy.data.copy()
    for one in (obj, copy):
        select(one)
        bpy.ops.supple.pattern_remove_all()
        assert attributes(one.data) == plain
    assert attributes(former) == plain


# Objects that share things


@pytest.mark.versions
def test_bumps_of_a_deleted_object_are_taken_out_of_materials_until_undo():
    def links() -> list[tuple[str, str]]:
        return sorted((link.from_node.name, link.to_node.name) for link in bpy.data.materials["Skin"].node_tree.links)

    obj, _ = add_skin()
    make_material(obj, linked=True)
    add_twin(obj)
    plain = links()
    add_own(obj, "WRINKLE")
    bumped = links()
    assert {("Bump", "Group"), ("Group", "Principled BSDF")} <= set(bumped)
    scenes.push("Pattern")
    select(obj)
    bpy.ops.object.delete()
    bpy.context.view_layer.update()
    scenes.push("Deleted")
    assert links() == plain
    scenes.undo()
    assert links() == bumped
    scenes.redo()
    assert links() == plain
    remove_unused_groups()  # of the session; files have none that nothing uses
    assert not bpy.data.node_groups


@pytest.mark.versions
def test_objects_that_share_a_material_have_their_own_bumps_and_it_is_told():
    first, _ = add_skin()
    material = make_material(first, linked=True)
    before = full_snapshot(first)
    add_own(first, "WRINKLE")
    assert describe_shared(first) == ""
    second = add_twin(first)
    assert describe_shared(first).startswith("Shared material 'Skin' looks unchanged on 1 other objects")
    add_own(second, "WRINKLE")
    for cleared, shown in ((None, (first, second)), (first, (second,)), (second, ())):
        if cleared is not None:
            clear(cleared)
        groups = [node.node_tree.name for node in material.node_tree.nodes if node.bl_idname == "ShaderNodeGroup"]
        assert sorted(groups) == [f".Supple Bump {obj.name}" for obj in shown]
    forget_images()
    bpy.data.objects.remove(second)
    bpy.data.meshes.remove(next(mesh for mesh in bpy.data.meshes if not mesh.users))
    assert full_snapshot(first) == before


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
    link(copy)
    before = evaluated_points(obj)
    assert distance(before, evaluated_points(copy)) <= 1e-6
    settings_of(copy).patterns[0].location = (0, 2.5, 0.4)
    assert distance(before, evaluated_points(copy)) > 0.004
    assert distance(before, evaluated_points(obj)) <= 1e-6
    clear(copy)
    assert distance(before, evaluated_points(obj)) <= 1e-6
    assert settings_of(obj).patterns[0].note == ""


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


@pytest.mark.versions
def test_a_renamed_bone_goes_on_driving_and_a_deleted_one_is_noted():
    obj, armature = add_skin()
    add_own(obj)
    add_own(obj, bone="bone.2")
    armature.data.bones["bone.1"].name = "Elbow"
    bpy.context.view_layer.update()
    turn(armature, "Elbow", (1.5, 0, 0))
    assert amounts(obj)[0] == 1.0
    assert (settings_of(obj).patterns[0].bone, settings_of(obj).patterns[0].note) == ("Elbow", "")
    assert moved_by_patterns(obj) > 0.001
    scenes.edit_bones(armature, lambda bones: bones.remove(bones["Elbow"]))
    bpy.context.view_layer.update()
    notes = [pattern.note for pattern in settings_of(obj).patterns]
    assert notes == ["'Rig' has no bone 'Elbow': choose another bone", ""]
    turn(armature, "bone.2", (1.5, 0, 0))
    assert amounts(obj)[0] == 1.0
