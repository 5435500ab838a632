"""How much of a character's clothes goes through its body in a pose, with weights from the body.

    python benchmarks/weight_transfer.py [--assets FOLDER] [--step 4]

needs an interpreter that has bpy and the folder of real characters. Beside Supple's transfer: Blender's Data Transfer
modifier with each of its nearest mappings, and the weights that the artist made. Linear blending, each `step`-th stored
pose. Counted are vertices that are inside the posed skin and were outside at rest; "seen" are those where the skin
under them is not itself inside the body (an arm pressed into the side takes its sleeve along).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import bpy
import numpy as np

from harness import ASSETS, find, find_file, option, parse, print_table, supple, time_call
from benchmarks.characters import read_poses, read_weights
from deformers.geometry.solid import find_islands
from deformers.weight_editing.transfer import transfer_weights

NEAREST = ("NEAREST", "EDGE_NEAREST", "EDGEINTERP_NEAREST", "POLY_NEAREST", "POLYINTERP_NEAREST")
LIFT = 0.0015  # Height above the skin of points tested for being inside, as a share of the diagonal


@dataclass(frozen=True)
class WeightedPart:
    """Points (V, 3), triangles (T, 3) and weights (V, B) of one object."""

    points: np.ndarray
    triangles: np.ndarray
    weights: np.ndarray

    def pick(self, chosen: np.ndarray) -> WeightedPart:
        kept = chosen[self.triangles].all(axis=1)
        return WeightedPart(self.points[chosen], (np.cumsum(chosen) - 1)[self.triangles[kept]], self.weights[chosen])

    def pose(self, weights: np.ndarray, rest_to_pose: np.ndarray) -> np.ndarray:
        moves = np.einsum("vb,bij->vij", weights, rest_to_pose, optimize=True)
        return np.einsum("vij,vj->vi", moves[:, :, :3], self.points) + moves[:, :, 3]


class PosedSurface:
    """A posed skin, and how far points are above it."""

    def __init__(self, points: np.ndarray, triangles: np.ndarray, tree: Callable) -> None:
        self._points, self._triangles, self._tree = points, triangles, tree(points, triangles)
        a, b, c = points[triangles.T]
        faces = np.cross(b - a, c - a)
        sums = [np.bincount(triangles.ravel(), np.repeat(faces[:, axis], 3), len(points)) for axis in range(3)]
        self._normals = np.stack(sums, axis=1)

    def interpolate(self, triangles: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Points and unit normals, shapes (N, 3), of triangles, shape (N,), at barycentric weights, shape (N, 3)."""
        corners = self._triangles[triangles]
        normals = np.einsum("nc,nci->ni", weights, self._normals[corners])
        lengths = np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
        return np.einsum("nc,nci->ni", weights, self._points[corners]), normals / lengths

    def find_nearest(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._tree.find_nearest(points)

    def measure(self, points: np.ndarray) -> np.ndarray:
        """Signed distances, shape (N,), negative inside."""
        triangles, weights, distances = self.find_nearest(points)
        on, normals = self.interpolate(triangles, weights)
        return np.copysign(distances, np.einsum("ni,ni->n", points - on, normals))


def read_parts(data: np.lib.npyio.NpzFile) -> dict[str, WeightedPart]:
    whole = WeightedPart(data["V"].astype(float), data["tris"], read_weights(data).astype(np.float32))
    return {str(name): whole.pick(data["part"] == index) for index, name in enumerate(data["part_names"])}


def transfer_by_modifier(source: WeightedPart, target: WeightedPart, mapping: str) -> np.ndarray:
    """Weights of Blender's Data Transfer modifier, shape (V, B)."""
    objects = []
    for part in (source, target):
        mesh = bpy.data.meshes.new("Part")
        mesh.from_pydata(part.points.tolist(), [], part.triangles.tolist())
        objects.append(bpy.data.objects.new("Part", mesh))
        bpy.context.scene.collection.objects.link(objects[-1])
        for bone in range(source.weights.shape[1]):
            objects[-1].vertex_groups.new(name=str(bone))
    for vertex, bone in np.argwhere(source.weights > 0).tolist():
        objects[0].vertex_groups[bone].add((vertex,), float(source.weights[vertex, bone]), "REPLACE")
    modifier = objects[1].modifiers.new("Transfer", "DATA_TRANSFER")
    modifier.object, modifier.use_vert_data = objects[0], True
    modifier.data_types_verts, modifier.vert_mapping = {"VGROUP_WEIGHTS"}, mapping
    modifier.layers_vgroup_select_src, modifier.layers_vgroup_select_dst = "ALL", "NAME"
    mesh = objects[1].evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    weights = np.zeros((len(target.points), source.weights.shape[1]))
    for vertex in mesh.vertices:
        for entry in vertex.groups:
            weights[vertex.index, entry.group] = entry.weight
    for obj in objects:
        bpy.data.objects.remove(obj)
    return weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)


