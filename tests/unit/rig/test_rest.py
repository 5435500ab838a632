"""What is refused at bind or in a frame, and the words for it."""

import dataclasses

import numpy as np
import pytest

from supple.deformers import Joints, Pose, Rest, SkinningError, Weights
from supple.deformers.skinning.dlbnt import Params

from ..cases import each

JOINTS = Joints(np.zeros((2, 3)), np.array([-1, 0]))
WEIGHTS = Weights(np.array([0, 1, 1]), np.array([0, 0, 1]), np.array([1.0, 0.5, 0.5]))


def make_rest(**changes: object) -> Rest:
    return Rest(**({"points": np.zeros((3, 3)), "weights": WEIGHTS, "joints": JOINTS} | changes))


def change_weights(**changes: object) -> Weights:
    return dataclasses.replace(WEIGHTS, **{name: np.array(values) for name, values in changes.items()})


def test_good_input_passes() -> None:
    rest = make_rest(linear=np.zeros(3), strength=np.ones(3))
    assert (rest.linear.tolist(), rest.strength.tolist()) == ([0, 0, 0], [1, 1, 1])
    empty = make_rest(points=np.zeros((0, 3)), weights=Weights.from_dense(np.zeros((0, 2))))
    assert (len(empty.points), len(empty.weights.values)) == (0, 0)
    assert Pose(np.zeros((2, 4, 4)), np.eye(4)).rest_to_pose.shape == (2, 4, 4)


@each(
    ("changes", "message"),
    [
        ({"points": np.zeros((3, 2))}, r"shape \(3, 2\), not \(V, 3\)"),
        ({"points": np.zeros(3)}, r"shape \(3,\), not \(V, 3\)"),
        ({"weights": change_weights(values=[1.0, 0.5])}, "3 vertices, 3 joints and 2 values"),
        ({"weights": change_weights(joints=[0, 0])}, "3 vertices, 2 joints and 3 values"),
        ({"weights": change_weights(vertices=[0, 1])}, "2 vertices, 3 joints and 3 values"),
        ({"weights": change_weights(vertices=[0, 1, 3])}, "3 vertices, but vertex 3 has weights"),
        ({"weights": change_weights(vertices=[0, 2, 1])}, "not ordered by vertex"),
        ({"weights": change_weights(vertices=[-1, 0, 1])}, "not ordered by vertex"),
        ({"weights": change_weights(joints=[0, 2, 1])}, "2 joints, but weights for joint 2"),
        ({"weights": change_weights(values=[0.5, np.nan, 1])}, "not numbers"),
        ({"weights": change_weights(values=[0.5, np.inf, 1])}, "not numbers"),
        ({"linear": np.zeros(4)}, "3 vertices, but 4 values of linear"),
        ({"strength": np.zeros(2)}, "3 vertices, but 2 values of strength"),
    ],
)
def test_rest_refuses(changes: dict[str, object], message: str) -> None:
    with pytest.raises(SkinningError, match=message):
        make_rest(**changes)


@each(
    ("matrices", "message"),
    [
        (np.eye(4), r"shape \(4, 4\), not \(B, 4, 4\)"),
        (np.zeros((2, 3, 4)), r"shape \(2, 3, 4\), not \(B, 4, 4\)"),
        (np.full((2, 4, 4), np.nan), "not numbers"),
        (np.full((2, 4, 4), -np.inf), "not numbers"),
    ],
)
def test_pose_refuses(matrices: np.ndarray, message: str) -> None:
    with pytest.raises(SkinningError, match=message):
        Pose(matrices)


@each("order", ["gh", "", "GHG"])
def test_params_refuse(order: str) -> None:
    with pytest.raises(SkinningError, match=f"Order is '{order}': choose one of GH, HG"):
        Params(order=order)


@each("order", ["GH", "HG"])
def test_params_accept(order: str) -> None:
    assert Params(order=order).order == order


def test_weights_from_dense() -> None:
    weights = Weights.from_dense(np.array([[0.0, 0.25], [0.0, 0.0], [1.0, 0.5]]))
    np.testing.assert_array_equal(weights.vertices, [0, 2, 2])
    np.testing.assert_array_equal(weights.joints, [1, 0, 1])
    np.testing.assert_array_equal(weights.values, [0.25, 1.0, 0.5])


@each("value", [WEIGHTS, JOINTS, make_rest(), Pose(np.zeros((1, 4, 4))), Params()])
def test_inputs_are_frozen(value: object) -> None:
    field = dataclasses.fields(value)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, field, None)
