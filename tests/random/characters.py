"""Characters for random use: bodies made here, hostile ones, the files of tests/fixtures, and real ones at hand."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import scenes_hostile
from world import World

from benchmarks import generated
from checkout import ROOT
from scenes import add_face_key, add_tube, add_twin, animate_tube

ASSETS = ROOT.parent / "shared" / "assets"
FIXTURES = ROOT / "tests" / "fixtures"
HUMAN = ROOT / "demo" / "human" / "human.blend"


def _tube(_world: World) -> None:
    _, armature = add_tube(rings=13, sides=8)
    animate_tube(armature)


def _dressed(_world: World) -> None:
    """A tube with face keys, B-Bones, materials and a UV map, a wider one around it, a lattice and an empty."""
    obj, armature = add_tube(bones=4, rings=13, sides=8)
    armature.data.bones[1].bbone_segments = 3
    clothes = add_twin(obj)
    clothes.name = "Clothes"
    for vertex in clothes.data.vertices:
        vertex.co.x, vertex.co.z = 1.2 * vertex.co.x, 1.2 * vertex.co.z
    add_face_key(obj).value = 0.5
    mesh = obj.data
    mesh.materials.append(bpy.data.materials.new("Skin"))
    points = np.array([mesh.vertices[loop.vertex_index].co for loop in mesh.loops])
    mesh.uv_layers.new(name="UVMap").data.foreach_set("uv", np.ascontiguousarray(points[:, :2], np.float32).ravel())
    for new in (bpy.data.objects.new("Cage", bpy.data.lattices.new("Cage")), bpy.data.objects.new("Target", None)):
        bpy.context.scene.collection.objects.link(new)
    bpy.data.objects["Cage"].scale = 4, 8, 4
    bpy.data.objects["Target"].location = 1, 2, 1


def _collected(_world: World) -> None:
    """Two characters, the first in a collection, in a scene that is locked while it renders."""
    cast = bpy.data.collections.new("Cast")
    bpy.context.scene.collection.children.link(cast)
    for name in ("First", "Second"):
        obj, armature = add_tube(rings=9, sides=6)
        obj.name, armature.name = name, f"{name} Rig"
        if name == "First":
            obj.parent = armature
            for one in (obj, armature):
                cast.objects.link(one)
                bpy.context.scene.collection.objects.unlink(one)
        armature.location.x = 3.0 * (name == "Second")
    bpy.context.scene.render.use_lock_interface = True


def _parts(_world: World) -> None:
    generated.add_parts(1500, 60, 3)


SIMPLE = {"tube": _tube, "dressed": _dressed, "collected": _collected, "parts": _parts}


def list_names() -> list[str]:
    """Names of all characters that this Blender can open."""
    newer = {"nodes"} if bpy.app.version < (4, 5) else set()
    return [*SIMPLE, *scenes_hostile.ROWS, *sorted({path.stem for path in files()} - newer)]


def files() -> list[Path]:
    real = sorted(ASSETS.glob("*/*.blend")) if ASSETS.is_dir() else []
    return [*sorted(FIXTURES.glob("*.blend")), HUMAN, *real]


def load(world: World, name: str) -> None:
    """Open the file of a character, or make it in an empty one."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    if name in SIMPLE:
        SIMPLE[name](world)
    elif name in scenes_hostile.ROWS:
        scenes_hostile.load(name, world.folder)
    else:
        world.open(next(path for path in files() if path.stem == name))
