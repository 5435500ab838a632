"""Centers as nodes: how far joints are twisted, and vertices that rotate about centers.

The same steps as `centers` and `rotation_centers` in `deformers/skinning`.
"""

from __future__ import annotations

from typing import Any

from ..deformers.rig.rest import LEAST_WEIGHT
from ..deformers.skinning.rotation_centers import LEAST_LOSS
from ..deformers.skinning.stages import LEAST_NORM
from .graph import Graph, Value
from .joints import sum_chains
from .pose import PARENT
from .sets import IS_TWISTED, MATRIX, STRETCH, TURN
from .skin import SET_ATTRIBUTE, Influenced, Move, blend, blend_matrices, is_true

CENTER_ATTRIBUTE, LEAN_ATTRIBUTE, ALLOWANCE_ATTRIBUTE = "supple_center", "supple_lean", "supple_allowance"
"""Attributes of the character's mesh: `RotationCenters`."""

SDEF_ATTRIBUTE, SDEF_WEIGHTS_ATTRIBUTE = "supple_sdef", "supple_sdef_weights"
"""The same of vertices that have SDEF: `SdefPairs.offsets`, and by which weights of their first set to take the
difference of both joints."""

LEAST_TWIST = 0.02
"""Radians: where no joint is twisted by more, with those above it, no center goes back."""


def build_twists(name: str, has_fractions: bool = False) -> Any:
    """The group that puts half the twist of each joint, as a direction, in place of its dual part.

    Parameters
    ----------
    name : str
        Of the new group.
    has_fractions : bool
        Whether there are fractions, whose directions may be mixed of those of two joints.
    """
    graph = Graph(name)
    joints, both = graph.input("Joints", "GEOMETRY"), graph.input("Dual Quaternion", "MATRIX")
    parent, axis = graph.input("Parent", "INT"), graph.input("Axis", "VECTOR")
    levels = graph.input("Levels", "INT", "Joints in the longest chain")
    ends = [graph.input(name, "INT") for name in ("Above", "Below")] if has_fractions else []
    share = graph.input("Share", "VALUE") if has_fractions else 0.0
    with graph.frame("Half the twist of each joint about its bone, against its parent"):
        joints, held = graph.capture(joints, "POINT", Both=both, Parent=parent, Axis=axis)
        both, parent = held["Both"], held["Parent"]
        entries, above = both.components(), graph.sample(joints, both, parent).components()
        r, r_above = (graph.vector(*quaternion[:3]) for quaternion in (entries, above))
        w, w_above = entries[3], above[3]
        vector = r * w_above - r_above * w - r_above.cross(r)
        twist = graph.add("ShaderNodeMath", vector.dot(held["Axis"]), r.dot(r_above) + w * w_above, operation="ARCTAN2")
        joints = graph.store(joints, **{PARENT: parent})
        summed = sum_chains(graph, joints, levels, half_twist=graph.switch(parent < 0, twist, 0.0))
        half_twist = graph.attribute("half_twist", "FLOAT")
    with graph.frame("As a direction, beside the quaternion"):
        cosine = graph.add("ShaderNodeMath", half_twist, operation="COSINE")
        sine = graph.add("ShaderNodeMath", half_twist, operation="SINE")
        if ends:
            summed, waves = graph.capture(summed, "POINT", Direction=graph.vector(cosine, sine))
            above, below = (graph.sample(summed, waves["Direction"], joint) for joint in ends)
            cosine, sine, _ = (below - above).times_plus(share, above).components()
        turn = graph.add("FunctionNodeCombineMatrix", *entries[:4], cosine, sine)
        summed, turns = graph.capture(summed, "POINT", Turn=turn)
        graph.output("Joints", summed)
        graph.output("Turn", turns["Turn"])
        graph.output("Is Twisted", graph.is_any(summed, half_twist.absolute() > LEAST_TWIST))
    return graph.finish()


def turn_about_centers(is_stretched: Value) -> Move:
    """The step that rotates and stretches vertices about centers, which move linearly."""

    def move(points: Influenced, start: Value) -> Value:
        graph = points.graph
        with graph.frame("Blend the quaternions, and half the twists as directions"):
            names = [f"{TURN}_{number}" for number in range(2)]
            (r, scalars), total = blend(graph, points.joints, points.set_count, points.is_interpolable, names)
            w, *direction = scalars.components()
        with graph.frame("Centers go back where joints are twisted"):
            center, lean = (graph.attribute(name, "FLOAT_VECTOR") for name in (CENTER_ATTRIBUTE, LEAN_ATTRIBUTE))
            if points.turn is not None:
                center, lean = points.turn.move(center), points.turn.rotate(lean)
            if total is not None:
                direction = [component / total for component in direction]
            square = direction[0].times_plus(direction[0], direction[1] * direction[1])
            allowance = graph.attribute(ALLOWANCE_ATTRIBUTE, "FLOAT")
            back = lean * (allowance / (1.0 - square).maximum(LEAST_LOSS) - 1.0).minimum(0.0)
            is_twisted = is_true(graph, points.joints, IS_TWISTED)
            center = graph.switch(is_twisted, center, center + back)
            offset = start - center
        offset = graph.switch(is_stretched, offset, _stretch(points, offset))
        moved = blend_matrices(MATRIX, "Centers move linearly (Le & Hodgins, eq 1)", None)(points, center)
        if not points.is_interpolable:
            moved = graph.switch(points.has_sdef, moved, _move_sdef(points, moved))
        with graph.frame("Normalize the quaternions, and rotate about the centers"):
            least: Any = LEAST_NORM
            if total is not None:
                w = w + graph.switch(total > LEAST_WEIGHT, 1.0, 0.0)
                least = total * total * LEAST_NORM
            scale = 2.0 / w.times_plus(w, r.dot(r)).maximum(least)
            u = offset.times_plus(w, r.cross(offset))
            return r.cross(u).times_plus(scale, offset) + moved

    return move


def _move_sdef(points: Influenced, moved: Value) -> Value:
    """Posed centers, with what they have besides where vertices have SDEF.

    Weights that sum to 0, as directions, give the difference of two joints' columns from what their set packs.
    """
    graph = points.graph
    with graph.frame("SDEF: the difference of both joints' matrices"):
        which = graph.attribute(f"{SET_ATTRIBUTE}0", "INT")
        signs = graph.attribute(SDEF_WEIGHTS_ATTRIBUTE, "FLOAT_VECTOR")
        along = graph.attribute(SDEF_ATTRIBUTE, "FLOAT_VECTOR")
        if points.turn is not None:
            along = points.turn.rotate(along)
        for column, component in enumerate(along.components()):
            packed = graph.attribute(f"{MATRIX}_{column}", "FLOAT4X4")
            difference = graph.sample(points.joints, packed, which, "EDGE").rotate(signs)
            moved = difference.times_plus(component, moved)
        return moved


def _stretch(points: Influenced, offset: Value) -> Value:
    """Offsets, stretched by the blend of the joints' stretches."""
    graph = points.graph
    with graph.frame("Stretch"):
        names = [f"{STRETCH}_{number}" for number in range(3)]
        (x, y, z), total = blend(graph, points.joints, points.set_count, points.is_interpolable, names)
        along = offset.components()
        stretched = z.times_plus(along[2], y.times_plus(along[1], x * along[0]))
        return stretched if total is None else graph.switch(total > LEAST_WEIGHT, offset, stretched / total)
