"""Chains of bones that swing: their modes at rest, and how each bone rotates in each frame."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..motion.rotations import conjugate, from_matrices, make_continuous, multiply, to_matrices
from .paths import smooth_paths
from .springs import Timing, find_accelerations, find_lag

THINNING = 0.6
"""How much thinner a chain gets up to its tip: its springs go with the cube of that, its masses with the square."""

STRONGEST_DAMPING = 0.95
"""Of a mode: modes above the first are damped more, and none so much that it no longer swings."""

SOFT = np.radians(35.0)
"""Angle at a joint that swing comes near to and does not reach."""

ROOM = 0.04
"""Parts of its distance from the chain's root that an end may come nearer to the body."""

TINY = 1e-9


@dataclass(frozen=True)
class Spring:
    """How a part swings.

    Attributes
    ----------
    frequency : float
        Of its lowest mode, cycles per second.
    damping : float
        Ratio to the damping from which on nothing swings back.
    """

    frequency: float
    damping: float


@dataclass(frozen=True, eq=False)
class ChainMotion:
    """A chain of K bones as an action moves it, half a frame from row to row.

    Attributes
    ----------
    joints : float64 array, shape (F, K + 1, 3)
        The head of the first bone, then what each bone carries at its end; armature space.
    axes : float64 array, shape (F, K, 3, 3)
        Of the bones, armature space; as long as these are scaled.
    carrier : float64 array, shape (F, 3, 3)
        The same of the bone that carries the chain.
    rest_carrier : float64 array, shape (3, 3)
        The same at rest.
    world : float64 array, shape (F, 4, 4)
        From armature space.
    inward : float64 array, shape (K, 3)
        Directions from the ends to the carrier, square to the chain, in the axes of the carrier; 0 where there is none.
    """

    joints: np.ndarray
    axes: np.ndarray
    carrier: np.ndarray
    rest_carrier: np.ndarray
    world: np.ndarray
    inward: np.ndarray

    @cached_property
    def rotations(self) -> np.ndarray:
        """The axes, orthonormal."""
        return orthonormalize(self.axes)

    @property
    def lengths(self) -> np.ndarray:
        """Of the bones in the first frame, shape (K,)."""
        return np.maximum(np.linalg.norm(np.diff(self.joints[0], axis=0), axis=1), TINY)

    @cached_property
    def carrier_axes(self) -> tuple[np.ndarray, np.ndarray]:
        """Axes of the carrier in world space, orthonormal, shape (F, 3, 3), and if it were at rest, (3, 3)."""
        linear = self.world[:, :3, :3]
        axes = orthonormalize(np.concatenate([linear @ self.carrier, linear[:1] @ self.rest_carrier]))
        return axes[:-1], axes[-1]


def orthonormalize(axes: np.ndarray) -> np.ndarray:
    """The nearest orthonormal axes, mirrored where they were, shape (..., 3, 3)."""
    left, _, right = np.linalg.svd(axes)
    return left @ right


