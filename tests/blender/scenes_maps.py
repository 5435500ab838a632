"""What tests of patterns drawn by Python share: a tube with a UV map, patterns on it, and their amounts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import numpy as np

from scenes import add_tube, diagonal, evaluated_points
from supple.bridge.images.data import new_image
from supple.deformers.patterns.heights import KINDS, draw_heights
from supple.settings.events import muted
from supple.tasks.patterns.edit import new_pattern
from supple.tasks.patterns.maps import LaidPatterns, bind_points, read_amounts, write_maps
from supple.tasks.patterns.write import find_modifier, update

TOLERANCE = 1e-5
"""Of amounts, and of points in diagonals of the mesh."""
FRAMES = range(1, 7)


def add_body() -> tuple[bpy.types.Object, bpy.types.Object]:
    """A tube of three bones with a UV map, and its armature."""
    return add_tube(rings=25, sides=24, has_uv=True)


def hills(seed: int = 0, size: int = 32) -> np.ndarray:
    """A smooth picture, shape (size, size), from 0 to 1, black on its left quarter."""
    rng, grid = np.random.default_rng(seed), np.linspace(0.0, 2.0 * np.pi, size)
    waves = sum(np.sin(rng.uniform(0.5, 2) * grid + rng.uniform(0, 6)) * np.cos(grid[:, None] + k) for k in range(3))
    waves = (waves - waves.min()) / np.ptp(waves)
    waves[:, : size // 4] = 0.0
    return waves


def add_pattern(obj: bpy.types.Object, kind: str, **values: Any):
    """A pattern of hills in the middle of the UV map, driven by the second bone; nothing is shown before `update`."""
    image = values.pop("image", None)
    if image is None:
        image = new_image(kind, values.pop("picture", hills(len(obj.supple.patterns))))
    pattern = new_pattern(obj, kind.capitalize())
    chosen = {
        "kind": kind, "image": image, "bone": "bone.1", "space": "UV", "placed_in": "UV", "uv": (0.5, 0.5),
        "size": (0.5, 0.5), "strength": 0.1, **values,
    }  # fmt: skip
    with muted():
        for name, value in chosen.items():
            setattr(pattern, name, value)
    return pattern


def add_overlapping(obj: bpy.types.Object, **values: Any) -> None:
    """A pattern of each kind, over one another."""
    add_pattern(obj, "WRINKLE", uv=(0.45, 0.5), turn=0.3, **values)
    add_pattern(obj, "BULGE", uv=(0.55, 0.45), size=(0.4, 0.3), **values)
    add_pattern(obj, "BONE", uv=(0.5, 0.6), size=(0.3, 0.4), flip=True, **values)
    update(obj)


def evaluate() -> bpy.types.Depsgraph:
    bpy.context.view_layer.update()
    return bpy.context.evaluated_depsgraph_get()


def turn_at_random(armature: bpy.types.Object, seed: int, largest: float = 2.6) -> None:
    rng = np.random.default_rng(seed)
    for bone in armature.pose.bones:
        axis = rng.normal(size=3)
        bone.rotation_mode = "AXIS_ANGLE"
        bone.rotation_axis_angle = (rng.uniform(-largest, largest), *(axis / np.linalg.norm(axis)))


def write_all(
    obj: bpy.types.Object, folder: Path, frames=FRAMES, file_format: str = "png16", width: int = 32, **more
) -> Path:
    done = list(write_maps(obj, bpy.context.scene, frames, folder, file_format, width, **more))
    assert done == list(range(1, len(frames) + 1))
    return folder


def unmap(obj: bpy.types.Object) -> None:
    obj.data.uv_layers.remove(obj.data.uv_layers[0])


def draw_points(obj: bpy.types.Object, laid: LaidPatterns) -> np.ndarray:
    """Heights at an object's vertices, shape (V,), in its units: the means over their corners, as nodes make them."""
    drawn = draw_heights(laid.heights, read_amounts(obj, laid, evaluate()))[0]
    corners = [loop.vertex_index for loop in obj.data.loops]
    return np.bincount(corners, drawn) / np.bincount(corners)


def compare_displacement(obj: bpy.types.Object, kinds=KINDS) -> float:
    """Assert that the node modifier moves the skin as Python says; returns how far it moves it, in diagonals."""
    laid = bind_points(obj, kinds)
    drawn = draw_points(obj, laid)
    moved, modifier = evaluated_points(obj).astype(np.float64), find_modifier(obj)
    modifier.show_viewport = False
    evaluated = obj.evaluated_get(evaluate()).data
    flat = np.array([vertex.co for vertex in evaluated.vertices])
    normals = np.array([vertex.vector for vertex in evaluated.vertex_normals])
    modifier.show_viewport = True
    assert np.abs(moved - (flat + normals * drawn[:, None])).max() <= TOLERANCE * diagonal(flat)
    return float(np.abs(drawn).max() / diagonal(flat))
