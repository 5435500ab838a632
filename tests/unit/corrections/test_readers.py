"""What brings corrections in: 1 at their own poses, 0 at rest and at the others', and no jump anywhere."""

import itertools

import numpy as np
import pytest

from supple.deformers.corrections.readers import (
    FLAT,
    MIN_ANGLE,
    AngleReader,
    DirectionReader,
    RadialReader,
    RampReader,
    Reader,
    find_reader,
)
from supple.deformers.errors import SkinningError
from supple.deformers.rig.joint_angles import FADE_COSINE, split_swing_twist

from ..cases import each

REST = np.array([1.0, 0.0, 0.0, 0.0])
AXES = {"X": (1, 0, 0), "Y": (0, 1, 0), "Z": (0, 0, 1)}


def turn(axis, degrees: float) -> np.ndarray:
    """Quaternion of a rotation about an axis, or about "X", "Y" or "Z"."""
    axis = np.asarray(AXES.get(axis, axis) if isinstance(axis, str) else axis, np.float64)
    half = np.radians(degrees) / 2
    return np.array([np.cos(half), *(np.sin(half) * axis / np.linalg.norm(axis))])


def multiply(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The rotation by the second, then by the first; either may be many."""
    a, b, c, d = np.moveaxis(np.asarray(first), -1, 0)
    w, x, y, z = np.moveaxis(np.asarray(second), -1, 0)
    return np.stack(
        [a * w - b * x - c * y - d * z, a * x + b * w + c * z - d * y, a * y - b * z + c * w + d * x,
         a * z + b * y - c * x + d * w], axis=-1,
    )  # fmt: skip


def draw(count: int, bones: int, seed: int) -> np.ndarray:
    """Random rotations, all equally likely, shape (count, bones, 4)."""
    found = np.random.default_rng(seed).normal(size=(count, bones, 4))
    return found / np.linalg.norm(found, axis=2, keepdims=True)


GROUPS = {
    "one bend": ("AUTO", [[turn("X", 90)]]),
    "bends to both sides": ("AUTO", [[turn("X", 40)], [turn("X", 120)], [turn("X", -30)], [turn("X", 80)]]),
    "nearly along one line": ("AUTO", [[turn((1, 0, 0.5), 40)], [turn((1, 0.1, 0.4), 120)], [turn((1, 0, 0.6), 80)]]),
    "twists": ("AUTO", [[turn("Y", 60)], [turn("Y", 150)], [turn("Y", -90)]]),
    "a bend beyond 150": ("AUTO", [[turn("Z", -170)], [turn("Z", -90)]]),
    "angles asked for": ("ANGLE", [[turn("X", 40)], [multiply(turn((1, 0, 1), 100), turn("Y", 60))]]),
    "directions": ("SWING", [[turn("X", 80)], [turn("X", -60)], [turn("Z", 90)], [turn((1, 0, 1), 100)]]),
    "directions of two bones": ("SWING", [[turn("X", 80), turn("Z", 30)], [turn("X", 80), turn("Z", -60)]]),
    "a shoulder": (
        "AUTO",
        [[turn("X", 90)], [turn("Z", 80)], [multiply(turn("X", 90), turn("Y", 70))], [turn((1, 0, -1), 140)]],
    ),
    "half a turn": ("AUTO", [[turn("X", 180)], [turn("Z", 60)]]),
    "three bones": ("AUTO", [[turn("X", 50), turn("Z", 30), REST], [turn("X", 90), turn("Y", 40), turn("Z", 20)]]),
    "four directions": ("DIRECTIONS", [[turn("X", 90)], [turn("X", -60)], [turn("Z", 80)], [turn("Z", -80)]]),
    "slanting directions": (
        "DIRECTIONS",
        [[turn("X", 90)], [turn((1, 0, 1), 120)], [turn("X", 40)], [turn("Z", -160)]],
    ),
    "neighbors": ("RBF", [[turn("X", 2.1)], [turn("X", 90)], [turn("X", 93)]]),
    "many": ("RBF", [[turn((np.cos(a), b, np.sin(a)), 70 + 30 * b)] for a in np.arange(6) for b in (-1, 0, 1)]),
}
"""Reader that is asked for, and the poses of the corrections."""


def find_group(name: str) -> tuple[Reader, np.ndarray]:
    kind, poses = GROUPS[name]
    rotations = np.array(poses)
    return find_reader(rotations, [kind] * len(poses)), rotations


@each("name", GROUPS)
def test_each_pose_brings_in_its_own_correction_alone(name: str) -> None:
    """Though it is rounded, and nothing at rest."""
    reader, rotations = find_group(name)
    for noise in (0.0, 1e-7):
        rounded = rotations + noise * draw(len(rotations), rotations.shape[1], 8)
        assert reader.read(rounded) == pytest.approx(np.eye(len(rotations)), abs=1e-9)
    assert np.abs(reader.read(np.broadcast_to(REST, (1, *rotations.shape[1:])))).max() < 1e-9


@each("name", GROUPS)
def test_values_are_between_0_and_1_and_add_up_to_at_most_1(name: str) -> None:
    """The sign of a quaternion does not count. Those of directions add up: two that are square, to 1.42."""
    reader, rotations = find_group(name)
    drawn = draw(5000, rotations.shape[1], 1)
    values = reader.read(drawn)
    assert values.min() >= 0.0
    if not isinstance(reader, DirectionReader):
        assert values.sum(axis=1).max() <= 1.0 + 1e-9
    np.testing.assert_allclose(reader.read(-drawn), values, rtol=0, atol=1e-12)


@each("name", GROUPS)
def test_nothing_jumps_anywhere(name: str) -> None:
    """Steps of a millionth of a radian, many of them across half a turn, where angles change their sign."""
    reader, rotations = find_group(name)
    bones = rotations.shape[1]
    drawn = draw(20000, bones, 3)
    drawn[:8000, :, 0] = 1e-8 * np.sign(drawn[:8000, :, 0])  # half a turn about any axis
    drawn[4000:8000, :, 2] *= 1e-6  # half a turn of swing
    drawn /= np.linalg.norm(drawn, axis=2, keepdims=True)
    step = 1e-6 * draw(20000, bones, 4)
    moved = drawn + step
    moved /= np.linalg.norm(moved, axis=2, keepdims=True)
    change = np.abs(reader.read(moved) - reader.read(drawn)).max(axis=1)
    assert change.max() < 1e-6 * steepest(reader) + 1e-9


def steepest(reader: Reader) -> float:
    """A bound of how fast values change, by how far the quaternion moves.

    An angle read across the bone's direction turns the faster the nearer the bone points back along itself, where the
    values fade: there, what is left of them counts.
    """
    if isinstance(reader, RadialReader):
        return 20.0 * float(np.abs(reader.gains).sum(axis=1).max()) / reader.width
    if isinstance(reader, DirectionReader):
        slope = float((np.abs(reader.gains) @ np.linalg.norm(reader.ramps, axis=1)).max())
        return 20.0 * (slope + 1.0 / (np.pi - reader.fade)) / (np.pi - reader.fade)
    gaps = [abs(side - top) for begin, top, end in reader.hats for side in (begin, end) if side is not None]
    fades = np.pi - np.array([reader.swing_fade, reader.twist_fade])
    return float(20.0 / min(*gaps, *fades) / min(fades))


def test_a_jump_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, _ = find_group("bends to both sides")
    monkeypatch.setattr("supple.deformers.corrections.readers._fade", lambda angles, start: np.ones_like(angles))
    around = np.array([[turn("X", 179.9)], [turn("X", 180.1)]])
    assert np.abs(np.diff(reader.read(around), axis=0)).max() == pytest.approx(1.0)


def test_a_full_turn_passes_without_a_jump(subtests: pytest.Subtests) -> None:
    bases = [REST, *(turn(other, 90) for other in "XYZ"), turn("X", 180), turn((1, 2, 3), 77)]
    half = np.radians(np.linspace(-180, 180, 14401)) / 2
    turns = [np.column_stack([np.cos(half), np.sin(half)[:, None] * AXES[axis]]) for axis in "XYZ"]
    paths = [multiply(base, around) for base in bases for around in turns]
    for name in GROUPS:
        reader, rotations = find_group(name)
        steepest_step = np.radians(0.025) * 40.0 / min(1.0, spacing(rotations))
        with subtests.test(name):
            for path in paths:
                values = reader.read(np.broadcast_to(path[:, None], (len(path), *rotations.shape[1:])))
                assert np.abs(np.diff(values, axis=0)).max() < steepest_step
                assert values[0] == pytest.approx(values[-1], abs=1e-9)


def spacing(rotations: np.ndarray) -> float:
    """The smallest angle between poses, rest included, radians."""
    poses = np.concatenate([np.broadcast_to(REST, (1, *rotations.shape[1:])), rotations])
    pairs = itertools.combinations(poses, 2)
    return min(float(np.linalg.norm(2.0 * np.arccos(np.minimum(np.abs((a * b).sum(axis=1)), 1.0)))) for a, b in pairs)


@each(
    ("name", "kind"),
    [
        ("one bend", "X"),
        ("bends to both sides", "X"),
        ("nearly along one line", "bend"),
        ("twists", "Y"),
        ("a bend beyond 150", "Z"),
        ("a shoulder", "RBF"),
        ("half a turn", "RBF"),
        ("three bones", "RBF"),
        ("directions", "SWING"),
        ("four directions", "DIRECTIONS"),
        ("slanting directions", "DIRECTIONS"),
    ],
)
def test_what_automatic_chooses(name: str, kind: str) -> None:
    reader, _ = find_group(name)
    if not isinstance(reader, AngleReader):
        assert kind == find_kind(reader)
    elif kind == "bend":
        assert not reader.is_twist
    else:
        assert np.abs(reader.axis) == pytest.approx(AXES[kind], abs=1e-9)


def find_kind(reader: Reader) -> str:
    """Which of the readers that can be asked for it is."""
    if isinstance(reader, RadialReader):
        return "SWING" if reader.is_swing else "RBF"
    return "ANGLE" if isinstance(reader, AngleReader) else "DIRECTIONS"


def test_hats_by_hand() -> None:
    reader, _ = find_group("bends to both sides")
    values = reader.read(np.array([[turn("X", angle)] for angle in (-100, -15, 20, 60, 100, 140, 165, 179.99)]))
    tilt = FLAT / (1.0 - 2.0 * FLAT)  # values keep within so much of straight lines
    expected = [[0, 0, 1, 0], [0, 0, 0.5, 0], [0.5, 0, 0, 0], [0.5, 0, 0, 0.5], [0, 0.5, 0, 0.5], [0, 1, 0, 0],
                [0, 0.5, 0, 0], [0, 0, 0, 0]]  # fmt: skip
    assert values == pytest.approx(np.array(expected, np.float64), abs=tilt + 1e-3)


def test_an_angle_ignores_twist_and_swing_does_too() -> None:
    twists = np.array([turn("Y", angle) for angle in np.linspace(-180, 180, 73)])
    for name in ("bends to both sides", "directions", "four directions", "slanting directions"):
        reader, rotations = find_group(name)
        for number, rotation in enumerate(rotations[:, 0]):
            values = reader.read(multiply(rotation, twists)[:, None])
            assert values == pytest.approx(np.tile(np.eye(len(rotations))[number], (73, 1)), abs=1e-6)


def test_radial_values_by_hand() -> None:
    reader = find_reader(np.array([[turn("X", 90)]]), ["RBF"])
    assert isinstance(reader, RadialReader)
    assert reader.width == pytest.approx(2.0 * np.sin(np.pi / 4))
    # functions at 45 degrees: both exp(-4 sin^2(22.5 degrees) / (2 * 2)); inverse of [[1, e], [e, 1]], e = exp(-1/2)
    near, far = np.exp(-(np.sin(np.pi / 8) ** 2)), np.exp(-0.5)
    expected = (near - far * near) / (1.0 - far**2)
    slight = 0.02  # is 0, and what lacks so much of 1 is 1
    expected = (expected - slight) / (1.0 - 2.0 * slight)
    assert reader.read(np.array([[turn("X", 45)]]))[0, 0] == pytest.approx(expected, abs=1e-9)


def test_directions_by_hand() -> None:
    """A sine of half the swing, toward each direction on its own."""
    reader, _ = find_group("four directions")
    values = reader.read(np.array([[turn("X", 45)], [turn("X", -30)], [turn("X", 130)], [turn((1, 0, 1), 90)]]))
    half, back = (np.sin(np.radians(angle / 2)) / np.sin(np.radians(of / 2)) for angle, of in ((45, 90), (30, 60)))
    both = np.sin(np.radians(45)) * np.sqrt(0.5)
    aside = both / np.sin(np.radians(40))
    expected = [[half, 0, 0, 0], [0, back, 0, 0], [1, 0, 0, 0], [both / np.sin(np.radians(45)), 0, aside, 0]]
    assert values == pytest.approx(np.array(expected), abs=2.0 * FLAT)


RAMPS = RampReader(
    np.array([[[0.0, 2.0, 0.0, 0.0], [0.25, 0.0, 0.0, 1.0]], [[0.5, 0.0, 0.0, -4.0], [0.0, 0.0, 1.0, 0.0]]])
)


def test_ramps_by_hand() -> None:
    """Products of both bones' ramps, at most 1; the sign of a quaternion does not count."""
    rotations = np.array([[turn("X", 30), turn("Z", 60)], [turn("Z", -90), turn("Y", 90)], [turn("X", 90), REST]])
    first, second = 2 * np.sin(np.radians(15)) * 0.25, 1.0  # the second would be 1.65
    expected = [[first**1.25, 0.0], [0.0, second], [0.0, 0.0]]
    for sign in (1.0, -1.0):
        assert RAMPS.read(sign * rotations) == pytest.approx(np.array(expected), abs=1e-12)


def test_ramps_fade_from_165_degrees_to_half_a_turn_and_do_not_jump() -> None:
    single = RampReader(np.array([[[0.2, 1.2, 0.0, 0.0]]]))
    values = single.read(np.array([[turn("X", angle)] for angle in (150, 165, 172, 180, 188, 195)]))[:, 0]
    full = [(1.2 * np.sin(np.radians(angle / 2)) - 0.2) ** 1.25 for angle in (150, 165)]
    assert values[:2] == pytest.approx(full)
    assert full[1] > values[2] > values[3] == pytest.approx(0.0, abs=1e-9)
    assert (values[4:] == 0.0).all()
    drawn, step = draw(20000, 2, 3), 1e-6 * draw(20000, 2, 4)
    drawn[:8000, :, 0] *= 1e-7
    drawn, moved = (each / np.linalg.norm(each, axis=2, keepdims=True) for each in (drawn, drawn + step))
    steepest = 1.25 * (4.0 * 1.0 + 1.0 * 4.0) / FADE_COSINE  # of the second value
    assert np.abs(RAMPS.read(moved) - RAMPS.read(drawn)).max() < 1e-6 * steepest


def test_poses_that_directions_do_not_tell_apart_are_read_by_whole_rotations() -> None:
    for poses in (
        [turn("Y", 60)],
        [turn("X", 60), multiply(turn("X", 60), turn("Y", 50))],
        [turn("X", 60), turn("X", 62.5)],
        [turn("X", 178)],
    ):
        assert find_kind(find_reader(np.array(poses)[:, None], ["DIRECTIONS"] * len(poses))) == "RBF"


def test_one_who_asks_decides_for_the_group() -> None:
    rotations = np.array([[turn("X", 40)], [turn("X", 90)]])
    kinds = {}
    for asked in itertools.product(("AUTO", "ANGLE", "DIRECTIONS", "SWING", "RBF"), repeat=2):
        kinds[asked] = find_kind(find_reader(rotations, asked))
    for asked, kind in kinds.items():
        assert kind == next((wanted for wanted in ("RBF", "SWING", "DIRECTIONS") if wanted in asked), "ANGLE"), asked


@each(
    ("asked", "poses", "words"),
    [
        ("AUTO", [[turn("X", 1.9)]], "'Swing and Twist', the pose of A .* from rest"),
        ("ANGLE", [[turn("X", 50)], [turn("X", -1.9)]], "'Angle', the pose of B .* from rest"),
        ("SWING", [[turn("X", 50)], [turn("Y", 50)]], "'Swing', the pose of B .* from rest"),
        ("AUTO", [[turn("X", 50)], [turn("Z", 20)], [turn("X", 51.9)]], "poses of A and C .* apart"),
        ("ANGLE", [[turn((2, 0, 1), 50)], [turn((2, 0, -1), 50)]], "'Angle', the poses of A and B .* apart"),
        ("SWING", [[turn("X", 50)], [multiply(turn("X", 50), turn("Y", 50))]], "poses of A and B .* apart"),
        ("ANGLE", [[turn("X", 178)]], "up to 176 degrees"),
        ("ANGLE", [[turn("X", 30), turn("X", 30)]], "to one bone, not to 2"),
        ("RBF", [[turn("X", 30)] * 4], "at most 3 bones, not 4"),
    ],
)
def test_what_cannot_be_read_is_said(asked: str, poses: list, words: str) -> None:
    with pytest.raises(SkinningError, match=words):
        find_reader(np.array(poses), [asked] * len(poses), ["A", "B", "C"][: len(poses)])


def test_poses_a_little_farther_apart_are_read() -> None:
    apart = np.degrees(MIN_ANGLE) + 0.1
    for kind in ("ANGLE", "SWING", "RBF"):
        rotations = np.array([[turn("X", apart)], [turn("X", 2 * apart)]])
        assert find_reader(rotations, [kind, kind]).read(rotations) == pytest.approx(np.eye(2), abs=1e-9)


def test_quaternions_need_not_be_normalized_and_stay_as_they_are() -> None:
    rotations = 1.001 * np.array([[turn("X", 70)], [turn("Z", 70)]])
    before = rotations.copy()
    reader = find_reader(rotations, ["AUTO", "AUTO"])
    assert (rotations == before).all()
    assert reader.read(rotations / 1.001) == pytest.approx(np.eye(2), abs=1e-9)
    assert split_swing_twist(rotations[:, 0])[0].shape == (2, 3)
