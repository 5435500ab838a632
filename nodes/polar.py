"""Polar decomposition of all joints, as nodes: `deformers.algebra.polar`."""

from __future__ import annotations

from typing import Any

from ..deformers.algebra.polar import EQUAL_SCALES, KNOWN_WEIGHT, NEGLIGIBLE_SCALE, SCALE_SEPARATION, SINGULAR_RATIO
from .graph import Graph, Value
from .joints import distance_from_rotation, of_parent, sum_chains
from .pose import PARENT

STEPS = 7
"""Steps of Newton's iteration: enough for scales that differ up to fifty times."""

CONVERGED = 4e-6
"""How far from a rotation the iteration may end."""

SWEEPS = 4
"""Times that each pair of columns is made orthogonal: three do for single precision."""

LEAST_COSINE_SQUARED = 1e-15
"""Columns whose angle has a smaller cosine count as orthogonal."""


def build_newton(name: str) -> Any:
    """The group that finds the rotations of matrices that are neither mirrored nor, nearly, singular.

    Newton's iteration: a matrix and its inverse transposed are averaged again and again.
    """
    graph = Graph(name)
    matrix = graph.input("Matrix", "MATRIX")
    with graph.frame("Scaled to a volume of 1"):
        x, y, z = matrix.columns()
        volume = x.dot(y.cross(z)).absolute().maximum(NEGLIGIBLE_SCALE**3)
        scale = graph.add("ShaderNodeMath", volume, -1.0 / 3.0, operation="POWER")
    with graph.frame("Averaged with the inverse transposed"):
        zone = graph.repeat(STEPS, X=x * scale, Y=y * scale, Z=z * scale)
        x, y, z = zone["X"], zone["Y"], zone["Z"]
        cofactors = y.cross(z), z.cross(x), x.cross(y)
        share = 0.5 / x.dot(cofactors[0])
        averages = [
            cofactor.times_plus(share, column * 0.5) for cofactor, column in zip(cofactors, (x, y, z), strict=True)
        ]
        x, y, z = zone.close(**dict(zip("XYZ", averages, strict=True))).values()
    graph.output("Rotation", graph.matrix(x, y, z))
    is_clear = distance_from_rotation(x, y, z) < CONVERGED
    graph.output("Is Unclear", ~is_clear | (volume < 2.0 * NEGLIGIBLE_SCALE**3))
    return graph.finish()


def build_polar(name: str, newton: Any, choice: Any) -> Any:
    """The group that finds a rotation for each joint's matrix (eq 12).

    Parameters
    ----------
    name : str
        Of the new group.
    newton : node group
        From `build_newton`.
    choice : node group
        From `build_choice`. Only evaluated where a joint is mirrored or, nearly, scaled to nothing.
    """
    graph = Graph(name)
    joints, levels = graph.input("Joints", "GEOMETRY"), graph.input("Levels", "INT")
    matrix = graph.input("Matrix", "MATRIX")
    found = graph.call(newton, Matrix=matrix)
    joints, held = graph.capture(joints, "POINT", rotation=found["Rotation"], unclear=found["Is Unclear"])
    is_any_unclear = graph.is_any(joints, held["unclear"])
    with graph.frame("Joints that leave it open"):
        chosen = graph.call(choice, Joints=joints, Levels=levels, Matrix=matrix)["Joints"]
        clear = graph.store(joints, rotation=held["rotation"])
        graph.output("Joints", graph.switch(is_any_unclear, clear, chosen))
    return graph.finish()


def build_choice(name: str, groups: dict[str, Any]) -> Any:
    """The group in which mirrored joints, and those scaled to nothing, continue their parent's rotation.

    Parameters
    ----------
    name : str
        Of the new group.
    groups : dict
        "svd", "newton", "mirror" and "continuation", from `build_svd` and so on.
    """
    graph = Graph(name)
    joints, levels = graph.input("Joints", "GEOMETRY"), graph.input("Levels", "INT")
    matrix = graph.input("Matrix", "MATRIX")
    with graph.frame("Which joints leave their rotation open?"):
        parts = graph.call(groups["svd"], Matrix=matrix)
        left, scales, right = parts["Left"], parts["Scales"], parts["Right"]
        rotation = left @ right.transposed()
        largest, _, least = scales.components()
        is_singular = ~(least > (largest * SINGULAR_RATIO).maximum(NEGLIGIBLE_SCALE))
        is_open = is_singular | (_determinant(rotation) < 0.0)
        joints, held = graph.capture(
            joints, "POINT", rotation=rotation, linear=matrix, left=left, scales=scales, right=right,
            is_singular=is_singular, waits=is_open,
        )  # fmt: skip
        joints = graph.store(joints, **held)
    with graph.frame("How many of them follow one another?"):
        joints = sum_chains(
            graph, joints, levels, open_count=graph.switch(graph.attribute("waits", "BOOLEAN"), 0.0, 1.0)
        )
        steps = graph.extremes(joints, graph.attribute("open_count", "FLOAT"))[1]
    with graph.frame("Each continues its parent's rotation"):
        zone = graph.repeat(steps, Joints=joints)
        step = _continue_joints(graph, zone["Joints"], groups)
        graph.output("Joints", zone.close(Joints=step)["Joints"])
    return graph.finish()


