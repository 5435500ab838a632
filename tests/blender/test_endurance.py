"""Memory does not grow while a character is played: `make bench-endurance` in short."""

import math

import pytest

from benchmarks.bodies import add_body
from benchmarks.endurance import BONES, LOOP, PARTICLES, VERTICES, WAYS, play
from supple.tasks.skin.bind import bind_each

FRAMES = 240
EACH_ONCE = ("Fast", "As Published", "particles")
LARGEST_GROWTH = 1.0
"""MiB: a mesh of the tube that stays at each frame would be twice that."""


@pytest.mark.parametrize(
    "way", [way if way in EACH_ONCE else pytest.param(way, marks=pytest.mark.thorough) for way in WAYS]
)
def test_memory_does_not_grow(way):
    obj = add_body(VERTICES, BONES, scaled=True, frames=LOOP).obj
    obj.supple.particles.target_count = PARTICLES
    bind_each([obj], WAYS[way])
    run = play(FRAMES)
    if math.isnan(run.growth):
        pytest.skip("this system does not tell how much memory is resident")
    assert run.growth <= LARGEST_GROWTH
