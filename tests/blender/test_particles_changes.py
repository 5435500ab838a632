"""Particles of a mesh that changes: face keys, modifiers above, scaled bones, edits, painted weights."""

from __future__ import annotations

import bpy
import bmesh
import numpy as np
import pytest
from scenes_particles import SHOWN, add_body, bend, fill, remove_faces

from scenes import distance, evaluated_points, select, update
from supple.settings.objects import settings_of

pytestmark = pytest.mark.usefixtures("silent_handlers")


def test_edits_fill_anew_unless_they_change_nothing(fillings, subtests):
    obj, armature = add_body()
    fill(obj)
    bend(armature)
    shown = evaluated_points(obj)
    select(obj)
    with subtests.test("nothing"):
        for mode in ("EDIT", "WEIGHT_PAINT", "SCULPT", "OBJECT"):
            bpy.ops.object.mode_set(mode=mode)
            update()
        assert len(fillings) == 1
        assert np.array_equal(evaluated_points(obj), shown)
    with subtests.test("weights"):
        obj.vertex_groups["bone.1"].add(list(range(100, 120)), 1.0, "REPLACE")
        obj.data.update()
        update()
        assert len(fillings) == 2
        assert distance(shown, evaluated_points(obj)) > SHOWN
    with subtests.test("vertices"):
        bpy.ops.object.mode_set(mode="EDIT")
        edited = bmesh.from_edit_mesh(obj.data)
        for vertex in edited.verts:
            vertex.co.x *= 1.5
        bmesh.update_edit_mesh(obj.data)
        update()
        assert len(fillings) == 2
        bpy.ops.object.mode_set(mode="OBJECT")
        update()
        assert len(fillings) == 3
        edited_points = evaluated_points(obj)
        assert distance(shown, edited_points) > 0.02
        fill(obj)
        assert np.array_equal(evaluated_points(obj), edited_points)
    with subtests.test("faces"):
        fillings.clear()
        remove_faces(obj)
        update()
        assert len(fillings) == 1
        assert settings_of(obj).particles.count == 0