def _continue_joints(graph: Graph, joints: Value, groups: dict[str, Any]) -> Value:
    """`polar._choose_by_parent`, one step from the roots down: joints are ready whose parents do not wait."""
    parent, waits = graph.attribute(PARENT, "INT"), graph.attribute("waits", "BOOLEAN")
    is_ready = waits & ~graph.sample(joints, waits, parent)
    toward = of_parent(graph, joints, graph.attribute("rotation", "FLOAT4X4"), parent)
    left, right = graph.attribute("left", "FLOAT4X4"), graph.attribute("right", "FLOAT4X4")
    is_singular = graph.attribute("is_singular", "BOOLEAN")
    inherits = graph.sample(joints, graph.attribute("has_mirror", "BOOLEAN"), parent)
    any_singular = graph.is_any(joints, is_ready & is_singular)
    any_first = graph.is_any(joints, is_ready & ~is_singular & ~inherits)

    agreement, scales = left.transposed() @ toward @ right, graph.attribute("scales", "FLOAT_VECTOR")
    nearest = graph.call(groups["mirror"], Agreement=agreement, Scales=scales)["Mirror"]
    found = right @ graph.switch(any_first, None, nearest) @ right.transposed()
    mirror = graph.switch(inherits, found, graph.sample(joints, graph.attribute("mirror", "FLOAT4X4"), parent))
    has_mirror = inherits | ~is_singular
    mirrored = graph.attribute("linear", "FLOAT4X4") @ graph.switch(has_mirror, None, mirror)
    plain = graph.call(groups["newton"], Matrix=mirrored)["Rotation"]
    continued = graph.call(groups["continuation"], Matrix=mirrored, Toward=toward)["Rotation"]
    changes = {"rotation": graph.switch(any_singular, plain, continued), "mirror": mirror}
    kept = {name: graph.switch(is_ready, graph.attribute(name, "FLOAT4X4"), new) for name, new in changes.items()}
    kept["has_mirror"] = graph.switch(is_ready, graph.attribute("has_mirror", "BOOLEAN"), has_mirror)
    joints, held = graph.capture(joints, "POINT", **kept, waits=waits & ~is_ready)
    return graph.store(joints, **held)


def build_mirror(name: str, svd: Any) -> Any:
    """The group that finds the mirror with which each rotation is nearest to the parent's: `polar._find_mirrors`."""
    graph = Graph(name)
    a = graph.input("Agreement", "MATRIX").components()
    scales = graph.input("Scales", "VECTOR")
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
    axes = graph.call(svd, Matrix=_symmetric(graph, diagonal, coupled))["Right"]
    symmetric = _symmetric(graph, (a[0], a[5], a[10]), {pair: entry for pair, (entry, _) in pairs.items()})
    best, nearness = None, None
    for normal in axes.columns():
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
    graph.output("Mirror", graph.switch(nearness + trace < 0.0, plane, point))
    return graph.finish()


def build_continuation(name: str, svd: Any) -> Any:
    """The group that finds rotations of matrices that are not mirrored: `polar._continue_rotations`."""
    graph = Graph(name)
    matrix, toward = graph.input("Matrix", "MATRIX"), graph.input("Toward", "MATRIX")
    parts = graph.call(svd, Matrix=matrix)
    left, right, sizes = parts["Left"], parts["Right"], parts["Scales"].components()
    is_open = [~(size > (sizes[0] * SINGULAR_RATIO).maximum(NEGLIGIBLE_SCALE)) for size in sizes]
    agreement = (left.transposed() @ toward @ right).components()
    entries: list[Any] = [None] * 16
    for column in range(3):
        for row in range(3):
            entry = graph.switch(is_open[row] & is_open[column], 0.0, agreement[4 * column + row])
            if row == column:
                entry = graph.switch(is_open[row], KNOWN_WEIGHT, entry)
            entries[4 * column + row] = entry
    inner = graph.call(svd, Matrix=graph.add("FunctionNodeCombineMatrix", *entries))
    left, right = left @ inner["Left"], right @ inner["Right"]
    sign = graph.switch(_determinant(left) * _determinant(right) < 0.0, 1.0, -1.0)
    proper = graph.add("FunctionNodeCombineTransform", None, None, graph.vector(1.0, 1.0, sign))
    graph.output("Rotation", left @ proper @ right.transposed())
    return graph.finish()


