"""Approximate any method by bones, weights and keys, as engines need: `fit` finds them, `measure` the difference.

`model` holds inputs and results, `posing` poses a copy and measures it. The other modules are steps of `fit`.
"""

from .candidates import limit_helpers
from .fitting import fit
from .model import CopiedSkin, CopyFit, Examples, FitParams, Helper, Key, fit_linear
from .posing import Differences, Tally, measure, pose_copy

__all__ = [
    "CopiedSkin",
    "CopyFit",
    "Differences",
    "Examples",
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
