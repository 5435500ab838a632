"""What a pose keeps of a skin and what it spoils, in numbers that compare methods.

`space.close_surface` measures the space inside, by the winding numbers of `windings`; `stretch.measure_stretch` the
edges; `limbs.find_limbs` how far the skin is from its bones and how much of its section each limb keeps, on rings of
`sections`; `difference.measure_difference` how far two methods are apart. All of them are made of points at rest and
posed, whatever has posed them.
"""
