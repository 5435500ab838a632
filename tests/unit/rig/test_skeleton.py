"""Sums along chains, and the search for the joint that each bone is joined to."""

import numpy as np
import pytest

from supple.deformers import SkinningError
from supple.deformers.rig.skeleton import Chains, find_joint_parents

from ..cases import each
from ..characters import make_tree


@each("shape", [(), (3,), (2, 2)])
@each("count", [1, 2, 3, 7, 64, 65, 300])
@each("seed", range(3))
def test_sum_over_ancestors(seed: int, count: int, shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(seed)
    parents = make_tree(random, count)
    values = random.normal(size=(count, *shape))
    expected = np.empty_like(values)
    for joint in range(count):
        expected[joint] = 0
        above = joint
        while above >= 0:
            expected[joint] += values[above]
            above = parents[above]
    np.testing.assert_allclose(Chains(parents).sum(values), expected, atol=1e-10)


@each("count", [2, 128, 129, 300])
def test_sum_over_one_long_chain(count: int) -> None:
    last_first = np.append(np.arange(1, count), -1)
    np.testing.assert_array_equal(Chains(last_first).sum(np.ones(count, int)), np.arange(count, 0, -1))


def test_sum_keeps_its_input() -> None:
    values = np.arange(4.0)
    Chains(np.array([-1, 0, 1, 2])).sum(values)
    np.testing.assert_array_equal(values, [0, 1, 2, 3])


def test_of_parents() -> None:
    chains = Chains(np.array([2, 0, -1, 0]))
    np.testing.assert_array_equal(chains.of_parents(np.array([10, 11, 12, 13]), -5), [12, 10, -5, 10])
    rows = np.arange(8.0).reshape(4, 2)
    np.testing.assert_array_equal(chains.of_parents(rows, 0.5), [[4, 5], [0, 1], [0.5, 0.5], [0, 1]])
    np.testing.assert_array_equal(chains.of_parents(rows, np.array([[7, 8]])), [[4, 5], [0, 1], [7, 8], [0, 1]])
    np.testing.assert_array_equal(chains.is_root, [False, False, True, False])


def test_no_joints() -> None:
    chains = Chains(np.zeros(0, int))
    assert chains.sum(np.zeros((0, 3))).shape == (0, 3)
    assert chains.of_parents(np.zeros((0, 3, 3)), np.eye(3)).shape == (0, 3, 3)


@each(
    "parents",
    [[0], [1, 0], [1, 2, 0], [-1, 0, 3, 4, 2], [-1, 2, 3, 1, 1, 4], [*range(1, 300), 0], [-1, *range(2, 64), 1]],
)
def test_circles_are_refused(parents: list[int]) -> None:
    with pytest.raises(SkinningError, match="circle"):
        Chains(np.array(parents))


@each("parents", [[-2], [-1, 2], [-1, 0, 99]])
def test_parents_outside_are_refused(parents: list[int]) -> None:
    with pytest.raises(SkinningError, match=f"{len(parents)} joints, but a parent is not among them: bind again"):
        Chains(np.array(parents))


def find(bones: list[tuple[object, object, int, bool]]) -> list[int]:
    """Joint parents of bones given as (head, tail, parent in the bone tree, deforms)."""
    heads, tails, parents, deforming = zip(*bones, strict=True)
    return find_joint_parents(
        np.array(heads, float), np.array(tails, float), np.array(parents), np.array(deforming)
    ).tolist()


def test_plain_chain() -> None:
    assert find([((0, 0, z), (0, 0, z + 1), z - 1, True) for z in range(4)]) == [-1, 0, 1, 2]


def test_single_bone() -> None:
    assert find([((0, 0, 0), (0, 0, 1), -1, True)]) == [-1]


def test_no_deforming_bone() -> None:
    assert find([((0, 0, z), (0, 0, z + 1), z - 1, False) for z in range(3)]) == [-1, -1, -1]


def test_no_bones() -> None:
    assert find_joint_parents(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0, int), np.zeros(0, bool)).tolist() == []


def test_deforming_bones_hang_on_control_bones() -> None:
    """As Rigify builds a limb: the upper arm is cut in two, and each piece hangs on its control bone."""
    bones = [
        ((0, 0, -1), (0, 1, -1), -1, False),  # 0 root
        ((0, 0, 0), (0, 0, 2), 0, False),  # 1 upper control
        ((0, 0, 2), (0, 0, 4), 1, False),  # 2 lower control
        ((0, 0, 0), (0, 0, 1), 1, True),  # 3 upper, first half
        ((0, 0, 1), (0, 0, 2), 1, True),  # 4 upper, second half
        ((0, 0, 2), (0, 0, 4), 2, True),  # 5 lower
        ((0, 0, 4), (0, 0, 5), 5, True),  # 6 hand, directly on the lower arm
    ]
    assert find(bones) == [-1, -1, -1, -1, 3, 4, 5]


