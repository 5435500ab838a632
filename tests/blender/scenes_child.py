"""Functions that another Blender is ordered to compute."""

import os
import time

import bpy
import numpy as np


def return_first(value, _progress):
    """What was given."""
    return value


def raise_error(error, _progress):
    """Fail."""
    raise error


def die(_progress):
    """End the process, as the system does where memory is short."""
    os._exit(7)


def may_run_scripts(_progress):
    """Whether this Blender would run Python of a file."""
    return bpy.context.preferences.filepaths.use_scripts_auto_execute


def tell_and_wait(share, progress):
    """Tell a share, and take as many seconds."""
    progress(share)
    time.sleep(min(share, 30.0))
    return share


def count_forever(progress):
    """Busy in Python."""
    progress(0.5)
    number = 0
    while True:
        number += 1


def multiply_forever(progress):
    """Busy in NumPy, seconds at a time."""
    progress(0.5)
    matrix = np.ones((3000, 3000))
    while True:
        matrix @ matrix
