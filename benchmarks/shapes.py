"""Skinned bodies to measure on, made in code: a box, an arm, a head, a board, and a rig for the cow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.heat import heat_weights, nearest_bone_weights
from benchmarks.surfaces import make_box, make_capsule, make_head, read_obj
from deformers.geometry.vectors import smooth_step

BOX, BOARD = (2.5, 1.2, 1.0), (5.0, 3.0, 0.2)
ARM_LENGTH, ARM_RADIUS = 0.56, 0.05

COW_BONES = {
    # name: its parent, head, tail; the cow looks to -z, up is y
    "spine.1": (None, (0.0, -0.10, 0.88), (0.0, -0.08, 0.58)),
    "spine.2": ("spine.1", (0.0, -0.08, 0.58), (0.0, -0.05, 0.31)),
    "spine.3": ("spine.2", (0.0, -0.05, 0.31), (0.0, 0.0, 0.04)),
    "neck": ("spine.3", (0.0, 0.0, 0.04), (0.0, 0.25, -0.1)),
    "head": ("neck", (0.0, 0.25, -0.1), (0.0, 0.45, -0.55)),
}
for _side, _x in (("L", 1.0), ("R", -1.0)):
    for _name, _parent, _where, _z in (
        ("fore", "spine.3", (0.19, 0.24), 0.06),
        ("hind", "spine.1", (0.15, 0.18), 0.68),
    ):
        _hip, _foot = _x * _where[0], _x * _where[1]
        COW_BONES[f"{_name}.upper.{_side}"] = (_parent, (_hip, -0.15, _z), (_foot, -0.43, _z))
        COW_BONES[f"{_name}.lower.{_side}"] = (f"{_name}.upper.{_side}", (_foot, -0.43, _z), (_foot, -0.71, _z))


@dataclass(frozen=True)
class Shape:
    """A skinned body at rest, object and armature space being one."""

    points: np.ndarray  # shape (V, 3)
    triangles: np.ndarray  # shape (T, 3)
    weights: np.ndarray  # shape (V, B)
    heads: np.ndarray  # shape (B, 3)
    tails: np.ndarray  # shape (B, 3)
    parents: np.ndarray  # shape (B,)
    names: tuple[str, ...] = ()

    @property
    def diagonal(self) -> float:
        return float(np.linalg.norm(np.ptp(self.points, axis=0)))

    def sharply(self) -> Shape:
        """The same with each vertex on its nearest bone alone."""
        return replace(self, weights=nearest_bone_weights(self.points, self.heads, self.tails))

    def pose(self, linear: dict[int, np.ndarray], moves: dict[int, np.ndarray] | None = None) -> np.ndarray:
        """Matrices (B, 4, 4) from rest to a pose.

        Bones inherit all of their parent's; each has its own linear part (3, 3) about its head, and move (3,), by
        index, both along the axes of the rest pose.
        """
        matrices = np.tile(np.eye(4), (len(self.heads), 1, 1))
        for bone in range(len(self.heads)):  # parents come before their children
            own = np.eye(4)
            own[:3, :3] = linear.get(bone, np.eye(3))
            own[:3, 3] = self.heads[bone] - own[:3, :3] @ self.heads[bone] + (moves or {}).get(bone, 0.0)
            parent = self.parents[bone]
            matrices[bone] = matrices[parent] @ own if parent >= 0 else own
        return matrices


def rotation(axis: tuple[float, float, float] | np.ndarray, degrees: float) -> np.ndarray:
    """Rotation matrix (3, 3) by Rodrigues' formula."""
    x, y, z = np.asarray(axis, float) / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    angle = np.radians(degrees)
    return np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross


def _heated(surface: tuple[np.ndarray, np.ndarray], joints: list[tuple[float, float, float]]) -> Shape:
    """A surface on a chain of bones through `joints`, with smooth weights."""
    chain = np.array(joints)
    heads, tails = chain[:-1], chain[1:]
    return Shape(*surface, heat_weights(*surface, heads, tails), heads, tails, np.arange(len(heads)) - 1)


