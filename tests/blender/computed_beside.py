"""Steps as a window takes them: another Blender computes, and what it sends back is a copy."""

import time
from contextlib import closing

from supple.tasks.steps import StepsBeside

SOON = 60.0
"""Seconds within which a Blender has started and computed what is small."""


def take_beside(steps):
    """What steps return, and the shares that were told, as a window takes them."""
    shares, until = [], time.monotonic() + SOON
    beside = StepsBeside(steps)
    with closing(beside):
        while time.monotonic() < until:
            try:
                beside.take(0.01)
            except StopIteration as end:
                return end.value, shares
            shares.append(beside.share)
            time.sleep(0.01)
    raise TimeoutError(shares)
