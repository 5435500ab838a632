"""What the extension adds to Blender is there once while it is enabled, and gone when it is not."""

import sys
from collections.abc import Iterator
from types import SimpleNamespace

import bpy
import addon_utils
import pytest

import checkout
from panels import Recorder, draw
from scenes import add_tube, bind, reset, select, turn
from supple import preview
from supple.deformers import METHODS
from supple.deformers.option import UNLIMITED
from supple.settings.choices import store_of
from supple.settings.objects import settings_of
from supple.tasks.skin import by_nodes
from supple.ui import menus
from supple.ui.corrections import TOOLS
from supple.viewport import ghosts, heat, outlines, pins
from supple.viewport import weights as weight_overlay

OPERATORS = (
    "bake_cache", "bake_shape_keys", "bind", "check", "check_close", "check_dismiss", "check_fix", "check_fix_all",
    "check_show", "clear_bake",
    "clear_pins", "close_report", "correct_pose", "correction_discard", "correction_edit", "correction_keep",
    "correction_pose",
    "correction_remove", "correction_select", "corrections_from", "drag_skin", "engine_copy",
    "engine_copy_export", "engine_copy_frame", "engine_copy_show", "flesh_add", "flesh_remove", "flip",
    "handles_add", "handles_remove", "make", "make_independent",
    "measure", "motion_compare", "motion_join", "motion_loop",
    "pattern_add", "pattern_forget", "pattern_maps", "pattern_mirror", "pattern_place", "pattern_remove",
    "pattern_remove_all", "pattern_save", "pattern_set_add", "pattern_stroke", "remedy", "send_to_farm",
    "side_by_side", "unbind", "weight_lines",
    "weights_auto", "weights_brush", "weights_check", "weights_clean", "weights_limit", "weights_mirror",
    "weights_normalize", "weights_prune", "weights_select", "weights_sharpen", "weights_smooth", "weights_stiffen",
    "weights_transfer",
)  # fmt: skip
CHANGE_NOTHING = {"check_close",
    "check", "engine_copy_export", "measure", "pattern_forget", "pattern_maps", "send_to_farm", "side_by_side",
}  # fmt: skip
"""Operators that leave the scene as it is."""

PROPERTIES = [
    "Action.supple_is_copied", "Object.supple", "Object.supple_engine_copy", "Scene.supple_drag",
    "Scene.supple_character", "Scene.supple_weights", "Scene.supple_motion",
    "WindowManager.supple_show_weights", "WindowManager.supple_weight_colors",
    "WindowManager.supple_ghosts", "WindowManager.supple_check",
    "WindowManager.supple_preset",
]  # fmt: skip
HANDLERS = (
    *preview.HANDLERS, *outlines.HANDLERS, *weight_overlay.HANDLERS, *ghosts.HANDLERS, *heat.HANDLERS, *pins.HANDLERS,
)  # fmt: skip


CORRECTIONS = "VIEW3D_PT_supple_corrections"


def handlers() -> list[str]:
    """All of the extension's handlers, as "list: function"."""
    found = []
    for name in dir(bpy.app.handlers):
        functions = getattr(bpy.app.handlers, name)
        if isinstance(functions, list):
            found += [f"{name}: {function.__name__}" for function in functions if "supple" in function.__module__]
    return sorted(found)


def classes() -> list[str]:
    """Names of the extension's classes."""
    bases = (
        bpy.types.Operator, bpy.types.Panel, bpy.types.PropertyGroup, bpy.types.Menu, bpy.types.AddonPreferences,
        bpy.types.UIList,
    )  # fmt: skip
    return sorted(
        cls.__name__
        for base in bases
        for cls in base.__subclasses__()
        if "supple" in cls.__module__ and "bl_rna" in vars(cls)
    )


def properties() -> list[str]:
    """Properties that were added to Blender's own types, "Object.supple"."""
    owners = [getattr(bpy.types, name) for name in ("Action", "Object", "Mesh", "Armature", "Scene", "WindowManager")]
    names = [(owner.__name__, prop.identifier) for owner in owners for prop in owner.bl_rna.properties]
    return [f"{owner}.{name}" for owner, name in names if "supple" in name]


def operators() -> list[str]:
    return sorted(dir(bpy.ops.supple))


@pytest.fixture
def disabled() -> Iterator[None]:
    """Disable the extension for a test, and leave it enabled in any case."""
    addon_utils.disable(checkout.MODULE, default_set=True)
    try:
        yield
    finally:
        if not addon_utils.check(checkout.MODULE)[1]:
            addon_utils.enable(checkout.MODULE, default_set=True)


@pytest.mark.versions
def test_each_handler_is_in_once_and_outlives_opening_a_file():
    expected = sorted(f"{name}: {handler.__name__}" for name, handler in HANDLERS)
    assert handlers() == expected
    reset()
    assert handlers() == expected


