"""An asset library of the patterns, and of node groups that are of use without Supple, for the Asset Browser."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import bpy

from ...bridge.files.user_folders import find_user_folder
from ...bridge.files.writing import filling
from ...bridge.images.data import new_image
from ...bridge.images.thumbnails import SIZE, fit, shade
from ...deformers import SkinningError
from ...nodes.patterns import build_relief
from .library import RESOLUTION, LibraryEntry, all_entries

NAME = "Supple"
"""Of the library, in the preferences and the Asset Browser."""

BLEND_FILE, CATALOG_FILE, CATALOG_VERSION = "supple-assets.blend", "blender_assets.cats.txt", b"VERSION 1\n"

HUMAN_HEIGHT = 1.8
"""Meters: patterns are as high as on a body of this height until their input says otherwise."""

PATTERNS = "Supple/Patterns"
CATALOGS = {PATTERNS: str(uuid.uuid5(uuid.NAMESPACE_URL, PATTERNS))}


def find_folder(create: bool = False) -> Path:
    """The folder of the asset library."""
    return find_user_folder("assets", create)


def find_registered() -> Any:
    """The library among those of Blender's preferences; None where it is not there."""
    libraries = bpy.context.preferences.filepaths.asset_libraries
    folder = os.path.normcase(find_folder())
    return next((one for one in libraries if os.path.normcase(Path(bpy.path.abspath(one.path))) == folder), None)


def add_library() -> int:
    """Write the library, anew where it is there, and have Blender's preferences list it: the number of assets.

    Raises
    ------
    SkinningError
        Where its folder can not be written.
    """
    try:
        folder = find_folder(create=True)
    except OSError as error:
        raise SkinningError(f"Cannot write '{find_folder()}' ({error.strerror}): make it writable") from error
    count = write_library(folder)
    if find_registered() is None:
        bpy.context.preferences.filepaths.asset_libraries.new(name=NAME, directory=str(folder))
    return count


def update_library() -> None:
    """Write the library anew if it is there: the user has saved or removed a pattern."""
    if find_registered() is not None:
        write_library(find_folder(create=True))


def remove_library() -> None:
    """Take the library out of Blender's preferences, and its files off the disk."""
    registered = find_registered()
    if registered is not None:
        bpy.context.preferences.filepaths.asset_libraries.remove(registered)
    folder = find_folder()
    try:
        for name in (BLEND_FILE, CATALOG_FILE):
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise SkinningError(f"Cannot delete '{error.filename}' ({error.strerror}): make its folder writable") from error


def write_library(folder: Path) -> int:
    """Write the assets into a folder; the open file stays as it is.

    Returns
    -------
    int
        Number of assets.
    """
    entries = list(all_entries().values())
    with _taken_back({entry.label for entry in entries}):
        groups = {_make_pattern(entry) for entry in entries}
        rows = [f"{number}:{path}:{path.replace('/', '-')}\n" for path, number in CATALOGS.items()]
        with filling(folder) as beside:
            bpy.data.libraries.write(str(beside / BLEND_FILE), groups, fake_user=True, compress=True)
            (beside / CATALOG_FILE).write_bytes(CATALOG_VERSION + "".join(rows).encode())
        return len(groups)


@contextmanager
def _taken_back(names: set[str]) -> Iterator[None]:
    """Remove what is added to the open file meanwhile, in which these names of node groups are free until then."""
    collections = (bpy.data.node_groups, bpy.data.images)
    before = [set(collection) for collection in collections]
    held = {group: group.name for group in bpy.data.node_groups if group.library is None and group.name in names}
    for group in held:
        group.name = f".{group.name}"
    try:
        yield
    finally:
        for collection, kept in zip(collections, before, strict=True):
            bpy.data.batch_remove(set(collection) - kept)
        for group, name in held.items():
            group.name = name


def _make_pattern(entry: LibraryEntry) -> Any:
    heights = entry.draw(RESOLUTION)
    image = new_image(f"Supple {entry.label}", heights)
    group = build_relief(entry.label, entry.kind, image, entry.width * entry.strength * HUMAN_HEIGHT)
    _mark(group, entry.label, entry.description, PATTERNS)
    preview = cast(Any, group.preview_ensure())
    preview.image_size = (SIZE, SIZE)
    preview.image_pixels_float = shade(fit(heights)).ravel().tolist()
    return group


def _mark(group: Any, name: str, text: str, catalog: str) -> None:
    group.name = name  # not hidden, as other groups of Supple's are
    group.asset_mark()
    data = group.asset_data
    data.author, data.description, data.catalog_id = NAME, text, CATALOGS[catalog]
