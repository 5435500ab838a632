"""What the extension adds to Blender is there once while it is enabled, and gone when it is not."""

import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from types import SimpleNamespace

import bpy
import addon_utils
import pytest

import checkout
from panels import Recorder, draw
from scenes import add_tube, bind, reset, select, turn
from supple import live
from supple.deformers import METHODS
from supple.settings.choices import store_of
from supple.settings.objects import settings_of
from supple.settings.properties import CUT_OFF
from supple.tasks.skin import by_python
from supple.tasks.skin import live as skin
from supple.ui import manual, menus, preferences
from supple.ui.corrections import HINT, TOOLS
from supple.ui.first import NOTHING
from supple.viewport import ghosts, heat, outlines, pins
from supple.viewport import weights as weight_overlay

OPERATORS = (
    "asset_library_add", "asset_library_remove",
    "bake_cache", "bake_shape_keys", "bind", "check", "check_close", "check_dismiss", "check_fix", "check_fix_all",
    "check_show", "clear_bake",
    "clear_pins", "close_report", "correct_pose", "correction_discard", "correction_edit", "correction_keep",
    "correction_pose",
    "correction_remove", "correction_select", "corrections_from", "drag_skin", "engine_copy",
    "engine_copy_export", "engine_copy_frame", "engine_copy_show", "example_add", "fit_skeleton",
    "flesh_add", "flesh_close", "flesh_pick", "flesh_remove", "flesh_take", "flip",
    "handles_add", "handles_remove", "layers_add", "layers_limbs", "layers_mend", "layers_remove", "make",
    "make_independent",
    "measure", "swing_add", "swing_remove", "swing_update", "motion_compare", "motion_join", "motion_loop",
    "pattern_add", "pattern_forget", "pattern_maps", "pattern_mirror", "pattern_place", "pattern_remove",
    "pattern_remove_all", "pattern_save", "pattern_set_add", "pattern_stroke", "remedy", "send_to_farm",
    "side_by_side", "unbind", "update", "weight_lines",
    "weights_auto", "weights_brush", "weights_check", "weights_clean", "weights_limit", "weights_mirror",
    "weights_normalize", "weights_prune", "weights_select", "weights_sharpen", "weights_smooth", "weights_stiffen",
    "weights_transfer",
)  # fmt: skip
CHANGE_NOTHING = {"asset_library_add", "asset_library_remove", "check_close",
    "check", "engine_copy_export", "flesh_close", "flesh_pick",
    "measure", "pattern_forget", "pattern_maps", "send_to_farm", "side_by_side",
}  # fmt: skip
"""Operators that leave the scene as it is."""
NEED_NOTHING = {
    "asset_library_add",
    "asset_library_remove",
    "close_report",
    "example_add",
    "flesh_close",
    "pattern_forget",
}
"""Operators that do without a selection."""

PROPERTIES = [
    "Action.supple_is_copied", "Object.supple", "Object.supple_engine_copy", "Armature.supple",
    "Scene.supple_drag", "Scene.supple_character", "Scene.supple_weights", "Scene.supple_motion",
    "WindowManager.supple_show_weights", "WindowManager.supple_weight_colors",
    "WindowManager.supple_pattern_part", "WindowManager.supple_ghosts", "WindowManager.supple_check",
    "WindowManager.supple_preset",
]  # fmt: skip
HANDLERS = (
    *live.HANDLERS, *outlines.HANDLERS, *weight_overlay.HANDLERS, *ghosts.HANDLERS, *heat.HANDLERS, *pins.HANDLERS,
)  # fmt: skip


FIRST, FINE_TUNE = "VIEW3D_PT_supple", "VIEW3D_PT_supple_fine_tune"
CORRECTIONS, HAND_OVER = "VIEW3D_PT_supple_corrections", "VIEW3D_PT_supple_hand_over"


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
        timer = sys.modules[skin.__name__].come_back  # enabling has imported the module anew
        bpy.app.timers.register(timer, first_interval=1e6)
        addon_utils.disable(checkout.MODULE, default_set=True)
        assert (handlers(), classes(), properties(), operators()) == ([], [], [], [])
        assert not bpy.app.timers.is_registered(timer)


