"""The deformation energy against sums over edges, its derivatives against differences, and drags."""

import numpy as np
import pytest

from supple.deformers import SkinningError
from supple.deformers.algebra.rotations import matrices_from_vectors
from supple.deformers.posing import skin as skins
from supple.deformers.posing.bones import DragHandle, PosedBones
from supple.deformers.posing.energy import begin_drag
from supple.deformers.posing.limits import RotationLimits
from supple.deformers.posing.moments import bend, differentiate, evaluate
from supple.deformers.posing.skin import SkinEnergy, prepare_skin
from supple.deformers.rig.rest import Weights

from ..characters import make_tube


def make_worm(count: int = 4) -> tuple[SkinEnergy, PosedBones, np.ndarray, np.ndarray]:
    """A tube of bones along z, its points and dense weights."""
    tube = make_tube(count, rings=6 * count, sides=8)
    corners = np.arange(len(tube.points)).reshape(-1, 8)
    a, b = corners[:-1], corners[1:]
    c, d = np.roll(a, -1, axis=1), np.roll(b, -1, axis=1)
    triangles = np.concatenate([np.stack([a, c, b], -1).reshape(-1, 3), np.stack([c, d, b], -1).reshape(-1, 3)])
    posed = np.tile(np.eye(4), (count, 1, 1))
    posed[:, :3, 3] = tube.centers
    yes = np.ones(count, bool)
    bones = PosedBones(
        tube.parents, posed, np.tile(np.eye(3), (count, 1, 1)), yes, yes, tube.parents < 0, RotationLimits.none(count)
    )
    skin = prepare_skin(tube.points, triangles, Weights.from_dense(tube.weights), posed, clusters=6)
    return skin, bones, tube.points, tube.weights


def hold(points: np.ndarray, weights: np.ndarray, vertex: int, is_pin: bool = False) -> DragHandle:
    return DragHandle(np.arange(weights.shape[1]), weights[vertex], points[vertex], is_pin)


def test_derivatives_are_differences() -> None:
    skin, bones, points, weights = make_worm()
    drag = begin_drag(skin, bones, [hold(points, weights, -1), hold(points, weights, 0, is_pin=True)])
    drag.move(np.array([points[-1] + [0.8, 0.3, -0.4], points[0]]))
    moments, linkage = drag.moments, drag.linkage
    state = drag.state
    gradient, hessian, pulls = differentiate(moments, state)
    count = len(linkage.joints)
    hessian[:count, :, :count] += bend(linkage, pulls)
    heads = linkage.place_heads(state.moved)
    for joint in range(len(linkage.joints) + len(linkage.movers)):
        for axis in range(3):
            energies, gradients = [], []
            for step in (-1e-5, 1e-5):
                turn = np.eye(4)
                if joint < len(linkage.joints):
                    turn[:3, :3] = matrices_from_vectors(step * np.eye(3)[axis : axis + 1])[0]
                    turn[:3, 3] = heads[joint] - turn[:3, :3] @ heads[joint]
                    carried = linkage.carried[joint]
                else:
                    turn[axis, 3] = step
                    carried = linkage.carried[linkage.movers[joint - len(linkage.joints)]]
                moved = np.where(carried[:, None, None] > 0, turn @ state.moved, state.moved)
                energies.append(evaluate(moments, moved).energy)
                gradients.append(differentiate(moments, evaluate(moments, moved))[0])
            slope = (energies[1] - energies[0]) / 2e-5
            assert gradient[joint, axis] == pytest.approx(slope, rel=1e-4, abs=1e-6)
            # By what carries it: the axes of a joint below rotate along, so that the order counts.
            above = np.append(linkage.carried[:, joint] > 0, [True]) if joint < count else np.full(count + 1, True)
            above[joint] = joint >= count
            slopes = (gradients[1] - gradients[0]) / 2e-5
            assert hessian[above, :, joint, axis] == pytest.approx(slopes[above], rel=1e-4, abs=1e-5)


def test_the_dragged_point_follows_and_pins_stay() -> None:
    skin, bones, points, weights = make_worm()
    drag = begin_drag(skin, bones, [hold(points, weights, -1), hold(points, weights, 0, is_pin=True)])
    for step in np.linspace(0.1, 1.0, 10):
        drag.move(np.array([points[-1] + step * np.array([1.0, 0.3, -0.6]), points[0]]))
    assert drag.residuals[0] < 0.01
    assert drag.residuals[1] < 1e-4


def test_a_cluster_of_vertices_in_no_face_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skins, "find_clusters", lambda *_: np.array([0, 0, 0, 1]))
    points = np.concatenate([np.eye(3), [[5.0, 5.0, 5.0]]])
    energy = prepare_skin(points, np.array([[0, 1, 2]]), Weights.from_dense(np.ones((4, 1))), np.eye(4)[None])
    assert len(energy.clusters) == 1


def test_targets_that_are_no_numbers_are_refused() -> None:
    skin, bones, points, weights = make_worm()
    drag = begin_drag(skin, bones, [hold(points, weights, -1)])
    with pytest.raises(SkinningError, match="not a number"):
        drag.move(np.full((1, 3), np.nan))
