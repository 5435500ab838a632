"""Chains of bones as actions move them, cut from the matrices of all bones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Vector

from ...deformers.swing.chains import TINY, ChainMotion, orthonormalize
from ...deformers.swing.springs import Timing
from .copies import read_rests

# In lengths of a bone: a bone carries the head of the next bone, unless that is at its own head
MIN_HEAD_DISTANCE = 0.01


@dataclass(frozen=True, eq=False)
class Reading:
    """An action, as it moves an armature.

    Attributes
    ----------
    frames : float64 array, shape (F,)
        As in `ActionMotion`.
    repeats : bool
        Whether the curves repeat after their last key.
    bones : tuple of str
        Names of the bones of the matrices.
    pose : float64 array, shape (F, B, 4, 4)
        Armature space.
    world : float64 array, shape (F, 4, 4)
        From armature space.
    chains : dict of tuple of str to ChainMotion
        Motions of chains that were cut from it before, by their bones.
    """

    frames: np.ndarray
    timing: Timing
    repeats: bool
    bones: tuple[str, ...]
    pose: np.ndarray
    world: np.ndarray
    chains: dict[tuple[str, ...], ChainMotion] = field(default_factory=dict)


def cut_chain(armature: bpy.types.Object, names: tuple[str, ...], reading: Reading) -> ChainMotion:
    """How one chain of bones moves."""
    if names not in reading.chains:
        reading.chains[names] = _cut(armature, names, reading)
    return reading.chains[names]


def _cut(armature: bpy.types.Object, names: Sequence[str], reading: Reading) -> ChainMotion:
    bones = [cast(Any, armature.data).bones[name] for name in names]
    pose = reading.pose[:, [reading.bones.index(name) for name in names]]
    lengths = np.array([bone.length for bone in bones])
    heads, tails = pose[..., :3, 3], pose[..., :3, 3] + pose[..., :3, 1] * lengths[:, None]
    ends = tails.copy()
    for number, (bone, after) in enumerate(pairwise(bones)):
        if (after.head_local - bone.head_local).length > MIN_HEAD_DISTANCE * bone.length:
            ends[:, number] = heads[:, number + 1]
    rests = [(bone.head_local, bone.tail_local) for bone in bones]
    return _carry(bones[0].parent, reading, np.concatenate([heads[:, :1], ends], axis=1), pose[..., :3, :3], rests)


def cut_region(
    armature: bpy.types.Object, carrier: str, head: np.ndarray, tail: np.ndarray, reading: Reading
) -> ChainMotion:
    """How a bone moves that is to be, a child of a carrier that was read.

    `head` and `tail`, float64 arrays, shape (3,): Armature space.
    """
    bone = cast(Any, armature.data).bones[carrier]
    along: Any = Vector((tail - head).tolist())
    axes = np.array(bpy.types.Bone.MatrixFromAxisRoll(along.normalized(), 0.0), np.float64)
    moved = reading.pose[:, reading.bones.index(carrier)] @ np.linalg.inv(read_rests(armature, [carrier])[0])
    joints = np.stack([head, tail]) @ moved[:, :3, :3].swapaxes(1, 2) + moved[:, None, :3, 3]
    return _carry(
        bone, reading, joints, (moved[:, :3, :3] @ axes)[:, None], [(Vector(head.tolist()), Vector(tail.tolist()))]
    )


def _carry(
    parent: Any, reading: Reading, joints: np.ndarray, axes: np.ndarray, rests: Sequence[tuple[Vector, Vector]]
) -> ChainMotion:
    """The motion of a chain, with that of its carrier, if it has one; `rests` are its heads and tails at rest."""
    carrier, rest, inward = np.tile(np.eye(3), (len(joints), 1, 1)), np.eye(3), np.zeros((len(rests), 3))
    if parent is not None:
        carrier = orthonormalize(reading.pose[:, reading.bones.index(parent.name), :3, :3])
        rest = np.array(parent.matrix_local, np.float64)[:3, :3]
        inward = _find_inward(parent, rests) @ rest
    return ChainMotion(joints, axes, carrier, rest, reading.world, inward)


def _find_inward(parent: Any, rests: Sequence[tuple[Vector, Vector]]) -> np.ndarray:
    """Directions from tails of bones at rest to the nearest point of their carrier's line, square to the bones: (K, 3).

    Armature space.
    """
    start, along = np.array(parent.head_local), np.array(parent.tail_local - parent.head_local)
    found = []
    for head, end in rests:
        tail, direction = np.array(end), np.array((end - head).normalized())
        share = np.clip((tail - start) @ along / max(along @ along, TINY), 0.0, 1.0)
        toward = start + share * along - tail
        toward -= direction * (toward @ direction)
        found.append(toward / max(np.linalg.norm(toward), TINY))
    return np.array(found)