def test_what_is_bound_is_taken_up_by_a_timer_where_the_file_is_out_of_reach(monkeypatch):
    obj, _ = add_tube()
    bind(obj)
    live.unregister()
    try:
        with monkeypatch.context() as restricted:
            restricted.setattr(bpy, "data", object())
            live.register()
        assert bpy.app.timers.is_registered(skin.take_up)
        assert by_python.find(obj) is None
        skin.take_up()
        bpy.context.view_layer.update()
        assert by_python.find(obj) is not None
    finally:
        live.unregister()
        live.register()
    assert not bpy.app.timers.is_registered(skin.take_up)


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


def test_each_operator_says_what_to_select(subtests):
    meshes = "is bound|has (an Armature|patterns)|Supple has baked|an earlier version"
    wanted = f"Select (the (armature|meshes of one)|a mesh that ({meshes}))"
    for name in sorted(set(OPERATORS) - NEED_NOTHING):
        with subtests.test(name), pytest.raises(RuntimeError, match=rf"poll\(\).*{wanted}"):
            getattr(bpy.ops.supple, name)()


def test_each_operator_can_be_undone(subtests):
    for name in sorted(set(OPERATORS) - CHANGE_NOTHING):
        with subtests.test(name):
            assert {"REGISTER", "UNDO"} <= getattr(bpy.ops.supple, name).bl_options


BELOW = [
    f"VIEW3D_PT_supple_{name}" for name in ("fine_tune", "weights", "patterns", "corrections", "hand_over", "motion")
]


def test_panels_without_a_mesh():
    assert draw(FIRST) == [NOTHING, "supple.example_add"]
    assert [draw(name) for name in BELOW] == [[]] * len(BELOW)


def test_panels_of_an_armature():
    obj, armature = add_tube()
    select(armature)
    assert "supple.make" in draw(FIRST)
    assert draw(HAND_OVER) == []
    bind(obj, method="SSD")
    select(armature)
    assert "supple.unbind" in draw(FINE_TUNE)
    assert "supple.send_to_farm" in draw(HAND_OVER)


NOT_IN_MENUS = {
    "asset_library_add", "asset_library_remove", "close_report", "drag_skin", "flesh_close", "flesh_take", "remedy",
    "pattern_forget",
    "weights_brush",
}  # fmt: skip
"""Operators of a button of a panel, as a report, a mesh's message, an entry of the library; of tools, and of the
preferences."""


def test_menus_hold_all_operators():
    """Blender's menu search finds what is in a menu."""
    shown = []
    for name in (name for name in dir(bpy.types) if name.startswith("VIEW3D_MT_supple") and "pie" not in name):
        getattr(bpy.types, name).draw(SimpleNamespace(layout=Recorder(shown)), bpy.context)
    for menu, draw_end in menus.PLACES_IN_BLENDER:
        if menu.endswith("_add"):
            draw_end(SimpleNamespace(layout=Recorder(shown)), bpy.context)
    found = {text.removeprefix("supple.").partition(":")[0] for text in shown if text.startswith("supple.")}
    assert found == set(OPERATORS) - NOT_IN_MENUS


def test_the_pie_menu_holds_the_main_actions():
    shown = []
    bpy.types.VIEW3D_MT_supple_pie.draw(SimpleNamespace(layout=Recorder(shown)), bpy.context)
    assert shown == [
        f"supple.{name}" for name in ("bind", "unbind", "make", "flip", "side_by_side", "check", "bake_cache")
    ]


def test_the_pie_menu_has_a_key_to_be_set():
    """In a window: without one, Blender has no keymaps of add-ons."""
    keymap = SimpleNamespace(keymap_items=Keys())
    manager = SimpleNamespace(keyconfigs=SimpleNamespace(addon=SimpleNamespace(keymaps=Keymaps({"3D View": keymap}))))
    preferences.add_key(manager)
    (item,) = keymap.keymap_items
    assert (item.idname, item.type, item.properties.name) == ("wm.call_menu_pie", "NONE", "VIEW3D_MT_supple_pie")
    assert preferences.find_key(manager.keyconfigs.addon) == item
    preferences.remove_key(manager)
    assert list(keymap.keymap_items) == []


class Keys(list):
    def new(self, idname: str, key: str, _value: str) -> SimpleNamespace:
        self.append(SimpleNamespace(idname=idname, type=key, properties=SimpleNamespace(name="")))
        return self[-1]


class Keymaps(dict):
    def new(self, name: str, space_type: str) -> SimpleNamespace:
        assert space_type == "VIEW_3D"
        return self[name]


