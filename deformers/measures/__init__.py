"""Effects of a pose on a skin, in numbers that compare methods.

`space.close_surface` measures the space inside, by the winding numbers of `windings`; `stretch.measure_stretch` the
edges; `limbs.find_limbs` distances of the skin from its bones and areas of each limb's sections, on rings of
`sections`; `difference.measure_difference` distances between two methods. Inputs are points at rest and posed, by any
method.
"""
