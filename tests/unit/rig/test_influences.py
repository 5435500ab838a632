"""Weights packed into sets: nothing is lost, and slots for interpolation mean one joint in each face."""

from dataclasses import replace

import numpy as np
import pytest

from supple.deformers import Weights
from supple.deformers.rig.influences import (
    SET_SIZE,
    Influences,
    find_sets,
    pack_influences,
    pack_interpolable_influences,
)
from supple.deformers.rig.rest import LEAST_WEIGHT

from ..cases import each

NO_FACES = np.zeros(0, np.int32), np.zeros(0, np.int32)


def pack(dense: np.ndarray, faces: list[np.ndarray] | None = None) -> Influences:
    """To be interpolated where faces are given."""
    weights = Weights.from_dense(dense)
    if faces is None:
        return pack_influences(weights, *dense.shape)
    starts = np.cumsum([0, *map(len, faces[:-1])])
    return pack_interpolable_influences(weights, *dense.shape, np.concatenate(faces), starts)


def unpack(influences: Influences, joint_count: int) -> np.ndarray:
    """Dense weights, shape (V, B); those of the joint that stays at rest are left out."""
    weights = influences.weights.astype(float)
    weights = np.concatenate([weights, 1.0 - weights.sum(axis=2, keepdims=True)], axis=2)
    if influences.shares is not None:
        weights *= influences.shares[:, :, None]
    joints = influences.sets[influences.which]
    vertices = np.broadcast_to(np.arange(joints.shape[1])[:, None], joints.shape)
    dense = np.zeros((joints.shape[1], joint_count + 1))
    np.add.at(dense, (vertices, joints), weights)
    return dense[:, :-1]


def joints_of(influences: Influences) -> np.ndarray:
    """What sets of one joint each stand for, shape (K, V)."""
    assert (influences.sets == influences.sets[:, :1]).all()
    return influences.sets[influences.which][:, :, 0]


def normalize(dense: np.ndarray) -> np.ndarray:
    positive = np.maximum(dense, 0.0)
    sums = positive.sum(axis=1, keepdims=True)
    return np.divide(positive, sums, out=np.zeros_like(positive), where=sums > 1e-4)


def make_weights(random: np.random.Generator, vertex_count: int, joint_count: int, most: int = 6) -> np.ndarray:
    """Rows of up to `most` joints and any sum; every tenth vertex has none."""
    dense = np.zeros((vertex_count, joint_count))
    for vertex in range(vertex_count):
        if vertex % 10:
            felt = random.choice(joint_count, random.integers(1, min(most, joint_count) + 1), replace=False)
            dense[vertex, felt] = random.uniform(0.01, 3.0, len(felt))
    return dense


def make_faces(random: np.random.Generator, vertex_count: int, count: int) -> list[np.ndarray]:
    """Faces of three to seven vertices; some vertices belong to none."""
    return [random.choice(vertex_count - 5, random.integers(3, 8), replace=False) for _ in range(count)]


SIZES = [(1, 1), (40, 3), (200, 8), (200, 9), (300, 70)]


