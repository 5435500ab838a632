"""Armatures, their bones and poses, and objects that hang on them."""
