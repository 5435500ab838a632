"""Generated characters: rigs of any number of bones, skins of any number of vertices, several influences a vertex."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import bpy
import numpy as np

from benchmarks.bodies import animate, make_mesh
from benchmarks.surfaces import join_rings

SIDES = 8  # Vertices of a ring around a bone
NEAR = 8  # Number of bones that may influence a vertex
FALLOFF = 0.75  # Distance, in lengths between a bone's middle and the next one's, at which its influence is down to 1/e
LEAST = 0.03  # Minimum weight
CENTER = (
    # names, count, parent, start, end
    ("root", 1, "", (0.0, 0.0, 0.9), (0.0, 0.0, 0.95)),
    ("spine{:02}", 5, "root", (0.0, 0.0, 0.95), (0.0, 0.0, 1.4)),
    ("neck{:02}", 3, "spine05", (0.0, 0.0, 1.4), (0.0, 0.0, 1.52)),
    ("head", 1, "neck03", (0.0, 0.0, 1.52), (0.0, 0.0, 1.72)),
)
LEFT = (
    ("shoulder{:02}", 2, "spine05", (0.02, 0.0, 1.38), (0.17, 0.0, 1.38)),
    ("upperarm{:02}", 2, "shoulder02", (0.17, 0.0, 1.38), (0.42, 0.0, 1.38)),
    ("lowerarm{:02}", 2, "upperarm02", (0.42, 0.0, 1.38), (0.66, 0.0, 1.38)),
    ("pelvis", 1, "root", (0.02, 0.0, 0.92), (0.1, 0.0, 0.9)),
    ("upperleg{:02}", 2, "pelvis", (0.1, 0.0, 0.9), (0.1, 0.0, 0.5)),
    ("lowerleg{:02}", 2, "upperleg02", (0.1, 0.0, 0.5), (0.1, 0.0, 0.1)),
    ("foot", 1, "lowerleg02", (0.1, 0.0, 0.1), (0.1, -0.12, 0.02)),
    ("wrist", 1, "lowerarm02", (0.66, 0.0, 1.38), (0.7, 0.0, 1.38)),
    *((f"metacarpal{n}", 1, "wrist", (0.7, 0.02 * n - 0.06, 1.38), (0.76, 0.02 * n - 0.06, 1.38)) for n in range(1, 5)),
    ("finger1-{}", 3, "wrist", (0.68, -0.03, 1.38), (0.73, -0.09, 1.37)),
    *(
        (f"finger{n}-{{}}", 3, f"metacarpal{n - 1}", (0.76, 0.02 * n - 0.08, 1.38), (0.84, 0.02 * n - 0.08, 1.38))
        for n in range(2, 6)
    ),
    ("toe1-{}", 2, "foot", (0.07, -0.12, 0.02), (0.07, -0.18, 0.02)),
    *((f"toe{n}-{{}}", 3, "foot", (0.05 + 0.02 * n, -0.12, 0.02), (0.05 + 0.02 * n, -0.17, 0.02)) for n in range(2, 6)),
    ("breast", 1, "spine04", (0.08, -0.05, 1.25), (0.08, -0.12, 1.25)),
    *(
        (f"face{n:02}-{{}}", 2, "head", (x, -0.06, 1.55 + 0.01 * n), (x, -0.1, 1.55 + 0.01 * n))
        for n, x in enumerate(3 * (0.008, 0.016, 0.024, 0.032, 0.04))
    ),
)  # fmt: skip
HUMAN = 163  # Bones of a person; a rig of more has strands of hair

# Meshes of a person: vertices, and prefixes of the names of their bones
SKINS = {
    "Body": (14000, ""),
    "Tights": (2700, "root spine upperarm lowerarm shoulder pelvis upperleg lowerleg breast"),
    "Skirt": (720, "root spine01 pelvis upperleg"),
    "Hair": (428, "head neck"),
}


def add_person() -> bpy.types.Object:
    """Add an animated person of four meshes, the sizes of MakeHuman's, to the scene; its armature."""
    armature = add_rig(HUMAN)
    for name, (vertices, starts) in SKINS.items():
        add_skin(armature, name, vertices, tuple(starts.split()) or ("",))
    return armature


def add_parts(vertex_count: int, bone_count: int, mesh_count: int) -> bpy.types.Object:
    """Add an animated character whose vertices are divided among meshes, each around all its bones; its armature."""
    armature = add_rig(bone_count)
    for number in range(mesh_count):
        add_skin(armature, f"Part {number}", round(vertex_count / mesh_count))
    return armature


def add_rig(bone_count: int) -> bpy.types.Object:
    """Add an armature of the first bones of `list_bones`, animated over frames 1 to 30."""
    armature = bpy.data.objects.new("Rig", bpy.data.armatures.new("Rig"))
    bpy.context.scene.collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    edited = armature.data.edit_bones
    for (name, parent, head, tail), _ in zip(list_bones(), range(bone_count), strict=False):
        bone = edited.new(name)
        bone.parent, bone.head, bone.tail = edited.get(parent), head, tail
    bpy.ops.object.mode_set(mode="OBJECT")
    animate(list(armature.pose.bones))
    return armature


