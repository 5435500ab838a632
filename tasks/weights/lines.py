"""Lines of weight on a mesh: read, moved with the weights that follow, and given back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import bpy
import numpy as np

from ...bridge.armatures import Skeleton, read_skeleton
from ...bridge.meshes import VertexGroups, mesh_of, read_evaluated_points, read_triangles, read_vertex_groups
from ...bridge.rays import read_posed_skin
from ...deformers import SkinningError
from ...deformers.geometry.iso_lines import Spots, trace_segments
from ...deformers.geometry.solid import weld
from ...deformers.weight_editing.lines import (
    HANDLES,
    OUTER,
    LineField,
    build_field,
    choose_level,
    locate_handles,
    move_shares,
    move_weights,
)
from ..character import find_armature_modifier, object_to_armature
from .parts import read_rest_points

REACH = 1.5
"""How far from a joint weights may change, in lengths of the longer one of its two bones."""

LEAST = 1e-7
"""Smaller changes of a share are none."""


@dataclass
class Joint:
    """The lines between one bone and its parent, and how far they have been moved.

    Attributes
    ----------
    bone, parent : int
        Columns of the weights.
    side : bool array, shape (B,)
        The bone and all that hangs on it.
    field : LineField
        In object space at rest.
    rows : int array, shape (N,)
        Where the field's vertices stand among those that may change.
    offsets, widths : float arrays, shape (L, HANDLES)
        Of the handles: object units, and factors.
    """

    bone: int
    parent: int
    side: np.ndarray
    field: LineField
    rows: np.ndarray
    offsets: np.ndarray
    widths: np.ndarray

    @property
    def is_moved(self) -> bool:
        return bool(self.offsets.any() or (self.widths != 1.0).any())

    @property
    def levels(self) -> tuple[float, float, float]:
        """Shares at which the line runs, first, and the two beside it."""
        level = self.field.level
        return level, OUTER[0] * level, OUTER[1] * level


class WeightLines:
    """The lines of some joints of a mesh, while they are being moved.

    Parameters
    ----------
    obj, armature : Object
    bones : sequence of str
        Deforming bones that have a deforming parent.

    Raises
    ------
    SkinningError
        Where no bone has a line on this mesh.

    Notes
    -----
    Weights are always computed from those that were there first, so that the way by which a line was dragged to a
    place does not matter. Joints are done from the root down.
    """

    def __init__(self, obj: bpy.types.Object, armature: bpy.types.Object, bones: Sequence[str]) -> None:
        self.obj = obj
        skeleton = read_skeleton(armature)
        self.names = skeleton.names
        self.parents = _find_parents(skeleton)
        _check(obj, bones)
        self._read(obj)
        heads, tails = skeleton.envelopes.heads, skeleton.envelopes.tails
        to_object = np.array(object_to_armature(obj, armature).inverted_safe(), np.float64)[:3, :3]
        self._lengths = np.linalg.norm((tails - heads) @ to_object.T, axis=1)
        self.joints: list[Joint] = []
        self.notes: list[str] = []
        self.mixings: dict[tuple[int, int], np.ndarray] = {}  # kept for `weight_line_mirror`
        for name in dict.fromkeys(bones):
            try:
                self.joints.append(self._read_joint(self._find_bone(name)))
            except SkinningError as error:
                self.notes.append(f"'{name}' {error}")
        if not self.joints:
            raise SkinningError(f"No line to move on '{obj.name}': {'; '.join(self.notes)}")
        self.joints.sort(key=lambda joint: self._count_ancestors(joint.bone))
        self._gather()

    def _read(self, obj: bpy.types.Object) -> None:
        mesh = mesh_of(obj)
        self.points = read_rest_points(obj).astype(np.float64)
        if not np.isfinite(self.points).all():
            raise SkinningError(f"'{obj.name}' has vertices whose places are not numbers: delete them first")
        self.triangles = read_triangles(mesh)
        self.welded = weld(self.points) if len(self.points) else np.empty(0, np.intp)
        entries = read_vertex_groups(mesh)
        column_of = {name: column for column, name in enumerate(self.names)}
        columns = np.array([column_of.get(group.name, -1) for group in obj.vertex_groups] + [-1], np.intp)
        found = columns[np.minimum(entries.groups, len(columns) - 1)]
        held = found >= 0
        self._weights = np.full((len(self.points), len(self.names)), np.nan, np.float32)  # not a number: no member
        self._weights[entries.vertices[held], found[held]] = entries.values[held]
        groups = obj.vertex_groups
        self._is_free = np.array([name not in groups or not groups[name].lock_weight for name in self.names])
        self._missing = [name for name in self.names if name not in groups]

    def _find_bone(self, name: str) -> int:
        """The column of a bone whose line may be moved."""
        if name not in self.names:
            raise SkinningError("is no deforming bone: select one, or switch Deform on in its properties")
        bone = self.names.index(name)
        if self.parents[bone] < 0:
            raise SkinningError("has no deforming parent, so no weight passes to it: select a bone below it")
        for one in (bone, int(self.parents[bone])):
            if not self._is_free[one]:
                raise SkinningError(f"can not change: vertex group '{self.names[one]}' is locked, unlock it first")
        return bone

    def _count_ancestors(self, bone: int) -> int:
        count, at = 0, bone
        while at >= 0:
            count, at = count + 1, int(self.parents[at])
        return count

    def _hangs_on(self, bone: int) -> np.ndarray:
        """A bone and all that hangs on it, bool, shape (B,)."""
        side: np.ndarray = np.arange(len(self.names)) == bone
        while True:
            grown = side | ((self.parents >= 0) & side[self.parents])
            if (grown == side).all():
                return side
            side = grown

    def _read_joint(self, bone: int) -> Joint:
        side, parent = self._hangs_on(bone), int(self.parents[bone])
        weights = np.nan_to_num(self._weights)
        total = weights.sum(axis=1, dtype=np.float64)
        shares = weights[:, side].sum(axis=1, dtype=np.float64) / np.where(total > 0, total, 1.0)
        is_first = self.welded == np.arange(len(self.points))
        level = choose_level(shares, is_first & (total > 0))
        triangles = self.welded[self.triangles]
        a, b, c = triangles.T
        triangles = triangles[(a != b) & (b != c) & (c != a)]
        reach = REACH * float(max(self._lengths[bone], self._lengths[parent]))
        field = build_field(self.points, triangles, shares, level, reach)
        size = (field.line_count, HANDLES)
        return Joint(bone, parent, side, field, np.empty(0, np.intp), np.zeros(size), np.ones(size))

    def _gather(self) -> None:
        """Gather the vertices and the bones that may change."""
        self._vertices = np.unique(np.concatenate([joint.field.vertices for joint in self.joints]))
        for joint in self.joints:
            joint.rows = np.searchsorted(self._vertices, joint.field.vertices)
        weights = np.nan_to_num(self._weights[self._vertices])
        used = np.array(weights.any(axis=0))
        used[[bone for joint in self.joints for bone in (joint.bone, joint.parent)]] = True
        self._columns = np.flatnonzero(used)
        self._before = weights[:, self._columns]
        self._now = self._before
        copies = np.flatnonzero(np.isin(self.welded, self._vertices))
        self._copies = copies[np.argsort(np.searchsorted(self._vertices, self.welded[copies]), kind="stable")]
        self._of_copies = np.searchsorted(self._vertices, self.welded[self._copies])
        self._first = np.nan_to_num(self._weights[np.ix_(self._copies, self._columns)])
        self._written = self._first
        self._others: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def find_joint(self, bone: str) -> Joint:
        """The joint of a bone; raises SkinningError where it has no line here."""
        for joint in self.joints:
            if self.names[joint.bone] == bone:
                return joint
        told = [note for note in self.notes if note.startswith(f"'{bone}' ")]
        raise SkinningError(told[0] if told else f"'{bone}' has no line here: choose it with the others")

    def compute(self) -> np.ndarray:
        """Weights of the vertices that may change, where the lines are now: float32, of the columns in use."""
        if not any(joint.is_moved for joint in self.joints):
            return self._before
        weights = self._before.copy()
        number = np.full(len(self.names), -1)
        number[self._columns] = np.arange(len(self._columns))
        is_free = self._is_free[self._columns]
        for joint in self.joints:
            if not joint.is_moved:
                continue
            gains = move_shares(joint.field, joint.offsets, joint.widths) - joint.field.shares
            changed = np.abs(gains) > LEAST
            rows, side = joint.rows[changed], joint.side[self._columns]
            bones = int(number[joint.bone]), int(number[joint.parent])
            weights[rows] = move_weights(weights[rows], side, *bones, gains[changed], is_free)
        return weights

    def write(self) -> None:
        """Have the mesh hold the weights that the lines tell now."""
        self._now = self.compute()
        changed = (self._now != self._before).any(axis=1)[self._of_copies]
        wanted = np.where(changed[:, None], self._now[self._of_copies], self._first)
        self._store(wanted)

    def _store(self, wanted: np.ndarray) -> None:
        """Write what differs from what was written last: shape of the copies by the columns in use."""
        is_touched = False
        for place, column in enumerate(self._columns):
            rows = np.flatnonzero(wanted[:, place] != self._written[:, place])
            if not rows.size:
                continue
            is_touched = True
            name = self.names[column]
            group = self.obj.vertex_groups.get(name) or self.obj.vertex_groups.new(name=name)
            first = self._weights[self._copies[rows], column]
            values = wanted[rows, place]
            held = (values > 0) | (first == 0.0)  # members with weight 0 stay members
            for vertex, value in zip(self._copies[rows[held]].tolist(), values[held].tolist(), strict=True):
                group.add((vertex,), value, "REPLACE")
            if not held.all():
                group.remove(self._copies[rows[~held]].tolist())
        self._written = wanted
        if is_touched:
            mesh_of(self.obj).update_tag()

    def restore(self) -> None:
        """Give the mesh all its weights back."""
        for joint in self.joints:
            joint.offsets[:], joint.widths[:] = 0.0, 1.0
        self.write()
        for name in self._missing:
            if (group := self.obj.vertex_groups.get(name)) is not None:
                self.obj.vertex_groups.remove(group)

    def read_groups(self) -> VertexGroups:
        """All weights of bones as they were written last, in no order."""
        if self._others is None:
            weights = np.nan_to_num(self._weights)
            weights[np.ix_(self._copies, self._columns)] = 0.0
            vertices, columns = np.nonzero(weights)
            self._others = vertices, columns, weights[vertices, columns]
        rows, places = np.nonzero(self._written)
        own = self._copies[rows], self._columns[places], self._written[rows, places]
        vertices, columns = (np.concatenate([self._others[part], own[part]]).astype(np.intp) for part in (0, 1))
        values = np.concatenate([self._others[2], own[2]])
        numbers = np.array([self.obj.vertex_groups.find(name) for name in self.names], np.intp)
        return VertexGroups(vertices, numbers[columns], values.astype(np.float64))

    @property
    def changed_count(self) -> int:
        """How many vertices have other weights than at first."""
        return int((self._now != self._before).any(axis=1)[self._of_copies].sum())

    def read_shares(self, joint: Joint) -> np.ndarray:
        """Shares on the child's side as they are now, of the vertices of the joint's field."""
        weights = self._now[joint.rows].astype(np.float64)
        total = weights.sum(axis=1)
        return weights[:, joint.side[self._columns]].sum(axis=1) / np.where(total > 0, total, 1.0)

    def trace(self, joint: Joint, level: float) -> tuple[np.ndarray, np.ndarray]:
        """A line as it runs now: vertices, shape (S, 2, 2), whose places are mixed by shares, shape (S, 2)."""
        segments = trace_segments(self.read_shares(joint), joint.field.triangles, level)
        return joint.field.vertices[segments.edges], segments.shares

    def locate(self, joint: Joint, level: float) -> Spots:
        """Where the handles are now on one of a joint's lines, by vertices of the mesh."""
        found = locate_handles(joint.field, self.read_shares(joint), level, joint.offsets)
        return Spots(joint.field.vertices[found.vertices], found.weights)


