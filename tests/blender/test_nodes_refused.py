"""Where nodes cannot deform: those asked for are refused in words, and Python deforms where they are not."""

import re

import bpy
import pytest
from scenes_nodes import assert_refused_by_nodes

from scenes import (
    add_tube,
    add_twin,
    armature_modifier,
    bind,
    clear,
    distance,
    evaluated_points,
    select,
    turn,
    update,
)
from supple.settings.objects import settings_of

pytestmark = pytest.mark.usefixtures("silent_handlers", "built_groups", "nodes_alone")


def bend(armature: bpy.types.Object) -> None:
    turn(armature, "bone.1", (1.0, 0.4, 0.0), (1.2, 0.9, 1.1))


def assert_follows(obj: bpy.types.Object, twin: bpy.types.Object) -> None:
    bend(armature_modifier(twin).object)
    assert settings_of(obj).message == ""
    assert distance(evaluated_points(twin), evaluated_points(obj)) <= 1e-5


def test_nodes_are_the_default():
    obj, _ = add_tube()
    assert settings_of(obj).evaluate == "NODES"
    select(obj)
    bpy.ops.supple.bind()
    assert (settings_of(obj).evaluate, settings_of(obj).evaluate_problem) == ("NODES", "")


# Characters that are beyond nodes


def bend_segments(_obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    for bone in armature.data.bones:
        bone.bbone_segments, bone.bbone_mapping_mode = 4, "CURVED"


def use_envelopes(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    armature_modifier(obj).use_bone_envelopes = True


def multiply_envelopes(_obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    armature.data.bones["bone.1"].use_envelope_multiply = True


def undo_all(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    armature_modifier(obj).use_bone_envelopes = False
    for bone in armature.data.bones:
        bone.bbone_segments, bone.use_envelope_multiply = 1, False


REASONS = (
    (bend_segments, r"B-Bones of 'Rig' divide their vertices along the curve, .*: evaluate by Python, or set"),
    (use_envelopes, r"'Tube' is deformed by bone envelopes, .*: evaluate by Python, or turn the envelopes off"),
    (multiply_envelopes, r"'Tube' is deformed by bone envelopes, .*: evaluate by Python, or turn the envelopes off"),
)


def test_what_nodes_cannot_do(subtests: pytest.Subtests):
    """Asked for, they are refused; not asked for, Python takes over and says why; what comes later is reported."""
    for spoil, words in REASONS:
        with subtests.test(spoil.__name__):
            clear()
            obj, armature = add_tube()
            spoil(obj, armature)
            update()
            assert_refused_by_nodes(obj, words)

            twin = add_twin(obj)
            select(obj)
            bpy.ops.supple.bind(method="SSD")
            for _ in range(2):
                assert settings_of(obj).evaluate == "PYTHON"
                assert re.search(words, settings_of(obj).evaluate_problem)
                assert_follows(obj, twin)
                settings_of(obj).evaluate = "NODES"

            for one in (obj, twin):
                undo_all(one, armature)
            settings_of(obj).evaluate = "NODES"
            assert (settings_of(obj).evaluate, settings_of(obj).evaluate_problem) == ("NODES", "")
            assert_follows(obj, twin)

            for one in (obj, twin):
                spoil(one, armature)
            update()
            assert re.search(words, settings_of(obj).message)
            settings_of(obj).evaluate = "PYTHON"
            assert_follows(obj, twin)


def test_b_bones_of_a_mesh_that_moves_are_reported():
    obj, armature = add_tube()
    for bone in armature.data.bones:
        bone.bbone_segments = 4
    twin = add_twin(obj)
    update()
    bind(obj, method="SSD", evaluate="NODES")
    assert_follows(obj, twin)
    for one in (obj, twin):
        one.location.y = 0.4
    update()
    assert re.search("'Tube' has moved within 'Rig', and B-Bones divide .*: bind again, or", settings_of(obj).message)
    bind(obj, method="SSD", evaluate="NODES")
    assert_follows(obj, twin)
