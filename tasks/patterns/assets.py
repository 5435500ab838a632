"""An asset library of the patterns for the Asset Browser, as node groups that work without Supple."""

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
from ...nodes.patterns import build_relief
from .library import RESOLUTION, LibraryEntry, all_entries, delete_files, make_folder

NAME = "Supple"  # of the library, in the preferences and the Asset Browser

BLEND_FILE, CATALOG_FILE, CATALOG_VERSION = "supple-assets.blend", "blender_assets.cats.txt", b"VERSION 1\n"

HUMAN_HEIGHT = 1.8  # meters; patterns have the height that suits such a body until their input changes

CATALOG = "Supple/Patterns"

CATALOG_ID = str(uuid.uuid5(uuid.NAMESPACE_URL, CATALOG))  # the same on every machine, so that files agree


def find_folder() -> Path:
    """Find the folder of the asset library."""
    return find_user_folder("assets")


def find_registered() -> Any:
    """Find the library in Blender's preferences; None if it is not registered."""
    libraries = bpy.context.preferences.filepaths.asset_libraries
    folder = os.path.normcase(find_folder())
    return next((one for one in libraries if os.path.normcase(Path(bpy.path.abspath(one.path))) == folder), None)


def add_library() -> int:
    """Write the library, and register it in Blender's preferences. Returns the number of assets.

    Raises SkinningError if its folder cannot be written.
    """
    count = write_library(make_folder("assets"))
    if find_registered() is None:
        bpy.context.preferences.filepaths.asset_libraries.new(name=NAME, directory=str(find_folder()))
    return count


def update_library() -> None:
    """Write the library again if it is registered, after the user has saved or removed a pattern."""
    if find_registered() is not None:
        write_library(make_folder("assets"))


def remove_library() -> None:
    """Remove the library from Blender's preferences, and delete its files."""
    registered = find_registered()
    if registered is not None:
        bpy.context.preferences.filepaths.asset_libraries.remove(registered)
    delete_files(*(find_folder() / name for name in (BLEND_FILE, CATALOG_FILE)))


def write_library(folder: Path) -> int:
    """Write the assets to a folder, and leave the open file as it is. Returns the number of assets."""
    entries = list(all_entries().values())
    catalog = f"{CATALOG_ID}:{CATALOG}:{CATALOG.replace('/', '-')}\n"
    with _taken_back({entry.label for entry in entries}):
        groups = {_make_pattern(entry) for entry in entries}
        with filling(folder) as beside:
            bpy.data.libraries.write(str(beside / BLEND_FILE), groups, fake_user=True, compress=True)
            (beside / CATALOG_FILE).write_bytes(CATALOG_VERSION + catalog.encode())
        return len(groups)


@contextmanager
def _taken_back(names: set[str]) -> Iterator[None]:
    """Free these names of node groups in the open file, and in the end remove everything that was added to it."""
    collections = (bpy.data.node_groups, bpy.data.images)
    before = [set(collection) for collection in collections]
    held = {group: group.name for group in bpy.data.node_groups if group.library is None and group.name in names}
    for group in held:  # otherwise Blender would number the names of the assets
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
    group.name = entry.label  # not hidden, unlike other groups of Supple
    group.asset_mark()
    data = group.asset_data
    data.author, data.description, data.catalog_id = NAME, entry.description, CATALOG_ID
    preview = cast(Any, group.preview_ensure())
    preview.image_size = (SIZE, SIZE)
    preview.image_pixels_float = shade(fit(heights)).ravel().tolist()
    return group