def find_modes(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Modes of a chain: masses at the ends of its bones, springs against bending between bones.

    Parameters
    ----------
    lengths : float array, shape (K,)

    Returns
    -------
    shapes : float64 array, shape (K, K)
        How far each end goes aside (rows) in each mode (columns).
    loads : float64 array, shape (K, K)
        How much each mode (columns) takes of the acceleration of each end (rows).
    frequencies : float64 array, shape (K,)
        Ratio to that of the first mode, ascending.

    Notes
    -----
    Bending at a joint moves each end after it by how far that is from the joint: what gives is a sum of positive terms.
    So the first mode is exact, however short some bones are; what stiffness would give is lost to rounding there.
    """
    ends = np.cumsum(lengths)
    middle = (ends - 0.5 * lengths) / ends[-1]
    thickness = 1.0 - THINNING * middle
    masses = np.sqrt(lengths) * thickness
    reach = np.tril(ends[:, None] - (ends - lengths))
    give = np.outer(masses, masses) * (reach @ (reach / thickness**3).T)
    shares, modes = (found[..., ::-1] for found in np.linalg.eigh(give))
    shares = np.maximum(shares, np.finfo(np.float64).eps * shares[0])
    return modes / masses[:, None], modes * masses[:, None], np.sqrt(shares[0] / shares)


def find_offsets(
    motion: ChainMotion, spring: Spring, timing: Timing, size: float, gravity: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """How far the ends of a chain's bones lag behind the action, in armature space.

    Parameters
    ----------
    size : float
        Of the character, world space.
    gravity : float array, shape (3,)
        Its acceleration, world space.

    Returns
    -------
    lag : float64 array, shape (F, K, 3)
        By inertia.
    sag : float64 array, shape (F, K, 3)
        By gravity, against how it acts where the carrier stands as it does at rest.

    Notes
    -----
    Springs and dampers turn with the carrier: accelerations are taken in its axes. So nothing lags behind what moves
    or turns evenly.
    """
    shapes, loads, ratios = find_modes(motion.lengths)
    frequencies = spring.frequency * ratios
    dampings = np.minimum(STRONGEST_DAMPING, spring.damping * np.sqrt(ratios))
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
    """Offsets of ends, armature space, shape (F, K, 3), that come only a little nearer to the carrier.

    Away from it, they are as they were.
    """
    inward = np.einsum("fij,kj->fki", motion.carrier, motion.inward)
    depths = np.maximum((offsets * inward).sum(axis=2), 0.0)
    rooms = ROOM * np.cumsum(motion.lengths)
    return offsets - (depths - rooms * np.tanh(depths / rooms))[..., None] * inward


def measure_angles(motion: ChainMotion, offsets: np.ndarray) -> np.ndarray:
    """Angles by which offsets turn the bones, not softened, of the bone that turns most, radians, shape (F,)."""
    spans, aside = _find_aside(motion, offsets)
    return (np.linalg.norm(aside, axis=2) / np.maximum(np.linalg.norm(spans, axis=2), TINY)).max(axis=1)


def _find_aside(motion: ChainMotion, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The bones, and how far each end goes aside of its bone, which does not stretch, shape (F, K, 3) each."""
    spans = np.diff(motion.joints, axis=1)
    shifts = np.diff(np.concatenate([np.zeros_like(offsets[:, :1]), offsets], axis=1), axis=1)
    along = (shifts * spans).sum(axis=2) / np.maximum((spans**2).sum(axis=2), TINY)
    return spans, shifts - spans * along[..., None]


def measure_own(motion: ChainMotion) -> np.ndarray:
    """Angles by which the action itself turns the bones of a chain from how it mostly holds them, radians, shape (F,).

    Of the bone that turns most, against what carries the chain.
    """
    spans = np.einsum("fji,fkj->fki", motion.carrier, _to_units(np.diff(motion.joints, axis=1)))
    cosines = np.einsum("fki,ki->fk", spans, _to_units(spans.mean(axis=0)))
    return np.arccos(np.clip(cosines, -1.0, 1.0)).max(axis=1)


def bend_chain(motion: ChainMotion, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotate the bones of a chain so that their ends go where offsets have them.

    Each bone points to where its ends have gone, by the shortest turn, so that its twist stays; at each joint the bend
    from where the bone before has turned it is softened.

    Parameters
    ----------
    offsets : float array, shape (F, K, 3)
        Of the ends, armature space.

    Returns
    -------
    rotations : float64 array, shape (F, K, 4)
        After those of the action, in the bones' own axes: unit quaternions.
    angles : float64 array, shape (F,)
        Between the bone as it is then and as the action has it, of the one that turns most, radians.
    """
    turns, angles = _turn_bones(motion, offsets)
    before = np.concatenate([np.tile([1.0, 0.0, 0.0, 0.0], (len(turns), 1, 1)), turns[:, :-1]], axis=1)
    return _in_bones(motion, multiply(conjugate(before), turns)), angles


def follow_chain(motion: ChainMotion, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same as `bend_chain`, for bones that are children of those of the chain, each of one, at the same place.

    Parameters
    ----------
    offsets : float array, shape (F, K, 3)

    Returns
    -------
    rotations : float64 array, shape (F, K, 4)
        In the bones' own axes: unit quaternions.
    locations : float64 array, shape (F, K, 3)
        The same: the bones before have turned each one's head elsewhere.
    angles : float64 array, shape (F,)
    """
    turns, angles = _turn_bones(motion, offsets)
    spans = np.diff(motion.joints, axis=1)
    moved = np.einsum("fkij,fkj->fki", to_matrices(turns), spans) - spans
    heads = np.concatenate([np.zeros_like(moved[:, :1]), np.cumsum(moved, axis=1)[:, :-1]], axis=1)
    locations = np.einsum("fkij,fkj->fki", np.linalg.pinv(motion.axes), heads)
    return _in_bones(motion, turns), locations, angles


def _turn_bones(motion: ChainMotion, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far each bone turns in armature space, shape (F, K, 4), and the largest angle, shape (F,)."""
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
    """Turns of armature space in the bones' own axes, without jumps of sign, shape (F, K, 4)."""
    bones = from_matrices(motion.rotations)
    rotations = multiply(multiply(conjugate(bones), turns), bones)
    rotations *= np.where(rotations[:1, :, :1] < 0.0, -1.0, 1.0)
    return make_continuous(rotations)


def _to_units(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), TINY)


def _soften(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Directions from the first to the second ones, but not as far, shape (F, 3)."""
    cosines = np.clip((start * end).sum(axis=-1, keepdims=True), -1.0, 1.0)
    aside = _to_units(end - cosines * start)
    angles = np.arctan2(np.linalg.norm(np.cross(start, end), axis=-1, keepdims=True), cosines)
    angles = SOFT * np.tanh(angles / SOFT)
    return np.cos(angles) * start + np.sin(angles) * aside


def _find_shortest(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The shortest rotations between directions, unit quaternions, shape (F, 4)."""
    turns = np.concatenate([1.0 + (start * end).sum(axis=-1, keepdims=True), np.cross(start, end)], axis=-1)
    return _to_units(turns)
