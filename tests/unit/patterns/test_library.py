"""The eleven skin patterns: what a height map must hold so that it can be worn."""

import re
from pathlib import Path

import numpy as np
import pytest

from supple.deformers.errors import SkinningError
from supple.deformers.patterns import library as pattern_library
from supple.deformers.patterns.heights import BASES
from supple.deformers.patterns.library import PRESETS, draw_preset

from ..cases import each

KEYS = list(PRESETS)
BONES = [key for key in KEYS if PRESETS[key].kind == "BONE"]
WRINKLES = [key for key in KEYS if PRESETS[key].kind == "WRINKLE"]
OUTWARD = [key for key in KEYS if PRESETS[key].kind != "WRINKLE"]
ONE_SIDE = [key for key in KEYS if not key.endswith("_R")]  # the right side is the mirror image of the left


def test_library_is_that_of_the_paper() -> None:
    kinds = {key: preset.kind for key, preset in PRESETS.items()}
    assert list(kinds.items()) == [
        *((f"FOLDS_{region}", "WRINKLE") for region in ("BELLY", "NECK", "WRIST")),
        *((f"BULGE_{shape}", "BULGE") for shape in ("STEEP", "GENTLE")),
        *((f"{bone}_{side}", "BONE") for bone in ("COLLAR_BONE", "RIBS", "SHOULDER_BLADE") for side in "LR"),
    ]


def test_library_is_in_the_table_of_its_page() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs/patterns.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([A-Z][\w ]+?)(?::|,| \|)", page.partition("\n## The library\n")[2], flags=re.MULTILINE)
    labels = [re.sub(" (Left|Right)$", "", preset.label) for preset in PRESETS.values()]
    assert rows == list(dict.fromkeys(labels))


@each("key", KEYS)
def test_preset_fits_a_body(key: str) -> None:
    preset = PRESETS[key]
    assert 0.02 < preset.width < 0.25
    assert 0.001 < preset.width * preset.strength * 1.7 < 0.025, "meters on a body of 1.7 m"
    assert preset.axis in ("X", "Y", "Z")
    assert 0.0 < preset.start < preset.full < np.pi
    for text in (preset.label, preset.description, preset.region):
        assert text
        assert not text.endswith(".")
        assert "{" not in text


