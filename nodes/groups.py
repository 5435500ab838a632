"""Supple's node groups in the file: found by what they are for, built where they are missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

import bpy

from ..deformers import METHODS
from .fractions import COLUMNS as JOINT_COLUMNS
from .fractions import build_fractions, build_stretches, name_hint
from .graph import GROUP_NODES, HIDDEN, Graph
from .joints import Split, build_exact_joints, build_joints, build_negation, build_split
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
from .limits import build_joint_limits, build_limits
from .methods import NODE_METHODS, NodeMethod
from .polar import (
    build_choice,
    build_continuation,
    build_mirror,
    build_newton,
    build_polar,
    build_svd,
    build_turn,
)
from .pose import build_pose
from .sets import COLUMNS, DUAL_QUATERNION_VECTORS, TURN_VECTORS, build_packing, build_sets
from .skin import build_linear_blending, build_skin
from .spread_twists import HINT, build_lines, build_turning
from .turns import build_twists

OWN = "supple_"
"""Begins the names of the custom properties of Supple's groups."""
VERSION_KEY = "supple_version"
VERSION = 6
PART_KEY = "supple_part"
"""What a group is for: groups of one part and version are alike."""
FORM_KEY = "supple_form"
"""What `_describe_form` says of a group as it was built."""

_ensured: dict[str, Any] | None = None
"""By their parts, within `ensuring_groups_once`."""


JOINTS_INPUTS = (
    ("Count", "INT", "Number of joints, with the one that stays at rest"),
    ("Reach", "VALUE", "Distance of a joint's points from its origin"),
    ("Levels", "INT", "Joints in the longest chain"),
    ("Linear Blending", "BOOLEAN", "Whether a mesh mixes in linear blending"),
    ("Joint Limits", "BOOLEAN", "Whether a mesh has bulge limit or contact"),
)
"""Inputs of the modifier of the joints object besides the geometry."""

DEFORMATION = "deformation"
"""First word of the part of a group that deforms a mesh by itself."""

LAYERS = "layers"
"""First word of the part of a group that keeps layers outside of each other."""

NATIVE = " by Blender"
"""Ends the part of one that stands before Armature modifiers, which blend the joints."""


def is_deformation(group: Any) -> bool:
    """Whether a modifier's group, or None, deforms a mesh by itself."""
    return group is not None and str(group.get(PART_KEY, "")).startswith(DEFORMATION)


def is_native_group(group: Any) -> bool:
    """Whether a modifier's group leaves it to Blender's own Armature modifiers, right below it, to blend the joints."""
    return group is not None and str(group.get(PART_KEY, "")).endswith(NATIVE)


def read_method(group: Any) -> str:
    """Key of the method of a group that deforms a mesh by itself."""
    return str(group[PART_KEY]).split()[1]


def is_deformation_by(group: Any, method: str, params: Any) -> bool:
    """Whether a modifier's group, or None, deforms a mesh by itself, by a method with these `Params`."""
    label = METHODS[method].name_variant(params)
    variant = (
        re.sub(
            rf"( \d+ S\w+)?( Limits)?( \d+ Twists(, \d+ at Joints)?( of \d+)?)?({NATIVE})?$", "", str(group[PART_KEY])
        )
        if group
        else ""
    )
    return is_deformation(group) and variant == f"{DEFORMATION} {label}"


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


def hide_groups() -> None:
    """Take Supple's groups out of Blender's menus, Add Modifier above all: older files have them there."""
    for group in bpy.data.node_groups:
        if not group.is_editable or not any(key.startswith(OWN) for key in cast(Any, group).keys()):
            continue
        if group.name.startswith("Supple"):
            group.name = HIDDEN + group.name
        if group.bl_idname == "GeometryNodeTree":
            cast(bpy.types.GeometryNodeTree, group).is_modifier = False


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


def ensure_deformation(method: str, params: Any, set_count: int, is_interpolable: bool, passes: int = 0) -> Any:
    """The group that a node modifier deforms a mesh by, for each method and each choice in its `Params`.

    Parameters
    ----------
    method : str
        Key of `NODE_METHODS`.
    params : Params
        The method's.
    set_count, is_interpolable
        See `Influenced`.
    passes : int
        Of how many spread twists a vertex may take something.
    """
    label, steps = METHODS[method].name_variant(params), NODE_METHODS[method](params)
    kind = f" {set_count} {'Shares' if is_interpolable else 'Sets'}" if set_count else ""
    layout: dict[str, Any] = {"set_count": set_count, "is_interpolable": is_interpolable}
    build = partial(build_linear_blending, **layout)
    layout["linear_blending"] = ensure_group(f"linear blending{kind}", f"Supple Linear Blending{kind}", build)
    if max(params.bulge_limit, params.contact) > 0.0 and not is_interpolable:
        layout["limits"] = ensure_group("limits", "Supple Bulge Limit and Contact", build_limits)
        kind += " Limits"
    if passes:
        layout["passes"] = passes
        kind += f" {passes} Twists"
    build = partial(build_skin, make_moves=steps.make_moves, mixes_linear=steps.split is not None, **layout)
    return ensure_group(f"{DEFORMATION} {label}{kind}", f"Supple {label}{kind}", build)


