"""Height maps as images of Blender.

Arrays are heights of shape (H, W), row 0 at the bottom, centers of pixels at ``(column + 0.5) / W``: what the Image
Texture nodes of Geometry Nodes and of shaders sample.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import bpy
import numpy as np

from ...deformers.errors import SkinningError
from .formats import check_finite, encode_heights

GRAY_TOLERANCE = 1.5 / 255  # one step of 8 bits, as lossy files make it, and the rounding of it
DATA = "Non-Color"  # by its name: up to 4.5 `is_data = True` shows this name and goes on converting the pixels
NOT_STILL = {
    "TILED": "tiled (UDIM)",
    "MOVIE": "a movie",
    "SEQUENCE": "an image sequence",
    "VIEWER": "the result of a render",
    "MULTILAYER": "an EXR of many layers",
}


def new_image(name: str, values: np.ndarray) -> bpy.types.Image:
    """Make an image of heights that is saved within the .blend file.

    It is packed as 16-bit PNG: Blender's own packing of float images is as exact, and 6 to 100 times the size. Raises
    SkinningError if heights are not finite.

    Parameters
    ----------
    name : str
        Blender appends a number if it is taken.
    values : ndarray, shape (H, W)
        Heights, clipped to 0..1 and kept in steps of 1/65535.
    """
    height, width = values.shape
    data = encode_heights(check_finite(values, f"make image '{name}'"), "png16")
    image = bpy.data.images.new(name, width, height, alpha=False, float_buffer=True)
    image.source = "FILE"
    cast(Any, image).pack(data=data, data_len=len(data))  # the stubs take only str
    _mark_as_heights(image)
    return image


def load_image(path: Path) -> bpy.types.Image:
    """Load a file of heights and pack it.

    Raises SkinningError if the file cannot be read, or ``read_image`` refuses it.
    """
    try:
        image = bpy.data.images.load(str(path.absolute()))
    except RuntimeError as error:
        raise SkinningError(f"Cannot read '{path}': check the path") from error
    with ExitStack() as on_failure:
        on_failure.callback(bpy.data.images.remove, image)
        _mark_as_heights(image)
        read_image(image)
        image.pack()
        on_failure.pop_all()
    return image


def read_image(image: bpy.types.Image) -> np.ndarray:
    """Heights of a gray image as its pixels have them, float32, shape (H, W), clipped to 0..1; alpha is ignored.

    The color space should be Non-Color. Else Image Texture nodes see other heights than these in 8-bit images, and both
    see other heights than the file's in 16-bit ones. Raises SkinningError if the image is not a still one, cannot be
    read, is colored, or holds values that are not finite.
    """
    width, height = image.size  # reads the file if need be: its type is known only then
    kind = NOT_STILL.get(image.source) or NOT_STILL.get(image.type)
    if kind:
        raise SkinningError(f"Image '{image.name}' is {kind}: choose a still image")
    if not image.has_data:
        raise SkinningError(_say_unreadable(image))
    pixels = np.empty((height, width, image.channels), np.float32)
    image.pixels.foreach_get(pixels.ravel())
    channels = pixels[..., :3]
    check_finite(channels, f"read image '{image.name}'")
    difference = np.ptp(channels, axis=-1).max()
    if difference > GRAY_TOLERANCE:
        raise SkinningError(
            f"Image '{image.name}' is colored (red, green and blue are up to {difference:.2f} apart): "
            "convert it to gray"
        )
    return channels[..., 0].clip(0, 1)


def is_coarse(image: bpy.types.Image) -> bool:
    """Whether an image that can be read has 8 bits a channel: its heights come in 256 steps and show as terraces."""
    return not image.is_float


def _mark_as_heights(image: bpy.types.Image) -> None:
    """Have an image read as plain numbers; changes by hand that are not saved would be lost."""
    image.colorspace_settings.name = DATA
    image.use_half_precision = False  # the viewport would round heights to 2048 steps


def _say_unreadable(image: bpy.types.Image) -> str:
    if image.packed_file is not None:
        return f"Image '{image.name}' is packed but cannot be read: choose another image"
    if not image.filepath:
        return f"Image '{image.name}' is empty: choose another image"
    path = bpy.path.abspath(image.filepath, library=image.library)
    return f"Cannot read image '{image.name}' from '{path}': restore that file or choose another image"
