"""What keeps layers outside of each other, as Blender's data: attributes of a mesh, and limbs objects of loose cloth.

These are hidden meshes, in no collection: one says which limbs each vertex may enter, one holds distances about them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import bpy
import numpy as np

from ...deformers.layers.limb_depths import PressedSkin
from ...deformers.layers.limb_grids import Giving, LimbGrids, NearLimbs
from ...deformers.layers.tuck import Cover
from ...nodes.compression import CARRIED, CARRIERS, NUMBER, RESTING, SIDE
from ...nodes.layers import (
    ANCHOR,
    CORNERS,
    DISTANCE,
    FIELD,
    HEIGHT,
    JOINT,
    LOW,
    NEIGHBORS,
    NO_ROW,
    NODES,
    NORMAL,
    OWNER,
    ROW,
    SHARE,
    START,
    STEP,
    VERTEX,
    WAY,
    WEIGHTS,
)
from ..arrays import read_array, write_array
from .data import mesh_of

LIMBS_KEY = "supple_limbs"
"""Custom property of the mesh of limbs objects."""

LAYER_ATTRIBUTES = NEIGHBORS, ANCHOR, CORNERS, WEIGHTS, HEIGHT, ROW
"""How the names of a mesh's attributes begin that hold what keeps it apart."""

FIELDS = {"BOOLEAN": "value", "INT": "value", "FLOAT": "value", "FLOAT_VECTOR": "vector", "FLOAT_COLOR": "color"}


def write_neighbors(mesh: bpy.types.Mesh, neighbors: np.ndarray) -> None:
    """Store what `find_neighbors` says of a mesh, array (V, 4)."""
    _write(mesh, NEIGHBORS, "FLOAT_COLOR", neighbors)


def write_cover(mesh: bpy.types.Mesh, number: int, cover: Cover) -> None:
    """Store what a layer of a number covers of a mesh."""
    for name, kind, values in (
        (CORNERS, "FLOAT_VECTOR", cover.corners),
        (WEIGHTS, "FLOAT_VECTOR", cover.weights),
        (HEIGHT, "FLOAT", cover.heights),
    ):
        _write(mesh, f"{name}{number}", kind, values)


def write_anchors(mesh: bpy.types.Mesh, anchors: np.ndarray) -> None:
    """Store what `find_anchors` says of a mesh with stiff parts, int array (V,)."""
    _write(mesh, ANCHOR, "INT", anchors)


def read_anchors(mesh: bpy.types.Mesh) -> np.ndarray | None:
    """What `write_anchors` has stored; None where there are no stiff parts."""
    return _read(mesh, ANCHOR, "INT").astype(np.intp) if ANCHOR in mesh.attributes else None


def read_neighbors(mesh: bpy.types.Mesh) -> np.ndarray:
    """What `write_neighbors` has stored: int array, shape (V, 4)."""
    return _read(mesh, NEIGHBORS, "FLOAT_COLOR").astype(np.intp)


def read_cover(mesh: bpy.types.Mesh, number: int) -> Cover:
    """What `write_cover` has stored."""
    corners, weights = (_read(mesh, f"{name}{number}", "FLOAT_VECTOR") for name in (CORNERS, WEIGHTS))
    return Cover(corners.astype(np.int32), weights, _read(mesh, f"{HEIGHT}{number}", "FLOAT"))


def remove_layer_attributes(mesh: bpy.types.Mesh) -> None:
    """Take all of this off a mesh."""
    for name in [name for name in mesh.attributes.keys() if name.startswith(LAYER_ATTRIBUTES)]:
        mesh.attributes.remove(mesh.attributes[name])


def new_slots_object(obj: bpy.types.Object, grids: LimbGrids, near: NearLimbs) -> bpy.types.Object:
    """Make the object that says which limbs loose cloth may enter; `grids.bones` are joints of its armature."""
    limbs = near.limbs.ravel()
    chosen = np.maximum(limbs, 0)
    slots = _new_hidden(f"Supple Limbs {obj.name}", len(limbs))
    for name, kind, values in (
        (JOINT, "INT", grids.bones[chosen]),
        (LOW, "FLOAT_VECTOR", grids.lows[chosen]),
        (STEP, "FLOAT", grids.steps[chosen]),
        (NODES, "FLOAT_VECTOR", np.where(limbs[:, None] >= 0, grids.counts[chosen], 0)),
        (START, "FLOAT", grids.firsts[chosen]),
        (DISTANCE, "FLOAT", near.distances.ravel()),
        (VERTEX, "INT", np.tile(near.vertices, len(near.limbs))),
    ):
        _write(mesh_of(slots), name, kind, values)
    if near.giving is not None:
        shares, bones, normals = near.giving
        _write(mesh_of(slots), SHARE, "FLOAT", shares.ravel())
        _write(mesh_of(slots), OWNER, "INT", np.tile(bones, len(shares)))
        _write(mesh_of(slots), NORMAL, "FLOAT_VECTOR", np.tile(normals, (len(shares), 1)))
    return slots


def write_rows(mesh: bpy.types.Mesh, near: NearLimbs) -> None:
    """Store which of these points each vertex of a mesh is."""
    rows = np.full(len(mesh.vertices), NO_ROW)
    rows[near.vertices] = np.arange(len(near.vertices))
    _write(mesh, ROW, "INT", rows)


def new_grids_object(grids: LimbGrids) -> bpy.types.Object:
    """Make the object that holds the distances about these limbs at rest."""
    made = _new_hidden("Supple Grids", len(grids.values))
    _write(mesh_of(made), FIELD, "FLOAT_COLOR", np.roll(grids.values, -1, axis=1))
    _write(mesh_of(made), WAY, "BOOLEAN", grids.find_ways())
    return made


