"""The methods that tests run through: those that blend joint transforms, with each combination of their choices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import bpy
import pytest

from supple.deformers import METHODS
from supple.settings.choices import take_defaults
from supple.settings.objects import settings_of

BLENDS = tuple(
    (method.key, params) for method in METHODS.values() if not method.fills_solid for params in method.variants()
)
"""Method and `Params`."""

NODE_BLENDS = tuple((key, params) for key, params in BLENDS if METHODS[key].has_nodes)
BLEND_KEYS = tuple(dict.fromkeys(key for key, _ in BLENDS))


def name_of(key: str, params: Any) -> str:
    """Such as "DLBNT-GH", as `tests/unit/reference.py` has it."""
    return METHODS[key].name_variant(params).replace(" ", "-")


def parametrize_blends(blends: tuple[tuple[str, Any], ...]) -> pytest.MarkDecorator:
    """Run a test by each of these, as `method` and `params`."""
    return pytest.mark.parametrize(("method", "params"), blends, ids=[name_of(*blend) for blend in blends])


def choose(obj: bpy.types.Object, method: str, params: Any) -> None:
    """Set an object's choices of a method to those of `params`."""
    take_defaults(settings_of(obj), method)
    for choice in METHODS[method].choices:
        setattr(settings_of(obj), choice.name, getattr(params, choice.name))


def without_limits(params: Any) -> Any:
    """The same without bulge limit and contact, which are not affine, and which the reference does not have."""
    return replace(params, bulge_limit=0.0, contact=0.0)
