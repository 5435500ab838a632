"""Pose bones by a dragged point: of the skin, by deformation energy, or of a chain, joint by joint.

Jacobson et al. 2012, "Fast automatic skinning transformations", and cyclic coordinate descent.
"""
