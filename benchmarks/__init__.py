"""Scripts that measure and draw: each imports `harness`, by that name, however it is started."""

from . import harness  # noqa: F401 - from here on it is found by that name
