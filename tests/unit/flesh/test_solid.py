"""Flesh as an elastic solid: laws that hold for any body, on tubes that bend."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from benchmarks.surfaces import make_box, make_capsule
from supple.deformers import SkinningError
from supple.deformers.flesh import solid
from supple.deformers.flesh.body import Body, read_body
from supple.deformers.geometry.vectors import smooth_step, transform_points
from supple.deformers.rig.rest import Joints

from ..characters import about, rotation
from ..meshes import Mesh, join, make_tube

RADIUS, LENGTH = 0.3, 2.4
UP = np.array([0.0, 0.0, 0.5 * LENGTH])
COARSE = solid.Params(fineness=2.5)


@dataclass(frozen=True)
class Limb:
    """A mesh (V, 3), its triangles and weights (V, B), on a chain of joints."""

    points: np.ndarray
    triangles: np.ndarray
    weights: np.ndarray
    joints: Joints

    def read(self) -> Body:
        return read_body(self.points, self.triangles, self.weights, self.joints)

    def blend(self, rest_to_pose: np.ndarray) -> np.ndarray:
        return blend(self.points, self.weights, rest_to_pose)


def blend(points: np.ndarray, weights: np.ndarray, rest_to_pose: np.ndarray) -> np.ndarray:
    """Points (N, 3) by weights (N, B), linearly."""
    moved = [transform_points(matrix, points) for matrix in rest_to_pose]
    return np.einsum("nb,bni->ni", weights, np.array(moved))


def make_limb(mesh: Mesh | None = None, extra: Mesh | None = None, bone: int = 1) -> Limb:
    """A tube, open at its ends, that bends in its middle; `extra` follows one bone."""
    points, triangles = mesh or make_tube(RADIUS, 33, 16, LENGTH)
    share = smooth_step((points[:, 2] - 0.5 * LENGTH) / (2.0 * RADIUS) + 0.5)
    weights = np.stack([1.0 - share, share], axis=1)
    if extra is not None:
        points, triangles = join((points, triangles), extra)
        weights = np.concatenate([weights, np.tile(np.eye(2)[bone], (len(extra[0]), 1))])
    heads = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.5 * LENGTH]])
    return Limb(points, triangles, weights, Joints(heads, np.array([-1, 0]), heads + UP))


def bend(degrees: float) -> np.ndarray:
    return np.stack([np.eye(4), about(rotation((1, 0, 0), degrees), np.array([0.0, 0.0, 0.5 * LENGTH]))])


LIMB = make_limb()


@pytest.fixture(scope="module")
def binding() -> solid.Binding:
    return solid.bind(LIMB.read(), bend(100), COARSE)


@pytest.fixture(scope="module")
def bent(binding: solid.Binding) -> tuple[np.ndarray, np.ndarray]:
    return solid.solve(binding, bend(100))


def find_volumes(binding: solid.Binding, nodes: np.ndarray) -> np.ndarray:
    rest, posed = (points[binding.lattice.corners] for points in (binding.lattice.nodes, nodes))
    return np.linalg.det(posed[:, 1:] - posed[:, :1]) / np.linalg.det(rest[:, 1:] - rest[:, :1])


def test_rest_is_rest(binding: solid.Binding) -> None:
    nodes, volumes = solid.solve(binding, bend(0))
    np.testing.assert_allclose(nodes, binding.lattice.nodes, atol=1e-6)
    np.testing.assert_allclose(volumes, 1.0, atol=1e-5)
    np.testing.assert_allclose(solid.deform(binding, nodes, LIMB.points), LIMB.points, atol=1e-6)


def test_the_character_moves_as_a_whole(binding: solid.Binding, bent: tuple[np.ndarray, np.ndarray]) -> None:
    everywhere = about(rotation((1, 2, 3), 170), np.zeros(3), (3.0, -2.0, 1.0))
    nodes, _ = solid.solve(binding, everywhere @ bend(0))
    np.testing.assert_allclose(nodes, transform_points(everywhere, binding.lattice.nodes), atol=1e-5)
    nodes, _ = solid.solve(binding, everywhere @ bend(100))
    np.testing.assert_allclose(nodes, transform_points(everywhere, bent[0]), atol=1e-3 * RADIUS)


def test_a_bend_keeps_volume_and_turns_little_inside_out(
    binding: solid.Binding, bent: tuple[np.ndarray, np.ndarray]
) -> None:
    nodes, volumes = bent
    exact = find_volumes(binding, nodes)
    np.testing.assert_allclose(volumes, exact, atol=0.02)
    linear = blend(binding.lattice.nodes, binding.lattice.weights, bend(100))
    assert (exact < 0).sum() < 0.2 * (find_volumes(binding, linear) < 0).sum()
    nodes, _ = solid.solve(binding, bend(45))
    assert abs(find_volumes(binding, nodes).mean() - 1.0) < 0.015


def test_a_folded_tube_has_a_crease_and_no_hole(binding: solid.Binding) -> None:
    """The two sides of the crook touch from its bottom on, and pass through each other less than linear ones."""
    pose = bend(130)
    base = LIMB.blend(pose)
    skin = solid.deform(binding, solid.solve(binding, pose)[0], base)
    inner = np.flatnonzero((np.abs(LIMB.points[:, 0]) < 1e-9) & (LIMB.points[:, 1] < 0))
    inner = inner[np.argsort(LIMB.points[inner, 2])]
    across = bend(65)[1][:3, 2]  # through the crook, from the lower to the upper side
    lower, upper = inner[len(inner) // 2 - 1 :: -1][:7], inner[len(inner) // 2 + 1 :][:7]
    gaps, linear = ((points[upper] - points[lower]) @ across for points in (skin, base))
    assert gaps.max() < 0.25 * binding.lattice.step
    assert gaps.mean() > 0.8 * linear.mean()


def test_it_is_the_same_each_time_and_for_any_order(
    binding: solid.Binding, bent: tuple[np.ndarray, np.ndarray]
) -> None:
    random = np.random.default_rng(0)
    order = random.permutation(len(LIMB.points))
    position = np.argsort(order)
    triangles = random.permutation(position[np.roll(LIMB.triangles, 1, axis=1)])
    other = Limb(LIMB.points[order], triangles, LIMB.weights[order], LIMB.joints)
    again = solid.bind(other.read(), bend(100), COARSE)
    nodes, volumes = solid.solve(again, bend(100))
    assert nodes.tobytes() == bent[0].tobytes()
    assert volumes.tobytes() == bent[1].tobytes()
    base = LIMB.blend(bend(100))
    np.testing.assert_array_equal(solid.deform(again, nodes, base[order]), solid.deform(binding, nodes, base)[order])


def make_legs(gap: float = 0.02) -> Limb:
    """Two closed legs beside each other under a bone in the middle."""
    points, triangles = make_capsule(LENGTH, RADIUS, 0.08)
    points = points - points.mean(axis=0) + (RADIUS + 0.5 * gap, 0.0, 0.5 * LENGTH)
    share = smooth_step((points[:, 2] - 0.5 * LENGTH) / (2.0 * RADIUS) + 0.5)[:, None]
    none = np.zeros_like(share)
    left, right = np.hstack([none, 1.0 - share, share, none, none]), np.hstack([none, none, none, 1.0 - share, share])
    heads = np.array(
        [[0.0, 0.0, -0.2], *((side * (RADIUS + 0.5 * gap), 0.0, z) for side in (1, -1) for z in (0.0, 0.5 * LENGTH))]
    )
    joints = Joints(heads, np.array([-1, 0, 1, 0, 3]), heads + UP)
    mesh = join((points, triangles), (points * solid.MIRROR, triangles[:, ::-1]))
    return Limb(*mesh, np.concatenate([left, right]), joints)


def test_the_other_side_is_carried_in_the_mirrored_lattice() -> None:
    legs, partners = make_legs(), np.array([0, 3, 4, 1, 2])
    pose = np.tile(np.eye(4), (5, 1, 1))
    pose[2] = about(rotation((1, 0.3, 0.2), 80), legs.joints.centers[2])
    first = solid.bind(legs.read(), pose, COARSE)
    nodes, _ = solid.solve(first, pose)
    skin = solid.deform(first, nodes, legs.blend(pose))
    other_pose = solid.mirror_pose(pose, partners)
    other = solid.deform(solid.mirror(first, partners), nodes, legs.blend(other_pose))
    half, height = len(skin) // 2, np.ptp(legs.points, axis=0).max()
    swapped = np.concatenate([other[half:], other[:half]]) * solid.MIRROR
    np.testing.assert_allclose(swapped, skin, atol=0.1 / 1800.0 * height)
    assert np.abs(skin - legs.blend(pose))[:half].max() > 0.02


def test_legs_beside_each_other_are_not_tied() -> None:
    legs, pose = make_legs(0.06), np.tile(np.eye(4), (5, 1, 1))
    pose[2] = about(rotation((1, 0, 0), 80), legs.joints.centers[2])
    binding = solid.bind(legs.read(), pose, COARSE)
    moved = np.abs(solid.solve(binding, pose)[0] - binding.lattice.nodes).max(axis=1)
    other = (binding.lattice.weights[:, 3:].sum(axis=1) > 0.9) & (binding.lattice.nodes[:, 2] > 0.6 * LENGTH)
    assert moved[other].max() < 0.02 * RADIUS


def test_what_is_worn_follows_and_a_buckle_stays_stiff() -> None:
    buckle = make_box((0.2, 0.06, 0.2), 0.1)
    limb = make_limb(extra=(buckle[0] + (0.0, -RADIUS - 0.02, 0.5 * LENGTH), buckle[1]))
    binding = solid.bind(limb.read(), bend(90), COARSE)
    base = limb.blend(bend(90))
    skin = solid.deform(binding, solid.solve(binding, bend(90))[0], base)
    own = slice(len(LIMB.points), None)
    spans = [np.linalg.norm(points[own][:, None] - points[own], axis=2) for points in (limb.points, skin)]
    np.testing.assert_allclose(spans[1], spans[0], atol=5e-6)
    assert np.linalg.norm(skin[own] - base[own], axis=1).min() > 0.04


def test_far_points_and_thin_sheets_keep_the_base() -> None:
    far = np.array([[0.0, 8.0, 0.0], [0.0, 8.0, 0.1], [0.1, 8.0, 0.0]])
    wing = make_box((2.0, 0.01, 0.6), 0.1)
    wing = wing[0] + (RADIUS + 1.1, 0.0, 0.5 * LENGTH), wing[1]
    weights = smooth_step(wing[0][:, 2] / 0.6 - 0.5 * LENGTH / 0.6 + 0.5)[:, None]
    limb = make_limb(extra=join(wing, (far, np.array([[0, 1, 2]]))))
    limb.weights[len(LIMB.points) : -3] = np.hstack([1.0 - weights, weights])
    binding = solid.bind(limb.read(), bend(60), COARSE)
    base = limb.blend(bend(60))
    skin = solid.deform(binding, solid.solve(binding, bend(60))[0], base)
    np.testing.assert_array_equal(skin[-3:], base[-3:])
    thin = np.flatnonzero(binding.thin)
    assert len(thin)
    assert (thin >= len(LIMB.points)).all()
    np.testing.assert_allclose(skin[thin], base[thin], atol=1e-9)
    assert np.abs(skin - base)[: len(LIMB.points)].max() > 0.02


def test_a_thin_end_is_held_by_its_bone_though_cells_are_large() -> None:
    points, triangles = make_tube(RADIUS, 33, 16, LENGTH)
    narrow = points.copy()
    narrow[:, :2] *= np.interp(points[:, 2], [0.52 * LENGTH, 0.62 * LENGTH], [1.0, 0.4])[:, None]
    limb = make_limb((narrow, triangles))
    posed = solid.bind(limb.read(), bend(100), solid.Params(fineness=1.2))
    moved = solid.deform(posed, solid.solve(posed, bend(100))[0], limb.blend(bend(100)))
    apart = np.linalg.norm(moved - limb.blend(bend(100)), axis=1)[points[:, 2] > 0.7 * LENGTH]
    assert apart.max() < 0.11 * RADIUS
    assert (posed.cores == 1).any()


def test_a_joint_under_the_skin_has_the_radius_of_its_limb() -> None:
    limb = make_limb()
    heads = limb.joints.centers + np.array([[0.0, 0.0, 0.0], [0.0, -0.9 * RADIUS, 0.0]])
    limb = Limb(limb.points, limb.triangles, limb.weights, Joints(heads, np.array([-1, 0]), limb.joints.tails))
    radii, is_shallow = limb.read().radii
    assert is_shallow.tolist() == [False, True]
    assert 0.7 * RADIUS < radii[1] < 1.5 * RADIUS


def test_progress_ends_the_work(binding: solid.Binding) -> None:
    shares: list[float] = []

    def stop(share: float) -> None:
        shares.append(share)
        if share > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solid.solve(binding, bend(100), stop)
    assert shares == sorted(shares)
    assert 0.5 < shares[-1] < 0.6


def test_refusals() -> None:
    with pytest.raises(SkinningError, match="No joint rotates"):
        solid.bind(LIMB.read(), bend(1), COARSE)
    with pytest.raises(SkinningError, match="encloses flesh"):
        Limb(LIMB.points, LIMB.triangles, np.tile([1.0, 0.0], (len(LIMB.points), 1)), LIMB.joints).read()
    with pytest.raises(SkinningError, match="tails"):
        Limb(LIMB.points, LIMB.triangles, LIMB.weights, Joints(LIMB.joints.centers, LIMB.joints.parents)).read()