def count_inside(
    cloth: WeightedPart, weights: np.ndarray, skins: list[PosedSurface], poses: np.ndarray
) -> tuple[float, ...]:
    """Means over the poses: vertices inside, those seen, and the sum of the depths of these in mm."""
    outside = skins[0].measure(cloth.points) >= 0
    triangles, shares, _ = skins[0].find_nearest(cloth.points)
    lift = LIFT * float(np.linalg.norm(np.ptp(skins[0].interpolate(triangles, shares)[0], axis=0)))
    rows = []
    for skin, pose in zip(skins[1:], poses, strict=True):
        heights = skin.measure(cloth.pose(weights, pose))
        on, normals = skin.interpolate(triangles, shares)
        inside = (heights < 0) & outside
        seen = inside & (skin.measure(on + lift * normals) >= 0)
        rows.append((inside.sum(), seen.sum(), -1e3 * heights[seen].sum()))
    return tuple(np.mean(rows, axis=0).tolist())


def measure(data: np.lib.npyio.NpzFile, step: int) -> None:
    nearest = find("bridge.meshes.nearest")
    parts = read_parts(data)
    poses = np.concatenate([read_poses(data, action)[::step, :, :3] for action in data["actions"]])
    body = parts.pop("mh_human_body")
    islands = find_islands(np.concatenate([body.triangles[:, :2], body.triangles[:, 1:]]), len(body.points))
    skin = body.pick(islands == np.bincount(islands).argmax())
    shapes = [skin.points, *(skin.pose(skin.weights, pose) for pose in poses)]
    skins = [PosedSurface(points, skin.triangles, nearest.SurfaceTree) for points in shapes]
    rows = []
    for name, cloth in parts.items():
        methods: dict[str, Callable[[], np.ndarray]] = {
            f"Data Transfer {mapping}": partial(transfer_by_modifier, body, cloth, mapping) for mapping in NEAREST
        }
        methods["the artist's"] = partial(np.copy, cloth.weights)
        surfaces = body.points, body.triangles, body.weights, cloth.points, cloth.triangles
        methods["Supple"] = lambda surfaces=surfaces: transfer_weights(*surfaces, nearest.find_nearest_surface).weights
        for method, weigh in methods.items():
            seconds, weights = time_call(weigh)
            inside, seen, depth = count_inside(cloth, weights, skins, poses)
            share = f"{inside:.2f} of {len(cloth.points)}"
            rows.append((name, method, share, f"{seen:.2f}", f"{depth:.0f}", f"{seconds:.2f}"))
    print_table(("clothes", "weights", "inside, of vertices", "seen", "their depths, mm in all", "seconds"), rows)


if __name__ == "__main__":
    arguments = parse(__doc__, assets=ASSETS, step=option(4, "of the stored poses"))
    with supple():
        measure(np.load(find_file(arguments.assets, "mh_human", "npz")), arguments.step)
