"""Version and website from the extension's manifest."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from typing import Any

MANIFEST = Path(__file__).parents[1] / "blender_manifest.toml"


@functools.cache
def read_manifest() -> dict[str, Any]:
    """The manifest of the Supple that runs."""
    return tomllib.loads(MANIFEST.read_text(encoding="utf-8"))