@each(("vertex_count", "joint_count"), SIZES)
@each("most", [4, 6, 11])
def test_sets_hold_the_weights(vertex_count: int, joint_count: int, most: int) -> None:
    dense = make_weights(np.random.default_rng(1), vertex_count + 1, joint_count, most)
    packed = pack(dense)
    depth = -(-int((dense > 0).sum(axis=1).max()) // SET_SIZE)
    assert packed.which.shape == (depth, vertex_count + 1)
    assert (packed.sets.dtype, packed.which.dtype, packed.weights.dtype) == (np.int32, np.int32, np.float32)
    assert (packed.shares is None) == (depth == 1)
    assert (packed.weights >= 0).all()
    assert (packed.weights.sum(axis=2) <= 1 + 1e-6).all()
    np.testing.assert_allclose(unpack(packed, joint_count), normalize(dense), atol=1e-6)


@each("most", [3, 6])
def test_no_set_is_part_of_another(most: int) -> None:
    packed = pack(make_weights(np.random.default_rng(5), 300, 12, most))
    members = [set(row) for row in packed.sets.tolist()]
    assert not any(one < other for one in members for other in members)
    assert len({frozenset(row) for row in members}) == len(members)
    assert set(packed.which.ravel().tolist()) == set(range(len(members)))


def test_by_hand() -> None:
    packed = pack(np.array([[0.0, 1.0, 3.0], [0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]))
    np.testing.assert_array_equal(packed.sets, [[0, 0, 0, 0], [1, 2, 2, 2], [3, 3, 3, 3]])
    np.testing.assert_array_equal(packed.which, [[1, 2, 0]])
    np.testing.assert_array_equal(packed.weights, [[[0.25, 0.75, 0], [1, 0, 0], [1, 0, 0]]])
    assert packed.shares is None


def test_sets_are_found_among_known_ones() -> None:
    known = np.array([[0, 1, 2, 3], [4, 4, 4, 4]], np.int32)
    wanted = np.array([[4, 4, 4, 4], [1, 2, 2, 2], [0, 1, 2, 3], [5, 6, 7, 8]], np.int32)
    places, grown = find_sets(known, wanted)
    np.testing.assert_array_equal(grown[places], wanted)
    np.testing.assert_array_equal(grown[:2], known)
    assert len(grown) == 4
    again, same = find_sets(grown, wanted)
    np.testing.assert_array_equal(again, places)
    np.testing.assert_array_equal(same, grown)
    none, all_new = find_sets(np.zeros((0, SET_SIZE), np.int32), wanted)
    np.testing.assert_array_equal(all_new[none], wanted)


def test_slots_to_interpolate_by_hand() -> None:
    """A strip of quads, a bone each: a bone meets only its neighbors', so two slots and a third do for five bones."""
    dense = np.repeat(np.eye(5), 2, axis=0)
    faces = [np.array([2 * i, 2 * i + 1, 2 * i + 3, 2 * i + 2]) for i in range(4)]
    packed = pack(dense, faces)
    joints = joints_of(packed)
    assert len(joints) == 3
    np.testing.assert_array_equal(unpack(packed, 5), dense)
    np.testing.assert_array_equal(np.sort(joints[:, 4]), [1, 2, 3])
    np.testing.assert_array_equal(joints[:, 4], joints[:, 5])


@each(("vertex_count", "joint_count"), SIZES[1:])
def test_in_each_face_a_slot_means_one_joint(vertex_count: int, joint_count: int) -> None:
    random = np.random.default_rng(2)
    dense = make_weights(random, vertex_count, joint_count, most=3)
    faces = make_faces(random, vertex_count, vertex_count // 4)
    packed = pack(dense, faces)
    assert packed.shares is not None
    assert (packed.which.dtype, packed.shares.dtype) == (np.int32, np.float32)
    np.testing.assert_allclose(unpack(packed, joint_count), dense, rtol=1e-6)
    joints = joints_of(packed)
    for face in faces:
        used = (packed.shares[:, face] > 0).any(axis=1)
        assert (joints[used][:, face] == joints[used][:, face[:1]]).all()


@each(("vertex_count", "joint_count"), SIZES[1:])
def test_slots_interpolated_are_weights_interpolated(vertex_count: int, joint_count: int) -> None:
    """What modifiers that add vertices do: weights are averaged, and a joint is taken over from any of the corners."""
    random = np.random.default_rng(3)
    dense = make_weights(random, vertex_count, joint_count, most=3)
    faces = make_faces(random, vertex_count, vertex_count // 4)
    packed = pack(dense, faces)
    for face in faces:
        assert packed.shares is not None
        parts = random.dirichlet(np.ones(len(face)))
        middle = replace(
            packed,
            which=packed.which[:, face[-1:]],
            weights=np.tensordot(parts, packed.weights[:, face], (0, 1))[:, None],
            shares=(packed.shares[:, face] @ parts)[:, None],
        )
        np.testing.assert_allclose(unpack(middle, joint_count)[0], parts @ dense[face], atol=1e-6)


KINDS = pytest.mark.parametrize("faces", [None, [np.array([0, 1, 2]), np.array([2, 3, 4, 0])]], ids=["", "faces"])


@KINDS
def test_duplicates_add_up(faces: list[np.ndarray] | None) -> None:
    weights = Weights(np.array([0, 0, 0, 0, 4]), np.array([2, 1, 2, 0, 1]), np.array([0.2, 0.25, 0.3, 0.25, 7.0]))
    if faces is None:
        packed = pack_influences(weights, 5, 3)
    else:
        packed = pack_interpolable_influences(weights, 5, 3, np.concatenate(faces), np.array([0, 3]))
    expected = np.zeros((5, 3))
    expected[0], expected[4] = (0.25, 0.25, 0.5), (0, 1 if faces is None else 7, 0)
    np.testing.assert_allclose(unpack(packed, 3), expected, atol=1e-7)


@KINDS
def test_vertices_without_weights(faces: list[np.ndarray] | None) -> None:
    """None, too little, and negative weights: what is left sums to nothing, and the vertex stays at rest."""
    dense = np.array([[0.0, 0.0], [5e-5, 4e-5], [-1.0, -2.0], [-1.0, 2.0], [0.3, 0.9]])
    packed = pack(dense, faces)
    assert (unpack(packed, 2)[:3].sum(axis=1) <= LEAST_WEIGHT).all()
    np.testing.assert_allclose(normalize(unpack(packed, 2))[3:], [[0, 1], [0.25, 0.75]], atol=1e-7)


@KINDS
def test_no_weights_at_all(faces: list[np.ndarray] | None) -> None:
    packed = pack(np.zeros((5, 4)), faces)
    assert packed.which.shape == (1, 5)
    assert not unpack(packed, 4).any()


def test_no_faces() -> None:
    dense = make_weights(np.random.default_rng(4), 30, 12)
    packed = pack_interpolable_influences(Weights.from_dense(dense), 30, 12, *NO_FACES)
    np.testing.assert_allclose(unpack(packed, 12), dense, rtol=1e-6)
