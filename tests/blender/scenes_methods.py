"""The methods that tests run through: those that blend joint transforms, with each combination of their choices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import bpy
import pytest

from supple.deformers import METHODS
from supple.settings.objects import settings_of

BLENDS = tuple(
    (method.key, params) for method in METHODS.values() if not method.fills_solid for params in method.variants()
)
"""Method and `Params`."""

BLEND_KEYS = tuple(dict.fromkeys(key for key, _ in BLENDS))


def name_of(key: str, params: Any) -> str:
    """Such as "DLBNT-GH", as `tests/unit/reference.py` has it."""
    return METHODS[key].name_variant(params).replace(" ", "-")


def parametrize_blends(blends: tuple[tuple[str, Any], ...]) -> pytest.MarkDecorator:
    """Run a test by each of these, as `method` and `params`."""
    return pytest.mark.parametrize(("method", "params"), blends, ids=[name_of(*blend) for blend in blends])


def choose(obj: bpy.types.Object, method: str, params: Any) -> None:
    """Set an object's choices of a method to those of `params`."""
    for choice in METHODS[method].choices:
        setattr(settings_of(obj), choice.name, getattr(params, choice.name))


def without_limits(params: Any) -> Any:
    """The same without the bulge limit, which is not affine, and without limb roots: the reference has neither."""
    off = {name: 0.0 for name in ("bulge_limit", "limb_roots") if hasattr(params, name)}
    return replace(params, **off)
