"""Objects and actions that Supple cannot work with: each is refused in words, and nothing is changed or broken."""

from collections.abc import Callable
from math import inf, nan

import bpy
import numpy as np
import pytest
from scenes_methods import BLEND_KEYS, BLENDS, choose, parametrize_blends
from scenes_twins import TOLERANCE, all_weights_zero, assert_follows, bend, bent_tube

from scenes import (
    EVALUATE,
    add_tube,
    add_twin,
    armature_modifier,
    diagonal,
    evaluated_points,
    rest_points,
    select,
    snapshot,
    turn,
    update,
)
from supple.deformers import SkinningError
from supple.settings.objects import settings_of
from supple.tasks.skin.bind import bind
from supple.tasks.stack import find_supple_modifier

pytestmark = pytest.mark.usefixtures("silent_handlers")


# What Bind refuses


def no_armature_modifier(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    obj.modifiers.clear()


def no_armature_in_the_modifier(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    armature_modifier(obj).object = None


def groups_of_other_names(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    for group in obj.vertex_groups:
        group.name = f"x {group.name}"


def deform_off_everywhere(_obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    for bone in armature.data.bones:
        bone.use_deform = False


def deform_off_where_there_are_weights(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    armature.data.bones["bone.2"].use_deform = False
    for name in ("bone.0", "bone.1"):
        obj.vertex_groups.remove(obj.vertex_groups[name])


def no_bones(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    empty = bpy.data.objects.new("Boneless", bpy.data.armatures.new("Boneless"))
    bpy.context.scene.collection.objects.link(empty)
    armature_modifier(obj).object = empty


def empty_groups(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    for group in obj.vertex_groups:
        group.remove(list(range(len(obj.data.vertices))))


def two_modifiers(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    obj.modifiers.new("Second", "ARMATURE").object = armature


def switched_off(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    armature_modifier(obj).show_viewport = armature_modifier(obj).show_render = False


def missing_linear_group(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    settings_of(obj).linear_group = "gone"


def above(kind: str) -> Callable[[bpy.types.Object, bpy.types.Object], None]:
    def put_above(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
        obj.modifiers.new("Maker", kind)
        obj.modifiers.move(len(obj.modifiers) - 1, 0)

    put_above.__name__ = f"{kind.lower()}_above"
    return put_above


def in_edit_mode(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    select(obj)
    bpy.ops.object.mode_set(mode="EDIT")


REFUSALS = (
    (no_armature_modifier, r"'Tube' has no Armature modifier: parent it to an armature first"),
    (no_armature_in_the_modifier, r"'Armature' of 'Tube' has no armature: choose one"),
    (groups_of_other_names, r"None of the 3 vertex groups of 'Tube' .* bone of 'Rig': rename the groups"),
    (deform_off_everywhere, r"'Rig' has no deforming bone: switch Deform on"),
    (deform_off_where_there_are_weights, r"None of the 1 vertex groups .*: rename the groups, or switch Deform on"),
    (no_bones, r"'Boneless' has no deforming bone: "),
    (all_weights_zero, r"No vertex of 'Tube' has a weight for a deforming bone of 'Rig': paint weights"),
    (empty_groups, r"No vertex of 'Tube' has a weight for a deforming bone of 'Rig': paint weights"),
    (two_modifiers, r"'Tube' has 2 Armature modifiers \('Armature', 'Second'\): switch off"),
    (switched_off, r"'Armature' of 'Tube' is switched off: switch it on first"),
    (missing_linear_group, r"'Tube' has no vertex group 'gone': choose another linear group, or none"),
    (in_edit_mode, r"'Tube' is in Edit Mode: leave it first"),
)
MAKERS = ("SUBSURF", "MIRROR", "DECIMATE")
MAKER_ABOVE = r"'Maker' of 'Tube' stands above 'Armature' and changes the number of vertices: move it below"
follows_makers = pytest.mark.python_only("nodes follow modifiers above that change the number of vertices")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        *(pytest.param(*refusal, id=refusal[0].__name__) for refusal in REFUSALS),
        *(pytest.param(above(kind), MAKER_ABOVE, id=f"{kind.lower()}_above", marks=follows_makers) for kind in MAKERS),
    ],
)
def test_bind_refuses(spoil, words):
    obj, armature = add_tube()
    spoil(obj, armature)
    update()
    before, shown = snapshot(obj), evaluated_points(obj)
    select(obj)
    with pytest.raises(RuntimeError, match=words):
        bpy.ops.supple.bind(method="SSD", evaluate=EVALUATE)
    with pytest.raises(SkinningError, match=words):
        bind([obj], "DLBNT", EVALUATE)
    update()
    assert snapshot(obj) == before
    assert not settings_of(obj).is_bound
    assert np.array_equal(evaluated_points(obj), shown)


def test_bind_refuses_what_is_not_a_mesh():
    obj = bpy.data.objects.new("Cage", bpy.data.lattices.new("Cage"))
    with pytest.raises(SkinningError, match="'Cage' is not a mesh: select a mesh"):
        bind([obj], "SSD", EVALUATE)
    with pytest.raises(SkinningError, match="Nothing to bind: select a mesh"):
        bind([], "SSD", EVALUATE)


@pytest.mark.parametrize(
    ("operator", "words"), [("bind", "Select a mesh that has an Armature"), ("unbind", "is bound")]
)
@pytest.mark.parametrize("active", ["nothing", "lattice"])
def test_poll_messages(operator, words, active):
    if active == "lattice":
        obj = bpy.data.objects.new("Cage", bpy.data.lattices.new("Cage"))
        bpy.context.scene.collection.objects.link(obj)
        select(obj)
    assert not getattr(bpy.ops.supple, operator).poll()
    with pytest.raises(RuntimeError, match=words):
        getattr(bpy.ops.supple, operator)()


def test_a_modifier_that_is_switched_off_may_stand_above():
    obj, armature = add_tube()
    twin = add_twin(obj)
    above("SUBSURF")(obj, armature)
    obj.modifiers["Maker"].show_viewport = obj.modifiers["Maker"].show_render = False
    select(obj)
    assert bpy.ops.supple.bind(method="SSD", evaluate=EVALUATE) == {"FINISHED"}
    bend(armature)
    assert_follows(obj, twin)


def test_the_one_of_two_armature_modifiers_that_is_on_is_replaced():
    obj, armature = add_tube()
    two_modifiers(obj, armature)
    obj.modifiers["Armature"].show_viewport = obj.modifiers["Armature"].show_render = False
    twin = add_twin(obj)
    select(obj)
    assert bpy.ops.supple.bind(method="SSD", evaluate=EVALUATE) == {"FINISHED"}
    assert settings_of(obj).armature_modifier == "Second"
    bend(armature)
    assert_follows(obj, twin)
    for one in (obj, twin):
        one.modifiers["Second"].name = "Renamed"
    bend(armature, angle=20)
    assert_follows(obj, twin)


# Parts that are deleted


def delete_armature(_obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    bpy.data.objects.remove(armature)


def delete_carrier(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    bpy.data.objects.remove(settings_of(obj).carrier)


def delete_carrier_mesh(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    bpy.data.meshes.remove(settings_of(obj).carrier.data)


def delete_supple_modifier(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    obj.modifiers.remove(find_supple_modifier(obj))


def delete_armature_modifier(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    obj.modifiers.remove(armature_modifier(obj))


def delete_node_group(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    bpy.data.node_groups.remove(find_supple_modifier(obj).node_group)


LOSSES = (
    (delete_armature, r"'Armature' of 'Tube' has no armature: choose one"),
    (delete_carrier, r"hidden object that 'Tube' needs was deleted: bind again"),
    (delete_carrier_mesh, r"hidden object that 'Tube' needs was deleted: bind again"),
    (delete_supple_modifier, r"Supple modifier of 'Tube' was removed: press Unbind, or Bind"),
    (delete_armature_modifier, r"'Armature' of 'Tube' was removed: unbind"),
    (delete_node_group, r"node group of 'Tube' was removed: bind again"),
)


def lost(lose: Callable, *words: str):
    """A loss as a parameter."""
    hidden = pytest.mark.python_only("nodes need no hidden object")
    return pytest.param(
        lose, *words, id=lose.__name__, marks=[hidden] if lose in (delete_carrier, delete_carrier_mesh) else []
    )


@pytest.mark.parametrize(("lose", "words"), [lost(*loss) for loss in LOSSES])
@pytest.mark.parametrize("evaluate", [update, lambda: bpy.context.scene.frame_set(5)], ids=["update", "frame"])
def test_a_lost_part_is_reported(lose, words, evaluate):
    obj, armature, _ = bent_tube()
    lose(obj, armature)
    obj.update_tag()
    evaluate()
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(settings_of(obj).message)
    assert np.isfinite(evaluated_points(obj)).all()


@pytest.mark.parametrize(
    "lose", [lost(lose) for lose, _ in LOSSES if lose not in (delete_armature, delete_armature_modifier)]
)
def test_binding_again_brings_a_lost_part_back(lose):
    obj, armature, twin = bent_tube()
    lose(obj, armature)
    update()
    select(obj)
    assert bpy.ops.supple.bind(method="SSD", evaluate=EVALUATE) == {"FINISHED"}
    bend(armature, angle=40)
    assert_follows(obj, twin)
    assert [modifier.type for modifier in obj.modifiers].count("NODES") == 1


@pytest.mark.parametrize("lose", [lost(lose) for lose, _ in LOSSES])
def test_unbind_works_without_a_lost_part(lose):
    obj, armature, _ = bent_tube()
    lose(obj, armature)
    update()
    select(obj)
    assert bpy.ops.supple.unbind() == {"FINISHED"}
    update()
    assert not settings_of(obj).is_bound
    assert settings_of(obj).message == ""
    assert not [modifier for modifier in obj.modifiers if modifier.type == "NODES"]
    assert not bpy.data.node_groups
    left = [modifier for modifier in obj.modifiers if modifier.type == "ARMATURE"]
    assert all(modifier.show_viewport and modifier.show_render for modifier in left), "it deforms again"


def test_toggles_survive_the_loss_of_the_node_modifier():
    """The node modifier that Bind puts back is no more visible than the Armature modifier was."""
    obj, _ = add_tube()
    armature_modifier(obj).show_render = False
    select(obj)
    bpy.ops.supple.bind(method="SSD", evaluate=EVALUATE)
    obj.modifiers.remove(find_supple_modifier(obj))
    bpy.ops.supple.bind(method="SSD", evaluate=EVALUATE)
    bpy.ops.supple.unbind()
    assert (armature_modifier(obj).show_viewport, armature_modifier(obj).show_render) == (True, False)


def test_an_armature_modifier_added_anew_can_be_bound_after_unbind():
    obj, armature, twin = bent_tube()
    delete_armature_modifier(obj, armature)
    update()
    select(obj)
    bpy.ops.supple.unbind()
    obj.modifiers.new("Armature", "ARMATURE").object = armature
    assert bpy.ops.supple.bind(method="SSD", evaluate=EVALUATE) == {"FINISHED"}
    bend(armature, angle=40)
    assert_follows(obj, twin)


@follows_makers
@pytest.mark.parametrize("kind", ["SUBSURF", "MIRROR"])
def test_a_modifier_that_is_put_above_a_bound_object_is_named(kind):
    obj, armature, _ = bent_tube()
    above(kind)(obj, armature)
    if kind == "SUBSURF":
        obj.modifiers["Maker"].levels = 1
    else:
        obj.modifiers["Maker"].use_mirror_merge = False
    update()
    assert "'Maker'" in settings_of(obj).message
    assert "move it below" in settings_of(obj).message
    obj.modifiers.remove(obj.modifiers["Maker"])
    bend(armature, angle=30)
    assert settings_of(obj).message == ""


def test_a_linear_group_that_does_not_exist_is_reported_and_the_last_shape_kept():
    obj, armature, twin = bent_tube()
    shown = evaluated_points(obj)
    settings_of(obj).linear_group = "gone"
    update()
    assert "no vertex group 'gone': choose another linear group, or none" in settings_of(obj).message
    assert np.array_equal(evaluated_points(obj), shown)
    settings_of(obj).linear_group = ""
    bend(armature, angle=30)
    assert_follows(obj, twin)


# Poses


keeps_no_shape = pytest.mark.python_only("nodes hold no last shape; Blender's own modifier does not either")


@keeps_no_shape
@pytest.mark.parametrize(("channel", "value"), [("scale", nan), ("rotation_euler", nan)])
@pytest.mark.parametrize("keyed", [False, True], ids=["plain", "with a key"])
def test_a_pose_of_no_numbers_keeps_the_last_shape(channel, value, keyed):
    obj, armature = add_tube()
    if keyed:
        obj.shape_key_add(name="Basis")
    twin = add_twin(obj)
    select(obj)
    bpy.ops.supple.bind(method="DLBNT", evaluate=EVALUATE)
    bend(armature)
    shown = evaluated_points(obj)
    bone = armature.pose.bones["bone.1"]
    setattr(bone, channel, (value, 1, 1))
    update()
    assert not np.isfinite(np.array(bone.matrix)).all()
    assert "not numbers (NaN or infinite): check the drivers and constraints" in settings_of(obj).message
    assert np.array_equal(evaluated_points(obj), shown)
    bend(armature)
    assert settings_of(obj).message == ""
    assert np.array_equal(evaluated_points(obj), shown)
    settings_of(obj).method = "SSD"
    bend(armature, angle=30)
    assert_follows(obj, twin)


@pytest.mark.parametrize("scale", [*(pytest.param(scale, marks=keeps_no_shape) for scale in (inf, 1e38)), 1e20])
@pytest.mark.parametrize("method", BLEND_KEYS)
def test_a_pose_too_large_to_compute_with(scale, method):
    """Blender turns infinite scales into the largest number there is: a shape that is finite, or the last one."""
    obj, armature, twin = bent_tube(method)
    armature.pose.bones["bone.1"].scale = (scale, scale, scale)
    update()
    assert np.isfinite(evaluated_points(obj)).all()
    bend(armature, angle=30)
    settings_of(obj).method = "SSD"
    update()
    assert_follows(obj, twin)


@pytest.mark.parametrize("scale", [(0, 1, 1), (1, 0, 0), (0, 0, 0)], ids=["one axis", "two axes", "all axes"])
@pytest.mark.parametrize("name", ["bone.0", "bone.1"])
@parametrize_blends(BLENDS)
def test_zero_scale_is_finite(scale, name, method, params):
    obj, armature = add_tube()
    twin = add_twin(obj)
    choose(obj, method, params)
    select(obj)
    bpy.ops.supple.bind(method=method, evaluate=EVALUATE)
    turn(armature, name, (0.5, 0.3, 0), scale)
    points = evaluated_points(obj)
    assert settings_of(obj).message == ""
    assert np.isfinite(points).all()
    assert np.abs(points).max() < 10, "no point flies away"
    settings_of(obj).method = "SSD"
    update()
    errors = np.linalg.norm(evaluated_points(twin) - evaluated_points(obj), axis=1)
    assert errors.max() <= TOLERANCE * diagonal(rest_points(obj))


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_zero_scale_of_the_armature_object(axes):
    obj, armature, _ = bent_tube(method="DLBNT")
    armature.scale = [0 if axis < axes else 1 for axis in range(3)]
    update()
    assert np.isfinite(evaluated_points(obj)).all()
    armature.scale = (1, 1, 1)
    update()
    assert settings_of(obj).message == ""
    assert np.isfinite(evaluated_points(obj)).all()