def _find_parents(skeleton: Skeleton) -> np.ndarray:
    """For each deforming bone the one that it is joined to, -1 for none, int array, shape (B,)."""
    counts = skeleton.joint_counts
    bones = np.append(np.repeat(np.arange(len(counts)), counts), -1)
    return bones[skeleton.joints.parents[skeleton.first_joints]]


def _check(obj: bpy.types.Object, bones: Sequence[str]) -> None:
    if obj.data.is_editmode:
        raise SkinningError(f"'{obj.name}' is in Edit Mode: leave it first")
    data = obj.data
    if obj.library is not None or data.library is not None or data.override_library is not None:
        raise SkinningError(f"'{obj.name}' is linked from another file: make it local first")
    if not bones:
        raise SkinningError("No bone is chosen: select bones in Pose Mode, or a vertex group of a bone")


def read_lines(
    obj: bpy.types.Object, armature: bpy.types.Object | None = None, bones: Sequence[str] = ()
) -> WeightLines:
    """The lines at which weight passes to bones from their parents.

    Parameters
    ----------
    obj : Object
        A mesh with an Armature modifier.
    armature : Object, optional
        That of the modifier if not given.
    bones : sequence of str
        Bones that weight passes to.

    Raises
    ------
    SkinningError
        Where there is none.
    """
    armature = armature or find_armature_modifier(obj).object
    if armature is None or armature.type != "ARMATURE":
        raise SkinningError(f"The Armature modifier of '{obj.name}' has no armature: choose one in it")
    return WeightLines(obj, armature, bones)


