"""Operators on what they are not for: each says what to select or to do first, and nothing is changed."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import pytest
from scenes_patterns import add_own
from scenes_state import find_changes, read_state, refuse

from scenes import add_object, bind, select, set_mode, update

from .cases import add_body
from .conftest import Case

ON_MESHES = (
    "bind", "unbind", "make_independent", "measure", "bake_shape_keys", "bake_cache", "clear_bake", "pattern_add",
    "pattern_remove", "pattern_mirror", "pattern_place", "pattern_stroke", "pattern_save", "pattern_maps",
    "weights_auto", "weights_smooth", "weights_sharpen", "weights_limit", "weights_normalize", "weights_prune",
    "weights_stiffen", "weights_mirror", "weights_transfer", "weights_clean", "weights_check", "weights_select",
    "weight_lines",
    "engine_copy", "engine_copy_show", "engine_copy_frame", "engine_copy_export",
    "correct_pose", "correction_keep", "correction_discard", "correction_edit", "correction_pose", "correction_select",
    "correction_remove", "corrections_from",
)  # fmt: skip
NEEDS_BIND = (
    "unbind", "make_independent", "bake_shape_keys", "bake_cache", "clear_bake", "engine_copy", "engine_copy_show",
    "engine_copy_frame", "engine_copy_export",
)  # fmt: skip
NEEDS_PATTERN = ("pattern_remove", "pattern_mirror", "pattern_place", "pattern_stroke", "pattern_save", "pattern_maps")
ON_WEIGHTS = tuple(name for name in ON_MESHES if name.startswith("weight"))
NEEDS_CORRECTION = tuple(name for name in ON_MESHES if name.startswith("correction_"))
GIVEN = {"pattern_add": {"preset": "BULGE_STEEP", "bone": "bone.1"}, "weight_lines": {"bone": "bone.1"}}
SELECT = "elect a mesh"


def select_new(name: str, data: bpy.types.ID | None = None) -> None:
    select(add_object(name, data))


def select_nothing() -> None:
    bpy.ops.object.select_all(action="DESELECT")
    bpy.context.view_layer.objects.active = None


def spoil(*statements: Callable[[bpy.types.Object], object]) -> Callable[[], None]:
    """Change the tube, and select it."""

    def prepare() -> None:
        for change in statements:
            change(bpy.data.objects["Tube"])
        select(bpy.data.objects["Tube"])

    return prepare


def turn_deform_off(_obj: bpy.types.Object) -> None:
    for bone in bpy.data.objects["Rig"].data.bones:
        bone.use_deform = False


SITUATIONS: dict[str, Callable[[], None]] = {
    "nothing": select_nothing,
    "a lattice": lambda: select_new("Cage", bpy.data.lattices.new("Cage")),
    "an empty": lambda: select_new("Nothing"),
    "an armature without meshes": lambda: select_new("Bones", bpy.data.armatures.new("Bones")),
    "a curve": lambda: select_new("Curve", bpy.data.curves.new("Curve", "CURVE")),
    "a bare mesh": lambda: select_new("Bare", bpy.data.meshes.new("Bare")),
    "Edit Mode": lambda: set_mode("EDIT", bpy.data.objects["Tube"]),
    "armature in Edit Mode": lambda: set_mode("EDIT", bpy.data.objects["Rig"]),
    "no armature in the modifier": spoil(lambda obj: setattr(obj.modifiers[0], "object", None)),
    "no modifier": spoil(lambda obj: obj.modifiers.clear()),
    "no deforming bone": spoil(turn_deform_off),
    "a mesh that is not bound": spoil(),
}
NO_ARMATURE = "No armature deforms 'Tube': also select its armature"
NO_MESH = {**dict.fromkeys(ON_MESHES, SELECT), "bind": "Select a mesh that has an Armature", "unbind": "is bound"}
REFUSED: dict[str, dict[str, str]] = {
    **dict.fromkeys(("nothing", "a lattice", "an empty", "a curve", "an armature without meshes"), NO_MESH),
    "a bare mesh": {
        **dict.fromkeys(NEEDS_BIND, SELECT),
        **dict.fromkeys(NEEDS_PATTERN, "Add a pattern first"),
        **dict.fromkeys(("correct_pose", "corrections_from", *NEEDS_CORRECTION), SELECT),
        "bind": "'Bare' has no vertices: select another mesh",
        "pattern_add": "'Bare' has no armature to drive patterns: parent it to an armature first",
        "weights_auto": "No armature deforms 'Bare': also select its armature",
    },
    "Edit Mode": {
        **dict.fromkeys(("bind", "measure"), "'Tube' is in Edit Mode: leave it first"),
        **dict.fromkeys((*NEEDS_PATTERN, "pattern_add"), "Leave Edit Mode first"),
        "weight_lines": "Go to Object, Pose or Weight Paint Mode first",
    },
    "armature in Edit Mode": dict.fromkeys(
        ("weights_auto", "weights_smooth", "weights_mirror", "weights_check", "correct_pose", "corrections_from"),
        "'Rig' is in Edit Mode: leave it first",
    ),
    "no armature in the modifier": {
        **dict.fromkeys(
            ("bind", "measure", "correct_pose", "corrections_from"),
            "'Armature' of 'Tube' has no armature: choose an armature",
        ),
        **dict.fromkeys([name for name in ON_WEIGHTS if name not in ("weight_lines", "weights_transfer")], NO_ARMATURE),
        "pattern_add": "'Tube' has no armature to drive patterns: parent it to an armature first",
    },
    "no modifier": {
        "bind": "'Tube' has no Armature modifier: parent it to an armature first",
        **dict.fromkeys(("measure", "correct_pose", "corrections_from", *NEEDS_CORRECTION), SELECT),
        **dict.fromkeys([name for name in ON_WEIGHTS if name not in ("weight_lines", "weights_transfer")], NO_ARMATURE),
        "weight_lines": SELECT,
        "pattern_add": "'Tube' has no armature to drive patterns: parent it to an armature first",
    },
    "no deforming bone": {
        **dict.fromkeys(("bind", "measure", "correct_pose"), "'Rig' has no deforming bones: turn on Deform"),
        **dict.fromkeys(
            [name for name in ON_WEIGHTS if name not in ("weight_lines", "weights_transfer", "weights_clean")],
            "'Rig' has no deforming bone: turn on Deform",
        ),
        "weight_lines": "is not a deforming bone: select another, or turn on Deform",
    },
    "a mesh that is not bound": {
        **dict.fromkeys((*NEEDS_BIND, *NEEDS_CORRECTION), SELECT),
        **dict.fromkeys(NEEDS_PATTERN, "Add a pattern first"),
        "weights_transfer": "Select a mesh that has an Armature modifier last",
    },
}


@pytest.mark.parametrize("situation", REFUSED)
def test_what_an_operator_is_not_for(situation: str, case: Case) -> None:
    add_body()
    SITUATIONS[situation]()
    update()
    before, mode = read_state(), bpy.context.mode
    for name, words in REFUSED[situation].items():
        with case(name):
            with pytest.raises(RuntimeError) as found:
                getattr(bpy.ops.supple, name)(**GIVEN.get(name, {}))
            assert words in str(found.value)
            assert bpy.context.mode == mode
    assert find_changes(before) == []


NOT_WHILE_BOUND = {
    "bake_cache": ({}, "No file to bake to: choose a PC2 file"),
    "bake_shape_keys": (
        {"frame_start": 5, "frame_end": 1},
        "runs backwards: choose an end that is not before the start",
    ),
    "make_independent": ({}, "Select a mesh that is bound, and deformed without Supple"),
    "clear_bake": ({}, "Select a mesh that Supple has baked"),
    "pattern_remove": ({"index": 2**31 - 1}, "choose a pattern in the list"),
    "pattern_mirror": ({"index": 5}, "choose a pattern in the list"),
    "pattern_place": ({}, "No location was given"),
    "pattern_stroke": ({}, "A stroke needs at least 2 points"),
    "pattern_forget": ({"preset": "USER_../../x"}, "only patterns that you have saved can be removed"),
    "weight_lines": ({"bone": "no such bone"}, "is not a deforming bone"),
}


def test_wrong_arguments_on_a_bound_mesh(case: Case) -> None:
    obj, _ = add_body()
    add_own(obj)
    bind(obj, method="SSD", evaluate="PYTHON")
    for name, (given, words) in NOT_WHILE_BOUND.items():
        with case(name):
            refuse(words, getattr(bpy.ops.supple, name), **given)
