"""What is bound by SSD follows the mesh, its modifiers and its bones as Blender's own Armature modifier does.

Each change of a table is made before Bind and after it, with what Blender and what Python evaluates: the mesh has the
shape of a twin that Blender deforms, through undo and redo, in the next frame, and after Unbind, which gives everything
back.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import bpy
import bmesh
import pytest
from mathutils import Euler, Matrix
from scenes_bind import bend, with_face_key

from scenes import (
    TOLERANCE,
    add_chain,
    add_face_key,
    add_tube,
    add_twin,
    animate_key,
    armature_modifier,
    bind,
    distance,
    edit_bones,
    evaluated_points,
    push,
    redo,
    reset,
    rest_points,
    select,
    snapshot,
    turn,
    undo,
    update,
)
from supple.settings.objects import settings_of

pytestmark = [pytest.mark.versions, pytest.mark.usefixtures("silent_handlers")]

BEFORE, AFTER = "before Bind", "after Bind"


@dataclass(frozen=True)
class Change:
    """A change of a character.

    Attributes
    ----------
    of_mesh, of_rig : callable, optional
        Changes a mesh object: the one that is bound and its twin; changes the armature object.
    when : tuple of str
        `BEFORE`, `AFTER` or both.
    is_seen : bool
        Whether the shape is another after the change.
    by : tuple of str
        What evaluates.
    """

    of_mesh: Callable[[bpy.types.Object], Any] | None = None
    of_rig: Callable[[bpy.types.Object], Any] | None = None
    when: tuple[str, ...] = (BEFORE, AFTER)
    is_seen: bool = True
    by: tuple[str, ...] = ("PYTHON", "BLENDER")

    def make(self, rig: bpy.types.Object, *meshes: bpy.types.Object) -> None:
        """Change the armature, and each of these meshes."""
        if self.of_rig is not None:
            self.of_rig(rig)
        for obj in meshes if self.of_mesh is not None else ():
            self.of_mesh(obj)
            obj.data.update_tag()
        update()


# Modifiers


def above(kind: str, **values: Any) -> Callable[[bpy.types.Object], None]:
    """Add a modifier on top of the stack."""

    def add(obj: bpy.types.Object) -> None:
        modifier = obj.modifiers.new("Above", kind)
        for name, value in values.items():
            setattr(modifier, name, value)
        obj.modifiers.move(len(obj.modifiers) - 1, 0)

    return add


def below(obj: bpy.types.Object) -> None:
    obj.modifiers.new("Smooth", "SUBSURF").levels = 1


def lattice_above(obj: bpy.types.Object) -> None:
    lattice = bpy.data.objects.new("Cage", bpy.data.lattices.new("Cage"))
    bpy.context.scene.collection.objects.link(lattice)
    lattice.scale = (4, 8, 4)
    for point in lattice.data.points:
        point.co_deform.x += 0.2 * point.co_deform.y
    above("LATTICE", object=lattice)(obj)


def of_modifier(**values: Any) -> Callable[[bpy.types.Object], None]:
    """Change settings of the Armature modifier."""

    def change(obj: bpy.types.Object) -> None:
        for name, value in values.items():
            setattr(armature_modifier(obj), name, value)

    return change


def widen(armature: bpy.types.Object) -> None:
    for bone, factor in zip(armature.data.bones, (1.0, 0.7, 1.3), strict=True):
        bone.head_radius, bone.tail_radius, bone.envelope_distance = 0.25, 0.35, 0.3 * factor
        bone.envelope_weight = factor


def fade(obj: bpy.types.Object, **values: Any) -> None:
    """Have the Armature modifier deform some vertices by a group, with all kinds of weights."""
    group = obj.vertex_groups.new(name="strength")
    for vertex in range(0, len(obj.data.vertices), 2):
        group.add([vertex], (vertex % 14) / 12, "REPLACE")
    of_modifier(vertex_group="strength", **values)(obj)


def fade_inverted(obj: bpy.types.Object) -> None:
    fade(obj, invert_vertex_group=True)


def fade_by_nothing(obj: bpy.types.Object) -> None:
    obj.vertex_groups.new(name="nothing")
    of_modifier(vertex_group="nothing", invert_vertex_group=True)(obj)


def choose_another_armature(obj: bpy.types.Object) -> None:
    if "Other" not in bpy.data.objects:
        other = bpy.data.objects.new("Other", bpy.data.armatures.new("Other"))
        bpy.context.scene.collection.objects.link(other)
        add_chain(other, 3, 3.2)
        turn(other, "bone.1", (0, 0, 1))
    armature_modifier(obj).object = bpy.data.objects["Other"]


MODIFIERS = {
    "nothing": Change(when=(BEFORE,)),
    "a lattice above": Change(lattice_above),
    "a cast above": Change(above("CAST", factor=0.3)),
    "a displacement above": Change(above("DISPLACE", strength=0.1)),
    "a taper above": Change(above("SIMPLE_DEFORM", deform_method="TAPER", deform_axis="Y", factor=0.4)),
    "a mirror above": Change(above("MIRROR"), by=("BLENDER",)),
    "a subdivision below": Change(below),
    "the group of the modifier": Change(fade),
    "its inverted group": Change(fade_inverted),
    "an empty inverted group": Change(fade_by_nothing, is_seen=False),
    "a missing inverted group": Change(of_modifier(vertex_group="nowhere", invert_vertex_group=True), is_seen=False),
    "another armature": Change(choose_another_armature, when=(AFTER,)),
    "unequal toggles": Change(of_modifier(show_in_editmode=False, show_on_cage=True), when=(BEFORE,)),
    "envelopes without groups": Change(of_modifier(use_bone_envelopes=True, use_vertex_groups=False), widen),
    "envelopes of a mesh without groups": Change(
        lambda obj: [obj.vertex_groups.clear(), of_modifier(use_bone_envelopes=True)(obj)], widen, when=(BEFORE,)
    ),
    "envelopes and groups": Change(of_modifier(use_bone_envelopes=True), widen, is_seen=False),
    "multiplied envelopes": Change(
        of_rig=lambda rig: [
            widen(rig), *(setattr(bone, "use_envelope_multiply", True) for bone in rig.data.bones[:2])
        ],
    ),
}  # fmt: skip

# The mesh


def in_mode(mode: str, change: Callable[[bpy.types.Object], Any]) -> Callable[[bpy.types.Object], None]:
    """Make a change in another mode than Object Mode."""

    def enter(obj: bpy.types.Object) -> None:
        select(obj)
        bpy.ops.object.mode_set(mode=mode)
        change(obj)
        obj.data.update_tag()
        update()
        bpy.ops.object.mode_set(mode="OBJECT")

    return enter


def widen_edited(obj: bpy.types.Object) -> None:
    edited = bmesh.from_edit_mesh(obj.data)
    for vertex in edited.verts:
        vertex.co.x *= 1.5
    bmesh.update_edit_mesh(obj.data)


def widen_mesh(obj: bpy.types.Object) -> None:
    obj.data.vertices.foreach_set("co", (rest_points(obj) * (1.5, 1, 1)).astype("f").ravel())
    obj.data.update()


def take_another_mesh(obj: bpy.types.Object) -> None:
    obj.data = obj.data.copy()
    widen_mesh(obj)


def resize(obj: bpy.types.Object) -> None:
    edited = bmesh.new()
    edited.from_mesh(obj.data)
    edited.verts.ensure_lookup_table()
    bmesh.ops.delete(edited, geom=edited.verts[-40:], context="VERTS")
    bmesh.ops.create_cube(edited, size=0.5)
    edited.to_mesh(obj.data)
    edited.free()


def remove_weights(obj: bpy.types.Object) -> None:
    for group in obj.vertex_groups:
        group.remove(list(range(100, 180)))
        group.add(list(range(200, 216)), 2e-5, "REPLACE")


def unbalance(obj: bpy.types.Object) -> None:
    for index, group in enumerate(obj.vertex_groups):
        group.add(list(range(0, 496, 3)), 0.3 + 0.3 * index, "REPLACE")
        group.add(list(range(1, 496, 3)), 0.02 * (index + 1), "REPLACE")
        group.add([17 * index + 5], 5e-5, "REPLACE")


def add_groups(obj: bpy.types.Object) -> None:
    for name in ("hair", "clothes"):
        obj.vertex_groups.new(name=name).add(list(range(496)), 0.9, "REPLACE")


def add_weights(obj: bpy.types.Object) -> None:
    obj.vertex_groups["bone.0"].add(list(range(250, 400)), 0.6, "REPLACE")


def swap_groups(obj: bpy.types.Object) -> None:
    first, last = obj.vertex_groups["bone.0"], obj.vertex_groups["bone.2"]
    first.name, last.name, first.name = "for a while", "bone.0", "bone.2"


def animated(change: Callable[[bpy.types.Object], None]) -> Callable[[bpy.types.Object], None]:
    """Change an animated face key, which is added first."""

    def add(obj: bpy.types.Object) -> None:
        animate_key(add_face_key(obj))
        change(obj)

    return add


def add_keys(obj: bpy.types.Object) -> None:
    with_face_key(obj, armature_modifier(obj).object)
    obj.shape_key_add(name="Frown").value = 0.3


@animated
def put_on_strip(obj: bpy.types.Object) -> None:
    data = obj.data.shape_keys.animation_data
    data.nla_tracks.new().strips.new("Face", 1, data.action)
    data.action = None


@animated
def make_relative_to_another(obj: bpy.types.Object) -> None:
    other = add_face_key(obj, "Other", size=-0.3)
    obj.data.shape_keys.key_blocks["Face"].relative_key = other


@animated
def mask_by_group(obj: bpy.types.Object) -> None:
    obj.vertex_groups.new(name="Mask").add(list(range(0, len(obj.data.vertices), 2)), 0.7, "REPLACE")
    obj.data.shape_keys.key_blocks["Face"].vertex_group = "Mask"


@animated
def mute(obj: bpy.types.Object) -> None:
    add_face_key(obj, "Other").value = 0.5
    obj.data.shape_keys.key_blocks["Face"].mute = True


@animated
def pin(obj: bpy.types.Object) -> None:
    obj.show_only_shape_key = True
    obj.active_shape_key_index = 1


@animated
def go_below_zero(obj: bpy.types.Object) -> None:
    key = obj.data.shape_keys.key_blocks["Face"]
    key.slider_min = -2.0
    for frame in (1, 2, 3):
        key.value = -0.5 * frame
        key.keyframe_insert("value", frame=frame)


@animated
def make_absolute(obj: bpy.types.Object) -> None:
    keys = obj.data.shape_keys
    keys.use_relative = False
    for frame, time in ((1, 0.0), (8, 10.0)):
        keys.eval_time = time
        keys.keyframe_insert("eval_time", frame=frame)


def change_keys(obj: bpy.types.Object) -> None:
    """Keys that come, move and go."""
    add_keys(obj)
    update()
    obj.data.shape_keys.key_blocks["Puff"].value = 0.2
    update()
    obj.shape_key_remove(obj.data.shape_keys.key_blocks["Frown"])


MESHES = {
    "vertices without weights": Change(remove_weights),
    "sums that are not one": Change(unbalance),
    "groups without bones": Change(add_groups, is_seen=False),
    "added weights": Change(add_weights),
    "painted weights": Change(in_mode("WEIGHT_PAINT", add_weights), when=(AFTER,)),
    "removed weights": Change(lambda obj: obj.vertex_groups["bone.1"].remove(list(range(0, 496, 2)))),
    "a renamed group": Change(lambda obj: setattr(obj.vertex_groups["bone.0"], "name", "something else")),
    "a removed group": Change(lambda obj: obj.vertex_groups.remove(obj.vertex_groups["bone.0"])),
    "exchanged groups": Change(swap_groups),
    "a face key": Change(add_keys),
    "a key on a strip": Change(put_on_strip, is_seen=False),
    "a key relative to another": Change(make_relative_to_another, is_seen=False),
    "a key of a group": Change(mask_by_group, is_seen=False),
    "a muted key": Change(mute),
    "a pinned key": Change(pin),
    "a key below zero": Change(go_below_zero),
    "absolute keys": Change(make_absolute, is_seen=False),
    "face keys that come and go": Change(change_keys, when=(AFTER,)),
    "all keys removed": Change(lambda obj: [add_keys(obj), update(), obj.shape_key_clear()], is_seen=False),
    "another shape": Change(widen_mesh),
    "a shape from Edit Mode": Change(in_mode("EDIT", widen_edited), when=(AFTER,)),
    "a shape from Sculpt Mode": Change(in_mode("SCULPT", widen_mesh), when=(AFTER,)),
    "another mesh": Change(take_another_mesh, when=(AFTER,)),
    "another number of vertices": Change(resize, by=("BLENDER",)),
    "other names": Change(
        lambda obj: [setattr(each, "name", f"new {each.name}") for each in (obj, obj.data, armature_modifier(obj))],
        lambda rig: [setattr(each, "name", "new rig") for each in (rig, rig.data)], is_seen=False,
    ),
    "custom properties": Change(lambda obj: [obj.__setitem__("mood", "good"), obj.data.__setitem__("age", 3)],
                                is_seen=False),
}  # fmt: skip

# Bones and objects

TURNED = Euler((0.3, 0.2, 1.1)).to_matrix().to_4x4()
TRANSFORMS = {
    "moved": (Matrix.Translation((1, -2, 0.5)), Matrix.Translation((-3, 0.2, 1))),
    "turned": (TURNED, Euler((-1.0, 0.4, 0.1)).to_matrix().to_4x4()),
    "scaled": (Matrix.Scale(2.5, 4), Matrix.Scale(0.4, 4)),
    "scaled unevenly": (Matrix.Diagonal((0.5, 2, 1.5, 1)), Matrix.Diagonal((1, 1, 3, 1)) @ TURNED),
    "mesh mirrored": (Matrix.Diagonal((-1, 1, 1, 1)), TURNED),
    "armature mirrored": (TURNED, Matrix.Diagonal((-1, 1.2, 1, 1))),
}


def animate_object(mover: bpy.types.Object) -> None:
    """Have an object move, rotate and stretch from frame 1 to 8."""
    for frame, value in ((1, 0.0), (8, 0.4)):
        mover.location, mover.rotation_euler, mover.scale = (value, 0, value), (value, 0, 0), (1 + value, 1, 1)
        for path in ("location", "rotation_euler", "scale"):
            mover.keyframe_insert(path, frame=frame)


def segment(rig: bpy.types.Object) -> None:
    for bone in rig.data.bones:
        bone.bbone_segments = 4


def ease(rig: bpy.types.Object) -> None:
    segment(rig)
    for bone in rig.pose.bones:
        bone.bbone_easein, bone.bbone_easeout = 0.4, -0.3
        bone.bbone_curveinz, bone.bbone_curveoutx, bone.bbone_rollout = 0.3, 0.2, 0.5


def roll_at_rest(rig: bpy.types.Object) -> None:
    segment(rig)
    for bone in rig.data.bones:
        bone.bbone_rollin, bone.bbone_rollout, bone.bbone_curveinx = 0.2, 0.6, 0.15


def scale_along(rig: bpy.types.Object) -> None:
    segment(rig)
    for bone in rig.pose.bones:
        bone.bbone_scalein, bone.bbone_scaleout = (0.7, 1.0, 0.8), (1.3, 1.0, 1.2)


def curve(rig: bpy.types.Object) -> None:
    segment(rig)
    for bone in rig.data.bones:
        bone.bbone_mapping_mode = "CURVED"
        bone.bbone_curveinx, bone.bbone_curveoutz = 0.1, -0.15


def handle(rig: bpy.types.Object) -> None:
    def add(bones: bpy.types.ArmatureEditBones) -> None:
        new = bones.new("handle")
        new.head, new.tail, new.use_deform = (0, 2, 0), (0, 2, 0.4), False

    segment(rig)
    edit_bones(rig, add)
    bone = rig.data.bones["bone.1"]
    bone.bbone_handle_type_end, bone.bbone_custom_handle_end = "TANGENT", rig.data.bones["handle"]
    rig.pose.bones["handle"].location = (0.3, 0.2, 0.1)


def disconnect(rig: bpy.types.Object) -> None:
    segment(rig)
    edit_bones(rig, lambda bones: setattr(bones["bone.2"], "use_connect", False))


def add_bone(rig: bpy.types.Object) -> None:
    def add(bones: bpy.types.ArmatureEditBones) -> None:
        bone = bones.new("more")
        bone.head, bone.tail, bone.parent = (0, 1, 0), (0, 1.5, 0.2), bones["bone.0"]

    edit_bones(rig, add)
    turn(rig, "more", (0.5, 0.5, 0))


def add_group_of_bone(obj: bpy.types.Object) -> None:
    obj.vertex_groups.new(name="more").add(range(100, 200), 0.8, "REPLACE")


def rename_bone(rig: bpy.types.Object) -> None:
    rig.data.bones["bone.1"].name = "elbow"
    turn(rig, "elbow", (1.0, 0.2, 0.0))


def rename_edited_bone(rig: bpy.types.Object) -> None:
    edit_bones(rig, lambda bones: setattr(bones["bone.2"], "name", "hand"))
    turn(rig, "hand", (0.4, 0.2, 0.0))


def swap_bones(rig: bpy.types.Object) -> None:
    first, last = rig.data.bones["bone.0"], rig.data.bones["bone.2"]
    first.name, last.name, first.name = "for a while", "bone.0", "bone.2"
    bend(rig, 90)


def rename_segmented_bone(rig: bpy.types.Object) -> None:
    segment(rig)
    update()
    rename_bone(rig)


def hide(rig: bpy.types.Object) -> None:
    rig.hide_set(True)
    rig.hide_viewport = rig.hide_render = True


def leave_out(rig: bpy.types.Object) -> None:
    """Move the armature into a collection that the view layer excludes."""
    collection, scene = bpy.data.collections.new("Rigs"), bpy.context.scene
    scene.collection.children.link(collection)
    scene.collection.objects.unlink(rig)
    collection.objects.link(rig)
    bpy.context.view_layer.layer_collection.children["Rigs"].exclude = True


def place(name: str, is_parented: bool = False) -> Change:
    """Transforms of mesh object and armature."""

    def move(obj: bpy.types.Object) -> None:
        obj.parent = armature_modifier(obj).object if is_parented else None
        obj.matrix_local = TRANSFORMS[name][0]

    return Change(move, lambda rig: setattr(rig, "matrix_world", TRANSFORMS[name][1]), is_seen=False)


BONES = {
    "a bone that deforms no more": Change(
        of_rig=lambda rig: setattr(rig.data.bones["bone.1"], "use_deform", False), when=(BEFORE,)
    ),
    "segments": Change(of_rig=segment),
    "eased segments": Change(of_rig=ease),
    "segments that roll at rest": Change(of_rig=roll_at_rest),
    "scaled segments": Change(of_rig=scale_along),
    "curved segments": Change(of_rig=curve),
    "segments with a handle": Change(of_rig=handle),
    "segments without a neighbor": Change(of_rig=disconnect),
    "eased segments and a key": Change(add_keys, ease),
    "eased segments and an inverted group": Change(fade_inverted, ease),
    "curved segments of a mesh that moves": Change(animate_object, curve, is_seen=False),
    "a moved bone": Change(
        of_rig=lambda rig: edit_bones(rig, lambda bones: setattr(bones["bone.1"], "tail", (0.2, 2.1, 0.1)))
    ),
    "a rolled bone": Change(of_rig=lambda rig: edit_bones(rig, lambda bones: setattr(bones["bone.1"], "roll", 1.0))),
    "a bone more": Change(add_group_of_bone, add_bone),
    "a renamed bone": Change(of_rig=rename_bone),
    "a renamed bone with segments": Change(of_rig=rename_segmented_bone),
    "a bone renamed in Edit Mode": Change(of_rig=rename_edited_bone),
    "exchanged bones": Change(of_rig=swap_bones),
    "another pose": Change(of_rig=lambda rig: bend(rig, 120), when=(AFTER,)),
    "the rest position": Change(of_rig=lambda rig: setattr(rig.data, "pose_position", "REST"), when=(AFTER,)),
    "a hidden armature": Change(of_rig=hide, when=(AFTER,), is_seen=False),
    "an armature outside the view layer": Change(of_rig=leave_out, when=(AFTER,), is_seen=False),
    "an animated mesh object": Change(animate_object, is_seen=False),
    "an animated armature object": Change(of_rig=animate_object, is_seen=False),
    **{name: place(name) for name in TRANSFORMS},
    **{f"{name}, parented": place(name, True) for name in TRANSFORMS},
}  # fmt: skip

CHANGES = MODIFIERS | MESHES | BONES


def assert_as_twin() -> None:
    """By name: undo makes new Python objects of all data."""
    obj, twin = (next(each for each in bpy.data.objects if each.get("role") == role) for role in ("bound", "twin"))
    assert settings_of(obj).message == ""
    assert distance(evaluated_points(twin), evaluated_points(obj)) <= TOLERANCE


def next_frame() -> None:
    bpy.context.scene.frame_set(bpy.context.scene.frame_current + 1)


@pytest.mark.parametrize("name", CHANGES)
def test_a_change(name: str, subtests: pytest.Subtests):
    change = CHANGES[name]
    cases = [*itertools.product(change.by, change.when)]
    if bpy.app.version < (5, 2):  # what is not the same in older Blenders is not the same in any of these
        cases = cases[[*CHANGES].index(name) % len(cases) :][:1]
    for evaluate, when in cases:
        with subtests.test(f"{evaluate}, {when}"):
            reset()
            (_change_before if when == BEFORE else _change_after)(change, evaluate)


def add_pair() -> tuple[bpy.types.Object, bpy.types.Object]:
    """A tube and its armature; its twin is added by `add_role`."""
    obj, rig = add_tube()
    obj["role"] = "bound"
    return obj, rig


def add_role(obj: bpy.types.Object) -> bpy.types.Object:
    twin = add_twin(obj)
    twin["role"] = "twin"
    update()
    return twin


def _change_before(change: Change, evaluate: str) -> None:
    obj, rig = add_pair()
    change.make(rig, obj)
    twin = add_role(obj)
    bpy.context.scene.frame_set(1)
    before, rest = snapshot(obj), evaluated_points(twin)
    bind(obj, method="SSD", evaluate=evaluate)
    if "bone.1" in rig.pose.bones and "bone.2" in rig.pose.bones:
        bend(rig)
        assert distance(rest, evaluated_points(twin)) > 0.01
    for step in (update, next_frame):
        step()
        assert_as_twin()
    select(obj)
    bpy.ops.supple.unbind()
    bpy.context.scene.frame_set(1)
    assert_as_twin()
    assert snapshot(obj) == before


def _change_after(change: Change, evaluate: str) -> None:
    obj, rig = add_pair()
    twin = add_role(obj)
    bind(obj, method="SSD", evaluate=evaluate)
    bend(rig)
    update()
    shape = evaluated_points(twin)
    assert_as_twin()
    push("before")
    change.make(rig, obj, twin)
    push("after")
    assert (
        len(shape) != len(evaluated_points(twin))
        or not change.is_seen
        or distance(shape, evaluated_points(twin)) > 1e-3
    )
    for step in (update, next_frame, undo, redo, undo):
        step()
        update()
        assert_as_twin()
