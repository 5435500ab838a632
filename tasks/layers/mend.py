"""Mend at Rest: what sticks out of a layer at rest is moved beneath it, in the mesh itself and all its shape keys."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of, read_key_points, read_points, write_key_points, write_points
from ...bridge.meshes.nearest import find_nearest_surface
from ...deformers.geometry.solid import vertex_normals
from ...deformers.layers.tuck import MAX_PIERCED, find_neighbors, find_pierced, smooth_pushes
from ...settings.objects import settings_of
from .add import add_layers
from .present import list_layered
from .read import Dressed, read_dressed

# Where what is mended comes to lie below the layer, in gaps
BENEATH = 0.25

SMOOTHING = 2


def mend_at_rest(armature: bpy.types.Object, meshes: Sequence[bpy.types.Object]) -> list[str]:
    """Move what sticks out of layers at rest beneath them.

    Raises
    ------
    SkinningError
        As `read_dressed` and `add_layers`; nothing is changed then.
    """
    before = [(garment.obj, _read_shapes(garment.obj)) for garment in read_dressed(armature, meshes).garments]
    try:
        lines = move_beneath(armature, meshes)
        if lines and list_layered(meshes):
            add_layers(armature, meshes)
    except BaseException:
        for obj, shapes in before:
            _write_shapes(obj, shapes)
        raise
    return lines or [f"Nothing of '{armature.name}' sticks out of its layers at rest"]


def move_beneath(armature: bpy.types.Object, meshes: Sequence[bpy.types.Object]) -> list[str]:
    """The same, but for Stay Outside, which is as it was before; no sentences if nothing sticks out."""
    lines, dressed = [], read_dressed(armature, meshes)
    for above, below in sorted(dressed.pairs):
        if lines:  # each pair is read as modifiers show what was moved above it
            dressed = read_dressed(armature, meshes)
        lines += _mend(dressed, above, below)
    return lines


def _mend(dressed: Dressed, above: int, below: int) -> list[str]:
    garment, layer = dressed.garments[below], dressed.garments[above]
    normals = vertex_normals(garment.points, garment.triangles)
    nearest = find_nearest_surface(garment.points, layer.shown, layer.triangles)
    unit = dressed.unit
    depths, ways = find_pierced(garment.points, normals, layer.shown, layer.triangles, nearest, MAX_PIERCED * unit)
    count = int((depths > 0.0).sum())
    if not count:
        return []
    needs = np.where(depths > 0.0, depths + BENEATH * settings_of(layer.obj).layer_gap * unit, 0.0)
    moves = smooth_pushes(ways * needs[:, None], find_neighbors(garment.points, garment.triangles), SMOOTHING)
    move_points(garment.obj, moves @ np.linalg.inv(garment.to_armature)[:3, :3].T)
    lengths = np.linalg.norm(moves, axis=1)
    is_moved = lengths > 1e-6 * dressed.height
    moved, over, most = garment.obj.name, layer.obj.name, 1e3 * float(lengths.max()) / unit
    return [f"Moved {int(is_moved.sum()):,} vertices of '{moved}' beneath '{over}', by up to {most:.1f} mm"]


def move_points(obj: bpy.types.Object, offsets: np.ndarray) -> None:
    """Move the vertices of a mesh, and of all its shape keys, by offsets of shape (V, 3), object space."""
    _write_shapes(obj, [points + offsets for points in _read_shapes(obj)])


def _read_shapes(obj: bpy.types.Object) -> list[np.ndarray]:
    """The vertices of a mesh, and of all its shape keys, float32 arrays, shape (V, 3)."""
    return [read_points(mesh_of(obj)), *map(read_key_points, _list_keys(obj))]


def _write_shapes(obj: bpy.types.Object, shapes: Sequence[np.ndarray]) -> None:
    mesh = mesh_of(obj)
    write_points(mesh, shapes[0])
    for key, points in zip(_list_keys(obj), shapes[1:], strict=True):
        write_key_points(key, points)
    mesh.update()


def _list_keys(obj: bpy.types.Object) -> list[bpy.types.ShapeKey]:
    keys = mesh_of(obj).shape_keys
    return [] if keys is None else list(keys.key_blocks)