def test_f1_and_question_marks_lead_to_the_site_of_this_version():
    manifest = tomllib.loads(
        (Path(__file__).resolve().parents[2] / "blender_manifest.toml").read_text(encoding="utf-8")
    )
    prefix, mapping = manual.list_addresses()
    assert prefix == f"{manifest['website']}{manifest['version'].rpartition('.')[0]}/"
    assert mapping[0] == ("bpy.ops.supple.weights_brush*", "weights.html#the-brush")
    assert manual.find_page(getattr(bpy.types, FIRST).page) == f"{prefix}overview.html#first-result"
    assert all(any(fnmatch(f"bpy.ops.supple.{name}", pattern) for pattern, _ in mapping) for name in OPERATORS)


@pytest.mark.versions
def test_blenders_menus_have_them_once(disabled):
    def count() -> dict[str, int]:
        drawn = {menu: getattr(bpy.types, menu)._dyn_ui_initialize() for menu, _ in menus.PLACES_IN_BLENDER}  # noqa: SLF001
        return {menu: sum("supple" in one.__module__ for one in functions) for menu, functions in drawn.items()}

    assert set(count().values()) == {0}
    addon_utils.enable(checkout.MODULE, default_set=True)
    assert set(count().values()) == {1}


def test_what_can_not_be_changed_is_disabled():
    obj, armature = add_tube()
    bone = armature.data.bones[1]
    bind(obj)
    disabled: list[str] = []
    assert draw("BONE_PT_supple", disabled, bone=bone) == ["has_sharpness", "sharpness", "spread_twist"]
    assert disabled == ["sharpness"]
    disabled.clear()
    bone.supple.has_sharpness = True
    draw("BONE_PT_supple", disabled, bone=bone)
    assert disabled == []


def test_properties_of_choices_have_the_limits_of_methods(subtests):
    obj, _ = add_tube()
    for method in METHODS.values():
        store = store_of(settings_of(obj), method).bl_rna.properties
        for choice in (choice for choice in method.choices if not choice.items):
            with subtests.test(method=method.key, choice=choice.name):
                prop = store[choice.name]
                assert prop.hard_min == pytest.approx(choice.lowest)
                assert prop.hard_max == pytest.approx(choice.highest)


def rna_of(cls: type) -> bpy.types.Struct:
    """What Blender knows of a class: of an operator, with its properties."""
    if issubclass(cls, bpy.types.Operator):
        return getattr(bpy.ops.supple, cls.bl_idname.partition(".")[2]).get_rna_type()
    return cls.bl_rna


def test_every_float_has_limits(subtests):
    """Infinity and numbers with which nothing can be computed are never stored: Blender cuts them off."""
    kinds = (bpy.types.PropertyGroup, bpy.types.Operator, bpy.types.AddonPreferences)
    classes = [each for kind in kinds for each in kind.__subclasses__() if "supple" in each.__module__]
    found = 0
    for each in classes:
        for prop in rna_of(each).properties:
            if prop.type == "FLOAT":
                found += 1
                with subtests.test(owner=each.__name__, name=prop.identifier):
                    assert -1.001 * CUT_OFF < prop.hard_min < prop.hard_max < 1.001 * CUT_OFF
                    assert prop.hard_min <= prop.soft_min < prop.soft_max <= prop.hard_max
    assert found > 60


def test_panels_before_bind():
    obj, _ = add_tube()
    assert draw(FIRST) == ["supple.make", "supple.make: look", "supple.check", "supple.side_by_side"]
    for key in ("DLB", "DLBNT", "SSD", "CENTERS"):
        settings_of(obj).method = key
        assert draw(FINE_TUNE) == [*list_settings(key), "supple.bind"]
    assert draw(HAND_OVER) == []


def list_settings(key: str) -> list[str]:
    """What the Fine Tune panel has of a method."""
    method = METHODS[key]
    return ["method", method.tooltip, *(choice.name for choice in method.choices), "twist", "linear_group"]


@pytest.mark.versions
@pytest.mark.usefixtures("evaluator")
def test_panels_of_a_bound_object(evaluator):
    obj, _ = add_tube()
    bind(obj, method="DLBNT")
    first = ["supple.make: look", "supple.flip", "supple.side_by_side", "supple.check", "supple.correct_pose"]
    assert draw(FIRST) == first
    assert draw(FINE_TUNE) == [*list_settings("DLBNT"), "supple.bind", "supple.unbind"]
    others = [f"supple.{name}" for name in ("send_to_farm", "engine_copy", "make_independent")]
    assert draw(HAND_OVER)[1:] == others[: 3 if evaluator == "BLENDER" else 2]
    settings_of(obj).message = "Something is wrong"
    assert draw(FIRST) == [*first, "Something is wrong"]
    settings_of(obj).bake = "PC2"
    shown = draw(HAND_OVER)
    assert shown[shown.index("Deformed by: Point Cache") + 1] == "supple.clear_bake"


