"""Supple in Japanese: labels that Blender looks up, messages with values, panels."""

from __future__ import annotations

import re
from types import SimpleNamespace

import bpy
import pytest

from panels import draw
from scenes import add_tube, bind, select
from supple import translations
from supple.settings.objects import settings_of
from supple.translations import read_phrases, translate
from supple.translations.phrases import Phrases, make_code

TABLE = {
    "Particles": "パーティクル",
    "Bound {} by {}": "{0}を{1}でバインドしました",
    "{} particles": "パーティクル {}個",
    "{} of the skin is solid": "スキンの{}がソリッド",
    "Close it. It leaks": "閉じてください。漏れています",
    "'{}' has no {}": "「{}」に{}がありません",
    "Only {} fit": "{}個だけ入ります",
    "weight": "ウェイト",
}


@pytest.fixture
def japanese(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a Blender whose interface is in Japanese; Blender as a module has no language but English."""
    monkeypatch.setattr(translations, "is_active", lambda: True)


FOUND = {
    "Particles": "パーティクル",
    "Particles.": "パーティクル。",
    "Unknown": "Unknown",
    "": "",
    "Bound Tube by Particles": "Tubeをパーティクルでバインドしました",
    "'Particles' has no weight": "「Particles」にウェイトがありません",
    "Close it. It leaks": "閉じてください。漏れています",
    "Only 3 fit. Close it. It leaks.": "3個だけ入ります。閉じてください。漏れています。",
    "Unknown thing. Only 3 fit.": "Unknown thing. 3個だけ入ります。",
    "Only 3 fit\nUnknown": "3個だけ入ります\nUnknown",
    "Only 3 fit; Only 4 fit": "3個だけ入ります; 4個だけ入ります",
    "Bound A by Particles: A: 9 particles, 50 % of the skin is solid. Only 3 fit.": (
        "Aをパーティクルでバインドしました: A: パーティクル 9個, スキンの50 %がソリッド。3個だけ入ります。"
    ),
    "Bound A, B by Particles": "A, Bをパーティクルでバインドしました",
    "Bound {0} by {1}": "{0}を{1}でバインドしました",
}


def test_a_text_is_found_with_its_values(subtests):
    for text, found in FOUND.items():
        with subtests.test(text):
            assert Phrases(TABLE).translate(text) == found


def test_nothing_is_translated_in_another_language():
    assert not translations.is_active()
    assert translate("Bound Tube by Centers") == "Bound Tube by Centers"


def test_operators_report_in_japanese(japanese, capsys):
    obj, _ = add_tube()
    bind(obj, method="DLBNT", evaluate="BLENDER")
    assert "TubeをDQ ストレッチでバインドしました" in capsys.readouterr().out
    obj.vertex_groups.clear()
    with pytest.raises(RuntimeError, match="「Tube」に頂点グループがありません: "):
        bpy.ops.supple.bind()
    bpy.ops.supple.unbind()
    with pytest.raises(RuntimeError, match="バインド済みのメッシュを選択してください"):
        bpy.ops.supple.unbind()


PANELS = [name for name in dir(bpy.types) if "_PT_supple" in name and name != "BONE_PT_supple"]
ENGLISH = re.compile(r"[A-Za-z]{3,} [A-Za-z]{2,}")


STATES = ("nothing", "free", "bound", "by Blender", "refused", "independent", "patterned", "weighted")


@pytest.mark.parametrize("state", STATES)
def test_no_panel_says_an_english_sentence(state, japanese):
    obj, _ = add_tube(rings=24, sides=16)
    if state == "nothing":
        obj.select_set(False)
        bpy.context.view_layer.objects.active = None
    if state in ("bound", "by Blender", "independent", "weighted"):
        bind(obj, evaluate="BLENDER" if state in ("by Blender", "independent") else "PYTHON")
    if state != "nothing":
        select(obj)
    if state in ("bound", "by Blender"):
        bpy.ops.supple.measure()
    if state == "refused":
        obj.vertex_groups.clear()
        with pytest.raises(RuntimeError):
            bpy.ops.supple.bind(whole=True)
    if state == "independent":
        bpy.ops.supple.make_independent()
    if state == "patterned":
        bpy.ops.supple.pattern_add(preset="RIBS_L", bone="bone.1")
        settings_of(obj).patterns[0].bone = "Nobody"
    if state == "weighted":
        bpy.ops.supple.weights_auto()
        bpy.ops.supple.weights_check(limit=1)
    shown = [text for name in PANELS for text in draw(name)]
    assert shown
    unknown = [text for text in shown if ENGLISH.search(text) and text not in read_phrases().plain]
    assert unknown == []


def test_blender_knows_the_labels_while_supple_is_enabled(monkeypatch):
    given, taken = {}, []
    stand_in = SimpleNamespace(register=given.__setitem__, unregister=taken.append)
    monkeypatch.setattr(translations, "bpy", SimpleNamespace(app=SimpleNamespace(translations=stand_in)))
    translations.register()
    translations.unregister()
    ((name, table),) = given.items()
    assert taken == [name]
    for context in ("*", "Operator"):
        assert table["ja_JP"][context, "Make Independent"] == "独立させる"
    assert not [text for _, text in table["ja_JP"] if "{" in text]


def test_errors_have_the_same_code_in_all_languages(monkeypatch):
    obj, _ = add_tube()
    select(obj)
    bpy.ops.supple.make()
    found = []
    for is_japanese in (False, True):
        monkeypatch.setattr(translations, "is_active", lambda is_japanese=is_japanese: is_japanese)
        with pytest.raises(RuntimeError) as caught:
            bpy.ops.supple.make()
        found.append(str(caught.value))
    code = make_code("All ticked meshes are bound: choose a look for them")
    assert all(f"({code})" in text for text in found)
    assert found[0] != found[1]
    bound = make_code("'{}' has no problem that can be fixed: press Bind")
    for message in (
        "'Y' has no problem that can be fixed: press Bind",
        "'Y' has no problem that can be fixed: press Bind. 3 meshes were left out.",
    ):
        assert translations.find_code(message) == bound
    assert not translations.find_code("What nobody has said")
