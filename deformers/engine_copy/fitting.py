"""The fit of an engine copy."""

from __future__ import annotations

from collections.abc import Callable

from .model import Examples, Fit, FitParams, Skin, fit_linear


def fit(skin: Skin, examples: Examples, params: FitParams, progress: Callable[[float], None]) -> Fit:
    """Find bones, weights and keys by which linear blending looks as the examples do.

    Parameters
    ----------
    skin : Skin
    examples : Examples
    params : FitParams
    progress : function
        Called with the share that is done; what it raises ends the fit.
    """
    progress(0.0)
    return fit_linear(skin, examples, params.influences)
