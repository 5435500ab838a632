"""Layers: clothes over a body.

`order` finds which mesh lies over which, and the order from the outermost inward. In a pose, `tuck` has what lies
beneath give way, `limb_grids` keeps loose cloth out of limbs, and `keep` does both, layer by layer. `limb_depths` says
how deep limbs press into the skin, which brings patterns out.
"""
