"""Skin patterns that cannot be: what is refused, and what is noted in the panel."""

import math

import bpy
import numpy as np
import pytest
from scenes_patterns import add_own, add_skin, add_uv, amounts, full_snapshot, make_material, moved_by_patterns

from scenes import (
    turn,
)
from supple.bridge.images import new_image
from supple.deformers import SkinningError
from supple.settings.objects import settings_of
from supple.tasks.patterns.edit import add_pattern, mirror_pattern
from supple.tasks.patterns.library import ensure_image, find_entry
from supple.tasks.patterns.show import update


def stretched_uv(obj):
    add_uv(obj)
    for one in obj.data.uv_layers[0].data:
        one.uv = (0.5, one.uv[1])


BAD = {
    "no armature": (lambda obj, _: obj.modifiers.clear(), {}, "'Tube' has no armature to drive patterns: parent it"),
    "no bone": (lambda *_: None, {"bone": ""}, "No bone drives the pattern: choose one"),
    "another bone": (lambda *_: None, {"bone": "Tail"}, "'Rig' has no bone 'Tail': choose another bone"),
    "no UV map": (lambda *_: None, {"uv": (0.5, 0.5)}, "The mesh has no UV map: unwrap it, or lay the pattern on the"),
    "beside the UV map": (lambda obj, _: add_uv(obj), {"uv": (1.5, 0.5)}, "There is no face at UV"),
    "UV map of no size": (lambda obj, _: stretched_uv(obj), {"uv": (0.5, 0.5)}, "UV"),
    "zero size": (lambda *_: None, {"size": (0.0, 0.1)}, "size"),
    "negative size": (lambda *_: None, {"size": (0.1, -0.1)}, "size"),
    "size not a number": (lambda *_: None, {"size": (0.1, math.nan)}, "size"),
    "no faces": (lambda obj, _: obj.data.clear_geometry(), {}, "'Tube' has no faces: select a mesh with faces"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_and_nothing_is_changed(case):
    spoil, given, message = BAD[case]
    obj, armature = add_skin()
    spoil(obj, armature)
    entry = find_entry("BULGE_STEEP")
    image = ensure_image(entry)
    before = full_snapshot(obj)
    with pytest.raises(SkinningError, match=message):
        add_pattern(obj, entry, image, **{"bone": "bone.1"} | given)
    assert full_snapshot(obj) == before
    assert not settings_of(obj).patterns


def test_the_operator_says_what_is_wrong_and_leaves_no_picture_behind():
    obj, _ = add_skin()
    with pytest.raises(RuntimeError, match="'Rig' has no bone 'Tail': choose another bone"):
        bpy.ops.supple.pattern_add(preset="RIBS_L", bone="Tail")
    assert not bpy.data.images
    assert not settings_of(obj).patterns
    with pytest.raises(RuntimeError, match="There is no image to add: choose an image file"):
        bpy.ops.supple.pattern_add(preset="IMAGE", bone="bone.1")
    with pytest.raises(RuntimeError, match="Cannot read"):
        bpy.ops.supple.pattern_add(preset="IMAGE", bone="bone.1", filepath="/nowhere/at/all.png")
    assert not bpy.data.images


def test_edit_mode_has_to_be_left_first():
    obj, _ = add_skin()
    bpy.ops.object.mode_set(mode="EDIT")
    with pytest.raises(RuntimeError, match="Leave Edit Mode first"):
        bpy.ops.supple.pattern_add(preset="RIBS_L", bone="bone.1")
    with pytest.raises(SkinningError, match="'Tube' is in Edit Mode: leave it first"):
        add_pattern(obj, find_entry("RIBS_L"), ensure_image(find_entry("RIBS_L")), "bone.1")
    bpy.ops.object.mode_set(mode="OBJECT")


@pytest.mark.parametrize(
    ("name", "value", "note"),
    [
        ("full", 0.1, "complete at 5.7 degrees, before it starts at 11.5: make the full angle the larger one"),
        ("image", None, "The pattern has no height map: choose an image"),
        ("bone", "Tail", "has no bone 'Tail': choose another bone"),
        ("axis", "BETWEEN", "No bone drives the pattern: choose one"),
        ("size", (0.0, 0.1), "size"),
        ("space", "UV", "The mesh has no UV map: unwrap it first"),
    ],
)
def test_a_setting_that_makes_no_sense_is_noted_and_its_pattern_not_shown(name, value, note):
    obj, armature = add_skin()
    add_own(obj)
    add_own(obj, location=(0, 2.5, 0.4))
    pattern = settings_of(obj).patterns[0]
    good = getattr(pattern, name)
    good = tuple(good) if name == "size" else good
    setattr(pattern, name, value)
    assert note in pattern.note
    turn(armature, "bone.1", (1.5, 0, 0))
    assert amounts(obj)[0] == 1.0  # the other one
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
    assert pattern.note == "Image 'Bent' is read as sRGB, which bends its heights: set it to Non-Color"


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


@pytest.mark.skipif(bpy.app.version >= (5, 0), reason="materials always have nodes from Blender 5.0 on")
def test_a_material_without_nodes_is_reported():
    obj, _ = add_skin()
    make_material(obj, linked=False).use_nodes = False
    add_own(obj, "WRINKLE")
    assert settings_of(obj).pattern_message.startswith("Material 'Skin' has no nodes: enable Use Nodes")


@pytest.mark.parametrize("operator", ["pattern_remove", "pattern_mirror", "pattern_save"])
def test_operators_need_a_pattern(operator):
    add_skin()
    with pytest.raises(RuntimeError, match="Add a pattern first"):
        getattr(bpy.ops.supple, operator)()


def test_an_index_that_is_not_there_is_refused():
    obj, _ = add_skin()
    add_own(obj)
    with pytest.raises(RuntimeError, match="'Tube' has 1 patterns, and none of index 3: choose a pattern in the list"):
        bpy.ops.supple.pattern_remove(index=3)


def test_mirroring_needs_another_side():
    obj, _ = add_skin()
    add_own(obj, location=(0, 1.5, 0.4))
    with pytest.raises(SkinningError, match="lies in the middle of the body"):
        mirror_pattern(obj, 0)
    assert len(settings_of(obj).patterns) == 1
    for vertex in obj.data.vertices:
        vertex.co.x += 3.0
    update(obj)
    settings_of(obj).patterns[0].location = (3.0, 1.5, 0.4)
    with pytest.raises(SkinningError, match="not symmetrical in X"):
        mirror_pattern(obj, 0)
    assert len(settings_of(obj).patterns) == 1
