"""The character as a whole: its meshes, their settings together, Bind of what can be bound, remedies, and Flip."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from scenes_weights import assert_whole, choose_vertices, edit_elsewhere, leave_edit_mode

import panels
from scenes import add_tube, add_twin, armature_modifier, distance, evaluated_points, rest_points, select, turn
from supple.settings.character import find_pattern_mesh, find_shown, is_mixed, list_meshes, list_ticked
from supple.settings.objects import settings_of
from supple.tasks.skin.bind import prepare_supple
from supple.tasks.subject import character as tasks_character
from supple.tasks.subject.looks import read_look
from supple.ui.first import BARE, NO_MESHES, NOT_BOUND_YET

pytestmark = pytest.mark.usefixtures("silent_handlers")


@pytest.fixture
def character() -> tuple[bpy.types.Object, bpy.types.Object, bpy.types.Object]:
    """Two tubes on one armature, bent, with the armature active."""
    body, armature = add_tube()
    sleeve = add_twin(body)
    sleeve.name = "Sleeve"
    turn(armature, "bone.1", (1.2, 0.0, 0.0))
    select(armature)
    return body, sleeve, armature


def bind_whole() -> set[str]:
    return bpy.ops.supple.bind(whole=True)


def test_meshes_are_those_of_the_armature(character, subtests):
    body, sleeve, armature = character
    other, _ = add_tube()
    other.name = "Other"
    for active in ("armature", "mesh", "pose"):
        with subtests.test(active):
            bpy.context.scene.supple_character.index = bpy.data.objects.find("Tube")
            select(body if active == "mesh" else armature)
            if active == "pose":
                bpy.ops.object.mode_set(mode="POSE")
            assert list_meshes(bpy.context) == sorted([body, sleeve], key=lambda obj: obj.name)
            assert find_shown(bpy.context) in (body, sleeve)
            bpy.context.scene.supple_character.index = bpy.data.objects.find("Sleeve")
            assert find_shown(bpy.context) == sleeve
            assert (bpy.context.active_object == sleeve) == (active == "mesh")


def test_settings_go_to_what_is_ticked(character):
    body, sleeve, _ = character
    together = bpy.context.scene.supple_character
    bind_whole()
    together.method = "DLBNT"
    together.sharpness = 0.6
    assert {settings_of(obj).method for obj in (body, sleeve)} == {"DLBNT"}
    settings_of(sleeve).is_ticked = False
    together.method, together.sharpness = "SSD", 0.1
    assert list_ticked(bpy.context) == [body]
    assert (settings_of(body).method, settings_of(sleeve).method) == ("SSD", "DLBNT")
    assert settings_of(sleeve).sharpness == pytest.approx(0.6)
    settings_of(sleeve).is_ticked = True
    assert is_mixed(bpy.context, "method")
    assert is_mixed(bpy.context, "sharpness")
    together.pattern_display = "DISPLACEMENT"
    assert settings_of(sleeve).pattern_display == settings_of(body).pattern_display == "DISPLACEMENT"
    assert together.method == settings_of(list_ticked(bpy.context)[0]).method


def test_what_can_not_be_bound_does_not_hold_up_the_others(character):
    body, sleeve, _ = character
    sleeve.vertex_groups.clear()
    assert bind_whole() == {"FINISHED"}
    assert settings_of(body).is_bound
    assert not settings_of(sleeve).is_bound
    assert "no vertex groups" in settings_of(sleeve).message
    assert settings_of(sleeve).remedy == "WEIGHTS"
    shown = panels.draw("VIEW3D_PT_supple")
    assert any("no vertex groups" in text for text in shown)
    assert "supple.remedy" in shown
    assert bpy.ops.supple.remedy(mesh="Sleeve") == {"FINISHED"}
    assert settings_of(sleeve).is_bound
    assert settings_of(sleeve).message == settings_of(sleeve).remedy == ""
    assert "supple.remedy" not in panels.draw("VIEW3D_PT_supple")


def test_switched_off_modifiers_can_be_switched_on(character):
    _, sleeve, _ = character
    modifier = armature_modifier(sleeve)
    modifier.show_viewport = modifier.show_render = False
    bind_whole()
    assert settings_of(sleeve).remedy == "SWITCH_ON"
    bpy.ops.supple.remedy(mesh="Sleeve")
    assert settings_of(sleeve).is_bound
    assert distance(rest_points(sleeve), evaluated_points(sleeve)) > 0.1


def test_nothing_that_can_be_bound_is_an_error(character):
    for obj in character[:2]:
        obj.vertex_groups.clear()
    with pytest.raises(RuntimeError, match="no vertex groups"):
        bind_whole()
    for obj in character[:2]:
        settings_of(obj).is_ticked = False
    with pytest.raises(RuntimeError, match="ticked"):
        bind_whole()


def test_unbind_is_for_what_is_ticked(character):
    body, sleeve, _ = character
    bind_whole()
    settings_of(body).is_ticked = False
    bpy.ops.supple.unbind(whole=True)
    assert settings_of(body).is_bound
    assert not settings_of(sleeve).is_bound


@pytest.mark.versions
@pytest.mark.parametrize("method", ["DLB", "DLBNT", "CENTERS"])
def test_flip(character, method, tmp_path, monkeypatch, subtests):
    """There and back, by what deforms; and characters are deformed once after what is done while they are flipped."""
    body, sleeve, _ = character
    bpy.context.view_layer.update()
    linear = evaluated_points(body)
    for obj in (body, sleeve):
        settings_of(obj).method = method
    bind_whole()
    bpy.context.view_layer.update()
    supple = evaluated_points(body)
    assert distance(linear, supple) > 1e-3
    path, read = str(tmp_path / "flipped.blend"), []
    for name, meanwhile, expected in (
        ("back", bpy.ops.supple.flip, supple),
        ("saved", lambda: [bpy.ops.wm.save_mainfile(filepath=path), bpy.ops.supple.flip()], supple),
        ("bound anew", bind_whole, supple),
        ("unbound", lambda: bpy.ops.supple.unbind(whole=True), linear),
    ):
        with subtests.test(name), monkeypatch.context() as patch:
            if name == "back":
                patch.setattr(tasks_character, "read_rest", lambda *arguments: read.append(arguments))
            assert bpy.ops.supple.flip() == {"FINISHED"}
            np.testing.assert_array_equal(evaluated_points(body), linear)
            assert (settings_of(body).is_muted, armature_modifier(body).show_render) == (True, True)
            assert not armature_modifier(body).use_deform_preserve_volume
            meanwhile()
            bpy.context.view_layer.update()
            np.testing.assert_allclose(evaluated_points(body), expected, rtol=0, atol=1e-6)
            assert settings_of(body).message == ""
            assert not read  # that would take longer than all else


@pytest.mark.parametrize("broken", [0, 1])
def test_flip_leaves_out_a_mesh_that_lost_its_modifier(character, broken):
    meshes = character[:2]
    bind_whole()
    meshes[broken].modifiers.remove(armature_modifier(meshes[broken]))
    assert bpy.ops.supple.flip() == {"FINISHED"}
    assert [settings_of(obj).is_muted for obj in meshes] == [broken == 1, broken == 0]


def test_the_panel_shows_all_of_it_for_an_armature(character):
    body, sleeve, _ = character
    shown = panels.draw("VIEW3D_PT_supple_fine_tune")
    for name in ("method", "limb_roots", "supple.bind"):
        assert name in shown
    assert "supple.flip" not in panels.draw("VIEW3D_PT_supple")
    bind_whole()
    assert "supple.flip" in panels.draw("VIEW3D_PT_supple")
    assert "supple.unbind" in panels.draw("VIEW3D_PT_supple_fine_tune")
    assert "supple.measure" in panels.draw("VIEW3D_PT_supple_compare")
    module = __import__("supple.ui.character", fromlist=["describe_mesh"])
    bpy.context.view_layer.update()
    assert module.describe_mesh(bpy.context, body).endswith(" ms")
    assert module.find_icon(body) == "CHECKMARK"
    said = module.describe_character(bpy.context)
    assert said.startswith("Rig: 2 meshes, ")
    assert said.endswith(" ms")
    settings_of(sleeve).method = "SSD"
    assert module.describe_mesh(bpy.context, body) == "Dual Quaternion"
    settings_of(sleeve).message = "Something is wrong"
    assert module.find_trouble([body, sleeve]) == "Something is wrong"


def test_patterns_of_an_armature_are_those_of_the_shown_mesh(character):
    body, sleeve, _ = character
    for shown in (body, sleeve):
        bpy.context.scene.supple_character.index = bpy.data.objects.find(shown.name)
        assert "supple.pattern_add" in panels.draw("VIEW3D_PT_supple_patterns")
        assert bpy.ops.supple.pattern_add(preset="BULGE_GENTLE", bone="bone.1") == {"FINISHED"}
        assert [pattern.bone for pattern in settings_of(shown).patterns] == ["bone.1"]
    bpy.ops.supple.pattern_remove()
    assert [len(settings_of(obj).patterns) for obj in (body, sleeve)] == [1, 0]
    assert find_pattern_mesh(bpy.context) == sleeve
    bpy.context.scene.supple_character.shown = ""
    assert find_pattern_mesh(bpy.context) == body, "the first with patterns"


def test_the_hint_says_what_to_select_or_what_make_supple_does(character):
    body, sleeve, armature = character
    for obj in (body, sleeve):
        obj.modifiers.clear()
    assert panels.draw("VIEW3D_PT_supple") == [NO_MESHES, "supple.example_add"]
    select(body)
    assert panels.draw("VIEW3D_PT_supple") == [BARE, "supple.fit_skeleton", "supple.fit_skeleton: rig"]
    select(armature, body)
    assert panels.draw("VIEW3D_PT_supple") == [NOT_BOUND_YET, "supple.make", "supple.make: look"]


def test_make_supple_weights_what_has_no_weights(character):
    """A mesh with weights keeps them; one without gets some; one that nothing deforms yet is given a modifier, too."""
    body, sleeve, armature = character
    before = [[(entry.group, entry.weight) for entry in vertex.groups] for vertex in body.data.vertices]
    sleeve.vertex_groups.clear()
    free = add_twin(body)
    free.name = "Free"
    free.vertex_groups.clear()
    free.modifiers.clear()
    select(armature)
    free.select_set(True)
    assert bpy.ops.supple.make() == {"FINISHED"}
    assert [[(entry.group, entry.weight) for entry in vertex.groups] for vertex in body.data.vertices] == before
    for obj in (body, sleeve, free):
        assert settings_of(obj).is_bound
        assert settings_of(obj).method == "DLB"
        assert distance(rest_points(obj), evaluated_points(obj)) > 0.1


def test_make_supple_leaves_rigid_meshes_without_twist(character):
    body, sleeve, _ = character
    sleeve.vertex_groups.clear()
    sleeve.vertex_groups.new(name="bone.1").add(range(len(sleeve.data.vertices)), 1.0, "REPLACE")
    steps = prepare_supple([body, sleeve])
    next(steps)
    steps.close()
    assert settings_of(sleeve).twist == "AUTO", "taken back"
    assert bpy.ops.supple.make() == {"FINISHED"}
    assert [settings_of(obj).twist for obj in (body, sleeve)] == ["AUTO", "OFF"]
    assert distance(rest_points(sleeve), evaluated_points(sleeve)) > 0.1


@pytest.mark.versions
def test_make_supple_makes_weights_of_a_mesh_in_edit_mode(character, subtests, capfd):
    body, sleeve, armature = character
    for edited in ("itself", "another object"):
        with subtests.test(edited):
            if any(settings_of(obj).is_bound for obj in (body, sleeve)):
                bpy.ops.supple.unbind(whole=True)
            sleeve.vertex_groups.clear()
            select(sleeve)
            if edited == "itself":
                other = sleeve
                choose_vertices(sleeve, [])
            else:
                other = edit_elsewhere(sleeve)
                select(armature)
            capfd.readouterr()
            assert bpy.ops.supple.make() == {"FINISHED"}
            assert "Traceback" not in "".join(capfd.readouterr())
            assert settings_of(body).is_bound
            leave_edit_mode(other)
            assert_whole(sleeve)


def hang(obj: bpy.types.Object, armature: bpy.types.Object, how: str) -> None:
    """Have a bone move an object as a whole."""
    if how == "parent":
        obj.parent, obj.parent_type, obj.parent_bone = armature, "BONE", "bone.2"
    elif how == "object between":
        holder = bpy.data.objects.new("Hand", None)
        bpy.context.scene.collection.objects.link(holder)
        hang(holder, armature, "parent")
        obj.parent = holder
    else:
        constraint = obj.constraints.new(how)
        target = constraint if how != "ARMATURE" else constraint.targets.new()
        target.target, target.subtarget = armature, "bone.2"


@pytest.mark.parametrize("is_active", [False, True])
def test_what_hangs_on_a_bone_is_left_as_it_is(character, subtests, capfd, is_active):
    body, sleeve, armature = character
    props = {}
    for how in ("parent", "object between", "CHILD_OF", "COPY_TRANSFORMS", "ARMATURE"):
        bpy.ops.mesh.primitive_cube_add(size=0.2, location=(0.0, 2.8, 0.5))
        props[how] = bpy.context.object
        props[how].name = f"Prop {how}"
        hang(props[how], armature, how)
    bpy.context.view_layer.update()
    select(armature, body, sleeve, *props.values())
    bpy.context.view_layer.objects.active = props["parent"] if is_active else armature
    before = {how: (np.array(obj.matrix_world), evaluated_points(obj)) for how, obj in props.items()}
    assert bpy.ops.supple.make() == {"FINISHED"}
    assert settings_of(body).is_bound
    assert settings_of(sleeve).is_bound
    said = capfd.readouterr().out
    for how, obj in props.items():
        with subtests.test(how):
            assert not obj.modifiers
            assert not obj.vertex_groups
            assert obj.data.shape_keys is None
            assert np.array_equal(before[how][0], np.array(obj.matrix_world))
            assert np.array_equal(before[how][1], evaluated_points(obj))
            assert obj.name in said.partition("Left as they are:")[2]
    select(props["CHILD_OF"], armature)
    with pytest.raises(RuntimeError, match="hangs on a bone"):
        bpy.ops.supple.weights_auto()


def test_two_selected_characters_are_both_made(character):
    body, _, armature = character
    other, other_armature = add_tube()
    bare = add_twin(other)
    bare.modifiers.clear()
    bare.vertex_groups.clear()
    bare.parent = other_armature
    select(body, armature, other, other_armature, bare)
    assert bpy.ops.supple.make(look="FAST") == {"FINISHED"}
    assert all(settings_of(obj).is_bound for obj in (body, other, bare))
    assert armature_modifier(bare).object == other_armature


def test_make_supple_is_one_step_of_undo(character):
    _, sleeve, _ = character
    sleeve.vertex_groups.clear()
    bpy.ops.ed.undo_push(message="before")
    bpy.ops.supple.make()
    bpy.ops.ed.undo_push(message="made")
    bpy.ops.ed.undo()
    for name in ("Tube", "Sleeve"):
        assert not settings_of(bpy.data.objects[name]).is_bound
    assert not bpy.data.objects["Sleeve"].vertex_groups


@pytest.mark.parametrize("kind", ["bake_cache", "bake_shape_keys"])
def test_bakes_are_of_what_is_ticked(character, kind, tmp_path, capfd):
    body, sleeve, armature = character
    other = add_twin(sleeve)
    other.name = "Other"
    bind_whole()
    settings_of(other).is_ticked = False
    options = {"filepath": str(tmp_path / "hero.pc2")} if kind == "bake_cache" else {}
    posed = evaluated_points(body)
    armature.pose.bones["bone.1"].keyframe_insert("rotation_quaternion", frame=1)
    assert getattr(bpy.ops.supple, kind)(whole=True, frame_start=1, frame_end=2, **options) == {"FINISHED"}
    assert "2 frames of 2 meshes baked" in "".join(capfd.readouterr())
    assert [settings_of(obj).bake != "NONE" for obj in (body, sleeve, other)] == [True, True, False]
    bpy.context.view_layer.update()
    np.testing.assert_allclose(evaluated_points(body), posed, rtol=0, atol=1e-5)
    if options:
        assert sorted(path.name for path in tmp_path.glob("*.pc2")) == ["hero_Sleeve.pc2", f"hero_{body.name}.pc2"]
    bpy.ops.supple.clear_bake(whole=True)
    assert {settings_of(obj).bake for obj in (body, sleeve, other)} == {"NONE"}


def test_make_supple_leaves_what_is_bound(character):
    body, sleeve, _ = character
    settings_of(body).method = "CENTERS"
    settings_of(sleeve).is_ticked = False
    bind_whole()
    settings_of(sleeve).is_ticked = True
    bpy.ops.supple.make()
    assert [settings_of(obj).method for obj in (body, sleeve)] == ["CENTERS", "DLB"]
    assert settings_of(sleeve).is_bound
    assert read_look([body, sleeve]) == "MIXED"
    with pytest.raises(RuntimeError, match="All ticked meshes are bound: choose a look"):
        bpy.ops.supple.make()


def test_a_look_is_given_to_what_is_ticked(character):
    body, sleeve, _ = character
    bind_whole()
    for obj in (body, sleeve):
        settings_of(obj).method = "CENTERS"
    settings_of(sleeve).is_ticked = False
    assert read_look([body, sleeve]) == "CUSTOM"
    assert bpy.ops.supple.make(look="FAST") == {"FINISHED"}
    assert [settings_of(obj).method for obj in (body, sleeve)] == ["DLB", "CENTERS"]
    assert read_look([body]) == "FAST"
    bpy.ops.ed.undo_push(message="before")
    assert bpy.ops.supple.make(look="BLENDER") == {"FINISHED"}
    bpy.ops.ed.undo_push(message="as Blender")
    assert [settings_of(obj).is_muted for obj in (body, sleeve)] == [True, False]
    bpy.ops.ed.undo()
    assert not any(settings_of(bpy.data.objects[name]).is_muted for name in ("Tube", "Sleeve"))