def ensure_native(method: str, params: Any, passes: int, bent: int, input_count: int) -> Any:
    """The group of a node modifier that stands before Armature modifiers, which blend the joints as the method does.

    Parameters
    ----------
    method : str
        Key of `NODE_METHODS`.
    params : Params
        The method's.
    passes, bent, input_count
        See `build_turning`.
    """
    label = METHODS[method].name_variant(params)
    at_joints = f", {bent} at Joints" if bent < passes else ""
    label += f" {passes} Twists{at_joints} of {input_count}" if passes else ""
    build = partial(build_turning, passes=passes, bent=bent, input_count=input_count)
    return ensure_group(f"{DEFORMATION} {label}{NATIVE}", f"Supple {label}{NATIVE}", build)


def ensure_joints(
    method: str,
    params: Any,
    has_segments: bool,
    hint_count: int = 0,
    has_fractions: bool = False,
    has_spread: bool = False,
) -> Any:
    """The group by which the joints object of an armature brings the pose to a method's skin.

    Parameters
    ----------
    method : str
        Key of `NODE_METHODS`.
    params : Params
        The method's.
    has_segments : bool
        Whether the armature has B-Bones.
    hint_count : int
        How many inputs ask for twists of joints that have fractions, or whose twist is spread; 0 where there are none.
    has_fractions, has_spread : bool
        Whether there are joints that have fractions, and whose twist is spread.
    """
    label, kind = METHODS[method].name_variant(params), " B-Bones" if has_segments else ""
    build = partial(
        _build_joints_modifier,
        label=label, steps=NODE_METHODS[method](params), kind=kind, hint_count=hint_count,
        has_fractions=has_fractions, has_spread=has_spread,
    )  # fmt: skip
    label += f"{kind}{' Fractions' * has_fractions}{' Spread' * has_spread}{f' {hint_count}' if hint_count else ''}"
    return ensure_group(f"joints {label}", f"Supple Joints {label}", build)


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
    build = partial(build_out_of_limbs, find=find, push=push, is_shared=is_shared)
    return ensure_group(f"{LAYERS} limbs{kind}", f"Supple Out of Limbs{kind.title()}", build)


