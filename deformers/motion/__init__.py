"""Join motions at similar frames: Kovar et al. 2002, "Motion graphs".

`similarity` compares all frames of two motions, `transitions` lists the best frames to pass from one to the other,
`blending` joins channels there, `feet` and `legs` hold planted feet in place, `seams` measures how smooth seams are.
"""
