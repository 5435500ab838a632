"""Modifiers pinned to the end of the stack, as Shade Auto Smooth does: what is added stands where it belongs."""

from __future__ import annotations

import bpy
import pytest
from scenes_patterns import add_own, add_uv

from scenes import add_tube, armature_modifier, bind, distance, evaluated_points, select, turn, update
from supple.settings.objects import settings_of

pytestmark = pytest.mark.versions

ADDED = "Supple"


def list_names(obj: bpy.types.Object) -> list[str]:
    return [modifier.name for modifier in obj.modifiers]


@pytest.mark.parametrize("pinned", ["NODES", "SUBSURF", "ARMATURE", "above ARMATURE"])
def test_each_way_to_deform_stands_next_to_the_armature_modifier(subtests, pinned):
    for method, evaluate in (("DLB", "BLENDER"), ("DLBNT", "BLENDER"), ("SSD", "PYTHON")):
        with subtests.test(f"{method} {evaluate}"):
            obj, armature = add_tube(rings=13, sides=8)
            settings_of(obj).linear_group = "bone.0" if method == "DLB" else ""
            if "ARMATURE" in pinned:
                armature_modifier(obj).use_pin_to_last = True
            if pinned != "ARMATURE":
                obj.modifiers.new("Other", "LATTICE" if "above" in pinned else pinned).use_pin_to_last = True
            before = list_names(obj)
            turn(armature, "bone.1", (0.8, 0.0, 0.0))
            update()
            shape = evaluated_points(obj)
            bind(obj, method=method, evaluate=evaluate)
            update()
            names = list_names(obj)
            assert [name for name in names if not name.startswith(ADDED)] == before
            added = [index for index, name in enumerate(names) if name.startswith(ADDED)]
            deforming = sorted([*added, names.index("Armature")])
            assert deforming == list(range(deforming[0], deforming[-1] + 1))
            assert len(added) == {"DLB": 1, "DLBNT": 2, "SSD": 1}[method]
            if method == "SSD":
                assert distance(shape, evaluated_points(obj)) < 1e-5
            select(obj)
            bpy.ops.supple.unbind()
            assert list_names(obj) == before


def test_patterns_and_make_supple(subtests):
    for name in ("patterns", "weights"):
        with subtests.test(name):
            obj, armature = add_tube(rings=13, sides=8)
            obj.modifiers.new("Smooth", "NODES").use_pin_to_last = True
            if name == "patterns":
                add_uv(obj)
                add_own(obj)
                assert list_names(obj)[-1] == "Smooth"
                continue
            obj.modifiers.remove(armature_modifier(obj))
            obj.vertex_groups.clear()
            obj.modifiers.new("Subdivision", "SUBSURF")
            select(armature, obj)
            assert bpy.ops.supple.make(look="FAST") == {"FINISHED"}
            assert settings_of(obj).is_bound
            assert list_names(obj)[-3:] == ["Armature", "Subdivision", "Smooth"]
