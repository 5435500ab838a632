"""Skin patterns: the paper's equations against numbers worked out by hand, and maps against slow scalar code."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supple.deformers.errors import SkinningError
from supple.deformers.patterns.heights import (
    BASES,
    KINDS,
    HeightMap,
    Relief,
    Response,
    displace_points,
    draw_heights,
    lay_pattern,
    measure_range,
    respond,
    sample_values,
    soften_edges,
)
from supple.deformers.patterns.library import PRESETS, draw_preset

from ..cases import each

HALF_LOG = 0.6487212707001282
"""The angle, radians, of which log(angle + 1) is 1/2: the square root of e, less 1."""

ROUNDED = 5e-7
"""Of gray values, in float32."""

AMOUNTS = (-3.0, -1.0, -0.4, 0.0, 1e-4, 0.3, 0.5, 0.999, 1.0, 1.7, 40.0)


def raise_values(kind: str, values, amounts, depth: float = 0.0) -> np.ndarray:
    """What equations 1 to 3 call C_out, of gray values, shape (N,): what is drawn, on its base.

    The shape is that of amounts, and (N,): an amount for all, or several.
    """
    relief, count, rows = Relief(kind, depth=depth), np.size(amounts), []
    given = float(amounts) if np.ndim(amounts) == 0 else np.asarray(amounts, np.float32)[None]
    for value in values:
        laid = lay_pattern(relief, np.array([[value]]), (1, count), np.arange(count), np.full((count, 2), 0.5))
        rows.append(BASES[kind] + draw_heights(HeightMap((1, count), (laid,)), [given])[0].astype(np.float64))
    return np.transpose(rows).reshape(*np.shape(amounts), -1)


# Equations 1 to 4


@each(
    ("kind", "gain", "values", "expected"),
    [
        # 0.8 * 1/2 = 0.4; 0.4 * (0.9 - 0.5) + 0.5 = 0.66; 0.4 * (0.1 - 0.5) + 0.5 = 0.34; mid-gray stays
        ("WRINKLE", 0.8, (0.9, 0.1, 0.5), (0.66, 0.34, 0.5)),
        # 1.5 * 1/2 = 0.75; 0.75 * 0.6 = 0.45; black stays
        ("BULGE", 1.5, (0.6, 1.0, 0.0), (0.45, 0.75, 0.0)),
        # 0.6 * 1/2 = 0.3 on all that is not black; 0.9 + 0.3 is clamped to 1
        ("BONE", 0.6, (0.0, 0.001, 0.2, 0.9), (0.0, 0.301, 0.5, 1.0)),
        # a negative amount turns folds round: -1 * (0.9 - 0.5) + 0.5
        ("WRINKLE", -2.0, (0.9,), (0.1,)),
    ],
)
def test_equations_1_to_3_by_hand(kind, gain, values, expected) -> None:
    amount = respond(Response("LOG", gain=gain), HALF_LOG)
    assert amount == pytest.approx(0.5 * gain, abs=1e-6)
    assert raise_values(kind, values, float(amount)) == pytest.approx(expected, abs=1e-6)


def test_equation_3_keeps_the_shape_as_the_text_says() -> None:
    values = np.array([0.1, 0.25, 0.4])
    raised = raise_values("BONE", values, 0.3)
    # by the printed product 0.3 C the differences would shrink to 0.045
    assert np.diff(raised) == pytest.approx([0.15, 0.15], abs=1e-6)


def test_equation_4_by_hand() -> None:
    points = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 1.0]])
    normals = np.array([[0.0, 1.0, 0.0], [0.6, 0.0, 0.8]])
    # (1, 2 + 0.25, 3); 0.5 against (0.6, 0, 0.8): (-0.3, 0, 1 - 0.4)
    moved = displace_points(points, normals, np.array([0.25, -0.5]))
    assert moved == pytest.approx(np.array([[1.0, 2.25, 3.0], [-0.3, 0.0, 0.6]]), abs=1e-6)
    assert points[0].tolist() == [1.0, 2.0, 3.0]


@each("kind", KINDS)
def test_values_are_clamped(kind: str) -> None:
    values = np.array([0.0, 0.2, 0.8, 1.0])
    raised = raise_values(kind, values, 5.0)
    # 5 * (0.8 - 0.5) + 0.5 = 2; 5 * 0.8 = 4; 0.8 + 5 = 5.8
    assert raised[2:].tolist() == [1.0, 1.0]
    # 5 * (0 - 0.5) + 0.5 = -2; 5 * 0 = 0; black
    assert raised[0] == raise_values(kind, values, -5.0)[3] == 0.0


# Responses


def test_range_by_hand() -> None:
    response = Response("RANGE", "POSITIVE", 0.2, 1.2)
    # t^3 (6 t^2 - 15 t + 10) at 1/4: 1/64 * (3/8 - 15/4 + 10) = 53/512; at 1/2: 1/2; at 3/4: 1 - 53/512
    expected = [0.0, 0.0, 53 / 512, 0.5, 459 / 512, 1.0, 1.0]
    assert respond(response, np.array([-1.0, 0.2, 0.45, 0.7, 0.95, 1.2, 3.0])) == pytest.approx(expected, abs=1e-12)


@each(("start", "full"), ((0.0, math.pi / 2), (-0.5, 0.1), (0.3, 0.35)))
@each("direction", ("POSITIVE", "NEGATIVE"))
def test_range_has_no_corner(start, full, direction) -> None:
    width = full - start
    angles, step = np.linspace(start - width, full + width, 3001, retstep=True)
    amounts = respond(Response("RANGE", direction, start, full), angles if direction == "POSITIVE" else -angles)
    bends = np.diff(amounts, 2) / step**2
    # its third derivative is at most 60, in widths: a corner would make a jump of 1 / step, one of curvature 1
    assert np.abs(np.diff(bends)).max() <= 1.01 * 60 / width**3 * step + 1e-6 / width**2
    assert np.abs(bends).max() == pytest.approx(10 / math.sqrt(3) / width**2, rel=1e-3)  # it is no straight line
    assert (np.diff(amounts) >= 0.0).all()
    assert (amounts[0], amounts[-1]) == (0.0, 1.0)


def test_log_is_that_of_the_paper() -> None:
    angles = np.linspace(0.0, math.pi, 50)
    expected = [0.7 * math.log(angle + 1.0) for angle in angles]
    assert respond(Response("LOG", gain=0.7), angles) == pytest.approx(expected, abs=1e-12)


def test_log_counts_from_its_start() -> None:
    response = Response("LOG", "POSITIVE", start=0.3, gain=-2.0)
    # nothing up to 0.3; then log(1/2 + 1) * -2 = -0.8109302162
    assert respond(response, np.array([-1.0, 0.3, 0.8])) == pytest.approx([0.0, 0.0, -0.8109302162], abs=1e-9)


@each("law", ("RANGE", "LOG"))
def test_directions(law: str) -> None:
    angles = np.linspace(-2.0, 2.0, 41)
    positive, negative, both = (respond(Response(law, one), angles) for one in ("POSITIVE", "NEGATIVE", "BOTH"))
    assert (positive[angles < 0] == 0.0).all()
    assert (positive[angles > 0] > 0.0).all()
    assert negative == pytest.approx(positive[::-1], abs=1e-12)
    assert both == pytest.approx(positive + negative, abs=1e-12)


def test_a_response_takes_any_shape() -> None:
    angles = np.random.default_rng(0).normal(size=(2, 3, 4))
    before = angles.copy()
    assert respond(Response(), angles).shape == (2, 3, 4)
    assert respond(Response(), 0.4).shape == ()
    assert (angles == before).all()


ANGLES = "angles and the gain of a pattern must be numbers"
RELIEF = "strength, soft edge and depth of a pattern must be numbers"


@each(
    ("made", "values", "message"),
    (
        (Response, {"law": "LINEAR"}, "no law 'LINEAR': choose RANGE, LOG"),
        (Response, {"direction": "UP"}, "no direction 'UP': choose POSITIVE, NEGATIVE, BOTH"),
        *((Response, {name: value}, ANGLES) for name in ("start", "full", "gain") for value in (math.nan, math.inf)),
        (Response, {"start": 1.0, "full": 1.0}, "fully visible at 57.3 degrees, but starts at 57.3"),
        (
            Response,
            {"start": 1.0, "full": 0.5},
            "visible at 28.6 degrees, but starts at 57.3: set the full angle above",
        ),
        (Relief, {"kind": "DENT"}, "no kind of pattern 'DENT': choose WRINKLE, BULGE, BONE"),
        *((Relief, {"kind": "BONE", name: math.nan}, RELIEF) for name in ("strength", "softness", "depth")),
    ),
)
def test_settings_that_make_no_sense(made, values, message) -> None:
    with pytest.raises(SkinningError, match=message):
        made(**values)


def test_log_has_no_full_angle() -> None:
    assert respond(Response("LOG", start=1.0, full=0.0), 1.0) == 0.0


# Kinds


def test_bases_are_flat_at_rest() -> None:
    values = np.linspace(0.0, 1.0, 101)
    for kind in KINDS:
        assert np.abs(raise_values(kind, values, 0.0, depth=1.0) - BASES[kind]).max() <= 1e-7


@each("key", PRESETS)
def test_the_library_is_flat_at_rest(key: str) -> None:
    relief = Relief(PRESETS[key].kind, strength=1.0, softness=0.2)
    heights = cover(relief, draw_preset(key, 128), (40, 50))
    assert np.abs(draw_heights(heights, [0.0])).max() <= 1e-7
    assert np.abs(draw_heights(heights, [1.0])).max() > 0.3


@each("depth", (0.0, 0.2, 0.7, 1.0))
def test_bones_rise_and_never_sink_as_the_amount_grows(depth: float) -> None:
    values = np.linspace(0.0, 1.0, 101)
    raised = raise_values("BONE", values, np.linspace(-0.2, 1.4, 401), depth)
    steps = np.diff(raised, axis=0)
    assert (steps >= -ROUNDED).all()
    assert steps.max() <= (1.0 + 2.0 * depth) * 0.004 + ROUNDED  # it has no jump
    assert (np.diff(raised[:, 1:], axis=1) >= -ROUNDED).all()  # and what is higher stays higher
    assert ((raised >= 0.0) & (raised <= 1.0)).all()
    assert np.ptp(raised, axis=0)[1:].min() > 0.0


def test_a_bone_just_under_the_skin_is_itself_at_full_amount() -> None:
    values = np.linspace(0.0, 1.0, 101)
    assert raise_values("BONE", values, 1.0, depth=1.0) == pytest.approx(values, abs=ROUNDED)


def test_a_bone_comes_out_round() -> None:
    values = np.linspace(0.01, 1.0, 201)
    # half way up from depth 1 the skin is met at 1/2, and rounded over a width of 1/4 on either side of it
    raised = raise_values("BONE", values, 0.5, depth=1.0)
    slopes = np.diff(raised) / np.diff(values)
    middles = 0.5 * (values[1:] + values[:-1])
    # (r + w)^2 / (4 w) has the slope (r + w) / (2 w), with r the height over the skin
    assert slopes == pytest.approx(np.clip((middles - 0.5 + 0.25) / 0.5, 0.0, 1.0), abs=1e-2)


# Pictures


def weigh_slowly(distance: float) -> float:
    """The cubic B-spline, as textbooks give it."""
    d = abs(distance)
    return 2 / 3 - d**2 + d**3 / 2 if d < 1 else (2 - d) ** 3 / 6 if d < 2 else 0.0


def sample_slowly(values: np.ndarray, s: float, t: float) -> float:
    """By cubic B-splines, one point at a time, from the middles of pixels, outermost pixels going on for ever."""
    height, width = values.shape
    x, y = s * width - 0.5, t * height - 0.5
    total = 0.0
    for row, column in itertools.product(*(range(math.floor(at) - 2, math.floor(at) + 4) for at in (y, x))):
        share = weigh_slowly(x - column) * weigh_slowly(y - row)
        total += share * values[min(max(row, 0), height - 1), min(max(column, 0), width - 1)]
    return total


def soften_slowly(s: float, t: float, softness: float) -> float:
    share = min(max(min(s, 1 - s, t, 1 - t) / max(0.5 * softness, 1e-4), 0.0), 1.0)
    return share * share * (3 - 2 * share)


@each("shape", ((1, 1), (1, 5), (5, 1), (2, 2), (7, 4)))
def test_samples_are_those_of_a_loop(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(sum(shape))
    image = rng.uniform(size=shape)
    edges = np.array(list(itertools.product((-0.3, 0.0, 0.5, 1.0, 1.3), repeat=2)))
    coordinates = np.concatenate([rng.uniform(-0.2, 1.2, (200, 2)), edges])
    assert sample_values(image, coordinates) == pytest.approx(
        [sample_slowly(image, *one) for one in coordinates], abs=1e-12
    )


def test_samples_between_pixels_of_a_slope_are_the_slope() -> None:
    image = np.arange(30.0).reshape(5, 6)
    coordinates = np.random.default_rng(3).uniform(0.3, 0.7, (50, 2))
    expected = coordinates[:, 0] * 6 - 0.5 + 6 * (coordinates[:, 1] * 5 - 0.5)
    assert sample_values(image, coordinates) == pytest.approx(expected, abs=1e-12)


def test_slopes_of_samples_have_no_steps_at_pixels() -> None:
    image = np.random.default_rng(4).uniform(size=(1, 12))
    along = np.linspace(0.0, 1.0, 4801)
    slopes = np.diff(sample_values(image, np.stack([along, np.full_like(along, 0.5)], axis=1))) / np.diff(along)
    assert np.abs(np.diff(slopes)).max() < 0.02 * np.ptp(slopes)  # a linear interpolation has steps of half of it


@each("softness", (0.0, 0.1, 0.5, 1.0))
def test_edges_fade_out(softness: float) -> None:
    rng = np.random.default_rng(8)
    coordinates = rng.uniform(-0.2, 1.2, (500, 2))
    expected = [soften_slowly(*one, softness) for one in coordinates]
    assert soften_edges(coordinates, softness) == pytest.approx(expected, abs=1e-12)
    assert soften_edges(np.array([0.0, 0.5]), softness) == 0.0
    assert soften_edges(np.array([0.5, 0.5]), softness) == 1.0
    # half way through the soft edge half is left
    assert soften_edges(np.array([0.5, 0.25 * softness]), softness) == pytest.approx(
        0.5 if softness else 0.0, abs=1e-12
    )


# Maps


def cover(relief: Relief, image: np.ndarray, shape: tuple[int, int]) -> HeightMap:
    """A map that a image fills."""
    rows, columns = np.divmod(np.arange(shape[0] * shape[1]), shape[1])
    coordinates = np.stack([(columns + 0.5) / shape[1], (rows + 0.5) / shape[0]], axis=1)
    return HeightMap(shape, (lay_pattern(relief, image, shape, np.arange(len(coordinates)), coordinates),))


def draw_slowly(layout, shape: tuple[int, int], amounts) -> np.ndarray:
    """All patterns' heights, pixel by pixel: equations 1 to 3 as they are read, less the base, softened, scaled."""
    drawn = np.zeros(shape)
    for (relief, image, samples, coordinates), amount in zip(layout, amounts, strict=True):
        for sample, (s, t) in zip(samples, coordinates, strict=True):
            gray = sample_slowly(image, s, t)
            if relief.kind == "WRINKLE":
                height = min(max(amount * (gray - 0.5) + 0.5, 0.0), 1.0) - 0.5
            elif relief.kind == "BULGE":
                height = min(max(amount * gray, 0.0), 1.0)
            else:
                height = raise_slowly(gray, amount, relief.depth)
            drawn[divmod(sample, shape[1])] += height * soften_slowly(s, t, relief.softness) * relief.strength
    return drawn


