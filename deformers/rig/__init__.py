"""What every deformer is given: a character at rest and its pose.

`rest` holds `Rest`, `Joints`, `Weights` and `Pose`; `skeleton` says which joint is joined to which. `envelopes` and
`bendy` are weights as Blender makes them, `influences` weights as nodes read them. `fractions` are joints between
joints, `fraction_plan` says which there are, `fraction_weights` what vertices follow of them.
`joint_angles` measures how far joints turn against their rest.
"""
