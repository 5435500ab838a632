"""Layers as Blender's data: attributes of a mesh, and limbs objects of loose cloth.

These are hidden meshes, in no collection: one says which limbs each vertex may enter, one holds distances about them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import bpy
import numpy as np

from ...deformers.layers.keep import LayerPlan
from ...deformers.layers.limb_depths import PressedSkin
from ...deformers.layers.limb_grids import Giving, LimbGrids, NearLimbs
from ...deformers.layers.tuck import Cover
from ...nodes.compression import CARRIED, CARRIERS, NUMBER, RESTING, SIDE
from ...nodes.groups import list_layer_attributes
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
from ..modifiers import is_layer_modifier
from ..owned import Tag, is_marked, mark, remove_unused
from .data import mesh_of

# Types of a mesh's attributes that hold what keeps it apart, by how their names begin
LAYER_ATTRIBUTES = {
    NEIGHBORS: "FLOAT_COLOR", ANCHOR: "INT", ROW: "INT",
    CORNERS: "FLOAT_VECTOR", WEIGHTS: "FLOAT_VECTOR", HEIGHT: "FLOAT",
}  # fmt: skip

FIELDS = {"BOOLEAN": "value", "INT": "value", "FLOAT": "value", "FLOAT_VECTOR": "vector", "FLOAT_COLOR": "color"}


def list_layer_arrays(plan: LayerPlan, numbers: Sequence[int], scale: float, count: int) -> dict[str, np.ndarray]:
    """Arrays of a plan for a mesh, by the names of its attributes.

    Parameters
    ----------
    numbers : sequence of int
        Of the plan's covers.
    scale : float
        Units of the armature in one of the mesh's own.
    count : int
        Of the mesh's vertices.
    """
    arrays = {NEIGHBORS: plan.neighbors}
    if plan.anchors is not None:
        arrays[ANCHOR] = plan.anchors
    if plan.limbs is not None and plan.limbs.near.giving is not None:
        vertices = plan.limbs.near.vertices
        arrays[ROW] = np.full(count, NO_ROW)
        arrays[ROW][vertices] = np.arange(len(vertices))
    for number, cover in zip(numbers, (one.cover for one in plan.covers), strict=True):
        arrays[f"{CORNERS}{number}"], arrays[f"{WEIGHTS}{number}"] = cover.corners, cover.weights
        arrays[f"{HEIGHT}{number}"] = cover.heights / np.float32(scale)
    return arrays


def write_layer_arrays(mesh: bpy.types.Mesh, arrays: Mapping[str, np.ndarray]) -> None:
    """Store what `list_layer_arrays` says."""
    for name, values in arrays.items():
        _write(mesh, name, _find_kind(name), values)


def read_layer_array(mesh: bpy.types.Mesh, name: str) -> np.ndarray:
    """What `write_layer_arrays` has stored by a name."""
    return _read(mesh, name, _find_kind(name))


def has_layer_array(mesh: bpy.types.Mesh, name: str) -> bool:
    """Whether a mesh holds values of each vertex by a name, of the type that they have."""
    attribute = mesh.attributes.get(name)
    return attribute is not None and (attribute.data_type, attribute.domain) == (_find_kind(name), "POINT")


def _find_kind(name: str) -> str:
    return LAYER_ATTRIBUTES[name.rstrip("0123456789")]


def read_cover(mesh: bpy.types.Mesh, number: int) -> Cover:
    """Cover of a mesh by the layer of a number."""
    corners, weights, heights = (read_layer_array(mesh, f"{name}{number}") for name in (CORNERS, WEIGHTS, HEIGHT))
    return Cover(corners.astype(np.int32), weights, heights)


def list_read_arrays(obj: bpy.types.Object) -> set[str]:
    """Names of the attributes that an object's modifiers read."""
    groups = [modifier.node_group for modifier in obj.modifiers if is_layer_modifier(modifier)]
    return {name for group in groups if group is not None for name in list_layer_attributes(group)}


def list_unread_arrays(mesh: bpy.types.Mesh, objects: Iterable[bpy.types.Object]) -> list[str]:
    """Names of the attributes of a mesh that none of its objects reads."""
    own = [name for name in mesh.attributes.keys() if name.rstrip("0123456789") in LAYER_ATTRIBUTES]
    if not own:
        return []
    used = {name for obj in objects if obj.data == mesh for name in list_read_arrays(obj)}
    return [name for name in own if name not in used]


def remove_unread_arrays() -> None:
    """Remove attributes that no object reads from all meshes of this file."""
    for mesh in bpy.data.meshes:
        for name in list_unread_arrays(mesh, bpy.data.objects) if mesh.is_editable else ():
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


def new_grids_object(grids: LimbGrids) -> bpy.types.Object:
    """Make the object that holds the distances about these limbs at rest."""
    made = _new_hidden("Supple Grids", len(grids.values))
    _write(mesh_of(made), FIELD, "FLOAT_COLOR", np.roll(grids.values, -1, axis=1))
    _write(mesh_of(made), WAY, "BOOLEAN", grids.find_ways())
    return made


def new_pressed_object(
    obj: bpy.types.Object, pressed: Mapping[int, PressedSkin], firsts: Mapping[int, int]
) -> bpy.types.Object:
    """Make the object with the points of patterns that limbs may press into.

    Parameters
    ----------
    pressed : mapping from int to PressedSkin
        By the numbers of the patterns.
    firsts : mapping from int to int
        First limb of each in the grids object.
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
    """The content of a slots object and a grids object: only limbs that a point may enter."""
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
    mark(mesh, Tag.LIMBS)
    mesh.vertices.add(count)
    return bpy.data.objects.new(mesh.name, mesh)


def is_limbs_object(obj: bpy.types.Object) -> bool:
    """Whether an object was made by one of these."""
    return obj.type == "MESH" and is_marked(mesh_of(obj), Tag.LIMBS)


def remove_unused_limbs_objects() -> None:
    """Remove limbs objects that no node modifier reads any more."""
    remove_unused(filter(is_limbs_object, bpy.data.objects))


NUMBERS = {"BOOLEAN": bool, "INT": np.int32}
WIDTHS = {"INT": 0, "FLOAT": 0, "FLOAT_VECTOR": 3, "FLOAT_COLOR": 4}


def _read(mesh: bpy.types.Mesh, name: str, kind: str) -> np.ndarray:
    return read_array(mesh.attributes[name].data, FIELDS[kind], WIDTHS[kind], NUMBERS.get(kind, np.float32))


def _write(mesh: bpy.types.Mesh, name: str, kind: Any, values: np.ndarray) -> None:
    attribute = mesh.attributes.get(name)
    if attribute is not None and (attribute.data_type, attribute.domain) != (kind, "POINT"):
        mesh.attributes.remove(attribute)
        attribute = None
    attribute = attribute or mesh.attributes.new(name, kind, "POINT")
    write_array(attribute.data, FIELDS[kind], values, NUMBERS.get(kind, np.float32))
