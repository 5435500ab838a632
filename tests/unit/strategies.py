"""Random meshes, skeletons, weights and poses for tests of invariants: small, so that a test can try many.

A test draws them with Hypothesis: `@given(characters(), st.data())`. Bulk numbers come from a drawn seed, which is
faster than a draw for each; counts, axes and angles are drawn one by one, so that Hypothesis can make them simpler.
"""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from . import characters as made
from . import meshes as shapes
from .characters import Character

generators = st.integers(0, 2**32 - 1).map(np.random.default_rng)


@st.composite
def rotations(draw: st.DrawFn, max_degrees: float = 170.0) -> np.ndarray:
    """A rotation matrix, shape (3, 3)."""
    axis = draw(st.tuples(*[st.integers(-3, 3)] * 3).filter(any))
    return made.rotation(axis, draw(st.floats(-max_degrees, max_degrees)))


@st.composite
def rigid_motions(draw: st.DrawFn) -> np.ndarray:
    """A rotation about the origin and a move of up to 2 units along each axis, shape (4, 4)."""
    return made.about(draw(rotations()), np.zeros(3), draw(st.tuples(*[st.floats(-2.0, 2.0)] * 3)))


@st.composite
def meshes(draw: st.DrawFn) -> shapes.Mesh:
    """A closed ball, an open tube or a flat sheet, about 1 unit large: points (V, 3), triangles (T, 3)."""
    kind, count = draw(st.sampled_from(("ball", "tube", "sheet"))), draw(st.integers(4, 7))
    if kind == "ball":
        return shapes.make_sphere(count)
    if kind == "tube":
        return shapes.make_tube(0.3, count, sides=count)
    return shapes.make_sheet(np.linspace(0.0, 1.0, count), np.linspace(0.0, 2.0, count + 1))


@st.composite
def skeletons(draw: st.DrawFn, max_joints: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Centers (B, 3) and parents (B,) of joints in any order, in one tree, as an armature gives them."""
    random, count = draw(generators), draw(st.integers(1, max_joints))
    parents = np.array([-1, *(draw(st.integers(0, joint - 1)) for joint in range(1, count))])
    order = random.permutation(count)
    place = np.argsort(order)
    return random.uniform(-1.0, 1.0, (count, 3)), np.where(parents < 0, -1, place[parents])[order]


@st.composite
def weights(draw: st.DrawFn, vertex_count: int, joint_count: int, max_joints: int = 4) -> np.ndarray:
    """Dense weights (V, B) that sum to 1, each vertex with at most `max_joints` joints."""
    values = draw(generators).uniform(size=(vertex_count, joint_count))
    values[np.argsort(np.argsort(values, axis=1), axis=1) < joint_count - max_joints] = 0.0
    return values / values.sum(axis=1, keepdims=True)


@st.composite
def characters(draw: st.DrawFn, max_joints: int = 6) -> Character:
    """A mesh with a skeleton and weights."""
    (points, _), (centers, parents) = draw(meshes()), draw(skeletons(max_joints))
    return Character(points, draw(weights(len(points), len(parents))), centers, parents)


@st.composite
def poses(draw: st.DrawFn, character: Character, stretch: bool = True) -> np.ndarray:
    """Matrices (B, 4, 4) of joints that inherit from their parents: rotated and, if `stretch`, scaled."""
    random = draw(generators)
    parts = {}
    for joint in range(len(character.parents)):
        scale = np.diag(random.uniform(0.7, 1.4, 3)) if stretch and draw(st.booleans()) else np.eye(3)
        parts[joint] = draw(rotations()) @ scale
    return made.pose_chain(character, parts)