@each("key", KEYS)
@each("resolution", [8, 9, 64, 255, 256])
def test_shape_and_range_and_a_border_of_the_base(key: str, resolution: int) -> None:
    heights = draw_preset(key, resolution)
    assert heights.dtype == np.float32
    assert heights.shape == (max(8, round(resolution * PRESETS[key].aspect)), resolution)
    assert heights.min() >= 0.0
    assert heights.max() <= 1.0
    rows, columns = (max(1, count // 17) for count in heights.shape)
    inner = np.zeros(heights.shape, dtype=bool)
    inner[rows:-rows, columns:-columns] = True
    base = BASES[PRESETS[key].kind]
    assert (heights[~inner] == base).all()
    assert (heights[inner] != base).any()


@each("key", sorted(set(OUTWARD) & set(ONE_SIDE)))
def test_highest_point_is_one(key: str) -> None:
    assert draw_preset(key).max() == 1.0
    assert draw_preset(key, 64).max() > 0.97
    assert draw_preset(key, 512).max() > 0.999


@each("key", WRINKLES)
def test_folds_go_in_and_out(key: str) -> None:
    heights = draw_preset(key)
    assert 0.0 < heights.min() < 0.02
    assert heights.max() > 0.65
    assert -0.03 < heights.mean() - 0.5 < 0.02, "about as much skin out as in"


@each("key", ONE_SIDE)
def test_shape_does_not_depend_on_the_resolution(key: str) -> None:
    coarse, fine = draw_preset(key, 64), draw_preset(key, 512)
    u, v = ((np.arange(count) + 0.5) / count for count in (64, len(coarse)))
    seen = sample_linearly(fine, v * len(fine) - 0.5, u * 512 - 0.5)
    assert np.abs(seen - coarse).max() < 0.04
    assert np.abs(seen - coarse).mean() < 0.004


def sample_linearly(heights: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    across = np.array([np.interp(columns, np.arange(heights.shape[1]), row) for row in heights])
    return np.array([np.interp(rows, np.arange(len(heights)), column) for column in across.T]).T


@each("key", KEYS)
def test_heights_have_16_bits(key: str) -> None:
    heights = draw_preset(key)
    steps = (heights.astype(np.float64) - BASES[PRESETS[key].kind]) * 65535
    assert np.abs(steps - np.rint(steps)).max() < 0.01
    assert len(np.unique(heights)) > 1000, "not as coarse as 8 bits"


@each("key", ONE_SIDE)
def test_relief_is_smooth(key: str) -> None:
    """With twice the pixels, a kink's second differences shrink by 2, a smooth function's by 4."""
    first, second = [], []
    for resolution in (256, 512):
        heights = draw_preset(key, resolution).astype(np.float64)
        first.append(max(np.abs(np.diff(heights, axis=axis)).max() for axis in (0, 1)))
        second.append(max(np.abs(np.diff(heights, 2, axis=axis)).max() for axis in (0, 1)))
    assert first[0] < 0.24
    assert second[0] < 0.24
    assert second[1] < 0.4 * second[0]


@each("key", [key for key in BONES if key.endswith("_L")])
@each("resolution", [33, 256])
def test_sides_are_mirror_images(key: str, resolution: int) -> None:
    left = draw_preset(key, resolution)
    right = draw_preset(f"{key[:-1]}R", resolution)
    assert np.array_equal(left, right[:, ::-1])
    assert np.abs(left - right).max() > 0.5, "not symmetric itself"


@each("key", ONE_SIDE)
def test_same_every_time(key: str) -> None:
    drawn = draw_preset(key, 64)
    pattern_library._find_peak.cache_clear()  # noqa: SLF001
    again = draw_preset(key, 64)
    assert again is not drawn
    assert np.array_equal(again, drawn)


@each("key", BONES)
def test_bone_comes_through_the_skin_bit_by_bit(key: str) -> None:
    heights = draw_preset(key)
    areas = [np.mean(heights > 1.0 - amount) for amount in np.linspace(0.0, 1.0, 11)]
    assert areas[0] == 0.0
    assert (np.diff(areas) > 0.002).all(), "something new at each step"
    assert (np.diff(areas) < 0.4 * areas[-1]).all(), "and never most of it at once"


def test_bones_differ_from_each_other() -> None:
    shapes = [draw_preset(key, 64) for key in BONES]
    assert len({(shape.shape, shape.tobytes()) for shape in shapes}) == len(BONES)


def test_left_collar_bone_rises_to_the_shoulder() -> None:
    """Seen from the front, the character's left shoulder is on the right."""
    heights = draw_preset("COLLAR_BONE_L")
    rows = np.arange(len(heights))[:, None]
    middle = (heights * rows).sum(axis=0) / np.maximum(heights.sum(axis=0), 1e-6)
    assert middle[208] - middle[48] > 0.08 * 256
    assert heights[:, 48].max() > 1.1 * heights[:, 208].max(), "thick at the breastbone"


def test_steep_bulge_is_steeper_at_its_right_end() -> None:
    slopes = np.diff(draw_preset("BULGE_STEEP").max(axis=0))
    assert -slopes.min() > 1.3 * slopes.max()
    assert np.abs(slopes).max() > 1.3 * np.abs(np.diff(draw_preset("BULGE_GENTLE").max(axis=0))).max()


def test_unknown_pattern_is_refused() -> None:
    with pytest.raises(SkinningError, match=r"'ELBOW'.*FOLDS_BELLY, .*SHOULDER_BLADE_R"):
        draw_preset("ELBOW")


@each("resolution", [7, 0, -64])
def test_tiny_map_is_refused(resolution: int) -> None:
    with pytest.raises(SkinningError, match=f"{resolution} pixels.* 8 pixels or more"):
        draw_preset("RIBS_L", resolution)
