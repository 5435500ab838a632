"""Corrections of poses by shape keys: bring sculpted offsets back to rest, and drive the keys by bones.

`inverses` brings offsets back to rest, `readers` drives, `joint_choice` finds the joint of a sculpted offset,
`rotation_choice` the poses to correct, `offset_fit` fits many corrections together, `mirroring` mirrors them.
"""
