"""The deformation energy as a function of the moving groups of a drag, with its derivatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algebra.products import multiply_columns, multiply_rows
from ..algebra.small_inverses import invert_three
from .linkage import Linkage
from .skin import SkinEnergy

# The Levi-Civita symbol: a cross product as a tensor
AXIAL = np.zeros((3, 3, 3))
for _first, _second, _third in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    AXIAL[_first, _second, _third], AXIAL[_first, _third, _second] = 1.0, -1.0


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over the edges that a drag may deform, by groups of bones.

    Attributes
    ----------
    pairs : float64 array, shape (G, 4, G, 4)
        Sum of `w a_g a_h`, where `a_g` (4,) is group g's part of an edge at the start of the drag, homogeneous.
    crossed : float64 array, shape (G, C, 4, 3)
        Sum of `w a_g e` for each cluster, where e is the edge at the start. The last cluster contains the vertices,
        whose motion also costs. Its rotation is held.
    spread : float64 array, shape (C, 3, 3)
        Sum of `w e e` for each cluster.
    """

    linkage: Linkage
    pairs: np.ndarray
    crossed: np.ndarray
    spread: np.ndarray


def gather_moments(skin: SkinEnergy, linkage: Linkage, rest: float) -> Moments:
    """Add up a skin's moments by the groups of bones that a drag moves as one.

    Clusters whose bones are all in one group do not deform and are left out. `rest` is the cost of moving vertices
    relative to deforming the skin, by the character's size.
    """
    bones = linkage.bones
    since = np.concatenate([bones.posed, np.eye(4)[None]]) @ np.linalg.inv(skin.posed)
    count = len(linkage.joints) + 1
    pairs, masses = np.zeros((2, count, 4, count, 4))
    crossed, spread = [], []
    for cluster in skin.clusters:
        own, where = np.unique(linkage.groups[cluster.bones], return_inverse=True)
        fold = np.zeros((len(own), 4, len(where), 4))
        fold[where, :, np.arange(len(where))] = since[cluster.bones]
        masses[own[:, None], :, own] += _fold(fold, cluster.masses)
        if len(own) > 1:
            part = np.zeros((count, 4, count, 4))
            part[own[:, None], :, own] = _fold(fold, cluster.moments)
            pairs += part
            crossed.append(part.sum(axis=2)[:, :, :3])
            spread.append(part.sum(axis=(0, 2))[:3, :3])
    masses *= rest / skin.size**2
    crossed.append(masses.sum(axis=2)[:, :, :3])
    spread.append(masses.sum(axis=(0, 2))[:3, :3])
    return Moments(linkage, pairs + masses, np.stack(crossed, axis=1), np.array(spread))


def _fold(fold: np.ndarray, moments: np.ndarray) -> np.ndarray:
    """Convert moments of N bones, shape (N, 4, N, 4), to n groups, shape (n, n, 4, 4), by a map (n, 4, N, 4)."""
    flat = fold.reshape(4 * len(fold), -1)
    folded = flat @ moments.reshape(flat.shape[1], -1) @ flat.T
    return folded.reshape(len(fold), 4, len(fold), 4).transpose(0, 2, 1, 3)


@dataclass(frozen=True, eq=False)
class SkinState:
    """The energy of one pose, with intermediate results for its derivatives.

    Attributes
    ----------
    moved : float64 array, shape (G, 4, 4)
    pairs, crossed : float64 arrays, shapes (G, 4, G, 4) and (G, C, 4, 3)
        `Moments` transformed by `moved`.
    rotations : float64 array, shape (C, 3, 3)
        Rotations of the clusters with the least energy.
    energy : float
        Half the sum of `w |e' - R e|^2`.
    """

    moved: np.ndarray
    pairs: np.ndarray
    crossed: np.ndarray
    rotations: np.ndarray
    energy: float


def evaluate(moments: Moments, moved: np.ndarray) -> SkinState:
    """Evaluate the energy for transforms of the groups, shape (G, 4, 4), with the best rotation of each cluster.

    Notes
    -----
    Jacobson et al. 2012, the local step: R is the polar factor of the sum of `w e' e^T`.
    """
    count = len(moved)
    half = (moved @ moments.pairs.reshape(count, 4, -1)).reshape(count, 4, count, 4)
    pairs = (moved @ half.transpose(2, 3, 0, 1).reshape(count, 4, -1)).reshape(count, 4, count, 4)
    crossed = moved[:, None] @ moments.crossed
    products = crossed.sum(axis=0)[:, :3]
    unmoved = np.trace(products[-1])
    products[-1] = np.eye(3)
    left, scales, right = np.linalg.svd(products)
    signs = np.sign(np.linalg.det(left @ right))
    left[:, :, 2] *= signs[:, None]
    scales[:, 2] *= signs
    now = np.trace(pairs.sum(axis=(0, 2))[:3, :3])
    before = np.trace(moments.spread.sum(axis=0))
    energy = 0.5 * float(now + before) - float(scales[:-1].sum()) - float(unmoved)
    return SkinState(moved, pairs, crossed, left @ right, energy)


