"""Weight lines of a mesh, where weight changes from bone to bone, and the weights once the lines are moved.

`find_joint_lines` finds the lines of a joint, `start_edit` gathers those of several, `LineEdit.compute` gives the
weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..geometry.iso_lines import LinePoints, Segments, trace_segments
from ..geometry.solid import weld
from .line_fields import LineField, LineProblem, MissingLineError, build_field, choose_level
from .line_moves import HandleMoves, locate_handles, move_shares, move_weights

# Distance from a joint at which weights may change, in lengths of the longer of its two bones
MAX_REACH = 1.5

# Of the two lines next to a line, relative to its own level: 0.1 and 0.9 next to a half
OUTER_LEVELS = (0.2, 1.8)

MIN_GAIN = 1e-7


@dataclass(frozen=True)
class RiggedMesh:
    """A mesh at rest with weights, and properties of bones for the lines.

    Attributes
    ----------
    points : float64 array, shape (V, 3)
        Object space.
    triangles : int array, shape (T, 3)
    weights : float32 array, shape (V, B)
        By deforming bone; rows need not sum to 1.
    parents : int array, shape (B,)
        The deforming bone that each is joined to, -1 for none.
    lengths : float array, shape (B,)
        Of the bones, in units of the points.
    is_free : bool array, shape (B,)
        Bones whose weights may change.
    """

    points: np.ndarray
    triangles: np.ndarray
    weights: np.ndarray
    parents: np.ndarray
    lengths: np.ndarray
    is_free: np.ndarray

    @cached_property
    def welded(self) -> np.ndarray:
        """For each vertex the first one at its position: int array, shape (V,)."""
        return weld(self.points) if len(self.points) else np.empty(0, np.intp)

    @cached_property
    def welded_triangles(self) -> np.ndarray:
        """Triangles between welded vertices that are still triangles: int array, shape (T', 3)."""
        triangles = self.welded[self.triangles]
        a, b, c = triangles.T
        return triangles[(a != b) & (b != c) & (c != a)]

    def find_side(self, bone: int) -> np.ndarray:
        """A bone and its descendants: bool array, shape (B,)."""
        side: np.ndarray = np.arange(len(self.parents)) == bone
        while True:
            grown = side | ((self.parents >= 0) & side[self.parents])
            if (grown == side).all():
                return side
            side = grown

    def count_ancestors(self, bone: int) -> int:
        """Number of bones between a bone and its root."""
        count = 0
        while (bone := int(self.parents[bone])) >= 0:
            count += 1
        return count


@dataclass(frozen=True, eq=False)
class JointLines:
    """The lines between a bone and its parent, before any is moved.

    Attributes
    ----------
    bone, parent : int
        Columns of the weights.
    side : bool array, shape (B,)
        The bone and its descendants.
    field : LineField
        In object space at rest.
    """

    bone: int
    parent: int
    side: np.ndarray
    field: LineField

    @property
    def levels(self) -> tuple[float, float, float]:
        """Shares of the line, first, and of the two lines next to it."""
        level = self.field.level
        return level, OUTER_LEVELS[0] * level, OUTER_LEVELS[1] * level


def find_joint_lines(mesh: RiggedMesh, bone: int) -> JointLines:
    """Find the lines at which weight changes from a bone's parent to the bone.

    `bone`: column of the weights; -1 if the bone does not deform.

    Raises
    ------
    MissingLineError
        If the bone has no line, or its weights may not change.
    """
    if bone < 0:
        raise MissingLineError(LineProblem.NOT_DEFORMING)
    parent = int(mesh.parents[bone])
    if parent < 0:
        raise MissingLineError(LineProblem.NO_PARENT)
    for joined, problem in ((bone, LineProblem.LOCKED), (parent, LineProblem.PARENT_LOCKED)):
        if not mesh.is_free[joined]:
            raise MissingLineError(problem)
    side = mesh.find_side(bone)
    total = mesh.weights.sum(axis=1, dtype=np.float64)
    shares = _find_shares(mesh.weights, side, total)
    is_first = mesh.welded == np.arange(len(mesh.points))
    level = choose_level(shares, is_first & (total > 0))
    reach = MAX_REACH * float(max(mesh.lengths[bone], mesh.lengths[parent]))
    return JointLines(bone, parent, side, build_field(mesh.points, mesh.welded_triangles, shares, level, reach))


def _find_shares(weights: np.ndarray, side: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Share of each row's total, shape (N,), on a side, bool, shape (B,): float64 array, shape (N,)."""
    return weights[:, side].sum(axis=1, dtype=np.float64) / np.where(total > 0, total, 1.0)


@dataclass(frozen=True, eq=False)
class LineEdit:
    """The lines of some joints, and the weights that may change with them: N vertices, K bones.

    Attributes
    ----------
    joints : tuple of JointLines
        From the root to the tips of the skeleton.
    vertices : int array, shape (N,)
        Vertices of the mesh that may change, the first at each position; ascending.
    columns : int array, shape (K,)
        Bones that may change; ascending.
    weights : float32 array, shape (N, K)
        Of these vertices and bones, before any line is moved.
    is_free : bool array, shape (K,)
        Bones whose weights may change.
    rows : dict of int to int array, shape (field's vertices,)
        By the bone of a joint: rows in `vertices` of its field's vertices.
    copies, copy_rows : int arrays, shape (C,)
        All vertices at these positions, and the row in `vertices` of each.
    """

    joints: tuple[JointLines, ...]
    vertices: np.ndarray
    columns: np.ndarray
    weights: np.ndarray
    is_free: np.ndarray
    rows: dict[int, np.ndarray]
    copies: np.ndarray
    copy_rows: np.ndarray

    def compute(self, moves: Mapping[int, HandleMoves]) -> np.ndarray:
        """Weights once lines are moved; `weights` itself if none is: float32 array, (N, K).

        `moves`: by the bone of a joint; joints without moves stay.

        Notes
        -----
        Weights are always computed from `weights`, so that only the lines' positions count, not their former ones.
        """
        weights = self.weights
        index_of = np.full(self.columns.max(initial=-1) + 1, -1)
        index_of[self.columns] = np.arange(len(self.columns))
        for joint in self.joints:
            if joint.bone not in moves or not moves[joint.bone].is_moved:
                continue
            weights = weights.copy() if weights is self.weights else weights
            gains = move_shares(joint.field, moves[joint.bone]) - joint.field.shares
            changed = np.abs(gains) > MIN_GAIN
            rows, side = self.rows[joint.bone][changed], joint.side[self.columns]
            bones = int(index_of[joint.bone]), int(index_of[joint.parent])
            weights[rows] = move_weights(weights[rows], side, *bones, gains[changed], self.is_free)
        return weights

    def find_changed(self, weights: np.ndarray) -> np.ndarray:
        """Whether weights (N, K) change each of `copies`: bool array, shape (C,)."""
        return (weights != self.weights).any(axis=1)[self.copy_rows]

    def find_shares(self, joint: JointLines, weights: np.ndarray) -> np.ndarray:
        """Shares of weights (N, K) on the child's side of a joint, for its field's vertices: float64, shape (n,)."""
        own = weights[self.rows[joint.bone]].astype(np.float64)
        return _find_shares(own, joint.side[self.columns], own.sum(axis=1))

    def trace(self, joint: JointLines, weights: np.ndarray, level: float) -> Segments:
        """Trace a level of a joint's shares.

        `weights`, float array, shape (N, K): current weights.

        Returns
        -------
        Segments
            With vertices of the mesh.
        """
        segments = trace_segments(self.find_shares(joint, weights), joint.field.triangles, level)
        return Segments(segments.triangles, joint.field.vertices[segments.edges], segments.shares)

    def locate(self, joint: JointLines, weights: np.ndarray, level: float, moves: HandleMoves) -> LinePoints:
        """Find the handles of a joint's lines.

        Parameters
        ----------
        weights : float array, shape (N, K)
            Current weights.
        level : float
            Share at which the lines are.
        moves : HandleMoves
            Of the joint.

        Returns
        -------
        LinePoints
            A point for each handle, (L * HANDLES_PER_LINE,): vertices of the mesh.
        """
        found = locate_handles(joint.field, self.find_shares(joint, weights), level, moves.offsets)
        return LinePoints(joint.field.vertices[found.vertices], found.weights)


def start_edit(mesh: RiggedMesh, joints: Sequence[JointLines]) -> LineEdit:
    """Gather the vertices and bones that may change with the lines of at least one joint."""
    joints = sorted(joints, key=lambda joint: mesh.count_ancestors(joint.bone))
    vertices = np.unique(np.concatenate([joint.field.vertices for joint in joints]))
    used = np.array(mesh.weights[vertices].any(axis=0))
    used[[bone for joint in joints for bone in (joint.bone, joint.parent)]] = True
    columns = np.flatnonzero(used)
    copies = np.flatnonzero(np.isin(mesh.welded, vertices))
    copies = copies[np.argsort(np.searchsorted(vertices, mesh.welded[copies]), kind="stable")]
    return LineEdit(
        joints=tuple(joints),
        vertices=vertices,
        columns=columns,
        weights=mesh.weights[np.ix_(vertices, columns)],
        is_free=mesh.is_free[columns],
        rows={joint.bone: np.searchsorted(vertices, joint.field.vertices) for joint in joints},
        copies=copies,
        copy_rows=np.searchsorted(vertices, mesh.welded[copies]),
    )
