"""What a method does to each joint, as nodes: the same steps as `dlb`, `dlbnt` and `polar` in `deformers/skinning`.

Input and output are points, one for each joint, with attributes. Numbers are single precision here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..deformers.skinning.polar import EQUAL_SCALES, KNOWN_WEIGHT, RIGID_TOLERANCE, SCALE_SEPARATION, SINGULAR_RATIO
from .bones import MATRIX, PARENT
from .graph import Graph, Value

REAL, DUAL, SCALARS, STRETCH = "real", "dual", "scalars", "stretch"
"""Attributes that the skin is blended from: of the dual quaternion both vectors, and (w, w', 1); the stretch H.

The weighted sum of `scalars` brings along the sum of the weights.
"""

AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def build_joints(name: str, split: Any, negation: Any) -> Any:
    """The group that turns each joint's transform into a dual quaternion and, if need be, a stretch.

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
    joints, center = graph.input("Joints", "GEOMETRY"), graph.input("Center", "VECTOR")
    levels = graph.input("Levels", "INT")
    with graph.frame("Is any joint stretched?"):
        columns = _columns(graph.attribute(MATRIX, "FLOAT4X4"))
        x, y, z = columns
        error = (x.dot(x) - 1.0).absolute()
        for entry in (y.dot(y) - 1.0, z.dot(z) - 1.0, x.dot(y), y.dot(z), z.dot(x)):
            error = error.maximum(entry.absolute())
        bent = (error > RIGID_TOLERANCE) | (x.dot(y.cross(z)) < 0.0)
        is_stretched = graph.extremes(joints, bent)[1] > 0.5
    with graph.frame("If so, split it"):
        stretched = graph.call(split, Joints=joints, Center=center, Levels=levels, Linear=graph.matrix(*columns))
        joints = graph.switch(is_stretched, joints, stretched["Joints"])
        rigid = graph.switch(is_stretched, graph.attribute(MATRIX, "FLOAT4X4"), graph.attribute("rigid", "FLOAT4X4"))
    with graph.frame("Dual quaternions of the rigid parts (eq 4)"):
        translation = rigid.move((0.0, 0.0, 0.0))
        # Of the nodes that make rotations this one is exact: Separate Transform is off by 1e-3 where pitch is upright.
        x, y, _ = _columns(rigid)
        rotation = graph.add("FunctionNodeAxesToRotation", x, y, primary_axis="X", secondary_axis="Y")
        joints = graph.store(joints, turn=rotation)
        w, x, y, z = graph.attribute("turn", "QUATERNION").components()
        real = graph.vector(x, y, z)
        dual = translation.times_plus(w, translation.cross(real)) * 0.5
        scalars = graph.vector(w, translation.dot(real) * -0.5, 1.0)
        joints = graph.store(joints, **{REAL: real, DUAL: dual, SCALARS: scalars})
    with graph.frame("Signs that agree with the parent's (section 3.4)"):
        real, parent = graph.attribute(REAL, "FLOAT_VECTOR"), graph.attribute(PARENT, "INT")
        scalars = graph.attribute(SCALARS, "FLOAT_VECTOR")
        above = graph.switch(parent < 0, graph.sample(joints, scalars, parent), (1.0, 0.0, 1.0))
        (w, _, _), (parent_w, _, _) = scalars.components(), above.components()
        disagrees = w.times_plus(parent_w, real.dot(graph.sample(joints, real, parent))) < 0.0
        negated = graph.call(negation, Joints=joints, Levels=levels, Disagrees=disagrees)["Joints"]
        joints = graph.switch(graph.extremes(joints, disagrees)[1] > 0.5, joints, negated)
    graph.output("Joints", joints)
    graph.output("Is Stretched", is_stretched)
    return graph.finish()


def build_negation(name: str) -> Any:
    """The group that negates each joint that disagrees with its parent, and all joints below it."""
    graph = Graph(name)
    joints, levels = graph.input("Joints", "GEOMETRY"), graph.input("Levels", "INT")
    disagrees = graph.input("Disagrees", "BOOLEAN")
    with graph.frame("A joint is negated by the parity of the disagreements down to it"):
        joints = _sum_chains(graph, joints, levels, negations=graph.switch(disagrees, 0.0, 1.0))
        odd = graph.add("ShaderNodeMath", graph.attribute("negations", "FLOAT"), 2.0, operation="MODULO")
        sign = 1.0 - odd * 2.0
        real, dual, scalars = (graph.attribute(name, "FLOAT_VECTOR") for name in (REAL, DUAL, SCALARS))
        signs = graph.vector(sign, sign, 1.0)
        joints = graph.store(joints, **{REAL: real * sign, DUAL: dual * sign, SCALARS: scalars * signs})
    graph.output("Joints", joints)
    return graph.finish()


Split = Callable[[Graph, Value, Value, Any, Value, Value], Value]
"""Steps that split joints: from the joints, their centers, `build_polar`'s group, the levels and the linear parts."""


def build_split(name: str, polar: Any, split: Split) -> Any:
    """The group that splits each joint's transform into a rigid part and a stretch.

    Parameters
    ----------
    name : str
        Of the new group.
    polar : node group
        From `build_polar`.
    split : callable
        The method's steps.
    """
    graph = Graph(name)
    joints, center = graph.input("Joints", "GEOMETRY"), graph.input("Center", "VECTOR")
    levels, linear = graph.input("Levels", "INT"), graph.input("Linear", "MATRIX")
    graph.output("Joints", split(graph, joints, center, polar, levels, linear))
    return graph.finish()


def build_polar(name: str) -> Any:
    """The group that finds a rotation for each joint's matrix: `deformers.skinning.polar` as nodes."""
    graph = Graph(name)
    joints, levels = graph.input("Joints", "GEOMETRY"), graph.input("Levels", "INT")
    matrix = graph.input("Matrix", "MATRIX")
    with graph.frame("Polar decomposition (eq 12)"):
        left, scales, right = graph.outputs("FunctionNodeMatrixSVD", matrix)
        rotation = left @ right.transposed()
        largest, _, least = scales.components()
        is_singular = ~(least > largest * SINGULAR_RATIO)
        is_open = is_singular | (rotation.determinant() < 0.0)
        joints = graph.store(
            joints, rotation=rotation, linear=matrix, left=left, scales=scales, right=right,
            is_singular=is_singular, is_open=is_open,
        )  # fmt: skip
        any_open = graph.extremes(joints, graph.attribute("is_open", "BOOLEAN"))[1] > 0.5
    with graph.frame("Mirrored joints, and those scaled to nothing, continue their parent's rotation"):
        zone = graph.repeat(levels, Joints=joints)
        parent = graph.attribute(PARENT, "INT")
        toward = _of_parent(graph, zone["Joints"], graph.attribute("rotation", "FLOAT4X4"), parent)
        left, right = graph.attribute("left", "FLOAT4X4"), graph.attribute("right", "FLOAT4X4")
        agreement = left.transposed() @ toward @ right
        is_open, is_singular = graph.attribute("is_open", "BOOLEAN"), graph.attribute("is_singular", "BOOLEAN")
        inherits = graph.sample(zone["Joints"], graph.attribute("has_mirror", "BOOLEAN"), parent)
        found = right @ _find_mirror(graph, agreement, graph.attribute("scales", "FLOAT_VECTOR")) @ right.transposed()
        inherited = graph.sample(zone["Joints"], graph.attribute("mirror", "FLOAT4X4"), parent)
        mirror = graph.switch(inherits, found, inherited)
        has_mirror = is_open & (inherits | ~is_singular)
        mirrored = graph.attribute("linear", "FLOAT4X4") @ graph.switch(has_mirror, None, mirror)
        rotation = graph.switch(
            is_open, graph.attribute("rotation", "FLOAT4X4"), _continue_rotation(graph, mirrored, toward)
        )
        step = graph.store(zone["Joints"], rotation=rotation, mirror=mirror, has_mirror=has_mirror)
        continued = zone.close(Joints=step)["Joints"]
        joints = graph.switch(any_open, joints, continued)
    graph.output("Joints", joints)
    return graph.finish()


def _find_mirror(graph: Graph, agreement: Value, scales: Value) -> Value:
    """`polar._find_mirrors`."""
    a = agreement.components()
    trace = a[0] + a[5] + a[10]
    largest, middle, least = scales.components()
    drops = (largest - middle > largest * EQUAL_SCALES, middle - least > largest * EQUAL_SCALES)
    pairs = {
        (0, 1): ((a[1] + a[4]) * 0.5, drops[0]),
        (1, 2): ((a[6] + a[9]) * 0.5, drops[1]),
        (0, 2): ((a[2] + a[8]) * 0.5, drops[0] | drops[1]),
    }
    coupled = {pair: graph.switch(differ, entry, 0.0) for pair, (entry, differ) in pairs.items()}
    apart = graph.switch(drops[0], 0.0, SCALE_SEPARATION)
    # Singular vectors of a symmetric matrix that is made positive are its eigenvectors.
    diagonal = (
        a[0] + SCALE_SEPARATION,
        a[5] + (apart + SCALE_SEPARATION),
        a[10] + (graph.switch(drops[1], 0.0, SCALE_SEPARATION) + apart + SCALE_SEPARATION),
    )
    _, _, axes = graph.outputs("FunctionNodeMatrixSVD", _symmetric(graph, diagonal, coupled))
    symmetric = _symmetric(graph, (a[0], a[5], a[10]), {pair: entry for pair, (entry, _) in pairs.items()})
    best, nearness = None, None
    for normal in _columns(axes):
        near = trace - normal.dot(symmetric.rotate(normal)) * 2.0
        if best is None or nearness is None:
            best, nearness = normal, near
        else:
            is_nearer = near > nearness
            best, nearness = graph.switch(is_nearer, best, normal), graph.switch(is_nearer, nearness, near)
    assert best is not None
    assert nearness is not None
    n = best.components()
    products = {(i, j): n[i] * n[j] * -2.0 for i, j in pairs}
    plane = _symmetric(graph, [1.0 - component * component * 2.0 for component in n], products)
    point = graph.add("FunctionNodeCombineTransform", None, None, (-1.0, -1.0, -1.0))
    return graph.switch(nearness + trace < 0.0, plane, point)


def _continue_rotation(graph: Graph, matrix: Value, toward: Value) -> Value:
    """`polar._continue_rotations`."""
    left, scales, right = graph.outputs("FunctionNodeMatrixSVD", matrix)
    sizes = scales.components()
    is_open = [~(size > sizes[0] * SINGULAR_RATIO) for size in sizes]
    agreement = (left.transposed() @ toward @ right).components()
    entries: list[Any] = [None] * 16
    for column in range(3):
        for row in range(3):
            entry = graph.switch(is_open[row] & is_open[column], 0.0, agreement[4 * column + row])
            if row == column:
                entry = graph.switch(is_open[row], KNOWN_WEIGHT, entry)
            entries[4 * column + row] = entry
    inner_left, _, inner_right = graph.outputs(
        "FunctionNodeMatrixSVD", graph.add("FunctionNodeCombineMatrix", *entries)
    )
    left, right = left @ inner_left, right @ inner_right
    sign = graph.switch(left.determinant() * right.determinant() < 0.0, 1.0, -1.0)
    return (
        left @ graph.add("FunctionNodeCombineTransform", None, None, graph.vector(1.0, 1.0, sign)) @ right.transposed()
    )


def _symmetric(graph: Graph, diagonal: Any, pairs: dict[tuple[int, int], Value]) -> Value:
    """A symmetric 3 x 3 matrix from its diagonal and the entries above it."""
    entries: list[Any] = [None] * 16
    for index, entry in enumerate(diagonal):
        entries[5 * index] = entry
    for (row, column), entry in pairs.items():
        entries[4 * row + column] = entries[4 * column + row] = entry
    return graph.add("FunctionNodeCombineMatrix", *entries)


def split_dlb(graph: Graph, joints: Value, center: Value, polar: Any, levels: Value, linear: Value) -> Value:
    """Each joint stretches about its own center (`dlb.py`)."""
    with graph.frame("DLB: each joint stretches about its own center"):
        joints = graph.call(polar, Joints=joints, Levels=levels, Matrix=linear)["Joints"]
        rotation = graph.attribute("rotation", "FLOAT4X4")
        stretch = rotation.transposed() @ linear
        posed = graph.attribute(MATRIX, "FLOAT4X4").move(center)
        return graph.store(
            joints,
            stretch=_with_translation(graph, stretch, center - stretch.rotate(center)),
            rigid=_with_translation(graph, rotation, posed - rotation.rotate(center)),
        )


def split_gh(graph: Graph, joints: Value, center: Value, polar: Any, levels: Value, linear: Value) -> Value:
    """`dlbnt._split_gh`."""
    with graph.frame("M = G H: stretch, then turn (eq 9); stretches agree at the joints (eq 13-16)"):
        joints = graph.call(polar, Joints=joints, Levels=levels, Matrix=linear)["Joints"]
        rotation, parent = graph.attribute("rotation", "FLOAT4X4"), graph.attribute(PARENT, "INT")
        joints = graph.store(joints, stretch=rotation.transposed() @ linear)
        stretch = graph.attribute(STRETCH, "FLOAT4X4")
        of_parent = graph.sample(joints, stretch, parent)
        step = graph.switch(parent < 0, of_parent.rotate(center) - stretch.rotate(center), (0.0, 0.0, 0.0))
        joints = _sum_chains(graph, joints, levels, translation=step)
        translation = graph.attribute("translation", "FLOAT_VECTOR")
        rigid = graph.attribute(MATRIX, "FLOAT4X4").move((0.0, 0.0, 0.0)) - rotation.rotate(translation)
        return graph.store(
            joints,
            rigid=_with_translation(graph, rotation, rigid),
            stretch=_with_translation(graph, stretch, translation),
        )


def split_hg(graph: Graph, joints: Value, center: Value, polar: Any, levels: Value, linear: Value) -> Value:
    """`dlbnt._split_hg`."""
    with graph.frame("M = H G: turn, then stretch (eq 17); both agree at the joints"):
        joints = graph.call(polar, Joints=joints, Levels=levels, Matrix=linear.transposed())["Joints"]
        rotation, stretch = graph.attribute("rotation", "FLOAT4X4"), graph.attribute(STRETCH, "FLOAT4X4")
        # In this order: each is computed from what is stored before it.
        joints = graph.store(joints, stretch=linear @ rotation, rotation=rotation.transposed())
        parent = graph.attribute(PARENT, "INT")
        matrix = graph.attribute(MATRIX, "FLOAT4X4")
        offset = matrix.move(center) - _of_parent(graph, joints, matrix, parent).move(center)
        change = _of_parent(graph, joints, rotation, parent).rotate(center) - rotation.rotate(center)
        left, scales, right = graph.outputs(
            "FunctionNodeMatrixSVD", _of_parent(graph, joints, stretch, parent), label="Parent's stretch"
        )
        damped = scales / (scales * scales).maximum((1.0, 1.0, 1.0))
        unstretch = right @ graph.add("FunctionNodeCombineTransform", None, None, damped) @ left.transposed()
        joints = _sum_chains(graph, joints, levels, translation=change + unstretch.rotate(offset))
        translation = graph.attribute("translation", "FLOAT_VECTOR")
        return graph.store(
            joints,
            rigid=_with_translation(graph, rotation, translation),
            stretch=_with_translation(graph, stretch, matrix.move((0.0, 0.0, 0.0)) - stretch.rotate(translation)),
        )


def _sum_chains(graph: Graph, joints: Value, levels: Value, **values: Value) -> Value:
    """Store the sum of a value over each joint and its ancestors under its name: `Chains.sum`."""
    ((name, value),) = values.items()
    joints = graph.store(joints, **{name: value, "jump": graph.attribute(PARENT, "INT")})
    steps = graph.add(
        "ShaderNodeMath", graph.add("ShaderNodeMath", levels, 2.0, operation="LOGARITHM"), operation="CEIL"
    )
    zone = graph.repeat(steps, Joints=joints)
    total = graph.attribute(name, {"VALUE": "FLOAT", "VECTOR": "FLOAT_VECTOR"}[value.kind])
    jump = graph.attribute("jump", "INT")
    further = graph.switch(jump < 0, graph.sample(zone["Joints"], jump, jump), -1)
    # `jump` is stored last, as the sum reads it.
    step = graph.store(zone["Joints"], **{name: total + graph.sample(zone["Joints"], total, jump), "jump": further})
    return zone.close(Joints=step)["Joints"]


def _of_parent(graph: Graph, joints: Value, matrix: Value, parent: Value) -> Value:
    """The parent's matrix; for a root the identity, which is what an input of a switch holds."""
    return graph.switch(parent < 0, graph.sample(joints, matrix, parent), None)


def _with_translation(graph: Graph, linear: Value, translation: Value) -> Value:
    return graph.add("FunctionNodeCombineTransform", translation) @ linear


def _columns(matrix: Value) -> tuple[Value, ...]:
    return tuple(matrix.rotate(axis) for axis in AXES)
