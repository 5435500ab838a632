"""Skin patterns on objects: added, driven by joints, mirrored, and kept in a library."""

import collections
import itertools
import math

import bpy
import numpy as np
import pytest
from scenes_patterns import add_own, add_skin, amounts, make_material, moved_by_patterns
from scenes_state import refuse

from scenes import add_twin, bind, distance, evaluated_points, rest_points, select, turn
from supple.bridge.images.data import new_image
from supple.settings.objects import settings_of
from supple.tasks.patterns import library
from supple.tasks.patterns.edit import add_pattern, mirror_pattern
from supple.tasks.patterns.library import ensure_image, find_entry
from supple.tasks.patterns.write import clear, find_modifier, update

FLAT = 1e-7


# Adding


def test_each_pattern_of_the_library_is_flat_at_rest_and_comes_out_with_its_joint(subtests):
    obj, armature = add_skin()
    settings = settings_of(obj)
    settings.pattern_display = "DISPLACEMENT"
    for preset in library.drawn_entries():
        with subtests.test(preset):
            turn(armature, "bone.1")
            bpy.ops.supple.pattern_add(preset=preset, bone="bone.1")
            pattern = settings.patterns[0]
            pattern.size = (0.7, 0.7)  # large enough for the tube's mesh
            assert (pattern.bone, pattern.kind, pattern.note) == ("bone.1", find_entry(preset).kind, "")
            assert distance(rest_points(obj), evaluated_points(obj)) <= FLAT
            assert moved_by_patterns(obj) == 0.0
            axis = np.eye(3)["XYZ".index(pattern.axis)]
            turn(armature, "bone.1", 0.5 * (pattern.start + pattern.full) * axis)
            assert amounts(obj)[0] == pytest.approx(0.5, abs=1e-5)
            half = moved_by_patterns(obj)
            turn(armature, "bone.1", (pattern.full + 0.1) * axis)
            assert amounts(obj)[0] == 1.0
            assert 0.1 * pattern.strength < half < moved_by_patterns(obj) <= pattern.strength * 1.0001
            turn(armature, "bone.1", -(pattern.full + 0.1) * axis)
            assert moved_by_patterns(obj) == 0.0
        bpy.ops.supple.pattern_remove_all()


def test_the_operator_does_what_the_task_does():
    first, _ = add_skin(uv=True)
    twin = add_twin(first)
    select(first)
    bpy.ops.supple.pattern_add(preset="RIBS_L", bone="bone.2", axis="Z", uv=(0.4, 0.5), angle=0.3, size=(0.2, 0.1))
    entry = find_entry("RIBS_L")
    add_pattern(twin, entry, ensure_image(entry), "bone.2", axis="Z", uv=(0.4, 0.5), angle=0.3, size=(0.2, 0.1))
    charts = []
    for obj in (first, twin):
        pattern = settings_of(obj).patterns[0]
        assert (pattern.axis, pattern.space, pattern.image) == ("Z", "UV", ensure_image(entry))
        assert tuple(pattern.uv) == pytest.approx((0.4, 0.5))
        assert tuple(pattern.size) == pytest.approx((0.2, 0.1))
        attribute = obj.data.attributes[f"supple_{settings_of(obj).pattern_key}_0"]
        values = np.empty(3 * len(obj.data.loops), np.float32)
        attribute.data.foreach_get("vector", values)
        charts.append(values)
    assert charts[0].any()
    assert (charts[0] == charts[1]).all()


def test_without_a_place_a_pattern_lies_on_the_skin_nearest_to_its_bone():
    obj, _ = add_skin()
    pattern = add_own(obj)
    assert pattern.space == "SURFACE"
    assert pattern.location[1] == pytest.approx(1.0, abs=0.05)  # the bone's head is at (0, 1, 0)
    assert math.hypot(pattern.location[0], pattern.location[2]) == pytest.approx(0.4, rel=0.02)


def test_kinds_are_shown_as_chosen(subtests):
    obj, _ = add_skin()
    for kind in ("WRINKLE", "BULGE", "BONE"):
        add_own(obj, kind)
    for display, count in (("BUMP", 0), ("DISPLACEMENT", 3), ("KIND", 1)):
        with subtests.test(display):
            settings_of(obj).pattern_display = display
            modifier = find_modifier(obj)
            displaced = {item.name for item in modifier.node_group.interface.items_tree} if modifier else set()
            bumps = [group for group in bpy.data.node_groups if group.name.startswith(".Supple Bump")]
            pictures = [node for group in bumps for node in group.nodes if node.bl_idname == "ShaderNodeTexImage"]
            assert sum(name.startswith("Amount") for name in displaced) == (3 if count else 0)
            assert len(pictures) == 3 - count
            assert (modifier is not None) == (count > 0)
            assert len(bumps) == (count < 3)


