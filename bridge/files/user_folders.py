"""Folders of the user's own files, in the extension's user folder: an update of the extension leaves them alone."""

from __future__ import annotations

from pathlib import Path

import bpy


def find_user_folder(name: str, create: bool = False) -> Path:
    """The folder of this name, made if wanted; raises OSError where it can not be made."""
    package = __package__.removesuffix(".bridge.files")
    return Path(bpy.utils.extension_path_user(package, path=name, create=create))
