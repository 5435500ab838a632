"""Enables this checkout in the running Blender, with private settings, and disables it again."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def supple_enabled() -> Iterator[None]:
    """Import bpy with settings of its own in a temporary folder, and enable Supple for as long as the context lasts.

    To be entered before anything imports bpy, which reads where its settings are only once.
    """
    if "bpy" in sys.modules:
        raise RuntimeError("bpy is imported already: enter supple_enabled() before importing what needs bpy")
    with tempfile.TemporaryDirectory(prefix="supple-", ignore_cleanup_errors=True) as folder:
        os.environ["BLENDER_USER_RESOURCES"] = folder
        from tools import checkout

        checkout.enable(Path(folder, "checkout"))
        try:
            yield
        finally:
            checkout.disable()


def load_api() -> Any:
    """Import the api of the checkout that is enabled."""
    return importlib.import_module("bl_ext.supple_checkout.supple.api")
