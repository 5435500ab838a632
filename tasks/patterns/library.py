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
from ...bridge.owned import Tag, mark, read_mark
from ...deformers import SkinningError
from ...deformers.patterns.compression import DRIVERS, SPREADS
from ...deformers.patterns.heights import AXES, KINDS
from ...deformers.patterns.library import PRESETS, PatternDefaults, draw_preset
from ...settings.patterns import COMPRESSION_SETTINGS, PatternSettings
from .read import charts_of, find_center, find_sides

RESOLUTION = 256  # columns of the height maps that Supple draws

SAVED = "USER_"  # start of the keys of patterns that the user has saved

OWN_IMAGE = "IMAGE"  # key of the entry for an image file of the user


@dataclass(frozen=True, kw_only=True)
class LibraryEntry(PatternDefaults):
    """A pattern of the library and its usual settings.

    Attributes
    ----------
    compression : dict
        Values of `COMPRESSION_SETTINGS` by name, if they differ from the defaults.
    draw : callable
        Returns the height map, shape (H, W), bottom row first, for a number of columns.
    """

    key: str = ""
    compression: dict[str, str | float] = field(default_factory=dict)
    draw: Callable[[int], np.ndarray] = field(repr=False, default=lambda _resolution: np.zeros((8, 8), np.float32))


def drawn_entries() -> dict[str, LibraryEntry]:
    """Return the patterns that Supple draws itself, by key."""
    entries = {}
    for key, preset in PRESETS.items():
        usual = {each.name: getattr(preset, each.name) for each in fields(PatternDefaults)}
        usual["description"] = f"{preset.description}. Driven by the {preset.region}"
        entries[key] = LibraryEntry(**usual, key=key, draw=partial(draw_preset, key))
    return entries


def make_folder(name: str) -> Path:
    """Make a folder of the user, if it does not exist; raises SkinningError if it cannot be written."""
    try:
        return find_user_folder(name, create=True)
    except OSError as error:
        folder = find_user_folder(name, create=False)
        raise SkinningError(f"Cannot write '{folder}' ({error.strerror}): make it writable") from error


def delete_files(*paths: Path) -> None:
    """Delete files, if they exist; raises SkinningError if they cannot be deleted."""
    try:
        for path in paths:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise SkinningError(f"Cannot delete '{error.filename}' ({error.strerror}): make its folder writable") from error


def find_folder(create: bool = False) -> Path:
    """Find the folder of the user's patterns."""
    return find_user_folder("patterns", create)


def saved_entries() -> dict[str, LibraryEntry]:
    """Return the patterns that the user has saved, by key. Other files are ignored."""
    found = {}
    folder = find_folder()
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        key = f"{SAVED}{path.stem}"
        try:
            entry = LibraryEntry(key=key, draw=partial(_read_saved, path.with_suffix(".png")), **read_json(path))
        except TypeError:  # a setting is missing or unknown
            continue
        if _is_usable(entry):
            found[key] = entry
    return found


def _is_usable(entry: LibraryEntry) -> bool:
    """Whether the values from a file are such as Supple writes: other programs may have changed it."""
    words = (entry.label, entry.description)
    numbers = (entry.width, entry.aspect, entry.strength, entry.start, entry.full)
    return (
        all(isinstance(word, str) for word in words)
        and all(map(_is_number, numbers))
        and min(entry.width, entry.aspect) > 0
        and entry.kind in KINDS
        and entry.axis in AXES
        and isinstance(entry.compression, dict)
        and all(_is_setting(*item) for item in entry.compression.items())
    )


def _is_number(value: object, max_size: float = 1e6) -> bool:
    return isinstance(value, int | float) and abs(value) < max_size


def _is_setting(name: str, value: object) -> bool:
    words = {"driver": DRIVERS, "compression_spread": SPREADS}
    return value in words[name] if name in words else name in COMPRESSION_SETTINGS and _is_number(value)


def _read_saved(path: Path, _resolution: int) -> np.ndarray:
    image = load_image(path)
    try:
        return read_image(image)
    finally:
        bpy.data.images.remove(image)


def all_entries() -> dict[str, LibraryEntry]:
    """Return the whole library by key."""
    return drawn_entries() | saved_entries()


def find_entry(key: str) -> LibraryEntry:
    """Find an entry of the library; raises SkinningError if there is none."""
    entries = all_entries()
    if key not in entries:
        raise SkinningError(f"There is no pattern '{key}' in the library: choose one of {', '.join(entries)}")
    return entries[key]


def ensure_image(entry: LibraryEntry) -> bpy.types.Image:
    """Find the image of an entry in this file, or draw it."""
    for image in bpy.data.images:
        if image.library is None and read_mark(image, Tag.PRESET) == entry.key:
            return image
    image = new_image(f"Supple {entry.label}", entry.draw(RESOLUTION))
    mark(image, Tag.PRESET, entry.key)
    return image


def describe_pattern(obj: bpy.types.Object, pattern: PatternSettings) -> LibraryEntry:
    """Describe an object's pattern as an entry of the library, with its size on the object.

    Raises SkinningError if the pattern does not lie on the object.
    """
    mesh = charts_of(obj).mesh
    sides = np.linalg.norm(find_sides(mesh, find_center(mesh, pattern), pattern), axis=1)
    height = float(np.ptp(mesh.points, axis=0).max())
    return LibraryEntry(
        label=pattern.name,
        kind=pattern.kind,
        description=f"Saved from {obj.name}",
        width=float(sides[0]) / height,
        aspect=float(sides[1] / sides[0]),
        strength=pattern.strength / float(sides[0]),
        axis=pattern.axis if pattern.axis in AXES else AXES[0],
        start=pattern.start,
        full=pattern.full,
        compression={name: getattr(pattern, name) for name in COMPRESSION_SETTINGS if pattern.is_property_set(name)},
    )


def save_entry(entry: LibraryEntry, image: bpy.types.Image) -> Path:
    """Save a pattern to the user's library, in place of a pattern with the same name. Returns the path of its image.

    Raises SkinningError if its image cannot be read, or the folder cannot be written to.
    """
    values = read_image(image)
    name = bpy.path.clean_name(entry.label).strip("_")
    if not name:
        raise SkinningError("A pattern needs a name to be saved in the library: name it first")
    saved = asdict(entry)
    for field_name in ("key", "draw"):  # both follow from the name of the file
        del saved[field_name]
    folder = make_folder("patterns")
    with filling(folder) as beside:
        (beside / f"{name}.png").write_bytes(encode_heights(values, "png16"))
        (beside / f"{name}.json").write_text(json.dumps(saved, indent=2), encoding="utf-8")
    return folder / f"{name}.png"


def remove_saved(key: str) -> None:
    """Delete a pattern from the user's library; raises SkinningError if the user has not saved one with this key."""
    if key not in saved_entries():
        raise SkinningError(f"There is no saved pattern '{key}': only patterns that you have saved can be removed")
    path = find_folder() / f"{key.removeprefix(SAVED)}.json"
    delete_files(path, path.with_suffix(".png"))
