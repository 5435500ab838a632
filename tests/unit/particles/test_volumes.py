"""The volume of a skin, and what brings it back, against bodies whose volume is known."""

import numpy as np
import pytest

from benchmarks.surfaces import make_box, make_capsule
from supple.deformers.geometry.solid import read_surface
from supple.deformers.particles.volumes import VolumeKeeper

from ..cases import each

SIZE = (2.0, 1.0, 0.5)
POINTS, TRIANGLES = make_box(SIZE, 0.25)
ONES = np.ones(len(POINTS))


def make_keeper(points: np.ndarray, triangles: np.ndarray) -> VolumeKeeper:
    return VolumeKeeper(points, read_surface(points, triangles))


KEEPER = make_keeper(POINTS, TRIANGLES)


def test_box_by_hand() -> None:
    assert KEEPER.volume == pytest.approx(1.0)
    assert KEEPER.holds_volume
    assert KEEPER.measure(POINTS + 50.0) == pytest.approx(1.0)
    assert KEEPER.measure(POINTS * [2, 3, 0.5]) == pytest.approx(3.0)
    assert KEEPER.measure(POINTS * [-1, 1, 1]) == pytest.approx(-1.0)
    assert KEEPER.with_points(POINTS * 2).volume == pytest.approx(8.0)
    assert KEEPER.volume == pytest.approx(1.0)


def test_capsule() -> None:
    """A cylinder and a ball, up to what is lost between the sides: some 1 %."""
    points, triangles = make_capsule(1.0, 0.3, 0.03)
    exact = np.pi * 0.3**2 * 1.0 + 4 / 3 * np.pi * 0.3**3
    assert make_keeper(points, triangles).volume == pytest.approx(exact, rel=0.01)


def test_far_away_in_single_precision() -> None:
    far = (POINTS + 100.0).astype(np.float32)
    assert KEEPER.measure(far) == pytest.approx(1.0, rel=1e-4)


def test_an_open_box_is_closed_by_a_lid() -> None:
    """The volume does not depend on where the body is, though its surface is not closed."""
    open_box = TRIANGLES[~(POINTS[TRIANGLES][:, :, 0] > 0.999).all(axis=1)]
    keeper = make_keeper(POINTS, open_box)
    for points in (POINTS, POINTS + np.array([5.0, -3, 2]), POINTS @ np.diag([-1.0, -1, 1])):
        assert keeper.measure(points) == pytest.approx(1.0)


@each("thickness", [0.0, 1e-6, 1e-4])
def test_a_sheet_holds_none(thickness: float) -> None:
    keeper = make_keeper(POINTS * [1, 1, thickness] + [0, 0, thickness], TRIANGLES)
    assert not keeper.holds_volume


def test_the_gradient_by_differences() -> None:
    """A Newton step to a volume that is little larger gains just what is lacking."""
    random = np.random.default_rng(0)
    posed = POINTS + random.normal(0, 0.02, POINTS.shape)
    amounts = random.uniform(0, 1, len(POINTS))
    volume = KEEPER.measure(posed)
    keeper = KEEPER.with_points(POINTS * np.cbrt((volume + 1e-3) / KEEPER.volume))
    moves = keeper.find_swelling(posed, amounts, amounts)
    assert KEEPER.measure(posed + moves) - volume == pytest.approx(1e-3, rel=0.02)
    lengths = np.linalg.norm(moves, axis=1)
    np.testing.assert_allclose(lengths / lengths.max(), amounts / amounts.max(), atol=1e-4)


def test_moves_of_a_box_by_hand() -> None:
    """Vertices inside of a side move straight outward; all by the same length."""
    moves = KEEPER.find_swelling(0.95 * POINTS, ONES, ONES)
    assert moves.dtype == np.float32
    inner = (np.abs(POINTS) < 0.49 * np.array(SIZE)).sum(axis=1) == 2
    outward = np.where(np.abs(POINTS) > 0.49 * np.array(SIZE), np.sign(POINTS), 0)[inner]
    lengths = np.linalg.norm(moves, axis=1)
    np.testing.assert_allclose(moves[inner], outward * lengths[inner, None], atol=1e-3)
    np.testing.assert_allclose(lengths, lengths[0], rtol=0.02)


@each("scale", [0.9, 0.97, 1.03, 1.1])
def test_volume_comes_back(scale: float) -> None:
    posed = scale * POINTS
    lack = abs(KEEPER.measure(posed) - 1.0)
    moved = posed + KEEPER.find_swelling(posed, ONES, ONES)
    assert abs(KEEPER.measure(moved) - 1.0) < 0.15 * lack


def test_only_what_may_move_does() -> None:
    amounts = (POINTS[:, 0] > 0.4).astype(float)
    moves = KEEPER.find_swelling(0.98 * POINTS, amounts, amounts)
    assert (moves[amounts == 0] == 0).all()
    assert np.linalg.norm(moves[amounts > 0], axis=1).min() > 0


def test_spare_moves_only_where_the_first_are_not_enough() -> None:
    first, spare = (POINTS[:, 0] > 0.4).astype(float), (POINTS[:, 0] < -0.4).astype(float)
    moves = KEEPER.find_swelling(0.98 * POINTS, first, spare)
    assert (moves[first == 0] == 0).all()
    moves = KEEPER.find_swelling(0.9 * POINTS, 1e-3 * first, spare)
    assert np.linalg.norm(moves[spare > 0], axis=1).min() > 1e-2


def test_vertices_at_one_place_stay_together() -> None:
    """Files split vertices at seams: nothing tears there, and the moves are those of the whole mesh."""
    points, ones = POINTS[TRIANGLES].reshape(-1, 3), np.ones(3 * len(TRIANGLES))
    keeper = make_keeper(points, np.arange(len(points)).reshape(-1, 3))
    moves = keeper.find_swelling(0.97 * points, ones, ones)
    expected = KEEPER.find_swelling(0.97 * POINTS, ONES, ONES)
    np.testing.assert_allclose(moves, expected[TRIANGLES].reshape(-1, 3), atol=1e-6)


@each("scale", [1e-3, 1e3])
def test_unit_does_not_matter(scale: float) -> None:
    moves = make_keeper(scale * POINTS, TRIANGLES).find_swelling(
        0.95 * scale * POINTS, 0.1 * scale * ONES, 0.1 * scale * ONES
    )
    expected = KEEPER.find_swelling(0.95 * POINTS, 0.1 * ONES, 0.1 * ONES)
    np.testing.assert_allclose(moves, scale * expected, atol=1e-6 * scale)


def test_moves_are_limited_by_the_amounts() -> None:
    """However much volume is lacking: no vertex moves farther than it may."""
    for posed, amounts in ((0.1 * POINTS, 0.01 * ONES), (5 * POINTS, 0.01 * ONES), (0 * POINTS, ONES)):
        moves = KEEPER.find_swelling(posed, amounts, amounts)
        assert np.isfinite(moves).all()
        assert np.linalg.norm(moves, axis=1).max() <= 4 * 0.01 * (1 + 1e-5) or not posed.any()


def test_nothing_to_do() -> None:
    np.testing.assert_allclose(KEEPER.find_swelling(POINTS, ONES, ONES), 0, atol=1e-6)
    assert (KEEPER.find_swelling(0.9 * POINTS, 0 * ONES, 0 * ONES) == 0).all()
    assert (KEEPER.find_swelling(POINTS, 0 * ONES, 0 * ONES) == 0).all()
