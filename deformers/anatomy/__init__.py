"""Where the parts of a body are: its bones by their names, its front, limbs and joints.

`presets` finds the bones of a rig by their names. `body` works out where up, front and the joints are, from these bones
or from the shape of the skin alone. `landmarks` says where on it patterns belong, and what brings them out.
"""
