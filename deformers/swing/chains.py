"""Chains of bones that swing: their modes at rest, and the rotations of their bones in each frame."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..algebra.rotations import conjugate, from_matrices, make_continuous, multiply, to_matrices
from .paths import smooth_paths
from .springs import Timing, find_accelerations, find_lag

TINY = 1e-9


@dataclass(frozen=True)
class Spring:
    """Spring of a part.

    Attributes
    ----------
    frequency : float
        Frequency of the lowest mode, in cycles per second.
    damping : float
        Ratio to the critical damping.
    """

    frequency: float
    damping: float


@dataclass(frozen=True, eq=False)
class ChainMotion:
    """Motion of a chain of K bones in an action, sampled every half frame, in armature space.

    Attributes
    ----------
    joints : float64 array, shape (F, K + 1, 3)
        Head of the first bone, then the end of each bone.
    axes : float64 array, shape (F, K, 3, 3)
        Axes of the bones, with their scale.
    carrier, rest_carrier : float64 arrays, shapes (F, 3, 3) and (3, 3)
        Axes of the bone that carries the chain, in the action and at rest.
    world : float64 array, shape (F, 4, 4)
        From armature to world space.
    inward : float64 array, shape (K, 3)
        Directions from the ends to the carrier, at right angles to the chain, in the axes of the carrier; or 0.
    """

    joints: np.ndarray
    axes: np.ndarray
    carrier: np.ndarray
    rest_carrier: np.ndarray
    world: np.ndarray
    inward: np.ndarray

    @cached_property
    def rotations(self) -> np.ndarray:
        """Orthonormal axes of the bones, (F, K, 3, 3)."""
        return orthonormalize(self.axes)

    @property
    def lengths(self) -> np.ndarray:
        """Lengths of the bones in the first frame, shape (K,)."""
        return np.maximum(np.linalg.norm(np.diff(self.joints[0], axis=0), axis=1), TINY)

    @cached_property
    def carrier_axes(self) -> tuple[np.ndarray, np.ndarray]:
        """Orthonormal axes of the carrier in world space, shape (F, 3, 3), and those of a carrier at rest, (3, 3)."""
        linear = self.world[:, :3, :3]
        axes = orthonormalize(np.concatenate([linear @ self.carrier, linear[:1] @ self.rest_carrier]))
        return axes[:-1], axes[-1]


def orthonormalize(axes: np.ndarray) -> np.ndarray:
    """Nearest orthonormal axes, shape (..., 3, 3). Mirrored axes stay mirrored."""
    left, _, right = np.linalg.svd(axes)
    return left @ right


def find_modes(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the modes of a chain with masses at the ends of its bones, and springs against bending between them.

    `lengths`, float array, shape (K,).

    Returns
    -------
    shapes : float64 array, shape (K, K)
        Deflection of each end (rows) in each mode (columns).
    loads : float64 array, shape (K, K)
        Share of the acceleration of each end (rows) that drives each mode (columns).
    frequencies : float64 array, shape (K,)
        Ratios to the frequency of the first mode, ascending.

    Notes
    -----
    Bending at a joint moves each end after it by its distance from the joint, so compliance is a sum of positive terms.
    This makes the first mode exact, however short some bones are. A stiffness matrix would lose it to rounding.
    """
    ends = np.cumsum(lengths)
    middle = (ends - 0.5 * lengths) / ends[-1]
    thickness = 1.0 - 0.6 * middle  # masses go with its square, springs with its cube
    masses = np.sqrt(lengths) * thickness
    reach = np.tril(ends[:, None] - (ends - lengths))
    compliance = np.outer(masses, masses) * (reach @ (reach / thickness**3).T)
    shares, modes = (found[..., ::-1] for found in np.linalg.eigh(compliance))
    shares = np.maximum(shares, np.finfo(np.float64).eps * shares[0])
    return modes / masses[:, None], modes * masses[:, None], np.sqrt(shares[0] / shares)


