"""Characters of several meshes, bound as a whole by a method, and by Blender's Preserve Volume."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.characters import Part
from benchmarks.skins import make_params, make_rest
from deformers import DEFORMERS, Pose, Rest
from deformers.algebra.dual_quaternions import dual_quaternions_from_rigid
from deformers.algebra.polar import decompose_polar
from deformers.rig.limbs import make_rolls, plan_limbs
from deformers.rig.rest import normalize_weights
from deformers.rig.surfaces import WeightedSurface
from deformers.skinning.limb_choice import choose_limbs

PRESERVE_VOLUME = "PRESERVE_VOLUME"  # Stands for Blender's own method
BLENDERS = ("SSD", PRESERVE_VOLUME)


@dataclass(frozen=True)
class BoundCharacter:
    """All parts of a character, bound by one method."""

    module: ModuleType
    bindings: list[Any]  # result of `bind` for each part

    def deform(self, matrices: np.ndarray) -> list[np.ndarray]:
        """Posed points of each part, float64, shape (V, 3)."""
        pose = Pose(matrices)
        return [self.module.deform(binding, pose).astype(np.float64) for binding in self.bindings]


def make_rests(parts: list[Part]) -> list[Rest]:
    """The parts at rest: on the same joints, each knowing the surfaces of all others."""
    rests = [make_rest(part.shape) for part in parts]
    surfaces = [WeightedSurface.of_rest(rest) for rest in rests]
    return [
        replace(
            rest, joints=rests[0].joints, surfaces=(surface, *(other for other in surfaces if other is not surface))
        )
        for rest, surface in zip(rests, surfaces, strict=True)
    ]


def bind_character(parts: list[Part], method: str, **chosen: Any) -> BoundCharacter:
    """Bind all parts by a method of Supple; `chosen` are parameters, left out if it has none of that name."""
    module, params = DEFORMERS[method], make_params(method, **chosen)
    return BoundCharacter(module, [module.bind(rest, params) for rest in make_rests(parts)])


def find_deform(parts: list[Part], method: str, **chosen: Any) -> Callable[[np.ndarray], list[np.ndarray]]:
    """Return a function from matrices (B, 4, 4) to points of the parts, by a method of Supple or by PRESERVE_VOLUME."""
    if method != PRESERVE_VOLUME:
        return bind_character(parts, method, **chosen).deform
    rests = make_rests(parts)
    return lambda matrices: [preserve_volume(rest, matrices) for rest in rests]


def bind_as_made(parts: list[Part], method: str) -> Callable[[np.ndarray], list[np.ndarray]]:
    """Return a function that poses the parts as after Make Supple: with the method's defaults, limbs take up twists."""
    if method in BLENDERS:
        return find_deform(parts, method)
    rests, module = make_rests(parts), DEFORMERS[method]
    joints = rests[0].joints
    limbs = choose_limbs(plan_limbs(joints, np.ones(len(joints.parents), bool)), rests)
    joints = replace(joints, rolls=make_rolls(limbs))
    bindings = [module.bind(replace(rest, joints=joints), make_params(method)) for rest in rests]
    return BoundCharacter(module, bindings).deform


def preserve_volume(rest: Rest, matrices: np.ndarray, by_pivot: bool = False) -> np.ndarray:
    """Points posed as by Blender's Armature modifier with Preserve Volume, float64, shape (V, 3).

    Parameters
    ----------
    rest : Rest
        In armature space.
    matrices : float array, shape (B, 4, 4)
        From rest to pose.
    by_pivot : bool
        Signs by the joint of the vertex's largest weight instead, as in Kavan's code.

    Notes
    -----
    Unlike DLB: each vertex chooses signs by itself. A joint's dual quaternion is negated if it disagrees with the
    sum of those before it, in the order of the bones. It is the same as Blender's to 1e-6 m for bones that are not
    scaled. Stretches go first, about the joints' centers, as in DLB, which is not quite what Blender does.
    """
    count, points = len(rest.joints.parents), np.asarray(rest.points, np.float64)
    linear, centers = matrices[:, :3, :3], np.asarray(rest.joints.centers, np.float64)
    rotations, stretches = decompose_polar(linear, rest.joints.parents)
    moves = matrices[:, :3, 3] + np.einsum("bij,bj->bi", linear - rotations, centers)
    quaternions = np.concatenate([dual_quaternions_from_rigid(rotations, moves), np.eye(1, 8)])
    stretches = np.concatenate([stretches, np.eye(3)[None]]) - np.eye(3)
    centers = np.concatenate([centers, np.zeros((1, 3))])
    weights = normalize_weights(rest.weights, len(points), count)
    sums, stretched = np.zeros((len(points), 8)), points.copy()
    order = np.argsort(weights.values)  # a vertex's last is its largest
    pivots = np.zeros((len(points), 4))
    pivots[weights.vertices[order]] = quaternions[weights.joints[order], :4]
    for joint in np.unique(weights.joints):
        own = weights.joints == joint
        vertices, values = weights.vertices[own], weights.values[own][:, None]
        np.add.at(stretched, vertices, values * ((points[vertices] - centers[joint]) @ stretches[joint].T))
        compared = (pivots if by_pivot else sums)[vertices, :4]
        disagrees = (compared @ quaternions[joint, :4])[:, None] < 0.0
        np.add.at(sums, vertices, np.where(disagrees, -values, values) * quaternions[joint])
    return _move(sums, stretched)


def _move(quaternions: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Points, shape (V, 3), moved each by the rigid transform of a dual quaternion, shape (V, 8), of any length."""
    quaternions = quaternions / np.linalg.norm(quaternions[:, :4], axis=1, keepdims=True)
    w, r, dual_w, dual_r = quaternions[:, :1], quaternions[:, 1:4], quaternions[:, 4:5], quaternions[:, 5:]
    rotated = points + 2.0 * np.cross(r, np.cross(r, points) + w * points)
    return rotated + 2.0 * (w * dual_r - dual_w * r + np.cross(r, dual_r))


def merge_seams(assets: Path, name: str) -> list[np.ndarray]:
    """For each part of a stored character, the first vertex at the position of each vertex, shape (V,)."""
    data = np.load(assets / name / f"{name}.npz")
    merged = []
    for part in range(len(data["part_names"])):
        _, first, which = np.unique(data["weld"][data["part"] == part], return_index=True, return_inverse=True)
        merged.append(first[which.reshape(-1)])
    return merged
