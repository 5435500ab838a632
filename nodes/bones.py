"""Bones as points: one node group for each skeleton that reads its pose, the joints' rest and their parents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..deformers.rig.skeleton import Chains
from .graph import Graph, Value

MATRIX, PARENT = "matrix", "parent"
"""Attributes of the points: rest to pose in armature space; index of the joint's parent, -1 for a root."""


def build_bones(name: str, bones: Sequence[str], parents: np.ndarray) -> Any:
    """The group that turns an armature into one point for each joint.

    Parameters
    ----------
    name : str
        Of the new group.
    bones : sequence of str, length B
        Deforming bones, in the order of the joints.
    parents : int array, shape (B,)
        Joint that each is joined to, -1 for a root.
    """
    graph = Graph(name)
    armature = graph.input("Armature", "OBJECT")
    with graph.frame("Bones: pose and rest"):
        poses, rests = [], []
        for bone in bones:
            read = graph.outputs("GeometryNodeBoneInfo", armature, bone, label=bone)
            matrices = {value.socket.name: value for value in read}
            poses.append(matrices["Pose"])
            rests.append(matrices["Rest Pose"])
    with graph.frame("One point for each joint"):
        index = graph.add("GeometryNodeInputIndex")
        pose = _choose(graph, index, "MATRIX", poses)
        parent = _choose(graph, index, "INT", [int(joint) for joint in parents])
        rest = _choose(graph, index, "MATRIX", rests)
        joints = graph.store(
            graph.add("GeometryNodePoints", len(bones)), **{MATRIX: pose @ rest.inverted(), PARENT: parent}
        )
    with graph.frame("Only for joints that stretch"):
        center, *_ = graph.outputs("FunctionNodeSeparateTransform", rest)
        levels = graph.add("FunctionNodeInputInt", integer=Chains(parents).level_count, label="Levels of the hierarchy")
    graph.output("Joints", joints)
    graph.output("Center", center)
    graph.output("Levels", levels)
    return graph.finish()


def _choose(graph: Graph, index: Value, data_type: str, choices: Sequence[Any]) -> Value:
    """One of the choices, by the index of a point."""
    node = graph.new_node("GeometryNodeIndexSwitch", data_type=data_type)
    node.index_switch_items.clear()
    for _ in choices:
        node.index_switch_items.new()
    for socket, value in zip(node.inputs, (index, *choices), strict=False):
        graph.put(socket, value)
    return Value(graph, node.outputs[0])
