"""Which meshes lie over which: shells around a ball, parts that plug together, and circles."""

import numpy as np
import pytest

from supple.deformers import SkinningError
from supple.deformers.layers.order import Shell, find_layers, sort_layers

from ..brute_force import find_nearest
from ..meshes import Mesh, make_sphere, make_tube

HEIGHT = 1.8


def shell(mesh: Mesh, scale: object = 1.0, offset: object = 0.0) -> Shell:
    return Shell(mesh[0] * scale + offset, mesh[1])


BODY = shell(make_sphere(12), 0.3)
TIGHTS = shell(make_tube(0.31, 4, length=0.2), 1.0, (0.0, 0.0, -0.1))
SKIRT = shell(make_tube(0.34, 4, length=0.2), 1.0, (0.0, 0.0, -0.1))


def test_clothes_lie_over_what_is_in_them() -> None:
    layers = find_layers([TIGHTS, BODY, SKIRT], HEIGHT, find_nearest)
    assert set(layers) == {(0, 1), (2, 1), (2, 0)}
    assert sort_layers(layers) == (2, 0, 1)


@pytest.mark.parametrize("scale", [0.1, 100.0])
def test_lengths_scale_with_the_height(scale: float) -> None:
    shells = [Shell(scale * one.points, one.triangles) for one in (BODY, SKIRT)]
    assert find_layers(shells, scale * HEIGHT, find_nearest) == ((1, 0),)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(shell(make_sphere(12), 0.2, (0.0, 0.0, 0.42)), id="plugged in"),
        pytest.param(shell(make_tube(0.4, 4, length=0.2), 1.0, (0.0, 0.0, -0.1)), id="too far"),
        pytest.param(shell(make_sphere(12), 0.25), id="inside"),
        pytest.param(shell(make_sphere(12), 0.3, (3.0, 0.0, 0.0)), id="elsewhere"),
        pytest.param(Shell(np.zeros((3, 3)), np.zeros((0, 3), int)), id="no faces"),
    ],
)
def test_others_are_no_layers_of_the_body(other: Shell) -> None:
    assert (1, 0) not in find_layers([BODY, other], HEIGHT, find_nearest)


def test_a_mesh_that_is_inside_out_is_turned_over() -> None:
    shells = [Shell.outward(one.points, one.triangles[:, ::-1]) for one in (TIGHTS, BODY)]
    assert find_layers(shells, HEIGHT, find_nearest) == ((0, 1),)
    np.testing.assert_array_equal(Shell.outward(BODY.points, BODY.triangles).triangles, BODY.triangles)


def test_an_order_has_every_mesh_once_and_refuses_circles() -> None:
    assert sort_layers([("coat", "shirt"), ("shirt", "body"), ("coat", "body")]) == ("coat", "shirt", "body")
    assert sort_layers([]) == ()
    with pytest.raises(SkinningError, match=r"in a circle: '(coat|shirt)'"):
        sort_layers([("coat", "shirt"), ("shirt", "coat")])
    with pytest.raises(SkinningError, match="circle: 'body'"):
        sort_layers([("body", "body")])
