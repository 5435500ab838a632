"""Frames of motions that are alike, and what joins them: Kovar et al. 2002, "Motion graphs"."""