Moves = Mapping[tuple[str, int], tuple[Sequence[float], Sequence[float]]]
"""For bones, and the numbers of their lines: offsets of the handles, object units, and factors of their falloff."""


def set_moves(lines: WeightLines, moves: Moves, offset: float = 0.0, width: float = 1.0) -> None:
    """Move handles; `lines.write` shows it.

    Parameters
    ----------
    lines : WeightLines
    moves : Moves
    offset, width : float
        What all handles of the lines that are moved have besides; those of all lines where there are no moves.

    Raises
    ------
    SkinningError
        Where there is no such line.
    """
    for (bone, line), (offsets, widths) in moves.items():
        joint = lines.find_joint(bone)
        if not 0 <= line < joint.field.line_count:
            raise SkinningError(f"'{bone}' has {joint.field.line_count} lines, and no number {line}: count from 0")
        joint.offsets[line], joint.widths[line] = offsets, widths
    for joint in lines.joints:
        for line in range(joint.field.line_count):
            if not moves or (lines.names[joint.bone], line) in moves:
                joint.offsets[line] += offset
                joint.widths[line] *= width


def move_line(
    obj: bpy.types.Object,
    bone: str,
    offsets: float | Sequence[float] = 0.0,
    widths: float | Sequence[float] = 1.0,
    line: int | None = None,
) -> int:
    """Move the line at which weight passes to a bone from its parent.

    Parameters
    ----------
    obj : Object
    bone : str
    offsets : float, or sequence of HANDLES floats
        How far along the limb, object units; towards the bone's own end if positive.
    widths : float, or sequence of HANDLES floats
        Factor of the falloff.
    line : int, optional
        Which one where the bone has several, the longest first; all if not given.

    Returns
    -------
    int
        How many vertices have other weights now.

    Raises
    ------
    SkinningError
        Where there is no such line; nothing is changed then.
    """
    lines = read_lines(obj, bones=[bone])
    count = lines.find_joint(bone).field.line_count
    try:
        given = tuple(np.broadcast_to(np.asarray(one, float), HANDLES).tolist() for one in (offsets, widths))
    except ValueError:
        raise SkinningError(f"A line has {HANDLES} handles: give one number for all, or {HANDLES}") from None
    set_moves(lines, {(bone, number): (given[0], given[1]) for number in (range(count) if line is None else [line])})
    lines.write()
    return lines.changed_count


def read_posed_points(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> np.ndarray:
    """Where the mesh's own vertices are as shown, float32, shape (V, 3), object space.

    Subdividing and mirroring keep the mesh's own vertices, and keep them first.

    Raises
    ------
    SkinningError
        Where modifiers leave fewer vertices than there were.
    """
    points, count = read_evaluated_points(obj, depsgraph), len(mesh_of(obj).vertices)
    if len(points) == count:
        return points
    points = read_posed_skin(obj, depsgraph).points
    if len(points) < count:
        raise SkinningError(
            f"A modifier of '{obj.name}' makes a new mesh, on which no line can be drawn: switch it off meanwhile"
        )
    return points[:count].astype(np.float32)
