"""What a method of automatic weights says about itself: menus, the command line, benchmarks and tests read it here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..option import Option


@dataclass(frozen=True)
class WeightMethod:
    """A method of automatic weights, before it runs.

    Attributes
    ----------
    key : str
        In files and scripts.
    label, tooltip : str
        In menus.
    words : tuple of str
        On the command line: the first is shown, the others were shown once and go on working.
    params : type
        The method's `Params`.
    choices : tuple of Option
        Fields of `Params` that a user sets; 0 stands for the field's default.
    casts_rays : bool
        Whether bones are hidden by skin: `solve` then takes `make_crossing_test`, and `fallback`, weights for what sees
        no bone.
    has_handles : bool
        Whether points and cages hold the solid: `solve` then takes `handles`. To other methods they are short bones.
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
        """Make `Params` of what is chosen, by name of the choice, for this and other methods."""
        names = [choice.name for choice in self.choices]
        return self.params(**{name: chosen[name] for name in names if chosen.get(name)})
