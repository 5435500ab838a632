"""Layers: clothes over a body.

`order` finds which mesh lies over which, from the outermost inward. In a pose, `tuck` moves skin back under cloth,
`limb_grids` pushes loose cloth out of limbs, and `keep` does both, layer by layer. `limb_pairs` keeps limbs out of one
another. `limb_depths` measures how deep limbs press into the skin, for patterns.
"""
