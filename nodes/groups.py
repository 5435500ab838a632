"""Supple's node groups in the file: found by their purpose, built if they are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import bpy

from .graph import GROUP_NODES
from .layers import (
    ANCHOR,
    CORNERS,
    HEIGHT,
    NEIGHBORS,
    ROW,
    WEIGHTS,
    build_find,
    build_layer_joints,
    build_out_of_limbs,
    build_push,
    build_tuck,
)
from .pose import build_pose

# Begins the names of the custom properties of Supple's groups
OWN = "supple_"
VERSION_KEY = "supple_version"
VERSION = 6
# What a group is for: groups of one part and version are alike
PART_KEY = "supple_part"
# What `_describe_form` says of a group as it was built
FORM_KEY = "supple_form"

# By their parts, within `ensuring_groups_once`
_ensured: dict[str, Any] | None = None


# First word of the part of a group by which an earlier version deforms a mesh
DEFORMATION = "deformation"

# First word of the part of a group that keeps layers outside of each other
LAYERS = "layers"


def is_former_group(group: Any) -> bool:
    """Whether a modifier's group, or None, is one by which an earlier version deforms a mesh."""
    return group is not None and str(group.get(PART_KEY, "")).startswith(DEFORMATION)


@contextmanager
def ensuring_groups_once() -> Iterator[None]:
    """Look at each of Supple's groups no more than once meanwhile: none may be changed or removed."""
    global _ensured
    before, _ensured = _ensured, {} if _ensured is None else _ensured
    try:
        yield
    finally:
        _ensured = before


def ensure_group(part: str, name: str, build: Callable[[str], Any]) -> Any:
    """The group for a part, built under a name if the file has none of this version, or one that the user changed."""
    if _ensured is None:
        return _find_or_build(part, name, build)
    if part not in _ensured:
        _ensured[part] = _find_or_build(part, name, build)
    return _ensured[part]


def _find_or_build(part: str, name: str, build: Callable[[str], Any]) -> Any:
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
    group[VERSION_KEY], group[PART_KEY], group[FORM_KEY] = *keys, _describe_form(group)
    for broken in found:
        broken.user_remap(group)
        leave_group(broken)
    return group


def leave_group(group: Any) -> None:
    """Have a group of Supple's be none any more, up to `remove_unused_groups`."""
    for key in [key for key in group.keys() if key.startswith(OWN)]:
        del group[key]
    group[VERSION_KEY], group.name = "", ".Supple Left"


def _is_whole(group: Any) -> bool:
    """Whether a group has its inputs, nodes and links, and so has each group in it."""
    if group.get(FORM_KEY, "") not in ("", _describe_form(group)):  # older files do not say
        return False
    inner = [node.node_tree for node in group.nodes if node.bl_idname in GROUP_NODES.values()]
    return all(tree is not None and _is_whole(tree) for tree in inner)


def _describe_form(group: Any) -> str:
    """A group's inputs and outputs, and how many nodes and links it has."""
    sockets = [f"{item.in_out} {item.name}" for item in group.interface.items_tree if item.item_type == "SOCKET"]
    return "\n".join([f"{len(group.nodes)} nodes, {len(group.links)} links", *sockets])


def is_layer_group(group: Any) -> bool:
    """Whether a modifier's group, or None, keeps a mesh outside of another."""
    return group is not None and str(group.get(PART_KEY, "")).startswith(LAYERS)


def ensure_tuck(number: int, has_parts: bool) -> Any:
    """The group by which a mesh, which may have stiff parts, gives way beneath the layer of a number."""
    kind = "stiff " if has_parts else ""
    build = partial(build_tuck, number=number, has_parts=has_parts)
    return ensure_group(f"{LAYERS} tuck {kind}{number}", f"Supple Tuck {kind.title()}{number}", build)


def read_tuck_number(group: Any) -> int:
    """The number of the layer that a group of `ensure_tuck` gives way beneath."""
    return int(str(group[PART_KEY]).split()[-1])


def list_layer_attributes(group: Any) -> set[str]:
    """Names of the attributes of its mesh that a group of `ensure_tuck` or `ensure_out_of_limbs` reads."""
    words = str(group[PART_KEY]).split()
    optional = {"stiff": ANCHOR, "shared": ROW}
    found = {NEIGHBORS} | {name for word, name in optional.items() if word in words}
    if "tuck" in words:
        found |= {f"{start}{read_tuck_number(group)}" for start in (CORNERS, WEIGHTS, HEIGHT)}
    return found


def ensure_out_of_limbs(has_parts: bool, is_shared: bool = False) -> Any:
    """The group by which a mesh, which may have stiff parts, stays out of limbs; if shared, limbs give way, too."""
    kind = f"{' stiff' * has_parts}{' shared' * is_shared}"
    build = partial(build_push, has_parts=has_parts, is_shared=is_shared)
    push = ensure_group(f"pass{kind}", f"Supple Push{kind.title()}", build)
    shared = " shared" * is_shared
    find = ensure_group(f"near{shared}", f"Supple Near Limbs{shared.title()}", partial(build_find, is_shared=is_shared))
    build = partial(build_out_of_limbs, find=find, push=push)
    return ensure_group(f"{LAYERS} limbs{kind}", f"Supple Out of Limbs{kind.title()}", build)


def ensure_layer_joints(has_segments: bool) -> Any:
    """The group by which a joints object brings its bones' matrices to loose cloth.

    `has_segments`: whether the armature has B-Bones, its own or rolled ones.
    """
    kind = " B-Bones" if has_segments else ""
    pose = ensure_group(f"pose{kind}", f"Supple Pose{kind}", partial(build_pose, has_segments=has_segments))
    build = partial(build_layer_joints, pose=pose)
    return ensure_group(f"joints for layers{kind}", f"Supple Joints for Layers{kind}", build)


def remove_unused_groups() -> None:
    """Remove Supple's groups that nothing uses any more, and then those that only these used."""
    while unused := [group for group in bpy.data.node_groups if VERSION_KEY in group and not group.users]:
        for group in unused:
            bpy.data.node_groups.remove(group)