@pytest.mark.versions
@pytest.mark.usefixtures("evaluator")
def test_patterns_work_over_blenders_own_modifier_and_over_supple():
    obj, armature = add_skin()
    twin = add_twin(obj)
    for one in (obj, twin):
        select(one)
        add_own(one, bone="bone.1", location=(0, 1, 0.4))
    bind(twin, method="SSD")
    turn(armature, "bone.1", (0.8, 0, 0))
    assert moved_by_patterns(obj) > 0.001
    assert distance(evaluated_points(obj), evaluated_points(twin)) <= 1e-5
    bind(twin, method="DLBNT")
    assert moved_by_patterns(twin) == pytest.approx(moved_by_patterns(obj), rel=0.05)


def test_the_patterns_level_subdivides_where_they_are_and_opens_no_gap():
    obj, armature = add_skin()
    pattern = add_own(obj)
    turn(armature, "bone.1", (1.5, 0, 0))
    count = len(evaluated_points(obj))
    settings_of(obj).pattern_level = 1
    assert len(evaluated_points(obj)) > 3.8 * count
    settings_of(obj).pattern_level = 3
    shown = evaluated_points(obj)
    assert 4.0 * count < len(shown) < 30 * count  # all of it would be 64 times as many
    strength, pattern.strength = pattern.strength, 0.0
    moved = np.linalg.norm(shown - evaluated_points(obj), axis=1)
    assert 0.5 * strength < moved.max() <= strength * 1.0001
    assert (moved == 0.0).mean() > 0.5
    turn(armature, "bone.1")
    mesh = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    faces = collections.Counter(key for polygon in mesh.polygons for key in polygon.edge_keys)
    ends = {round(mesh.vertices[index].co.y, 2) for key, count in faces.items() if count == 1 for index in key}
    assert len(ends) == 2  # the tube's own
    assert max(faces.values()) == 2


# Joints


def test_only_the_chosen_turning_counts(subtests):
    obj, armature = add_skin()
    pattern = add_own(obj)
    for axis, direction in itertools.product("XYZ", ("POSITIVE", "NEGATIVE", "BOTH")):
        with subtests.test(axis=axis, direction=direction):
            pattern.axis, pattern.direction = axis, direction
            for other, sign in itertools.product(range(3), (1.0, -1.0)):
                turn(armature, "bone.1", 0.7 * sign * np.eye(3)[other])
                counts = other == "XYZ".index(axis) and direction in ("BOTH", "POSITIVE" if sign > 0 else "NEGATIVE")
                assert amounts(obj)[0] == pytest.approx(0.5 if counts else 0.0, abs=1e-5)


def test_the_published_law_is_a_logarithm_and_the_angle_between_two_bones_counts_from_rest():
    obj, armature = add_skin()
    logarithm, between = add_own(obj), add_own(obj)
    logarithm.law, logarithm.gain, logarithm.start = "LOG", 0.8, 0.1
    between.other_bone, between.axis = "bone.0", "BETWEEN"
    assert between.note == ""
    assert amounts(obj)[1] == 0.0
    for rotation, number, expected in (((0.9, 0, 0), 0, 0.8 * math.log(0.8 + 1.0)), ((0, 0, 0.7), 1, 0.5)):
        turn(armature, "bone.1", rotation)
        assert amounts(obj)[number] == pytest.approx(expected, abs=1e-4)


def test_nothing_jumps_in_an_animation_across_the_start_angle():
    obj, armature = add_skin(rings=24, sides=16)
    add_own(obj, location=(0, 1.5, 0.4))
    bone = armature.pose.bones["bone.1"]
    bone.rotation_mode = "XYZ"
    for frame, angle in ((1, -0.2), (121, 1.6)):
        bone.rotation_euler = (angle, 0, 0)
        bone.keyframe_insert("rotation_euler", frame=frame)
    seen = []
    for frame in range(1, 122):
        bpy.context.scene.frame_set(frame)
        seen.append((bone.rotation_euler[0], amounts(obj)[0]))
    angles, values = np.array(seen).T
    assert (values[angles < 0.2] == 0.0).all()
    assert (values[angles > 1.2] == 1.0).all()
    bends = np.abs(np.diff(values, 2))
    assert bends.max() < 5.8 / 1.0**2 * np.diff(angles).max() ** 2 * 1.3  # the law bends by 10 / sqrt(3) at most
    assert np.abs(np.diff(values, 3)).max() < 0.35 * bends.max()