def differentiate(moments: Moments, state: SkinState) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradient and Hessian of the energy, with the clusters' rotations eliminated.

    Returns
    -------
    gradient : float64 array, shape (J + M, 3)
        By small rotations of the joints about their present heads, then by shifts of the movers.
    hessian : float64 array, shape (J + M, 3, J + M, 3)
        Without the part of `pulls`.
    pulls : float64 array, shape (J, 3, 3)
        Sum of `w v_j (e' - R e)^T`: see `bend`.

    Notes
    -----
    An edge e' changes by `u x v_j` with a rotation of joint j, where v_j is the part of e' that the joint carries,
    relative to its head. So the Hessian's blocks are `tr(Q) - Q^T` of `Q = sum w v_j v_k^T`. The clusters' small
    rotations are also unknowns, and eliminated by their 3 x 3 blocks (Schur complement).
    """
    linkage, movers = moments.linkage, moments.linkage.movers
    count, size = len(linkage.joints), len(linkage.joints) + 1
    heads = linkage.place_heads(state.moved)
    # The parts v_j and v_k of the same edges that joints j and k carry, with the carried shares as the fourth entry.
    rows = _add_up(linkage, state.pairs.reshape(size, -1)).reshape(count, 4, size, 4)
    whole = rows.sum(axis=2)[:, :, :3]
    both = multiply_rows(rows.transpose(0, 1, 3, 2).reshape(-1, size), linkage.carried.T)
    both = both.reshape(count, 4, 4, count)
    both[:, :3] -= heads[:, :, None, None] * both[:, 3:]
    both[:, :, :3] -= heads.T[:, None, :].transpose(1, 0, 2) * both[:, :, 3:]
    whole[:, :3] -= heads[:, :, None] * whole[:, 3:]
    edges = _add_up(linkage, state.crossed.reshape(size, -1)).reshape(count, -1, 4, 3)
    edges = edges @ state.rotations.transpose(0, 2, 1)
    edges[:, :, :3] -= heads[:, None, :, None] * edges[:, :, 3:]
    offset = whole - edges.sum(axis=1)
    hessian = _turn(both[:, :3, :3].transpose(0, 1, 3, 2))
    across = np.moveaxis(both[:, :3, 3, movers], 1, -1) @ AXIAL.transpose(1, 0, 2).reshape(3, 9)
    across = across.reshape(count, len(movers), 3, 3).transpose(0, 2, 1, 3)
    gradient = np.concatenate([offset[:, :3].reshape(-1, 9) @ AXIAL.reshape(3, 9).T, offset[movers, 3]])
    hessian = _join(hessian, across, both[movers, 3, 3][:, movers])
    return gradient, hessian - _eliminate(linkage, state, edges).reshape(hessian.shape), offset[:, :3]


def _add_up(linkage: Linkage, values: np.ndarray) -> np.ndarray:
    """Add up values of groups (G, N) that each joint carries: (J, N)."""
    sums = np.empty((len(linkage.carried), values.shape[1]))
    multiply_columns(linkage.carried, values, sums)
    return sums


def bend(linkage: Linkage, pulls: np.ndarray) -> np.ndarray:
    """Part of a Hessian from second derivatives, for points that rotate while they are pulled.

    `pulls`, float64 array, shape (J, 3, 3): sum of `v_k r^T` for each joint: v_k is the part of a point that it
    carries, relative to its head, r the residual. Returns a float64 array, shape (J, 3, J, 3).

    Notes
    -----
    For a joint j above k, the second derivative of a point is `u_j x (u_k x v_k)`. Times r, this is the block
    `v_k r^T - tr(v_k r^T)`.
    """
    count = len(pulls)
    blocks = pulls - np.trace(pulls, axis1=1, axis2=2)[:, None, None] * np.eye(3)
    above = linkage.carried[:, :count] - np.eye(count)
    upper = above[:, None, :, None] * blocks.transpose(1, 0, 2)
    bent = upper + upper.transpose(2, 3, 0, 1)
    own = np.arange(count)
    bent[own, :, own] += 0.5 * (blocks + blocks.transpose(0, 2, 1))
    return bent


def _turn(products: np.ndarray) -> np.ndarray:
    """Blocks `tr(Q) - Q^T` of products Q between the parts that joints carry, shape (J, 3, K, 3)."""
    trace = products[:, 0, :, 0] + products[:, 1, :, 1] + products[:, 2, :, 2]
    blocks = -products.transpose(0, 3, 2, 1)
    for axis in range(3):
        blocks[:, axis, :, axis] += trace
    return blocks


def _eliminate(linkage: Linkage, state: SkinState, edges: np.ndarray) -> np.ndarray:
    """Reduction of the Hessian by the clusters' rotations, shape (3 J + 3 M, 3 J + 3 M).

    `edges`, shape (J, C, 4, 3), are sums of `w v_j (R e)^T`, with the shares in the last row.
    """
    movers = linkage.movers
    inner = state.crossed.sum(axis=0)[:, :3] @ state.rotations.transpose(0, 2, 1)
    trace = np.trace(inner, axis1=1, axis2=2)[:, None, None] * np.eye(3)
    inverses = invert_three(trace * (1.0 + 1e-9) - inner)  # edges along one line leave the rotation open
    inverses[-1] = 0.0  # the rotation of the vertices is held
    links = edges[:, :, :3].transpose(0, 3, 1, 2).copy()
    traces = links[:, 0, :, 0] + links[:, 1, :, 1] + links[:, 2, :, 2]
    for axis in range(3):
        links[:, axis, :, axis] -= traces
    shifts = np.einsum("abi,kcb->kaci", AXIAL, edges[movers][:, :, 3])
    links = np.concatenate([links, shifts]).reshape(-1, len(inner), 3)
    solved = (links[:, :, None] @ inverses)[:, :, 0]
    return multiply_rows(links.reshape(len(links), -1), solved.reshape(len(links), -1).T)


def _join(hessian: np.ndarray, across: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The joints' blocks (J, 3, J, 3), those of joints with movers (J, 3, M, 3) and the movers' shares (M, M)."""
    count, more = len(hessian), len(shares)
    joined = np.empty((count + more, 3, count + more, 3))
    joined[:count, :, :count] = hessian
    joined[:count, :, count:] = across
    joined[count:, :, :count] = across.transpose(2, 3, 0, 1)
    joined[count:, :, count:] = shares[:, None, :, None] * np.eye(3)[:, None]
    return joined
