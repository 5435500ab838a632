"""The deformation energy as a function of what moves in a drag, with its derivatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algebra.small_inverses import invert_three
from .linkage import Linkage
from .skin import SkinEnergy

AXIAL = np.zeros((3, 3, 3))
for _first, _second, _third in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    AXIAL[_first, _second, _third], AXIAL[_first, _third, _second] = 1.0, -1.0

LEAST_SPREAD = 1e-9
"""Added to the moments of a cluster, as a share of them: edges along one line leave its rotation open."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over the edges that a drag may deform, of groups of bones.

    Attributes
    ----------
    linkage : Linkage
    pairs : float64 array, shape (G, 4, G, 4)
        Sum of `w a_g a_h`, where `a_g` (4,) is what group g has of an edge when the drag begins, homogeneous.
    crossed : float64 array, shape (G, 4, C, 3)
        For each cluster the sum of `w a_g e`, where e is the edge when the drag begins.
    spread : float64 array, shape (C, 3, 3)
        For each cluster the sum of `w e e`.
    """

    linkage: Linkage
    pairs: np.ndarray
    crossed: np.ndarray
    spread: np.ndarray


def gather_moments(skin: SkinEnergy, linkage: Linkage) -> Moments:
    """Add up a skin's moments by the groups of bones that a drag moves as one.

    Clusters whose bones are all in one group stay as they are and are left out.
    """
    bones = linkage.bones
    since = np.concatenate([bones.posed, np.eye(4)[None]]) @ np.linalg.inv(skin.posed)
    count = len(linkage.joints) + 1
    pairs = np.zeros((count, 4, count, 4))
    crossed, spread = [], []
    for cluster in skin.clusters:
        own, where = np.unique(linkage.groups[cluster.bones], return_inverse=True)
        if len(own) < 2:
            continue
        size = len(cluster.bones)
        fold = np.zeros((len(own), 4, size, 4))
        fold[where, :, np.arange(size)] = since[cluster.bones]
        flat = fold.reshape(4 * len(own), 4 * size)
        moments = (flat @ cluster.moments.reshape(4 * size, 4 * size) @ flat.T).reshape(len(own), 4, len(own), 4)
        pairs[own[:, None], :, own] += moments.transpose(0, 2, 1, 3)
        edges = np.zeros((count, 4, 3))
        edges[own] = moments.sum(axis=2)[:, :, :3]
        crossed.append(edges)
        spread.append(moments.sum(axis=(0, 2))[:3, :3])
    if not crossed:
        return Moments(linkage, pairs, np.zeros((count, 4, 0, 3)), np.zeros((0, 3, 3)))
    return Moments(linkage, pairs, np.stack(crossed, axis=2), np.array(spread))


@dataclass(frozen=True, eq=False)
class State:
    """The energy of one pose and what its derivatives need.

    Attributes
    ----------
    moved : float64 array, shape (G, 4, 4)
    pairs : float64 array, shape (G, 4, G, 4)
        `Moments.pairs`, carried.
    crossed : float64 array, shape (G, 4, C, 3)
        `Moments.crossed`, carried.
    rotations : float64 array, shape (C, 3, 3)
        Of the clusters, those of the least energy.
    energy : float
        Half the sum of `w |e' - R e|^2`.
    """

    moved: np.ndarray
    pairs: np.ndarray
    crossed: np.ndarray
    rotations: np.ndarray
    energy: float


def evaluate(moments: Moments, moved: np.ndarray) -> State:
    """The energy where groups are moved, shape (G, 4, 4), with the best rotation of each cluster.

    Notes
    -----
    Jacobson et al. 2012, the local step: R is the polar factor of the sum of `w e' e^T`.
    """
    count = len(moved)
    half = (moved @ moments.pairs.reshape(count, 4, -1)).reshape(count, 4, count, 4)
    pairs = (moved @ half.transpose(2, 3, 0, 1).reshape(count, 4, -1)).reshape(count, 4, count, 4)
    crossed = (moved @ moments.crossed.reshape(count, 4, -1)).reshape(moments.crossed.shape)
    products = crossed.sum(axis=0)[:3].transpose(1, 0, 2)
    left, scales, right = np.linalg.svd(products)
    signs = np.sign(np.linalg.det(left @ right))
    left[:, :, 2] *= signs[:, None]
    scales[:, 2] *= signs
    now = np.trace(pairs.sum(axis=(0, 2))[:3, :3])
    before = np.trace(moments.spread.sum(axis=0))
    return State(moved, pairs, crossed, left @ right, 0.5 * float(now + before) - float(scales.sum()))


def differentiate(moments: Moments, state: State) -> tuple[np.ndarray, np.ndarray]:
    """Gradient and Hessian of the energy, the clusters' rotations eliminated.

    Parameters
    ----------
    moments : Moments
    state : State

    Returns
    -------
    gradient : float64 array, shape (J + M, 3)
        By small rotations of the joints about their heads as they are now, then by shifts of the movers.
    hessian : float64 array, shape (J + M, 3, J + M, 3)

    Notes
    -----
    Gauss-Newton. An edge e' changes by `u x v_j` with a rotation of joint j, where v_j is the part of e' that the joint
    carries, seen from its head. So the Hessian's blocks are `tr(Q) - Q^T` of `Q = sum w v_j v_k^T`. The clusters' small
    rotations are unknowns, too; they are eliminated by their 3 x 3 blocks (Schur complement).
    """
    linkage, count = moments.linkage, len(moments.linkage.joints)
    seen = _seen_from_heads(linkage, state.moved)
    flat = linkage.carried @ state.pairs.reshape(count + 1, -1)
    flat = flat.reshape(count, 4, count + 1, 4)
    both = np.einsum("jgxy,kg->jxky", flat.transpose(0, 2, 1, 3), linkage.carried, optimize=True)
    whole = flat.sum(axis=2)[:, :, :3]
    turned = np.einsum("jax,jxky,kby->jakb", seen, both, seen, optimize=True)
    hessian = -turned.transpose(0, 3, 2, 1)
    hessian = hessian + np.einsum("jaka->jk", turned)[:, None, :, None] * np.eye(3)[:, None]
    crossed = (linkage.carried @ state.crossed.reshape(count + 1, -1)).reshape(count, 4, -1, 3)
    rotated = np.einsum("jxcy,czy->jcxz", crossed, state.rotations, optimize=True)
    offset = np.einsum("jax,jxb->jab", seen, whole) - np.einsum("jax,jcxb->jab", seen, rotated)
    gradient = np.einsum("iab,jab->ji", AXIAL, offset)
    # The movers' rows: an edge changes by the share of it that they carry.
    movers = linkage.movers
    shares = both[movers, 3][:, :, 3][:, movers]
    lever = np.einsum("jax,jxk->jak", seen, both[:, :, movers, 3])
    across = np.einsum("iab,jak->jikb", AXIAL, lever)
    hessian = _join(hessian, across, shares)
    pull = whole[movers, 3] - rotated[movers].sum(axis=1)[:, 3]
    gradient = np.concatenate([gradient, pull])
    # The clusters' rotations.
    inner = np.einsum("cxy,cyz,cwz->cxw", state.rotations, moments.spread, state.rotations)
    trace = np.einsum("cii->c", inner)
    inner = (trace * (1.0 + LEAST_SPREAD))[:, None, None] * np.eye(3) - inner
    inverses = invert_three(inner)
    levers = np.einsum("jax,jcxb->cjab", seen, rotated)
    links = levers.transpose(0, 1, 3, 2) - np.einsum("cjaa->cj", levers)[:, :, None, None] * np.eye(3)
    shifts = np.einsum("abi,kcb->ckai", AXIAL, rotated[movers][:, :, 3])
    links = np.concatenate([links, shifts], axis=1)
    eliminated = np.einsum("cjax,cxy,ckby->jakb", links, inverses, links, optimize=True)
    return gradient, hessian - eliminated


def _seen_from_heads(linkage: Linkage, moved: np.ndarray) -> np.ndarray:
    """What makes offsets from the joints' heads of homogeneous points, shape (J, 3, 4)."""
    heads = linkage.place_heads(moved)
    return np.concatenate([np.tile(np.eye(3), (len(heads), 1, 1)), -heads[:, :, None]], axis=2)


def _join(hessian: np.ndarray, across: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The joints' blocks (J, 3, J, 3), those of joints with movers (J, 3, M, 3) and the movers' shares (M, M)."""
    count, more = len(hessian), len(shares)
    joined = np.empty((count + more, 3, count + more, 3))
    joined[:count, :, :count] = hessian
    joined[:count, :, count:] = across
    joined[count:, :, :count] = across.transpose(2, 3, 0, 1)
    joined[count:, :, count:] = shares[:, None, :, None] * np.eye(3)[:, None]
    return joined
