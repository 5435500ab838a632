"""Any method as bones, weights and keys that engines know: `fit` finds them, `measure` says what is left.

`model` holds what goes in and comes out; `posing` poses a copy and measures it. The rest is how `fit` goes about it.
"""

from .candidates import limit_helpers
from .fitting import fit
from .model import CopiedSkin, Examples, Fit, FitParams, Helper, Key, fit_linear
from .posing import Differences, Tally, measure, pose_copy

__all__ = [
    "CopiedSkin",
    "Differences",
    "Examples",
    "Fit",
    "FitParams",
    "Helper",
    "Key",
    "Tally",
    "fit",
    "fit_linear",
    "limit_helpers",
    "measure",
    "pose_copy",
]
