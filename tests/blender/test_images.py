"""Height maps as images and files keep their numbers, and leave the user's file as it was."""

import re
import struct
import zlib
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from scenes_state import refuse

from scenes import reset
from supple.bridge.images import data as images
from supple.bridge.images.formats import Format, encode_heights

GREY, TRUE_COLOR = 0, 2  # PNG's numbers for them
ALL_STEPS = (np.arange(65536) * 40503 % 65536).reshape(128, 512)  # each value of 16 bits once, mixed
SMALL = np.linspace(0, 1, 12).reshape(3, 4)


def assert_png_holds(data: bytes, expected: np.ndarray, path: Path) -> None:
    """A gray PNG of 16 bits holds these steps, shape (H, W); Blender reads it, by libpng."""
    assert struct.unpack(">BBBBB", data[24:29]) == (16, GREY, 0, 0, 0)
    path.write_bytes(data)
    np.testing.assert_array_equal(np.round(65535.0 * read_channels(path)[..., 0].astype(np.float64)), expected)


def encode_png(samples: np.ndarray) -> bytes:
    """A PNG of these samples, shape (H, W) or (H, W, 3), uint8 or uint16, row 0 at the bottom."""
    rows = b"".join(b"\0" + row.astype(samples.dtype.newbyteorder(">")).tobytes() for row in samples[::-1])
    color = GREY if samples.ndim == 2 else TRUE_COLOR
    header = struct.pack(">IIBBBBB", samples.shape[1], samples.shape[0], samples.itemsize * 8, color, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in chunks
    )


def read_channels(path: Path) -> np.ndarray:
    image = bpy.data.images.load(str(path))
    image.colorspace_settings.name = "Non-Color"
    pixels = np.empty(len(image.pixels), np.float32)
    image.pixels.foreach_get(pixels)
    width, height = image.size
    bpy.data.images.remove(image)
    return pixels.reshape(height, width, -1)


def painted_image(color: tuple[float, float, float], **options: Any) -> bpy.types.Image:
    image = bpy.data.images.new("painted", 2, 3, **options)
    image.pixels.foreach_set(np.tile(np.float32([*color, 1]), 6))
    return image


def settings_of(scene: bpy.types.Scene) -> dict[str, Any]:
    """All settings of a scene that decide how a picture is written."""
    render = scene.render
    owners = render, render.image_settings, scene.view_settings, scene.display_settings
    return {
        f"{type(owner).__name__}.{prop.identifier}": tuple(value) if getattr(prop, "is_array", False) else value
        for owner in owners
        for prop in owner.bl_rna.properties
        if prop.type not in ("POINTER", "COLLECTION")
        for value in [getattr(owner, prop.identifier)]
    }


def count_data() -> dict[str, int]:
    return {
        prop.identifier: len(getattr(bpy.data, prop.identifier))
        for prop in bpy.data.bl_rna.properties
        if prop.type == "COLLECTION"
    }


@pytest.fixture
def hostile_scene(scene: bpy.types.Scene) -> bpy.types.Scene:
    """Settings that would each change a render that is written."""
    scene.view_settings.exposure = 2
    scene.view_settings.gamma = 3
    scene.render.dither_intensity = 2
    scene.render.use_sequencer = scene.render.use_compositing = True
    scene.sequence_editor_create()
    scene.render.image_settings.file_format = "JPEG"
    scene.render.image_settings.quality = 7
    return scene


TRANSFORMS = ("AgX", "Filmic", "Standard")