def find_offsets(
    motion: ChainMotion, spring: Spring, timing: Timing, size: float, gravity: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Find how far the ends of a chain's bones lag behind the action, in armature space.

    Parameters
    ----------
    size : float
        Size of the character in world space.
    gravity : float array, shape (3,)
        Acceleration in world space.

    Returns
    -------
    lag : float64 array, shape (F, K, 3)
        Offsets by inertia.
    sag : float64 array, shape (F, K, 3)
        Offsets by gravity, relative to its effect on a chain whose carrier is at rest.

    Notes
    -----
    Springs and dampers rotate with the carrier, because accelerations are taken in its axes. So nothing lags behind a
    motion of constant velocity.
    """
    max_damping = 0.95  # higher modes are damped more, but each still swings
    shapes, loads, ratios = find_modes(motion.lengths)
    frequencies = spring.frequency * ratios
    dampings = np.minimum(max_damping, spring.damping * np.sqrt(ratios))
    axes, rest_axes = motion.carrier_axes
    paths = np.einsum("fij,fkj->fki", motion.world[:, :3, :3], motion.joints[:, 1:]) + motion.world[:, None, :3, 3]
    accelerations = find_accelerations(smooth_paths(paths, size, timing.is_cyclic), timing)
    pulls = np.broadcast_to(rest_axes.T @ gravity - gravity @ axes, (len(axes), 3))[:, None]
    back = np.linalg.pinv(motion.world[:, :3, :3]) @ axes
    found = []
    for inputs, before in (
        (np.einsum("km,fki,fij->fmj", loads, accelerations, axes), 0.0),
        (loads.sum(axis=0)[:, None] * pulls, loads.sum(axis=0)[:, None] * pulls[0]),
    ):
        lags = find_lag(inputs, frequencies[:, None], dampings[:, None], timing, before)
        found.append(np.einsum("fij,km,fmj->fki", back, shapes, lags))
    return found[0], found[1]


def spare_body(motion: ChainMotion, offsets: np.ndarray) -> np.ndarray:
    """Limit how far ends come nearer to the carrier, by their offsets in armature space, shape (F, K, 3)."""
    inward = np.einsum("fij,kj->fki", motion.carrier, motion.inward)
    depths = np.maximum((offsets * inward).sum(axis=2), 0.0)
    rooms = 0.04 * np.cumsum(motion.lengths)
    return offsets - (depths - rooms * np.tanh(depths / rooms))[..., None] * inward


def measure_angles(motion: ChainMotion, offsets: np.ndarray) -> np.ndarray:
    """Largest angle by which offsets rotate a bone of the chain, before it is softened, radians, shape (F,)."""
    spans, aside = _find_aside(motion, offsets)
    return (np.linalg.norm(aside, axis=2) / np.maximum(np.linalg.norm(spans, axis=2), TINY)).max(axis=1)


def _find_aside(motion: ChainMotion, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split off the part of offsets that stretches bones: the bones and the rest of the offsets, (F, K, 3) each."""
    spans = np.diff(motion.joints, axis=1)
    shifts = np.diff(np.concatenate([np.zeros_like(offsets[:, :1]), offsets], axis=1), axis=1)
    along = (shifts * spans).sum(axis=2) / np.maximum((spans**2).sum(axis=2), TINY)
    return spans, shifts - spans * along[..., None]


def measure_own(motion: ChainMotion) -> np.ndarray:
    """Largest angle by which the action itself rotates a bone of a chain, radians, shape (F,).

    It is measured relative to the carrier, from the mean direction of the bone.
    """
    spans = np.einsum("fji,fkj->fki", motion.carrier, _to_units(np.diff(motion.joints, axis=1)))
    cosines = np.einsum("fki,ki->fk", spans, _to_units(spans.mean(axis=0)))
    return np.arccos(np.clip(cosines, -1.0, 1.0)).max(axis=1)


def bend_chain(motion: ChainMotion, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotate the bones of a chain so that their ends move by offsets, (F, K, 3), in armature space.

    Each bone rotates by the smallest rotation, so that its twist stays. The bend at each joint is softened. Returns
    unit quaternions, (F, K, 4), in the bones' own axes, to be applied after the rotations of the action, and the
    largest angle between a bone and the same bone in the action, radians, (F,).
    """
    turns, angles = _turn_bones(motion, offsets)
    before = np.concatenate([np.tile([1.0, 0.0, 0.0, 0.0], (len(turns), 1, 1)), turns[:, :-1]], axis=1)
    return _in_bones(motion, multiply(conjugate(before), turns)), angles


def follow_chain(motion: ChainMotion, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rotate and move the children of a chain's bones, one at the position of each bone, so that ends move by offsets.

    Offsets, (F, K, 3), are in armature space. Returns unit quaternions, (F, K, 4), and offsets of the heads, which the
    bones before move, (F, K, 3), in the bones' own axes, and the largest angles as `bend_chain` does, (F,).
    """
    turns, angles = _turn_bones(motion, offsets)
    spans = np.diff(motion.joints, axis=1)
    moved = np.einsum("fkij,fkj->fki", to_matrices(turns), spans) - spans
    heads = np.concatenate([np.zeros_like(moved[:, :1]), np.cumsum(moved, axis=1)[:, :-1]], axis=1)
    locations = np.einsum("fkij,fkj->fki", np.linalg.pinv(motion.axes), heads)
    return _in_bones(motion, turns), locations, angles


def _turn_bones(motion: ChainMotion, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotations of the bones in armature space, shape (F, K, 4), and the largest angle, shape (F,)."""
    spans, aside = _find_aside(motion, offsets)
    spans, wanted = _to_units(spans), _to_units(spans + aside)
    before = np.tile([1.0, 0.0, 0.0, 0.0], (len(spans), 1))
    turns, cosines = [], []
    for bone in range(spans.shape[1]):
        carried = np.einsum("fij,fj->fi", to_matrices(before), spans[:, bone])
        turned = _soften(carried, wanted[:, bone])
        before = _find_shortest(spans[:, bone], turned)
        turns.append(before)
        cosines.append((spans[:, bone] * turned).sum(axis=1))
    return np.stack(turns, axis=1), np.arccos(np.clip(np.min(cosines, axis=0), -1.0, 1.0))


def _in_bones(motion: ChainMotion, turns: np.ndarray) -> np.ndarray:
    """Convert rotations from armature space to the bones' own axes, without jumps of sign, shape (F, K, 4)."""
    bones = from_matrices(motion.rotations)
    rotations = multiply(multiply(conjugate(bones), turns), bones)
    rotations *= np.where(rotations[:1, :, :1] < 0.0, -1.0, 1.0)
    return make_continuous(rotations)


def _to_units(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), TINY)


def _soften(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Rotate directions toward others, (F, 3), by less than the whole angle and never by as much as `limit`."""
    limit = np.radians(35.0)
    cosines = np.clip((start * end).sum(axis=-1, keepdims=True), -1.0, 1.0)
    aside = _to_units(end - cosines * start)
    angles = np.arctan2(np.linalg.norm(np.cross(start, end), axis=-1, keepdims=True), cosines)
    angles = limit * np.tanh(angles / limit)
    return np.cos(angles) * start + np.sin(angles) * aside


def _find_shortest(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Smallest rotations between directions, unit quaternions, shape (F, 4)."""
    turns = np.concatenate([1.0 + (start * end).sum(axis=-1, keepdims=True), np.cross(start, end)], axis=-1)
    return _to_units(turns)
