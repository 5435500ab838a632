"""Particle skinning of meshes of several parts, and of shapes that it cannot fill."""

import signal
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from benchmarks.shapes import Shape
from supple.deformers import Pose, Rest, Weights
from supple.deformers.algebra.polar import move_rigidly
from supple.deformers.measures.stretch import edge_stretches, mesh_edges
from supple.deformers.particles import particles as method
from supple.deformers.particles.particles import Binding, Params

from ..cases import each
from ..characters import rotation
from .volumes_to_fill import BEND, BOX, FEW, REST, STILL, bend, make_rest, skin, transform, volume, with_params, within

# parts


def join(*shapes: Shape) -> Shape:
    """All on the bones of the first one."""
    starts = np.cumsum([0, *(len(shape.points) for shape in shapes)])
    return replace(
        shapes[0],
        points=np.concatenate([shape.points for shape in shapes]),
        weights=np.concatenate([shape.weights for shape in shapes]),
        triangles=np.concatenate([s.triangles + start for s, start in zip(shapes, starts, strict=False)]),
    )


def make_part(offset: object, scale: float, weights: object) -> Shape:
    points = scale * BOX.points + np.asarray(offset, float)
    return replace(BOX, points=points, weights=np.tile(np.asarray(weights, float), (len(points), 1)))


@each("offset", [(0, 0, 1.5), (0.6, 0.3, 0.2)])
def test_a_part_of_one_bone_stays_rigid(offset: object) -> None:
    both = join(BOX, make_part(offset, 0.4, (0, 1)))
    result = method.bind(make_rest(both), Params(target_count=300))
    assert result.messages == ()
    part = slice(len(BOX.points), None)
    for degrees in (40, 100):
        matrices = bend(degrees)
        posed = method.deform(result, Pose(matrices))
        carried = transform(matrices[1], both.points[part])
        within(posed[part], move_rigidly(carried, posed[part]))
        assert np.abs(posed[part] - carried).max() < 0.02  # it goes with the flesh around it
        assert np.isfinite(posed).all()
        assert edge_stretches(both.points, posed, mesh_edges(both.triangles)).max() < 5


@each(
    ("scale", "weights", "filled"),
    [
        ((0.6, 0.6, 0.6), None, True),
        ((0.1, 0.3, 0.3), None, False),
        ((1.0, 1.0, 0.02), None, False),
        ((0.6, 0.6, 0.6), (0.5, 0.5), False),
    ],
)
def test_only_flesh_is_filled(scale: tuple, weights: tuple | None, filled: bool) -> None:
    """A part that is short along the two bones that hold it, thin all over, or does not bend goes with the joints."""
    part = replace(BOX, points=BOX.points * scale)
    if weights is not None:
        part = replace(part, weights=np.tile(weights, (len(part.points), 1)))
    beside = replace(part, points=part.points + np.array([0.0, 0.0, 3.0]))
    result = method.bind(make_rest(join(BOX, beside)), FEW)
    assert (method.particles(result).points[:, 2] > 2.0).any() == filled
    expected = skin(make_rest(beside), BEND)
    posed = method.deform(result, Pose(BEND))[len(BOX.points) :]
    assert (np.abs(posed - expected).max() > 0.01) == filled
    alone = method.bind(make_rest(part), FEW)
    assert (alone.count > 0) == filled
    if not filled:
        assert ["follows a single bone" in message for message in alone.messages] == [True]
        within(method.deform(alone, Pose(BEND)), skin(make_rest(part), BEND))


def test_overlapping_shells_that_both_bend() -> None:
    both = join(BOX, replace(BOX, points=0.8 * BOX.points + [0.1, 0.3, 0.3]))
    result = method.bind(make_rest(both), Params(target_count=300))
    posed = method.deform(result, Pose(BEND))
    within(method.deform(result, Pose(STILL)), both.points)
    assert edge_stretches(both.points, posed, mesh_edges(both.triangles)).max() < 3
    assert volume(both, posed) == pytest.approx(1.0, abs=2e-3)


def make_voxels(cells: set[tuple[int, int, int]], size: float) -> tuple[np.ndarray, np.ndarray]:
    """The closed surface of cells."""
    corners, quads = [], []
    for cell, axis, side in product(sorted(cells), range(3), (0, 1)):
        beside = list(cell)
        beside[axis] += 2 * side - 1
        if tuple(beside) in cells:
            continue
        ring = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])[:: 1 if side else -1]
        quad = np.zeros((4, 3), int)
        quad[:, [(axis + 1) % 3, (axis + 2) % 3]] = ring
        quad[:, axis] = side
        quads.append(len(corners) + np.arange(4))
        corners.extend((np.array(cell) + quad).tolist())
    points, places = np.unique(np.array(corners), axis=0, return_inverse=True)
    faces = places.reshape(-1)[np.array(quads)]
    return size * points, np.concatenate([faces[:, [0, 1, 2]], faces[:, [0, 2, 3]]])


