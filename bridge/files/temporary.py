"""Temporary files, in a folder that only this user can read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import bpy

from ...deformers import SkinningError
from .writing import folder_in


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Give a folder among temporary files, which is gone afterwards, also after a kill.

    Raises SkinningError if it cannot be made.
    """
    with writing_temporary(), folder_in(Path(bpy.app.tempdir).parent) as folder:
        yield folder


@contextmanager
def writing_temporary() -> Iterator[None]:
    """Say what to do if a temporary file cannot be written.

    Raises
    ------
    SkinningError
        In place of an OSError.
    """
    try:
        yield
    except OSError as error:
        raise SkinningError(
            f"Cannot write a temporary file ({error.strerror}): free space in '{Path(bpy.app.tempdir).parent}', or "
            "choose another folder in Preferences > File Paths > Temporary Files"
        ) from error
