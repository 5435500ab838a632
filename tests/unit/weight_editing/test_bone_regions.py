"""Regions of bones on a row of vertices: each follows its neighbor, or does not."""

import numpy as np

from supple.deformers import Weights
from supple.deformers.weight_editing.bone_regions import find_misplaced, find_unblended

from ..cases import each

PARENTS = np.array([-1, 0, 1, 2, 0, 4, 5])
"""Two chains of three from a root."""


def make_row(owners: list[int], width: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """A ribbon of so many vertices across, a bone for each step along it: owners (V,) and edges (E, 2)."""
    count = len(owners)
    index = np.arange(count * width).reshape(count, width)
    across = np.stack([index[:, :-1], index[:, 1:]], axis=-1).reshape(-1, 2)
    along = np.stack([index[:-1], index[1:]], axis=-1).reshape(-1, 2)
    return np.repeat(owners, width), np.concatenate([across, along])


def test_regions_in_the_order_of_the_skeleton():
    owners, edges = make_row([3, 3, 2, 2, 1, 0, 4, 5, 6])
    assert not find_misplaced(owners, edges, PARENTS).any()


def test_swapped_regions_are_found():
    owners, edges = make_row([3, 5, 1, 0, 4, 2, 6])
    assert np.flatnonzero(find_misplaced(owners, edges, PARENTS)).tolist() == [2, 3, 5, 6]


def test_bones_without_skin_are_passed_over():
    owners, edges = make_row([3, 3, 0, 0, 6])
    assert not find_misplaced(owners, edges, PARENTS).any()


def test_a_part_that_touches_nothing_is_not_misplaced():
    owners, edges = make_row([6, 6])
    assert not find_misplaced(owners, edges, PARENTS).any()


@each(("share", "is_hard"), [(0.0, True), (0.3, False)])
def test_joints_that_are_not_blended(share: float, is_hard: bool):
    owners, edges = make_row([0, 0, 1, 1])
    dense = np.zeros((len(owners), len(PARENTS)))
    dense[np.arange(len(owners)), owners] = 1.0 - share
    dense[np.arange(len(owners)), 1 - owners] += share
    found = find_unblended(Weights.from_dense(dense), owners, edges, PARENTS)
    assert np.flatnonzero(found).tolist() == ([1] if is_hard else [])


def test_few_edges_are_no_joint():
    owners, edges = make_row([0, 0, 1, 1], width=3)
    dense = np.zeros((len(owners), len(PARENTS)))
    dense[np.arange(len(owners)), owners] = 1.0
    assert not find_unblended(Weights.from_dense(dense), owners, edges, PARENTS).any()
