"""What can not be a point or a cage: each has a message, and nothing is changed."""

from collections.abc import Callable

import bpy
import numpy as np
import pytest
from scenes_handles import CAGE_START, POINTS, add_box, add_handles, add_point
from scenes_weights import add_bare_tube, add_mesh, assert_whole, auto, edit_elsewhere, weights_of

from scenes import reset, save, select, snapshot, turn, update
from supple.bridge.rigs.handles import list_handle_bones
from supple.deformers import SkinningError
from supple.options import WeightOptions
from supple.settings.objects import settings_of
from supple.tasks.handles.add import add_handles as add_by_task
from supple.tasks.handles.remove import remove_handles
from supple.tasks.weights.automatic import assign_weights


def state() -> tuple:
    """All that adding handles could touch."""
    objects = list(bpy.data.objects)
    return (
        [snapshot(obj) for obj in objects if obj.type == "MESH"],
        [(obj.name, obj.parent, [*obj.matrix_world], settings_of(obj).is_handle) for obj in objects],
        [bone.name for armature in bpy.data.armatures for bone in armature.bones],
        [constraint.name for obj in objects if obj.pose for bone in obj.pose.bones for constraint in bone.constraints],
    )


def cage_too_fine(_tube) -> list:
    bpy.ops.mesh.primitive_uv_sphere_add(location=(0.0, 1.5, 0.0))
    return [bpy.context.object]


def cage_with_subdivision(_tube) -> list:
    cage = add_box()
    cage.modifiers.new("Smooth", "SUBSURF")
    return [cage]


def cage_with_armature(tube) -> list:
    cage = add_box()
    cage.modifiers.new("Armature", "ARMATURE").object = tube.modifiers[0].object
    return [cage]


def cage_that_is_edited_elsewhere(tube) -> list:
    cage = add_box()
    select(cage)
    edit_elsewhere(cage)
    return [cage]


def lamp(_tube) -> list:
    lamp = bpy.data.objects.new("Lamp", bpy.data.lights.new("Lamp", "POINT"))
    bpy.context.scene.collection.objects.link(lamp)
    return [lamp]


def flat(_tube) -> list:
    point = add_point("Flat", POINTS["High"])
    point.scale.x = 0.0
    return [point]


def beside(change: Callable) -> Callable:
    """A point at a skin whose armature is changed."""

    def make(tube) -> list:
        change(tube.modifiers[0].object)
        return [add_point("High", POINTS["High"])]

    return make


def parent_of_the_armature(tube) -> list:
    """What selecting a whole character selects, too."""
    root, armature = add_point("Root", POINTS["High"]), tube.modifiers[0].object
    armature.parent = tube.parent = root
    armature.matrix_parent_inverse = tube.matrix_parent_inverse = root.matrix_basis.inverted()
    return [root]


def one_that_is_there(tube) -> list:
    point = add_point("High", POINTS["High"])
    update()
    add_by_task([tube], [point])
    return [point]


NO_HANDLES: dict[str, Callable] = {
    "'Far' is in the air, 3.6 from 'Tube'": lambda _: [add_point("Far", (0.0, 1.0, 4.0))],
    "No vertex of 'Tube' is in or near cage 'Cage', the nearest is": lambda _: [add_box(start=6.0, end=7.0)],
    "'Nothing' has no vertices": lambda _: [add_mesh("Nothing", np.empty((0, 3)), np.empty((0, 3), int))],
    "has 482 vertices, and each would become a bone: use a cage with 200": cage_too_fine,
    "Modifier 'Smooth' of 'Cage' changes the number of vertices": cage_with_subdivision,
    "The mesh of 'Cage' is in Edit Mode with another object": cage_that_is_edited_elsewhere,
    "'Cage' is deformed by an armature": cage_with_armature,
    "'Lamp' is neither an empty nor a mesh": lamp,
    "'Tube' is the skin itself": lambda tube: [tube],
    "'Flat' has zero scale": flat,
    "'High' is already a handle": one_that_is_there,
    "'Rig' has zero scale": beside(lambda armature: setattr(armature, "scale", (0.0, 0.0, 0.0))),
    "The object or the armature is too far away": beside(lambda armature: setattr(armature, "location", (1e20, 0, 0))),
    "'Root' carries 'Rig', which is to follow it": parent_of_the_armature,
    "'Far' is in the air": lambda _: [add_point("High", POINTS["High"]), add_point("Far", (0.0, 1.0, 4.0))],
    "Nothing is selected to move 'Tube'": lambda _: [],
}


