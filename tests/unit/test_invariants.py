"""Laws that every method of skinning obeys, for random characters and poses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from supple.deformers import Pose

from . import strategies
from .characters import METHODS, MIRROR_X, about, apply_transforms, bind, deform, diagonal

every_method = pytest.mark.parametrize("method", METHODS)
CHARACTERS = strategies.characters()


def assert_close(actual: np.ndarray, expected: np.ndarray, tolerance: float = 1e-5) -> None:
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * max(diagonal(expected), 1.0))


@every_method
@given(CHARACTERS)
def test_rest_is_rest(method, character) -> None:
    identity = np.tile(np.eye(4), (len(character.parents), 1, 1))
    assert_close(deform(character, method, identity), character.points, 1e-6)


@every_method
@given(CHARACTERS, strategies.rigid_motions())
def test_joints_that_move_together_move_the_skin_rigidly(method, character, motion) -> None:
    """Weights are a partition of unity."""
    matrices = np.tile(motion, (len(character.parents), 1, 1))
    assert_close(deform(character, method, matrices), character.points @ motion[:3, :3].T + motion[:3, 3])


@every_method
@given(CHARACTERS, strategies.rigid_motions(), st.data())
def test_a_moved_pose_moves_the_result(method, character, motion, data) -> None:
    matrices = data.draw(strategies.poses(character))
    expected = deform(character, method, matrices) @ motion[:3, :3].T + motion[:3, 3]
    assert_close(deform(character, method, motion @ matrices), expected)


@every_method
@given(CHARACTERS, st.data())
def test_a_mirrored_character_and_pose_give_the_mirrored_result(method, character, data) -> None:
    matrices = data.draw(strategies.poses(character))
    mirrored = replace(character, points=character.points @ MIRROR_X, centers=character.centers @ MIRROR_X)
    mirror = about(MIRROR_X, np.zeros(3))
    assert_close(deform(mirrored, method, mirror @ matrices @ mirror), deform(character, method, matrices) @ MIRROR_X)


@every_method
@given(CHARACTERS, strategies.generators, st.data())
def test_order_of_vertices_and_joints_does_not_matter(method, character, random, data) -> None:
    matrices = data.draw(strategies.poses(character))
    vertices, joints = random.permutation(len(character.points)), random.permutation(len(matrices))
    if method == "DLB":  # as in Blender, signs of dual quaternions depend on the order of the joints
        joints = np.arange(len(joints))
    permuted = character.permute_joints(joints)
    permuted = replace(permuted, points=permuted.points[vertices], weights=permuted.weights[vertices])
    assert_close(deform(permuted, method, matrices[joints]), deform(character, method, matrices)[vertices])


@every_method
@given(CHARACTERS, strategies.generators, st.data())
def test_only_ratios_of_weights_count(method, character, random, data) -> None:
    matrices = data.draw(strategies.poses(character))
    scaled = replace(character, weights=character.weights * random.uniform(2e-3, 5.0, (len(character.points), 1)))
    assert_close(deform(scaled, method, matrices), deform(character, method, matrices))


@every_method
@given(CHARACTERS, st.data())
def test_a_sequence_of_poses_gives_the_result_of_each(method, character, data) -> None:
    """Nothing stays behind of an earlier pose, and vertex transforms carry the points to the same positions."""
    poses = [data.draw(strategies.poses(character)) for _ in range(2)]
    module, binding = bind(character, method)
    for matrices in (*poses, poses[0]):
        expected = deform(character, method, matrices)
        np.testing.assert_array_equal(module.deform(binding, Pose(matrices)), expected)
        transforms = module.vertex_transforms(binding, Pose(matrices))
        assert_close(apply_transforms(transforms, character.points), expected)
