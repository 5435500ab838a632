"""Functions that another Blender is ordered to compute."""

import os
import time


def return_first(value, _progress):
    """What was given."""
    return value


def raise_error(error, _progress):
    """Fail."""
    raise error


def die(_progress):
    """End the process, as the system does where memory is short."""
    os._exit(7)


def tell_and_wait(share, progress):
    """Tell a share, and take as many seconds."""
    progress(share)
    time.sleep(min(share, 30.0))
    return share
