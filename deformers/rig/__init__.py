"""Inputs of every deformer: a character at rest and its pose.

`rest` has `Rest`, `Joints`, `Weights` and `Pose`; `skeleton` the hierarchy of joints. `envelopes` and `bendy` are
weights as in Blender. `limbs` finds arms and legs, `hinges` the joints that bend in them, and `rolls` are segments of
bones that take up a twist. `joint_angles` measures rotations of joints from rest.
"""