def new_pressed_object(
    obj: bpy.types.Object, pressed: Mapping[int, PressedSkin], firsts: Mapping[int, int]
) -> bpy.types.Object:
    """Make the object that says which points of patterns limbs may press into.

    Parameters
    ----------
    pressed : mapping from int to PressedSkin
        By the numbers of the patterns.
    firsts : mapping from int to int
        Where the limbs of each begin in the grids object.
    """
    rows = [(number, skin, limb) for number, skin in pressed.items() for limb in range(len(skin.grids.bones))]
    counts = [len(skin.points) for _, skin, _ in rows]
    made = _new_hidden(f"Supple Depths {obj.name}", sum(counts))
    write_array(mesh_of(made).vertices, "co", np.concatenate([skin.points for _, skin, _ in rows]), np.float32)

    def of_limbs(name: str) -> np.ndarray:
        return np.repeat([getattr(skin.grids, name)[limb] for _, skin, limb in rows], counts, axis=0)

    for name, kind, values in (
        (CARRIERS, "FLOAT_COLOR", np.concatenate([skin.joints for _, skin, _ in rows])),
        (CARRIED, "FLOAT_COLOR", np.concatenate([skin.weights for _, skin, _ in rows])),
        (RESTING, "FLOAT", np.concatenate([skin.rest[limb] for _, skin, limb in rows])),
        (SIDE, "FLOAT", np.repeat([skin.side for _, skin, _ in rows], counts)),
        (NUMBER, "INT", np.repeat([number for number, _, _ in rows], counts)),
        (JOINT, "INT", of_limbs("bones")),
        (LOW, "FLOAT_VECTOR", of_limbs("lows")),
        (STEP, "FLOAT", of_limbs("steps")),
        (NODES, "FLOAT_VECTOR", of_limbs("counts")),
        (START, "FLOAT", np.repeat([skin.grids.firsts[limb] + firsts[number] for number, skin, limb in rows], counts)),
    ):
        _write(mesh_of(made), name, kind, values)
    return made


def read_limbs(slots: bpy.types.Object, grids: bpy.types.Object) -> tuple[LimbGrids, NearLimbs]:
    """What a slots object and a grids object hold: only limbs that a point may enter."""
    mesh, values = mesh_of(slots), np.roll(_read(mesh_of(grids), FIELD, "FLOAT_COLOR"), 1, axis=1)
    counts, firsts = _read(mesh, NODES, "FLOAT_VECTOR").astype(np.intp), _read(mesh, START, "FLOAT").astype(np.intp)
    used = np.flatnonzero(counts[:, 0])
    starts, chosen, limbs = np.unique(firsts[used], return_index=True, return_inverse=True)
    rows, index = used[chosen], np.full(len(firsts), -1, np.int32)
    index[used] = limbs
    lows, steps = _read(mesh, LOW, "FLOAT_VECTOR")[rows], _read(mesh, STEP, "FLOAT")[rows]
    bones = _read(mesh, JOINT, "INT")[rows].astype(np.intp)
    vertices = _read(mesh, VERTEX, "INT")
    count = len(np.unique(vertices))  # each is there once for each slot
    distances = _read(mesh, DISTANCE, "FLOAT").reshape(-1, count)
    giving = None
    if NORMAL in mesh.attributes:
        owners, normals = _read(mesh, OWNER, "INT")[:count], _read(mesh, NORMAL, "FLOAT_VECTOR")[:count]
        giving = Giving(_read(mesh, SHARE, "FLOAT").reshape(-1, count), owners.astype(np.intp), normals)
    found = LimbGrids(bones, lows.astype(np.float64), steps.astype(np.float64), counts[rows], starts, values)
    return found, NearLimbs(index.reshape(-1, count), distances, vertices[:count].astype(np.intp), giving)


def _new_hidden(name: str, count: int) -> bpy.types.Object:
    mesh = bpy.data.meshes.new(name)
    mesh[LIMBS_KEY] = True
    mesh.vertices.add(count)
    return bpy.data.objects.new(mesh.name, mesh)


def is_limbs_object(obj: bpy.types.Object) -> bool:
    """Whether an object was made by one of these."""
    return obj.type == "MESH" and LIMBS_KEY in mesh_of(obj)


def remove_unused_limbs_objects() -> None:
    """Remove limbs objects that no node modifier reads any more."""
    hidden = {obj for obj in bpy.data.objects if obj.library is None and is_limbs_object(obj)}
    users = cast(Any, bpy.data).user_map(subset=hidden) if hidden else {}
    for obj in [obj for obj in hidden if not users[obj]]:
        mesh = mesh_of(obj)
        bpy.data.objects.remove(obj)
        if mesh.library is None and not mesh.users:
            bpy.data.meshes.remove(mesh)


NUMBERS = {"BOOLEAN": bool, "INT": np.int32}
WIDTHS = {"INT": 0, "FLOAT": 0, "FLOAT_VECTOR": 3, "FLOAT_COLOR": 4}


def _read(mesh: bpy.types.Mesh, name: str, kind: str) -> np.ndarray:
    return read_array(mesh.attributes[name].data, FIELDS[kind], WIDTHS[kind], NUMBERS.get(kind, np.float32))


def _write(mesh: bpy.types.Mesh, name: str, kind: Any, values: np.ndarray) -> None:
    attribute = mesh.attributes.get(name) or mesh.attributes.new(name, kind, "POINT")
    write_array(attribute.data, FIELDS[kind], values, NUMBERS.get(kind, np.float32))
