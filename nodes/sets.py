"""Sets of joints that vertices follow, as nodes: what a vertex needs of four joints is packed for it into few matrices.

Most vertices follow one of some hundred sets of up to four joints. What is to be blended are vectors c of the joints:
columns of their matrices, parts of their dual quaternions. With weights that sum to 1, the sum of w_i c_i over joints 0
to 3 is c_3 + w_0 (c_0 - c_3) + w_1 (c_1 - c_3) + w_2 (c_2 - c_3): the matrix with these three differences for columns
and c_3 for translation takes the point (w_0, w_1, w_2) there. So a vertex blends four joints by one sample and one
Transform Point for each vector.

Sets are edges of the joints' mesh: edges hold attributes, and are in nobody's way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..deformers.rig.influences import SET_SIZE
from .graph import Graph, Value

JOINTS = tuple(f"joint_{slot}" for slot in range(SET_SIZE))
"""Attributes of a set: indices of its joints."""

DUAL_QUATERNION, TURN, STRETCH, MATRIX = "dual_quaternion", "turn", "stretch", "matrix"
"""What is packed, as attributes of the sets with a number: `stretch_0` packs the first columns of stretches."""

IS_STRETCHED, HAS_MATRICES, IS_TWISTED = "is_stretched", "has_matrices", "is_twisted"
"""Whether the sets hold STRETCH and MATRIX, and whether centers may go back; else there is no such attribute."""

COLUMNS = ((0, 1, 2), (4, 5, 6), (8, 9, 10), (12, 13, 14))
"""Entries of an affine matrix that are blended as vectors: its columns."""

DUAL_QUATERNION_VECTORS = ((0, 1, 2), (4, 5, 6), (3, 7, None))
"""The same of dual quaternions: both vectors, and both scalars."""

TURN_VECTORS = ((0, 1, 2), (3, 4, 5))
"""The same of turns: the quaternion's vector; its scalar, and half the twist as a direction."""


def build_packing(name: str, vectors: Sequence[Sequence[int | None]]) -> Any:
    """The group that packs, for each set, vectors of its joints' matrices as the columns of one matrix each.

    Parameters
    ----------
    name : str
        Of the new group.
    vectors : sequence of sequences of 3 int or None
        Entries of the matrices that make a vector; None for a zero.
    """
    graph = Graph(name)
    joints, matrix = graph.input("Joints", "GEOMETRY"), graph.input("Matrix", "MATRIX")
    with graph.frame("The set's joints"):
        members = [graph.sample(joints, matrix, graph.attribute(slot, "INT")).components() for slot in JOINTS]
    with graph.frame("Their vectors side by side, then the differences from the last"):
        differences = graph.add(
            "FunctionNodeCombineMatrix",
            *(1.0, 0.0, 0.0, -1.0), *(0.0, 1.0, 0.0, -1.0), *(0.0, 0.0, 1.0, -1.0), *(0.0, 0.0, 0.0, 1.0),
        )  # fmt: skip
        for number, entries in enumerate(vectors):
            rows: list[Any] = []
            for slot, member in enumerate(members):
                rows += [0.0 if entry is None else member[entry] for entry in entries]
                rows.append(float(slot == SET_SIZE - 1))
            graph.output(f"Packed {number}", graph.add("FunctionNodeCombineMatrix", *rows) @ differences)
    return graph.finish()


def build_sets(name: str, pack_matrices: Any, pack_quaternions: Any | None, has_turns: bool = False) -> Any:
    """The group that stores with each set what the skin blends.

    Parameters
    ----------
    name : str
        Of the new group.
    pack_matrices : node group
        From `build_packing`, by COLUMNS.
    pack_quaternions : node group or None
        The same by DUAL_QUATERNION_VECTORS. None for a method that blends the transforms as they are: others blend
        dual quaternions and stretches, and transforms only where the input Linear Blending asks for them.
    has_turns : bool
        Whether it is by TURN_VECTORS, for a method that rotates about centers: that blends transforms, too.
    """
    graph = Graph(name)
    geometry, joints = graph.input("Geometry", "GEOMETRY"), graph.input("Joints", "GEOMETRY")
    columns = [graph.input(column, "VECTOR") for column in ("X", "Y", "Z", "Origin")]
    matrix = graph.matrix(*columns)

    def pack(geometry: Value, group: Any, name: str, matrix: Value) -> Value:
        packed = graph.call(group, Joints=joints, Matrix=matrix)
        named = {f"{name}_{number}": value for number, value in enumerate(packed.values())}
        geometry, held = graph.capture(geometry, "EDGE", **named)
        return graph.store(geometry, "EDGE", **held)

    if pack_quaternions is None:
        with graph.frame("Transforms"):
            graph.output("Geometry", pack(geometry, pack_matrices, MATRIX, matrix))
        return graph.finish()
    is_linear = graph.input("Linear Blending", "BOOLEAN", "Whether a mesh mixes in linear blending")
    both, is_stretched = graph.input("Dual Quaternion", "MATRIX"), graph.input("Is Stretched", "BOOLEAN")
    stretch, is_twisted = graph.input("Stretch", "MATRIX"), graph.input("Is Twisted", "BOOLEAN")
    with graph.frame("Quaternions"):
        packed = pack(geometry, pack_quaternions, TURN if has_turns else DUAL_QUATERNION, both)
        if has_turns:
            twisted = graph.store(packed, "EDGE", **{IS_TWISTED: graph.truth()})
            packed = graph.switch(is_twisted, packed, twisted)
    with graph.frame("Stretches"):
        stretched = pack(packed, pack_matrices, STRETCH, stretch)
        stretched = graph.store(stretched, "EDGE", **{IS_STRETCHED: graph.truth()})
        packed = graph.switch(is_stretched, packed, stretched)
    with graph.frame("Transforms, where a mesh mixes in linear blending"):
        mixing = pack(packed, pack_matrices, MATRIX, matrix)
        mixing = graph.store(mixing, "EDGE", **{HAS_MATRICES: graph.truth()})
        graph.output("Geometry", mixing if has_turns else graph.switch(is_linear, packed, mixing))
    return graph.finish()
