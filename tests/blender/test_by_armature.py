"""Blender's own Armature modifiers blend the joints wherever they do so as the method does, and nodes elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from math import radians
from pathlib import Path

import bpy
import pytest
from scenes_bind import animate_object, fade
from scenes_nodes import assert_alike, bind_both

from scenes import (
    TOLERANCE,
    add_tube,
    add_twin,
    animate_tube,
    armature_modifier,
    bind,
    clear,
    distance,
    edit_bones,
    evaluated_points,
    frames_of,
    longest_action,
    play,
    push,
    rest_points,
    save,
    select,
    skinned_meshes,
    snapshot,
    supple_modifier,
    take_away,
    turn,
    undo,
    update,
)
from supple import preview
from supple.bridge.animation.curves import iterate_curves
from supple.bridge.modifiers import BLEND_NAME, LINEAR_GROUP, LINEAR_NAME
from supple.bridge.rigs.armatures import read_skeleton
from supple.nodes.groups import is_native_group
from supple.settings.objects import settings_of
from supple.tasks.skin import by_nodes
from supple.tasks.subject.stack import list_own_armatures

pytestmark = pytest.mark.usefixtures("silent_handlers", "built_groups")

MIDDLE, LAST = "bone.1", "bone.2"


def is_native(obj: bpy.types.Object) -> bool:
    """Whether Armature modifiers of Supple's own blend the joints."""
    found = is_native_group(supple_modifier(obj).node_group)
    assert bool(list_own_armatures(obj)) == found
    return found


def bound_both(method: str = "DLBNT", **settings: str | float) -> tuple:
    """A tube that is bound by nodes, its armature, and a twin by Python; bones rotate by Euler angles."""
    obj, armature = add_tube()
    for bone in armature.pose.bones:
        bone.rotation_mode = "XYZ"
    return obj, armature, bind_both(obj, method, **settings)


def bend(armature: bpy.types.Object, twist: float = 0.0) -> None:
    turn(armature, MIDDLE, (0.9, 0.3, 0.2))
    turn(armature, LAST, (0.7, radians(twist), 0.1))


@pytest.mark.versions
@pytest.mark.characters
def test_real_characters_play_as_by_python(asset: Callable[..., Path], character: str, subtests: pytest.Subtests):
    bpy.ops.wm.open_mainfile(filepath=str(asset(character)))
    meshes, action = skinned_meshes(), longest_action()
    play(armature_modifier(meshes[0]).object, action)
    points = {}
    for evaluate in ("PYTHON", "NODES"):
        bind(*meshes, method="DLBNT", evaluate=evaluate)
        for frame in frames_of(action):
            bpy.context.scene.frame_set(frame)
            points[evaluate, frame] = [evaluated_points(obj) for obj in meshes]
    assert all(map(is_native, meshes))
    for frame in frames_of(action):
        with subtests.test(frame=frame):
            for expected, actual in zip(points["PYTHON", frame], points["NODES", frame], strict=True):
                assert distance(expected, actual) <= TOLERANCE


@pytest.mark.versions
@pytest.mark.parametrize("method", ["SSD", "DLB", "DLBNT"])
def test_as_by_python(method: str, subtests: pytest.Subtests):
    for linear in ("", "Linear"):
        with subtests.test(linear):
            clear()
            obj, armature = add_tube()
            fade(obj, "Linear")
            twin = bind_both(obj, method, linear_group=linear)
            bend(armature, 80.0)
            assert_alike(obj, twin)
            assert is_native(obj)