def _symmetric(graph: Graph, diagonal: Any, pairs: dict[tuple[int, int], Value]) -> Value:
    """A symmetric 3 x 3 matrix from its diagonal and the entries above it."""
    entries: list[Any] = [None] * 16
    for index, entry in enumerate(diagonal):
        entries[5 * index] = entry
    for (row, column), entry in pairs.items():
        entries[4 * row + column] = entries[4 * column + row] = entry
    return graph.add("FunctionNodeCombineMatrix", *entries)


def _determinant(matrix: Value) -> Value:
    x, y, z = matrix.columns()
    return x.dot(y.cross(z))


def build_svd(name: str, turn: Any) -> Any:
    """The group that decomposes matrices, `Matrix = Left @ diagonal(Scales) @ Right.transposed()`: one-sided Jacobi.

    Scales are descending; Left and Right are orthogonal also where scales are zero.

    Parameters
    ----------
    name : str
        Of the new group.
    turn : node group
        From `build_turn`.
    """
    graph = Graph(name)
    matrix = graph.input("Matrix", "MATRIX")
    with graph.frame("Turn pairs of columns until all are orthogonal"):
        columns = dict(zip(("a0", "a1", "a2"), matrix.columns(), strict=True))
        axes = {f"v{axis}": graph.vector(*(float(axis == other) for other in range(3))) for axis in range(3)}
        zone = graph.repeat(SWEEPS, **columns, **axes)
        values = {name: zone[name] for name in (*columns, *axes)}
        for first, second in ((0, 1), (0, 2), (1, 2)):
            keys = f"a{first}", f"a{second}", f"v{first}", f"v{second}"
            turned = graph.call(
                turn, **dict(zip(("A_1", "A_2", "V_1", "V_2"), (values[key] for key in keys), strict=True))
            )
            values |= dict(zip(keys, turned.values(), strict=True))
        values = zone.close(**values)
    with graph.frame("The largest first"):
        sizes = {f"n{axis}": values[f"a{axis}"].length() for axis in range(3)}
        values |= sizes
        for first, second in ((0, 1), (1, 2), (0, 1)):
            is_less = values[f"n{first}"] < values[f"n{second}"]
            for kind in ("a", "v", "n"):
                one, other = values[f"{kind}{first}"], values[f"{kind}{second}"]
                values[f"{kind}{first}"] = graph.switch(is_less, one, other)
                values[f"{kind}{second}"] = graph.switch(is_less, other, one)
    with graph.frame("Left axes; where scales are zero, whatever is orthogonal"):
        first, second, third = (values[f"a{axis}"] for axis in range(3))
        sizes = [values[f"n{axis}"] for axis in range(3)]
        u = graph.switch(sizes[0] > 0.0, (1.0, 0.0, 0.0), first.normalized())
        along = graph.switch(u.components()[0].absolute() > 0.7, graph.vector(1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
        is_clear = sizes[1] > sizes[0] * SINGULAR_RATIO
        v = graph.switch(is_clear, u.cross(along), second - u * u.dot(second)).normalized()
        w = u.cross(v)
        w = w * graph.switch(w.dot(third) < 0.0, 1.0, -1.0)
    graph.output("Left", graph.matrix(u, v, w))
    graph.output("Scales", graph.vector(*sizes))
    graph.output("Right", graph.matrix(*(values[f"v{axis}"] for axis in range(3))))
    return graph.finish()


def build_turn(name: str) -> Any:
    """The group that turns two columns in their plane until they are orthogonal, and two axes with them."""
    graph = Graph(name)
    names = ("A 1", "A 2", "V 1", "V 2")
    p, q, *axes = (graph.input(socket, "VECTOR") for socket in names)
    across, p_square, q_square = p.dot(q), p.dot(p), q.dot(q)
    ratio = (q_square - p_square) / (across * 2.0)
    root = graph.add("ShaderNodeMath", ratio.times_plus(ratio, 1.0), operation="SQRT")
    tangent = graph.switch(ratio < 0.0, 1.0, -1.0) / (ratio.absolute() + root)
    tangent = graph.switch(across * across > p_square * q_square * LEAST_COSINE_SQUARED, 0.0, tangent)
    cosine = graph.add("ShaderNodeMath", tangent.times_plus(tangent, 1.0), operation="INVERSE_SQRT")
    sine = cosine * tangent
    for (first, second), sockets in zip(((p, q), axes), (names[:2], names[2:]), strict=True):
        graph.output(sockets[0], first * cosine - second * sine)
        graph.output(sockets[1], first.times_plus(sine, second * cosine))
    return graph.finish()
