"""Weights taken over from another mesh."""

from __future__ import annotations

import re
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
from scenes_weights import HALF, add_sides, add_small_tube, assert_whole, link_to_scene, set_weights, weights_of

from panels import draw_dialog
from scenes import add_twin, armature_modifier, reset, select
from supple.deformers.weight_editing.transfer import Params
from supple.operators import weight_edits
from supple.settings.objects import settings_of
from supple.tasks.steps import take_all
from supple.tasks.weights import transfer
from supple.tasks.weights.targets import Scope


def add_sleeve(body: bpy.types.Object, size: float = 1.05) -> bpy.types.Object:
    """A wider copy of a tube without weights and modifiers."""
    sleeve = add_twin(body)
    sleeve.name = "Sleeve"
    sleeve.vertex_groups.clear()
    sleeve.modifiers.clear()
    for vertex in sleeve.data.vertices:
        vertex.co.x *= size
        vertex.co.z *= size
    return sleeve


def apart(first: bpy.types.Object, second: bpy.types.Object, vertices: list[int] | slice = slice(None)) -> float:
    return float(np.abs(weights_of(first) - weights_of(second))[vertices].max())


@pytest.mark.versions
def test_transfer_takes_weights_over():
    body, armature = add_small_tube()
    sleeve, twin = add_sleeve(body), add_sleeve(body)
    select(body, sleeve)
    assert bpy.ops.supple.weights_transfer(reach=0.1, angle=1.0) == {"FINISHED"}
    assert apart(sleeve, body) < 0.02
    assert armature_modifier(sleeve).object == armature
    told = take_all(transfer.transfer_weights(body, [twin], params=Params(0.1, 1.0)))
    assert told == [
        "Copied the weights of 'Tube' to 104 vertices of 'Sleeve.001'.",
        "Added an Armature modifier with 'Rig' to 'Sleeve.001'.",
    ]
    assert apart(twin, sleeve) == 0.0


def test_transfer_fills_in_what_is_out_of_reach():
    body, _ = add_small_tube()
    sleeve = add_sleeve(body)
    for vertex in sleeve.data.vertices:
        if vertex.co.y > 1.6:
            vertex.co.z += 3.0
    told = take_all(transfer.transfer_weights(body, [sleeve], params=Params(0.05, 1.0)))
    assert re.fullmatch(r"'Sleeve': \d+ vertices of 104 have no match\.", told[1])
    assert told[2].startswith("'Sleeve': ")
    assert "got smooth weights" in told[2]
    assert settings_of(sleeve).weights_report.splitlines() == [
        "'Sleeve': weights transferred from 'Tube'.",
        *told[1:3],
    ]
    assert_whole(sleeve)
    assert apart(sleeve, body, HALF) < 0.02
    sleeve.location.x = 20.0
    bpy.context.view_layer.update()
    take_all(transfer.transfer_weights(body, [sleeve]))
    assert "'Sleeve': 104 vertices of 104 have no match." in settings_of(sleeve).weights_report.splitlines()


def test_transfer_to_a_half_mesh_makes_groups_of_the_other_side():
    body, armature = add_small_tube()
    names = add_sides(armature)
    body.vertex_groups.clear()
    set_weights(body, np.tile([0.5, 0.5, 0.0], (104, 1)), names)
    sleeve = add_sleeve(body)
    sleeve.modifiers.new("Mirror", "MIRROR")
    take_all(transfer.transfer_weights(body, [sleeve]))
    assert sorted(group.name for group in sleeve.vertex_groups) == ["arm.L", "arm.R", "bone.0"]


def test_transfer_between_places():
    """One of both is scaled: what counts is where they are in their armature."""
    body, _ = add_small_tube()
    sleeve = add_sleeve(body)
    for vertex in sleeve.data.vertices:
        vertex.co *= 0.25
    sleeve.scale = (4, 4, 4)
    select(body, sleeve)
    bpy.ops.supple.weights_transfer(reach=0.1)
    assert apart(sleeve, body) < 0.02


def test_transfer_to_selected_vertices_only():
    body, _ = add_small_tube()
    sleeve = add_sleeve(body)
    take_all(transfer.transfer_weights(body, [sleeve]))
    set_weights(sleeve, np.tile([0.0, 0.0, 1.0], (104, 1)))
    for vertex in sleeve.data.vertices:
        vertex.select = vertex.index < 52
    take_all(transfer.transfer_weights(body, [sleeve], Scope(selected_only=True)))
    assert apart(sleeve, body, HALF) < 0.02
    assert (weights_of(sleeve)[52:] == (0, 0, 1)).all()


def test_transfer_refuses(subtests):
    for spoil, message in {
        "weights": "The source has no face with weights",
        "armature": "'Sleeve' is deformed by 'Rig.001', and 'Tube' by 'Rig': choose the same armature",
        "data": "No mesh to copy the weights of 'Tube' to: select another mesh, with its own mesh data",
    }.items():
        with subtests.test(spoil):
            reset()
            body, armature = add_small_tube()
            sleeve = add_sleeve(body)
            if spoil == "weights":
                body.vertex_groups.clear()
            elif spoil == "armature":
                sleeve.modifiers.new("Armature", "ARMATURE").object = link_to_scene(armature.copy())
            else:
                sleeve.data = body.data
            select(body, sleeve)
            groups, modifiers = len(sleeve.vertex_groups), len(sleeve.modifiers)
            with pytest.raises(RuntimeError, match=re.escape(message)):
                bpy.ops.supple.weights_transfer()
            assert (len(sleeve.vertex_groups), len(sleeve.modifiers)) == (groups, modifiers)


def test_transfer_wants_its_source_and_another_mesh_selected():
    body, _ = add_small_tube()
    for selected in ([body], [add_sleeve(body), add_sleeve(body)]):
        select(*selected)
        bpy.context.view_layer.objects.active = body
        with pytest.raises(RuntimeError, match=r"poll\(\).*last, after the meshes to copy its weights to"):
            bpy.ops.supple.weights_transfer()


def test_the_dialog_says_which_mesh_is_the_source_and_that_stays_as_it_is():
    body, _ = add_small_tube()
    sleeve, coat = add_sleeve(body), add_sleeve(body)
    set_weights(sleeve, np.tile([0.0, 0.0, 1.0], (104, 1)))
    sharing = link_to_scene(body.copy())
    select(body, sleeve, coat, sharing)
    before, groups = weights_of(body), [(group.name, group.index) for group in body.vertex_groups]
    operator = SimpleNamespace(scope=lambda _targets: None)
    assert weight_edits.SUPPLE_OT_weights_transfer.wants_to_ask(operator, bpy.context)
    shown = draw_dialog("SUPPLE_OT_weights_transfer", painted=operator.painted)
    assert shown[:3] == [
        "From Tube: it does not change",
        "To Sleeve, Sleeve.001",
        "Replaces the weights of Sleeve",
    ]
    assert bpy.ops.supple.weights_transfer(reach=0.1) == {"FINISHED"}
    assert apart(sleeve, body) < 0.02
    assert (weights_of(body) == before).all()
    assert [(group.name, group.index) for group in body.vertex_groups] == groups
