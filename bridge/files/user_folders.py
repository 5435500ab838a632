"""Folders of the user's own files, in the extension's user folder: an update of the extension leaves them alone."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import bpy


def find_user_folder(name: str, create: bool = False) -> Path:
    """The folder of this name, made if wanted; raises OSError if it cannot be made.

    It is not left to Blender to make it, which gives an empty path then: that is the current folder.
    """
    package = __package__.removesuffix(".bridge.files")
    folder = bpy.utils.extension_path_user(package, path=name)
    if not folder:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    if create:
        Path(folder).mkdir(parents=True, exist_ok=True)
    return Path(folder)
