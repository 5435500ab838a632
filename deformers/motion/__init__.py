"""Frames of motions that are alike, and what joins them: Kovar et al. 2002, "Motion graphs".

`similarity` compares all frames of two motions, `transitions` lists the best frames to pass from one to the other,
`blending` joins channels there, `feet` and `legs` keep planted feet where they are, `seams` measures what came of it.
"""
