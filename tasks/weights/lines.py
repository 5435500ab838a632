"""Weight lines of a mesh object: read, moved together with the weights, and given back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import bpy
import numpy as np

from ...bridge.meshes.data import VertexGroups, mesh_of, read_evaluated_points, read_triangles
from ...bridge.meshes.rays import read_posed_skin
from ...bridge.meshes.weights import read_weights
from ...bridge.rigs.armatures import Skeleton, read_skeleton
from ...deformers import SkinningError
from ...deformers.geometry.iso_lines import LinePoints, Segments
from ...deformers.rig.rest import check_space
from ...deformers.weight_editing.line_fields import LineProblem, MissingLineError
from ...deformers.weight_editing.line_moves import HandleMoves
from ...deformers.weight_editing.lines import JointLines, RiggedMesh, find_joint_lines, start_edit
from ..subject.character import object_to_armature
from ..subject.stack import find_deforming_modifier
from .group_writer import GroupWriter
from .parts import read_finite_points

# Messages for bones without a line
MESSAGES = {
    LineProblem.NOT_DEFORMING: "'{bone}' is not a deforming bone: select another, or turn on Deform in its properties",
    LineProblem.NO_PARENT: "'{bone}' has no deforming parent to exchange weight with: select a bone below it",
    LineProblem.LOCKED: "The line of '{bone}' cannot move: unlock its vertex group",
    LineProblem.PARENT_LOCKED: "The line of '{bone}' cannot move: unlock the vertex group of its parent '{parent}'",
    LineProblem.NO_WEIGHT: "'{bone}' and the bones below it have no weight on '{mesh}': give them some weight first",
    LineProblem.ALL_WEIGHT: (
        "'{bone}' and the bones below it have all the weight of '{mesh}': give some weight to its parent "
        "'{parent}' first"
    ),
    LineProblem.NO_CROSSING: (
        "'{bone}' and its parent '{parent}' have weight on separate parts of '{mesh}': select a bone with weights "
        "next to its parent's"
    ),
}


class WeightLines:
    """The weight lines of some bones on a mesh object, while they are being moved.

    Raises SkinningError if no bone has a line on this mesh.

    Parameters
    ----------
    bones : sequence of str
        Deforming bones that have a deforming parent.

    Attributes
    ----------
    names : tuple of str
        The deforming bones, B of them.
    points : float64 array, shape (V, 3)
        At rest, object space.
    joints : tuple of JointLines
        From the root to the tips of the skeleton.
    moves : dict of int to HandleMoves
        By the bone of a joint. Set it, then `write`.
    problems : dict of str to str
        Messages for the bones that have no line.
    """

    def __init__(self, obj: bpy.types.Object, armature: bpy.types.Object, bones: Sequence[str]) -> None:
        _check_editable(obj)
        if not bones:
            raise SkinningError("No bone is selected: select bones in Pose Mode, or the vertex group of a bone")
        self.obj, self.armature = obj, armature
        skeleton = read_skeleton(armature)
        self.names = skeleton.names
        members = read_weights(obj, self.names, absent=np.nan)
        mesh = _read_mesh(obj, armature, skeleton, np.nan_to_num(members))
        self.points = mesh.points
        self.problems: dict[str, str] = {}
        joints = [joint for name in dict.fromkeys(bones) if (joint := self._find_lines(mesh, name)) is not None]
        if not joints:
            raise SkinningError(f"No line to move on '{obj.name}': {'; '.join(self.problems.values())}")
        self._edit = start_edit(mesh, joints)
        self.joints = self._edit.joints
        self.moves = {joint.bone: HandleMoves.none(joint.field.line_count) for joint in self.joints}
        self._weights = self._edit.weights
        self._writer = GroupWriter(obj, self.names, members, self._edit.copies, self._edit.columns)

    def _find_lines(self, mesh: RiggedMesh, name: str) -> JointLines | None:
        """The lines of a bone, or None and an entry of `problems`."""
        bone = self.names.index(name) if name in self.names else -1
        try:
            return find_joint_lines(mesh, bone)
        except MissingLineError as error:
            parent = self.names[mesh.parents[bone]] if bone >= 0 else ""
            self.problems[name] = MESSAGES[error.problem].format(bone=name, parent=parent, mesh=self.obj.name)
            return None

    def find_joint(self, bone: str) -> JointLines:
        """The joint of a bone; raises SkinningError if it has no line here."""
        for joint in self.joints:
            if self.names[joint.bone] == bone:
                return joint
        raise SkinningError(
            self.problems.get(bone, f"'{bone}' has no line here: select it together with the other bones")
        )

    @property
    def is_moved(self) -> bool:
        return any(moves.is_moved for moves in self.moves.values())

    @property
    def changed_count(self) -> int:
        """How many vertices have other weights than at first."""
        return int(self._edit.find_changed(self._weights).sum())

    def write(self) -> None:
        """Write the weights that follow `moves` to the mesh."""
        self._weights = self._edit.compute(self.moves)
        changed = self._edit.find_changed(self._weights)
        self._writer.write(np.where(changed[:, None], self._weights[self._edit.copy_rows], self._writer.first))

    def restore(self) -> None:
        """Give the mesh all its weights back."""
        self.moves = {joint.bone: HandleMoves.none(joint.field.line_count) for joint in self.joints}
        self.write()
        self._writer.remove_new_groups()

    def read_groups(self) -> VertexGroups:
        """All weights of bones as they were written last, in any order."""
        return self._writer.read_written()

    def find_shares(self, joint: JointLines) -> np.ndarray:
        """Shares on the child's side as they were written last, of the vertices of the joint's field."""
        return self._edit.find_shares(joint, self._weights)

    def trace(self, joint: JointLines, level: float) -> Segments:
        """Trace a joint's lines as they were written last: segments with vertices of the mesh."""
        return self._edit.trace(joint, self._weights, level)

    def locate(self, joint: JointLines, level: float) -> LinePoints:
        """Find the handles of a joint's lines as they were written last, by vertices of the mesh."""
        return self._edit.locate(joint, self._weights, level, self.moves[joint.bone])


