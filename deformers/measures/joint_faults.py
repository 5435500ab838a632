"""What poses do to the skin at each joint: where it collapses, swells, tears and runs through itself.

`SkinMeter` measures one mesh in one pose, by bone; `Extremes` keeps of many poses what is worst.
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

LEAST_BEND = 25.0
"""Degrees between two bones, against rest, below which their skin is not looked at for overlap."""

LONG_EDGE = 2.0
"""Edges that are drawn out count at least against so much of their own length."""

THINNEST = 0.015
"""Share of the mesh's size: limbs that are thinner, such as toes, count as so thick where edges are drawn out."""

COLUMNS = 40
"""Rays along the longer side of a joint's surroundings: their error is about .5 % of the space there."""


@dataclass
class Extremes:
    """The worst of many poses, by kind of fault and bone.

    Attributes
    ----------
    values : dict from a kind to a float array, shape (B,)
        COLLAPSE: least section of its limb over that at rest. BULGE: farthest skin from the bones over that at rest.
        TEAR: by how much an edge, or a seam, is drawn out, in parts of the limb's thickness: the farthest skin at rest.
        OVERLAP: share of the space around the joint that is filled twice, over rest's. NaN where nothing was measured.
    poses : dict from a kind to an int array, shape (B,)
        The pose of each, -1 where nothing was measured.
    drawn : float array, shape (V,)
        TEAR by vertex, 0 where nothing is drawn out.
    drawn_poses : int array, shape (V,)
        The pose of each.
    """

    values: dict[str, np.ndarray]
    poses: dict[str, np.ndarray]
    drawn: np.ndarray
    drawn_poses: np.ndarray

    @classmethod
    def of(cls, joint_count: int, vertex_count: int) -> Extremes:
        """Those of no poses yet."""
        values = {kind: np.full(joint_count, np.nan) for kind in KINDS}
        poses = {kind: np.full(joint_count, -1) for kind in KINDS}
        return cls(values, poses, np.zeros(vertex_count), np.full(vertex_count, -1))

    def add(self, pose: int, measured: dict[str, np.ndarray], drawn: np.ndarray) -> None:
        """Keep what is worse in a pose than in those before.

        Parameters
        ----------
        measured : dict from a kind to a float array, shape (B,)
            As `SkinMeter.measure` gives it.
        drawn : float array, shape (V,)
            As `SkinMeter.draw_out` gives it.
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
    """Values in groups, of which the largest is looked for.

    Attributes
    ----------
    order : int array, shape (M,)
        The values that are in a group, group by group.
    starts : int array, shape (H,)
        Where each group that has any begins there.
    present : int array, shape (H,)
        Those groups.
    count : int
        Groups.
    """

    order: np.ndarray
    starts: np.ndarray
    present: np.ndarray
    count: int

    @classmethod
    def of(cls, groups: np.ndarray, count: int) -> Groups:
        """Of the group of each value, int array of shape (N,), -1 for none."""
        order = np.argsort(groups, kind="stable")
        order = order[groups[order] >= 0]
        present, starts = np.unique(groups[order], return_index=True)
        return cls(order, starts, present, count)

    def find_most(self, values: np.ndarray) -> np.ndarray:
        """The largest of each group, shape (G,), of values, shape (N,); NaN for groups without any."""
        most = np.full(self.count, np.nan)
        if len(self.starts):
            most[self.present] = np.maximum.reduceat(values[self.order], self.starts)
        return most


class SkinMeter:
    """A mesh at rest, to be measured in poses.

    Parameters
    ----------
    rest : Rest
        In a space whose `object_to_armature` is given.

    Attributes
    ----------
    points : float64 array, shape (V, 3)
        Armature space.
    triangles : int array, shape (T, 3)
    edges, pairs : int arrays, shape (E, 2)
        Edges; those, and pairs of vertices at one position.
    owners : int array, shape (V,)
        The joint that has most of each vertex, -1 for none.
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
        self.thickness = np.maximum(self._limbs.reaches, THINNEST * size)
        self._by_vertex = Groups.of(self.pairs.T.ravel(), len(self.points))
        self._by_owner = Groups.of(self.owners, len(self.thickness))
        thickness = np.append(self.thickness, np.inf)[self.owners]
        self._against = [np.maximum(thickness[ends], LONG_EDGE * self._lengths) for ends in self.pairs.T]
        self._patches: dict[int, Solid] = {}

    @property
    def has_limb(self) -> np.ndarray:
        """Whether the skin goes around a bone: bool array, shape (B,)."""
        return np.isin(np.arange(len(self.joints.parents)), self._limbs.ring_bones)

    def place(self, posed: np.ndarray) -> np.ndarray:
        """Posed points of the mesh, shape (V, 3), from its own space to the armature's."""
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
            As `draw_out` gives it for this pose.
        bent : joints
            That are looked at for overlap; it takes longest.

        Returns
        -------
        dict from a kind to a float array, shape (B,)
            As of `Extremes`.
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
        """The largest value of each bone's own vertices, shape (B,), of values, shape (V,); NaN for bones without."""
        return self._by_owner.find_most(values)

    def spread(self, chosen: np.ndarray) -> np.ndarray:
        """Vertices, bool array of shape (V,), and those that an edge or a seam joins to them."""
        wide = chosen.copy()
        wide[self.pairs[chosen[self.pairs].any(axis=1)]] = True
        return wide

    def draw_out(self, posed: np.ndarray) -> np.ndarray:
        """By how much each vertex's edges are drawn out, at most: shape (V,), in parts of its limb's thickness.

        Seams count as edges, and a long edge against `LONG_EDGE` of its own length at least. `posed`, shape
        (V, 3), is in armature space.
        """
        longer = measure_lengths(posed[self.pairs[:, 1]] - posed[self.pairs[:, 0]]) - self._lengths
        drawn = self._by_vertex.find_most(np.concatenate([longer / against for against in self._against]))
        return np.maximum(np.nan_to_num(drawn), 0.0)

    def _measure_overlap(self, joint: int, posed: np.ndarray) -> float:
        if joint not in self._patches:
            near = {joint, int(self.joints.parents[joint])}
            around = np.isin(self.owners, list(near))[self.triangles].all(axis=1)
            self._patches[joint] = close_surface(self.points, self.triangles[around], np.inf, COLUMNS)
        patch = self._patches[joint]
        return max(0.0, patch.measure(posed).twice - patch.rest.twice) if patch.is_closed else np.nan


def find_seams(points: np.ndarray) -> np.ndarray:
    """Pairs of vertices at one position, int array, shape (N, 2): parts of a seam that files have split."""
    welded = weld(points) if len(points) else np.empty(0, np.intp)
    copies = np.flatnonzero(welded != np.arange(len(welded)))
    return np.stack([welded[copies], copies], axis=1)


def measure_joint_angles(rest_to_pose: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """How far each joint is rotated against its parent, degrees, shape (..., B); 0 for roots.

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