@pytest.mark.versions
def test_twists_are_spread_before_the_blend(subtests: pytest.Subtests):
    obj, armature, _ = bound_both()
    for name in (MIDDLE, LAST):
        armature.data.bones[name].supple.spread_twist = "ON"
    bind(obj, evaluate="NODES")
    bind(bpy.data.objects["Twin"], evaluate="PYTHON")
    for twist in (-110.0, 45.0, 110.0):
        for spot in ((0.0, 0.0, 0.0), (0.5, 2.0, -1.0)):
            with subtests.test(twist=twist, spot=spot):
                for one in (obj, bpy.data.objects["Twin"]):
                    one.location, one.rotation_euler, one.scale = (
                        spot,
                        spot,
                        (1.3, 1.3, 1.3) if any(spot) else (1, 1, 1),
                    )
                bend(armature, twist)
                assert_alike(obj, bpy.data.objects["Twin"])
                assert is_native(obj)


APART = "bones that share vertices are apart by more than half a turn"
CASES = {
    "a bone is scaled": lambda armature: turn(armature, LAST, (0.4, 0.0, 0.0), (1.0, 1.4, 0.8)),
    "a bone is mirrored": lambda armature: turn(armature, LAST, (0.4, 0.0, 0.0), (-1.0, 1.0, 1.0)),
    APART: lambda armature: (
        turn(armature, MIDDLE, (radians(110), 0, 0)),
        turn(armature, LAST, (radians(110), 0, 0)),
    ),
}


def bridge(obj: bpy.types.Object, is_late: bool = False) -> None:
    """Give vertices in the middle some weight of the last bone and of the first, before their own, or after it."""
    ring = [v.index for v in obj.data.vertices if 1.3 < v.co.y < 1.7]
    own = {index: [(entry.group, entry.weight) for entry in obj.data.vertices[index].groups] for index in ring}
    for group in obj.vertex_groups:
        group.remove(ring)
    given = [(obj.vertex_groups[name].index, 0.2) for name in ("bone.0", LAST)]
    for index, entries in own.items():
        kept = [entry for entry in entries if entry[0] not in dict(given)]
        for group, weight in [*kept, *given] if is_late else [*given, *kept]:
            obj.vertex_groups[group].add([index], weight, "REPLACE")


@pytest.mark.versions
@pytest.mark.parametrize("case", CASES)
def test_nodes_blend_where_blender_would_not_as_the_method_does(case: str, monkeypatch: pytest.MonkeyPatch):
    obj, armature = add_tube()
    for bone in armature.pose.bones:
        bone.rotation_mode = "XYZ"
    bridge(obj)
    twin = bind_both(obj)
    assert is_native(obj)
    CASES[case](armature)
    update()
    assert not is_native(obj)
    assert_alike(obj, twin)
    for bone in armature.pose.bones:
        bone.rotation_euler, bone.scale = (0.3, 0, 0), (1, 1, 1)
    update()
    assert is_native(obj)
    assert_alike(obj, twin)
    monkeypatch.setattr(preview, "is_dragging", lambda: True)
    CASES[case](armature)
    update()
    assert not is_native(obj)
    assert_alike(obj, twin)


@pytest.mark.versions
def test_blender_blends_where_weights_come_late_that_disagree():
    obj, armature = add_tube()
    bridge(obj, is_late=True)
    twin = bind_both(obj)
    CASES[APART](armature)
    update()
    assert is_native(obj)
    assert_alike(obj, twin)


def test_a_drag_of_bones_reads_them_once_it_ends(monkeypatch: pytest.MonkeyPatch):
    obj, armature, twin = bound_both()
    animate_tube(armature)
    bend(armature)
    update()
    read = []
    monkeypatch.setattr(
        by_nodes, "read_skeleton", lambda *arguments: read.append(arguments) or read_skeleton(*arguments)
    )
    monkeypatch.setattr(preview, "is_dragging", lambda: True)
    turn(armature, MIDDLE, (0.2, 0.1, 0.6))
    assert_alike(obj, twin)
    assert not read
    monkeypatch.setattr(preview, "is_dragging", lambda: False)
    turn(armature, MIDDLE, (0.3, 0.1, 0.6))
    assert_alike(obj, twin)
    assert read


