"""Faults of the skin at each joint in poses: it collapses, swells, tears and runs through itself.

`SkinMeter` measures one mesh in one pose, by bone; `Extremes` keeps the worst of many poses.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..geometry.solid import weld
from ..geometry.vectors import measure_lengths
from ..rig.rest import Joints, Rest
from .limbs import find_limbs, find_owners
from .space import Solid, close_surface
from .stretch import mesh_edges

COLLAPSE, BULGE, TEAR, OVERLAP = KINDS = ("COLLAPSE", "BULGE", "TEAR", "OVERLAP")

# Degrees from rest between two bones: overlap is not measured below.
MIN_BEND = 25.0

# A drawn-out edge is compared to at least this multiple of its own length.
MIN_EDGE_SHARE = 2.0


@dataclass
class Extremes:
    """The worst of many poses, by kind of fault and bone.

    Attributes
    ----------
    values : dict from a kind to a float array, shape (B,)
        COLLAPSE: least section of its limb, relative to rest. BULGE: farthest skin from the bones, relative to rest.
        TEAR: growth of an edge, or a seam, in thicknesses of the limb (its farthest skin at rest). OVERLAP: share of
        the space around the joint that is filled twice, more than at rest. NaN if not measured.
    poses : dict from a kind to an int array, shape (B,)
        The pose of each, -1 if not measured.
    drawn : float array, shape (V,)
        TEAR by vertex.
    drawn_poses : int array, shape (V,)
        The pose of each, -1 for none.
    """

    values: dict[str, np.ndarray]
    poses: dict[str, np.ndarray]
    drawn: np.ndarray
    drawn_poses: np.ndarray

    @classmethod
    def of(cls, joint_count: int, vertex_count: int) -> Extremes:
        """Make without poses."""
        values = {kind: np.full(joint_count, np.nan) for kind in KINDS}
        poses = {kind: np.full(joint_count, -1) for kind in KINDS}
        return cls(values, poses, np.zeros(vertex_count), np.full(vertex_count, -1))

    def add(self, pose: int, measured: dict[str, np.ndarray], drawn: np.ndarray) -> None:
        """Keep values that are worse than in earlier poses.

        Parameters
        ----------
        measured : dict from a kind to a float array, shape (B,)
            From `SkinMeter.measure`.
        drawn : float array, shape (V,)
            From `SkinMeter.draw_out`.
        """
        farther = drawn > self.drawn
        self.drawn[farther], self.drawn_poses[farther] = drawn[farther], pose
        for kind, found in measured.items():
            known = self.values[kind]
            with np.errstate(invalid="ignore"):
                is_worse = found < known if kind == COLLAPSE else found > known
            is_worse |= np.isnan(known) & ~np.isnan(found)
            self.values[kind] = np.where(is_worse, found, known)
            self.poses[kind] = np.where(is_worse, pose, self.poses[kind])


@dataclass(frozen=True)
class Groups:
    """Values in groups, to find the largest of each.

    Attributes
    ----------
    order : int array, shape (M,)
        The values that are in a group, group by group.
    starts : int array, shape (H,)
        Start in `order` of each group with values.
    present : int array, shape (H,)
        Those groups.
    count : int
        Number of all groups.
    """

    order: np.ndarray
    starts: np.ndarray
    present: np.ndarray
    count: int

    @classmethod
    def of(cls, groups: np.ndarray, count: int) -> Groups:
        """Make from the group of each value, int array of shape (N,), -1 for none."""
        order = np.argsort(groups, kind="stable")
        order = order[groups[order] >= 0]
        present, starts = np.unique(groups[order], return_index=True)
        return cls(order, starts, present, count)

    def find_most(self, values: np.ndarray) -> np.ndarray:
        """Largest of each group, shape (G,), of values, shape (N,); NaN for empty groups."""
        most = np.full(self.count, np.nan)
        if len(self.starts):
            most[self.present] = np.maximum.reduceat(values[self.order], self.starts)
        return most


class SkinMeter:
    """A mesh at rest, to be measured in poses.

    `rest`: with `object_to_armature`.

    Attributes
    ----------
    points : float64 array, shape (V, 3)
        Armature space.
    triangles : int array, shape (T, 3)
    edges, pairs : int arrays, shape (E, 2)
        Edges; edges and pairs of vertices at one position.
    owners : int array, shape (V,)
        The joint with most weight in each vertex, -1 for none.
    thickness : float array, shape (B,)
        Of the limbs: the farthest skin from the bones at rest.
    """

    def __init__(self, rest: Rest) -> None:
        space = np.eye(4) if rest.object_to_armature is None else np.asarray(rest.object_to_armature, np.float64)
        self._space = space
        self.joints: Joints = rest.joints
        self.points = np.asarray(rest.points, np.float64) @ space[:3, :3].T + space[:3, 3]
        self.triangles = np.empty((0, 3), np.intp) if rest.triangles is None else np.asarray(rest.triangles)
        self.owners = find_owners(rest.weights, len(self.points), len(self.joints.parents))
        self._limbs = find_limbs(self.points, self.triangles, self.owners, self.joints)
        self.edges = mesh_edges(self.triangles)
        self.pairs = np.concatenate([self.edges, find_seams(self.points)])
        self._lengths = measure_lengths(self.points[self.pairs[:, 1]] - self.points[self.pairs[:, 0]])
        size = float(np.linalg.norm(np.ptp(self.points, axis=0))) if len(self.points) else 0.0
        # In sizes of the mesh: thinner limbs, such as toes, count as this thick for drawn-out edges.
        min_thickness = 0.015
        self.thickness = np.maximum(self._limbs.reaches, min_thickness * size)
        self._by_vertex = Groups.of(self.pairs.T.ravel(), len(self.points))
        self._by_owner = Groups.of(self.owners, len(self.thickness))
        thickness = np.append(self.thickness, np.inf)[self.owners]
        self._against = [np.maximum(thickness[ends], MIN_EDGE_SHARE * self._lengths) for ends in self.pairs.T]
        self._patches: dict[int, Solid] = {}

    @property
    def has_limb(self) -> np.ndarray:
        """Whether skin goes around each bone: bool array, shape (B,)."""
        return np.isin(np.arange(len(self.joints.parents)), self._limbs.ring_bones)

    def place(self, posed: np.ndarray) -> np.ndarray:
        """Transform posed points of the mesh, shape (V, 3), from its own space to the armature's."""
        return np.asarray(posed, np.float64) @ self._space[:3, :3].T + self._space[:3, 3]

    def measure(
        self, posed: np.ndarray, rest_to_pose: np.ndarray, drawn: np.ndarray, bent: Iterable[int] = ()
    ) -> dict[str, np.ndarray]:
        """Measure a pose, by bone.

        Parameters
        ----------
        posed : float array, shape (V, 3)
            Armature space.
        rest_to_pose : float array, shape (B, 4, 4)
        drawn : float array, shape (V,)
            From `draw_out` for this pose.
        bent : joints
            To be measured for overlap, which takes longest.

        Returns
        -------
        dict from a kind to a float array, shape (B,)
            As in `Extremes`.
        """
        overlap = np.full(len(self.joints.parents), np.nan)
        for joint in bent:
            overlap[joint] = self._measure_overlap(joint, posed)
        return {
            COLLAPSE: self._limbs.measure_sections(posed),
            BULGE: self._limbs.measure_reaches(posed, rest_to_pose),
            TEAR: self.find_most(drawn),
            OVERLAP: overlap,
        }

    def find_most(self, values: np.ndarray) -> np.ndarray:
        """Largest of values, shape (V,), of each bone's own vertices, shape (B,); NaN for bones without vertices."""
        return self._by_owner.find_most(values)

    def spread(self, chosen: np.ndarray) -> np.ndarray:
        """Extend a set of vertices, bool array of shape (V,), along edges and seams."""
        wide = chosen.copy()
        wide[self.pairs[chosen[self.pairs].any(axis=1)]] = True
        return wide

    def draw_out(self, posed: np.ndarray) -> np.ndarray:
        """Largest growth of each vertex's edges and seams, shape (V,), in thicknesses of its limb.

        A long edge is compared to at least `MIN_EDGE_SHARE` of its own length. `posed`, shape (V, 3), is in armature
        space.
        """
        longer = measure_lengths(posed[self.pairs[:, 1]] - posed[self.pairs[:, 0]]) - self._lengths
        drawn = self._by_vertex.find_most(np.concatenate([longer / against for against in self._against]))
        return np.maximum(np.nan_to_num(drawn), 0.0)

    def _measure_overlap(self, joint: int, posed: np.ndarray) -> float:
        # Rays along the longer side of a joint's surroundings: their error is about .5 % of the space there.
        columns = 40
        if joint not in self._patches:
            near = {joint, int(self.joints.parents[joint])}
            around = np.isin(self.owners, list(near))[self.triangles].all(axis=1)
            self._patches[joint] = close_surface(self.points, self.triangles[around], np.inf, columns)
        patch = self._patches[joint]
        return max(0.0, patch.measure(posed).twice - patch.rest.twice) if patch.is_closed else np.nan


def find_seams(points: np.ndarray) -> np.ndarray:
    """Pairs of vertices at one position, int array, shape (N, 2): vertices that files split at seams."""
    welded = weld(points) if len(points) else np.empty(0, np.intp)
    copies = np.flatnonzero(welded != np.arange(len(welded)))
    return np.stack([welded[copies], copies], axis=1)


def measure_rotations(rest_to_pose: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """Angles by which each joint is rotated relative to its parent, degrees, shape (..., B); 0 for roots.

    Parameters
    ----------
    rest_to_pose : float array, shape (..., B, 4, 4)
    parents : int array, shape (B,)
    """
    linear = rest_to_pose[..., :3, :3]
    linear = linear / np.maximum(np.abs(np.linalg.det(linear)), 1e-30)[..., None, None] ** (1.0 / 3.0)
    above = linear[..., np.maximum(parents, 0), :, :]
    cosines = (np.einsum("...ij,...ij->...", above, linear) - 1.0) / 2.0
    return np.where(np.asarray(parents) < 0, 0.0, np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0))))
