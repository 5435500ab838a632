"""Deformation energy of a skin, gathered once into small matrices of bones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError, find_unusable
from ..geometry.mesh_laplacian import check_faces, drop_degenerate, make_laplacian
from ..rig.rest import Weights, normalize_weights
from .clusters import find_clusters


@dataclass(frozen=True, eq=False)
class Cluster:
    """Edges of the skin that share one rotation.

    Attributes
    ----------
    bones : int array, shape (N,)
        Bones that move any of these edges.
    moments : float64 array, shape (N, 4, N, 4)
        Sum over the edges of `strength * a_n a_m`, where `a_n` (4,) is bone n's part of the edge, homogeneous.
    masses : float64 array, shape (N, 4, N, 4)
        Such a sum over the cluster's vertices, weighted by their areas.
    """

    bones: np.ndarray
    moments: np.ndarray
    masses: np.ndarray


@dataclass(frozen=True, eq=False)
class SkinEnergy:
    """The deformation energy of a skin as a function of its bones' matrices. It serves for many drags.

    Attributes
    ----------
    posed : float64 array, shape (B + 1, 4, 4)
        Matrices of the bones for the given points. The last, a bone that never moves, carries vertices without weights.
    areas : float64 array, shape (B + 1,)
        Area of the skin that each bone carries, divided by weights.
    size : float
        Twice the distance of the farthest point from their mean.
    stiffness : float
        Sum over all edges of strength times length squared, about twice the area: the unit of the energy.
    """

    posed: np.ndarray
    clusters: tuple[Cluster, ...]
    areas: np.ndarray
    size: float
    stiffness: float


def prepare_skin(
    points: np.ndarray, triangles: np.ndarray, weights: Weights, posed: np.ndarray, clusters: int = 32
) -> SkinEnergy:
    """Gather a skin's deformation energy into matrices of its bones. This is slow, and done once for a skin.

    Raises SkinningError if faces or weights are missing, or positions are not numbers.

    Parameters
    ----------
    points : float array, shape (V, 3)
        All meshes of the character, at rest or posed, in armature space.
    triangles : int array, shape (T, 3)
    weights : Weights
        Their joints are indices of bones.
    posed : float array, shape (B, 4, 4)
        Matrices of the bones for these points.
    clusters : int
        Number of rotations of the skin. Each vertex takes one.

    Notes
    -----
    Jacobson et al. 2012, eq. 3 to 8: E = sum over clusters c and their edges e of w |e' - R_c e|^2, with cotangent
    weights w. With linear blending, an edge is linear in the bones' matrices, so all sums over edges are gathered here.
    An edge between two clusters counts half in each. Deviation: the matrices of each cluster are stored in the space of
    the given points, so that the energy may be measured from any pose.
    """
    points, posed = np.asarray(points, np.float64), np.asarray(posed, np.float64)
    if find_unusable(points).any():
        raise SkinningError("Some vertex positions are not numbers: repair the mesh")
    if not (weights.values > 0.0).any():
        raise SkinningError(
            "The skin does not follow any bone: give it weights, for example with Bind or Automatic Weights"
        )
    center = points.mean(axis=0)
    size = 2.0 * float(np.linalg.norm(points - center, axis=1).max())
    if not size:
        raise SkinningError("All vertices are at the same point: scale the mesh, or its bones")
    triangles = drop_degenerate(triangles)
    check_faces(triangles)
    laplacian = make_laplacian(points, triangles)
    own = normalize_weights(weights, len(points), len(posed)).by_vertex()
    labels = find_clusters(own, laplacian.areas, len(posed) + 1, clusters)
    gathered = []
    for label in range(labels.max() + 1):
        ends = labels[laplacian.edges] == label
        chosen = ends.any(axis=1)
        if not chosen.any():
            continue  # vertices without faces
        strengths = laplacian.strengths[chosen] * 0.5 * ends[chosen].sum(axis=1)
        masses = np.where(labels == label, laplacian.areas, 0.0)
        gathered.append(_gather(points, own, laplacian.edges[chosen], strengths, masses))
    areas = np.bincount(own.joints, own.values * laplacian.areas[own.vertices], minlength=len(posed) + 1)
    lengths = np.linalg.norm(np.diff(points[laplacian.edges], axis=1)[:, 0], axis=1)
    stiffness = float(laplacian.strengths @ lengths**2)
    return SkinEnergy(np.concatenate([posed, np.eye(4)[None]]), tuple(gathered), areas, size, stiffness)


def _gather(
    points: np.ndarray, weights: Weights, edges: np.ndarray, strengths: np.ndarray, masses: np.ndarray
) -> Cluster:
    """Gather moments of edges (E, 2), and of their vertices with masses (V,)."""
    used, ends = np.unique(edges, return_inverse=True)
    place = np.full(len(points), -1)
    place[used] = np.arange(len(used))
    rows = place[weights.vertices]
    bones, columns = np.unique(weights.joints[rows >= 0], return_inverse=True)
    dense = np.zeros((len(used), len(bones)))
    np.add.at(dense, (rows[rows >= 0], columns), weights.values[rows >= 0])
    homogeneous = np.concatenate([points[used], np.ones((len(used), 1))], axis=1)
    parts = (dense[:, :, None] * homogeneous[:, None]).reshape(len(used), -1)
    ends = ends.reshape(-1, 2)
    across = (parts[ends[:, 0]] - parts[ends[:, 1]]) * np.sqrt(strengths)[:, None]
    inside = np.sqrt(masses[used])[:, None] * parts
    shape = (len(bones), 4, len(bones), 4)
    return Cluster(bones, (across.T @ across).reshape(shape), (inside.T @ inside).reshape(shape))
