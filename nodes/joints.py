"""What a method does to each joint, as nodes: the same steps as `dlb` and `dlbnt` in `deformers/skinning`.

Input and output are points, one for each joint, with attributes. Numbers are single precision here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from ..deformers.algebra.polar import RIGID_TOLERANCE
from .graph import Graph, Value
from .pose import CENTER, PARENT

MATRIX, STRETCH = "matrix", "stretch"
"""Attributes of the joints while they are split: from rest to pose, and the part of it that stretches."""


def build_joints(name: str, exact: Any, is_told: bool = False) -> Any:
    """The group that turns each joint's transform into a dual quaternion and, if need be, a stretch.

    A dual quaternion is a matrix whose first two columns are its real and its dual part, each as x, y, z, w.

    Parameters
    ----------
    name : str
        Of the new group.
    exact : node group
        From `build_exact_joints`. Only evaluated where a joint is stretched, or disagrees with its parent's sign: most
        poses are plain rotations.
    is_told : bool
        Whether an input tells if a joint is stretched.
    """
    graph = Graph(name)
    inputs = _input_joints(graph)
    told = {"Bent": graph.input("Is Stretched", "BOOLEAN")} if is_told else {}
    x, y, z, origin, parent = (inputs[name] for name in ("X", "Y", "Z", "Origin", "Parent"))
    both = _dual_quaternion(graph, x, y, origin)
    with graph.frame("Is any joint stretched, or of another sign than its parent?"):
        bent = told or {"Bent": distance_from_rotation(x, y, z) > RIGID_TOLERANCE}
        joints, held = graph.capture(inputs["Joints"], "POINT", Both=both, **bent, Parent=parent)
        disagrees = _disagrees(graph, joints, held["Both"], held["Parent"])
        is_plain = ~graph.is_any(joints, held["Bent"] | disagrees)
    with graph.frame("If so, split it, and choose the signs"):
        found = graph.call(exact, **inputs)
        graph.output("Joints", graph.switch(is_plain, found["Joints"], joints))
        graph.output("Dual Quaternion", graph.switch(is_plain, found["Dual Quaternion"], held["Both"]))
        graph.output("Is Stretched", graph.switch(is_plain, found["Is Stretched"], False))
        graph.output("Stretch", found["Stretch"])
    return graph.finish()


def build_exact_joints(name: str, split: Any, negation: Any) -> Any:
    """The same for every pose.

    Parameters
    ----------
    name : str
        Of the new group.
    split : node group
        From `build_split`. Only evaluated where a joint is stretched.
    negation : node group
        From `build_negation`. Only evaluated where the signs of joints disagree.
    """
    graph = Graph(name)
    inputs = _input_joints(graph)
    columns = ("X", "Y", "Z", "Origin", "Parent")
    with graph.frame("Is any joint stretched?"):
        inputs["Joints"], held = graph.capture(inputs["Joints"], "POINT", **{name: inputs[name] for name in columns})
        inputs |= held
        joints, x, y, z, origin, parent = (inputs[name] for name in ("Joints", *columns))
        is_stretched = graph.is_any(joints, distance_from_rotation(x, y, z) > RIGID_TOLERANCE)
    with graph.frame("If so, split it"):
        parts = graph.call(split, **inputs)
        joints = graph.switch(is_stretched, joints, parts["Joints"])
        turned_x, turned_y, _ = parts["Rigid"].columns()
        x, y = graph.switch(is_stretched, x, turned_x), graph.switch(is_stretched, y, turned_y)
        origin = graph.switch(is_stretched, origin, parts["Rigid"].move((0.0, 0.0, 0.0)))
    both = _dual_quaternion(graph, x, y, origin)
    with graph.frame("Signs that agree with the parent's (section 3.4)"):
        joints, held = graph.capture(joints, "POINT", Both=both)
        disagrees = _disagrees(graph, joints, held["Both"], parent)
        negated = graph.call(
            negation, Joints=joints, Parent=parent, Levels=inputs["Levels"], Disagrees=disagrees,
            Dual_Quaternion=held["Both"],
        )  # fmt: skip
        is_any = graph.is_any(joints, disagrees)
        graph.output("Joints", graph.switch(is_any, joints, negated["Joints"]))
        graph.output("Dual Quaternion", graph.switch(is_any, held["Both"], negated["Dual Quaternion"]))
    graph.output("Is Stretched", is_stretched)
    graph.output("Stretch", parts["Stretch"])
    return graph.finish()


def _input_joints(graph: Graph) -> dict[str, Value]:
    """What `build_pose` gives, and the number of levels, as inputs of a group."""
    inputs = {"Joints": graph.input("Joints", "GEOMETRY")}
    inputs |= {column: graph.input(column, "VECTOR") for column in ("X", "Y", "Z", "Origin")}
    inputs |= {"Parent": graph.input("Parent", "INT"), "Center": graph.input("Center", "VECTOR")}
    return inputs | {"Levels": graph.input("Levels", "INT", "Joints in the longest chain")}


def _dual_quaternion(graph: Graph, x: Value, y: Value, origin: Value) -> Value:
    with graph.frame("Dual quaternions of rigid transforms (eq 4)"):
        # Of the nodes that make rotations this one is exact: Separate Transform is off by 1e-3 where pitch is upright.
        rotation = graph.add("FunctionNodeAxesToRotation", x, y, primary_axis="X", secondary_axis="Y")
        w, *r = rotation.components()
        real = graph.vector(*r)
        dual = (origin.times_plus(w, origin.cross(real)) * 0.5).components()
        return graph.add("FunctionNodeCombineMatrix", *r, w, *dual, origin.dot(real) * -0.5)


def _disagrees(graph: Graph, joints: Value, both: Value, parent: Value) -> Value:
    """Whether a joint's quaternion points away from its parent's."""
    products = graph.sample(joints, both, parent).transposed() @ both
    return products.components()[0] < 0.0


def distance_from_rotation(x: Value, y: Value, z: Value) -> Value:
    """How far a matrix of these columns is from a rotation: 0 for one, at least 1 for a mirror."""
    errors = x.cross(y).distance(z), y.cross(z).distance(x), (x.dot(x) - 1.0).absolute()
    return reduce(Value.maximum, errors)


def build_negation(name: str) -> Any:
    """The group that negates each joint that disagrees with its parent, and all joints below it."""
    graph = Graph(name)
    joints, parent = graph.input("Joints", "GEOMETRY"), graph.input("Parent", "INT")
    levels, disagrees = graph.input("Levels", "INT"), graph.input("Disagrees", "BOOLEAN")
    both = graph.input("Dual Quaternion", "MATRIX")
    with graph.frame("A joint is negated by the parity of the disagreements down to it"):
        joints = graph.store(joints, parent=parent)
        joints = sum_chains(graph, joints, levels, negations=graph.switch(disagrees, 0.0, 1.0))
        odd = graph.add("ShaderNodeMath", graph.attribute("negations", "FLOAT"), 2.0, operation="MODULO")
        sign = 1.0 - odd * 2.0
        signs = graph.add("FunctionNodeCombineTransform", None, None, graph.vector(sign, sign, sign))
        joints, held = graph.capture(joints, "POINT", Negated=both @ signs)
    graph.output("Joints", joints)
    graph.output("Dual Quaternion", held["Negated"])
    return graph.finish()


Split = Callable[[Graph, Value, Value, Value, dict[str, Any]], Value]
"""Steps that split joints, as attributes `rigid` and STRETCH: from the joints, the levels, the linear parts, and the
groups of `build_split`."""


def build_split(name: str, groups: dict[str, Any], split: Split) -> Any:
    """The group that splits each joint's transform into a rigid part and a stretch.

    Parameters
    ----------
    name : str
        Of the new group.
    groups : dict
        "polar", from `build_polar`, and "svd", from `build_svd`.
    split : callable
        The method's steps.
    """
    graph = Graph(name)
    inputs = _input_joints(graph)
    columns = [inputs[column] for column in ("X", "Y", "Z", "Origin")]
    with graph.frame("What is known of each joint"):
        known = {MATRIX: graph.matrix(*columns), PARENT: inputs["Parent"], CENTER: inputs["Center"]}
        joints = graph.store(inputs["Joints"], **known)
        linear = graph.matrix(*columns[:3])
    joints = split(graph, joints, inputs["Levels"], linear, groups)
    graph.output("Joints", joints)
    graph.output("Rigid", graph.attribute("rigid", "FLOAT4X4"))
    graph.output("Stretch", graph.attribute(STRETCH, "FLOAT4X4"))
    return graph.finish()


def split_dlb(graph: Graph, joints: Value, levels: Value, linear: Value, groups: dict[str, Any]) -> Value:
    """Each joint stretches about its own center (`dlb.py`)."""
    with graph.frame("DLB: each joint stretches about its own center"):
        joints = graph.call(groups["polar"], Joints=joints, Levels=levels, Matrix=linear)["Joints"]
        rotation, center = graph.attribute("rotation", "FLOAT4X4"), graph.attribute(CENTER, "FLOAT_VECTOR")
        stretch = rotation.transposed() @ linear
        posed = graph.attribute(MATRIX, "FLOAT4X4").move(center)
        return graph.store(
            joints,
            stretch=_with_translation(graph, stretch, center - stretch.rotate(center)),
            rigid=_with_translation(graph, rotation, posed - rotation.rotate(center)),
        )


def split_gh(graph: Graph, joints: Value, levels: Value, linear: Value, groups: dict[str, Any]) -> Value:
    """`dlbnt._split_gh`."""
    with graph.frame("M = G H: stretch, then turn (eq 9); stretches agree at the joints (eq 13-16)"):
        joints = graph.call(groups["polar"], Joints=joints, Levels=levels, Matrix=linear)["Joints"]
        rotation, center = graph.attribute("rotation", "FLOAT4X4"), graph.attribute(CENTER, "FLOAT_VECTOR")
        parent = graph.attribute(PARENT, "INT")
        joints = graph.store(joints, stretch=rotation.transposed() @ linear)
        stretch = graph.attribute(STRETCH, "FLOAT4X4")
        of_parent = graph.sample(joints, stretch, parent)
        step = graph.switch(parent < 0, of_parent.rotate(center) - stretch.rotate(center), (0.0, 0.0, 0.0))
        joints = sum_chains(graph, joints, levels, translation=step)
        translation = graph.attribute("translation", "FLOAT_VECTOR")
        rigid = graph.attribute(MATRIX, "FLOAT4X4").move((0.0, 0.0, 0.0)) - rotation.rotate(translation)
        return graph.store(
            joints,
            rigid=_with_translation(graph, rotation, rigid),
            stretch=_with_translation(graph, stretch, translation),
        )


def split_hg(graph: Graph, joints: Value, levels: Value, linear: Value, groups: dict[str, Any]) -> Value:
    """`dlbnt._split_hg`."""
    with graph.frame("M = H G: turn, then stretch (eq 17); both agree at the joints"):
        joints = graph.call(groups["polar"], Joints=joints, Levels=levels, Matrix=linear.transposed())["Joints"]
        rotation, stretch = graph.attribute("rotation", "FLOAT4X4"), graph.attribute(STRETCH, "FLOAT4X4")
        # In this order: each is computed from what is stored before it.
        joints = graph.store(joints, stretch=linear @ rotation, rotation=rotation.transposed())
        parent, center = graph.attribute(PARENT, "INT"), graph.attribute(CENTER, "FLOAT_VECTOR")
        matrix = graph.attribute(MATRIX, "FLOAT4X4")
        offset = matrix.move(center) - of_parent(graph, joints, matrix, parent).move(center)
        change = of_parent(graph, joints, rotation, parent).rotate(center) - rotation.rotate(center)
        parts = graph.call(groups["svd"], Matrix=of_parent(graph, joints, stretch, parent))
        scales = parts["Scales"]
        damped = scales / (scales * scales).maximum((1.0, 1.0, 1.0))
        middle = graph.add("FunctionNodeCombineTransform", None, None, damped)
        unstretch = parts["Right"] @ middle @ parts["Left"].transposed()
        joints = sum_chains(graph, joints, levels, translation=change + unstretch.rotate(offset))
        translation = graph.attribute("translation", "FLOAT_VECTOR")
        return graph.store(
            joints,
            rigid=_with_translation(graph, rotation, translation),
            stretch=_with_translation(graph, stretch, matrix.move((0.0, 0.0, 0.0)) - stretch.rotate(translation)),
        )


def sum_chains(graph: Graph, joints: Value, levels: Value, **values: Value) -> Value:
    """Store the sum of a value over each joint and its ancestors under its name: `Chains.sum`."""
    ((name, value),) = values.items()
    components = value.components() if value.kind == "VECTOR" else (value,)
    # In one attribute with the joint to go on from: each that is stored in each step takes its time.
    joints = graph.store(joints, chain=_pack(graph, [*components, graph.attribute(PARENT, "INT")]))
    steps = graph.add(
        "ShaderNodeMath", graph.add("ShaderNodeMath", levels, 2.0, operation="LOGARITHM"), operation="CEIL"
    )
    zone = graph.repeat(steps, Joints=joints)
    chain, count = graph.attribute("chain", "FLOAT4X4"), len(components)
    *totals, jump = chain.components()[: count + 1]
    *above, further = graph.sample(zone["Joints"], chain, jump).components()[: count + 1]
    totals = [total + more for total, more in zip(totals, above, strict=True)]
    step = graph.store(zone["Joints"], chain=_pack(graph, [*totals, graph.switch(jump < 0.0, further, -1.0)]))
    *totals, _ = chain.components()[: count + 1]
    total = graph.vector(*totals) if value.kind == "VECTOR" else totals[0]
    return graph.store(zone.close(Joints=step)["Joints"], **{name: total})


def _pack(graph: Graph, numbers: list[Value]) -> Value:
    return graph.add("FunctionNodeCombineMatrix", *numbers, *[0.0] * (16 - len(numbers)))


def of_parent(graph: Graph, joints: Value, matrix: Value, parent: Value) -> Value:
    """The parent's matrix; for a root the identity, which is what an input of a switch holds."""
    return graph.switch(parent < 0, graph.sample(joints, matrix, parent), None)


def _with_translation(graph: Graph, linear: Value, translation: Value) -> Value:
    return graph.add("FunctionNodeCombineTransform", translation) @ linear
