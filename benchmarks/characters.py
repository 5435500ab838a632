"""Real characters: their objects and their motion, read from the folder of assets or made here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.shapes import Shape, rotation
from deformers.measures.space import Solid, close_surface
from deformers.measures.stretch import mesh_edges
from deformers.rig.skeleton import find_joint_parents

CHARACTERS = ("mh_human", "cesium_man", "khronos_fox", "kaykit_knight")
FINGERS = re.compile(r"finger|thumb|metacarpal|^hand\.[lr]$")
FACES = re.compile(r"jaw|oris|levator|special|orbicularis|temporalis|oculi|risorius|tongue|eye")
# Actions that are made here, where a character has the bones: captured motion leaves fingers and faces at rest
SCULPTED = ("fist", "face")


@dataclass(frozen=True)
class Part:
    """One object of a character, in the terms that its measures need.

    Attributes
    ----------
    shape : Shape
    edges : int array, shape (E, 2)
    solid : Solid
        Not closed for clothes and hair.
    details : dict from "fingers" and "face" to bool arrays, shape (V,)
        Vertices whose bones are more than half such; only those that there are.
    """

    name: str
    shape: Shape
    edges: np.ndarray
    solid: Solid
    details: dict[str, np.ndarray]


@dataclass(frozen=True)
class Character:
    """A character's parts, and its motion as triples of poses."""

    parts: list[Part]
    actions: dict[str, np.ndarray]  # shape (N, 3, B, 4, 4): Rest to pose, each with the frame before and after it


def read_character(assets: Path, name: str, step: int) -> Character:
    """Read the deforming bones, the objects, and every `step`-th stored pose of each action."""
    data = np.load(assets / name / f"{name}.npz")
    deforming = data["bone_deform"]
    bones = np.flatnonzero(deforming)
    heads, tails = (data[key].astype(float) for key in ("bone_head", "bone_tail"))
    parents = find_joint_parents(heads, tails, data["bone_parent"], deforming)[bones]
    place = np.full(len(deforming) + 1, -1)
    place[bones] = np.arange(len(bones))
    names = tuple(str(bone) for bone in data["bone_names"][bones])
    points = data["V"].astype(float)
    weights = np.zeros((len(points), len(bones)))
    joints = place[data["w_bone"]]
    np.add.at(weights, (data["w_vert"][joints >= 0], joints[joints >= 0]), data["w_val"][joints >= 0])
    whole = Shape(points, data["tris"], weights, heads[bones], tails[bones], place[parents], names)
    parts = [_cut_part(whole, data["part"] == number, str(part)) for number, part in enumerate(data["part_names"])]
    actions = {}
    for action in data["actions"]:
        poses = read_poses(data, action)[:, bones]
        actions[str(action)] = np.stack(list(_triples(poses, data[f"frames_{action}"], whole.heads, step)))
    actions |= {name: motion for name in SCULPTED if (motion := _sculpt(whole, name, step)) is not None}
    return Character(parts, actions)


def read_weights(data: Mapping[str, np.ndarray]) -> np.ndarray:
    """Stored weights of all bones, shape (V, B); rows sum to 1, or to 0."""
    weights = np.zeros((len(data["V"]), len(data["bone_names"])))
    np.add.at(weights, (data["w_vert"], data["w_bone"]), data["w_val"])
    return weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)


def read_poses(data: Mapping[str, np.ndarray], action: str) -> np.ndarray:
    """Stored poses of an action, rest to pose of all bones, shape (F, B, 4, 4)."""
    return fill_matrices(data[f"pose_{action}"]) @ np.linalg.inv(data["bone_rest"].astype(float))


def fill_matrices(matrices: np.ndarray) -> np.ndarray:
    """Matrices (..., 3, 4) with their last row, float64."""
    last = np.broadcast_to([0.0, 0.0, 0.0, 1.0], (*matrices.shape[:-2], 1, 4))
    return np.concatenate([matrices.astype(float), last], axis=-2)