def test_head_on_the_middle_of_an_ancestor() -> None:
    """The ancestor wins over a bone whose tail happens to be there."""
    bones = [
        ((0, 0, 0), (0, 0, 4), -1, True),  # 0 spine
        ((0, 0, 2), (1, 0, 2), 0, False),  # 1 control
        ((0, 0.1, 2), (2, 0, 2), 1, True),  # 2 rib, a little off the spine
        ((-1, 0.1, 2), (0, 0.1, 2), 0, True),  # 3 the other rib ends where this one starts
    ]
    assert find(bones) == [-1, -1, 0, 0]


def test_head_off_the_ancestor_at_the_tail_of_another() -> None:
    bones = [
        ((0, 0, 0), (0, 0, 4), -1, True),  # 0 spine
        ((0, 0, 2), (1, 0, 2), 0, False),  # 1 control
        ((1, 0, 2), (2, 0, 2), 1, True),  # 2 forearm
        ((0, 0, 2), (1, 0, 2), 0, True),  # 3 upper arm
    ]
    assert find(bones) == [-1, -1, 3, 0]


def test_nothing_touches_so_the_ancestor_carries() -> None:
    bones = [
        ((0, 0, 0), (0, 0, 4), -1, True),  # 0 spine
        ((5, 0, 0), (5, 0, 1), 0, False),  # 1 control
        ((5, 0, 0), (5, 0, 1), 1, True),  # 2 far away
        ((5, 0.5, 0), (5, 0.5, 1), -1, True),  # 3 nearer, but no ancestor: it is joined to what is nearest to it
    ]
    assert find(bones) == [-1, -1, 0, 2]


def test_control_bone_stands_for_the_bone_on_it() -> None:
    """The lower arm starts beside the upper one's tail, where another bone is nearer: the control bones tell."""
    bones = [
        ((0, 0, -1), (0, 1, -1), -1, False),  # 0 root
        ((0, 0, 0), (0, 0, 2), 0, False),  # 1 upper control
        ((0.5, 0, 2), (0.5, 0, 4), 1, False),  # 2 lower control
        ((0, 0, 0), (0, 0, 2), 1, True),  # 3 upper
        ((0.5, 0, 2), (0.5, 0, 4), 2, True),  # 4 lower
        ((0.6, 0, 2), (0.6, 0, 3), 0, True),  # 5 strap
    ]
    assert find(bones) == [-1, -1, -1, -1, 3, 4]


def test_loop_of_bones_head_to_tail() -> None:
    """Eyelids: each bone's tail is at the next one's head, and the last closes the ring."""
    corners = [(1, 0, 2), (0, 1, 2), (-1, 0, 2), (0, -1, 2)]
    bones = [((0, 0, -1), (0, 0, 0), -1, False)]
    bones += [(corners[i], corners[(i + 1) % 4], 0, True) for i in range(4)]
    parents = find(bones)
    assert parents[0] == -1
    assert sorted(parents[1:]).count(-1) == 1
    root = 1 + parents[1:].index(-1)
    for bone in range(1, 5):
        assert bone == root or parents[bone] == 1 + (bone - 2) % 4
    Chains(np.array(parents))


def test_parts_are_joined_smaller_to_larger() -> None:
    bones = [
        ((0, 0, 9), (0, 0, 10), -1, True),  # 0 alone: nearest to bone 2
        ((9, 0, 8), (9, 0, 7), -1, True),  # 1 of two, nearest to bone 5
        ((9, 0, 6), (5, 0, 9.5), 1, True),  # 2
        ((0, 0, 0), (0, 0, 1), -1, True),  # 3 of three
        ((0, 0, 1), (0, 0, 2), 3, True),  # 4
        ((0, 0, 2), (0, 0, 3), 4, True),  # 5
    ]
    assert find(bones) == [2, 5, 1, -1, 3, 4]


@each("seed", range(12))
def test_random_rigs_give_one_tree(seed: int) -> None:
    random = np.random.default_rng(seed)
    count = int(random.integers(2, 60))
    bone_parents = make_tree(random, count)
    deforming = random.random(count) < 0.6
    deforming[0] = True
    heads = random.integers(0, 3, (count, 3)).astype(float)  # a coarse grid: many heads meet tails
    tails = heads + random.integers(-1, 2, (count, 3))
    parents = find_joint_parents(heads, tails, bone_parents, deforming)
    Chains(parents)
    assert (parents[~deforming] == -1).all()
    assert np.count_nonzero(parents[deforming] == -1) == 1
    assert deforming[parents[parents >= 0]].all()
    directly = deforming & (bone_parents >= 0) & deforming[bone_parents]
    kept = parents[directly] == bone_parents[directly]
    assert kept.all()