def test_what_may_scale_or_turn_bones_is_left_to_nodes(subtests: pytest.Subtests):
    def constrain(kind: str, **values: object) -> Callable:
        def dress(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
            constraint = armature.pose.bones[LAST].constraints.new(kind)
            constraint.target, constraint.subtarget = armature, "bone.0"
            for name, value in values.items():
                setattr(constraint, name, value)

        return dress

    def key_scale(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
        bone = armature.pose.bones[LAST]
        for frame, scale in ((1, 1.0), (20, 1.5)):
            bone.scale = (1.0, scale, 1.0)
            bone.keyframe_insert("scale", frame=frame)
        bone.scale = (1, 1, 1)

    def drive_scale(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
        armature.pose.bones[LAST].driver_add("scale", 1).driver.expression = "1.0"

    def group(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
        fade(obj, "Part")
        armature_modifier(obj).vertex_group = "Part"

    cases = {
        "Stretch To": (constrain("STRETCH_TO"), False),
        "Copy Scale": (constrain("COPY_SCALE"), False),
        "Copy Location": (constrain("COPY_LOCATION"), True),
        "Copy Rotation": (constrain("COPY_ROTATION"), False),  # vertices follow bones on both sides of it
        "muted": (constrain("STRETCH_TO", mute=True), True),
        "keys": (key_scale, False),
        "drivers": (drive_scale, False),
        "a vertex group": (group, False),
        "limits": (lambda obj, _: setattr(settings_of(obj), "bulge_limit", 0.5), False),
        "fractions": (lambda obj, _: setattr(settings_of(obj), "twist", "3"), False),
    }
    for name, (dress, expected) in cases.items():
        with subtests.test(name):
            clear()
            obj, armature = add_tube()
            dress(obj, armature)
            update()
            bind(obj, evaluate="NODES")
            assert is_native(obj) == expected
            assert settings_of(obj).evaluate == "NODES"


def test_one_frame_in_a_long_action_is_not_missed():
    """Three bones curl in a single frame, where Blender's own blend tears."""
    obj, armature, twin = bound_both()
    for frame in range(1, 901):
        for bone in armature.pose.bones:
            bone.rotation_euler.x = radians(170.0 if frame == 447 else 5.0)
            bone.keyframe_insert("rotation_euler", index=0, frame=frame)
    update()
    for frame in (446, 447):
        bpy.context.scene.frame_set(frame)
        assert_alike(obj, twin)


def test_switches_by_hand_and_in_the_panel():
    obj, _, _ = bound_both()
    own = list_own_armatures(obj)
    replaced, supple = armature_modifier(obj), supple_modifier(obj)
    assert [each.name for each in (supple, *own, replaced)] == obj.modifiers.keys()
    assert (replaced.show_viewport, replaced.show_render) == (False, False)
    bpy.context.view_layer.objects.active = obj
    bpy.ops.supple.flip()
    assert (replaced.show_viewport, replaced.show_render) == (True, False)
    assert [(each.show_viewport, each.show_render) for each in (supple, *own)] == [(False, True)] * (1 + len(own))
    bpy.ops.supple.flip()
    assert not replaced.show_viewport
    assert all(each.show_viewport and each.show_render for each in (supple, *own))
    supple.show_viewport = False  # by hand
    obj.data.update_tag()
    update()
    assert not any(each.show_viewport for each in own)


@pytest.mark.parametrize("roots", [False, True])
def test_unbind_leaves_all_as_it_was(roots: bool):
    obj, _ = add_tube()
    if roots:
        fade(obj, "Linear")
    before = snapshot(obj)
    settings_of(obj).linear_group = "Linear" if roots else ""
    bind(obj, evaluate="NODES")
    assert is_native(obj)
    assert [each.name for each in list_own_armatures(obj)] == [BLEND_NAME, LINEAR_NAME][: 1 + roots]
    bpy.context.view_layer.objects.active = obj
    bpy.ops.supple.unbind()
    settings_of(obj).property_unset("linear_group")
    assert snapshot(obj) == before
    assert obj.animation_data is None


@pytest.mark.versions
def test_saved_opened_and_without_supple(tmp_path: Path):
    obj, armature, _ = bound_both()
    armature.data.bones[LAST].supple.spread_twist = "ON"
    bind(obj, evaluate="NODES")
    bend(armature, 120.0)
    update()
    assert is_native(obj)
    expected = evaluated_points(obj)
    path = save(tmp_path / "tube.blend")
    bpy.ops.wm.open_mainfile(filepath=str(path))
    assert distance(expected, evaluated_points(bpy.data.objects["Tube"])) <= TOLERANCE
    take_away()
    bpy.ops.wm.open_mainfile(filepath=str(path))
    assert distance(expected, evaluated_points(bpy.data.objects["Tube"])) <= TOLERANCE


def test_undo_goes_back_to_what_blended_before():
    obj, armature, _ = bound_both()
    select(armature)
    bend(armature)
    push("Bend")
    expected = evaluated_points(obj)
    turn(armature, LAST, (0.4, 0.0, 0.0), (1.0, 1.5, 1.0))
    update()
    push("Scale")
    assert not is_native(obj)
    undo()
    obj = bpy.data.objects["Tube"]
    update()
    assert is_native(obj)
    assert distance(expected, evaluated_points(obj)) <= TOLERANCE


def test_a_copy_with_its_own_armature_follows_that():
    obj, armature, _ = bound_both()
    armature.data.bones[LAST].supple.spread_twist = "ON"
    bind(obj, evaluate="NODES")
    select(obj, armature)
    bpy.ops.object.duplicate()
    copy, other = bpy.data.objects["Tube.001"], bpy.data.objects["Rig.001"]
    update()
    bend(other, 100.0)
    update()
    assert is_native(copy)
    assert distance(evaluated_points(obj), rest_points(obj)) <= TOLERANCE
    twin = add_twin(copy)
    bind(twin, evaluate="PYTHON")
    assert_alike(copy, twin)


def test_an_object_that_moves_in_its_armature_is_turned_by_nodes():
    obj, armature, _ = bound_both()
    armature.data.bones[LAST].supple.spread_twist = "ON"
    bind(obj, evaluate="NODES")
    assert is_native(obj)
    animate_object(obj)
    bind(obj, evaluate="NODES")
    assert not is_native(obj)


def test_other_bones_and_weights_are_followed():
    obj, armature, twin = bound_both()
    bend(armature)
    edit_bones(armature, lambda bones: setattr(bones[LAST], "roll", bones[LAST].roll + 0.4))
    for one in (obj, twin):
        one.vertex_groups[MIDDLE].add(range(100), 0.3, "REPLACE")
        one.data.update_tag()
    assert_alike(obj, twin)
    assert is_native(obj)
    for bone in armature.data.bones:
        bone.name = f"renamed {bone.name}"
    assert_alike(obj, twin)


@pytest.mark.versions
def test_modifiers_above_and_below():
    obj, armature = add_tube()
    obj.modifiers.new("Above", "SUBSURF")
    obj.modifiers.move(len(obj.modifiers) - 1, 0)
    bind(obj, evaluate="NODES")
    assert is_native(obj)
    bend(armature)
    update()
    shown = evaluated_points(obj)
    bpy.ops.supple.flip()
    armature_modifier(obj).use_deform_preserve_volume = True
    update()
    assert distance(evaluated_points(obj), shown) <= TOLERANCE


@pytest.mark.skipif(bpy.app.version < (4, 5), reason="Blender 4.2 calls a copy Armature: it is a user's")
def test_a_copy_of_its_armature_modifiers_is_reported_and_goes_with_them(subtests):
    for method in ("SSD", "DLBNT"):
        with subtests.test(method):
            clear()
            obj, armature = add_tube()
            bend(armature)
            select(obj)
            before = snapshot(obj)
            bind(obj, method=method, evaluate="NODES")
            names = [each.name for each in list_own_armatures(obj)]
            for name in names:
                bpy.ops.object.modifier_copy(modifier=name)
                update()
                copied = obj.modifiers[f"{name}.001"]
                assert f"more than once, by modifiers 'Supple' and '{copied.name}'" in settings_of(obj).message
                copied.show_viewport = copied.show_render = False
                update()
                assert settings_of(obj).message == ""
                copied.show_viewport = copied.show_render = True
            bpy.ops.supple.unbind()
            update()
            assert snapshot(obj) == before


def test_make_independent_keeps_what_blends():
    obj, armature, _ = bound_both()
    bend(armature)
    update()
    expected = evaluated_points(obj)
    bpy.context.view_layer.objects.active = obj
    bpy.ops.supple.make_independent()
    update()
    assert list_own_armatures(obj)
    assert distance(expected, evaluated_points(obj)) <= TOLERANCE
    bind(obj, evaluate="NODES")
    assert is_native(obj)


def test_a_scale_that_a_script_sets_before_a_render_is_in_the_picture(tmp_path: Path):
    obj, armature, _ = bound_both()
    turn(armature, LAST, (0.4, 0, 0), (1.0, 1.6, 1.0))
    bpy.context.scene.render.filepath = str(tmp_path / "picture.png")
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    bpy.context.scene.collection.objects.link(camera)
    bpy.context.scene.camera = camera
    bpy.context.scene.render.engine, bpy.context.scene.render.resolution_x = "CYCLES", 8
    bpy.context.scene.render.resolution_y, bpy.context.scene.cycles.samples = 8, 1
    bpy.ops.render.render()
    assert not is_native(obj)


@pytest.mark.versions
def test_own_modifiers_are_known_whatever_they_are_called(subtests: pytest.Subtests):
    for number, name in ((0, "Foo"), (1, "Supple Armature"), (0, "Armature")):
        with subtests.test(number=number, name=name):
            clear()
            obj, armature = add_tube()
            fade(obj, "Linear")
            second = obj.modifiers.new("Second", "ARMATURE")
            second.object, second.show_viewport, second.show_render = armature, False, False
            before = snapshot(obj)
            settings_of(obj).linear_group = "Linear"
            bind(obj, evaluate="NODES")
            own = list_own_armatures(obj)
            own[number].name = name
            bend(armature)
            obj.data.update_tag()
            update()
            assert settings_of(obj).message == ""
            assert list_own_armatures(obj) == own
            bpy.context.view_layer.objects.active = obj
            bpy.ops.supple.unbind()
            settings_of(obj).property_unset("linear_group")
            for bone in armature.pose.bones:
                bone.matrix_basis.identity()
            assert snapshot(obj) == before


def test_one_that_was_removed_or_applied_is_told_and_bind_puts_it_back():
    obj, armature, twin = bound_both()
    bend(armature)
    obj.modifiers.remove(list_own_armatures(obj)[0])
    obj.data.update_tag()
    update()
    assert "was removed or applied: bind again" in settings_of(obj).message
    assert [each.type for each in obj.modifiers] == ["NODES", "ARMATURE"]
    bind(obj, evaluate="NODES")
    assert is_native(obj)
    assert_alike(obj, twin)


def extrapolate(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    bone = armature.pose.bones[LAST]
    for frame, angle in ((1, 0.0), (10, 0.5)):
        bone.rotation_euler = (angle, 0, 0)
        bone.keyframe_insert("rotation_euler", frame=frame)
    for curve in iterate_curves(armature.animation_data.action):
        curve.extrapolation = "LINEAR"


def generate_scale(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    bone = armature.pose.bones[LAST]
    bone.keyframe_insert("scale", frame=1)
    next(iter(iterate_curves(armature.animation_data.action))).modifiers.new("NOISE")


def key_muted_constraint(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    constraint = armature.pose.bones[LAST].constraints.new("COPY_SCALE")
    constraint.target, constraint.subtarget, constraint.mute = armature, "bone.0", True
    constraint.keyframe_insert("mute", frame=1)


def limit_scale(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    limits = armature.pose.bones[LAST].constraints.new("LIMIT_SCALE")
    limits.use_min_y, limits.min_y = True, 1.8


def track_unevenly(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    constraint = armature.pose.bones[LAST].constraints.new("DAMPED_TRACK")
    constraint.target, constraint.subtarget = armature, "bone.0"
    armature.scale = (1, 2, 1)


def follow_spline(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    curve = bpy.data.objects.new("Curve", bpy.data.curves.new("Curve", "CURVE"))
    bpy.context.scene.collection.objects.link(curve)
    constraint = armature.pose.bones[LAST].constraints.new("SPLINE_IK")
    constraint.target, constraint.chain_count = curve, 2


def key_toggle(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    bind(obj, evaluate="NODES")
    supple_modifier(obj).keyframe_insert("show_viewport", frame=1)


@pytest.mark.parametrize(
    "dress",
    [
        extrapolate, generate_scale, key_muted_constraint, limit_scale, track_unevenly, follow_spline, key_toggle,
    ],
)  # fmt: skip
def test_what_keys_alone_do_not_tell_is_left_to_nodes(dress: Callable):
    obj, armature = add_tube()
    for bone in armature.pose.bones:
        bone.rotation_mode = "XYZ"
    dress(obj, armature)
    update()
    bind(obj, evaluate="NODES")
    assert not is_native(obj)


def test_changes_of_ik_and_tracks_are_noticed():
    obj, armature, _ = bound_both()
    constraint = armature.pose.bones[LAST].constraints.new("IK")
    constraint.target, constraint.chain_count = obj, 1
    narrow = [vertex.index for vertex in obj.data.vertices]
    obj.vertex_groups["bone.0"].remove(narrow)
    obj.data.update_tag()
    update()
    assert is_native(obj)
    armature.pose.bones[LAST].ik_stretch = 0.5
    update()
    assert not is_native(obj)
    armature.pose.bones[LAST].ik_stretch = 0.0
    update()
    assert is_native(obj)


def test_the_active_vertex_group_stays_active(asset: Callable[..., Path]):
    bpy.ops.wm.open_mainfile(filepath=str(asset("human")))
    obj = max(skinned_meshes(), key=lambda each: len(each.data.vertices))
    obj.vertex_groups.active_index = 3
    bind(obj, evaluate="NODES")
    assert is_native(obj)
    assert obj.vertex_groups[LINEAR_GROUP].lock_weight
    assert obj.vertex_groups.active_index == 3
    bpy.context.view_layer.objects.active = obj
    bpy.ops.supple.unbind()
    assert obj.vertex_groups.active_index == 3


def test_linear_with_bendy_bones_may_move_in_its_armature():
    obj, armature = add_tube()
    armature.data.bones[MIDDLE].bbone_segments = 3
    bind(obj, method="SSD", evaluate="NODES")
    assert is_native(obj)
    obj.location = (0.2, 0.0, 0.0)
    update()
    assert settings_of(obj).message == ""


def test_a_bake_stands_below_all_and_gives_them_back(tmp_path: Path):
    obj, armature, _ = bound_both()
    animate_tube(armature)
    save(tmp_path / "tube.blend")
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 3
    bpy.context.scene.frame_set(2)
    expected, own = evaluated_points(obj), list_own_armatures(obj)
    bpy.context.view_layer.objects.active = obj
    bpy.ops.supple.bake_cache(filepath=str(tmp_path / "tube.pc2"))
    bpy.context.scene.frame_set(2)
    assert [each.type for each in obj.modifiers][: 2 + len(own)] == ["NODES", *["ARMATURE"] * len(own), "MESH_CACHE"]
    assert not any(each.show_viewport for each in own)
    assert distance(expected, evaluated_points(obj)) <= TOLERANCE
    bpy.ops.supple.clear_bake()
    bpy.context.scene.frame_set(2)
    assert all(each.show_viewport for each in own)
    assert distance(expected, evaluated_points(obj)) <= TOLERANCE