def ensure_layer_joints(has_segments: bool) -> Any:
    """The group by which a joints object brings its bones' matrices to loose cloth.

    Parameters
    ----------
    has_segments : bool
        Whether the armature has B-Bones.
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


def _build_joints_modifier(
    name: str, *, label: str, steps: NodeMethod, kind: str, hint_count: int, has_fractions: bool, has_spread: bool
) -> Any:
    pose = ensure_group(f"pose{kind}", f"Supple Pose{kind}", partial(build_pose, has_segments=bool(kind)))
    limits = ensure_group("joint limits", "Supple Joint Limits", build_joint_limits)
    graph = Graph(name)
    geometry = graph.input("Geometry", "GEOMETRY")
    inputs = {name: graph.input(name, *rest) for name, *rest in JOINTS_INPUTS}
    hints = {name_hint(number): graph.input(name_hint(number), "VALUE") for number in range(1, 1 + hint_count)}
    with graph.frame("Where the bones are"):
        joints = graph.call(pose, Geometry=geometry, Count=inputs["Count"], Reach=inputs["Reach"])
        axis = joints.pop("Axis")
    columns, parent, found = {column: joints[column] for column in JOINT_COLUMNS}, joints["Parent"], {}
    if has_fractions:
        with graph.frame("Where the fractions of joints are"):
            known = {name: joints[name] for name in ("Joints", *JOINT_COLUMNS)}
            group = _ensure_fractions(hint_count, steps.has_turns)
            found = graph.call(group, Geometry=geometry, **known, Levels=inputs["Levels"], **hints)
        joints |= {name: found[name] for name in ("Joints", *JOINT_COLUMNS)}
        columns, parent = {name: found.get(f"Mixed {name}", joints[name]) for name in JOINT_COLUMNS}, found["Parent"]
    packed = {"Joints": joints["Joints"]}
    if steps.split is not None:
        with graph.frame("What each joint does: stretch and turn"):
            told = {"Is_Stretched": found["Is Stretched"]} if found else {}
            motion = _ensure_motion(label, steps.split, bool(told))
            packed = graph.call(motion, **joints, Levels=inputs["Levels"], **told)
            packed["Linear_Blending"] = inputs["Linear Blending"]
            if has_spread:
                hint = graph.choose(graph.attribute(HINT, "INT"), list(hints.values()))
                both = packed["Dual Quaternion"]
                lines = graph.call(
                    ensure_group("lines", "Supple Lines", build_lines), Geometry=geometry, Joints=packed["Joints"],
                    Dual_Quaternion=both, Hint=hint,
                )  # fmt: skip
                geometry = lines["Geometry"]
            if steps.has_turns:
                mixed = {name: found[name] for name in ("Above", "Below", "Share") if name in found}
                twisted = graph.call(
                    _ensure_twists(bool(mixed)), Joints=packed["Joints"], Dual_Quaternion=packed["Dual Quaternion"],
                    Parent=joints["Parent"], Axis=axis, Levels=inputs["Levels"], **mixed,
                )  # fmt: skip
                packed |= {"Joints": twisted["Joints"], "Dual Quaternion": twisted["Turn"]}
                packed["Is Twisted"] = twisted["Is Twisted"]
    with graph.frame("What the skin blends"):
        packed = {name.replace(" ", "_"): value for name, value in packed.items()}
        sets = graph.call(_ensure_sets(steps), Geometry=geometry, **columns, **packed)["Geometry"]
    with graph.frame("Where a mesh has bulge limit or contact"):
        limited = graph.call(limits, Geometry=sets, Joints=joints["Joints"], **columns, Parent=parent)
        graph.output("Geometry", graph.switch(inputs["Joint Limits"], sets, limited["Geometry"]))
    return graph.finish()


def _ensure_fractions(hint_count: int, has_turns: bool) -> Any:
    build = partial(build_stretches, polar=_ensure_polar())
    stretches = ensure_group("stretches", "Supple Stretches", build)
    build = partial(build_fractions, stretches=stretches, hint_count=hint_count, has_turns=has_turns)
    kind = f"{hint_count}{' Turns' if has_turns else ''}"
    return ensure_group(f"fractions {kind}", f"Supple Fractions {kind}", build)


def _ensure_twists(has_fractions: bool) -> Any:
    kind = " Fractions" if has_fractions else ""
    return ensure_group(f"twists{kind}", f"Supple Twists{kind}", partial(build_twists, has_fractions=has_fractions))


def _ensure_sets(steps: NodeMethod) -> Any:
    build = partial(build_packing, vectors=COLUMNS)
    groups = {"pack_matrices": ensure_group("pack matrices", "Supple Pack Matrices", build), "pack_quaternions": None}
    blends = "Matrices" if steps.split is None else "Turns" if steps.has_turns else "Dual Quaternions"
    if steps.split is not None:
        vectors = TURN_VECTORS if steps.has_turns else DUAL_QUATERNION_VECTORS
        build = partial(build_packing, vectors=vectors)
        groups["pack_quaternions"] = ensure_group(f"pack {blends.lower()}", f"Supple Pack {blends}", build)
    build = partial(build_sets, has_turns=steps.has_turns, **groups)
    return ensure_group(f"sets {blends}", f"Supple Sets {blends}", build)


def ensure_turn() -> Any:
    """The group that `build_svd` needs."""
    return ensure_group("turn", "Supple Orthogonal Columns", build_turn)


def _ensure_svd() -> Any:
    return ensure_group("svd", "Supple Singular Values", partial(build_svd, turn=ensure_turn()))


def _ensure_polar() -> Any:
    svd = _ensure_svd()
    groups = {
        "svd": svd,
        "newton": ensure_group("newton", "Supple Newton", build_newton),
        "mirror": ensure_group("mirror", "Supple Nearest Mirror", partial(build_mirror, svd=svd)),
        "continuation": ensure_group("continuation", "Supple Continued Rotation", partial(build_continuation, svd=svd)),
    }
    choice = ensure_group("choice", "Supple Mirrored Joints", partial(build_choice, groups=groups))
    return ensure_group("polar", "Supple Polar", partial(build_polar, newton=groups["newton"], choice=choice))


def _ensure_motion(label: str, steps: Split, is_told: bool) -> Any:
    build = partial(build_split, groups={"polar": _ensure_polar(), "svd": _ensure_svd()}, split=steps)
    split = ensure_group(f"split {label}", f"Supple Split {label}", build)
    negation = ensure_group("negation", "Supple Signs", build_negation)
    build = partial(build_exact_joints, split=split, negation=negation)
    exact = ensure_group(f"exact motion {label}", f"Supple Exact Motion {label}", build)
    label += " Fractions" if is_told else ""
    build = partial(build_joints, exact=exact, is_told=is_told)
    return ensure_group(f"motion {label}", f"Supple Motion {label}", build)
