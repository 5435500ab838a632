"""Meshes and vertex groups as arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from operator import methodcaller
from typing import Any, cast

import bpy
import bmesh
import numpy as np

from ...nodes.groups import OWN
from ..arrays import read_array, write_array
from ..modifiers import LINEAR_GROUP

# By `session_uid` of the mesh, within `reading_groups_once`
_entries_read: dict[int, VertexGroups] | None = None


@dataclass(frozen=True)
class VertexGroups:
    """All entries of a mesh's vertex groups, ordered by vertex: three arrays of shape (N,)."""

    vertices: np.ndarray
    groups: np.ndarray
    values: np.ndarray

    def read_group(self, index: int, vertex_count: int) -> np.ndarray:
        """Values of one group, shape (V,), 0 if a vertex is not in it."""
        result = np.zeros(vertex_count)
        chosen = self.groups == index
        result[self.vertices[chosen]] = self.values[chosen]
        return result


@dataclass(frozen=True)
class RestMesh:
    """A mesh at rest, read once.

    Attributes
    ----------
    points : float32 array, shape (V, 3)
        Without shape keys, object space.
    triangles : int32 array, shape (T, 3)
        Counter-clockwise from outside.
    chosen : dict of str to float array, shape (V,)
        Values of those vertex groups that were asked for, by their names.
    """

    points: np.ndarray
    triangles: np.ndarray
    groups: VertexGroups
    chosen: dict[str, np.ndarray]


def read_rest_mesh(obj: bpy.types.Object, groups: Iterable[str]) -> RestMesh:
    """Read a mesh at rest, with the values of some vertex groups; those that it does not have are left out."""
    mesh = mesh_of(obj)
    entries, indices = read_vertex_groups(mesh), {group.name: group.index for group in obj.vertex_groups}
    chosen = {name: entries.read_group(indices[name], len(mesh.vertices)) for name in groups if name in indices}
    return RestMesh(read_rest_points(mesh), read_triangles(mesh), entries, chosen)


def mesh_of(obj: bpy.types.Object) -> bpy.types.Mesh:
    """The mesh of a mesh object."""
    return cast(bpy.types.Mesh, obj.data)


def read_points(mesh: bpy.types.Mesh) -> np.ndarray:
    """Vertex positions, float32, shape (V, 3), object space."""
    return read_array(mesh.vertices, "co", 3)


def write_points(mesh: bpy.types.Mesh, points: np.ndarray) -> None:
    """Set vertex positions, shape (V, 3), object space."""
    write_array(mesh.vertices, "co", points)


def read_face_corners(mesh: bpy.types.Mesh) -> tuple[np.ndarray, np.ndarray]:
    """Vertices of all faces' corners, shape (C,), and each face's first corner, shape (F,)."""
    corners = read_array(mesh.loops, "vertex_index", kind=np.int32)
    return corners, read_array(mesh.polygons, "loop_start", kind=np.int32)


def read_triangles(mesh: bpy.types.Mesh) -> np.ndarray:
    """Vertices of the triangles that the faces are cut into, int32, shape (T, 3), counter-clockwise from outside."""
    mesh.calc_loop_triangles()
    return read_array(mesh.loop_triangles, "vertices", 3, np.int32)


def read_edges(mesh: bpy.types.Mesh) -> np.ndarray:
    """Vertices of all edges, int32, shape (E, 2)."""
    return read_array(mesh.edges, "vertices", 2, np.int32)


def digest_mesh(obj: bpy.types.Object) -> bytes:
    """A digest of points, faces, weights, shape keys and names of attributes of an object's mesh.

    Supple's own attributes do not count.
    """
    mesh = mesh_of(obj)
    entries, keys, own = read_vertex_groups(mesh), mesh.shape_keys, obj.vertex_groups.find(LINEAR_GROUP)
    others = entries.groups != own
    arrays = [read_points(mesh), *read_face_corners(mesh)]
    arrays += [part[others] for part in (entries.vertices, entries.groups, entries.values)]
    attributes = [name for name in mesh.attributes.keys() if not name.startswith(OWN)]
    names = [group.name for group in obj.vertex_groups if group.index != own], attributes
    if keys is not None:
        arrays += [read_key_points(key) for key in keys.key_blocks]
        names += tuple((key.name, key.relative_key.name, key.vertex_group) for key in keys.key_blocks)
    digest = hashlib.sha256(repr(names).encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array))
    return digest.digest()


def is_smooth(mesh: bpy.types.Mesh) -> bool:
    """Whether more of the faces are shaded smooth than flat."""
    return bool(read_array(mesh.polygons, "use_smooth", kind=np.bool_).mean() > 0.5) if mesh.polygons else False


def read_hard_edges(mesh: bpy.types.Mesh) -> np.ndarray:
    """Edges marked sharp, and those of faces shaded flat on a smooth mesh: their vertices, int32, shape (N, 2)."""
    marked = read_edges(mesh)[read_array(mesh.edges, "use_edge_sharp", kind=np.bool_)]
    if not is_smooth(mesh):
        return marked
    flat = read_triangles(mesh)[~read_array(mesh.loop_triangles, "use_smooth", kind=np.bool_)]
    return np.concatenate([marked, flat[:, [0, 1]], flat[:, [1, 2]], flat[:, [2, 0]]])


def read_object_ids() -> bytes:
    """Which objects the file holds, in their order, in a form to compare: another one once one is added or removed."""
    return read_array(bpy.data.objects, "session_uid", kind=np.int32).tobytes()


