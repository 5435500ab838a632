"""Enable this checkout in the running Blender as the extension that a user would have installed."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import bpy
import addon_utils

ROOT = Path(__file__).resolve().parent.parent
REPOSITORY = "supple_checkout"
MODULE = f"bl_ext.{REPOSITORY}.supple"


def enable(folder: Path) -> ModuleType:
    """Enable the checkout through an extension repository made in `folder`, and return the package."""
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / "supple"
    if not link.exists():
        link.symlink_to(ROOT, target_is_directory=True)
    preferences = bpy.context.preferences
    preferences.use_preferences_save = False  # a repository in a temporary folder must not outlive the session
    if REPOSITORY not in (repository.module for repository in preferences.extensions.repos):
        preferences.extensions.repos.new(name=REPOSITORY, module=REPOSITORY, custom_directory=str(folder))
    if addon_utils.enable(MODULE, default_set=True) is None:
        raise RuntimeError(f"{MODULE} cannot be enabled: the traceback above says why")
    return sys.modules[MODULE]


def disable() -> None:
    """Unregister the extension. Handlers that are left at exit crash Blender 4.2 and hang 4.5."""
    addon_utils.disable(MODULE, default_set=True)
