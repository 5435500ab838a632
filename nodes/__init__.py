"""Geometry Nodes for patterns, layers and compression, which files need to show them without Supple."""
