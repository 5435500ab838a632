"""Description of a method of automatic weights, for menus, the command line, benchmarks and tests; its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..option import Option


@dataclass(frozen=True)
class WeightMethod:
    """A method of automatic weights.

    Attributes
    ----------
    key : str
        In files and scripts.
    label, tooltip : str
        In menus.
    words : tuple of str
        On the command line: the first is shown, the others are former words that still work.
    params : type
        The method's `Params`.
    choices : tuple of Option
        Fields of `Params` that a user sets; 0 stands for the field's default.
    casts_rays : bool
        Whether skin hides bones: `solve` then takes `make_crossing_test`, and `fallback`, weights for vertices that see
        no bone.
    has_handles : bool
        Whether `solve` takes `handles`: points and cages. For other methods they are short bones.
    """

    key: str
    label: str
    tooltip: str
    words: tuple[str, ...]
    params: type
    choices: tuple[Option, ...] = ()
    casts_rays: bool = False
    has_handles: bool = False

    def make_params(self, chosen: Mapping[str, Any]) -> Any:
        """Make `Params` from choices by name, for this and other methods."""
        names = [choice.name for choice in self.choices]
        return self.params(**{name: chosen[name] for name in names if chosen.get(name)})


@dataclass(frozen=True)
class Solution:
    """Automatic weights, and messages about them.

    Attributes
    ----------
    weights : float32 array, shape (V, B)
        Rows sum to 1, or to 0 if no bone was found for a vertex.
    reasons : tuple of str, length B
        Why a bone has no weight at all; "" for bones with weights.
    notes : tuple of str
        Sentences about the whole.
    """

    weights: np.ndarray
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