def on_two_bones(surface: tuple[np.ndarray, np.ndarray], heights: tuple[float, float, float], width: float) -> Shape:
    """A surface on two bones along z between three heights; the weights cross over along `width` about the joint."""
    share = smooth_step(0.5 + (surface[0][:, 2] - heights[1]) / width)
    chain = np.stack([np.zeros(3), np.zeros(3), heights], axis=1)
    return Shape(*surface, np.stack([1.0 - share, share], axis=1), chain[:-1], chain[1:], np.array([-1, 0]))


@cache
def box(step: float = 0.04) -> Shape:
    """The paper's box on two bones along x that meet in its middle."""
    return _heated(make_box(BOX, step), [(-1.25, 0.0, 0.0), (0.0, 0.0, 0.0), (1.25, 0.0, 0.0)])


@cache
def board(step: float = 0.1) -> Shape:
    """A board, too thin for the paper's large particles, on two bones along x."""
    return _heated(make_box(BOARD, step), [(-2.5, 0.0, 0.0), (0.0, 0.0, 0.0), (2.5, 0.0, 0.0)])


@cache
def arm(step: float = 0.006) -> Shape:
    """A capsule along z on two bones; the weights cross over within a radius on both sides of the elbow."""
    surface = make_capsule(ARM_LENGTH, ARM_RADIUS, step)
    return on_two_bones(surface, (0.0, ARM_LENGTH / 2.0, ARM_LENGTH), 2.0 * ARM_RADIUS)


@cache
def head() -> Shape:
    """A finely modelled head on a neck: bones for the neck's root, the neck and the head, along z."""
    return _heated(make_head(), [(0.0, 0.0, 0.0), (0.0, 0.0, 0.05), (0.0, 0.0, 0.14), (0.0, 0.0, 0.36)])


@cache
def cow(assets: Path) -> Shape:
    """Spot on 13 bones."""
    surface = read_obj(assets / "spot" / "spot.obj")
    names = tuple(COW_BONES)
    parents = np.array([names.index(parent) if parent else -1 for parent, _, _ in COW_BONES.values()])
    heads, tails = (np.array([bone[end] for bone in COW_BONES.values()]) for end in (1, 2))
    return Shape(*surface, heat_weights(*surface, heads, tails), heads, tails, parents, names)


def cow_poses(shape: Shape) -> dict[str, np.ndarray]:
    """Five poses of the cow, matrices (B, 4, 4), from degrees about x (nod, stride), y (turn) and z (lean, twist)."""
    angles = {
        "walk": {"fore.upper.L": (30, 0, 0), "fore.lower.L": (-45, 0, 0), "fore.upper.R": (-25, 0, 0),
                 "hind.upper.L": (-25, 0, 0), "hind.upper.R": (30, 0, 0), "hind.lower.R": (-20, 0, 0),
                 "neck": (10, 8, 0), "head": (5, 8, 0)},
        "graze": {"spine.3": (-12, 0, 0), "neck": (-45, 0, 0), "head": (-35, 10, 0), "fore.upper.L": (20, 0, 8),
                  "fore.upper.R": (20, 0, -8)},
        "look back": {"spine.2": (0, 12, 0), "spine.3": (0, 15, 5), "neck": (10, 35, 0), "head": (0, 40, 15)},
        "rear up": {"spine.2": (18, 0, 0), "spine.3": (20, 0, 0), "neck": (15, 0, 0), "head": (-30, 0, 0),
                    "fore.upper.L": (60, 0, 0), "fore.lower.L": (-80, 0, 0), "fore.upper.R": (45, 0, 0),
                    "fore.lower.R": (-60, 0, 0)},
        "sit": {"hind.upper.L": (60, 0, 15), "hind.lower.L": (-90, 0, 0), "hind.upper.R": (60, 0, -15),
                "hind.lower.R": (-90, 0, 0), "spine.2": (0, 0, 20), "spine.3": (10, 0, 15), "head": (0, -20, 10)},
    }  # fmt: skip
    poses = {}
    for name, turns in angles.items():
        linear = {
            shape.names.index(bone): rotation((0, 1, 0), y) @ rotation((1, 0, 0), x) @ rotation((0, 0, 1), z)
            for bone, (x, y, z) in turns.items()
        }
        poses[name] = shape.pose(linear)
    return poses