@pytest.mark.versions
def test_amounts_do_not_need_python_scripts():
    obj, _ = add_skin()
    for law in ("RANGE", "LOG"):
        add_own(obj).law = law
    settings_of(obj).patterns[1].direction = "BOTH"
    drivers = [curve.driver for curve in obj.animation_data.drivers]
    assert len(drivers) == 2
    assert all(driver.is_simple_expression and driver.is_valid for driver in drivers)


# Places


def test_a_pattern_keeps_its_place_from_uv_to_surface_and_back():
    obj, armature = add_skin(uv=True)
    pattern = add_own(obj, uv=(0.3, 0.5), angle=0.4, size=(0.12, 0.1))
    turn(armature, "bone.1", (1.5, 0, 0))
    before = evaluated_points(obj)
    pattern.space = "SURFACE"
    assert pattern.note == ""
    around = 0.8 * math.pi  # of the tube: what u = 1 is worth; v = 1 is 3
    assert pattern.size[0] == pytest.approx(0.12 * math.hypot(math.cos(0.4) * around, math.sin(0.4) * 3.0), rel=0.02)
    on_surface = evaluated_points(obj)
    assert distance(before, on_surface) < 0.01
    pattern.space = "UV"
    assert tuple(pattern.uv) == pytest.approx((0.3, 0.5), abs=0.002)
    assert pattern.turn == pytest.approx(0.4, abs=0.02)
    assert distance(before, evaluated_points(obj)) < 0.002


def test_a_seam_cuts_a_pattern_in_uv_and_is_noted_but_not_on_the_surface():
    obj, armature = add_skin(uv=True)
    pattern = add_own(obj, uv=(0.97, 0.5), size=(0.2, 0.1))
    assert pattern.note.startswith("A UV seam cuts the pattern")
    turn(armature, "bone.1", (1.5, 0, 0))
    posed = evaluated_points(obj)
    pattern.space = "SURFACE"
    assert pattern.note == ""
    assert distance(posed, evaluated_points(obj)) > 0.002  # what was cut off is there now


def test_a_mirrored_pattern_is_the_mirror_image(subtests):
    obj, armature = add_skin(uv=True)
    for number, name in enumerate(("Arm.L", "Arm.R"), start=1):
        armature.data.bones[f"bone.{number}"].name = name
    ramp = np.tile(np.linspace(0, 1, 16), (16, 1)) * np.linspace(0, 1, 16)[:, None]
    points = rest_points(obj)
    opposite = [int(np.square(points - point * (-1, 1, 1)).sum(axis=1).argmin()) for point in points]
    places = ({"uv": (0.15, 0.5), "size": (0.15, 0.15)}, {"location": (0.3, 1.5, 0.25)})
    for place, axis in itertools.product(places, "XYZ"):
        with subtests.test(place=place, axis=axis):
            source = add_own(obj, bone="Arm.L", values=ramp, axis=axis, angle=0.3, **place)
            source.name, source.strength = "Muscle.L", 0.05
            mirrored = mirror_pattern(obj, 0)
            assert (mirrored.name, mirrored.bone) == ("Muscle.R", "Arm.R")
            assert mirrored.direction == ("POSITIVE" if axis == "X" else "NEGATIVE")
            for curve in obj.animation_data.drivers:
                curve.driver.expression = "a*0+1"
            bpy.context.view_layer.update()
            raised = evaluated_points(obj) - points
            assert np.abs(raised).max() > 0.02
            assert np.abs(raised - raised[opposite] * (-1, 1, 1)).max() < 0.12 * np.abs(raised).max()
        clear(obj)


# The library


