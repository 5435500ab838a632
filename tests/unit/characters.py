"""Small characters and poses for the unit tests."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from supple.deformers import DEFORMERS, Joints, Pose, Rest, Weights
from supple.deformers import METHODS as ALL

VARIANTS = {
    method.name_variant(params).replace(" ", "-"): (method.key, params)
    for method in ALL.values()
    if not method.fills_solid
    for params in method.variants()
}
METHODS = tuple(VARIANTS)
"""The methods that blend joint transforms, with each combination of their choices: "SSD", ..., "DLBNT-GH", ..."""

MIRROR_X = np.diag([-1.0, 1.0, 1.0])


@dataclass(frozen=True)
class Character:
    """Points (V, 3), dense weights (V, B), centers (B, 3), parents (B,)."""

    points: np.ndarray
    weights: np.ndarray
    centers: np.ndarray
    parents: np.ndarray

    def rest(self, **parts: np.ndarray) -> Rest:
        return Rest(self.points, Weights.from_dense(self.weights), Joints(self.centers, self.parents), **parts)

    def permute_joints(self, order: np.ndarray) -> Character:
        """The same with joint `order[i]` as joint i."""
        place = np.empty(len(order), int)
        place[order] = np.arange(len(order))
        parents = np.where(self.parents < 0, -1, place[self.parents])[order]
        return replace(self, weights=self.weights[:, order], centers=self.centers[order], parents=parents)


def rotation(axis: object, degrees: float) -> np.ndarray:
    """Rotation matrix by Rodrigues' formula, shape (3, 3)."""
    x, y, z = np.asarray(axis, float) / np.linalg.norm(np.asarray(axis, float))
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    angle = np.radians(degrees)
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def about(linear: np.ndarray, center: np.ndarray, move: object = (0, 0, 0)) -> np.ndarray:
    """`linear` about a center, then a move: shape (4, 4)."""
    matrix = np.eye(4)
    matrix[:3, :3] = linear
    matrix[:3, 3] = center - linear @ center + np.asarray(move, float)
    return matrix


def pose_chain(
    character: Character, local: dict[int, np.ndarray], moves: dict[int, object] | None = None
) -> np.ndarray:
    """Matrices (B, 4, 4) of joints that inherit all of their parent's: each has its own linear part and move."""
    matrices: dict[int, np.ndarray] = {}
    while len(matrices) < len(character.parents):
        for joint, parent in enumerate(character.parents):
            if joint not in matrices and (parent < 0 or parent in matrices):
                own = about(local.get(joint, np.eye(3)), character.centers[joint], (moves or {}).get(joint, (0, 0, 0)))
                matrices[joint] = matrices[parent] @ own if parent >= 0 else own
    return np.array([matrices[joint] for joint in range(len(character.parents))])


def make_tube(joint_count: int = 3, rings: int = 10, sides: int = 5, width: float = 0.5) -> Character:
    """A tube along z, radius 0.3, one joint a unit; each joint's weight fades over `width` from its middle."""
    z = np.repeat(np.linspace(0, joint_count, rings), sides)
    angle = np.tile(np.arange(sides) * 2 * np.pi / sides, rings)
    points = np.stack([0.3 * np.cos(angle), 0.3 * np.sin(angle), z], axis=1)
    weights = np.exp(-(((z[:, None] - np.arange(joint_count) - 0.5) / width) ** 2))
    centers = np.stack([np.zeros(joint_count), np.zeros(joint_count), np.arange(joint_count)], axis=1)
    return Character(points, weights / weights.sum(axis=1, keepdims=True), centers, np.arange(joint_count) - 1)


def make_hand(seed: int = 0, vertex_count: int = 80) -> Character:
    """A palm and five fingers of three joints; random points feel up to four joints of any fingers."""
    random = np.random.default_rng(seed)
    centers, parents = [np.zeros(3)], [-1]
    for finger in range(5):
        for part in range(3):
            centers.append(np.array([0.25 * (finger - 2), 0.8 + 0.4 * part, 0.05 * finger]))
            parents.append(0 if part == 0 else len(parents) - 1)
    points = random.uniform([-0.6, 0.0, -0.2], [0.6, 2.0, 0.4], (vertex_count, 3))
    weights = np.zeros((vertex_count, 16))
    for row in weights:
        count = random.integers(1, 5)
        row[random.choice(16, count, replace=False)] = random.uniform(0.05, 1.0, count)
    return Character(points, weights / weights.sum(axis=1, keepdims=True), np.array(centers), np.array(parents))


def make_tree(random: np.random.Generator, count: int) -> np.ndarray:
    """Parents of a random forest in any order, shape (count,)."""
    order = random.permutation(count)
    parents = np.full(count, -1)
    for place in range(1, count):
        if random.random() > 0.02:
            parents[order[place]] = order[random.integers(max(0, place - 8), place)]
    return parents


def bind(character: Character, method: str, **parts: np.ndarray):
    """The module of one of METHODS and its binding."""
    key, params = VARIANTS[method]
    return DEFORMERS[key], DEFORMERS[key].bind(character.rest(**parts), params)


def deform(character: Character, method: str, rest_to_pose: np.ndarray, **parts: np.ndarray) -> np.ndarray:
    module, binding = bind(character, method, **parts)
    return module.deform(binding, Pose(rest_to_pose))


def diagonal(points: np.ndarray) -> float:
    return float(np.linalg.norm(np.ptp(points, axis=0)))


def apply_transforms(transforms: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Each point by its own matrix of (V, 4, 4)."""
    return np.einsum("vij,vj->vi", transforms[:, :3, :3], points) + transforms[:, :3, 3]


def check_layout(transforms: np.ndarray, count: int) -> None:
    """Single precision, in the order in which Blender reads them, and affine."""
    assert transforms.dtype == np.float32
    assert transforms.shape == (count, 4, 4)
    assert transforms.transpose(0, 2, 1).flags.c_contiguous
    np.testing.assert_array_equal(transforms[:, 3], np.tile([0, 0, 0, 1], (count, 1)))
