"""Supple's modifiers on objects that got them from another by Copy Modifiers: the same data with two owners."""

from __future__ import annotations

import bpy
import pytest
from scenes_bind import bend

from scenes import TOLERANCE, add_tube, armature_modifier, bind, clear, distance, evaluated_points, select, update
from supple.settings.objects import settings_of

pytestmark = pytest.mark.usefixtures("silent_handlers")

WAYS = (("DLB", "BLENDER"), ("DLBNT", "BLENDER"), ("DLBNT", "PYTHON"))


def dressed(method: str, evaluate: str) -> tuple:
    """A bound tube, its armature, and a wider one on it that is not bound."""
    clear()
    body, armature = add_tube()
    shirt = body.copy()
    shirt.data, shirt.name = body.data.copy(), "Shirt"
    bpy.context.scene.collection.objects.link(shirt)
    for vertex in shirt.data.vertices:
        vertex.co.xy *= 1.2
    bind(body, method=method, evaluate=evaluate)
    bend(armature, 60)
    return body, armature, shirt


def copy_modifiers(source: bpy.types.Object, target: bpy.types.Object) -> None:
    select(source, target)
    bpy.context.view_layer.objects.active = source
    bpy.ops.object.make_links_data(type="MODIFIERS")
    update()
    update()


@pytest.mark.parametrize(("method", "evaluate"), WAYS)
def test_what_is_not_bound_is_told_and_bind_takes_it_over(method: str, evaluate: str):
    body, _, shirt = dressed(method, evaluate)
    plain = evaluated_points(shirt)
    bind(shirt, method=method, evaluate=evaluate)
    wanted = evaluated_points(shirt)
    bpy.ops.supple.unbind()
    skin = evaluated_points(body)
    copy_modifiers(body, shirt)
    assert ("has a copy of Supple's modifiers" in settings_of(shirt).message) == (evaluate == "PYTHON")
    plain = plain if method == "DLBNT" else evaluated_points(shirt)
    bind(shirt, method=method, evaluate=evaluate)
    assert settings_of(shirt).message == ""
    assert distance(evaluated_points(shirt), wanted) < TOLERANCE
    assert distance(evaluated_points(body), skin) < TOLERANCE
    select(shirt)
    bpy.ops.supple.unbind()
    assert [each.name for each in shirt.modifiers] == ["Armature"]
    assert distance(evaluated_points(shirt), plain) < TOLERANCE
    copy_modifiers(body, shirt)
    for modifier in list(shirt.modifiers):
        shirt.modifiers.remove(modifier)
    update()
    assert settings_of(shirt).message == ""


@pytest.mark.parametrize("of_shirt", WAYS)
@pytest.mark.parametrize("of_body", WAYS)
def test_what_is_bound_goes_on_as_its_settings_say_or_is_told(of_body: tuple, of_shirt: tuple):
    """Other settings of the character that they are copied from, such as Bulge Limit, do not come along unseen."""
    body, _, shirt = dressed(*of_body)
    settings_of(body).bulge_limit = 0.8
    settings_of(shirt).linear_group = shirt.vertex_groups[1].name
    bind(shirt, method=of_shirt[0], evaluate=of_shirt[1])
    wanted = evaluated_points(shirt)
    copy_modifiers(body, shirt)
    assert settings_of(shirt).message or distance(evaluated_points(shirt), wanted) < TOLERANCE
    bind(shirt, method=of_shirt[0], evaluate=of_shirt[1])
    assert settings_of(shirt).message == ""
    assert distance(evaluated_points(shirt), wanted) < TOLERANCE
    select(shirt)
    bpy.ops.supple.unbind()
    assert [each.name for each in shirt.modifiers] == ["Armature"]
    assert armature_modifier(shirt).show_viewport
