"""The methods that exist as nodes: how each splits its joints, and by which steps it moves vertices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..deformers.skinning import centers, dlb, dlbnt, ssd
from .graph import Value
from .joints import Split, split_dlb, split_gh, split_hg
from .sets import MATRIX, STRETCH
from .skin import Move, blend_matrices, move_rigidly
from .turns import turn_about_centers


@dataclass(frozen=True)
class NodeMethod:
    """A method with its choices made.

    Attributes
    ----------
    make_moves : callable
        The steps that move vertices, in order, for the value that tells whether any joint is stretched.
    split : callable or None
        The steps that split each joint's transform into a rigid part and a stretch; None for a method that blends the
        transforms as they are.
    has_turns : bool
        Whether vertices rotate about centers.
    """

    make_moves: Callable[[Value], Sequence[Move]]
    split: Split | None = None
    has_turns: bool = False


def _blend_linearly(_is_stretched: Value) -> Sequence[Move]:
    return (blend_matrices(MATRIX, "Blend the joints' matrices (eq 1)", None),)


def _stretch_first(is_stretched: Value) -> Sequence[Move]:
    return (blend_matrices(STRETCH, "Stretch: blend H (eq 10)", is_stretched), move_rigidly)


def _rotate_first(is_stretched: Value) -> Sequence[Move]:
    return tuple(_stretch_first(is_stretched))[::-1]


def _rotate_about_centers(is_stretched: Value) -> Sequence[Move]:
    return (turn_about_centers(is_stretched),)


def _choose_order(params: dlbnt.Params) -> NodeMethod:
    if params.order == "GH":
        return NodeMethod(_stretch_first, split_gh)
    return NodeMethod(_rotate_first, split_hg)


NODE_METHODS: dict[str, Callable[[Any], NodeMethod]] = {
    ssd.INFO.key: lambda _params: NodeMethod(_blend_linearly),
    dlb.INFO.key: lambda _params: NodeMethod(_stretch_first, split_dlb),
    dlbnt.INFO.key: _choose_order,
    centers.INFO.key: lambda _params: NodeMethod(_rotate_about_centers, split_dlb, has_turns=True),
}
"""By the methods' keys: those whose `INFO.has_nodes`."""
