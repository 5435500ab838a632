"""What every deformer is given: a character at rest and its pose.

`rest` holds `Rest`, `Joints`, `Weights` and `Pose`; `skeleton` says which joint is joined to which. `envelopes` and
`bendy` are weights as Blender makes them. `limbs` finds arms and legs, `hinges` the joints that bend in them, and
`rolls` are segments of bones that take up a twist. `joint_angles` measures how far joints turn against their rest.
"""