def test_the_panel_tells_why_blenders_modifiers_do_not_deform():
    obj, _ = add_tube()
    settings_of(obj).evaluate_problem = "It has B-Bones"
    assert "It has B-Bones" not in draw(FINE_TUNE)
    settings_of(obj).evaluate = "PYTHON"
    shown = draw(FINE_TUNE)
    assert shown[shown.index("twist") + 1] == "It has B-Bones"


def draw_menu(name: str) -> list[str]:
    shown = []
    getattr(bpy.types, f"VIEW3D_MT_supple_{name}").draw(SimpleNamespace(layout=Recorder(shown)), bpy.context)
    return shown


WEIGHT_TOOLS = [
    "supple.weights_smooth", "supple.weights_smooth", "supple.weights_sharpen", "supple.weights_normalize",
    "supple.weights_limit", "supple.weights_prune", "supple.weights_stiffen", "supple.weights_mirror",
    "supple.weights_transfer", "supple.weights_clean", "supple.handles_add", "supple.handles_remove",
]  # fmt: skip


def test_weight_panels_of_a_mesh():
    obj, armature = add_tube(rings=12, sides=8)
    panel = "VIEW3D_PT_supple_weights"
    method, explained, *rest = draw(panel)
    words = ["Bone Limit", "limit", "prune", "Resolution", "resolution"]
    ends = ["supple.weights_auto", "supple.weight_lines", "supple_show_weights"]
    assert (method, rest) == ("method", ["mode", "only_selected_bones", *words, *ends])
    assert explained.startswith("Heat spreads from the bones through the inside of the mesh")
    assert draw_menu("weights_edit") == WEIGHT_TOOLS
    assert draw_menu("weights_check") == ["supple.weights_check", "supple.weights_select: kind"]
    bpy.context.scene.supple_weights.limit = 4
    bpy.context.scene.supple_weights.method = "BIHARMONIC"
    assert draw(panel)[4:8] == ["limit", "prune", "Cells", "cells"]
    settings_of(obj).weights_report = "This is so.\nAnd that, too."
    shown, closed = draw(panel), ["This is so.", "And that, too.", "supple.close_report"]
    assert shown[shown.index("supple.weights_auto") + 1 :][:3] == closed
    bpy.context.window_manager.supple_show_weights = True
    assert draw(panel)[-1] == "supple_weight_colors"
    bpy.context.window_manager.supple_show_weights = False
    select(armature)
    assert "This is so." not in draw(panel)


def test_the_panel_of_corrections():
    obj, armature = add_tube()
    makes = ["supple.correct_pose"] * 3 + ["supple.corrections_from"] * 2
    makes += ["supple.flesh_add", "supple.flesh_pick", "supple.flesh_remove"]
    edits = [f"supple.correction_{name}" for name in ("edit", "pose", "select", "remove")]
    assert draw_menu("correct") == makes
    assert draw(CORRECTIONS) == [HINT]
    select(armature)
    assert draw(CORRECTIONS) == [obj.name, HINT]
    select(obj)
    settings_of(obj).corrections.add().name = "Gone"
    shown = draw(CORRECTIONS)
    assert shown[0].startswith("Shape key 'Gone' was deleted or renamed")
    assert shown[1:] == edits


def test_the_panel_of_a_correction_that_is_under_way():
    obj, armature = add_tube()
    turn(armature, "bone.1", (0.0, 0.0, 1.0))
    select(obj)
    bpy.ops.supple.correct_pose(mode="OBJECT")
    ends = ["supple.correction_keep", "supple.correction_discard"]
    for active in (bpy.context.active_object, armature):
        select(active)
        assert [draw(name) for name in BELOW] == [[]] * len(BELOW)
        assert draw(FIRST) == ["'Tube' in this pose", TOOLS, *ends]
    select(settings_of(obj).posed_copy)
    bpy.ops.object.delete()
    select(armature)
    assert draw(FIRST)[0].startswith("The posed copy of 'Tube' was deleted")