def make_two_fingers() -> Shape:
    """A palm of 7 x 4 x 3 cells and two fingers of 3 x 10 x 3, one cell apart, along y."""
    cells = set(product(range(7), range(4), range(3)))
    cells |= set(product((0, 1, 2, 4, 5, 6), range(4, 14), range(3)))
    points, triangles = make_voxels(cells, 0.1)
    share = np.clip((points[:, 1] - 0.35) / 0.3, 0, 1)
    left = points[:, 0] < 0.35
    weights = np.stack([1 - share, share * left, share * ~left], axis=1)
    heads = np.array([[0.35, 0, 0.15], [0.15, 0.5, 0.15], [0.55, 0.5, 0.15]])
    tails = np.array([[0.35, 0.4, 0.15], [0.15, 1.4, 0.15], [0.55, 1.4, 0.15]])
    return Shape(points, triangles, weights, heads, tails, np.array([-1, 0, 0]))


@each("degrees", [30, 80])
def test_fingers_side_by_side_do_not_move_each_other(degrees: float) -> None:
    hand = make_two_fingers()
    result = method.bind(make_rest(hand), Params(target_count=400))
    assert result.messages == ()
    posed = method.deform(result, Pose(hand.pose({1: rotation((1, 0, 0), degrees)})))
    far = (hand.points[:, 0] > 0.35) & (hand.points[:, 1] > 0.9)
    moved = np.linalg.norm(posed - hand.points, axis=1)
    assert moved[(hand.points[:, 0] < 0.35) & (hand.points[:, 1] > 0.9)].min() > 0.1
    assert moved[far].max() < 1e-3 * 1.4
    tip = far & (hand.points[:, 1] > 1.2)
    assert moved[tip].max() < 2e-4 * 1.4


def test_messages() -> None:
    top = (BOX.points[BOX.triangles][:, :, 2] > 0.49).all(axis=1)
    used, places = np.unique(BOX.triangles[top], return_inverse=True)
    sheet = replace(
        BOX, points=BOX.points[used] + [0, 0, 3.0], triangles=places.reshape(-1, 3), weights=BOX.weights[used]
    )
    (message,) = method.bind(make_rest(join(BOX, sheet)), FEW).messages
    assert "1 of 2" in message
    assert "Open" in message
    (message,) = method.bind(replace(REST, triangles=BOX.triangles[:, ::-1]), FEW).messages
    assert "inside out" in message
    assert method.bind(REST, FEW).messages == ()


def test_a_flat_part_is_no_body() -> None:
    """Its volume is 0 but for rounding, wherever it is."""
    flat = replace(BOX, points=BOX.points * [0.5, 0.5, 0] + [0.1, 0.2, 3.0])
    result = method.bind(make_rest(join(BOX, flat)), FEW)
    assert len(result.messages) == 1
    assert (np.abs(method.particles(result).points[:, 2]) < 1).all()


def test_vertices_without_faces_are_no_parts() -> None:
    """Loose vertices are not cloth."""
    points = np.concatenate([BOX.points, np.full((3, 3), 2.0)])
    assert method.bind(replace(REST, points=points), FEW).messages == ()


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="Windows has no timer that stops a test")
@pytest.mark.parametrize("thickness", [1e-3, 1e-5])
def test_a_plate_is_filled_in_reasonable_time(thickness: float) -> None:
    """It takes a second; what is to be seen is that it ends at all."""

    def stop(*_: object) -> None:
        raise TimeoutError

    plate = replace(REST, points=BOX.points * [1, 1, thickness])
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 60.0)
    try:
        result = method.bind(plate, Params(target_count=100))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert result.count < 400
    assert np.isfinite(method.deform(result, Pose(BEND))).all()
    within(method.deform(result, Pose(STILL)), plate.points)


def test_inside_out_deforms_alike(bent: np.ndarray) -> None:
    turned = method.bind(replace(REST, triangles=BOX.triangles[:, ::-1]), FEW)
    within(method.deform(turned, Pose(BEND)), bent)


@each("volume_share", [0.0, 1.0])
def test_split_vertices_stay_together(binding: Binding, volume_share: float) -> None:
    """Though the volume step moves along normals, which at a hard edge differ between vertices at one place."""
    corners = BOX.triangles.ravel()
    triangles = np.arange(len(corners)).reshape(-1, 3)
    weights = Weights.from_dense(BOX.weights[corners])
    result = method.bind(Rest(BOX.points[corners], weights, REST.joints, triangles=triangles), FEW)
    assert result.count == binding.count
    posed = method.deform(with_params(result, volume=volume_share), Pose(bend(100)))
    spread = [np.ptp(posed[corners == vertex], axis=0).max() for vertex in range(0, len(BOX.points), 5)]
    assert max(spread) < 1e-5


def test_bones_without_an_end_are_long(bent: np.ndarray) -> None:
    """As these are."""
    no_tails = replace(REST, joints=replace(REST.joints, tails=None))
    within(method.deform(method.bind(no_tails, FEW), Pose(BEND)), bent, 0.02)
