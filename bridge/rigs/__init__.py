"""Armatures, their bones and poses, and what hangs on them."""