@pytest.mark.versions
def test_the_operators_are_the_expected_ones():
    assert operators() == sorted(OPERATORS)
    assert properties() == PROPERTIES


@pytest.mark.versions
def test_enabling_twice_gives_everything_once_and_disabling_leaves_nothing(disabled):
    for _ in range(2):
        assert addon_utils.enable(checkout.MODULE, default_set=True) is not None
        once = (handlers(), classes(), properties(), operators())
        assert len(once[0]) == len(HANDLERS)
        assert "ObjectSettings" in once[1]
        assert len(once[1]) == len(set(once[1])) > len(OPERATORS)
        assert once[2:] == (PROPERTIES, sorted(OPERATORS))
        timer = sys.modules[preview.__name__].come_back  # enabling has imported the module anew
        bpy.app.timers.register(timer, first_interval=1e6)
        addon_utils.disable(checkout.MODULE, default_set=True)
        assert (handlers(), classes(), properties(), operators()) == ([], [], [], [])
        assert not bpy.app.timers.is_registered(timer)


def test_what_is_bound_is_taken_up_by_a_timer_where_the_file_is_out_of_reach(monkeypatch):
    obj, _ = add_tube()
    bind(obj, method="DLBNT", evaluate="NODES")
    preview.unregister()
    try:
        with monkeypatch.context() as restricted:
            restricted.setattr(bpy, "data", object())
            preview.register()
        assert bpy.app.timers.is_registered(preview.take_up)
        assert not by_nodes.is_up_to_date(obj)
        preview.take_up()
        bpy.context.view_layer.update()
        assert by_nodes.is_up_to_date(obj)
    finally:
        preview.unregister()
        preview.register()
    assert not bpy.app.timers.is_registered(preview.take_up)


@pytest.mark.versions
def test_the_command_of_the_command_line_is_taken_back(disabled, monkeypatch):
    registered, given_back = [], []
    add, remove = bpy.utils.register_cli_command, bpy.utils.unregister_cli_command
    monkeypatch.setattr(
        bpy.utils, "register_cli_command", lambda *arguments: registered.append(add(*arguments)) or registered[-1]
    )
    monkeypatch.setattr(
        bpy.utils, "unregister_cli_command", lambda command: given_back.append(command) or remove(command)
    )
    for _ in range(2):
        addon_utils.enable(checkout.MODULE, default_set=True)
        addon_utils.disable(checkout.MODULE, default_set=True)
    assert len(registered) == 2
    assert given_back == registered


@pytest.mark.versions
def test_enabling_again_keeps_the_settings_of_objects():
    obj, _ = add_tube()
    settings_of(obj).method, settings_of(obj).linear_group = "DLB", "linear"
    addon_utils.disable(checkout.MODULE, default_set=True)
    assert addon_utils.enable(checkout.MODULE, default_set=True) is not None
    assert (settings_of(obj).method, settings_of(obj).linear_group) == ("DLB", "linear")


@pytest.mark.versions
def test_each_operator_is_described(subtests):
    for name in OPERATORS:
        with subtests.test(name):
            operator = getattr(bpy.ops.supple, name).get_rna_type()
            assert operator.name
            assert len(operator.description) > 20
            assert not operator.description.endswith(".")
            for prop in operator.properties:
                if prop.identifier != "rna_type" and not prop.is_hidden:
                    assert not prop.description.endswith("."), prop.identifier


@pytest.mark.versions
def test_each_operator_says_what_to_select(subtests):
    wanted = "Select (the armature|a mesh that (is bound|has (an Armature|patterns)|Supple has baked))"
    for name in sorted(set(OPERATORS) - {"close_report", "pattern_forget"}):
        with subtests.test(name), pytest.raises(RuntimeError, match=rf"poll\(\).*{wanted}"):
            getattr(bpy.ops.supple, name)()


def test_each_operator_can_be_undone(subtests):
    for name in sorted(set(OPERATORS) - CHANGE_NOTHING):
        with subtests.test(name):
            assert {"REGISTER", "UNDO"} <= getattr(bpy.ops.supple, name).bl_options


def test_panels_without_a_mesh():
    assert "Select a mesh" in " ".join(draw("VIEW3D_PT_supple_skin"))
    assert draw("VIEW3D_PT_supple_bake") == []
    assert draw("VIEW3D_PT_supple_weights") == ["Select a mesh and its armature"]
    assert draw("VIEW3D_PT_supple_handles") == []
    assert [draw(f"VIEW3D_PT_supple_weights_{part}") for part in ("options", "edit", "check")] == [[], [], []]
    assert draw(CORRECTIONS) == draw("VIEW3D_PT_supple_correcting") == []


