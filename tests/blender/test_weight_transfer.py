"""Weights taken over from another mesh."""

from __future__ import annotations

import re

import bpy
import numpy as np
import pytest
from scenes_weight_edits import HALF, add_sides, add_small_tube, set_weights
from scenes_weights import weights_of

from scenes import (
    add_twin,
    armature_modifier,
    select,
)
from supple.deformers.weight_editing.transfer import Params
from supple.settings.objects import settings_of
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


def test_transfer_takes_weights_over():
    body, armature = add_small_tube()
    sleeve = add_sleeve(body)
    twin = add_sleeve(body)
    select(body, sleeve)
    assert bpy.ops.supple.weights_transfer(reach=0.1, angle=1.0) == {"FINISHED"}
    assert np.abs(weights_of(sleeve) - weights_of(body)).max() < 0.02
    assert armature_modifier(sleeve).object == armature
    told = transfer.transfer_weights(body, [twin], params=Params(0.1, 1.0))
    assert told == [
        "Copied the weights of 'Tube' to 104 vertices.",
        "Added an Armature modifier with 'Rig' to 'Sleeve.001'.",
    ]
    assert (weights_of(twin) == weights_of(sleeve)).all()


def test_transfer_fills_in_what_is_out_of_reach():
    body, _ = add_small_tube()
    sleeve = add_sleeve(body)
    for vertex in sleeve.data.vertices:
        if vertex.co.y > 1.6:
            vertex.co.z += 3.0
    told = transfer.transfer_weights(body, [sleeve], params=Params(0.05, 1.0))
    assert re.fullmatch(r"'Sleeve': \d+ vertices of 104 have no match\.", told[1])
    assert told[2].startswith("'Sleeve': ")
    assert "filled in smoothly" in told[2]
    assert settings_of(sleeve).weights_report.splitlines() == [
        "'Sleeve': weights transferred from 'Tube'.",
        *told[1:3],
    ]
    assert np.abs(weights_of(sleeve).sum(axis=1) - 1.0).max() < 1e-5
    assert np.abs(weights_of(sleeve)[HALF] - weights_of(body)[HALF]).max() < 0.02


def test_transfer_from_far_away_is_told():
    body, _ = add_small_tube()
    sleeve = add_sleeve(body)
    sleeve.location.x = 20.0
    bpy.context.view_layer.update()
    transfer.transfer_weights(body, [sleeve])
    assert "'Sleeve': 104 vertices of 104 have no match." in settings_of(sleeve).weights_report.splitlines()


def test_transfer_wants_its_source_selected():
    body, _ = add_small_tube()
    select(add_sleeve(body), add_sleeve(body))
    bpy.context.view_layer.objects.active = body
    with pytest.raises(RuntimeError, match=r"poll\(\).*last, after the meshes to copy its weights to"):
        bpy.ops.supple.weights_transfer()


def test_transfer_to_a_half_mesh_makes_groups_of_the_other_side():
    body, armature = add_small_tube()
    names = add_sides(armature)
    body.vertex_groups.clear()
    set_weights(body, np.tile([0.5, 0.5, 0.0], (104, 1)), names)
    sleeve = add_sleeve(body)
    sleeve.modifiers.new("Mirror", "MIRROR")
    transfer.transfer_weights(body, [sleeve])
    assert sorted(group.name for group in sleeve.vertex_groups) == ["arm.L", "arm.R", "bone.0"]


def test_transfer_between_places():
    """Both objects are somewhere else, and one is scaled: what counts is where they are in their armature."""
    body, _ = add_small_tube()
    sleeve = add_sleeve(body)
    for vertex in sleeve.data.vertices:
        vertex.co *= 0.25
    sleeve.scale = (4, 4, 4)
    select(body, sleeve)
    bpy.ops.supple.weights_transfer(reach=0.1)
    assert np.abs(weights_of(sleeve) - weights_of(body)).max() < 0.02


def test_transfer_to_selected_vertices_only():
    body, _ = add_small_tube()
    sleeve = add_sleeve(body)
    transfer.transfer_weights(body, [sleeve])
    set_weights(sleeve, np.tile([0.0, 0.0, 1.0], (104, 1)))
    for vertex in sleeve.data.vertices:
        vertex.select = vertex.index < 52
    transfer.transfer_weights(body, [sleeve], Scope(selected_only=True))
    assert np.abs(weights_of(sleeve)[:52] - weights_of(body)[:52]).max() < 0.02
    assert (weights_of(sleeve)[52:] == (0, 0, 1)).all()


@pytest.mark.parametrize(
    ("spoil", "message"),
    (
        ("weights", "The source has no face with weights"),
        ("armature", "'Sleeve' is deformed by 'Rig.001', and 'Tube' by 'Rig': choose the same armature"),
        ("data", "No mesh to copy the weights of 'Tube' to: select another mesh, with mesh data of its own"),
    ),
)
def test_transfer_refuses(spoil, message):
    body, armature = add_small_tube()
    sleeve = add_sleeve(body)
    if spoil == "weights":
        body.vertex_groups.clear()
    elif spoil == "armature":
        other = armature.copy()
        bpy.context.scene.collection.objects.link(other)
        sleeve.modifiers.new("Armature", "ARMATURE").object = other
    else:
        sleeve.data = body.data
    select(body, sleeve)
    groups, modifiers = len(sleeve.vertex_groups), len(sleeve.modifiers)
    with pytest.raises(RuntimeError, match=re.escape(message)):
        bpy.ops.supple.weights_transfer()
    assert (len(sleeve.vertex_groups), len(sleeve.modifiers)) == (groups, modifiers)


def test_transfer_wants_two_meshes():
    body, _ = add_small_tube()
    select(body)
    with pytest.raises(RuntimeError, match=r"poll\(\).*last, after the meshes to copy its weights to"):
        bpy.ops.supple.weights_transfer()
