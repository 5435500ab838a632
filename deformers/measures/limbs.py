"""Limbs of a character, each the skin around one bone: distances from the bones, and remaining thickness."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..geometry.solid import weld
from ..geometry.vectors import list_ranges
from ..rig.rest import Joints, Weights, normalize_weights
from .sections import Rings, find_ring_around, join_rings, slice_mesh

# Rings along each bone, the first and the last at its ends
SLICES = 17


@dataclass(frozen=True)
class Section:
    """The section of a limb that keeps least of its area.

    Attributes
    ----------
    bone : int
        -1 if no limb has a ring.
    area : float
        Posed area over rest area, NaN if no limb has a ring.
    position : float
        Along the bone at rest: 0 at its head, 1 at its tail.
    """

    bone: int
    area: float
    position: float

    @property
    def radius(self) -> float:
        """Posed over rest mean radius: the root of `area`."""
        return float(np.sqrt(self.area))


@dataclass(frozen=True)
class Reach:
    """The limb with the largest posed distance of skin from the bones, relative to rest.

    Attributes
    ----------
    bone : int
        -1 if no bone has skin.
    share : float
        Largest distance posed over largest distance at rest; NaN if no bone has skin.
    """

    bone: int
    share: float


@dataclass(frozen=True)
class Limbs:
    """Limbs of a character at rest, to be measured in its poses.

    Attributes
    ----------
    owners : int array, shape (V,)
        The bone that each vertex belongs to, -1 for none.
    heads, tails : float arrays, shape (B, 3)
        Of the bones at rest, in the points' space.
    near : two int arrays, shape (N,)
        Pairs of a vertex, ascending, and a bone that it may be near: its own, and those joined to that.
    ring_bones : int array, shape (R,)
    positions : float array, shape (R,)
        Of the rings, along their bones.
    areas : float array, shape (R,)
        At rest.
    reaches : float array, shape (B,)
        Largest distance of a limb's skin from its bone and those joined to it, at rest; 0 without skin.
    least_reach : float
        Lower bound of distances.
    """

    owners: np.ndarray
    heads: np.ndarray
    tails: np.ndarray
    near: tuple[np.ndarray, np.ndarray]
    rings: Rings
    ring_bones: np.ndarray
    positions: np.ndarray
    areas: np.ndarray
    reaches: np.ndarray
    least_reach: float

    def measure_sections(self, posed: np.ndarray) -> np.ndarray:
        """Measure the smallest section of each limb.

        `posed`, float array, shape (V, 3): in any space of the same scale. Returns a float array, shape (B,): smallest
        posed area over rest area of its rings: 1 in rigid motion; NaN for limbs without rings.
        """
        smallest = np.full(len(self.heads), np.inf)
        np.minimum.at(smallest, self.ring_bones, self.rings.measure(posed) / self.areas)
        return np.where(np.isfinite(smallest), smallest, np.nan)

    def find_smallest_section(self, posed: np.ndarray) -> Section:
        """Find the ring of all limbs that keeps least of its area; `posed`, shape (V, 3), as for `measure_sections`."""
        if not self.rings.count:
            return Section(-1, np.nan, np.nan)
        ratios = self.rings.measure(posed) / self.areas
        ring = int(np.argmin(ratios))
        return Section(int(self.ring_bones[ring]), float(ratios[ring]), float(self.positions[ring]))

    def measure_reaches(self, posed: np.ndarray, rest_to_pose: np.ndarray) -> np.ndarray:
        """Measure distances of the skin from the bones.

        Parameters
        ----------
        posed : float array, shape (V, 3)
            In the space of the posed bones.
        rest_to_pose : float array, shape (B, 4, 4)
            Of the bones, in this space.

        Returns
        -------
        float array, shape (B,)
            For each limb the largest distance posed over the largest at rest; NaN for bones without skin.
        """
        moved = [
            np.einsum("bij,bj->bi", rest_to_pose[:, :3, :3], ends) + rest_to_pose[:, :3, 3]
            for ends in (self.heads, self.tails)
        ]
        reaches = _measure_reaches(posed, self.owners, self.near, *moved)
        ratios = np.maximum(reaches, self.least_reach) / np.maximum(self.reaches, self.least_reach)
        return np.where(np.isin(np.arange(len(self.heads)), self.owners), ratios, np.nan)

    def find_farthest(self, posed: np.ndarray, rest_to_pose: np.ndarray) -> Reach:
        """Find the limb with the farthest skin from the bones, relative to rest.

        `posed` and `rest_to_pose`, float arrays, shapes (V, 3), (B, 4, 4): as for `measure_reaches`.
        """
        ratios = self.measure_reaches(posed, rest_to_pose)
        if np.isnan(ratios).all():
            return Reach(-1, np.nan)
        bone = int(np.nanargmax(ratios))
        return Reach(bone, float(ratios[bone]))


def find_owners(weights: Weights, vertex_count: int, joint_count: int) -> np.ndarray:
    """Find the joint with most of each vertex's weight.

    Returns an int array, shape (V,): -1 for vertices without weights.
    """
    weights = normalize_weights(weights, vertex_count, joint_count)
    order = np.lexsort((weights.values, weights.vertices))
    owners = np.full(vertex_count, -1, np.intp)
    owners[weights.vertices[order]] = weights.joints[order]  # the last entry of each vertex is the largest
    return np.where(owners == joint_count, -1, owners)


def find_limbs(
    points: np.ndarray, triangles: np.ndarray, owners: np.ndarray, joints: Joints, slices: int = SLICES
) -> Limbs:
    """Find the limbs of a character at rest.

    Parameters
    ----------
    points : float array, shape (V, 3)
        At rest, in armature space.
    triangles : int array, shape (T, 3)
        Counter-clockwise from outside.
    owners : int array, shape (V,)
        From `find_owners`.
    joints : Joints
        With `tails`. Joints without length have no rings.
    slices : int
        Rings along each bone.
    """
    if joints.tails is None:
        raise ValueError("Joints need tails: limbs are measured along bones")
    points, owners = np.asarray(points, np.float64), np.asarray(owners)
    heads, tails = np.asarray(joints.centers, np.float64), np.asarray(joints.tails, np.float64)
    children = np.flatnonzero(joints.parents >= 0)
    pairs = np.stack([children, joints.parents[children]], axis=1)
    own = np.repeat(np.arange(len(heads))[:, None], 2, axis=1)
    links = np.concatenate([own, pairs, pairs[:, ::-1]])
    found, bones, positions = _slice_limbs(points, triangles, owners, heads, tails, links, slices)
    rings, near = join_rings(found), _pair_near(owners, links, len(heads))
    size = float(np.linalg.norm(np.ptp(points, axis=0))) if len(points) else 0.0
    # In sizes of the character: lower bound of distances from bones, so that eyes and nails do not dominate
    min_reach = 0.01
    return Limbs(
        owners=owners,
        heads=heads,
        tails=tails,
        near=near,
        rings=rings,
        ring_bones=np.array(bones, np.intp),
        positions=np.array(positions),
        areas=rings.measure(points),
        reaches=_measure_reaches(points, owners, near, heads, tails),
        least_reach=max(min_reach * size, 1e-30),
    )


def _pair_near(owners: np.ndarray, links: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of each vertex with an owner and each bone that its skin may be near: two int arrays, shape (N,), by
    vertex.
    """
    links = links[np.argsort(links[:, 0], kind="stable")]
    starts = np.searchsorted(links[:, 0], np.arange(count + 1))
    owned = np.flatnonzero(owners >= 0)
    counts = np.diff(starts)[owners[owned]]
    rows, found = list_ranges(starts[owners[owned]], counts)
    return owned[rows], links[found, 1]


