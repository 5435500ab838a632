"""Fixtures that tests of particles share."""

import numpy as np
import pytest

from supple.deformers import Pose
from supple.deformers.particles import particles as method
from supple.deformers.particles.particles import Binding

from .volumes_to_fill import BEND, FEW, REST


@pytest.fixture(scope="module")
def binding() -> Binding:
    return method.bind(REST, FEW)


@pytest.fixture(scope="module")
def bent(binding: Binding) -> np.ndarray:
    return method.deform(binding, Pose(BEND))
