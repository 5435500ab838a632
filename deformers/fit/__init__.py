"""Fit a skeleton into a bare mesh: find the joints of a human or of an animal on four legs. Start at `fitting.py`."""
