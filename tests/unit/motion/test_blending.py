"""Seams of channels: what goes on, and what is left as it is."""

import numpy as np
import pytest

from supple.deformers.algebra.rotations import from_vectors, multiply, to_matrices, to_vectors, unroll
from supple.deformers.motion.blending import Clip, close, join, plan_seam

from ..cases import each


def make_clip(frames: int, speed: float, start: float = 0.0, turning: float = 0.1) -> Clip:
    """A node that moves along x and turns about z, evenly; a number that grows, and a switch."""
    time = start + speed * np.arange(frames)
    zeros = np.zeros(frames)
    return Clip(
        locations=np.stack([time, zeros, zeros], axis=1)[:, None],
        rotations=from_vectors(np.stack([zeros, zeros, turning * time], axis=1))[:, None],
        scales=np.ones((frames, 1, 3)),
        values=np.stack([time, np.full(frames, start)], axis=1),
        jumps=np.array([False, True]),
    )


def test_a_join_goes_from_one_to_the_other():
    first, second = make_clip(30, 0.1), make_clip(40, 0.2, 5.0)
    joined = join(first, second, plan_seam(30, 40, (20, 15), 6))
    assert len(joined) == 21 + 24
    assert np.array_equal(joined.locations[:14], first.locations[:14])
    assert np.array_equal(joined.locations[27:], second.locations[22:])
    assert joined.values[20, 1] == 0.0
    assert joined.values[21, 1] == 5.0


@each("pair", [(20, 15), (29, 0), (29, 15), (20, 0)])
def test_position_and_speed_go_on(pair):
    """Whether or not both motions have frames beyond the seam."""
    first, second = make_clip(30, 0.1), make_clip(40, 0.2, 2.0)
    seam = plan_seam(30, 40, pair, 8)
    joined = join(first, second, seam)
    x = joined.locations[:, 0, 0]
    gap = second.locations[pair[1], 0, 0] - first.locations[pair[0], 0, 0]
    length = seam.before + seam.after
    assert np.abs(np.diff(x, 2)).max() < 8.0 * abs(gap) / length**2 + 4.0 * 0.1 / length
    angles = np.unwrap(2.0 * np.arctan2(joined.rotations[:, 0, 3], joined.rotations[:, 0, 0]))
    assert np.diff(angles, 2) == pytest.approx(0.1 * np.diff(x, 2), abs=1e-6)


def test_motions_that_meet_are_not_changed():
    whole = make_clip(60, 0.1)
    joined = join(whole.cut(0, 31), whole.cut(30, 60), plan_seam(31, 30, (30, 0), 10))
    assert joined.locations == pytest.approx(whole.locations)
    assert joined.rotations == pytest.approx(whole.rotations)


def test_a_loop_ends_where_it_begins():
    time = np.arange(50)
    angles = 2.0 * np.pi * time / 40.3
    clip = make_clip(50, 0.0)
    clip.locations[:, 0, 0] = np.sin(angles)
    loop = close(clip, clip, plan_seam(50, 50, (45, 5), 8), lambda part: part)
    assert len(loop) == 41
    assert loop.locations[-1] == pytest.approx(loop.locations[0], abs=1e-12)
    assert np.array_equal(loop.locations[10:30], clip.locations[15:35])
    x = np.concatenate([loop.locations[:-1, 0, 0], loop.locations[:, 0, 0]])
    assert np.abs(np.diff(x, 2)).max() < 1.3 * np.abs(np.diff(np.sin(angles), 2)).max()


def test_a_moved_clip_is_moved_about_its_parents_space():
    clip = make_clip(5, 1.0)
    transform = np.eye(4)
    transform[:3, :3], transform[:3, 3] = to_matrices(from_vectors(np.array([0.0, 0.0, np.pi / 2]))), (0.0, 0.0, 3.0)
    moved = clip.moved(np.array([0]), transform[None])
    assert moved.locations[2, 0] == pytest.approx([0.0, 2.0, 3.0])
    assert to_vectors(moved.rotations)[0, 0] == pytest.approx([0.0, 0.0, np.pi / 2])


def test_rotation_vectors_by_hand():
    random = np.random.default_rng(0)
    vectors = random.normal(size=(50, 3))
    assert to_vectors(from_vectors(vectors)) == pytest.approx(vectors)
    assert to_vectors(-from_vectors(vectors)) == pytest.approx(vectors)
    quaternions = from_vectors(vectors)
    both = to_matrices(multiply(quaternions[:1], quaternions))
    assert both == pytest.approx(to_matrices(quaternions[:1]) @ to_matrices(quaternions))
    turning = np.linspace(0.0, 7.0, 20)[:, None, None] * np.array([0.0, 0.6, 0.8])
    assert unroll(to_vectors(from_vectors(turning)), 3) == pytest.approx(turning)
