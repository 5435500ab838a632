"""Flesh: `solid` and `smoothing` give skin a shape, `choice` chooses, `ramps` fits keys to the poses of `limbs`."""
