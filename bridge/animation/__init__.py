"""Actions, curves and drivers."""
