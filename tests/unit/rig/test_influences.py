"""Weights packed into slots: nothing is lost, and slots for interpolation mean one joint in each face."""

import numpy as np
import pytest

from supple.deformers import Weights
from supple.deformers.rig.influences import Influences, pack_influences, pack_interpolable_influences
from supple.deformers.rig.rest import LEAST_WEIGHT

NO_FACES = np.zeros(0, np.int32), np.zeros(0, np.int32)


def pack(dense: np.ndarray, faces: list[np.ndarray] | None = None) -> Influences:
    """By strength; to be interpolated where faces are given."""
    weights = Weights.from_dense(dense)
    if faces is None:
        return pack_influences(weights, *dense.shape)
    starts = np.cumsum([0, *map(len, faces[:-1])])
    return pack_interpolable_influences(weights, *dense.shape, np.concatenate(faces), starts)


def unpack(influences: Influences, joint_count: int) -> np.ndarray:
    """Dense weights, shape (V, B)."""
    _, vertices = np.indices(influences.joints.shape)
    dense = np.zeros((influences.joints.shape[1], joint_count))
    np.add.at(dense, (vertices, influences.joints), influences.weights)
    return dense


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


@pytest.mark.parametrize(("vertex_count", "joint_count"), SIZES)
def test_slots_by_strength(vertex_count: int, joint_count: int) -> None:
    dense = make_weights(np.random.default_rng(1), vertex_count + 1, joint_count)
    packed = pack(dense)
    assert (packed.joints.dtype, packed.weights.dtype) == (np.int32, np.float32)
    assert packed.weights.shape == packed.joints.shape == ((dense > 0).sum(axis=1).max(), vertex_count + 1)
    assert (np.diff(packed.weights, axis=0) <= 0).all()
    assert (packed.joints[packed.weights == 0] == 0).all()
    np.testing.assert_allclose(unpack(packed, joint_count), normalize(dense), atol=1e-7)


def test_by_hand() -> None:
    packed = pack(np.array([[0.0, 1.0, 3.0], [0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]))
    np.testing.assert_array_equal(packed.joints, [[2, 0, 0], [1, 0, 0]])
    np.testing.assert_array_equal(packed.weights, [[0.75, 0, 1], [0.25, 0, 0]])


def test_slots_to_interpolate_by_hand() -> None:
    """A strip of quads, a bone each: a bone meets only its neighbors', so two slots and a third do for five bones."""
    dense = np.repeat(np.eye(5), 2, axis=0)
    faces = [np.array([2 * i, 2 * i + 1, 2 * i + 3, 2 * i + 2]) for i in range(4)]
    packed = pack(dense, faces)
    assert len(packed.joints) == 3
    np.testing.assert_array_equal(unpack(packed, 5), dense)
    np.testing.assert_array_equal(np.sort(packed.joints[:, 4]), [1, 2, 3])
    np.testing.assert_array_equal(packed.joints[:, 4], packed.joints[:, 5])


@pytest.mark.parametrize(("vertex_count", "joint_count"), SIZES[1:])
def test_in_each_face_a_slot_means_one_joint(vertex_count: int, joint_count: int) -> None:
    random = np.random.default_rng(2)
    dense = make_weights(random, vertex_count, joint_count, most=3)
    faces = make_faces(random, vertex_count, vertex_count // 4)
    packed = pack(dense, faces)
    assert (packed.joints.dtype, packed.weights.dtype) == (np.int32, np.float32)
    np.testing.assert_allclose(unpack(packed, joint_count), dense, rtol=1e-6)
    for face in faces:
        used = (packed.weights[:, face] > 0).any(axis=1)
        assert (packed.joints[used][:, face] == packed.joints[used][:, face[:1]]).all()


@pytest.mark.parametrize(("vertex_count", "joint_count"), SIZES[1:])
def test_slots_interpolated_are_weights_interpolated(vertex_count: int, joint_count: int) -> None:
    """What modifiers that add vertices do: weights are averaged, and a joint is taken over from any of the corners."""
    random = np.random.default_rng(3)
    dense = make_weights(random, vertex_count, joint_count, most=3)
    faces = make_faces(random, vertex_count, vertex_count // 4)
    packed = pack(dense, faces)
    for face in faces:
        shares = random.dirichlet(np.ones(len(face)))
        middle = Influences(packed.joints[:, face[-1:]], (packed.weights[:, face] @ shares)[:, None])
        np.testing.assert_allclose(unpack(middle, joint_count)[0], shares @ dense[face], atol=1e-6)


def test_a_slot_of_strength_cannot_be_interpolated() -> None:
    """The reason for the other kind."""
    packed = pack(np.array([[0.6, 0.4], [0.4, 0.6]]))
    assert packed.joints[0].tolist() == [0, 1]
    packed = pack(np.array([[0.6, 0.4], [0.4, 0.6]]), [np.array([0, 1])])
    assert packed.joints[:, 0].tolist() == packed.joints[:, 1].tolist()


KINDS = pytest.mark.parametrize("faces", [None, [np.array([0, 1, 2]), np.array([2, 3, 4, 0])]], ids=["", "faces"])


@KINDS
def test_duplicates_add_up(faces: list[np.ndarray] | None) -> None:
    weights = Weights(np.array([0, 0, 0, 0, 4]), np.array([2, 1, 2, 0, 1]), np.array([0.2, 0.25, 0.3, 0.25, 7.0]))
    if faces is None:
        packed = pack_influences(weights, 5, 3)
        np.testing.assert_array_equal(packed.joints[0, [0, 4]], [2, 1])
    else:
        packed = pack_interpolable_influences(weights, 5, 3, np.concatenate(faces), np.array([0, 3]))
    assert packed.joints.shape == (3, 5)
    expected = np.zeros((5, 3))
    expected[0], expected[4] = (0.25, 0.25, 0.5), (0, 1 if faces is None else 7, 0)
    np.testing.assert_allclose(unpack(packed, 3), expected, atol=1e-7)


@KINDS
def test_vertices_without_weights(faces: list[np.ndarray] | None) -> None:
    """None, too little, and negative weights: what is left sums to nothing, and the vertex stays at rest."""
    dense = np.array([[0.0, 0.0], [5e-5, 4e-5], [-1.0, -2.0], [-1.0, 2.0], [0.3, 0.9]])
    packed = pack(dense, faces)
    assert (packed.weights[:, :3].sum(axis=0) <= LEAST_WEIGHT).all()
    np.testing.assert_allclose(normalize(unpack(packed, 2))[3:], [[0, 1], [0.25, 0.75]], atol=1e-7)


@KINDS
def test_no_weights_at_all(faces: list[np.ndarray] | None) -> None:
    packed = pack(np.zeros((5, 4)), faces)
    assert packed.joints.shape == (1, 5)
    assert not packed.joints.any()
    assert not packed.weights.any()


def test_no_faces() -> None:
    dense = make_weights(np.random.default_rng(4), 30, 12)
    packed = pack_interpolable_influences(Weights.from_dense(dense), 30, 12, *NO_FACES)
    np.testing.assert_allclose(unpack(packed, 12), dense, rtol=1e-6)
