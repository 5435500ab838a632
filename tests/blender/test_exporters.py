"""Blender's own exporters on bound characters: what Supple has hidden is in no file."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import bpy
import pytest

from scenes import add_tube, bind, reset, select, turn, update

pytestmark = pytest.mark.versions


def export(path: Path, **options: bool) -> tuple[list[str], int, bool]:
    """What a glTF file has: names of nodes, skins, whether all meshes follow joints."""
    bpy.ops.export_scene.gltf(filepath=str(path), **options)
    raw = path.read_bytes()
    data: dict[str, Any] = json.loads(raw[20 : 20 + struct.unpack("<I", raw[12:16])[0]])
    follows = all("JOINTS_0" in each["attributes"] for mesh in data["meshes"] for each in mesh["primitives"])
    return sorted(node["name"] for node in data["nodes"]), len(data.get("skins", [])), follows


def test_no_helper_is_exported(tmp_path, subtests):
    def build() -> bpy.types.Object:
        reset()
        obj, armature = add_tube(rings=13, sides=8)
        turn(armature, "bone.1", (0.8, 0.0, 0.0))
        select(obj, armature)
        update()
        return obj

    build()
    wanted = export(tmp_path / "without.glb")
    for method, evaluate in (("DLB", "BLENDER"), ("DLBNT", "PYTHON")):
        for use_selection in (False, True):
            with subtests.test(f"{method} {evaluate}, selected: {use_selection}"):
                obj = build()
                bind(obj, method=method, evaluate=evaluate)
                select(obj, obj.find_armature())
                assert export(tmp_path / "bound.glb", use_selection=use_selection) == wanted