def _cut_part(whole: Shape, members: np.ndarray, name: str) -> Part:
    place = np.cumsum(members) - 1
    triangles = place[whole.triangles[members[whole.triangles].all(axis=1)]]
    points, weights = whole.points[members], whole.weights[members]
    shape = Shape(points, triangles, weights, whole.heads, whole.tails, whole.parents, whole.names)
    total = np.maximum(weights.sum(axis=1), 1e-9)
    details = {}
    for detail, pattern in (("fingers", FINGERS), ("face", FACES)):
        chosen = weights[:, [bool(pattern.search(bone)) for bone in whole.names]].sum(axis=1) > 0.5 * total
        if chosen.any():
            details[detail] = chosen
    edges = mesh_edges(triangles)
    lengths = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    edges = edges[lengths > 1e-5 * shape.diagonal]
    return Part(name, shape, edges, close_surface(points, triangles), details)


def _triples(matrices: np.ndarray, frames: np.ndarray, heads: np.ndarray, step: int) -> Iterator[np.ndarray]:
    """Every `step`-th pose with those one frame before and after it, which are read off a curve if not stored.

    Parameters
    ----------
    matrices : float array, shape (F, B, 4, 4)
    frames : int array, shape (F,)
        Not every frame of an action is stored.
    heads : float array, shape (B, 3)
    """
    for index in range(1, len(frames) - 1, step):
        around = [pose_at(matrices, frames, heads, index, side) for side in (-1, 1)]
        yield np.stack([around[0], matrices[index], around[1]])


def pose_at(matrices: np.ndarray, frames: np.ndarray, heads: np.ndarray, index: int, side: int) -> np.ndarray:
    """The pose (B, 4, 4) one frame before or after a stored one, by `side`: a cubic curve through the stored poses.

    Entries of rotations and the places of heads follow the curve; rotations are then made rotations again.
    """
    other = index + side
    span = abs(int(frames[other]) - int(frames[index]))
    if span == 1:
        return matrices[other]
    posed = matrices.copy()
    posed[..., :3, 3] = np.einsum("fbij,bj->fbi", matrices[..., :3, :3], heads) + matrices[..., :3, 3]

    def speed(at: int) -> np.ndarray:
        low, high = max(0, at - 1), min(len(frames) - 1, at + 1)
        return side * span * (posed[high] - posed[low]) / float(frames[high] - frames[low])

    t = 1.0 / span
    result = (
        (2 * t**3 - 3 * t**2 + 1) * posed[index]
        + (t**3 - 2 * t**2 + t) * speed(index)
        + (3 * t**2 - 2 * t**3) * posed[other]
        + (t**3 - t**2) * speed(other)
    )
    left, _, right = np.linalg.svd(result[:, :3, :3])
    if np.abs(np.linalg.det(matrices[index, :, :3, :3]) - 1.0).max() < 1e-3:
        result[:, :3, :3] = left @ right
    result[:, :3, 3] -= np.einsum("bij,bj->bi", result[:, :3, :3], heads)
    return result


def _sculpt(shape: Shape, name: str, step: int) -> np.ndarray | None:
    """A hand that closes to a fist, or a jaw that opens, over 24 frames; None if there are no such bones."""
    turns = {}
    for bone, title in enumerate(shape.names):
        side = -1.0 if title.endswith(".R") else 1.0
        if name == "fist" and (found := re.match(r"finger([2-5])-(\d)", title)):
            along = shape.tails[bone] - shape.heads[bone]
            across = np.cross(along, _palm(shape, title[-1]))
            turns[bone] = (across, (0.0, 70.0, 85.0, 55.0)[int(found[2])])
        if name == "face" and title == "jaw":
            turns[bone] = (np.array([1.0, 0.0, 0.0]), 20.0)
        if name == "face" and re.match(r"orbicularis03|oris05|levator05", title):
            turns[bone] = (np.array([1.0, 0.0, 0.0]), 12.0 * side)
    if not turns:
        return None
    amounts = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, 25))
    poses = [shape.pose({bone: rotation(axis, share * by) for bone, (axis, by) in turns.items()}) for share in amounts]
    return np.stack([np.stack(poses[index - 1 : index + 2]) for index in range(1, 24, step)])


def _palm(shape: Shape, side: str) -> np.ndarray:
    """The direction that a palm looks to, from the plane of its fingers' roots; to the body's middle and down."""
    roots = [shape.heads[shape.names.index(f"finger{finger}-1.{side}")] for finger in (2, 5)]
    wrist = shape.heads[shape.names.index(f"wrist.{side}")]
    normal = np.cross(roots[0] - wrist, roots[1] - wrist)
    return normal if normal[2] < 0.0 else -normal