def list_bones() -> Iterator[tuple[str, str, np.ndarray, np.ndarray]]:
    """Yield name, parent, head and tail of a person's bones, then of strands of hair without end."""
    for chain in CENTER:
        yield from _divide(*chain)
    for chain in LEFT:
        for side, sign in ((".L", 1.0), (".R", -1.0)):
            mirror = np.array([sign, 1.0, 1.0])
            for name, parent, head, tail in _divide(*chain):
                is_center = parent.startswith(("root", "spine", "head"))
                yield name + side, parent if is_center else parent + side, mirror * head, mirror * tail
    yield from _divide("jaw", 1, "head", (0.0, -0.02, 1.56), (0.0, -0.1, 1.52))
    rng = np.random.default_rng(11)
    strand = 0
    while True:
        x, y, length = 0.08 * rng.uniform(-1.0, 1.0), rng.uniform(0.0, 0.1), rng.uniform(0.2, 0.4)
        yield from _divide(f"hair{strand:03}-{{}}", 5, "head", (x, y, 1.7), (x, y + 0.05, 1.7 - length))
        strand += 1


def _divide(
    names: str, count: int, parent: str, start: tuple[float, ...], end: tuple[float, ...]
) -> Iterator[tuple[str, str, np.ndarray, np.ndarray]]:
    """Yield the bones of a chain."""
    ends = np.linspace(start, end, count + 1)
    for number in range(count):
        yield names.format(number + 1), parent, ends[number], ends[number + 1]
        parent = names.format(number + 1)


def add_skin(
    armature: bpy.types.Object, name: str, vertex_count: int, starts: tuple[str, ...] = ("",)
) -> bpy.types.Object:
    """Add a mesh of rings around the deforming bones whose names begin so, and an Armature modifier."""
    bones = [bone for bone in armature.data.bones if bone.use_deform and bone.name.startswith(starts)]
    heads, tails = (np.array([getattr(bone, end) for bone in bones]) for end in ("head_local", "tail_local"))
    points, faces, owners = _make_rings(heads, tails, round(vertex_count / SIDES))
    obj = bpy.data.objects.new(name, make_mesh(name, points, faces))
    bpy.context.scene.collection.objects.link(obj)
    near, weights = _weigh(points, 0.5 * (heads + tails), owners)
    groups = [obj.vertex_groups.new(name=bone.name) for bone in bones]
    _write_weights(groups, near, weights)
    obj.modifiers.new("Armature", "ARMATURE").object = armature
    return obj


def _make_rings(heads: np.ndarray, tails: np.ndarray, ring_count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, shape (V, 3), quads, shape (F, 4), and the bone of each point, shape (V,)."""
    owners = np.sort(np.arange(ring_count) % len(heads))
    first = np.searchsorted(owners, owners)
    share = (np.arange(ring_count) - first + 0.5) / np.bincount(owners)[owners]
    along = (tails - heads)[owners]
    lengths = np.linalg.norm(along, axis=1, keepdims=True)
    across = np.cross(along, [0.31, 0.87, 0.39])
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    other = np.cross(along, across) / lengths
    angles = 2.0 * np.pi * np.arange(SIDES)[:, None] / SIDES
    circle = np.cos(angles) * across[:, None] + np.sin(angles) * other[:, None]
    points = (heads[owners] + share[:, None] * along)[:, None] + 0.35 * lengths[:, None] * circle
    faces = join_rings(ring_count, SIDES)[(owners[1:] == owners[:-1]).repeat(SIDES)]
    return points.reshape(-1, 3), faces, owners.repeat(SIDES)


def _weigh(points: np.ndarray, middles: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bones that may influence each point, and their weights, 0 for those that do not: arrays of shape (V, NEAR)."""
    between = np.linalg.norm(middles[:, None] - middles, axis=2)
    near = np.argsort(between, axis=1)[:, :NEAR]
    reach = FALLOFF * np.sort(between, axis=1)[:, 1:2].astype(np.float32)
    near, reach = near[owners], reach[owners]
    distances = np.linalg.norm(points.astype(np.float32)[:, None] - middles.astype(np.float32)[near], axis=2) / reach
    weights = np.exp(distances.min(axis=1, keepdims=True) ** 2 - distances**2)
    weights /= weights.sum(axis=1, keepdims=True)
    return near, np.where(weights < LEAST, 0.0, weights)


def _write_weights(groups: list[bpy.types.VertexGroup], bones: np.ndarray, weights: np.ndarray) -> None:
    """Write weights in steps of 1/255, so that a group takes all vertices of a weight at once."""
    steps = np.rint(255.0 * weights).astype(np.int64)
    vertices, columns = np.nonzero(steps)
    keys = 256 * bones[vertices, columns] + steps[vertices, columns]
    order = np.argsort(keys, kind="stable")
    found, starts = np.unique(keys[order], return_index=True)
    for key, members in zip(found, np.split(vertices[order], starts[1:]), strict=True):
        groups[key // 256].add(members.tolist(), key % 256 / 255.0, "REPLACE")


# Run in its own process: once Rigify was enabled, the bpy module crashes (4.2) or hangs (4.5) when Python ends
GENERATE = """
import os, sys
import bpy
import addon_utils
bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
addon_utils.enable("rigify", default_set=True)
bpy.ops.object.armature_human_metarig_add()
bpy.ops.pose.rigify_generate()
bpy.ops.wm.save_as_mainfile(filepath=sys.argv[1])
sys.stdout.flush()
os._exit(0)
"""


def open_rigify(path: Path) -> bpy.types.Object:
    """Save the human that Rigify generates as a file, and open it; its armature."""
    subprocess.run([sys.executable, "-c", GENERATE, str(path)], check=True, stdout=subprocess.DEVNULL)
    bpy.ops.wm.open_mainfile(filepath=str(path))
    return next(obj for obj in bpy.data.objects if obj.type == "ARMATURE" and obj.name != "metarig")
