"""Skin patterns that cannot be: what is refused, and what is noted in the panel."""

import math

import bpy
import numpy as np
import pytest
from scenes_patterns import add_own, add_skin, add_uv, amounts, full_snapshot, make_material, moved_by_patterns

from scenes import reset, turn
from supple.bridge.images.data import new_image
from supple.deformers import SkinningError
from supple.settings.objects import settings_of
from supple.tasks.patterns.edit import add_pattern, mirror_pattern
from supple.tasks.patterns.library import ensure_image, find_entry
from supple.tasks.patterns.show import update


def add_stretched_uv(obj):
    add_uv(obj)
    for one in obj.data.uv_layers[0].data:
        one.uv = (0.5, one.uv[1])


BAD = (
    (None, {"bone": ""}, "No bone drives the pattern: choose a bone"),
    (None, {"bone": "Tail"}, "'Rig' has no bone 'Tail': choose another bone"),
    (None, {"uv": (0.5, 0.5)}, "The mesh has no UV map: unwrap it, or place the pattern on the"),
    (None, {"size": (0.0, 0.1)}, "size"),
    (None, {"size": (0.1, -0.1)}, "size"),
    (None, {"size": (0.1, math.nan)}, "size"),
    (add_uv, {"uv": (1.5, 0.5)}, "There is no face at UV"),
    (add_stretched_uv, {"uv": (0.5, 0.5)}, "UV"),
    (lambda obj: obj.modifiers.clear(), {}, "'Tube' has no armature to drive patterns: parent it"),
    (lambda obj: obj.data.clear_geometry(), {}, "'Tube' has no faces: select a mesh with faces"),
)


def test_bad_input_is_refused_and_nothing_is_changed(subtests):
    for spoil, given, message in BAD:
        with subtests.test(message, **given):
            reset()
            obj, _ = add_skin()
            if spoil is not None:
                spoil(obj)
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
    bpy.ops.object.mode_set(mode="EDIT")
    with pytest.raises(RuntimeError, match="Leave Edit Mode first"):
        bpy.ops.supple.pattern_add(preset="RIBS_L", bone="bone.1")
    with pytest.raises(SkinningError, match="'Tube' is in Edit Mode: leave it first"):
        add_pattern(obj, find_entry("RIBS_L"), ensure_image(find_entry("RIBS_L")), "bone.1")


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


def test_operators_need_a_pattern_that_is_there():
    obj, _ = add_skin()
    for operator in (bpy.ops.supple.pattern_remove, bpy.ops.supple.pattern_mirror, bpy.ops.supple.pattern_save):
        with pytest.raises(RuntimeError, match="Add a pattern first"):
            operator()
    add_own(obj)
    with pytest.raises(
        RuntimeError, match="'Tube' has 1 patterns, and no pattern with index 3: choose a pattern in the list"
    ):
        bpy.ops.supple.pattern_remove(index=3)


def test_mirroring_needs_another_side():
    obj, _ = add_skin()
    add_own(obj, location=(0, 1.5, 0.4))
    with pytest.raises(SkinningError, match="is in the middle of the body"):
        mirror_pattern(obj, 0)
    assert len(settings_of(obj).patterns) == 1
    for vertex in obj.data.vertices:
        vertex.co.x += 3.0
    update(obj)
    settings_of(obj).patterns[0].location = (3.0, 1.5, 0.4)
    with pytest.raises(SkinningError, match="not symmetrical in X"):
        mirror_pattern(obj, 0)
    assert len(settings_of(obj).patterns) == 1