def raise_slowly(gray: float, amount: float, depth: float) -> float:
    if gray <= 0.0:
        return 0.0
    out = gray - depth + amount
    width = depth * amount * (1.0 - amount) if 0.0 < amount < 1.0 else 0.0
    if out <= -width:
        return 0.0
    return min(out if out >= width else (out + width) ** 2 / (4.0 * width), 1.0)


def make_layout(seed: int = 4) -> tuple[tuple[int, int], list]:
    """Nine patterns of all kinds over parts of a map of 11 x 13 pixels, some of them over one another."""
    rng, shape, layout = np.random.default_rng(seed), (11, 13), []
    for number in range(9):
        image = rng.uniform(size=rng.integers(3, 7, 2))
        image[:2] *= number % 2  # black, half of them
        count = int(rng.integers(1, 100))
        samples = np.sort(rng.choice(shape[0] * shape[1], count, replace=False))
        softness, depth = (0.0, 0.3, 1.0)[(number + number // 3) % 3], (1.0, 0.0, 0.6)[number // 3]
        relief = Relief(KINDS[number % 3], rng.uniform(-2.0, 2.0), softness, depth)
        layout.append((relief, image, samples, rng.uniform(-0.1, 1.1, (count, 2))))
    return shape, layout


def lay(shape: tuple[int, int], layout: list) -> HeightMap:
    return HeightMap(shape, tuple(lay_pattern(one[0], one[1], shape, *one[2:]) for one in layout))


amounts_of_nine = st.lists(st.sampled_from(AMOUNTS) | st.floats(-1.5, 2.0), min_size=9, max_size=9)


@given(st.integers(0, 50), amounts_of_nine, st.permutations(range(9)))
@settings(max_examples=20)
def test_a_map_is_what_slow_code_draws_in_any_order(seed, amounts, order) -> None:
    shape, layout = make_layout(seed)
    heights = lay(shape, layout)
    before = [one.values.tobytes() + one.gains.tobytes() + one.shapes.tobytes() for one in heights.patterns]
    drawn = draw_heights(heights, amounts)
    assert drawn.dtype == np.float32
    assert drawn == pytest.approx(draw_slowly(layout, shape, amounts), abs=3e-6)
    assert draw_heights(heights, amounts).tobytes() == drawn.tobytes()
    assert [one.values.tobytes() + one.gains.tobytes() + one.shapes.tobytes() for one in heights.patterns] == before
    assert np.abs(drawn).max() <= measure_range(heights) * (1 + 1e-6)
    again = draw_heights(lay(shape, [layout[index] for index in order]), [amounts[index] for index in order])
    assert again == pytest.approx(drawn, abs=1e-6)


def test_a_bone_stays_flat_where_its_image_is_black() -> None:
    heights = cover(Relief("BONE", 0.5, depth=0.0), np.array([[0.0, 0.0, 0.0, 0.6, 0.6, 0.6]]), (1, 6))
    # 0.5 * (gray + 0.3), whose edge is 0.6 of 1/6 and of 5/6
    assert draw_heights(heights, [0.3]) == pytest.approx(np.array([[0.0, 0.0, 0.2, 0.4, 0.45, 0.45]]), abs=1e-6)


def test_a_pattern_on_no_pixel_draws_nothing() -> None:
    nowhere = lay_pattern(Relief("BULGE"), np.ones((2, 2)), (4, 4), np.zeros(0, int), np.zeros((0, 2)))
    assert (draw_heights(HeightMap((4, 4), (nowhere,)), [1.0]) == 0.0).all()
    assert (draw_heights(HeightMap((4, 4), ()), []) == np.zeros((4, 4))).all()


@each("count", (0, 8, 10))
def test_amounts_have_to_fit(count: int) -> None:
    shape, layout = make_layout()
    with pytest.raises(SkinningError, match=f"9 patterns, but {count} amounts: give one for each"):
        draw_heights(lay(shape, layout), [1.0] * count)


@each("shape", ((4,), (4, 4, 3), (0, 4), (4, 0)))
def test_a_pattern_needs_an_image(shape: tuple) -> None:
    with pytest.raises(SkinningError, match="needs a gray image, not an array of shape"):
        lay_pattern(Relief("BULGE"), np.zeros(shape), (4, 4), np.arange(4), np.zeros((4, 2)))


# Range


@each(("kind", "largest"), (("WRINKLE", 0.5), ("BULGE", 1.0), ("BONE", 1.0)))
@each("strength", (2.0, -2.0))
def test_range_is_reached(kind: str, largest: float, strength: float) -> None:
    heights = cover(Relief(kind, strength), np.ones((4, 4)), (4, 4))
    limit = measure_range(heights)
    assert limit == pytest.approx(2.0 * largest, abs=1e-6)
    assert np.abs(draw_heights(heights, [2.0])).max() == pytest.approx(limit, abs=1e-6)


def test_ranges_of_patterns_over_one_another_add() -> None:
    (one,) = cover(Relief("BULGE", 0.2), np.ones((4, 4)), (4, 4)).patterns
    (two,) = cover(Relief("WRINKLE", -0.6), np.ones((4, 4)), (4, 4)).patterns
    assert measure_range(HeightMap((4, 4), (one, two))) == pytest.approx(0.5, abs=1e-6)  # 0.2 + 0.6 / 2
    apart = replace(two, window=(slice(4, 8), slice(0, 4)))
    assert measure_range(HeightMap((8, 4), (one, apart))) == pytest.approx(0.3, abs=1e-6)
    assert measure_range(HeightMap((4, 4), ())) == 0.0