def _measure_reaches(
    points: np.ndarray, owners: np.ndarray, near: tuple[np.ndarray, np.ndarray], heads: np.ndarray, tails: np.ndarray
) -> np.ndarray:
    """Largest distance of each limb's vertices from the nearest of its bones, shape (B,); 0 without vertices."""
    vertices, bones = near
    axes = tails - heads
    squares = np.maximum(np.einsum("bi,bi->b", axes, axes), 1e-300)
    offsets = points[vertices] - heads[bones]
    along = np.clip(np.einsum("ni,ni->n", offsets, axes[bones]) / squares[bones], 0.0, 1.0)
    offsets -= along[:, None] * axes[bones]
    distances = np.einsum("ni,ni->n", offsets, offsets)
    reaches = np.zeros(len(heads))
    if len(vertices):
        starts = np.flatnonzero(np.append(True, vertices[1:] != vertices[:-1]))
        np.maximum.at(reaches, owners[vertices[starts]], np.minimum.reduceat(distances, starts))
    return np.sqrt(reaches)


def _slice_limbs(
    points: np.ndarray,
    triangles: np.ndarray,
    owners: np.ndarray,
    heads: np.ndarray,
    tails: np.ndarray,
    links: np.ndarray,
    slices: int,
) -> tuple[list[tuple[np.ndarray, np.ndarray]], list[int], list[float]]:
    """The rings around all bones, as for `join_rings`, with the bone of each and its position along it."""
    triangles = weld(points)[triangles] if len(points) else np.asarray(triangles)
    rings, bones, positions = [], [], []
    lengths = np.linalg.norm(tails - heads, axis=1)
    # Share of a ring's edge ends that are the bone's own: otherwise the ring is of another limb that the plane
    # crosses.
    min_own_share = 0.3
    for bone in np.unique(owners[owners >= 0]).tolist():
        if not lengths[bone] > 0.0:
            continue
        near = np.isin(owners, links[links[:, 0] == bone, 1])
        around = triangles[near[triangles].any(axis=1)]
        normal = (tails[bone] - heads[bone]) / lengths[bone]
        for position in np.linspace(0.0, 1.0, slices).tolist():
            center = heads[bone] + position * (tails[bone] - heads[bone])
            ring = find_ring_around(points, slice_mesh(points, around, center, normal), center, normal)
            if ring is not None and (owners[ring[0]] == bone).mean() >= min_own_share:
                rings.append(ring)
                bones.append(bone)
                positions.append(position)
    return rings, bones, positions
