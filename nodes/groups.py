"""Supple's node groups in the file: found by what they are for, built where they are missing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import bpy
import numpy as np

from ..deformers import METHODS
from .bones import build_bones
from .graph import GROUP_NODES, Graph
from .joints import Split, build_joints, build_negation, build_polar, build_split
from .methods import NODE_METHODS
from .probes import build_probe_joints
from .skin import INPUTS, build_skin

VERSION_KEY = "supple_version"
VERSION = 2
PART_KEY = "supple_part"
"""What a group is for: groups of one part and version are alike."""


DEFORMATION = "deformation"
"""First word of the part of a group that deforms a mesh by itself."""


def is_deformation(group: Any) -> bool:
    """Whether a modifier's group, or None, deforms a mesh by itself."""
    return group is not None and str(group.get(PART_KEY, "")).startswith(DEFORMATION)


def ensure_group(part: str, name: str, build: Callable[[str], Any]) -> Any:
    """The group for a part, built under a name if the file has none of this version, or one that lost a group in it."""
    keys = (VERSION, part)
    found = [
        tree
        for tree in bpy.data.node_groups
        if tree.library is None and (tree.get(VERSION_KEY), tree.get(PART_KEY)) == keys
    ]
    for group in found:
        if _is_whole(group):
            return group
    group = build(name)
    group[VERSION_KEY], group[PART_KEY] = keys
    for broken in found:
        broken.user_remap(group)
        bpy.data.node_groups.remove(broken)
    return group


def _is_whole(group: Any) -> bool:
    """Whether no group in a group was removed."""
    inner = [node.node_tree for node in group.nodes if node.bl_idname in GROUP_NODES.values()]
    return all(tree is not None and _is_whole(tree) for tree in inner)


def ensure_probe_deformation(method: str, params: Any) -> Any:
    """The group that deforms a mesh by a probe's joints: one for each method and each choice in its `Params`."""
    label = METHODS[method].name_variant(params)
    return ensure_group(
        f"{DEFORMATION} {label} by probe",
        f"Supple {label} by Probe",
        partial(_build_deformation, joints_group=_ensure_probe_joints, method=method, params=params),
    )


def ensure_deformation(rig: str, bones: Sequence[str], parents: np.ndarray, method: str, params: Any) -> Any:
    """The group that a node modifier deforms a mesh by, one for each skeleton, method and choice in its `Params`.

    Parameters
    ----------
    rig : str
        What to name a new group after.
    bones : sequence of str, length B
        Deforming bones, in the order of the joints.
    parents : int array, shape (B,)
        Joint that each is joined to, -1 for a root.
    method : str
        Key of `NODE_METHODS`.
    params : Params
        The method's.
    """
    label, skeleton = METHODS[method].name_variant(params), fingerprint(bones, parents)
    build_joints_group = partial(build_bones, bones=bones, parents=parents)
    joints_group = partial(ensure_group, f"bones {skeleton}", f"Supple Bones {rig}", build_joints_group)
    build = partial(_build_deformation, joints_group=joints_group, method=method, params=params)
    return ensure_group(f"{DEFORMATION} {label} {skeleton}", f"Supple {label} {rig}", build)


def _ensure_probe_joints() -> Any:
    return ensure_group("probe", "Supple Probe", build_probe_joints)


def fingerprint(bones: Sequence[str], parents: np.ndarray) -> str:
    """Short text that differs for other bones or another hierarchy."""
    source = "\n".join((*bones, *(str(parent) for parent in parents)))
    return hashlib.sha256(source.encode(errors="surrogateescape")).hexdigest()[:16]


def remove_unused_groups() -> None:
    """Remove Supple's groups that nothing uses any more, and then those that only these used."""
    while unused := [group for group in bpy.data.node_groups if VERSION_KEY in group and not group.users]:
        for group in unused:
            bpy.data.node_groups.remove(group)


def _build_deformation(name: str, *, joints_group: Callable[[], Any], method: str, params: Any) -> Any:
    label, steps = METHODS[method].name_variant(params), NODE_METHODS[method](params)
    source = joints_group()
    build = partial(build_skin, make_moves=steps.make_moves, mixes_linear=steps.split is not None)
    skin_group = ensure_group(f"skin {label}", f"Supple Skin {label}", build)

    graph = Graph(name)
    graph.tree.is_modifier = True
    geometry = graph.input("Geometry", "GEOMETRY")
    inputs = {name.replace(" ", "_"): graph.input(name, *rest) for name, *rest in INPUTS}
    sockets = {item.name: item for item in source.interface.items_tree if item.in_out == "INPUT"}
    read = {name: inputs.get(name) or graph.input(name, "OBJECT", item.description) for name, item in sockets.items()}
    with graph.frame("Where the bones are"):
        joints = graph.call(source, **read)
    if steps.split is not None:
        joint_group = _ensure_joints(label, steps.split)
        with graph.frame("What each joint does: stretch and turn"):
            joints = graph.call(joint_group, **joints)
    with graph.frame("How the skin follows"):
        skin = graph.call(
            skin_group, Geometry=geometry, Joints=joints["Joints"], Is_Stretched=joints.get("Is Stretched", False),
            **inputs,
        )  # fmt: skip
    graph.output("Geometry", skin["Geometry"])
    return graph.finish()


def _ensure_joints(label: str, steps: Split) -> Any:
    polar = ensure_group("polar", "Supple Polar", build_polar)
    build = partial(build_split, polar=polar, split=steps)
    split = ensure_group(f"split {label}", f"Supple Split {label}", build)
    negation = ensure_group("negation", "Supple Signs", build_negation)
    return ensure_group(
        f"joints {label}", f"Supple Joints {label}", partial(build_joints, split=split, negation=negation)
    )
