"""The library of patterns: those that Supple draws, and those that the user has saved."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from pathlib import Path

import bpy
import numpy as np

from ...bridge.files.user_folders import find_user_folder
from ...bridge.files.writing import filling, read_json
from ...bridge.images.data import load_image, new_image, read_image
from ...bridge.images.formats import encode_heights
from ...deformers import SkinningError
from ...deformers.patterns.compression import DRIVERS, SPREADS
from ...deformers.patterns.heights import AXES, KINDS
from ...deformers.patterns.library import PRESETS, draw_preset
from ...settings.patterns import COMPRESSION_SETTINGS, PatternSettings
from .layout import charts_of, find_center, find_sides

MADE_KEY = "supple_preset"
"""Custom property of images that Supple has put into the file: the key of the library's entry."""

RESOLUTION = 256
"""Columns of the height maps that Supple draws."""

LARGEST = 1e6
"""No number of a saved pattern is larger."""

SAVED = "USER_"
"""Start of the keys of patterns that the user has saved."""

OWN_IMAGE = "IMAGE"
"""Key of the entry for an image of the user's own."""


@dataclass(frozen=True)
class LibraryEntry:
    """A pattern of the library and its usual settings.

    Attributes
    ----------
    width : float
        On the body, as a fraction of the body's height.
    aspect : float
        Height over width.
    strength : float
        As a fraction of the width.
    start, full : float
        Angles, radians.
    compression : dict
        Values of `COMPRESSION_SETTINGS`, by their names, as far as they are not the usual ones.
    draw : callable
        Gives the height map, shape (H, W), bottom row first; `resolution` columns of it.
    """

    key: str
    label: str
    kind: str
    description: str
    width: float = 0.1
    aspect: float = 1.0
    strength: float = 0.05
    axis: str = "X"
    start: float = 0.0
    full: float = np.pi / 2
    compression: dict[str, str | float] = field(default_factory=dict)
    draw: Callable[[int], np.ndarray] = field(repr=False, default=lambda _resolution: np.zeros((8, 8), np.float32))


def drawn_entries() -> dict[str, LibraryEntry]:
    """What Supple draws itself, by key."""
    names = [
        field.name for field in fields(LibraryEntry) if field.name not in ("key", "description", "compression", "draw")
    ]
    return {
        key: LibraryEntry(
            key,
            description=f"{preset.description}. Driven by the {preset.region}",
            draw=partial(draw_preset, key),
            **{name: getattr(preset, name) for name in names},
        )
        for key, preset in PRESETS.items()
    }


def find_folder(create: bool = False) -> Path:
    """The folder of the user's patterns."""
    return find_user_folder("patterns", create)


def saved_entries() -> dict[str, LibraryEntry]:
    """Patterns that the user has saved, by key; other files are ignored."""
    found = {}
    folder = find_folder()
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        key = f"{SAVED}{path.stem}"
        try:
            entry = LibraryEntry(key, draw=partial(_read_saved, path.with_suffix(".png")), **read_json(path))
        except TypeError:
            continue
        if _is_usable(entry):
            found[key] = entry
    return found


def _is_usable(entry: LibraryEntry) -> bool:
    """Whether what a file says of a pattern is what Supple writes there."""
    words = (entry.label, entry.description)
    numbers = (entry.width, entry.aspect, entry.strength, entry.start, entry.full)
    return (
        all(isinstance(word, str) for word in words)
        and all(isinstance(number, int | float) and abs(number) < LARGEST for number in numbers)
        and min(entry.width, entry.aspect) > 0
        and entry.kind in KINDS
        and entry.axis in AXES
        and _is_usable_compression(entry.compression)
    )


def _is_usable_compression(values: object) -> bool:
    """Whether what a file says of a pattern's compression is what Supple writes there."""
    if not isinstance(values, dict):
        return False
    words = {"driver": DRIVERS, "compression_spread": SPREADS}
    return all(
        value in words[name]
        if name in words
        else name in COMPRESSION_SETTINGS and isinstance(value, int | float) and abs(value) < LARGEST
        for name, value in values.items()
    )


def _read_saved(path: Path, _resolution: int) -> np.ndarray:
    image = load_image(path)
    try:
        return read_image(image)
    finally:
        bpy.data.images.remove(image)


def all_entries() -> dict[str, LibraryEntry]:
    """The whole library by key."""
    return drawn_entries() | saved_entries()


def find_entry(key: str) -> LibraryEntry:
    """An entry of the library; raises SkinningError where there is none."""
    entries = all_entries()
    if key not in entries:
        raise SkinningError(f"There is no pattern '{key}' in the library: choose one of {', '.join(entries)}")
    return entries[key]


def ensure_image(entry: LibraryEntry) -> bpy.types.Image:
    """The image of an entry in this file, drawn where the file does not have it yet."""
    for image in bpy.data.images:
        if image.library is None and image.get(MADE_KEY) == entry.key:
            return image
    image = new_image(f"Supple {entry.label}", entry.draw(RESOLUTION))
    image[MADE_KEY] = entry.key
    return image


def describe_pattern(obj: bpy.types.Object, pattern: PatternSettings) -> LibraryEntry:
    """Describe an object's pattern as an entry of the library, with the size that it has on the object.

    Raises
    ------
    SkinningError
        Where the pattern does not lie on the object.
    """
    mesh = charts_of(obj).mesh
    sides = np.linalg.norm(find_sides(mesh, find_center(mesh, pattern), pattern), axis=1)
    height = float(np.ptp(mesh.points, axis=0).max())
    axis = pattern.axis if pattern.axis in AXES else AXES[0]
    return LibraryEntry(
        key="",
        label=pattern.name,
        kind=pattern.kind,
        description=f"Saved from {obj.name}",
        width=float(sides[0]) / height,
        aspect=float(sides[1] / sides[0]),
        strength=pattern.strength / float(sides[0]),
        axis=axis,
        start=pattern.start,
        full=pattern.full,
        compression={name: getattr(pattern, name) for name in COMPRESSION_SETTINGS if pattern.is_property_set(name)},
    )


def save_entry(entry: LibraryEntry, image: bpy.types.Image) -> Path:
    """Save a pattern to the user's library, where it replaces a pattern of the same name: the path of its image.

    Raises
    ------
    SkinningError
        Where its image can not be read, or the folder not be written to.
    """
    values = read_image(image)
    name = bpy.path.clean_name(entry.label).strip("_")
    if not name:
        raise SkinningError("A pattern needs a name to be saved in the library: name it first")
    saved = asdict(entry)
    for field_name in ("key", "draw"):
        del saved[field_name]
    try:
        folder = find_folder(create=True)
    except OSError as error:
        raise SkinningError(f"Cannot write '{find_folder()}' ({error.strerror}): make it writable") from error
    with filling(folder) as beside:
        (beside / f"{name}.png").write_bytes(encode_heights(values, "png16"))
        (beside / f"{name}.json").write_text(json.dumps(saved, indent=2), encoding="utf-8")
    return folder / f"{name}.png"


def remove_saved(key: str) -> None:
    """Delete a pattern from the user's library; raises SkinningError where the user has saved none of this key."""
    if key not in saved_entries():
        raise SkinningError(f"There is no saved pattern '{key}': only patterns that you have saved can be removed")
    path = find_folder() / f"{key.removeprefix(SAVED)}.json"
    try:
        for file in (path, path.with_suffix(".png")):
            file.unlink(missing_ok=True)
    except OSError as error:
        raise SkinningError(f"Cannot delete '{error.filename}' ({error.strerror}): make its folder writable") from error
