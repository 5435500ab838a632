"""Mend at Rest: what sticks out of a layer at rest is moved beneath it, in the mesh itself and all its shape keys."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of, read_key_points, read_points, write_key_points, write_points
from ...bridge.meshes.nearest import find_nearest_surface
from ...deformers.geometry.solid import vertex_normals
from ...deformers.layers.tuck import STICKS_OUT, find_neighbors, find_pierced, smooth_pushes
from ...settings.objects import settings_of
from ..subject.layered import list_layered
from .add import add_layers
from .read import Dressed, read_dressed

BENEATH = 0.25
"""Where what is mended comes to lie below the layer, in gaps."""

SMOOTHING = 2


def mend_at_rest(armature: bpy.types.Object, meshes: Sequence[bpy.types.Object]) -> list[str]:
    """Move what sticks out of layers at rest beneath them.

    Returns
    -------
    list of str
        Sentences on what was moved.

    Raises
    ------
    SkinningError
        As `read_dressed`.
    """
    lines = move_beneath(armature, meshes)
    if lines and list_layered(meshes):
        add_layers(armature, meshes)
    return lines or [f"Nothing of '{armature.name}' sticks out of its layers at rest"]


def move_beneath(armature: bpy.types.Object, meshes: Sequence[bpy.types.Object]) -> list[str]:
    """The same, but for Stay Outside, which is as it was before; no sentences where nothing sticks out."""
    lines, dressed = [], read_dressed(armature, meshes)
    for above, below in sorted(dressed.pairs):
        if lines:  # the meshes above may have moved
            dressed = read_dressed(armature, meshes)
        lines += _mend(dressed, above, below)
    return lines


def _mend(dressed: Dressed, above: int, below: int) -> list[str]:
    garment, layer = dressed.garments[below], dressed.garments[above]
    normals = vertex_normals(garment.points, garment.triangles)
    nearest = find_nearest_surface(garment.points, layer.shown, layer.triangles)
    unit = dressed.unit
    depths, ways = find_pierced(garment.points, normals, layer.shown, layer.triangles, nearest, STICKS_OUT * unit)
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
    mesh = mesh_of(obj)
    write_points(mesh, read_points(mesh) + offsets)
    for key in mesh.shape_keys.key_blocks if mesh.shape_keys is not None else ():
        write_key_points(key, read_key_points(key) + offsets)
    mesh.update()
