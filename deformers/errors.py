"""What Supple raises on purpose, and which numbers can be computed with."""

import numpy as np

# Coordinates and entries of matrices from here on count as infinite: single precision cannot hold their squares
LARGEST_NUMBER = 1e18


class SkinningError(Exception):
    """What is wrong and what to do about it, in words for the user.

    Everything a user can cause (wrong selection, changed mesh, unwritable file) is raised as this type and shown as it
    is. Any other exception is a bug and must be seen as one.

    Parameters
    ----------
    remedy : str
        What can be done about it with one press: "WEIGHTS", "SWITCH_ON", "OBJECT_MODE", or "" for nothing.
    """

    def __init__(self, text: str = "", remedy: str = "") -> None:
        super().__init__(text)
        self.remedy = remedy


class UnsupportedError(SkinningError):
    """What is wrong with settings or nodes so that Supple cannot deform an object: its Armature modifier does."""


def find_unusable(values: np.ndarray) -> np.ndarray:
    """Find numbers that are NaN, infinite, or too large to compute with.

    `values`, float array, shape (...). Returns a bool array, shape (...).
    """
    return ~(np.abs(values) < LARGEST_NUMBER)
