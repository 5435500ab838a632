"""Centers: rotation and stretch about centers that move linearly (after Le & Hodgins 2016)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ..algebra.dual_quaternions import quaternions_from_rotations
from ..algebra.polar import decompose_polar, find_rigid
from ..method import Method
from ..option import Option
from ..rig.bendy import divide_among_ends
from ..rig.rest import Joints, Pose, Rest, normalize_weights, once_for_a_pose
from ..rig.skeleton import Chains
from ..rig.surfaces import WeightedSurface
from . import blending
from .blending import skin_points, skin_transforms
from .bulge_limit import BULGE_LIMIT, BulgeLimit, limit_bulges
from .center_table import NAME_BASE, find_centers, find_pairs
from .dlb import align_signs, blend_stretches
from .rotation_centers import RotationCenters, Turns
from .stages import Stage, rotation_stage

__all__ = [
    "INFO",
    "Params",
    "bind",
    "deform",
    "find_half_twists",
    "place_centers",
    "vertex_transforms",
    "with_points",
]

# A twist narrows a limb by at most this share of its radius: centers go back if it would be more.
MAX_NARROWING = 0.05

SHARPNESS = Option(
    name="sharpness",
    label="Sharpness",
    tooltip="How sharply joints bend: 0 is round, 1 is linear blending. Has less effect on twists",
    highest=1.0,
    unit="FACTOR",
    help="how sharply joints bend, with CENTERS",
    metavar="0..1",
    read=float,
)


@dataclass(frozen=True)
class Params:
    """Choices of the user.

    Attributes
    ----------
    bulge_limit : float
        How far bulging skin at a bent joint is pulled back, 0 to 1.
    sharpness : float
        How far centers move from the middle of the limb toward the vertex, 0 to 1. A joint's own sharpness overrides
        it.
    """

    bulge_limit: float = 0.5
    sharpness: float = 0.25

    def __post_init__(self) -> None:
        BULGE_LIMIT.check(self.bulge_limit)
        SHARPNESS.check(self.sharpness)


INFO = Method(
    key="CENTERS",
    number=5,
    label="Centers",
    tooltip="Rotate and stretch about the middle of the limb: joints neither collapse nor bulge",
    params=Params,
    choices=(SHARPNESS, BULGE_LIMIT),
    sees_all_meshes=True,
)


@dataclass
class Latest:
    """The latest result with the bulge limit, read-only, the result without it, and the bones it belongs to."""

    without: np.ndarray | None = None
    bones: bytes = b""
    result: np.ndarray = field(default_factory=lambda: np.empty(0, np.float32))


@dataclass(frozen=True)
class Binding:
    """A character at rest as bound by Centers: the skin, and the bulge limit that is applied afterward."""

    params: Params
    skin: blending.Binding
    limit: BulgeLimit | None
    latest: Latest = field(default_factory=Latest, repr=False, compare=False)


def bind(rest: Rest, params: Params) -> Binding:
    """Find the vertices' centers, and sort the vertices into blocks.

    Raises SkinningError if the joints are parented in a circle.
    """
    return Binding(
        params, blending.bind(rest, params, place_centers(rest, params)), limit_bulges(rest, params.bulge_limit)
    )


def with_points(binding: Binding, points: np.ndarray) -> Binding:
    """Replace the rest positions by `points`, shape (V, 3), object space."""
    limit = None if binding.limit is None else binding.limit.with_points(points)
    return replace(binding, skin=blending.with_points(binding.skin, points), limit=limit, latest=Latest())


def place_centers(rest: Rest, params: Params) -> RotationCenters:
    """The centers that vertices rotate about, and their offsets by sharpness.

    Notes
    -----
    c = p + a (v - p), p the center of the vertex's weights, a its sharpness. With a = 1 the vertex moves as by linear
    blending.
    """
    joint_count = len(rest.joints.parents)
    surfaces = rest.surfaces or (WeightedSurface.of_rest(rest),)
    surface = surfaces[0]
    middles = find_centers(surface, surfaces, joint_count)
    sharpness = _find_sharpness(surface, rest.joints, params)
    weights, rolls = normalize_weights(rest.weights, len(rest.points), joint_count), rest.joints.rolls
    narrowing = np.full(len(rest.points), MAX_NARROWING)
    max_narrowing_of_rolls = 0.01  # Smaller for segments that roll, since they are made to twist
    if rolls is not None:
        narrowing[weights.vertices[np.isin(weights.joints, rolls.joints)]] = max_narrowing_of_rolls
        weights = normalize_weights(divide_among_ends(rest), len(rest.points), joint_count + rolls.end_count)
    leans = sharpness[:, None] * (surface.points - middles)
    spread = np.maximum(1.0 - np.bincount(weights.vertices, weights.values**2, minlength=len(rest.points)), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        allowances = np.where(sharpness > 0.0, narrowing * spread / sharpness, np.inf)
    largest = float(sharpness.max(initial=0.0))
    least = float(narrowing.min(initial=MAX_NARROWING))
    least_twist = float(np.arccos(1.0 - least / largest)) if largest > 0.5 * least else np.inf
    return RotationCenters(middles + leans, leans, allowances, least_twist)


def _find_sharpness(surface: WeightedSurface, joints: Joints, params: Params) -> np.ndarray:
    """Each vertex's sharpness, (V,): the mean over its pairs of joints, weighted by the product of their weights."""
    if joints.sharpness is None:
        return np.full(len(surface.points), params.sharpness)
    of_joints = np.where(np.isnan(joints.sharpness), params.sharpness, joints.sharpness)
    pairs, welded = find_pairs(surface, len(of_joints))
    names, rows = np.unique(pairs.names, return_inverse=True)
    of_pairs = np.array([_mean_between(*divmod(int(name), NAME_BASE), joints, of_joints) for name in names])
    products, count = pairs.first * pairs.second, int(welded.max(initial=-1)) + 1
    totals = np.bincount(pairs.vertices, products, minlength=count)
    sums = np.bincount(pairs.vertices, products * of_pairs[rows.reshape(-1)], minlength=count)
    return np.where(totals > 0.0, sums / np.where(totals > 0.0, totals, 1.0), params.sharpness)[welded]


