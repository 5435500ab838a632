"""Centers: rotation and stretch about centers that move linearly (after Le & Hodgins 2016)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algebra.dual_quaternions import quaternions_from_rotations
from ..algebra.polar import decompose_polar, find_rigid
from ..method import Method
from ..option import Option
from ..rig.fractions import Fractions
from ..rig.rest import Joints, Pose, Rest, Weights, normalize_weights, once_for_a_pose, once_found
from ..rig.sdef import find_sdef_pairs
from ..rig.skeleton import Chains
from ..rig.surfaces import WeightedSurface
from ..rig.twist_shares import find_feet, find_hold
from . import blending
from .blending import Binding, skin_points, skin_transforms, with_points
from .center_table import NAMED, find_centers, find_pairs
from .dlb import align_signs, blend_stretches
from .joint_shares import BULGE_LIMIT, CONTACT, LimitParams
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

NARROWING = 0.05
"""How much a twist may narrow a limb, as a share of its radius, at most: centers go back where it would be more."""

NARROWING_OF_FRACTIONS = 0.01
"""The same at joints with fractions, and where a twist is spread: these are made to twist."""

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
class Params(LimitParams):
    """What can be chosen.

    Attributes
    ----------
    bulge_limit, contact : float
        0 to 1.
    sharpness : float
        How far centers are moved from the middle of the limb toward the vertex, 0 to 1. Where a joint has a sharpness
        of its own, it counts there.
    """

    bulge_limit: float = 0.5
    contact: float = 0.3
    sharpness: float = 0.25

    def __post_init__(self) -> None:
        super().__post_init__()
        SHARPNESS.check(self.sharpness)


INFO = Method(
    key="CENTERS",
    number=5,
    label="Centers",
    tooltip="Rotate and stretch about the middle of the limb: joints neither collapse nor bulge",
    params=Params,
    choices=(SHARPNESS, BULGE_LIMIT, CONTACT),
    has_nodes=True,
    sees_all_meshes=True,
)


def bind(rest: Rest, params: Params) -> Binding:
    """Find the vertices' centers, and sort the vertices into blocks.

    Raises
    ------
    SkinningError
        Where the joints are parented in a circle.
    """
    return blending.bind(rest, params, place_centers(rest, params))


@once_found
def place_centers(rest: Rest, params: Params) -> RotationCenters:
    """The centers that vertices rotate about, and what sharpness has moved them.

    Notes
    -----
    c = p + a (v - p), p the center of the vertex's weights, a its sharpness. With a = 1 the vertex moves as by linear
    blending. Where a vertex has SDEF, c is its own C. Where a twist is spread, p is on the line of the limb: a twist
    about it leaves it where it is.
    """
    joint_count = len(rest.joints.parents)
    surfaces = rest.surfaces or (WeightedSurface.of_rest(rest),)
    surface = surfaces[0]
    middles = find_centers(surface, surfaces, joint_count)
    sharpness = _find_sharpness(surface, rest.joints, params)
    weights = normalize_weights(rest.weights, len(rest.points), joint_count)
    narrowing, fractions = np.full(len(rest.points), NARROWING), rest.joints.fractions
    if rest.joints.spread is not None:
        holds, twists = find_hold(weights, len(rest.points), rest.joints.spread)
        middles += holds[:, None] * (find_feet(middles, twists, rest.joints.spread) - middles)
        narrowing[holds > 0.0] = NARROWING_OF_FRACTIONS
    if fractions is not None:
        narrowing[_find_divided(weights, fractions)] = NARROWING_OF_FRACTIONS
    pairs = find_sdef_pairs(rest)
    if pairs is not None:
        middles[pairs.vertices], sharpness[pairs.vertices] = pairs.centers, 0.0
    leans = sharpness[:, None] * (surface.points - middles)
    spread = np.maximum(1.0 - np.bincount(weights.vertices, weights.values**2, minlength=len(rest.points)), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        allowances = np.where(sharpness > 0.0, narrowing * spread / sharpness, np.inf)
    largest = float(sharpness.max(initial=0.0))
    least = float(narrowing.min(initial=NARROWING))
    least_twist = float(np.arccos(1.0 - least / largest)) if largest > 0.5 * least else np.inf
    return RotationCenters(middles + leans, leans, allowances, least_twist, pairs)


def _find_divided(weights: Weights, fractions: Fractions) -> np.ndarray:
    """Vertices whose weights fractions divide."""
    below, above = (weights.vertices[np.isin(weights.joints, ends)] for ends in (fractions.last, fractions.first))
    return np.intersect1d(below, above)


def _find_sharpness(surface: WeightedSurface, joints: Joints, params: Params) -> np.ndarray:
    """Each vertex's sharpness, (V,): the mean over its pairs of joints, by the product of their weights."""
    if joints.sharpness is None:
        return np.full(len(surface.points), params.sharpness)
    of_joints = np.where(np.isnan(joints.sharpness), params.sharpness, joints.sharpness)
    pairs, welded = find_pairs(surface, len(of_joints))
    names, rows = np.unique(pairs.names, return_inverse=True)
    of_pairs = np.array([_mean_between(*divmod(int(name), NAMED), joints, of_joints) for name in names])
    products, count = pairs.first * pairs.second, int(welded.max(initial=-1)) + 1
    totals = np.bincount(pairs.vertices, products, minlength=count)
    sums = np.bincount(pairs.vertices, products * of_pairs[rows.reshape(-1)], minlength=count)
    return np.where(totals > 0.0, sums / np.where(totals > 0.0, totals, 1.0), params.sharpness)[welded]


def _mean_between(first: int, second: int, joints: Joints, sharpness: np.ndarray) -> float:
    """Mean sharpness of the joints on the way from one joint to another: those at which the two are joined."""
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
    return skin_points(binding, pose, *find_stages(binding.joints, pose, None))


def vertex_transforms(binding: Binding, pose: Pose) -> np.ndarray:
    """Where each vertex's space goes, float32, shape (V, 4, 4): layout as in `blending.skin_transforms`."""
    return skin_transforms(binding, pose, *find_stages(binding.joints, pose, None))


@once_for_a_pose
def find_stages(joints: Joints, pose: Pose, _params: None) -> tuple[list[Stage], Turns]:
    """The stages that blend a pose, which is the same for each sharpness, and what centers follow."""
    linear = pose.rest_to_pose[:, :3, :3]
    if find_rigid(linear).all():
        rotations, stages = linear, []
    else:
        rotations, stretches = decompose_polar(linear, joints.parents)
        stages = [blend_stretches(stretches, np.zeros((len(stretches), 3)))]
    quaternions = align_signs(quaternions_from_rotations(rotations), joints.chains)
    half_twists = find_half_twists(quaternions, joints.chains, joints.axes)
    turns = Turns.of_joints(pose.rest_to_pose, half_twists, joints.fractions)
    return [*stages, rotation_stage(quaternions)], turns


def find_half_twists(quaternions: np.ndarray, chains: Chains, axes: np.ndarray) -> np.ndarray:
    """Half the twists of each joint and those above it, each about its bone against its parent, summed, in radians.

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
