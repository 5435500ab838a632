"""Sections and reach of limbs against a tube and a box that are worked out by hand."""

import numpy as np
import pytest

from benchmarks.surfaces import make_box, make_capsule
from supple.deformers import Joints, Weights
from supple.deformers.measures.limbs import find_limbs, find_owners
from supple.deformers.measures.sections import smallest_section

from ..cases import each
from ..characters import rotation

POINTS, TRIANGLES = make_capsule(2.0, 0.25, 0.04)
JOINTS = Joints(
    centers=np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
    parents=np.array([-1, 0]),
    tails=np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 2.0]]),
)
OWNERS = (POINTS[:, 2] > 1.0).astype(int)
LIMBS = find_limbs(POINTS, TRIANGLES, OWNERS, JOINTS)
STILL = np.tile(np.eye(4), (2, 1, 1))


def twist(degrees: float) -> np.ndarray:
    """Linear blending of a twist: half of each bone at the joint."""
    share = np.clip((POINTS[:, 2] - 0.7) / 0.6, 0.0, 1.0)[:, None]
    return (1.0 - share) * POINTS + share * (POINTS @ rotation((0, 0, 1), degrees).T)


def test_rings_go_along_each_bone():
    """That at the joint is on vertices of the first bone alone."""
    assert np.bincount(LIMBS.ring_bones).tolist() == [17, 16]
    middle = LIMBS.areas[(LIMBS.positions > 0.2) & (LIMBS.positions < 0.8)]
    assert middle == pytest.approx(np.pi * 0.25**2, rel=2e-2)


def test_rigid_motion_keeps_sections_and_reach():
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = rotation((1, 2, 3), 70), (1.0, 2.0, 3.0)
    posed = POINTS @ matrix[:3, :3].T + matrix[:3, 3]
    assert LIMBS.measure_sections(posed) == pytest.approx([1.0, 1.0])
    assert LIMBS.measure_reaches(posed, np.stack([matrix, matrix])) == pytest.approx([1.0, 1.0])
    assert LIMBS.measure_reaches(posed, STILL)[1] > 3.0


@each("degrees", [60, 90, 150])
def test_a_linear_twist_collapses_by_the_cosine_of_half_the_angle(degrees: float):
    section = LIMBS.find_smallest_section(twist(degrees))
    assert section.radius == pytest.approx(np.cos(np.radians(degrees / 2.0)), abs=5e-3)
    assert {0: 1.0, 1: 0.0}[section.bone] == section.position


def test_the_limb_that_is_thinner_is_named():
    thin = 1.0 - 0.5 * np.exp(-(((POINTS[:, 2] - 1.5) / 0.2) ** 2))
    posed = POINTS * np.stack([thin, thin, np.ones_like(thin)], axis=1)
    section = LIMBS.find_smallest_section(posed)
    assert (section.bone, section.position) == (1, 0.5)
    assert section.area == pytest.approx(0.25, abs=1e-2)
    assert LIMBS.measure_sections(posed)[0] > 0.99


def test_reach_names_the_limb_that_bulges():
    far = POINTS + np.where(POINTS[:, 2:] > 1.2, [0.0, 0.0, 0.125], [0.0, 0.0, 0.0])
    reach = LIMBS.find_farthest(far, STILL)
    assert (reach.bone, reach.share) == (1, pytest.approx(1.5, rel=1e-3))


def test_skin_that_follows_the_other_bone_of_a_joint_is_near():
    """A limb's skin may be near the bones that its own is joined to."""
    posed = POINTS.copy()
    posed[OWNERS == 0, 2] = 1.5
    assert LIMBS.measure_reaches(posed, STILL)[0] == pytest.approx(1.0, rel=1e-3)


def test_skin_hardly_off_its_bones_does_not_rule():
    points, triangles = make_box((0.001, 0.001, 1.0), 0.1)
    points[:, 2] += 0.5 - points[:, 2].mean()
    limbs = find_limbs(points, triangles, np.where(points[:, 2] > 1.0, 1, 0), JOINTS)
    assert limbs.find_farthest(points * [3.0, 3.0, 1.0], STILL).share == pytest.approx(1.0)


def test_an_arm_beside_does_not_count_as_this_one():
    """The planes across one tube cut the other, too, which belongs to a third bone."""
    points = np.concatenate([POINTS, POINTS + np.array([0.8, 0.0, 0.0])])
    triangles = np.concatenate([TRIANGLES, TRIANGLES + len(POINTS)])
    joints = Joints(
        centers=np.concatenate([JOINTS.centers, [[0.8, 0.0, 0.0]]]),
        parents=np.array([-1, 0, 0]),
        tails=np.concatenate([JOINTS.tails, [[0.8, 0.0, 2.0]]]),
    )
    owners = np.concatenate([OWNERS, np.full(len(POINTS), 2)])
    posed = np.concatenate([POINTS, 0.5 * POINTS])
    sections = find_limbs(points, triangles, owners, joints).measure_sections(posed)
    assert sections == pytest.approx([1.0, 1.0, 0.25])


def test_skin_beside_a_bone_is_no_ring_of_it():
    """A thicker tube, of the same bones, that they are outside of."""
    points = np.concatenate([POINTS, 2.0 * POINTS + np.array([2.0, 0.0, 0.0])])
    triangles = np.concatenate([TRIANGLES, TRIANGLES + len(POINTS)])
    limbs = find_limbs(points, triangles, np.concatenate([OWNERS, OWNERS]), JOINTS)
    assert limbs.areas == pytest.approx(LIMBS.areas)


def test_seams_do_not_cut_rings():
    limbs = find_limbs(POINTS[TRIANGLES.ravel()], np.arange(TRIANGLES.size).reshape(-1, 3), OWNERS[TRIANGLES.ravel()],
                       JOINTS)  # fmt: skip
    assert limbs.areas == pytest.approx(LIMBS.areas)


def test_a_character_without_rings_has_no_section():
    limbs = find_limbs(POINTS, TRIANGLES[:0], np.full(len(POINTS), -1), JOINTS)
    section, reach = limbs.find_smallest_section(POINTS), limbs.find_farthest(POINTS, STILL)
    assert (section.bone, reach.bone) == (-1, -1)
    assert np.isnan([section.area, section.radius, reach.share, *limbs.measure_sections(POINTS)]).all()


def test_owners_are_the_largest_weights():
    weights = Weights(
        np.array([0, 0, 1, 3, 3, 3]), np.array([0, 1, 1, 0, 1, 0]), np.array([0.6, 0.4, 0.2, 0.3, 0.5, 0])
    )
    assert find_owners(weights, 4, 2).tolist() == [0, 1, -1, 1]


def test_smallest_section_along_an_axis():
    smallest, position = smallest_section(POINTS, twist(90), TRIANGLES, np.zeros(3), np.array([0.0, 0.0, 2.0]), 61)
    assert smallest == pytest.approx(0.5, abs=5e-3)
    assert position == 0.5