def test_png_rounds_and_clips(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for dtype in (np.float32, np.float64):
        with subtests.test(dtype=dtype.__name__):
            values = np.random.default_rng(1).uniform(-0.2, 1.2, (40, 50)).astype(dtype)
            expected = np.round(65535 * values.clip(0, 1).astype(np.float64))
            assert_png_holds(encode_heights(values, "png16"), expected, tmp_path / "map.png")


@pytest.mark.versions
def test_exr_holds_floats_as_they_are(tmp_path: Path, hostile_scene: bpy.types.Scene, subtests) -> None:
    for size in ((30, 20), (33, 1), (1, 1)):  # a pixel alone does not become smaller
        values = np.random.default_rng(2).normal(0, 1000, size).astype(np.float32)
        values.flat[:3] = (1e-7, -0.0, 3e38)[: values.size]
        (tmp_path / "map.exr").write_bytes(encode_heights(values, "exr"))
        for transform in TRANSFORMS:
            with subtests.test(transform, size=size):
                hostile_scene.view_settings.view_transform = transform
                channels = read_channels(tmp_path / "map.exr")
                for channel in range(3):
                    np.testing.assert_array_equal(channels[..., channel], values)
    assert len(encode_heights(np.full((64, 64), 0.5), "exr")) < 64 * 64


def test_values_that_are_not_finite_are_refused(subtests: pytest.Subtests) -> None:
    actions: tuple[tuple[Callable[[np.ndarray], object], str], ...] = (
        (lambda values: encode_heights(values, "png16"), "write a height map"),
        (lambda values: encode_heights(values, "exr"), "write a height map"),
        (lambda values: images.new_image("folds", values), "make image 'folds'"),
    )
    before = count_data()
    for (action, words), wrong in product(actions, (np.nan, np.inf, -np.inf)):
        with subtests.test(words, wrong=wrong):
            values = SMALL.copy()
            values[1, 1:3] = wrong
            refuse(f"Cannot {words}: 2 of 12 values are not finite numbers: repair", action, values)
            assert count_data() == before


@pytest.mark.versions
def test_new_image_survives_saving_and_appending(tmp_path: Path) -> None:
    path = str(tmp_path / "maps.blend")
    values = ALL_STEPS / 65535
    image = images.new_image("folds", values)
    image.use_fake_user = True
    np.testing.assert_allclose(images.read_image(image), values, rtol=0, atol=1e-6)
    bpy.ops.wm.save_as_mainfile(filepath=path, check_existing=False)
    bpy.ops.wm.open_mainfile(filepath=path)
    np.testing.assert_allclose(images.read_image(bpy.data.images["folds"]), values, rtol=0, atol=1e-6)
    reset()
    with bpy.data.libraries.load(path) as (_, wanted):
        wanted.images = ["folds"]
    Path(path).unlink()
    appended = bpy.data.images["folds"]
    assert appended.library is None
    np.testing.assert_allclose(images.read_image(appended), values, rtol=0, atol=1e-6)


def test_new_image_is_data_of_16_bits(tmp_path: Path, hostile_scene: bpy.types.Scene, subtests) -> None:
    for transform in TRANSFORMS:
        with subtests.test(transform):
            hostile_scene.view_settings.view_transform = transform
            before = settings_of(hostile_scene), count_data()
            image = images.new_image("folds", ALL_STEPS / 65535)
            assert (image.name, tuple(image.size), image.source) == ("folds", (512, 128), "FILE")
            assert image.colorspace_settings.name == "Non-Color"
            assert not image.use_half_precision
            assert not images.is_coarse(image)
            assert_png_holds(image.packed_file.data, ALL_STEPS, tmp_path / "map.png")
            bpy.data.images.remove(image)
            assert (settings_of(hostile_scene), count_data()) == before


@pytest.mark.versions
def test_loaded_image_is_packed_data(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for dtype, in_color in product((np.uint8, np.uint16), (False, True)):
        with subtests.test(dtype.__name__, in_color=in_color):
            top = np.iinfo(dtype).max
            samples = np.arange(0, top, top // 20).astype(dtype)[:20].reshape(4, 5)
            data = encode_png(np.repeat(samples[..., None], 3, -1) if in_color else samples)
            (tmp_path / "map.png").write_bytes(data)
            image = images.load_image(tmp_path / "map.png")
            (tmp_path / "map.png").unlink()
            assert image.packed_file.data == data
            assert image.colorspace_settings.name == "Non-Color"
            assert images.is_coarse(image) == (dtype is np.uint8)
            np.testing.assert_allclose(images.read_image(image), samples / top, rtol=0, atol=1e-6)


@pytest.mark.parametrize("encoding", ["png16", "exr"])
def test_written_file_loads(tmp_path: Path, encoding: Format) -> None:
    (tmp_path / "map").write_bytes(encode_heights(SMALL, encoding))
    image = images.load_image(tmp_path / "map")
    assert not images.is_coarse(image)
    np.testing.assert_allclose(images.read_image(image), SMALL, rtol=0, atol=1e-5)


def test_relative_path_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "map.png").write_bytes(encode_heights(SMALL, "png16"))
    monkeypatch.chdir(tmp_path)
    image = images.load_image(Path("map.png"))
    assert image.packed_file is not None
    assert Path(image.filepath).is_absolute()


def test_unreadable_file_is_told_with_its_path(tmp_path: Path, subtests: pytest.Subtests) -> None:
    path = tmp_path / "map.png"
    for content in (None, b"", b"no image", encode_png(ALL_STEPS.astype(np.uint16))[:9000]):
        with subtests.test(length=content and len(content)):
            if content is not None:
                path.write_bytes(content)
            refuse(rf"Cannot read .*'{re.escape(str(path))}'.*: (check|restore)", images.load_image, path)
    refuse(f"'{tmp_path}'", images.load_image, tmp_path)


def test_colored_file_is_refused(tmp_path: Path) -> None:
    samples = np.zeros((2, 2, 3), np.uint8)
    samples[1, 0] = 10, 10, 61
    (tmp_path / "map.png").write_bytes(encode_png(samples))
    refuse(r"'map\.png' is colored .* up to 0.20 apart\): convert it to gray", images.load_image, tmp_path / "map.png")
    assert not bpy.data.images


def test_colors_one_step_apart_are_grey_and_two_are_not(subtests: pytest.Subtests) -> None:
    for channel in range(3):
        with subtests.test(channel=channel):
            levels = np.full(3, 100.0)
            levels[channel] += 1
            heights = images.read_image(painted_image(tuple(levels / 255)))
            assert heights.shape == (3, 2)
            assert np.abs(heights * 255 - 100).max() < 1.01
            levels[channel] += 1
            refuse(r"'painted.*' is colored", images.read_image, painted_image(tuple(levels / 255)))


def test_painted_image_is_read_before_it_is_saved(subtests: pytest.Subtests) -> None:
    for float_buffer in (False, True):
        with subtests.test(float_buffer=float_buffer):
            image = painted_image((0.2, 0.2, 0.2), float_buffer=float_buffer)
            heights = images.read_image(image)
            assert (heights.dtype, heights.shape) == (np.float32, (3, 2))
            np.testing.assert_allclose(heights, 0.2, atol=1e-6)
            assert images.is_coarse(image) != float_buffer


def test_images_of_other_kinds_or_ranges(subtests: pytest.Subtests) -> None:
    for source, words in (("TILED", r"tiled \(UDIM\)"), ("MOVIE", "a movie"), ("SEQUENCE", "an image sequence")):
        with subtests.test(source):
            image = painted_image((0, 0, 0))
            image.source = source
            refuse(f"Image '{image.name}' is {words}: choose a still image", images.read_image, image)
    image = painted_image((np.nan, np.nan, np.nan), float_buffer=True)
    refuse(f"Cannot read image '{image.name}': 18 of 18 values are not finite", images.read_image, image)
    assert images.read_image(painted_image((1.5, 1.5, 1.5), float_buffer=True)).max() == 1
    assert images.read_image(painted_image((-0.5, -0.5, -0.5), float_buffer=True)).min() == 0
    clipped = images.read_image(images.new_image("folds", np.array([[-1, 0.5, 2]])))
    np.testing.assert_allclose(clipped, [[0, 0.5, 1]], rtol=0, atol=1e-5)


@pytest.mark.versions
def test_renders_are_refused(tmp_path: Path, scene: bpy.types.Scene) -> None:
    settings = scene.render.image_settings
    if hasattr(settings, "media_type"):  # 5.0 and later
        settings.media_type = "MULTI_LAYER_IMAGE"
    settings.file_format = "OPEN_EXR_MULTILAYER"
    scene.render.engine = "BLENDER_WORKBENCH"
    scene.render.resolution_x = scene.render.resolution_y = 16
    scene.render.filepath = str(tmp_path / "layers.exr")
    scene.camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    scene.collection.objects.link(scene.camera)
    bpy.ops.render.render(write_still=True)
    refuse("is the result of a render: choose", images.read_image, bpy.data.images["Render Result"])
    refuse(r"'layers\.exr' is an EXR of many layers: choose", images.load_image, tmp_path / "layers.exr")


def test_missing_file_of_an_image_is_reported(tmp_path: Path) -> None:
    image = painted_image((0, 0, 0))
    image.source = "FILE"
    refuse("Image 'painted' is empty: choose another", images.read_image, image)
    image.filepath = str(tmp_path / "gone.png")
    refuse(r"'painted' from '.*gone\.png': restore that file or choose another", images.read_image, image)
    image.pack(data=b"no image", data_len=8)
    refuse("'painted' is packed but cannot be read: choose another", images.read_image, image)