def _mean_between(first: int, second: int, joints: Joints, sharpness: np.ndarray) -> float:
    """Mean sharpness of the joints between two joints of the tree."""
    above: list[list[int]] = []
    for joint in (first, second):
        line = [joint]
        while joints.parents[line[-1]] >= 0:
            line.append(int(joints.parents[line[-1]]))
        above.append(line)
    shared = set(above[0]) & set(above[1])
    between = [joint for line in above for joint in line if joint not in shared]
    return float(np.mean(sharpness[between]))


def deform(binding: Binding, pose: Pose) -> np.ndarray:
    """Posed positions, float32, shape (V, 3), object space.

    Notes
    -----
    v' = R(q) S (v - c) + sum w_b M_b c: q the blend of the joints' quaternions with signs that agree with the parents'
    (Kurihara & Nishita, section 3.4), S that of their stretches, both as in DLBNT. Le & Hodgins 2016 has no stretch,
    and chooses signs for each vertex.
    """
    skin, limit = binding.skin, binding.limit
    points = skin_points(skin, pose, *find_stages(skin.joints, pose, None))
    if limit is None:
        return points
    return _keep_latest(binding, points, pose, lambda: points + limit.pull_back(points, pose))


def vertex_transforms(binding: Binding, pose: Pose) -> np.ndarray:
    """Transform of each vertex's space, float32, shape (V, 4, 4): layout as in `blending.skin_transforms`."""
    skin, limit = binding.skin, binding.limit
    transforms = skin_transforms(skin, pose, *find_stages(skin.joints, pose, None))
    if limit is None:
        return transforms

    def pull_back() -> np.ndarray:
        """Translate transforms by the limit's offsets of the rest shape."""
        pulled, rest = transforms.copy(order="K"), skin.points[:3, 0, skin.ranks].T
        points = np.einsum("vij,vj->vi", transforms[:, :3, :3], rest) + transforms[:, :3, 3]
        pulled[:, :3, 3] += limit.pull_back(points, pose)
        return pulled

    return _keep_latest(binding, transforms, pose, pull_back)


def _keep_latest(binding: Binding, without: np.ndarray, pose: Pose, find: Callable[[], np.ndarray]) -> np.ndarray:
    """A result with the limit, recomputed if the result without it or the bones differ from before."""
    latest, limit = binding.latest, binding.limit
    bones = b"" if limit is None else limit.read_bones(pose)
    if latest.without is not without or latest.bones != bones:
        latest.without, latest.bones, latest.result = without, bones, find()
        latest.result.flags.writeable = False
    return latest.result


@once_for_a_pose
def find_stages(joints: Joints, pose: Pose, _params: None) -> tuple[list[Stage], Turns]:
    """The stages that blend a pose, independent of sharpness, and the rotations that centers follow."""
    linear = pose.rest_to_pose[:, :3, :3]
    if find_rigid(linear).all():
        rotations, stages = linear, []
    else:
        rotations, stretches = decompose_polar(linear, joints.parents)
        stages = [blend_stretches(stretches, np.zeros((len(stretches), 3)))]
    quaternions = align_signs(quaternions_from_rotations(rotations), joints.chains)
    half_twists = find_half_twists(quaternions, joints.chains, joints.axes)
    turns = Turns.of_joints(pose.rest_to_pose, half_twists)
    return [*stages, rotation_stage(quaternions)], turns


def find_half_twists(quaternions: np.ndarray, chains: Chains, axes: np.ndarray) -> np.ndarray:
    """Half the twists of each joint and those above it, each about its bone relative to its parent, summed, in radians.

    Parameters
    ----------
    quaternions : float array, shape (B, 4)
        From rest to pose, with signs that agree with the parents'.
    axes : float array, shape (B, 3)
        The bones' directions at rest, unit vectors.

    Returns
    -------
    float array, shape (B,)
    """
    above = chains.of_parents(quaternions, np.eye(1, 4))
    w, r = quaternions[:, 0], quaternions[:, 1:]
    dots = np.einsum("bi,bi->b", above, quaternions)
    vectors = above[:, :1] * r - w[:, None] * above[:, 1:] - np.cross(above[:, 1:], r)  # of q_parent* q
    twists = np.arctan2(np.einsum("bi,bi->b", vectors, axes), dots)
    return chains.sum(np.where(chains.is_root, 0.0, twists))