def read_evaluated_points(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> np.ndarray:
    """Vertex positions after all modifiers that are shown, float32, shape (V', 3), object space."""
    return read_points(mesh_of(obj.evaluated_get(depsgraph)))


def read_key_points(key_block: bpy.types.ShapeKey) -> np.ndarray:
    """Positions of a shape key, float32, shape (V, 3), object space."""
    return read_array(key_block.data, "co", 3)


# Shape key by which mmd_tools moves the vertices itself
SDEF_SKINNING = "mmd_sdef_skinning"


def moves_by_sdef(obj: bpy.types.Object) -> bool:
    """Whether mmd_tools moves the vertices of a mesh."""
    keys = mesh_of(obj).shape_keys
    block = None if keys is None else keys.key_blocks.get(SDEF_SKINNING)
    return block is not None and not block.mute and block.value != 0.0


class FaceKeys:
    """The relative shape keys of a mesh, and the shape they make together. `obj`: with relative shape keys."""

    def __init__(self, obj: bpy.types.Object) -> None:
        mesh, keys = mesh_of(obj), obj.data.shape_keys
        count = len(mesh.vertices)
        names = [group.name for group in obj.vertex_groups]
        self.count = len(keys.key_blocks)
        self.basis = read_key_points(keys.reference_key)
        groups = read_vertex_groups(mesh) if any(key.vertex_group for key in keys.key_blocks) else None
        self._offsets = []
        for key in keys.key_blocks:
            offset = read_key_points(key) - read_key_points(key.relative_key)
            if groups is not None and key.vertex_group in names:
                offset *= groups.read_group(names.index(key.vertex_group), count)[:, None].astype(np.float32)
            self._offsets.append(None if key == keys.reference_key else offset)

    def find_offset(self, index: int) -> np.ndarray:
        """Offsets of a key at value 1, with its vertex group, float32, shape (V, 3), object space."""
        offset = self._offsets[index]
        return np.zeros_like(self.basis) if offset is None else offset

    def mix(self, values: tuple[float, ...]) -> np.ndarray:
        """The shape at these values, float32, shape (V, 3), object space."""
        points = self.basis.copy()
        for value, offset in zip(values, self._offsets, strict=True):
            if value and offset is not None:
                points += np.float32(value) * offset
        return points


def read_key_values(mesh: bpy.types.Mesh, depsgraph: bpy.types.Depsgraph) -> tuple[float, ...]:
    """Values of a mesh's shape keys as a depsgraph has them, 0 for muted ones; nothing if there are none."""
    if mesh.shape_keys is None:
        return ()
    keys = mesh.shape_keys.evaluated_get(depsgraph)
    return tuple(0.0 if key.mute else key.value for key in keys.key_blocks)


def read_mixed_points(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> np.ndarray:
    """Positions with the relative shape keys of a depsgraph's frame, before modifiers, shape (V, 3), object space."""
    mesh = mesh_of(obj)
    keys = mesh.shape_keys
    if keys is None or not keys.use_relative or obj.show_only_shape_key:
        return read_points(mesh)
    return FaceKeys(obj).mix(read_key_values(mesh, depsgraph))


def read_rest_points(mesh: bpy.types.Mesh) -> np.ndarray:
    """Positions of the vertices without shape keys, float32, shape (V, 3), object space: of the first key, if any.

    The mesh's own points differ if files or scripts have changed them beside the keys; Blender does not show them.
    """
    keys = mesh.shape_keys
    if keys is None or len(keys.reference_key.data) != len(mesh.vertices):
        return read_points(mesh)
    return read_key_points(keys.reference_key)


def write_key_points(key_block: bpy.types.ShapeKey, points: np.ndarray) -> None:
    """Set the positions of a shape key, shape (V, 3), object space."""
    write_array(key_block.data, "co", points)


def read_vertex_groups(mesh: bpy.types.Mesh) -> VertexGroups:
    """All entries of the vertex groups.

    Vertex groups are the one kind of mesh data that Blender gives no array of: this walks them, which takes 1-2 s for
    a million vertices.
    """
    if _entries_read is None:
        return _walk_vertex_groups(mesh)
    if mesh.session_uid not in _entries_read:
        _entries_read[mesh.session_uid] = _walk_vertex_groups(mesh)
    return _entries_read[mesh.session_uid]


@contextmanager
def reading_groups_once() -> Iterator[None]:
    """Read the vertex groups of each mesh no more than once meanwhile: no weight may be changed."""
    global _entries_read
    before, _entries_read = _entries_read, _entries_read if _entries_read is not None else {}
    try:
        yield
    finally:
        _entries_read = before


def _walk_vertex_groups(mesh: bpy.types.Mesh) -> VertexGroups:
    """Those of a BMesh are lists, which is three times as fast as the vertices of the mesh."""
    edited = bmesh.new()
    try:
        edited.from_mesh(mesh, face_normals=False, vertex_normals=False)
        layer: Any = edited.verts.layers.deform.active
        found = [] if layer is None else [vertex[layer] for vertex in edited.verts]
        counts = np.fromiter(map(len, found), np.intp, len(found))
        groups, values = (chain.from_iterable(map(methodcaller(name), found)) for name in ("keys", "values"))
        arrays = np.fromiter(groups, np.intp, counts.sum()), np.fromiter(values, np.float64, counts.sum())
        return VertexGroups(np.repeat(np.arange(len(found)), counts), *arrays)
    finally:
        edited.free()


def read_groups_of(mesh: bpy.types.Mesh, indices: np.ndarray) -> VertexGroups:
    """The entries of the vertex groups at some vertices.

    `indices`, int array, shape (N,): of the vertices, ascending.
    """
    chosen = [mesh.vertices[index] for index in indices.tolist()]
    counts = [len(vertex.groups) for vertex in chosen]
    groups = [entry.group for vertex in chosen for entry in vertex.groups]
    values = [entry.weight for vertex in chosen for entry in vertex.groups]
    return VertexGroups(np.repeat(indices, counts), np.array(groups, np.intp), np.array(values, np.float64))