def test_panels_of_an_armature():
    obj, armature = add_tube()
    select(armature)
    assert "supple.bind" in draw("VIEW3D_PT_supple_skin")
    assert draw("VIEW3D_PT_supple_bake") == []
    bind(obj, method="SSD")
    select(armature)
    assert "supple.unbind" in draw("VIEW3D_PT_supple_skin")


NOT_IN_MENUS = {"close_report", "drag_skin", "remedy", "pattern_forget", "weights_brush"}
"""Operators of a button of a panel, as a report, a mesh's message, an entry of the library; and of tools."""


def test_menus_hold_all_operators():
    """Blender's menu search finds what is in a menu."""
    shown = []
    for name in ("VIEW3D_MT_supple", "VIEW3D_MT_supple_corrections", "VIEW3D_MT_supple_weights"):
        getattr(bpy.types, name).draw(SimpleNamespace(layout=Recorder(shown)), bpy.context)
    found = {text.removeprefix("supple.").partition(":")[0] for text in shown if text.startswith("supple.")}
    assert found == set(OPERATORS) - NOT_IN_MENUS


def test_the_pie_menu_holds_the_main_actions():
    shown = []
    bpy.types.VIEW3D_MT_supple_pie.draw(SimpleNamespace(layout=Recorder(shown)), bpy.context)
    assert shown == [
        f"supple.{name}" for name in ("bind", "unbind", "make", "flip", "side_by_side", "check", "bake_cache")
    ]


def test_no_key_opens_the_pie_menu():
    configured = bpy.context.window_manager.keyconfigs.addon
    items = [item for keymap in configured.keymaps for item in keymap.keymap_items] if configured else []
    assert not [item for item in items if getattr(item.properties, "name", "") == "VIEW3D_MT_supple_pie"]


@pytest.mark.versions
def test_blenders_menus_have_them_once(disabled):
    def count() -> dict[str, int]:
        drawn = {menu: getattr(bpy.types, menu)._dyn_ui_initialize() for menu, _ in menus.PLACES}  # noqa: SLF001
        return {menu: sum("supple" in one.__module__ for one in functions) for menu, functions in drawn.items()}

    assert set(count().values()) == {0}
    addon_utils.enable(checkout.MODULE, default_set=True)
    assert set(count().values()) == {1}


def test_what_can_not_be_changed_is_disabled():
    obj, armature = add_tube()
    bone = armature.data.bones[1]
    bind(obj)
    disabled: list[str] = []
    assert "evaluate" in draw("VIEW3D_PT_supple_skin", disabled)
    shown = draw("BONE_PT_supple", disabled, bone=bone)
    assert shown == ["has_sharpness", "sharpness", "has_twist", "twist", "spread_twist"]
    assert disabled == ["sharpness", "twist"]
    disabled.clear()
    bone.supple.has_twist = True
    bpy.ops.object.mode_set(mode="EDIT")
    draw("VIEW3D_PT_supple_skin", disabled)
    draw("BONE_PT_supple", disabled, bone=bone)
    assert disabled == ["evaluate", "sharpness"]


@pytest.mark.versions
def test_properties_of_choices_have_the_limits_of_methods(subtests):
    obj, _ = add_tube()
    for method in METHODS.values():
        store = store_of(settings_of(obj), method).bl_rna.properties
        for choice in (choice for choice in method.choices if not choice.items):
            with subtests.test(method=method.key, choice=choice.name):
                prop = store[choice.property_name]
                assert prop.hard_min == pytest.approx(choice.lowest)
                assert (prop.hard_max == pytest.approx(choice.highest)) == (choice.highest < UNLIMITED)


def test_panels_before_bind():
    obj, _ = add_tube()
    limits, rest = ["bulge_limit", "contact"], ["twist", "evaluate", "linear_group", "supple.bind", "supple.make"]
    settings_of(obj).method = "DLBNT"
    assert draw("VIEW3D_PT_supple_skin") == ["method", METHODS["DLBNT"].tooltip, "order", "limb_roots", *limits, *rest]
    settings_of(obj).method = "SSD"
    assert draw("VIEW3D_PT_supple_skin") == ["method", METHODS["SSD"].tooltip, *limits, *rest]
    settings_of(obj).method = "CENTERS"
    limits = ["centers_bulge_limit", "centers_contact"]
    assert draw("VIEW3D_PT_supple_skin") == ["method", METHODS["CENTERS"].tooltip, "sharpness", *limits, *rest]
    assert draw("VIEW3D_PT_supple_bake") == []


