"""Choice of the limbs that take up twist: those whose skin is then stretched less."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..algebra.dual_quaternions import rotations_from_quaternions
from ..geometry.mesh_laplacian import find_edges
from ..geometry.vectors import measure_edges
from ..rig.limbs import Limb, make_rolls
from ..rig.rest import Joints, Pose, Rest, Weights
from . import dlb

# With less stretch nothing is twisted at all.
MIN_STRETCH = 1e-4


@dataclass(frozen=True)
class LimbStretch:
    """Rms of |posed over rest length - 1| of the edges that a limb's twist, or its roll, can stretch, on both sides.

    `before` and `after`: without and with the roll; 0 if nothing follows the limb.
    """

    before: float
    after: float

    @property
    def falls(self) -> bool:
        """Whether the limb shall roll."""
        min_gain = 0.1  # Relative reduction of the stretch
        return self.before > MIN_STRETCH and self.after <= (1.0 - min_gain) * self.before


def choose_limbs(limbs: Sequence[Limb], rests: Sequence[Rest]) -> tuple[Limb, ...]:
    """Choose the limbs, in pairs, whose skin benefits from taking up twist.

    Parameters
    ----------
    limbs : sequence of Limb
        From `plan_limbs`.
    rests : sequence of Rest
        All meshes that follow the joints, with their triangles.
    """
    stretches = measure_limbs(limbs, rests)
    return tuple(limb for limb in limbs if _shall_roll(limb, stretches[limb.pair]))


def _shall_roll(limb: Limb, stretch: LimbStretch) -> bool:
    """Whether the stretch falls, or actions twist so far that skin without rolls jumps between whole turns."""
    return stretch.falls or (limb.twist > np.pi and stretch.before > MIN_STRETCH)


def measure_limbs(limbs: Sequence[Limb], rests: Sequence[Rest]) -> dict[int, LimbStretch]:
    """Stretch of Preserve Volume's skin on each pair of limbs, whose sources are twisted, without and with rolls.

    `limbs` and `rests`: see `choose_limbs`.
    """
    found = {}
    for pair in dict.fromkeys(limb.pair for limb in limbs):
        both = [limb for limb in limbs if limb.pair == pair]
        skins = [skin for rest in rests if (skin := _cut_near(rest, both)) is not None]
        found[pair] = LimbStretch(*_measure_stretches(_join(skins), both)) if skins else LimbStretch(0.0, 0.0)
    return found


@dataclass(frozen=True)
class _Skin:
    """Skin near limbs, armature space: its edges, shape (E, 2), and divisors of their change of length, shape (E,)."""

    rest: Rest
    edges: np.ndarray
    divisors: np.ndarray


def _join(skins: Sequence[_Skin]) -> _Skin:
    """Join all skins, which takes less time to deform."""
    rests, counts = [skin.rest for skin in skins], [len(skin.rest.points) for skin in skins]
    firsts = np.cumsum([0, *counts[:-1]])
    weights = Weights(
        np.concatenate([rest.weights.vertices + first for rest, first in zip(rests, firsts, strict=True)]),
        np.concatenate([rest.weights.joints for rest in rests]),
        np.concatenate([rest.weights.values for rest in rests]),
    )
    strengths = [np.ones(len(rest.points)) if rest.strength is None else rest.strength for rest in rests]
    points = np.concatenate([rest.points for rest in rests])
    edges = np.concatenate([skin.edges + first for skin, first in zip(skins, firsts, strict=True)])
    joined = Rest(points, weights, rests[0].joints, strength=np.concatenate(strengths))
    return _Skin(joined, edges, np.concatenate([skin.divisors for skin in skins]))


def _measure_stretches(skin: _Skin, limbs: Sequence[Limb]) -> Iterator[float]:
    """Rms of the edges' stretch - 1 over twists to either side: without and with rolls."""
    rest, lengths = skin.rest, measure_edges(skin.rest.points, skin.edges)
    probe_twist = np.radians(90.0)  # Twist of the source of a limb, to either side
    poses = [pose_twists(rest.joints, limbs, sign * probe_twist) for sign in (1.0, -1.0)]
    for rolls in (None, make_rolls(limbs)):
        binding = dlb.bind(replace(rest, joints=replace(rest.joints, rolls=rolls)), dlb.Params(limb_roots=0.0))
        offsets = [measure_edges(dlb.deform(binding, pose), skin.edges) - lengths for pose in poses]
        yield float(np.sqrt(np.square(offsets / skin.divisors).mean()))


def pose_twists(joints: Joints, limbs: Sequence[Limb], angle: float) -> Pose:
    """The pose in which the sources of limbs, none below another, are twisted by an angle, in radians."""
    matrices = np.tile(np.eye(4), (len(joints.parents), 1, 1))
    for limb in limbs:
        below, center = joints.chains.below[:, limb.source], np.asarray(joints.centers, np.float64)[limb.source]
        quaternion = np.append(np.cos(0.5 * angle), np.sin(0.5 * angle) * limb.axis)
        rotation = rotations_from_quaternions(quaternion[None])[0]
        matrices[below, :3, :3], matrices[below, :3, 3] = rotation, center - rotation @ center
    return Pose(matrices)


def _cut_near(rest: Rest, limbs: Sequence[Limb]) -> _Skin | None:
    """The skin that limbs can stretch: influenced by a rolling bone, or by a twisted and another bone; None if there is
    none.
    """
    if rest.triangles is None or not len(rest.triangles):
        return None
    joints, weights, count = rest.joints, rest.weights, len(rest.points)
    values = np.maximum(weights.values, 0.0)
    total = np.bincount(weights.vertices, values, count)
    near = np.zeros(count, bool)
    for limb in limbs:
        twisted = np.bincount(weights.vertices, values * joints.chains.below[weights.joints, limb.source], count)
        near |= (twisted > 1e-4 * total) & (twisted < (1.0 - 1e-4) * total)
        near[weights.vertices[np.isin(weights.joints, limb.bones) & (values > 0.0)]] = True
    triangles = rest.triangles[near[rest.triangles].any(axis=1)]
    if not len(triangles):
        return None
    edges, _ = find_edges(triangles)
    edges = edges[near[edges].any(axis=1)]
    used = np.zeros(count, bool)
    used[edges] = True
    index = np.cumsum(used) - 1
    kept = used[weights.vertices]
    own = Weights(index[weights.vertices[kept]], weights.joints[kept], weights.values[kept])
    plain = Joints(joints.centers, joints.parents, joints.tails)
    strength = None if rest.strength is None else rest.strength[used]
    points, edges = rest.armature_points[used], index[edges]
    lengths = measure_edges(points, edges)
    min_edge = 0.25  # In median edges: shorter edges count as this long, so that slivers do not dominate.
    divisors = np.maximum(lengths, max(min_edge * float(np.median(lengths)), 1e-30))
    return _Skin(Rest(points, own, plain, strength=strength), edges, divisors)
