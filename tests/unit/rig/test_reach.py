"""Which joints vertices follow at once, and whether their quaternions agree whatever is posed."""

from __future__ import annotations

import numpy as np
import pytest

from supple.deformers.rig.reach import Followed, Reach, do_signs_agree, find_pairs
from supple.deformers.rig.rest import Joints, Weights

from ..cases import each

FORK = Joints(np.zeros((4, 3)), np.array([-1, 0, 0, 2]))
"""A root, its children 1 and 2, and 3 below 2; what has the index 4 stays at rest."""


def turn(degrees: float) -> list[float]:
    """About z."""
    half = 0.5 * np.radians(degrees)
    return [float(np.cos(half)), 0.0, 0.0, float(np.sin(half))]


def reach(*samples: tuple[float, ...], free: tuple[int, ...] = ()) -> Reach:
    """Poses of the fork: by how many degrees each joint is turned against rest."""
    is_free = np.isin(np.arange(4), free)
    turns = np.array([[turn(degrees) for degrees in sample] for sample in samples])
    return Reach("", turns, is_free, np.zeros(4), np.ones(4, bool))


def follow(*vertices: dict[int, float]) -> Followed:
    """Vertices that follow joints, by their weights, in this order."""
    owners = np.repeat(np.arange(len(vertices)), [len(one) for one in vertices])
    joints, values = (np.array([each for one in vertices for each in part(one)]) for part in (dict.keys, dict.values))
    weights = Weights(owners, joints.astype(int), values.astype(float))
    return Followed(find_pairs(weights, FORK), weights)


@each(
    ("followed", "expected"),
    [
        ([], []), ([[0]], []), ([[4]], []), ([[0, 1]], []), ([[2, 0], [3, 2]], []),  # parent and child
        ([[1, 2]], [[1, 2]]), ([[2, 1], [1, 2]], [[1, 2]]), ([[3, 0]], [[0, 3]]),
        ([[1], [2]], []),  # of different vertices
        ([[3, 2, 1, 0]], [[0, 3], [1, 2], [1, 3]]), ([[1, 1]], []), ([[4, 0]], [[0, 4]]),
    ],
)  # fmt: skip
def test_pairs_that_are_not_parent_and_child(followed, expected) -> None:
    vertices = np.repeat(np.arange(len(followed)), [len(joints) for joints in followed])
    joints = np.array([joint for of_vertex in followed for joint in of_vertex], int)
    weights = Weights(vertices, joints, np.full(len(joints), 0.5))
    assert find_pairs(weights, FORK).tolist() == expected


def test_weights_of_nothing_make_no_pair() -> None:
    weights = Weights(np.array([0, 0, 0]), np.array([0, 1, 2]), np.array([0.5, 0.5, 1e-8]))
    assert find_pairs(weights, FORK).tolist() == []


@each(
    ("samples", "pairs", "expected"),
    [
        ([(0, 0, 0, 0)], [[1, 2]], True),
        ([(0, 80, -80, 0)], [[1, 2]], True),
        ([(0, 100, -100, 0)], [[1, 2]], False),  # siblings that are more than half a turn apart
        ([(0, 0, 0, 0), (0, 100, -100, 0)], [[1, 2]], False),  # in one of the poses
        ([(0, 100, -100, 0)], [[0, 3]], True),  # others
        ([(0, 100, -100, 0)], [], True),
        ([(160, 230, 90, 90)], [[1, 2]], True),  # against each other, not against rest
        ([(0, 0, 120, 240)], [[0, 3]], False),  # along a chain
        ([(0, 0, 120, 30)], [[0, 3]], True),
        ([(150, 150, 0, 0)], [[1, 4]], True),  # what stays at rest
        ([(150, 200, 0, 0)], [[1, 4]], False),
    ],
)  # fmt: skip
def test_whether_signs_agree(samples, pairs, expected) -> None:
    found, followed = reach(*samples), follow(*({first: 0.5, second: 0.5} for first, second in pairs))
    assert do_signs_agree(found, FORK, followed) is expected
    signs = np.where(np.random.default_rng(0).random(found.rotations.shape[:2]) < 0.5, -1.0, 1.0)
    other = Reach("", found.rotations * signs[..., None], found.is_free, found.twists, found.bones)
    assert do_signs_agree(other, FORK, followed) is expected  # whatever signs were read


@each(
    ("free", "pairs", "expected"),
    [
        ((), [[1, 2]], True), ((1,), [[1, 2]], False), ((2,), [[1, 3]], False), ((0,), [[1, 2]], True),
        ((3,), [[1, 2]], True), ((0,), [[1, 4]], False),
    ],
)  # fmt: skip
def test_joints_that_may_rotate_in_any_way(free, pairs, expected) -> None:
    """Free joints on the way from one of a pair to the other are asked for; what is above both is not."""
    followed = follow(*({first: 0.5, second: 0.5} for first, second in pairs))
    assert do_signs_agree(reach((0, 0, 0, 0), free=free), FORK, followed) is expected


@pytest.mark.parametrize("degrees", [160.0, 175.0])
def test_what_nearly_disagrees_is_not_taken(degrees: float) -> None:
    """What is between two samples may differ from both."""
    assert do_signs_agree(reach((0, degrees, 0, 0)), FORK, follow({1: 0.5, 2: 0.5})) is (degrees < 162.7)


@each(
    ("vertex", "expected"),
    [
        ({1: 0.5, 2: 0.5}, False),
        ({0: 0.8, 1: 0.1, 2: 0.1}, True),  # both agree with what comes first
        ({1: 0.1, 2: 0.1, 0: 0.8}, False),  # the second is compared with the first
        ({1: 0.1, 0: 0.8, 2: 0.1}, True),
        ({1: 0.6, 0: 0.3, 2: 0.1}, False),  # the sum is nearer to the first
        ({0: 0.8, 1: 0.1, 2: 0.1, 3: 0.0}, True),
    ],
)  # fmt: skip
def test_where_two_disagree_the_order_at_a_vertex_tells(vertex: dict[int, float], expected: bool) -> None:
    """Turned by 100 degrees to either side of their parent, they disagree with each other, but not with it."""
    followed, found = follow({0: 1.0}, vertex, {1: 0.5, 0: 0.5}), reach((0, 100, -100, -100))
    assert do_signs_agree(found, FORK, followed) is expected
    assert not do_signs_agree(found, FORK, Followed(followed.pairs, None)), "without an order, all must agree"