def test_what_is_no_handle(subtests):
    for message, make in NO_HANDLES.items():
        with subtests.test(message):
            reset()
            tube, _ = add_bare_tube()
            objects = make(tube)
            update()
            before = state()
            with pytest.raises(SkinningError, match=message):
                add_by_task([tube], objects)
            assert state() == before


def test_a_posed_armature_and_what_is_parented():
    """A handle without a parent would be beside the posed skin; one on a bone is where it is at rest."""
    tube, armature = add_bare_tube()
    point = add_point("High", POINTS["High"])
    turn(armature, "bone.1", (1.0, 0.0, 0.0))
    before = state()
    with pytest.raises(SkinningError, match=r"'Rig' is posed: choose Rest Position .* 'High'"):
        add_by_task([tube], [point])
    assert state() == before
    armature.data.pose_position = "REST"
    update()
    add_by_task([tube], [point])
    armature.data.pose_position = "POSE"
    update()
    assert np.abs(np.array(armature.pose.bones["High"].matrix_basis) - np.eye(4)).max() < 1e-6
    change = armature.pose.bones["High"].matrix @ armature.data.bones["High"].matrix_local.inverted()
    carrier = armature.pose.bones[point.parent_bone]
    np.testing.assert_allclose(change, carrier.matrix @ carrier.bone.matrix_local.inverted(), atol=1e-5)
    remove_handles(armature)
    point.parent, point.parent_type, point.parent_bone = armature, "BONE", "bone.2"
    update()
    assert armature.data.pose_position == "POSE"
    with pytest.raises(SkinningError, match="in the air"):
        add_by_task([tube], [point])
    assert armature.data.pose_position == "POSE"


def test_an_armature_without_deforming_bones():
    """Handles are the first of them."""
    tube, armature = add_bare_tube()
    for bone in armature.data.bones:
        bone.use_deform = False
    add_by_task([tube], [add_point("High", POINTS["High"])])
    assert [*list_handle_bones(armature)] == ["High"]


@pytest.mark.versions
def test_a_linked_armature(tmp_path):
    add_bare_tube()
    path = save(tmp_path / "library.blend")
    reset()
    with bpy.data.libraries.load(str(path), link=True) as (_, wanted):
        wanted.objects = ["Rig"]
    bpy.context.scene.collection.objects.link(wanted.objects[0])
    tube, own = add_bare_tube()
    tube.modifiers[0].object = wanted.objects[0]
    bpy.data.objects.remove(own)
    point = add_point("High", POINTS["High"])
    update()
    with pytest.raises(SkinningError, match="'Rig' is linked from another file, so bones cannot be added"):
        add_by_task([tube], [point])


def test_names_that_are_taken():
    """Groups and bones of a user's own stay what they are."""
    tube, armature = add_bare_tube()
    tube.vertex_groups.new(name="High").add([0, 1], 0.5, "REPLACE")
    points = [add_point("bone.1", POINTS["Low"]), add_point("High", POINTS["High"])]
    assert points[0].name == "bone.1"
    cage = add_box()
    tube.vertex_groups.new(name="Cage 03.L")
    add_handles(tube, *points, cage)
    bones = list_handle_bones(armature)
    assert bones["bone.1.001"] == points[0]
    assert bones["High.001"] == points[1]
    assert len([name for name in bones if name.startswith("Cage.001 ")]) == 12
    assert auto(method="BIHARMONIC") == {"FINISHED"}
    np.testing.assert_allclose(weights_of(tube, ["High"])[:3, 0], [0.5, 0.5, 0.0])


def test_no_skin_is_selected():
    tube, _ = add_bare_tube()
    point = add_point("High", POINTS["High"])
    select(point)
    assert not bpy.ops.supple.handles_add.poll()
    assert not bpy.ops.supple.handles_remove.poll()
    select(tube)
    assert not bpy.ops.supple.handles_add.poll(), "nothing is to carry it"
    with pytest.raises(RuntimeError, match="Add handles first"):
        bpy.ops.supple.handles_remove()
    with pytest.raises(SkinningError, match="'Rig' has no handles to remove"):
        remove_handles(tube.find_armature())


