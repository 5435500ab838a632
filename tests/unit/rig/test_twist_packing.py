"""What vertices take of spread twists, as nodes read it: rows of three numbers, by pass."""

from __future__ import annotations

import numpy as np

from supple.deformers.rig.twist_packing import fill_faces, pack_twists
from supple.deformers.rig.twist_shares import TwistShares


def shares(vertices: list[int], twists: list[int], passes: list[int]) -> TwistShares:
    count = len(vertices)
    whole, below = np.linspace(0.5, 1.0, count), np.linspace(0.0, 0.5, count)
    return TwistShares(np.array(vertices), np.array(twists), np.array(passes), whole, below)


def test_vertices_without_a_twist_name_none() -> None:
    packed = pack_twists(shares([1, 3], [0, 2], [0, 0]), 4)
    assert packed.shape == (1, 4, 3)
    assert packed.dtype == np.float32
    np.testing.assert_array_equal(packed[0], [[0, 0, 0], [0.5, 0, 1], [0, 0, 0], [1, 0.5, 3]])


def test_there_are_1_or_2_or_4_or_8_passes() -> None:
    for count, expected in ((1, 1), (2, 2), (3, 4), (4, 4), (5, 8)):
        packed = pack_twists(shares([0] * count, list(range(count)), list(range(count))), 1)
        assert len(packed) == expected
        np.testing.assert_array_equal(packed[:count, 0, 2], 1 + np.arange(count))
        assert not packed[count:].any()


def test_nothing_is_packed_where_no_vertex_takes_anything() -> None:
    assert pack_twists(shares([], [], []), 4) is None
    assert fill_faces(None, np.arange(3), np.array([0])) is None


def test_all_vertices_of_a_face_name_its_twist() -> None:
    """A strip of three faces: of the first one vertex takes something, of the last none."""
    corners, starts = np.array([0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7]), np.array([0, 4, 8])
    packed = pack_twists(shares([0, 2], [1, 1], [0, 0]), 8)
    filled = fill_faces(packed.copy(), corners, starts)
    np.testing.assert_array_equal(filled[0, :, 2], [2, 2, 2, 2, 2, 2, 0, 0])
    np.testing.assert_array_equal(filled[0, :, :2], packed[0, :, :2])


def test_a_vertex_keeps_its_own_twist() -> None:
    filled = fill_faces(pack_twists(shares([0, 1], [0, 1], [0, 0]), 3), np.array([0, 1, 2]), np.array([0]))
    np.testing.assert_array_equal(filled[0, :, 2], [1, 2, 2])


def test_a_mesh_without_faces() -> None:
    packed = pack_twists(shares([0], [0], [0]), 2)
    np.testing.assert_array_equal(fill_faces(packed.copy(), np.zeros(0, int), np.zeros(0, int)), packed)