@pytest.mark.versions
@pytest.mark.usefixtures("evaluator", "built_groups_if_evaluated")
def test_panels_of_a_bound_object(evaluator):
    obj, _ = add_tube()
    bind(obj, method="DLBNT")
    shown = ["method", METHODS["DLBNT"].tooltip, "order", "limb_roots", "bulge_limit", "contact", "twist"]
    shown += ["evaluate", "linear_group", "supple.bind", "supple.unbind", "supple.flip"]
    if evaluator == "NODES":
        shown.append("supple.make_independent")
    assert draw("VIEW3D_PT_supple_skin") == shown
    assert draw("VIEW3D_PT_supple_bake") == [
        f"supple.{name}" for name in ("bake_cache", "bake_shape_keys", "send_to_farm")
    ]
    settings_of(obj).message = "Something is wrong"
    assert draw("VIEW3D_PT_supple_skin") == [*shown, "Something is wrong"]
    settings_of(obj).bake = "PC2"
    assert draw("VIEW3D_PT_supple_bake")[-2:] == ["Deformed by: Point Cache", "supple.clear_bake"]


def test_panels_tell_why_an_object_is_not_evaluated_by_nodes():
    obj, _ = add_tube()
    settings_of(obj).evaluate_problem = "It has B-Bones"
    assert "It has B-Bones" not in draw("VIEW3D_PT_supple_skin")
    settings_of(obj).evaluate = "PYTHON"
    shown = draw("VIEW3D_PT_supple_skin")
    assert shown[shown.index("evaluate") + 1] == "It has B-Bones"


WEIGHT_TOOLS = [
    "supple.weight_lines",
    "supple.weights_smooth", "supple.weights_smooth", "supple.weights_sharpen", "supple.weights_normalize",
    "supple.weights_limit", "supple.weights_prune", "supple.weights_stiffen", "supple.weights_mirror",
    "supple.weights_transfer", "supple.weights_clean",
]  # fmt: skip


def test_weight_panels_of_a_mesh():
    obj, armature = add_tube(rings=12, sides=8)
    method, explained, *rest = draw("VIEW3D_PT_supple_weights")
    assert (method, rest) == ("method", ["mode", "supple.weights_auto", "supple_show_weights"])
    assert explained.startswith("Heat spreads from the bones through the inside of the mesh")
    options = ["only_selected_bones", "use_mesh_mirror_x", "limit", "prune", "resolution"]
    assert draw("VIEW3D_PT_supple_weights_options") == options
    assert draw("VIEW3D_PT_supple_weights_edit") == WEIGHT_TOOLS
    assert draw("VIEW3D_PT_supple_weights_check") == ["supple.weights_check", "supple.weights_select: kind"]
    assert draw("VIEW3D_PT_supple_handles") == ["supple.handles_add", "supple.handles_remove"]
    bpy.context.scene.supple_weights.method = "BIHARMONIC"
    assert draw("VIEW3D_PT_supple_weights_options") == [*options[:-1], "cells"]
    settings_of(obj).weights_report = "This is so.\nAnd that, too."
    closed = ["This is so.", "And that, too.", "supple.close_report"]
    assert draw("VIEW3D_PT_supple_weights")[-4:-1] == closed
    bpy.context.window_manager.supple_show_weights = True
    assert draw("VIEW3D_PT_supple_weights")[-1] == "supple_weight_colors"
    bpy.context.window_manager.supple_show_weights = False
    select(armature)
    assert "use_mesh_mirror_x" not in draw("VIEW3D_PT_supple_weights_options")
    assert "This is so." not in draw("VIEW3D_PT_supple_weights")


def test_the_panel_of_corrections():
    obj, armature = add_tube()
    begins = ["supple.correct_pose"] * 3
    makes = ["supple.flesh_add", *["supple.corrections_from"] * 2]
    edits = [f"supple.correction_{name}" for name in ("edit", "pose", "select", "remove")]
    assert draw(CORRECTIONS)[1:] == [*begins, *makes]
    select(armature)
    assert draw(CORRECTIONS)[1:] == [*begins, obj.name, *makes]
    select(obj)
    settings_of(obj).corrections.add().name = "Gone"
    shown = draw(CORRECTIONS)
    assert shown[1:4] == begins
    assert shown[4].startswith("Shape key 'Gone' was deleted or renamed")
    assert shown[5:] == [*edits, *makes]


def test_the_panel_of_a_correction_that_is_under_way():
    obj, armature = add_tube()
    turn(armature, "bone.1", (0.0, 0.0, 1.0))
    select(obj)
    bpy.ops.supple.correct_pose(mode="OBJECT")
    ends = ["supple.correction_keep", "supple.correction_discard"]
    for active in (bpy.context.active_object, armature):
        select(active)
        assert draw(CORRECTIONS) == []
        assert draw("VIEW3D_PT_supple_correcting") == ["'Tube' in this pose", TOOLS, *ends]
    select(settings_of(obj).posed_copy)
    assert draw("VIEW3D_PT_supple_skin") == []
    bpy.ops.object.delete()
    select(armature)
    assert draw("VIEW3D_PT_supple_correcting")[0].startswith("The posed copy of 'Tube' was deleted")