def test_a_locked_vertex_of_a_cage_and_locked_groups_of_all_bones(held_tube):
    tube, armature, _ = held_tube("cage")
    name, names = "Cage 06.L", [*armature.data.bones.keys()]
    tube.vertex_groups[name].lock_weight = True
    before = weights_of(tube, [name])
    assign_weights([tube], WeightOptions())
    np.testing.assert_array_equal(weights_of(tube, [name]), before)
    assert_whole(tube, names)
    for bone in names:
        group = tube.vertex_groups.get(bone) or tube.vertex_groups.new(name=bone)
        group.lock_weight = True
    before = weights_of(tube, names)
    with pytest.raises(SkinningError, match=r"The vertex groups of all target bones are locked"):
        assign_weights([tube], WeightOptions())
    np.testing.assert_array_equal(weights_of(tube, names), before)


def test_cages_are_no_skin_and_other_methods_say_what_they_do(held_tube):
    """Selected beside the skin, as they are after Add Handles."""
    tube, armature, (cage,) = held_tube("cage")
    select(tube, cage)
    groups = len(cage.vertex_groups)
    assert auto(method="BIHARMONIC") == {"FINISHED"}
    assert len(cage.vertex_groups) == groups
    assert not cage.modifiers
    bpy.ops.supple.bind(method="SSD")
    assert not settings_of(cage).is_bound
    for method in ("SOLID", "SURFACE"):
        select(tube)
        auto(method=method)
        assert "With this method, the vertices of a cage act as points" in settings_of(tube).weights_report
        assert_whole(tube, [*armature.data.bones.keys()])


def test_a_linked_mesh_with_weights_of_handles(tmp_path, held_tube):
    """Its vertex groups can not be removed; one without such groups is not in the way."""
    tube, armature, _ = held_tube("points")
    for own in (False, True):
        mesh = tube.data.copy() if own else bpy.data.meshes.new("Bare")
        bpy.data.libraries.write(str(tmp_path / f"{own}.blend"), {mesh})
        with bpy.data.libraries.load(str(tmp_path / f"{own}.blend"), link=True) as (source, target):
            target.meshes = source.meshes
        other = bpy.data.objects.new("Linked", target.meshes[0])
        bpy.context.scene.collection.objects.link(other)
        other.modifiers.new("Armature", "ARMATURE").object = armature
    select(armature)
    with pytest.raises(RuntimeError, match=r"'Linked\.001' is linked from another file, with weights for handles"):
        bpy.ops.supple.handles_remove()
    assert {"Low", "High"} <= set(armature.data.bones.keys())
    bpy.data.objects.remove(other)
    assert bpy.ops.supple.handles_remove() == {"FINISHED"}
    assert not {"Low", "High"} & set(armature.data.bones.keys())


def test_a_bound_skin_without_another_armature_is_not_left_alone():
    tube, armature = add_bare_tube()
    bpy.data.objects.remove(armature)
    tube.modifiers.clear()
    add_handles(tube, add_point("High", POINTS["High"]))
    select(tube)
    auto(method="BIHARMONIC")
    bpy.ops.supple.bind(method="SSD")
    with pytest.raises(RuntimeError, match="'Tube' is bound and would have no armature left: unbind it first"):
        bpy.ops.supple.handles_remove()
    bpy.ops.supple.unbind()
    select(tube)
    assert bpy.ops.supple.handles_remove() == {"FINISHED"}


def test_mirrored_cages_have_sides(held_tube):
    tube, armature, _ = held_tube("cage")
    select(tube)
    bpy.ops.supple.weights_auto(method="BIHARMONIC", cells=600, mirror=True)
    names = [*armature.data.bones.keys()]
    weights = weights_of(tube, names)
    points = np.array([vertex.co for vertex in tube.data.vertices])
    mirrored = np.linalg.norm(points[:, None] - points * [-1, 1, 1], axis=2).argmin(axis=1)
    flipped = [names.index(bpy.utils.flip_name(name)) for name in names]
    np.testing.assert_allclose(weights, weights[mirrored][:, flipped], atol=1e-5)
    assert (points[weights[:, [name.startswith("Cage") for name in names]].any(axis=1), 1] > CAGE_START - 1.0).all()
