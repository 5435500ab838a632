"""NaN, which the limits of properties let pass: scripts and drivers give it, and what uses it refuses it in words."""

from __future__ import annotations

from math import nan

import bpy
import pytest
from scenes_layers import BODY, SKIRT, add_dressed

from scenes import add_tube, animate_tube, bind, select, snapshot
from supple.deformers import SkinningError
from supple.settings.objects import settings_of
from supple.tasks.layers.read import read_dressed

pytestmark = pytest.mark.usefixtures("silent_handlers")


def list_floats() -> list[tuple[str, str, int]]:
    """Operators, and their properties that are floats, and how many each is."""
    return [
        (name, prop.identifier, prop.array_length)
        for name in dir(bpy.ops.supple)
        for prop in getattr(bpy.ops.supple, name).get_rna_type().properties
        if prop.type == "FLOAT"
    ]


@pytest.mark.versions
def test_operators_refuse_it_and_change_nothing(subtests: pytest.Subtests):
    obj, armature = add_tube()
    animate_tube(armature)
    bind(obj)
    refused = 0
    for name, prop, length in list_floats():
        for mode in ("OBJECT", "POSE"):
            select(obj if mode == "OBJECT" else armature)
            bpy.ops.object.mode_set(mode=mode)
            if not getattr(bpy.ops.supple, name).poll():
                bpy.ops.object.mode_set(mode="OBJECT")
                continue
            before = snapshot(obj)
            with subtests.test(name, prop=prop, mode=mode):
                with pytest.raises(RuntimeError, match=r"is nan|not a number"):
                    getattr(bpy.ops.supple, name)(**{prop: [nan] * length if length else nan})
                assert snapshot(obj) == before
            refused += 1
            bpy.ops.object.mode_set(mode="OBJECT")
    assert refused > 20


def test_items_of_collections_are_looked_at():
    obj, _ = add_tube()
    select(obj)
    bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
    touch = {"name": "", "location": (0.4, 0.0, 1.5), "radius": nan, "pressure": 1.0}
    with pytest.raises(RuntimeError, match="Radius is nan: choose 0 to"):
        bpy.ops.supple.weights_brush(touches=[touch])
    bpy.ops.object.mode_set(mode="OBJECT")


@pytest.mark.parametrize("name", ["layer_gap", "layer_give"])
def test_layers_name_the_mesh(name: str):
    dressed = add_dressed()
    body, cloth = dressed[BODY], dressed[SKIRT]
    setattr(settings_of(cloth), name, nan)
    before = snapshot(body)
    with pytest.raises(SkinningError, match=f"of '{cloth.name}' is not a number: choose another"):
        read_dressed(dressed["Rig"], [body, cloth])
    assert snapshot(body) == before
