"""What the panel says of a pattern that is not seen, Show in Full, and angles of chains of bones."""

import math

import bpy
import pytest
from scenes_patterns import add_own, add_skin, amounts, moved_by_patterns

from scenes import edit_bones, turn
from supple.bridge.animation.drivers import VARIABLES
from supple.settings.objects import settings_of
from supple.tasks.patterns.maps import read_angles
from supple.tasks.patterns.read import charts_of, describe_visibility
from supple.tasks.patterns.write import follow_bones, lay_out_all, update


def hints(obj: bpy.types.Object, shading: str = "MATERIAL") -> str:
    bpy.context.view_layer.update()
    return " | ".join(describe_visibility(obj, obj.supple.patterns[0], shading))


def test_the_panel_says_why_a_pattern_is_not_seen():
    obj, armature = add_skin()
    pattern = add_own(obj, "WRINKLE")  # from 0.2 to 1.2
    assert hints(obj) == "At rest: rotate 'bone.1'. It shows from 11° up, full at 69°"
    for angle, said in (
        (-0.5, "At -29° nothing shows yet: from 11° up, full at 69°"), (0.7, "50 % shows, at 40°: full at 69°"),
        (1.3, ""),
    ):  # fmt: skip
        turn(armature, "bone.1", (angle, 0, 0))
        assert hints(obj) == said
    assert "do not show in Solid view" in hints(obj, "SOLID")
    assert hints(obj, "RENDERED") == ""
    settings_of(obj).pattern_display = "DISPLACEMENT"
    assert hints(obj, "SOLID") == ""
    armature.data.pose_position = "REST"
    assert "Rest Position" in hints(obj)
    pattern.show = False
    assert hints(obj).startswith("Hidden")
    pattern.show = True
    pattern.bone = "nobody"
    assert hints(obj) == ""
    assert "nobody" in pattern.note


@pytest.mark.versions
def test_show_in_full_shows_all_at_rest_and_gives_the_drivers_back(subtests):
    for display in ("BUMP", "DISPLACEMENT"):
        with subtests.test(display):
            obj, armature = add_skin()
            pattern = add_own(obj)
            settings = settings_of(obj)
            settings.pattern_display = display
            settings.pattern_full = True
            assert amounts(obj)[0] == 1.0
            assert "Shown in full" in hints(obj)
            if display == "DISPLACEMENT":
                assert moved_by_patterns(obj) == pytest.approx(pattern.strength, rel=0.1)
            settings.pattern_full = False
            assert amounts(obj)[0] == 0.0
            turn(armature, "bone.1", (0.7, 0, 0))
            assert amounts(obj)[0] == pytest.approx(0.5, abs=1e-5)


def test_rotations_of_a_chain_add_up_whatever_the_roll_of_its_bones():
    obj, armature = add_skin()
    edit_bones(armature, lambda bones: setattr(bones["bone.1"], "roll", math.pi / 2))  # its Z is what X was
    pattern = add_own(obj, bone="bone.2")
    pattern.first_bone = "bone.0"
    assert pattern.note == ""
    for rotations, expected in (
        (((0.4, 0, 0), (0, 0, 0), (0.3, 0, 0)), 0.5),
        (((0.4, 0, 0), (0, 0, -0.3), (0, 0, 0)), None),
        (((0, 0.9, 0), (0, 0, 0), (0, 0.5, 0)), 0.0),
        (((-0.4, 0, 0), (0, 0, 0), (-0.3, 0, 0)), 0.0),
    ):
        for number, rotation in enumerate(rotations):
            turn(armature, f"bone.{number}", rotation)
        if expected is not None:
            assert amounts(obj)[0] == pytest.approx(expected, abs=1e-5)
        by_python = read_angles(obj, lay_out_all(obj, charts_of(obj)), bpy.context.evaluated_depsgraph_get())
        assert amounts(obj) == pytest.approx(by_python, abs=1e-5)
    turn(armature, "bone.0", (0, 0, 0))
    turn(armature, "bone.2", (0, 0, 0))
    found = []
    for angle in (0.7, -0.7):
        turn(armature, "bone.1", (0, 0, angle))
        found.append(amounts(obj)[0])
    assert sorted(found) == pytest.approx([0.0, 0.5], abs=1e-5)


def add_above(bones) -> None:
    """Insert bones above the first one, each the parent of the one before, one more than a driver has variables."""
    bone = bones["bone.0"]
    for number in range(len(VARIABLES) + 1):
        other = bones.new(f"over.{number}")
        other.head, other.tail = bone.head, bone.head + bone.vector
        bone.parent, bone = other, other


def test_a_chain_that_is_none_or_too_long_is_named():
    obj, armature = add_skin()
    pattern = add_own(obj, bone="bone.0")
    pattern.first_bone = "bone.2"
    assert "not above" in pattern.note
    edit_bones(armature, add_above)
    pattern.first_bone = f"over.{len(VARIABLES)}"
    assert "more than 12 bones" in pattern.note
    pattern.first_bone = f"over.{len(VARIABLES) - 2}"
    assert pattern.note == ""


def test_bones_of_a_chain_are_followed_when_they_are_renamed():
    obj, armature = add_skin()
    pattern = add_own(obj, bone="bone.2")
    pattern.first_bone = "bone.0"
    armature.data.bones["bone.0"].name = "hips"
    bpy.context.view_layer.update()
    update(obj)
    follow_bones(obj)
    assert (pattern.first_bone, pattern.bone, pattern.note) == ("hips", "bone.2", "")
    turn(armature, "hips", (0.7, 0, 0))
    assert amounts(obj)[0] == pytest.approx(0.5, abs=1e-5)
