"""What a method of automatic weights finds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Solution:
    """Automatic weights, and messages about them.

    Attributes
    ----------
    weights : float32 array, shape (V, B)
        Rows sum to 1, or to 0 where no bone was found for a vertex.
    reasons : tuple of str, length B
        Why a bone got no weight at all; "" for one that got some.
    notes : tuple of str
        Sentences about the whole.
    """

    weights: np.ndarray
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