def _check_editable(obj: bpy.types.Object) -> None:
    if obj.data.is_editmode:
        raise SkinningError(f"'{obj.name}' is in Edit Mode: leave it first")
    data = obj.data
    if obj.library is not None or data.library is not None or data.override_library is not None:
        raise SkinningError(f"'{obj.name}' is linked from another file: make it local first")


def _read_mesh(
    obj: bpy.types.Object, armature: bpy.types.Object, skeleton: Skeleton, weights: np.ndarray
) -> RiggedMesh:
    points = read_finite_points(obj)
    to_armature = object_to_armature(obj, armature)
    check_space(np.array(to_armature))
    to_object = np.array(to_armature.inverted_safe(), np.float64)[:3, :3]
    envelopes, groups = skeleton.envelopes, obj.vertex_groups
    return RiggedMesh(
        points=points,
        triangles=read_triangles(mesh_of(obj)),
        weights=weights,
        parents=_find_parents(skeleton),
        lengths=np.linalg.norm((envelopes.tails - envelopes.heads) @ to_object.T, axis=1),
        is_free=np.array([name not in groups or not groups[name].lock_weight for name in skeleton.names]),
    )


def _find_parents(skeleton: Skeleton) -> np.ndarray:
    """For each deforming bone the bone that it is joined to, -1 for none: int array, shape (B,)."""
    counts = skeleton.joint_counts
    bones = np.append(np.repeat(np.arange(len(counts)), counts), -1)
    return bones[skeleton.joints.parents[skeleton.first_joints]]


def read_lines(
    obj: bpy.types.Object, armature: bpy.types.Object | None = None, bones: Sequence[str] = ()
) -> WeightLines:
    """Read the lines at which weight passes to bones from their parents.

    Raises SkinningError if there is no armature or no line.

    Parameters
    ----------
    obj : Object
        A mesh with an Armature modifier.
    armature : Object, optional
        The armature of the modifier if not given.
    bones : sequence of str
        Bones that weight passes to.
    """
    armature = armature or find_deforming_modifier(obj).object
    if armature is None or armature.type != "ARMATURE":
        raise SkinningError(f"The Armature modifier of '{obj.name}' has no armature: choose one in it")
    return WeightLines(obj, armature, bones)


def read_first_lines(
    objects: Sequence[bpy.types.Object], armature: bpy.types.Object, bones: Sequence[str]
) -> WeightLines:
    """Read the lines of bones on the first mesh that has any; raises SkinningError if none has."""
    problem = SkinningError("Select a mesh that has an Armature modifier, or its armature")
    for index, obj in enumerate(objects):
        try:
            return read_lines(obj, armature, bones)
        except SkinningError as error:
            problem = error if index == 0 else problem
    raise problem


# By bone and index of its line: offsets of the handles, object units, and factors of their falloff
Moves = Mapping[tuple[str, int], tuple[Sequence[float] | np.ndarray, Sequence[float] | np.ndarray]]


def set_moves(lines: WeightLines, moves: Moves, offset: float = 0.0, width: float = 1.0) -> None:
    """Move handles; `lines.write` then writes the weights.

    Raises SkinningError if there is no such line.

    Parameters
    ----------
    offset, width : float
        Added to the offsets, and multiplied with the widths, of all handles of the lines in `moves`; of all lines where
        `moves` is empty.
    """
    for (bone, line), (offsets, widths) in moves.items():
        joint = lines.find_joint(bone)
        if not 0 <= line < joint.field.line_count:
            raise SkinningError(f"'{bone}' has {joint.field.line_count} rows, and no row {line}: count from 0")
        lines.moves[joint.bone] = lines.moves[joint.bone].set_line(line, offsets, widths)
    for joint in lines.joints:
        for line in range(joint.field.line_count):
            if not moves or (lines.names[joint.bone], line) in moves:
                now = lines.moves[joint.bone]
                lines.moves[joint.bone] = now.set_line(line, now.offsets[line] + offset, now.widths[line] * width)


def list_moves(lines: WeightLines) -> list[tuple[str, int, list[float], list[float]]]:
    """The bone, the index, the offsets and the widths of each line that is moved, as plain numbers."""
    return [
        (lines.names[bone], line, moves.offsets[line].tolist(), moves.widths[line].tolist())
        for bone, moves in lines.moves.items()
        for line in moves.moved_lines
    ]


def describe_result(lines: WeightLines) -> str:
    """Describe the result."""
    bones = ", ".join(lines.names[joint.bone] for joint in lines.joints if lines.moves[joint.bone].is_moved)
    return f"Moved the line of {bones}: changed the weights of {lines.changed_count} vertices of '{lines.obj.name}'"


def read_posed_points(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> np.ndarray:
    """Positions of the mesh's own vertices as posed, float32, shape (V, 3), object space.

    Subdividing and mirroring keep the mesh's own vertices, and keep them first. Raises SkinningError if modifiers leave
    fewer vertices than there were.
    """
    points, count = read_evaluated_points(obj, depsgraph), len(mesh_of(obj).vertices)
    if len(points) == count:
        return points
    points = read_posed_skin(obj, depsgraph).points
    if len(points) < count:
        raise SkinningError(
            f"A modifier of '{obj.name}' makes a new mesh, on which lines cannot be drawn: hide it in the viewport"
        )
    return points[:count].astype(np.float32)