def test_a_pattern_saved_to_the_library_comes_back_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(bpy.utils, "extension_path_user", lambda *_args, **_given: str(tmp_path))
    obj, _ = add_skin()
    pattern = add_own(obj, location=(0, 1.5, 0.4))
    pattern.name, pattern.axis, pattern.start = "My Hill", "Z", 0.3
    bpy.ops.supple.pattern_save()
    assert "USER_My_Hill" in library.all_entries()
    bpy.ops.supple.pattern_add(preset="USER_My_Hill", bone="bone.2")
    first, again = settings_of(obj).patterns
    for name in ("kind", "axis", "start", "full"):
        assert getattr(again, name) == pytest.approx(getattr(first, name))
    assert tuple(again.size) == pytest.approx(tuple(first.size), rel=1e-3)
    assert again.strength == pytest.approx(first.strength, rel=1e-3)
    values = [np.array(one.image.pixels[:]).reshape(32, 32, -1)[..., 0] for one in (first, again)]
    assert np.abs(values[0] - values[1]).max() <= 1e-5
    bpy.ops.supple.pattern_forget(preset="USER_My_Hill")
    assert "USER_My_Hill" not in library.all_entries()
    refuse("There is no saved pattern 'USER_My_Hill'", bpy.ops.supple.pattern_forget, preset="USER_My_Hill")


# What cannot be shown; what is refused is in `test_refusals.py`


def test_a_setting_that_makes_no_sense_is_noted_and_its_pattern_not_shown(subtests):
    obj, armature = add_skin()
    add_own(obj)
    add_own(obj, location=(0, 2.5, 0.4))
    turn(armature, "bone.1", (1.5, 0, 0))
    pattern = settings_of(obj).patterns[0]
    for name, value, note in (
        ("full", 0.1, "fully visible at 5.7 degrees, but starts at 11.5: set the full angle above the start"),
        ("image", None, "The pattern has no height map: choose an image"),
        ("bone", "Tail", "has no bone 'Tail': choose another bone"),
        ("axis", "BETWEEN", "No bone drives the pattern: choose a bone"),
        ("size", (0.0, 0.1), "size"),
        ("space", "UV", "The mesh has no UV map: unwrap it first"),
    ):
        with subtests.test(name):
            good = getattr(pattern, name)
            good = tuple(good) if name == "size" else good
            setattr(pattern, name, value)
            assert note in pattern.note
            bpy.context.view_layer.update()
            assert amounts(obj) == [1.0]  # the other one's
            setattr(pattern, name, good)
            assert pattern.note == ""


def test_pictures_that_are_no_height_maps_are_noted():
    obj, _ = add_skin()
    pattern = add_own(obj)
    colored = bpy.data.images.new("Colored", 8, 8, is_data=True)
    colored.pixels[:] = [1.0, 0.2, 0.0, 1.0] * 64
    pattern.image = colored
    assert "convert it to gray" in pattern.note
    bent = new_image("Bent", np.ones((8, 8)))
    bent.colorspace_settings.name = "sRGB"
    pattern.image = bent
    assert pattern.note == "Image 'Bent' is read as sRGB, which distorts its heights: set it to Non-Color"


@pytest.mark.versions
def test_a_material_that_can_not_bump_is_told_and_displacement_goes_on():
    obj, armature = add_skin()
    material = make_material(obj, linked=False)
    material.node_tree.nodes.clear()
    add_own(obj, "WRINKLE")
    message = settings_of(obj).pattern_message
    assert message == (
        "Material 'Skin' has no shader with a Normal input: add a Principled BSDF, or show patterns as Displacement."
    )
    settings_of(obj).pattern_display = "DISPLACEMENT"
    assert settings_of(obj).pattern_message == ""
    turn(armature, "bone.1", (1.5, 0, 0))
    assert moved_by_patterns(obj) > 0.001


@pytest.mark.versions
@pytest.mark.skipif(bpy.app.version >= (5, 0), reason="materials always have nodes from Blender 5.0 on")
def test_a_material_without_nodes_is_reported():
    obj, _ = add_skin()
    make_material(obj, linked=False).use_nodes = False
    add_own(obj, "WRINKLE")
    assert settings_of(obj).pattern_message.startswith("Material 'Skin' has no nodes: enable Use Nodes")


def test_mirroring_needs_another_side():
    obj, _ = add_skin()
    add_own(obj, location=(0, 1.5, 0.4))
    refuse("is in the middle of the body", mirror_pattern, obj, 0)
    for vertex in obj.data.vertices:
        vertex.co.x += 3.0
    update(obj)
    settings_of(obj).patterns[0].location = (3.0, 1.5, 0.4)
    refuse("not symmetrical in X", mirror_pattern, obj, 0)
