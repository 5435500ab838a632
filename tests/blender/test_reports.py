"""Reports in the panels: how they are broken into lines, and how they are closed."""

from __future__ import annotations

import bpy
import pytest

from panels import draw
from scenes import add_tube, bind, select
from supple.settings.objects import settings_of
from supple.tasks.reports import ParticleReport, particle_reports
from supple.ui.reports import wrap


def each_is_one(piece: str) -> float:
    return float(len(piece))


WRAPPED = {
    "one two three": ["one two", "three"],
    "one two\none two\nthree": ["one two", "three"],
    "incomprehensible to me": ["incomprehensible", "to me"],
    "頂点グループがありません。": ["頂点グループがあ", "りません。"],
    "'Tube'に頂点。頂点": ["'Tube'に頂", "点。頂点"],
    "頂点頂点頂点頂点。頂点": ["頂点頂点頂点頂", "点。頂点"],
    "モデルの「Tube」を": ["モデルの", "「Tube」を"],
    "": [],
}


def test_lines_fit_and_none_is_twice(subtests):
    for text, lines in WRAPPED.items():
        with subtests.test(text):
            assert wrap(text, 8.0, each_is_one) == lines


def shown(panel: str) -> list[str]:
    return draw(f"VIEW3D_PT_supple_{panel}".rstrip("_"))


def test_the_refusal_of_bind_is_closed_and_comes_again():
    obj, _ = add_tube(rings=9, sides=6)
    obj.vertex_groups.clear()
    select(obj)
    for _ in range(2):
        bpy.ops.supple.make()
        assert settings_of(obj).is_bound  # Make Supple gives it weights
        bpy.ops.supple.unbind()
        obj.vertex_groups.clear()
        with pytest.raises(RuntimeError, match="no vertex groups"):
            bpy.ops.supple.bind(whole=True)
        text = settings_of(obj).message
        assert text in shown("")
        assert "supple.remedy" in shown("")
        assert bpy.ops.supple.close_report(owner=obj.name, kind="message") == {"FINISHED"}
        assert text not in shown("")
        assert "supple.remedy" not in shown("")


def test_the_refusal_in_edit_mode_offers_to_leave_it():
    obj, _ = add_tube()
    select(obj)
    bpy.ops.object.mode_set(mode="EDIT")
    with pytest.raises(RuntimeError, match="is in Edit Mode: leave it first"):
        bpy.ops.supple.bind(whole=True)
    assert settings_of(obj).remedy == "OBJECT_MODE"


def test_what_is_wrong_with_a_bound_mesh_can_not_be_closed():
    obj, _ = add_tube()
    bind(obj)
    settings_of(obj).message = "Something is wrong"
    assert "supple.close_report" not in shown("")


def test_why_not_blender_is_closed_until_bind():
    obj, armature = add_tube()
    armature.data.bones["bone.2"].bbone_segments = 4
    for _ in range(2):
        select(obj)
        bpy.ops.supple.bind(method="DLBNT")
        problem = settings_of(obj).evaluate_problem
        assert "has segments" in problem
        assert problem in shown("fine_tune")
        bpy.ops.supple.close_report(owner=obj.name, kind="evaluate_problem")
        assert problem not in shown("fine_tune")
        assert settings_of(obj).evaluate_problem == problem


@pytest.mark.parametrize(("kind", "panel"), [("weights_report", "weights"), ("pattern_message", "patterns")])
def test_stored_reports_are_closed(kind, panel):
    obj, _ = add_tube()
    select(obj)
    if panel == "patterns":
        bpy.ops.supple.pattern_add(preset="RIBS_L", bone="bone.1")
    setattr(settings_of(obj), kind, "It is so")
    assert "It is so" in shown(panel)
    bpy.ops.supple.close_report(owner=obj.name, kind=kind)
    assert "It is so" not in shown(panel)


def test_reports_that_are_not_stored_are_closed():
    obj, _ = add_tube()
    bind(obj, method="DLBNT")
    select(obj)
    bpy.ops.supple.measure()
    assert "supple.close_report" in shown("compare")
    bpy.ops.supple.close_report(owner=obj.name, kind="measure")
    assert shown("compare")[-1] == "supple.measure"
    settings_of(obj).method = "PARTICLES"
    particle_reports[obj.session_uid] = ParticleReport(7, messages=("A finger is thin", "A finger is thin"))
    assert shown("fine_tune").count("A finger is thin") == 1
    bpy.ops.supple.close_report(owner=obj.name, kind="particles")
    assert "A finger is thin" not in shown("fine_tune")


def test_a_report_on_nothing():
    with pytest.raises(RuntimeError, match="There is no object 'Nobody'"):
        bpy.ops.supple.close_report(owner="Nobody", kind="message")
